package reward

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// answer is a completion of a test: its group, length, task score (NaN: not
// scored) and the score of a verifier called form.
type answer struct {
	group, tokens int
	task, form    float64
}

var nan = math.NaN()

func verdictOf(score float64) verify.Verdict {
	switch {
	case math.IsNaN(score):
		return verify.Abstain("no reference")
	case score == 1:
		return verify.Accept("", "", "yes")
	case score == 0:
		return verify.Reject("", "", "no")
	}
	return verify.Verdict{Score: score, Verdict: verify.Graded, Reason: "partly"}
}

func batchOf(answers []answer) Batch {
	b := Batch{Step: 3, Steps: 11, MaxTokens: 20}
	for i, a := range answers {
		ids, stop := make([]int, 5, 5+a.tokens), rollout.EOS
		for k := range a.tokens {
			ids = append(ids, k%7)
		}
		if a.tokens >= 20 {
			stop = rollout.Length
		}
		b.Completions = append(b.Completions, Completion{
			Group: a.group, Random: float64(i % 2),
			Path: rollout.Path{Text: strings.Repeat("word ", a.tokens), Verdicts: []verify.Verdict{verdictOf(a.task), verdictOf(a.form)}},
			View: rollout.View{IDs: ids, Spans: []rollout.Span{{From: 5, To: len(ids)}}, Logprob: slices.Repeat([]float32{-0.5}, a.tokens), Stop: stop},
			Row:  verify.Problem{Metadata: map[string]json.RawMessage{"budget": json.RawMessage("12"), "label": json.RawMessage(`"x"`)}},
		})
	}
	return b
}

// form is declared in the tests' programs; its verdicts stand in the batches.
var form = []Verifier{{Name: "form", Verifier: "format"}}

func compiled(t *testing.T, expression string) *Program {
	t.Helper()
	p, err := Compile(expression, form)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return p
}

func rewards(t *testing.T, expression string, answers []answer) []float64 {
	t.Helper()
	return paid(scored(t, expression, batchOf(answers)))
}

// paid are the rewards of scores.
func paid(scores []Score) []float64 {
	var out []float64
	for _, s := range scores {
		out = append(out, s.Reward)
	}
	return out
}

func scored(t *testing.T, expression string, b Batch) []Score {
	t.Helper()
	s, err := compiled(t, expression).Score(b)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return s
}

// same says that two numbers are equal but for the roundings of some dozen
// operations on numbers of at most 16; NaN is NaN.
func same(a, b float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 64*0x1p-52*16
}

func sameAll(a, b []float64) bool { return slices.EqualFunc(a, b, same) }

func TestArithmetic(t *testing.T) {
	one := []answer{{0, 8, 0.25, 1}}
	for expression, want := range map[string]float64{
		"1 + 2*3 - 4/8": 6.5, "-2*-3": 6, "-(2 - 3)": 1, "2 - 3 - 4": -5, "8/4/2": 1, "--3": 3, "1.5e1": 15, ".5": 0.5,
		"abs(-3)": 3, "sqrt(9)": 3, "exp(0)": 1, "log(1)": 0, "cos(0)": 1, "sigmoid(0)": 0.5, "floor(-0.5)": -1, "pow(2, 10)": 1024,
		"min(3, 1, 2)": 1, "max(3, 1, 2)": 3, "clip(5, 0, 2)": 2, "clip(-5, 0, 2)": 0, "clip(1, 0, 2)": 1,
		"1 < 2": 1, "2 <= 1": 0, "2 > 1": 1, "1 >= 1": 1, "1 == 1": 1, "1 != 1": 0, "not 1 < 2": 0, "true and false": 0, "true or false": 1,
		"true and false or true": 1, "not (true and false)": 1, "if(true, 3, 4)": 3, "if(1 > 2, 3, 4)": 4, "if(if(true, false, true), 1, 2)": 2, "if(default(true, false), 1, 2)": 1,
		"task": 0.25, "form": 1, "right(form)": 1, "right(task)": 0, "wrong(task)": 0, "scored(task)": 1, "3*right(form)": 3,
		"tokens": 8, "max_tokens": 20, "prompt_tokens": 5, "chars": 40, "words": 8, "lines": 1, "ended": 1, "truncated": 0, "mean_logprob": -0.5,
		"step": 3, "steps": 11, "progress": 0.2, "group_size": 1, "one": 1, "random": 0, "row.budget": 12,
		"a = 2; b = a*a; b + a": 6, "a = 1 < 2; if(a, 1, 0)": 1, "1 # comment\n+ 1": 2, "a = 1;a;": 1,
		"linear(0, 1, 1, 5)": 0.5, "linear(0, 1, 3, 9)": 0, "linear(2, 1, 0, 3)": 1, "cosine(0, 1, 1, 5)": 0.5, "cosine(4, 0, 2, 6)": 4 - 2*(1-math.Sqrt(0.5)),
		"piecewise(1, 3, 2)": 2, "piecewise(1, 4, 2)": 1, "piecewise(1, 2, 5, 3, 6, 4, 7)": 6,
	} {
		if got := rewards(t, expression, one)[0]; !same(got, want) {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
}

// TestNoNegativeZero: -0 would show in logs.
func TestNoNegativeZero(t *testing.T) {
	for _, e := range []string{"-1*wrong(form)", "-(tokens - 8)", "group_sum(-1*wrong(form))", "0/-8"} {
		if got := rewards(t, e, []answer{{0, 8, 1, 1}})[0]; math.Float64bits(got) != 0 {
			t.Errorf("%s is %v", e, got)
		}
	}
}

// TestNotScored: what has no value, and how far that reaches.
func TestNotScored(t *testing.T) {
	answers := []answer{{0, 8, nan, 1}, {0, 20, 1, nan}, {0, 4, 0, 0}}
	for _, c := range []struct {
		expression string
		want       []float64
		why        string // of the first that is not scored
	}{
		{"task", []float64{nan, 1, 0}, "task: no reference"},
		{"task + form", []float64{nan, nan, 0}, "task: no reference"},
		{"form*0", []float64{0, nan, 0}, "form: no reference"},
		{"default(task, 0.5)", []float64{0.5, 1, 0}, ""},
		{"default(task, form)", []float64{1, 1, 0}, ""},
		{"scored(task)", []float64{0, 1, 1}, ""},
		{"if(right(form), 1, task)", []float64{1, nan, 0}, "form: no reference"},
		{"if(truncated, form, 2)", []float64{2, nan, 2}, "form: no reference"},
		{"if(truncated, unscored, 2)", []float64{2, nan, 2}, LeftOut},
		{"right(task) and right(form)", []float64{nan, nan, 0}, "task: no reference"},
		{"right(task) or right(form)", []float64{1, 1, 0}, ""},
		{"wrong(task) and right(form)", []float64{nan, 0, 0}, "task: no reference"},
		{"group_mean(task)", []float64{0.5, 0.5, 0.5}, ""},
		{"group_sum(right(task))", []float64{1, 1, 1}, ""},
		{"group_max(tokens, right(task))", []float64{20, 20, 20}, ""},
		{"group_min(task, tokens > 30)", []float64{nan, nan, nan}, "group_min: no value in the group counts"},
		{"group_sum(task, tokens > 30)", []float64{0, 0, 0}, ""},
		{"group_zscore(task)", []float64{nan, math.Sqrt(0.5), -math.Sqrt(0.5)}, "task: no reference"},
		{"group_rank(task)", []float64{nan, 1, 0}, "task: no reference"},
		{"1/task", []float64{nan, 1, nan}, "task: no reference"},
		{"1/default(task, 1)", []float64{1, 1, nan}, "the reward is +Inf, as after a division by 0; accepted: a finite number"},
		{"sqrt(tokens - 5)", []float64{math.Sqrt(3), math.Sqrt(15), nan}, "sqrt of -1 is not a number"},
		{"log(wrong(default(task, 0)))", []float64{0, nan, 0}, "the reward is -Inf"},
		{"exp(tokens*100)", []float64{nan, nan, math.Exp(400)}, "the reward is +Inf"},
		{"clip(task, tokens, 5)", []float64{nan, 5, 4}, "task: no reference"},
		{"row.label + 1", []float64{nan, nan, nan}, `row.label: "label" of the row is`},
		{"row.none", []float64{nan, nan, nan}, "row.none: the row has no such value"},
		{"shortest_right(right(task))", []float64{nan, 1, 0}, "task: no reference"},
	} {
		s := scored(t, c.expression, batchOf(answers))
		if !sameAll(paid(s), c.want) {
			t.Errorf("%s is %v, want %v", c.expression, paid(s), c.want)
		}
		first := ""
		for i, one := range s {
			if math.IsNaN(one.Reward) != (one.NotScored != "") {
				t.Errorf("%s: completion %d is %v because %q", c.expression, i, one.Reward, one.NotScored)
			}
			if first == "" {
				first = one.NotScored
			}
		}
		if !strings.HasPrefix(first, c.why) || c.why == "" && first != "" {
			t.Errorf("%s: reason %q, want %q", c.expression, first, c.why)
		}
	}
}

// TestConnectives: the truth tables of "and" and "or" with a value that is not
// known.
func TestConnectives(t *testing.T) {
	name := func(x float64) string {
		return map[bool]string{true: "scored(default(task, 1)) and right(task)", false: fmt.Sprint(x == 1)}[math.IsNaN(x)]
	}
	unknown := []answer{{0, 3, nan, 0}}
	for _, a := range []float64{0, 1, nan} {
		for _, b := range []float64{0, 1, nan} {
			and, or := a*b, math.Min(1, a+b) // NaN where one is
			if a == 0 || b == 0 {
				and = 0
			}
			if a == 1 || b == 1 {
				or = 1
			}
			if got := rewards(t, "("+name(a)+") and ("+name(b)+")", unknown)[0]; !same(got, and) {
				t.Errorf("%v and %v is %v, want %v", a, b, got, and)
			}
			if got := rewards(t, "("+name(a)+") or ("+name(b)+")", unknown)[0]; !same(got, or) {
				t.Errorf("%v or %v is %v, want %v", a, b, got, or)
			}
		}
	}
}

// TestTerms: a reward of more than one name tells of its parts.
func TestTerms(t *testing.T) {
	answers := []answer{{0, 3, 1, nan}, {0, 5, 0.5, 1}, {1, 4, nan, nan}}
	s := scored(t, "long = tokens > 3; task + long", batchOf(answers))
	want := [][]Term{{{"task", 1}, {"form", nan}, {"long", 0}}, {{"task", 0.5}, {"form", 1}, {"long", 1}}, {{"task", nan}, {"form", nan}, {"long", 1}}}
	for i, one := range s {
		for k, w := range want[i] {
			if got := one.Terms[k]; got.Name != w.Name || !same(got.Value, w.Value) {
				t.Errorf("completion %d has the term %+v, want %+v", i, got, w)
			}
		}
	}
	for _, word := range []string{"task", "random", "one"} {
		p, err := Compile(word, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := p.Score(batchOf(answers)); err != nil || s[0].Terms != nil {
			t.Errorf("%s has the scores %v, error %v", word, s, err)
		}
	}
}

// TestEmptyBatch: a step without completions has no rewards.
func TestEmptyBatch(t *testing.T) {
	if s := scored(t, "group_mean(task) + step_std(tokens)", Batch{}); len(s) != 0 {
		t.Errorf("%+v", s)
	}
}

// everyStatistic is one expression for each function that looks at other
// completions.
func everyStatistic() []string {
	var all []string
	for _, scope := range []string{"group_", "step_"} {
		for name := range plain {
			all = append(all, scope+name+"(task + tokens/7)", scope+name+"(tokens/3, right(task))", scope+name+"(task, wrong(form))")
		}
	}
	return append(all, "shortest_right(right(task))", "kimi_length(right(task))", "agreement(task)")
}

func randomAnswers(r *rand.Rand) []answer {
	scores := []float64{0, 1, 1, 0.25, 1.0 / 3, nan}
	answers := make([]answer, 1+r.IntN(20))
	for i := range answers {
		answers[i] = answer{r.IntN(4) * 11, 1 + r.IntN(20), scores[r.IntN(len(scores))], scores[r.IntN(len(scores))]}
	}
	return answers
}

// TestOrder: what a completion gets does not depend on where it stands, bit for
// bit, nor on the numbers that groups go by.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	expressions := append(everyStatistic(), "if(right(form), task + 0.1*group_zscore(tokens), step_mean(task)) * kimi_length(right(task))")
	for range 40 {
		answers := randomAnswers(r)
		order := r.Perm(len(answers))
		moved := make([]answer, len(answers))
		for to, from := range order {
			moved[to] = answers[from]
			moved[to].group = 100 - answers[from].group
		}
		for _, e := range expressions {
			before, after := rewards(t, e, answers), rewards(t, e, moved)
			for to, from := range order {
				if math.Float64bits(before[from]) != math.Float64bits(after[to]) && !(math.IsNaN(before[from]) && math.IsNaN(after[to])) {
					t.Fatalf("%s of %v: completion %d has %v, elsewhere %v", e, answers, from, before[from], after[to])
				}
			}
		}
	}
}
