package formula

// Guide explains the language to those who read and write formulas. The manual goes
// on with what rewards and methods mean by them.
const Guide = `
FORMULAS

Rewards, advantages, losses and filters are formulas in one language. A formula has
numbers, names, calls, + - * / and ( ), comparisons (< <= > >= == !=, not chained),
and, or, not, and comments from # to the end of the line. Before the result it may
name things: x = ...; and z(x) = ...; A condition counts as 1 or 0 where a number is
expected. A number is not a condition: write right(task), not task. Text can be
compared: row.domain == "math".

LEVELS
run > group (the completions of a prompt) > completion > segment > token. A coarse
value is used at a finer level as it is. From fine to coarse a function says how:
mean(old) is one value for each completion, group_mean(reward) one for each group.

VALUES
A value may be missing, with a reason. What is computed from it is missing too, and
statistics leave it out. In if(c, x, y) the branch that is not taken may be missing,
and in "and" and "or" the side that does not decide. default(x, y) is y where x is
missing. An infinity is a number. 0/0 and inf - inf are missing values of a
completion, and errors of a token or of the run. Tokens that the policy did not write
are left out of sums unless the condition names own. Sums are taken in order of size,
so results do not depend on the order of the groups.

STEP AND UPDATE
A step samples completions. Its updates learn from those that keep leaves. step_mean(x)
is over the step, and x reads no value of now (logp, entropy, value). update_mean(x) is
over the update, whatever x is; so are token_mean and the other normalisers. All other
functions follow what they are given: mean(old) and group_mean(reward) are of the step,
mean(logp) of the update. update(x) is x of the update: group_mean(update(reward)) is
over the completions of the prompt that keep left. So a formula has the same value,
to the bit, whether its parts have names or not.

DERIVATIVES
stop(x) cuts them, straight(v, s) has the value of v and the derivative of s. A clip
passes inside its closed interval; min and max pass to the side taken, 1/n to each of
n that tie; abs has 0 at 0; a side that if does not take has none; a constant factor
0 removes a term, even an infinite one. Medians, quantiles, ranks are constants.
`
