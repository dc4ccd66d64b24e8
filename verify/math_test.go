package verify

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// mathPair is a case of fixtures/math.
type mathPair struct {
	Gold        string `json:"gold"`
	Pred        string `json:"pred"`
	Expected    bool   `json:"expected"`
	Precision   *int   `json:"precision"`
	Strict      *bool  `json:"strict"`
	SetRelation *bool  `json:"allow_set_relation_comp"`
}

func mathPairs(t testing.TB, dir string) []mathPair {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "math_verify_pairs.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pairs []mathPair
	if err := json.Unmarshal(raw, &pairs); err != nil {
		t.Fatal(err)
	}
	return pairs
}

func (p mathPair) options() map[string]any {
	o := map[string]any{}
	if p.Precision != nil {
		o["precision"] = *p.Precision
	}
	if p.Strict != nil {
		o["strict"] = *p.Strict
	}
	if p.SetRelation != nil {
		o["allow_set_relation_comp"] = *p.SetRelation
	}
	return o
}

// TestMathPairs: every pair is judged as labelled, but for one at most, and no
// wrong answer is accepted.
func TestMathPairs(t *testing.T) {
	fixtures.Each(t, "math", func(t *testing.T, dir string) {
		matched, missed := 0, 0
		for i, p := range mathPairs(t, dir) {
			v, err := New("math", p.options())
			if err != nil {
				t.Fatal(err)
			}
			got := v.Verify(Problem{Answer: p.Gold}, p.Pred)
			checkVerdict(t, got)
			switch {
			case (got.Verdict == Right) == p.Expected:
				matched++
			case got.Verdict == Right:
				t.Errorf("pair %d: %q accepted for %q: %+v", i, p.Pred, p.Gold, got)
			default:
				missed++
				t.Logf("pair %d: %q refused for %q: %+v", i, shown(p.Pred), p.Gold, got)
			}
		}
		if missed > 1 {
			t.Errorf("%d right answers are refused: one at most may be", missed)
		}
		fixtures.Report(t, "math", matched, 0, 0)
	})
}

// TestMathHoles: attacks that once were paid.
func TestMathHoles(t *testing.T) {
	v, err := New("math", nil)
	if err != nil {
		t.Fatal(err)
	}
	row := Problem{Question: "What is 3 + 1?", Answer: "4"}
	for i, c := range []struct{ completion, want string }{
		{"What is 3 + 1?", Wrong},                                // 1: the prompt is its own answer, worked out
		{"Question: What is  3 + 1?\n", Wrong},                   // 1
		{"<answer>What is 3 + 1?</answer>", Wrong},               // 1
		{"<answer>between 5 and 4</answer>", Wrong},              // 2: the last of several numbers between tags
		{"<answer>4 apples</answer>", Right},                     //
		{"What is 3 + 1?\nIt makes 4", Right},                    //
		{"What is 3 + 1? I repeat: What is $3 + 1$? $4$", Right}, //
	} {
		if got := v.Verify(row, c.completion); got.Verdict != c.want {
			t.Errorf("%d: %q: %+v, want %s", i, c.completion, got, c.want)
		}
	}
}

// TestMathStrict: one answer, boxed or between tags, and no other beside it.
func TestMathStrict(t *testing.T) {
	v := made(t, "math", map[string]any{"extract": ExtractStrict})
	for completion, want := range map[string]string{
		`\boxed{7}`: Right, `\fbox{7}`: Right, `<answer>7</answer>`: Right, `<answer>$7$</answer>`: Right, "<answer> **7** </answer>": Right,
		`\boxed{7}, so \boxed{ 7 }`: Right, `\boxed{\boxed{7}}`: Right, `<answer>\boxed{7}</answer>`: Right, `<answer>7</answer>\boxed{7}`: Right,
		`<answer>7</answer>\boxed{8}`: Wrong, `\boxed{8}<answer>7</answer>`: Wrong, `\boxed{8}<answer>\boxed{7}</answer>`: Wrong, `\boxed{7}\boxed{8}`: Wrong,
		`\boxed{8}` + strings.Repeat(`\boxed{7}`, maxBoxes): Wrong, `</answer>\boxed{7}<answer>`: Wrong, "<answer>7</answer></answer>": Wrong, "<answer>7": Wrong,
		"<answer>8</answer><answer>7</answer>": Wrong, `\boxed{7`: Wrong, "7": Wrong,
	} {
		if got := v.Verify(Problem{Answer: "7"}, completion); got.Verdict != want {
			t.Errorf("%s: %+v, want %s", completion, got, want)
		}
	}
}

// TestMathWithoutAnswer: a row without a reference is told so, and not that a completion's
// answer is empty.
func TestMathWithoutAnswer(t *testing.T) {
	if err := (Math{Extract: ExtractLenient}).Check(Problem{Question: "1+1?"}); err == nil || !strings.Contains(err.Error(), `the row has no "answer"`) {
		t.Errorf("%v", err)
	}
}
