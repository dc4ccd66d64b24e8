package algo

// Guide explains what the formulas of a method mean to those who read and write
// methods. The language is explained by [formula.Guide].
const Guide = `
METHODS

A method is a set of formulas and of the numbers that they name. Each formula is a part:
others may use it by its name, and a recipe may replace it alone. The trainer reads these
parts (with their defaults):

   keep       which completions are learned from; sums and divisors leave out the
              others (true)
   advantage  of a completion or token; A in other parts
   loss       what is minimised (token_mean(weight*policy + penalty))
   policy, weight, penalty   the surrogate; corrections and masks, which are
              constants (1); KL and the like (0)

   [stage.algorithm]
   preset = "dapo"            # rlzero algorithms lists them
   clip_high = 0.3            # a number
   weight = "tis"             # a part: a named formula, or one of your own
   loss = "completion_loss"   # seq_mean(weight*policy + penalty) by its name

   segments   where a segment of a completion begins: a condition on tokens such as lines,
              sentences, forks or begins('Step [0-9]+') (each completion is one segment);
              segment_mean(...) and others are over segments

Formulas that read logp, entropy, uniform_logp or value, or that name the update, are
computed in every update; all others once, after sampling. Statistics of a step are taken
before keep, statistics of an update over the completions that are kept:
step_mean(reward) and update_mean(reward) differ where keep leaves completions out.

BEFORE SAMPLING
Formulas also choose the problems, and set numbers of the stage. They read step, steps,
progress, chance, states and, of each problem, row.NAME, seen, solved, last_solved,
steps_since, prompt_tokens, prompt_value, probed where a curriculum has block, and by its
name what the head of a model says of the prompt:

   [stage.curriculum]
   weight = "if(solved > 0 and solved < 1, 4, 1)"   # no value: 1
   [stage.numbers]
   temperature = "linear(1, 0.6, 1, steps)"

STATE
A number that the next step sees, and that a checkpoint keeps:

   [stage.algorithm.state]
   usual = {start = 0, next = "0.9*usual + 0.1*step_mean(reward)"}
   rate = {start = 0.5, next = "0.8*rate + 0.2*step_mean(reward)", by = "row"}

Formulas read it by its name. With by, there is one number for each prompt (row) or for
each value of a member of its row (row.domain); statistics in next are then over the
completions of that key alone. If next has no value, the number stays. A next that is a
value of an update is evaluated after each update. Any other next is evaluated after each step,
and also sees the completions that keep leaves out.
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
	{"Credit by segments: a segment begins where the policy hesitated, and each token has the mean log-prob of its segment as its advantage: -1.5, -1.5 and -0.5 here, so the loss is the mean of minus these times the log-probs.",
		`{"formulas": {"segments": "old_entropy > 1", "advantage": "own*segment_mean(old)", "loss": "token_mean(-A*logp)"}, "group": [0], "token": {"logp": [[-1, -2, -0.5]], "old": [[-1, -2, -0.5]], "old_entropy": [[2, 0.1, 1.5]]}}`,
		-1.5833333333333333},
}
