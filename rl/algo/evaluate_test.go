package algo

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

func ask(t *testing.T, question string) answer {
	t.Helper()
	q, err := readQuestion([]byte(question))
	if err != nil {
		t.Fatal(err)
	}
	a, err := q.evaluate(Method{})
	if err != nil {
		t.Fatalf("%s: %v", question, err)
	}
	return a
}

func TestExamples(t *testing.T) {
	for _, e := range Examples {
		got, ok := ask(t, e.Question).Loss.(float64)
		if bound := 16 * 0x1p-52 * math.Abs(e.Loss); !ok || math.Abs(got-e.Loss) > bound {
			t.Errorf("%s: loss %.17g, want %.17g", e.About, got, e.Loss)
		}
	}
}

func TestAnswer(t *testing.T) {
	got := ask(t, `{"formulas": {"keep": "row.domain == \"math\"", "advantage": "reward", "gain": "sum(logp)", "loss": "token_mean(-A*logp) - 0.1*token_mean(entropy)"},
		"group": [0, 1], "prompt": {"row.domain": ["math", "code"]}, "completion": {"reward": [2, null]}, "token": {"logp": [[-1, -2], [-3]], "entropy": [[1, 1], [1]], "value": [[0, 0], [0]]}}`)
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"loss":2.9,"dlogp":[[-1,-1],[0]],"dentropy":[[-0.05,-0.05],[0]],"duniform_logp":null,"dvalue":[[0,0],[0]],"keep":[true,false],` +
		`"parts":{"advantage":[2,null],"gain":[-3,null],"keep":[1,0]},"metrics":{"groups/uniform_share":1,"policy/entropy":1,"reward/group_std":0,"reward/mean":2,"reward/std":0,"rollout/not_scored":1},"local":true}`
	if string(data) != want {
		t.Errorf("%s\nwant %s", data, want)
	}
	// Nothing is left: no loss, no derivative.
	none := ask(t, `{"formulas": {"keep": "false", "loss": "token_mean(logp)"}, "group": [0], "token": {"logp": [[-1]]}}`)
	if none.Loss != nil || none.Dlogp.([]any)[0].([]any)[0] != 0.0 {
		t.Errorf("%+v", none)
	}
}

// TestForks: a segment begins at the tokens of the highest entropy, here the third of six.
func TestForks(t *testing.T) {
	got := ask(t, `{"parameters": {"fork_share": 0.2}, "formulas": {"segments": "forks", "advantage": "own*segment_sum(old)", "loss": "token_mean(-A*logp)"}, "group": [0],
		"token": {"logp": [[-1, -1, -1, -1, -1, -1]], "old": [[-1, -1, -1, -1, -1, -1]], "old_entropy": [[0.1, 0.2, 1.5, 0.1, 0.3, 0.1]]}}`)
	data, err := json.Marshal(got.Parts["advantage"])
	if want := "[[-2,-2,-4,-4,-4,-4]]"; err != nil || string(data) != want {
		t.Errorf("%s, %v; want %s", data, err, want)
	}
}

func TestQuestionFaults(t *testing.T) {
	for question, want := range map[string]string{
		`{"formula": {}}`:     `unknown field "formula"; accepted: one object with the keys formulas or preset`,
		`{"preset": "gprpo"}`: `preset "gprpo" is not known; accepted: a_star_po`,
		`{"preset": "aot"}`:   "there is no preset aot: AOT sorts the margins of the batch",
		`{"preset": "grpo", "group": [0, 0], "completion": {"reward": [1, 0]}, "token": {"logp": [[-1], [-2]]}}`:                    "there is no column token.old: the loss reads start, which is old where it is not given",
		`{"preset": "grpo", "group": [0, 0], "completion": {"rewards": [1, 0]}, "token": {"old": [[-1], [-2]]}}`:                    "there is no column completion.reward, which the formulas read: the stage's reward; of rows of data 1 for a better or good completion and 0 for a worse or bad one\nthere is no column token.logp, which the formulas read: log-prob of the token now",
		`{"group": [0], "token": {"logp": [[-1]], "old": [[-1, -2]]}}`:                                                              "token.old has 2 values for completion 1, token.logp has 1",
		`{"group": [0, 0], "token": {"logp": [[-1]]}}`:                                                                              "token.logp has 1 rows for 2 completions in group",
		`{"group": [0, 0], "completion": {"reward": [1]}}`:                                                                          "completion: column reward has 1 values; accepted: 2",
		`{"formulas": {"loss": "token_mean(logp*B)"}, "group": [0], "token": {"logp": [[-1]]}}`:                                     "loss: column 17: unknown name B",
		`{"formulas": {"loss": "token_mean(0/(logp + 1))"}, "group": [0], "token": {"logp": [[-1]]}}`:                               "/ of 0 and 0 is not a number in group 1, completion 1, token 1",
		`{"formulas": {"loss": "token_mean(1/(logp + 1))"}, "group": [0], "token": {"logp": [[-1]]}}`:                               "the loss is +Inf",
		`{"formulas": {"loss": "token_mean(sqrt(logp))"}, "group": [0], "token": {"logp": [[null]]}}`:                               "token.logp has a missing value",
		`{"formulas": {"segments": "own", "loss": "token_mean(logp)"}, "group": [0], "segments": [[1]], "token": {"logp": [[-1]]}}`: "segments are given twice",
		`{"parameters": {"x": null}, "group": []}`:                                                                                  "parameters.x is not a number",
	} {
		q, err := readQuestion([]byte(question))
		if err == nil {
			_, err = q.evaluate(Method{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", question, err, want)
		}
	}
}
