package reward

import (
	"math"
	"testing"

	"github.com/rlzero/rlzero/verify"
)

// group has the completions of one prompt: lengths 4 to 20, of at most 20.
var group = []answer{{0, 8, 1, 1}, {0, 12, 1, 0.5}, {0, 4, 0, 1}, {0, 20, 0.5, 0}, {0, 6, 0, 0}}

// What the forms below need to know of it.
const (
	rightShare          = 2.0 / 5
	shortestRight       = 8.0
	meanRight, stdRight = 10.0, 2 * math.Sqrt2 // of the lengths of the right ones
	shortest, longest   = 4.0, 20.0
)

func given(condition bool, yes, no float64) float64 {
	if condition {
		return yes
	}
	return no
}

func squash(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// TestPublishedForms: the reward forms of published systems, each a line, and
// their values from plain Go. "R" is right, L the length.
func TestPublishedForms(t *testing.T) {
	for _, c := range []struct {
		what, expression string
		want             func(a answer) float64
	}{
		{"accuracy alone", "task", func(a answer) float64 { return a.task }},
		{"accuracy and format (DeepSeek-R1, 2501.12948)", "task + form", func(a answer) float64 { return a.task + a.form }},
		{"weighted sum (RLPR, 2506.18254)", "0.9*task + 0.1*form", func(a answer) float64 { return 0.9*a.task + 0.1*a.form }},
		{"plus or minus one", "if(right(task), 1, -1)", func(a answer) float64 { return given(a.task == 1, 1, -1) }},
		{"wrong form overrides the answer (Logic-RL, 2502.14768)", "if(right(form), 1 + if(right(task), 2, -1.5), -3)",
			func(a answer) float64 { return given(a.form == 1, 1+given(a.task == 1, 2, -1.5), -3) }},
		{"terms count above a threshold of the outcome (gated rewards)", "task + if(task >= 0.5, form, 0)", func(a answer) float64 { return a.task + given(a.task >= 0.5, a.form, 0) }},
		{"terms count only if right", "if(right(task), 0.7 + 0.3*form, 0)", func(a answer) float64 { return given(a.task == 1, 0.7+0.3*a.form, 0) }},
		{"product (StableReinforce, 2505.02835)", "task*(1 + 0.5*form) + 0.5*form", func(a answer) float64 { return a.task*(1+0.5*a.form) + 0.5*a.form }},
		{"all checks must hold", "min(task, form)", func(a answer) float64 { return min(a.task, a.form) }},
		{"any check may hold", "max(task, form)", func(a answer) float64 { return max(a.task, a.form) }},
		{"soft overlong penalty (DAPO, 2503.14476)", "if(right(task), 1, -1) + overlong(10)",
			func(a answer) float64 { return given(a.task == 1, 1, -1) - max(0, float64(a.tokens)-10)/10 }},
		{"overlong filter (DAPO)", "if(truncated, unscored, task)", func(a answer) float64 { return given(a.tokens == 20, nan, a.task) }},
		{"nothing beyond the limit (DLER, 2510.15110)", "if(truncated, 0, task)", func(a answer) float64 { return given(a.tokens == 20, 0, a.task) }},
		{"bonus for the shortest right one (Observe-R1, 2505.12432)", "task + 0.2*(shortest_right(right(task)) and tokens > 5)",
			func(a answer) float64 {
				return a.task + given(a.task == 1 && float64(a.tokens) == shortestRight, 0.2, 0)
			}},
		{"length within the group (Kimi k1.5, 2501.12599)", "task + kimi_length(right(task))", func(a answer) float64 {
			l := 0.5 - (float64(a.tokens)-shortest)/(longest-shortest)
			return a.task + given(a.task == 1, l, min(0, l))
		}},
		{"cosine length (2502.03373)", "cosine_length(right(task), 2, 1, -10, 0, -7)", func(a answer) float64 {
			wave := (1 + math.Cos(math.Pi*float64(a.tokens)/20)) / 2 // from 1 to 0
			return given(a.tokens == 20, -7, given(a.task == 1, 1+wave, -10*wave))
		}},
		{"length z-scored among the right ones (2502.04463)", "if(right(task), 1 - 0.2*sigmoid(group_zscore(tokens, right(task))), 0)",
			func(a answer) float64 {
				return given(a.task == 1, 1-0.2*squash((float64(a.tokens)-meanRight)/stdRight), 0)
			}},
		{"asked length (L1-Exact, 2503.04697)", "right(task) - 0.05*abs(row.budget - tokens)",
			func(a answer) float64 { return given(a.task == 1, 1, 0) - 0.05*math.Abs(12-float64(a.tokens)) }},
		{"asked length at most (L1-Max)", "right(task) * clip(0.1*(row.budget - tokens) + 0.5, 0, 1)",
			func(a answer) float64 {
				return given(a.task == 1, max(0, min(1, 0.1*(12-float64(a.tokens))+0.5)), 0)
			}},
		{"bonus below a target length (LASER, 2505.15612)", "task + 0.5*(right(task) and tokens <= 8)", func(a answer) float64 { return a.task + given(a.task == 1 && a.tokens <= 8, 0.5, 0) }},
		{"distance to the best length (ShorterBetter, 2504.21370)", "2*right(task) - 0.1*abs(tokens - default(group_min(tokens, right(task)), group_mean(tokens)))",
			func(a answer) float64 {
				return given(a.task == 1, 2, 0) - 0.1*math.Abs(float64(a.tokens)-shortestRight)
			}},
		{"length costs more where it is easy (ALP, 2506.05256)", "task - 0.3*tokens/max_tokens*max(group_mean(right(task)), 1/group_size)",
			func(a answer) float64 { return a.task - 0.3*float64(a.tokens)/20*rightShare }},
		{"length costs only where it is easy (GRPO-lambda)", "task - if(group_mean(right(task)) >= 0.5, 0.02*tokens, 0)", func(a answer) float64 { return a.task }},
		{"weight by difficulty d(1-d)", "d = group_mean(right(task)); 4*d*(1 - d)*task", func(a answer) float64 { return 4 * rightShare * (1 - rightShare) * a.task }},
		{"each term normalised before the sum (GDPO)", "group_zscore(task) + 0.5*group_zscore(form)", func(a answer) float64 {
			return (a.task-0.5)/0.5 + 0.5*(a.form-0.5)/0.5
		}},
		{"rank within the group", "2*group_rank(task) - 1", func(a answer) float64 { return map[float64]float64{0: -0.75, 0.5: 0, 1: 0.75}[a.task] }},
		{"normalised over the step", "step_zscore(form)", func(a answer) float64 { return (a.form - 0.5) / 0.5 }},
		{"weight that decays (SophiaVL-R1, 2505.17018)", "task + 0.3*exp(-step/500)*form", func(a answer) float64 { return a.task + 0.3*math.Exp(-3.0/500)*a.form }},
		{"weight by trust in a term (SophiaVL-R1)", "d = group_mean(form, right(task)) - group_mean(form, not right(task)); task + 0.3*if(d >= 0, 1, exp(d))*form",
			func(a answer) float64 { return a.task + 0.3*a.form }}, // 0.75 against 1/3
		{"linear change of weights", "linear(1, 0, 1, 5)*form + linear(0, 1, 1, 5)*task", func(a answer) float64 { return 0.5*a.form + 0.5*a.task }},
		{"bounded, centred (PAR, 2502.18770)", "sigmoid(3*(form - 0.5))", func(a answer) float64 { return squash(3 * (a.form - 0.5)) }},
		{"known error rates of the verifier (2510.00915)", "(right(task) - 0.1)/(1 - 0.1 - 0.2)", func(a answer) float64 { return (given(a.task == 1, 1, 0) - 0.1) / (1 - 0.1 - 0.2) }},
		{"repeated runs (2502.03373; TRL on words)", "task - 0.5*repetition(3) - 0.1*repetition_words(2)", func(a answer) float64 {
			runs, words := float64(a.tokens)-2, float64(a.tokens)-1 // tokens go 0..6, 0..6; one word again and again
			return a.task - 0.5*max(0, 1-7/runs) - 0.1*(1-1/words)
		}},
		{"confidence of the policy itself", "exp(mean_logprob)", func(answer) float64 { return math.Exp(-0.5) }},
		{"others of the group as baseline (RLOO)", "task - (group_sum(task) - task)/(group_size - 1)", func(a answer) float64 { return a.task - (2.5-a.task)/4 }},
		{"switch at a step", "piecewise(0, 3, 1)*task + piecewise(1, 4, 0)*form", func(a answer) float64 { return a.task + a.form }},
	} {
		got := rewards(t, c.expression, group)
		for i, a := range group {
			if want := c.want(a); !same(got[i], want) {
				t.Errorf("%s: %s: completion %d has %v, want %v", c.what, c.expression, i, got[i], want)
			}
		}
	}
}

// TestMajority: the commonest answer of a group is a reward without a reference
// (TTRL, arXiv 2504.16084).
func TestMajority(t *testing.T) {
	b := batchOf([]answer{{0, 3, 0, 1}, {0, 3, 0, 1}, {0, 3, 0, 1}, {0, 3, 0, 1}, {0, 3, nan, 1}, {1, 3, 0, 1}})
	for i, text := range []string{"7", " 7", "8", "", "7", "8"} {
		b.Completions[i].Path.Verdicts[0].Extracted = text
	}
	for expression, want := range map[string][]float64{
		"agreement(task)": {0.5, 0.5, 0.25, 0, nan, 1},
		"if(agreement(task) == group_max(agreement(task)), 1, 0)": {1, 1, 0, 0, nan, 1},
		"agreement(form)": {0, 0, 0, 0, 0, 0}, // it takes no answer out
		"majority(task)":  {1, 1, 0, 0, nan, 1},
		"majority(form)":  {0, 0, 0, 0, 0, 0},
	} {
		if got := paid(scored(t, expression, b)); !sameAll(got, want) {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
	if v := b.Completions[4].Path.Verdict(); v.Verdict != verify.NotScored {
		t.Errorf("%+v", v)
	}
}

// TestLengthsByHand: the edges of the length rewards.
func TestLengthsByHand(t *testing.T) {
	for _, c := range []struct {
		expression string
		answers    []answer
		want       []float64
	}{
		// Up to max_tokens - cache nothing, at max_tokens -1, and never more.
		{"overlong(5)", []answer{{0, 15, 1, 1}, {0, 16, 1, 1}, {0, 20, 1, 1}, {0, 25, 1, 1}}, []float64{0, -0.2, -1, -1}},
		{"overlong(5, 10)", []answer{{0, 5, 1, 1}, {0, 6, 1, 1}, {0, 10, 1, 1}, {0, 11, 1, 1}}, []float64{0, -0.2, -1, -1}},
		{"overlong(task - 1)", []answer{{0, 5, 1, 1}}, []float64{nan}},
		// Equal lengths say nothing; groups are apart.
		{"kimi_length(right(task))", []answer{{0, 5, 1, 1}, {0, 5, 0, 1}, {1, 3, 0, 1}, {1, 9, 1, 1}}, []float64{0, 0, 0, -0.5}},
		// Nothing right, nothing paid; equally short ones are all paid.
		{"shortest_right(right(task))", []answer{{0, 5, 0, 1}, {0, 3, 0, 1}, {1, 9, 1, 1}, {1, 9, 1, 1}, {1, 3, 0, 1}}, []float64{0, 0, 1, 1, 0}},
		{"cosine_length(right(task), 3, 1, 0, 0, -1)", []answer{{0, 10, 1, 1}, {0, 20, 1, 1}, {0, 10, 0, 1}}, []float64{2, -1, 0}},
		{"repetition(3)", []answer{{0, 2, 1, 1}, {0, 9, 1, 1}, {0, 16, 1, 1}}, []float64{0, 0, 0.5}},
	} {
		if got := rewards(t, c.expression, c.answers); !sameAll(got, c.want) {
			t.Errorf("%s is %v, want %v", c.expression, got, c.want)
		}
	}
}
