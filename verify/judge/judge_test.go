package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/verify"
)

// made is a judge of its options.
func made(t *testing.T, options string) *Judge {
	t.Helper()
	j, err := New(json.RawMessage(options))
	if err != nil {
		t.Fatal(options, err)
	}
	return j
}

// TestRefused: what is wrong with the options of a judge is told with what is accepted.
func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rubric.txt")
	if err := os.WriteFile(file, []byte("Is this right?\nQuestion: {question}\nAnswer: {completoin}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const asks = `"model":"m","source":"{completion}"`
	for options, want := range map[string][2]string{
		`{"read":"head"}`:                                                                 {"option model is missing", `model = "judge"`},
		`{"model":"m"}`:                                                                   {"option read is missing", "read = {yes = 1, no = 0}"},
		`{"model":"m","read":{"yes":1,"no":0}}`:                                           {"option prompt is missing", `prompt = "rubric.txt"`},
		`{"model":"m","read":"head","shows":"pairs"}`:                                     {"option prompt is missing", ""},
		`{"model":"m","read":7}`:                                                          {"option read is 7; accepted: \"head\", a table", ""},
		`{` + asks + `,"read":{"yes":1}}`:                                                 {`one answer, "yes"; accepted: two or more`, ""},
		`{` + asks + `,"read":{"yes":1,"no":2}}`:                                          {`"no" = 2; accepted: a number from 0 to 1`, ""},
		`{` + asks + `,"read":{"yes":1,"yes, but":0}}`:                                    {`the answer "yes, but" begins with the answer "yes"`, ""},
		`{` + asks + `,"read":"(a)(b)"}`:                                                  {"has 2 groups; accepted: at most one", ""},
		`{` + asks + `,"read":"("}`:                                                       {"option read: error parsing regexp", ""},
		`{` + asks + `,"read":"judge"}`:                                                   {"a judge cannot read a judge", ""},
		`{` + asks + `,"read":"head","votes":3}`:                                          {"would do nothing: for its head no answer is drawn", ""},
		`{` + asks + `,"read":"[0-9]","votes":3}`:                                         {"votes = 3 with temperature = 0", "temperature = 1"},
		`{` + asks + `,"read":"[0-9]","between":[3,3]}`:                                   {"between = [3 3]; accepted: a smaller number and a larger one", ""},
		`{` + asks + `,"read":"[0-9]","between":[-1e308,1e308]}`:                          {"between = [-1e+308 1e+308]; accepted: numbers whose difference is at most 1.8e308", ""},
		`{` + asks + `,"read":{"a":0,"b":1},"between":[0,3]}`:                             {"only the number of a regular expression has a range", ""},
		`{` + asks + `,"read":"head","steps":"(?m)^"}`:                                    {`steps = "(?m)^" would do nothing with shows = "each"`, ""},
		`{"model":"m","source":"{step}","shows":"steps","read":"head"}`:                   {`shows = "steps" needs steps, a regular expression`, "steps = '(?m)^'"},
		`{"model":"m","source":"{step}","shows":"steps","steps":"(","read":"head"}`:       {"option steps: error parsing regexp", ""},
		`{"model":"m","source":"{completion}","shows":"steps","steps":"a","read":"head"}`: {"source never shows {step}", ""},
		`{` + asks + `,"read":"head","items":"rubric"}`:                                   {`items = "rubric" would do nothing with shows = "each"`, ""},
		`{"model":"m","source":"{completion}{item}","shows":"items","read":"head"}`:       {`shows = "items" needs items`, ""},
		`{"model":"m","source":"{completion}","shows":"items","items":"r","read":"head"}`: {"source never shows {item}", ""},
		`{"model":"m","source":"{list}","shows":"group","read":"head"}`:                   {`shows = "group" reads an order`, ""},
		`{"model":"m","source":"{completion} {","read":"head"}`:                           {"source:1:14: found { without }; accepted: {question}, {answer}, {completion}, {row.NAME}", ""},
		`{"model":"m","source":"a}","read":"head"}`:                                       {"source:1:2: found } without {", ""},
		`{"model":"m","prompt":"` + file + `","read":"head"}`:                             {"rubric.txt:3:9: found {completoin}; accepted: {question}, {answer}, {completion}", "did you mean {completion}?"},
		`{"model":"m","prompt":"nowhere.txt","read":"head"}`:                              {"option prompt: ", ""},
		`{"model":"m","read":"head","part":"</think>"}`:                                   {`part = "</think>" would do nothing: without a prompt the conversation itself is shown, all of it`, ""},
		`{"model":"m","read":"head","vote":3}`:                                            {"vote", ""},
	} {
		_, err := New(json.RawMessage(options))
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(strings.Join(hint.All(err), " "), want[1]) {
			t.Errorf("%s: %v (%v), want %q and %q", options, err, hint.All(err), want[0], want[1])
		}
	}
}

// TestQuestions: braces are filled with what the row and the completion have, items with their points, and
// what a row lacks is told.
func TestQuestions(t *testing.T) {
	row := verify.Problem{Question: "6*7?", Answer: "42", Metadata: map[string]json.RawMessage{
		"level": json.RawMessage("3"), "rubric": json.RawMessage(`["is short",{"ask":"names 42","points":3}]`), "empty": json.RawMessage("[]")}}
	j := made(t, `{"model":"m","source":"{{{question}}} {answer} {row.level} {completion} {item}","shows":"items","items":"rubric","part":"</think>","read":{"yes":1,"no":0}}`)
	qs, err := j.Ask(row, "<think>no {answer}</think>42 {item}")
	if err != nil || len(qs) != 2 || qs[1] != (Question{About: "2", Text: "{6*7?} 42 3 42 {item} names 42", Points: 3}) || qs[0].Points != 1 {
		t.Errorf("%+v (%v)", qs, err)
	}
	if qs, _ := j.Ask(row, "42"); qs[0].Text != "{6*7?} 42 3  is short" {
		t.Errorf("without the part: %q", qs[0].Text)
	}
	pair := made(t, `{"model":"m","source":"{a}|{b}","shows":"pairs","read":{"yes":1,"no":0}}`)
	if q, err := pair.Compare(row, "x", "y"); err != nil || q.Text != "x|y" {
		t.Errorf("%+v (%v)", q, err)
	}
	list := made(t, `{"model":"m","source":"{list}","shows":"group","read":"Best first: (.*)"}`)
	if q, err := list.List(row, []string{"x", "y"}); err != nil || q.Text != "[1]\nx\n[2]\ny\n" {
		t.Errorf("%+v (%v)", q, err)
	}
	for _, c := range []struct {
		options string
		want    string
	}{
		{`{"model":"m","source":"{row.budget}{completion}","read":"head"}`, "the prompt reads {row.budget}, and beside question and answer the row has empty (empty), level, rubric"},
		{`{"model":"m","source":"{completion}{item}","shows":"items","items":"level","read":"head"}`, "level of the row is 3; accepted: a list of 1 to 64 texts"},
		{`{"model":"m","source":"{completion}{item}","shows":"items","items":"empty","read":"head"}`, "empty of the row is []; accepted"},
		{`{"model":"m","source":"{completion}{item}","shows":"items","items":"none","read":"head"}`, "the row has no none, whose entries are judged"},
	} {
		j := made(t, c.options)
		if err := verify.Check(j, row); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.options, err, c.want)
		}
		if _, err := j.Ask(row, "x"); err == nil {
			t.Errorf("%s: it asks", c.options)
		}
	}
	if v := j.Verify(row, "x"); v.Verdict != verify.NotScored || !strings.Contains(v.Reason, "rlzero judge") {
		t.Errorf("without a model: %+v", v)
	}
}

// TestSteps: a completion is cut where matches begin, but for white space and beyond the last step; a question
// shows a step and what stands before it; numbers of a verdict are by step.
func TestSteps(t *testing.T) {
	j := made(t, `{"model":"m","source":"{question}[{before}|{step}|{completion}]","shows":"steps","steps":"(?m)^","read":{"yes":1,"no":0}}`)
	for completion, want := range map[string]string{
		"":                        "[0]",
		"one":                     "[0]",
		"one\ntwo":                "[0 4]",
		"one\n\n\ntwo\n\n":        "[0 4]",
		"\n\none\ntwo":            "[0 6]",
		strings.Repeat("x\n", 70): fmt.Sprint(evens(64)),
	} {
		if got := fmt.Sprint(j.Cut(completion)); got != want {
			t.Errorf("%q is cut at %s, want %s", completion, got, want)
		}
	}
	row := verify.Problem{Question: "?"}
	qs, err := j.Ask(row, "one\ntwo\n")
	if want := []Question{{"1", "?[|one\n|one\ntwo\n]", 1}, {"2", "?[one\n|two\n|one\ntwo\n]", 1}}; err != nil || !slices.Equal(qs, want) {
		t.Errorf("%+v, %v; want %+v", qs, err, want)
	}
	after := made(t, `{"model":"m","source":"[{before}|{step}]","shows":"steps","steps":"(?m)^","part":"</think>","read":{"yes":1,"no":0}}`)
	if qs, _ := after.Ask(row, "a\nb</think>c\nd"); len(qs) != 2 || qs[1].Text != "[c\n|d]" || fmt.Sprint(after.Cut("a\nb</think>c\nd")) != "[11 13]" {
		t.Errorf("after the part: %+v", qs)
	}
	if qs, _ := after.Ask(row, "a\nb"); len(qs) != 1 || qs[0].Text != "[|]" {
		t.Errorf("without the part: %+v", qs)
	}
	if each := made(t, `{"model":"m","source":"{completion}","read":{"yes":1,"no":0}}`); each.Cut("a\nb") != nil {
		t.Error("each has steps")
	}
	says := func(p float64) []verify.Opinion {
		return []verify.Opinion{j.OfChoices([]float64{math.Log(1 - p), math.Log(p)})}
	}
	low, high := *says(0.25)[0].Reading, *says(0.75)[0].Reading
	v := j.Verdict(qs, [][]verify.Opinion{says(0.25), says(0.75)})
	if want := map[string]float64{"1": low, "2": high, "least": low, "last": high}; v.Score != (low+high)/2 || !maps.Equal(v.Values, want) {
		t.Errorf("%+v", v)
	}
	if v := j.Verdict(qs, [][]verify.Opinion{says(0.25), {{Why: "no match"}}}); v.Verdict != verify.NotScored || v.Values != nil || !strings.Contains(v.Reason, "no match") {
		t.Errorf("a step that is unread: %+v", v)
	}
}

// evens are the first n even numbers.
func evens(n int) (out []int) {
	for i := range n {
		out = append(out, 2*i)
	}
	return out
}

// TestReadings: what a judge says, read by hand. What cannot be read has a reason and no number.
func TestReadings(t *testing.T) {
	const eps = 0x1p-50 // a few roundings of numbers of at most 1
	choices := made(t, `{"model":"m","source":"{completion}","read":{"yes":1,"perhaps":0.5,"no":0}}`)
	o := choices.OfChoices([]float64{math.Log(0.1), math.Log(0.2), math.Log(0.5)}) // no, perhaps, yes
	if math.Abs(*o.Reading-(0.5+0.1)/0.8) > eps || math.Abs(*o.Mass-0.8) > eps {
		t.Errorf("choices: %v, %v", *o.Reading, *o.Mass)
	}
	if o := choices.OfChoices([]float64{-900, -900, -902}); math.Abs(*o.Reading-(0.5+math.Exp(-2))/(2+math.Exp(-2))) > eps || *o.Mass != 0 {
		t.Errorf("unlikely choices: %v, %v", *o.Reading, *o.Mass)
	}
	if o := choices.OfChoices([]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1)}); o.Reading != nil || o.Why == "" {
		t.Errorf("impossible choices: %+v", o)
	}
	head := made(t, `{"model":"m","read":"head"}`)
	for x, want := range map[float64]float64{0: 0.5, 800: 1, -800: 0, math.Log(3): 0.75, -math.Log(3): 0.25} {
		if o := head.OfHead(x, false); math.Abs(*o.Reading-want) > eps || *o.Raw != x {
			t.Errorf("head %v: %v, %v", x, *o.Reading, *o.Raw)
		}
	}
	if o := head.OfHead(0.3, true); *o.Reading != 0.3 {
		t.Errorf("a probability: %v", *o.Reading)
	}
	if o := head.OfHead(math.NaN(), false); o.Reading != nil || o.Why == "" {
		t.Errorf("NaN: %+v", o)
	}
	pattern := made(t, `{"model":"m","source":"Rate {completion} with nothing but Score: 10","read":"Score: (\\S+)","between":[0,10],"max_tokens":9}`)
	for text, want := range map[string]any{
		"Score: 3, no, Score: 7.5": 0.75,
		"Score: 0":                 0.0,
		"Score: 10":                1.0,
		"Score: 11":                "the number is not between 0 and 10",
		"Score: -1":                "the number is not between 0 and 10",
		"Score: 1e999":             "the number is not between 0 and 10",
		"Score: NaN":               `the match of "Score: (\\S+)" is no number`,
		"Score: ten":               `the match of "Score: (\\S+)" is no number`,
		"":                         `no match of "Score: (\\S+)"`,
		"It is good.":              `no match of "Score: (\\S+)"`,
		"You said: Rate x with nothing but Score: 10": "the answer repeats the question",
	} {
		o := pattern.OfDrawn(verify.Problem{}, Said{Text: text, Ended: true, Tokens: 3})
		if x, number := want.(float64); number && (o.Reading == nil || *o.Reading != x) || !number && (o.Reading != nil || o.Why != want) {
			t.Errorf("%q: %+v, want %v", text, o, want)
		}
	}
	if o := pattern.OfDrawn(verify.Problem{}, Said{Text: "Score: 7"}); o.Reading != nil || o.Why != "the answer is cut at max_tokens = 9" {
		t.Errorf("cut: %+v", o)
	}
	reader := made(t, `{"model":"m","source":"{completion}","read":"number"}`)
	for text, want := range map[string]float64{"The answer is 42": 1, "41": 0} {
		if o := reader.OfDrawn(verify.Problem{Answer: "42"}, Said{Text: text, Ended: true}); o.Reading == nil || *o.Reading != want {
			t.Errorf("%q by number: %+v", text, o)
		}
	}
	if o := reader.OfDrawn(verify.Problem{Answer: "42"}, Said{Ended: true}); o.Reading != nil || o.Why == "" { // no answer, rather than a wrong one
		t.Errorf("nothing by number: %+v", o)
	}
	if o := reader.OfDrawn(verify.Problem{}, Said{Text: "42", Ended: true}); o.Reading != nil || o.Why == "" {
		t.Errorf("no reference: %+v", o)
	}
}

// TestRepeated: an answer that has the prompt's own text in it is unread, whatever stands in the braces: a completion
// that is a part of the answer, or empty, makes no answer unread.
func TestRepeated(t *testing.T) {
	const again = "the answer repeats the question"
	for _, c := range []struct {
		source, answer string
		want           any
	}{
		{"{completion}", "The answer is 7", 0.7},
		{"{question}{completion}", "You ask: 6*7? I say 4", 0.4},
		{"{completion}:", "it is: 7", 0.7},
		{"Answer: {completion}\nGrade:", "Answer: 7\nGrade: 5", 0.5},
		{"Is this answer right?\n{completion}", "yes, 7", 0.7},
		{"Is this answer right?\n{completion}", "Is this answer right? It is: 7", again},
		{"Is this answer right?\n{completion}", "Is this answer right?\n7", again},
		{"{completion}\nFinal score:", "Final score: 7", 0.7},
		{"Rate {completion} as a grade from 0 to 9", "Rate y as a grade from 0 to 9", again},
		{"Rate {completion} as a grade from 0 to 9", "as a grade from 0 to 9, and not: Rate y. 8", 0.8},
		{"{completion}\n给这个答案打分，从零分到九分，只写一个数字", "x\n给这个答案打分，从零分到九分，只写一个数字: 7", again},
	} {
		options, err := json.Marshal(map[string]any{"model": "m", "source": c.source, "read": "[0-9]", "between": []int{0, 10}})
		if err != nil {
			t.Fatal(err)
		}
		o := made(t, string(options)).OfDrawn(verify.Problem{}, Said{Text: c.answer, Ended: true})
		if x, number := c.want.(float64); number && (o.Reading == nil || *o.Reading != x) || !number && (o.Reading != nil || o.Why != c.want) {
			t.Errorf("%q to %q: %+v, want %v", c.answer, c.source, o, c.want)
		}
	}
	for source, want := range map[string]string{"{list}": "", "The best answer comes first.\n{list}": again} {
		options, err := json.Marshal(map[string]any{"model": "m", "source": source, "shows": "group", "read": "[0-9] [0-9]$"})
		if err != nil {
			t.Fatal(err)
		}
		j := made(t, string(options))
		q, err := j.List(verify.Problem{}, []string{"", ""})
		if err != nil {
			t.Fatal(err)
		}
		if places, o := j.OfOrder(Said{Text: q.Text + " 2 1", Ended: true}, 2); o.Why != want || (places != nil) != (want == "") {
			t.Errorf("an order after %q: %v, %+v, want %q", source, places, o, want)
		}
	}
}

// TestHolds: a completion holds the question of a judge that writes if it has each piece by which that is known, in their
// order, in the part that is shown.
func TestHolds(t *testing.T) {
	for _, c := range []struct {
		options, completion string
		want                bool
	}{
		{`"source":"Is this answer right?\n{completion}"`, "Is this answer right? It is.", true},
		{`"source":"Is this answer right?\n{completion}"`, "Is this answer wrong?", false},
		{`"source":"Rate {completion} as a grade from 0 to 9"`, "7, as a grade from 0 to 9", true}, // "Rate" tells nothing
		{`"source":"Is this answer right?\n{completion}\nAnswer with one number"`, "Is this answer right? 7", false},
		{`"source":"Is this answer right?\n{completion}\nAnswer with one number"`, "Answer with one number Is this answer right?", false},
		{`"source":"Is this answer right?\n{completion}\nAnswer with one number"`, "Is this answer right? Answer with one number", true},
		{`"source":"{question}{completion}Grade:"`, "Grade:", false},
		{`"source":"Is this answer right?\n{completion}"`, "Is  this\nanswer right?", true},
		{`"source":"Is this answer right?\n{completion}","part":"</think>"`, "Is this answer right?</think>7", false},
		{`"source":"Is this answer right?\n{completion}","part":"</think>"`, "</think>Is this answer right?", true},
	} {
		for read, draws := range map[string]bool{`"[0-9]"`: true, `{"yes":1,"no":0}`: false} {
			if got := made(t, `{"model":"m",`+c.options+`,"read":`+read+`}`).Holds(c.completion); got != (c.want && draws) {
				t.Errorf("%q of %s read by %s: %v", c.completion, c.options, read, got)
			}
		}
	}
}

// TestErringJudge: the verifier that errs on purpose has no model to ask, so that it would never score.
func TestErringJudge(t *testing.T) {
	options := map[string]any{"model": "m", "source": "{completion}", "read": "head"}
	_, err := verify.New("erring", map[string]any{"verifier": Name, "options": options})
	if err == nil || !strings.Contains(err.Error(), "option verifier is judge, which asks a model; accepted: a verifier that judges by itself") {
		t.Error(err)
	}
}

// opinions are votes, NaN an unread one.
func opinions(readings ...float64) []verify.Opinion {
	var out []verify.Opinion
	for _, x := range readings {
		o := verify.Opinion{Why: "no match"}
		if !math.IsNaN(x) {
			o = verify.Opinion{Reading: &x}
		}
		out = append(out, o)
	}
	return out
}

// TestVerdicts: votes, items, duels and orders come to the numbers that are counted by hand, and what too
// few votes can be read of is not scored.
func TestVerdicts(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		votes                  []float64
		median, spread, unread float64
	}{
		{[]float64{0.2}, 0.2, 0, 0}, {[]float64{0.9, 0.1, 0.2}, 0.2, 0.8, 0}, {[]float64{0.9, 0.1, 0.2, 0.4}, 0.3, 0.8, 0},
		{[]float64{0.9, nan, 0.1}, 0.5, 0.8, 1.0 / 3}, {[]float64{0.9, nan}, 0.9, 0, 0.5}, {[]float64{0.9, nan, nan}, nan, nan, 2.0 / 3}, {[]float64{nan}, nan, nan, 1},
	} {
		median, spread, unread, why := Votes(opinions(c.votes...))
		same := func(a, b float64) bool { return math.Abs(a-b) < 0x1p-50 || math.IsNaN(a) && math.IsNaN(b) }
		if !same(median, c.median) || !same(spread, c.spread) || !same(unread, c.unread) || (why != "") != math.IsNaN(c.median) {
			t.Errorf("%v: %v, %v, %v, %q", c.votes, median, spread, unread, why)
		}
	}
	items := made(t, `{"model":"m","source":"{completion}{item}","shows":"items","items":"rubric","read":"[0-9]","votes":2,"temperature":1}`)
	qs := []Question{{About: "1", Points: 1}, {About: "2", Points: 3}}
	v := items.Verdict(qs, [][]verify.Opinion{opinions(0, 1), opinions(1, 1)})
	if v.Score != (0.5+3)/4 || v.Verdict != verify.Graded || v.Values["1"] != 0.5 || v.Values["2"] != 1 || v.Values["spread"] != 1 || v.Values["unread"] != 0 || len(v.Opinions) != 4 || v.Opinions[2].About != "2" {
		t.Errorf("items: %+v", v)
	}
	headed := opinions(0.25)
	headed[0].Raw = headed[0].Reading
	if v := items.Verdict(qs, [][]verify.Opinion{headed, headed}); len(v.Values) != 4 || v.Values["2"] != 0.25 {
		t.Errorf("items by a head: %+v", v) // raw would be that of one of them
	}
	if v := items.Verdict(qs, [][]verify.Opinion{opinions(0, 1), opinions(nan, nan)}); v.Verdict != verify.NotScored || !math.IsNaN(v.Score) || v.Reason != "the answer of m is unreadable: no match" || len(v.Opinions) != 4 {
		t.Errorf("an unread item: %+v", v)
	}
	for _, c := range [][3]float64{{0.9, 0.2, 0.85}, {0.1, 0.9, 0.1}, {0.9, 0.9, 0.5}, {0.1, 0.1, 0.5}, {0.5, 0.1, 0.5}} {
		if x := Duel(c[0], c[1]); math.Abs(x-c[2]) > 0x1p-50 {
			t.Errorf("%v: %v", c, x)
		}
	}
	if v := items.Among([]float64{1, 0.5, 0}, 0.5, 2, nil, ""); v.Score != 0.5 || v.Values["wins"] != 1 || v.Values["place"] != 3 {
		t.Errorf("among: %+v", v)
	}
	if v := items.Among(nil, math.NaN(), 0, nil, "no match"); v.Verdict != verify.NotScored {
		t.Errorf("no duel: %+v", v)
	}
	list := made(t, `{"model":"m","source":"{list}","shows":"group","read":"First (.*)"}`)
	places, o := list.OfOrder(Said{Text: "First 3 > 1 > 2", Ended: true}, 3)
	if o.Why != "" || len(places) != 3 || places[0] != 2 || places[1] != 3 || places[2] != 1 {
		t.Errorf("order: %v, %+v", places, o)
	}
	if v := list.Placed(2, 3, o); v.Score != 0.5 || v.Values["place"] != 2 {
		t.Errorf("second of three: %+v", v)
	}
	if v := list.Placed(1, 1, o); v.Verdict != verify.NotScored || v.Reason != alone {
		t.Errorf("one alone: %+v", v)
	}
	if v := items.Among(nil, math.NaN(), 0, nil, ""); v.Verdict != verify.NotScored || v.Reason != alone {
		t.Errorf("none to compare it with: %+v", v)
	}
	for _, text := range []string{"First 3 > 1", "First 3 1 1", "First 4 1 2", "First 1 2 3 2", "Third", "First "} {
		if places, o := list.OfOrder(Said{Text: text, Ended: true}, 3); places != nil || o.Why == "" || list.Placed(0, 3, o).Verdict != verify.NotScored {
			t.Errorf("%q: %v, %+v", text, places, o)
		}
	}
}

// FuzzTemplate: any text is a prompt or an error, and what is filled in is never read as a field.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{"", "{completion}", "{{{completion}}}", "{", "}", "{row.}", "{row.x}", "a{\n}b", "{question}{answer}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse("f", text, []string{"question", "completion"})
		if err != nil {
			return
		}
		row := verify.Problem{Question: "{completion}", Metadata: map[string]json.RawMessage{}}
		out, err := p.fill(row, map[string]string{"completion": "{question}{row.x}"})
		if err != nil {
			return
		}
		want := strings.NewReplacer("{{", "{", "}}", "}", "{completion}", "{question}{row.x}", "{question}", "{completion}").Replace(text)
		if out != want {
			t.Errorf("%q: %q, want %q", text, out, want)
		}
	})
}

// FuzzCut: wherever steps begin, they are ascending, at most 64, and together the part that is shown.
func FuzzCut(f *testing.F) {
	f.Add("one\ntwo\n\n</think>three", "(?m)^", "</think>")
	f.Add("\xff\n \xff=", "=|\xff", "")
	f.Add("aaaa", "", "a")
	f.Fuzz(func(t *testing.T, completion, steps, part string) {
		options, err := json.Marshal(map[string]any{"model": "m", "source": "{before}\x00{step}", "shows": "steps", "steps": steps, "part": part, "read": map[string]int{"yes": 1, "no": 0}})
		if err != nil {
			t.Fatal(err)
		}
		j, err := New(options)
		if err != nil {
			return
		}
		starts := j.Cut(completion)
		qs, err := j.Ask(verify.Problem{}, completion)
		if err != nil || len(qs) != len(starts) || len(starts) < 1 || len(starts) > maxSteps || !slices.IsSorted(starts) {
			t.Fatalf("%d questions about the steps at %v: %v", len(qs), starts, err)
		}
		whole := ""
		for i, q := range qs {
			before, step, _ := strings.Cut(q.Text, "\x00")
			if !strings.Contains(completion, "\x00") && before != whole {
				t.Errorf("before step %d stands %q, want %q", i+1, before, whole)
			}
			whole += step
		}
		if !strings.Contains(completion, "\x00") && whole != j.shown(completion) {
			t.Errorf("the steps are %q, want %q", whole, j.shown(completion))
		}
	})
}
