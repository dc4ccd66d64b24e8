package reward

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// TestExpressionErrors: what is wrong, at which column.
func TestExpressionErrors(t *testing.T) {
	for expression, want := range map[string]string{
		"":                         "column 1: expected a value (a number, a name, a call or ( )), found the end",
		"task +":                   "column 7: expected a value (a number, a name, a call or ( )), found the end",
		"task form":                `column 6: unexpected "form"; accepted: an operator, or the end of the formula`,
		"(task":                    `column 6: expected ")", found the end`,
		"task)":                    `column 5: unexpected ")"`,
		"min(task,":                "column 10: expected a value (a number, a name, a call or ( )), found the end",
		"tsk + 1":                  "column 1: unknown name tsk",
		"1 +\n  tsk":               "line 2, column 3: unknown name tsk",
		"é":                        `column 1: 'é' is not part of the language`,
		"'task'":                   `column 1: text can only be compared, as in row.domain == "math"`,
		"foo(task)":                "column 1: unknown function foo",
		"tokens(1)":                "column 1: tokens is not a function; write it without ( )",
		"form(1)":                  "column 1: form is not a function",
		"sqrt":                     "column 1: sqrt is a function; write sqrt(x)",
		"sqrt()":                   "column 1: sqrt has 0 arguments; accepted: sqrt(x)",
		"sqrt(1, 2)":               "column 1: sqrt has 2 arguments; accepted: sqrt(x)",
		"if(1, 2, 3)":              "column 4: if(condition, x, y) takes a condition here, found a number; write a comparison",
		"if(task, 2, 3)":           "column 4: if(condition, x, y) takes a condition here, found a number; write a comparison, such as right(task)",
		"task and ended":           "column 1: a and b takes a condition here, found a number; write a comparison, such as right(task)",
		"not form":                 "column 5: not a takes a condition here, found a number; write a comparison, such as right(form)",
		"group_mean(task, 1)":      "column 18: group_mean(x[, where]) takes a condition here, found a number; write a comparison",
		"group_mean()":             "accepted: group_mean(x[, where])",
		"1 < task < 3":             "column 10: comparisons cannot be chained; write a < b and b < c",
		"task == 1 && ended":       `column 11: "&&" is not an operator here; write and`,
		"task ** 2":                `column 6: "**" is not an operator here; write pow(x, y)`,
		"!ended":                   `column 1: "!" is not an operator here; write not`,
		"1/0":                      "column 2: a / b: division by 0",
		"clip(task, 1, 0)":         "column 1: clip(x, low, high): low is above high",
		"linear(0, 1, 5, 3)":       "last is before first",
		"piecewise(1, 5)":          "piecewise has 2 arguments",
		"piecewise(1, 5, 2, 3, 3)": "its bounds have to rise",
		"overlong()":               "column 1: overlong has 0 arguments; accepted: overlong(cache, longest = max_tokens)",
		"kimi_length(task)":        "column 1: kimi_length(condition): if(condition, x, y) takes a condition here",
		"repetition(0)":            "column 12: repetition(n) takes a whole number from 1 to 1000, written out, as n",
		"repetition(tokens)":       "column 12: repetition(n) takes a whole number",
		"repetition(2.5)":          "repetition(n) takes a whole number",
		"agreement(tokens)":        "column 11: agreement(verifier) takes one of the names task, form as verifier",
		"1e999":                    `"1e999" is not a number`,
		"1_000":                    `"1_000" is not a number`,
		"0x10":                     `"0x10" is not a number`,
		"nan":                      "unknown name nan",
		"a = 1; a = 2; a":          "column 8: a is defined twice",
		"task = 1; task":           "column 1: task is a fact; choose another name",
		"tokens = 1; 1":            "tokens is a fact",
		"form = 1; 1":              "form is a fact",
		"min = 1; 1":               "min is a function",
		"reward = 1; 1":            "reward is a formula of its own",
		"task + polite":            "column 8: unknown name polite; a verifier is declared with [[stage.verifier]], and rlzero formulas lists all else",
		"a = b; b = 1; a":          "column 5: b has no value here",
		"a = a; a":                 "column 5: unknown name a",
		"a = 1":                    `column 6: expected ";", found the end`,
		"a = 1;":                   "column 7: expected a value (a number, a name, a call or ( )), found the end",
		"1 = 2; 3":                 "only a name can stand before =",
		"a + 1 = 2; 3":             "only a name can stand before =",
		"task = 1":                 `expected ";", found the end`,
		"position":                 "a reward is one value for each completion, found one for each token; write mean(...)",
		"group_mean(group_size)":   "column 1: group_ takes one value for each completion, found one value for each group",
		"row.a.b":                  "unknown name row.a.b",
		"and":                      `column 1: expected a value, found "and"`,
		strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60): "nested more than 48 levels deep",
		strings.Repeat("-", 60) + "task":                        "nested more than 48 levels deep",
		strings.Repeat("not ", 60) + "ended":                    "nested more than 48 levels deep",
		strings.Repeat("1 + ", 3000) + "1":                      "the formula has 12001 bytes; accepted: at most 8192",
	} {
		_, err := Compile(expression, form)
		var all Errors
		if !errors.As(err, &all) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", expression, err, want)
		}
	}
}

// TestNames: what a formula may name beside facts: numbers of a verdict, text and
// numbers of the row's metadata, values and functions of its own. A verifier may
// have the name of a function.
func TestNames(t *testing.T) {
	declared := []Verifier{{Name: "first", Verifier: "format"}}
	answers := []answer{{0, 8, 1, 0.5}, {0, 4, 0, nan}, {1, 6, 1, 1}}
	b := batchOf(answers)
	b.Completions[0].Path.Verdicts[1].Values = map[string]float64{"blocks": 3, "lines": 2}
	b.Completions[2].Row.Metadata = map[string]json.RawMessage{"label": json.RawMessage("7")}
	for _, c := range []struct {
		text  string
		want  []float64
		terms string
		why   string // of the last that is not scored
	}{
		{"first.blocks", []float64{3, nan, nan}, "task first", "first.blocks: the verdict has no such number"},
		{"default(first.cells, 0)", []float64{0, 0, 0}, "task first", ""},
		{"first + first(position)", []float64{1.5, nan, 2}, "task first", "first: no reference"},
		{`if(row.label == "x", 1, 2)`, []float64{1, 1, nan}, "task first", "row.label: "},
		{`default(row.label != "x", true)*tokens`, []float64{0, 0, 6}, "task first", ""},
		{"row.label", []float64{nan, nan, 7}, "task first", "row.label: "},
		{"half(x) = x/2; place = position*2; mine = half(tokens); whole = step; mine + mean(place)*0", []float64{4, 2, 3}, "task first mine whole", ""},
		{`if(tokens > 5, missing("too long"), 1)`, []float64{nan, 1, nan}, "task first", "too long"},
		{"if(tokens > 5, unscored, overlong(tokens - 4))", []float64{nan, nan, nan}, "task first", LeftOut},
		{"overlong(tokens - 4)", []float64{0, nan, 0}, "task first", "overlong: cache has to be above 0"},
		{"2", []float64{2, 2, 2}, "task first", ""},
	} {
		p, err := Compile(c.text, declared)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		s, err := p.Score(b)
		if err != nil || !sameAll(paid(s), c.want) {
			t.Errorf("%s is %v, want %v, error %v", c.text, paid(s), c.want, err)
			continue
		}
		var terms []string
		for _, term := range s[0].Terms {
			terms = append(terms, term.Name)
		}
		if got := strings.Join(terms, " "); got != c.terms {
			t.Errorf("%s has the terms %s, want %s", c.text, got, c.terms)
		}
		last := ""
		for _, one := range s {
			if one.NotScored != "" {
				last = one.NotScored
			}
		}
		if !strings.HasPrefix(last, c.why) || c.why == "" && last != "" {
			t.Errorf("%s: reason %q, want %q", c.text, last, c.why)
		}
	}
}

// TestTokens: rewards may read what was recorded of each token.
func TestTokens(t *testing.T) {
	b := batchOf([]answer{{0, 2, 1, 1}, {0, 1, 0, 1}, {0, 3, 0, 1}})
	b.Completions[0].View.Logprob, b.Completions[0].View.Entropy = []float32{-1, -3}, []float32{0.5, 1.5}
	b.Vocabulary = 8
	b.Completions[0].UniformLogp = []float32{-3, -4}
	b.Completions[1].View.Logprob, b.Completions[1].View.Entropy = []float32{-4}, []float32{0.25}
	b.Completions[2].View.Logprob = nil
	for text, want := range map[string][]float64{
		"mean(old)":                    {-2, -4, nan},
		"low_entropy":                  {-1, -0.25, nan},
		"self_certainty":               {3.5 - math.Log(8), nan, nan},
		"default(first(old), 0)":       {-1, -4, 0},
		"sum(old, old < -2)*tokens":    {-6, -4, 0},
		"highest(old*position)":        {-1, -4, nan},
		"group_mean(mean(old)) + task": {-2, -3, -3},
	} {
		if got := paid(scored(t, text, b)); !sameAll(got, want) {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
	if why := scored(t, "sum(old)/tokens", b)[2].NotScored; why != "" {
		t.Errorf("a sum leaves out what is missing, but %q", why)
	}
}

// TestPerplexityRatio: means over the tokens of a text are asked for, and their difference is
// the log of the ratio.
func TestPerplexityRatio(t *testing.T) {
	p := compiled(t, "perplexity_ratio(row.answer)")
	b := batchOf([]answer{{0, 2, 1, 1}})
	asked := map[string]Answer{}
	b.Completions[0].Asked = asked
	for _, ask := range p.Asks() {
		if !strings.HasPrefix(ask.Column, "mean_score_of") || ask.Model != "policy" {
			t.Errorf("%+v", ask)
		}
		asked[ask.Column] = Answer{Value: map[string]float64{"prompt": -3, "completion": -1}[ask.After]}
	}
	if s, err := p.Score(b); err != nil || len(asked) != 2 || !sameAll(paid(s), []float64{math.Exp(2)}) {
		t.Errorf("%+v, error %v", s, err)
	}
}

// TestAsked: a formula says what models are asked for, and takes their answers.
func TestAsked(t *testing.T) {
	p := compiled(t, `score_of(row.answer, completion, policy) - score_of('7 "x"', prompt, ref) + 0*score_of(row.answer, completion, policy)`)
	asks := p.Asks()
	if len(asks) != 2 || asks[0].After != "completion" || asks[0].Model != "policy" || asks[1].After != "prompt" || asks[1].Model != "ref" {
		t.Fatalf("%+v", asks)
	}
	row := verify.Problem{Answer: "12"}
	for _, c := range []struct {
		ask       Ask
		row       verify.Problem
		text, why string
	}{
		{asks[0], row, "12", ""},
		{asks[0], verify.Problem{}, "", "row.answer: the row has no such value"},
		{asks[0], verify.Problem{Answer: "12", Metadata: map[string]json.RawMessage{"answer": json.RawMessage(`"13"`)}}, "13", ""},
		{asks[0], verify.Problem{Metadata: map[string]json.RawMessage{"answer": json.RawMessage("13")}}, "", `row.answer: "answer" of the row is`},
		{asks[1], row, `7 "x"`, ""},
	} {
		if text, why := c.ask.Text(c.row); text != c.text || !strings.HasPrefix(why, c.why) || (why == "") != (c.why == "") {
			t.Errorf("%+v of %+v: %q, %q", c.ask, c.row, text, why)
		}
	}
	b := batchOf([]answer{{0, 2, 1, 1}, {0, 3, 1, 1}})
	b.Completions[0].Asked = map[string]Answer{asks[0].Column: {Value: -3}, asks[1].Column: {Value: -1}}
	b.Completions[1].Asked = map[string]Answer{asks[0].Column: {Why: "too long"}, asks[1].Column: {Value: -1}}
	s, err := p.Score(b)
	if err != nil || !sameAll(paid(s), []float64{-2, nan}) || s[1].NotScored != "score_of: too long" {
		t.Errorf("%+v, error %v", s, err)
	}
	for text, want := range map[string]float64{"score_of": -3, "mean_score_of": -1.5, "mean_probability_of": (math.Exp(-1) + math.Exp(-2)) / 2} {
		if got := AsksOf(text+"(row.answer, prompt, ref)", nil); len(got) != 1 || got[0].Of([][]float64{{-1, -2}})[0] != want {
			t.Errorf("%s: %+v, want %v", text, got, want)
		}
	}
	// The first place is as likely after both completions: it does not count. Where no place tells
	// anything, the mean of all does.
	tells := AsksOf("telling_score_of(row.answer, completion, policy)", nil)[0]
	if got := tells.Of([][]float64{{-1, -2}, {-1, -4}}); !sameAll(got, []float64{-2, -4}) {
		t.Errorf("telling_score_of: %v", got)
	}
	if got := tells.Of([][]float64{{-1, -2}, {-1, -2}}); !sameAll(got, []float64{-1.5, -1.5}) {
		t.Errorf("telling_score_of of equal ones: %v", got)
	}
	if got := AsksOf("score_alone(ref)", nil); len(got) != 1 || got[0].After != "nothing" || got[0].Model != "ref" || got[0].Of([][]float64{{-1, -2}})[0] != -1.5 {
		t.Errorf("score_alone: %+v", got)
	}
	if got := AsksOf("if(right(form), score_of(row.answer, prompt, ref), 0)", form); len(got) != 1 || got[0].Model != "ref" {
		t.Errorf("%+v", got)
	}
	if got := AsksOf("if(", nil); got != nil {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{
		"score_of(task, prompt, ref)":              "score_of(text, after, model) takes a text in quotes, or a fact that is text, as text",
		"score_of(row.answer, prompt, judge)":      "takes one of the names policy, ref, ema as model",
		"score_of(row.answer, end, ref)":           "takes one of the names prompt, completion, thought as after",
		"score_of(row.answer)":                     "score_of has 1 argument; accepted: score_of(text, after, model)",
		"group_mean(score_of(row.answer, prompt))": "score_of has 2 arguments",
	} {
		if _, err := Compile(text, form); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	b.Completions[0].Row, b.Completions[1].Row = row, row
	if got := paid(scored(t, `if(row.answer == "12", row.answer, 0)`, b)); !sameAll(got, []float64{12, 12}) {
		t.Errorf("the answer as text and number: %v", got)
	}
}

// TestRunErrors: arithmetic on numbers of the run that gives none is an error with
// its place, not the fault of any completion.
func TestRunErrors(t *testing.T) {
	_, err := compiled(t, "task + (step - 3)/(step - 3)").Score(batchOf([]answer{{0, 8, 1, 1}}))
	if err == nil || err.Error() != "reward: column 18: / of 0 and 0 is not a number" {
		t.Errorf("%v", err)
	}
}

// TestAllErrors: what does not hide each other is told at once.
func TestAllErrors(t *testing.T) {
	_, err := Compile("tsk + foo(bar) + if(task, 1, 2)", form)
	var all Errors
	if errors.As(err, &all); len(all) != 3 || all[0].Text != "column 1: unknown name tsk; did you mean task?" || all[1].Text != "column 7: unknown function foo" {
		t.Errorf("%v", err)
	}
}

// FuzzCompile: no text crashes the parser or an evaluation; a reward is finite
// or not scored with a reason; the order of the completions does not count.
func FuzzCompile(f *testing.F) {
	for _, e := range everyStatistic() {
		f.Add(e, uint64(1))
	}
	for _, fn := range formula.Functions() {
		f.Add(fn.Usage, uint64(2))
	}
	for _, part := range parts {
		f.Add(part.Name, uint64(2))
	}
	f.Add("a = task + form; if(right(a) and not ended, -a/row.budget, default(unscored, 1e3))", uint64(3))
	f.Add("# x\n-(1 < 2 or true) == .5e-1;", uint64(4))
	f.Fuzz(func(t *testing.T, expression string, seed uint64) {
		p, err := Compile(expression, form)
		if err != nil {
			var all Errors
			if !errors.As(err, &all) || len(all) == 0 {
				t.Errorf("error %v", err)
			}
			return
		}
		answers := randomAnswers(rand.New(rand.NewPCG(seed, 0)))
		s, err := p.Score(batchOf(answers))
		var fault *formula.Error
		if err != nil {
			if !errors.As(err, &fault) {
				t.Errorf("error %v", err)
			}
			return
		}
		for i, one := range s {
			if r := one.Reward; math.IsInf(r, 0) || math.IsNaN(r) != (one.NotScored != "") {
				t.Errorf("completion %d has %v because %q", i, r, one.NotScored)
			}
		}
		if strings.Contains(expression, "random") { // which the tests tie to the place
			return
		}
		n := len(answers)
		turned := make([]answer, n)
		for i, a := range answers {
			turned[n-1-i] = a
		}
		again, err := p.Score(batchOf(turned))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range paid(again) {
			if was := s[n-1-i].Reward; math.Float64bits(r) != math.Float64bits(was) && !(math.IsNaN(r) && math.IsNaN(was)) {
				t.Errorf("completion %d has %v, elsewhere %v", i, was, r)
			}
		}
	})
}

// TestHeads: the name of a model with a head is what the head says of the whole completion, also where
// it is named in a part; such a model has no log-probs of texts, and one without a head no such name.
func TestHeads(t *testing.T) {
	models := []Model{{"teacher", false}, {"rm", true}}
	for text, want := range map[string]string{
		"rm":                                   "",
		"liked = 1/(1 + exp(-rm)); liked*task": "",
		"score_of(row.answer, prompt, teacher) + rm": "",
		"score_of(row.answer, prompt, rm)":           "takes one of the names policy, ref, ema, teacher as model",
		"teacher":                                    "unknown name teacher",
	} {
		_, err := Compile(text, nil, models...)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		asks := 0
		for _, a := range AsksOf(text, nil, models...) {
			if a.Head {
				asks++
			}
		}
		if want == "" && asks != 1 {
			t.Errorf("%s asks heads for %d numbers", text, asks)
		}
	}
	p, err := Compile("2*rm", nil, models...)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := p.Score(Batch{Step: 1, Steps: 1, Completions: []Completion{{Path: rollout.Path{Verdicts: make([]verify.Verdict, 1)}, Asked: map[string]Answer{"rm": {Value: 1.5}}},
		{Group: 1, Path: rollout.Path{Verdicts: make([]verify.Verdict, 1)}, Asked: map[string]Answer{"rm": {Why: "too long"}}}}})
	if err != nil || scores[0].Reward != 3 || scores[1].NotScored != "rm: too long" {
		t.Errorf("%+v (%v)", scores, err)
	}
	scores, err = p.Score(Batch{Step: 1, Steps: 1, Completions: []Completion{{Path: rollout.Path{Verdicts: make([]verify.Verdict, 1)}}}})
	if err != nil || scores[0].NotScored != "rm: no model was asked" {
		t.Errorf("where nobody was asked: %+v (%v)", scores, err)
	}
}
