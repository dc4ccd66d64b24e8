package eval

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/verify"
)

// TestTruthOfRun: a judge of a stage is held against the task's verdict. That of a judge of the task is its
// own, and no truth: another verifier gives that.
func TestTruthOfRun(t *testing.T) {
	dir := t.TempDir()
	line := `{"step":1,"stage":"rl","prompt":"6*7?","answer":"42","completion":"42","verdict":"right"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, record.CompletionsFile), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	exact, err := verify.New("exact", nil)
	if err != nil {
		t.Fatal(err)
	}
	stage := &recipe.Stage{Name: "rl"}
	for _, c := range []struct {
		about string
		stage *recipe.Stage
		by    verify.Verifier
		known bool
	}{{"a judge of the stage", stage, nil, true}, {"a judge of the task", nil, nil, false}, {"a judge of the task, by exact", nil, exact, true}} {
		o := JudgeOptions{Opened: &resolve.Opened{Recipe: &recipe.Recipe{}}, Run: dir, Most: 9, Verifier: c.by}
		out, err := o.ofRun(recipe.Judging{Stage: c.stage}, false)
		if err != nil || len(out.truth) != 1 || len(out.truth[0]) != 1 {
			t.Fatalf("%s: %+v (%v)", c.about, out, err)
		}
		if truth := out.truth[0][0]; (truth != nil) != c.known || c.known && !*truth {
			t.Errorf("%s: %v", c.about, truth)
		}
	}
}

// faulty is a verifier with a fault.
type faulty struct{}

func (faulty) Verify(row verify.Problem, completion string) verify.Verdict {
	if completion == "bad" {
		panic("a fault")
	}
	return verify.Verdict{Verdict: verify.Right, Score: 1}
}

// TestTold: where the verifier fails there is no truth, and the other rows keep theirs.
func TestTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(file, []byte(`{"question":"q","completion":"bad"}`+"\n"+`{"question":"q","completion":"good"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := JudgeOptions{Rows: prompts.Part{Data: file}, Verifier: faulty{}, Most: 9}.ofRows()
	if err != nil || len(got.truth) != 1 || len(got.truth[0]) != 2 {
		t.Fatal(got.truth, err)
	}
	if bad, good := got.truth[0][0], got.truth[0][1]; bad != nil || good == nil || !*good {
		t.Errorf("%v, %v", bad, good)
	}
}
