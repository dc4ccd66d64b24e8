package algo

// Guide explains the language of formulas to those who read and write methods.
const Guide = `
FORMULAS

A method is formulas and the numbers that they name. Each formula is a part: others
may use it by its name, and a recipe may replace it alone. Four parts mean something
to the trainer:

   keep       what is learnt from; the rest leaves sums and divisors (true)
   advantage  of a completion or token; A in other parts
   loss       what is minimised (token_mean(weight*policy + penalty))
   policy, weight, penalty   the surrogate; corrections and masks, which are
              constants (1); KL and the like (0)

   [stage.algorithm]
   preset = "dapo"            # rlzero algorithms lists them
   clip_high = 0.3            # a number
   weight = "tis"             # a part: a named formula, or one of your own

A formula has numbers, names, calls, + - * / and ( ), comparisons (< <= > >= == !=,
not chained), and, or, not, comments from # to the end of the line. Before the result
it may name things: x = ...; and z(x) = ...; Text is compared: row.domain == "math".

LEVELS
run > group (the completions of a prompt) > completion > segment > token. A coarse
value is used at a finer level as it is. From fine to coarse a function says how:
mean(logp) is one value for each completion, group_mean(reward) one for each group.

TIMES
What reads logp, entropy, uniform_logp or value is computed in every update, all else
once after sampling. Statistics of a step are taken before keep; those of an update
over what is kept.

VALUES
A value may be missing, with a reason; statistics leave it out. An infinity is a
number. 0/0 and inf - inf are missing values of a completion, and errors of a token
or of the run. Tokens that the policy did not write are left out of sums unless the
condition names own. Sums are taken in order of size, so results do not depend on
the order of the groups.

DERIVATIVES
stop(x) cuts them, straight(v, s) has the value of v and the derivative of s. A clip
passes inside its closed interval; min and max pass to the side taken, 1/n to each of
n that tie; abs has 0 at 0; a side that if does not take has none; a constant factor
0 removes a term, even an infinite one. Medians, quantiles, ranks are constants.
`

// example is a question to rlzero formulas eval and the loss that it amounts to.
type example struct {
	About, Question string
	Loss            float64
}

// Examples are worked examples of the manual.
var Examples = []example{
	{"A clipped surrogate by hand: ratios exp(-0.1), exp(0.1) and 1; the mean of -0.7*(0.9048 + 1.1052) and 0.7*1 over three tokens. The token of a tool is left out.",
		`{"parameters": {"clip_low": 0.2, "clip_high": 0.2}, "formulas": {"loss": "token_mean(-min(ratio*A, clip(ratio, 1 - clip_low, 1 + clip_high)*A))"}, "group": [0, 0, 1], "completion": {"A": [0.7, -0.7, 0]}, "token": {"logp": [[-1.2, -0.3], [-0.9], [-2]], "old": [[-1.1, -0.4], [-0.9], [-2]], "own": [[true, true], [true], [false]]}}`,
		-0.23566861175937506},
	{"A preset: rewards 1 and 0 have advantages of 0.5/(0.7071 + 1e-4) and minus that; the second group is uniform, which DAPO leaves out. At ratio 1 the loss is minus the mean advantage of the three tokens.",
		`{"preset": "dapo", "group": [0, 0, 1, 1], "completion": {"reward": [1, 0, 1, 1]}, "token": {"logp": [[-1, -1], [-1], [-1], [-1]], "old": [[-1, -1], [-1], [-1], [-1]]}}`,
		-0.23566893177556114},
	{"A pair of DPO: the gain of the better completion is 0.2 above that of the worse, so the loss is -log(sigmoid(0.1*0.2)).",
		`{"preset": "dpo", "group": [0, 0], "completion": {"reward": [1, 0]}, "token": {"logp": [[-1, -1], [-1]], "ref": [[-1.1, -1.1], [-1]]}}`,
		0.68319717972663419},
}
