package run

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
)

// callsModels: a policy asks itself, or another model. Equal questions have equal answers while the weights of who
// answers are the same, in evaluations too; each call has its price; and a run that is resumed asks again, with no
// journal, and comes to the same bytes.
func callsModels(t *testing.T) {
	from := t.TempDir() // a model that has learned to call a tool with its problem
	_, err := Train(t.Context(), Options{Opened: opened(t, callingRecipe(t, "learns", "task.tool.0.shown={id}", "stage.rl.skip=true")), Dir: from, Device: mostly(t), Show: &bytes.Buffer{}})
	must(t, err)
	run := func(dir string, o Options, sets ...string) {
		t.Helper()
		o.Opened, o.Dir, o.Device, o.Show = opened(t, callingRecipe(t, "ask", append(sets, "model.path="+from, "stage.warm-up.skip=true")...)), dir, mostly(t), &bytes.Buffer{}
		_, err := Train(t.Context(), o)
		must(t, err)
	}
	for _, model := range []string{"policy", "expert"} {
		sets := []string{`task.tool.0.options={model = "` + model + `", context = 40, max_tokens = 3, temperature = 1, price = 0.25}`, "stage.rl.reward=task - sum(turn.price)"}
		if model == "expert" {
			sets = append(sets, `models.expert={path = "`+from+`"}`)
		}
		base := t.TempDir()
		run(base, Options{}, sets...)
		said, other := map[string]string{}, map[string]bool{}
		heard := func(question, answer string) {
			if was, known := said[question]; known && was != answer {
				t.Errorf("%s: %q is answered by %q and by %q", model, question, was, answer)
			}
			said[question], other[answer] = answer, true
		}
		paid := false
		must(t, record.Each(filepath.Join(base, record.CompletionsFile), func(n int, c record.Completion) error {
			if model == "policy" && n > 1 { // it changes
				return nil
			}
			price := 0.0
			for i, turn := range c.Turns {
				if turn.By != record.ByPolicy {
					continue
				}
				if turn.Facts["price"] != 0.25*turn.Facts["calls"] {
					t.Errorf("line %d: %+v", n, turn.Facts)
				}
				price += turn.Facts["price"]
				if q, whole := strings.CutSuffix(turn.Text, "</c>"); whole && turn.Facts["calls"] == 1 && i+1 < len(c.Turns) {
					heard(q, c.Turns[i+1].Text)
				}
			}
			if paid = paid || price > 0; c.Verdict == "right" && *c.Reward != 1-price || c.Verdict == "wrong" && *c.Reward > 0 {
				t.Errorf("line %d: a reward of %v, %s, at a price of %v", n, *c.Reward, c.Verdict, price)
			}
			return nil
		}))
		if !paid || model == "expert" && (len(said) < 4 || len(other) < 3) {
			t.Fatalf("%s: %q is answered, and something was paid: %v: the test shows little", model, said, paid)
		}
		if _, err := os.Stat(filepath.Join(base, record.CallsFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a journal of what can be asked again: %v", model, err)
		}
		dir := copyRun(t, base)
		all := checkpointDirs(t, dir)
		must(t, os.RemoveAll(all[len(all)-1]))
		run(dir, Options{Resume: true}, sets...)
		sameRun(t, runFiles(t, dir), runFiles(t, base))

		last := checkpointDirs(t, base)
		m, err := cast.OpenModel(mostly(t), last[len(last)-1], "", hf.Dtype(""), hf.Dtype(""))
		must(t, err)
		found := func(r *recipe.Recipe) (*recipe.Recipe, error) {
			full, _, err := Members(r)
			return full, err
		}
		report, err := eval.Model(t.Context(), m, eval.Options{Subject: eval.Subject{Task: filepath.Join(base, "recipe.toml")}, Models: found, Problems: 3, N: 4, K: []int{1}, Params: rollout.Params{Temperature: 1}, Seed: 1})
		m.Close()
		must(t, err)
		asked := 0
		for i := range report.Groups {
			g := &report.Groups[i]
			for path := range g.Paths {
				for _, s := range g.Turns(path) {
					if q, whole := strings.CutSuffix(s.Turn.Text, "</c>"); whole && s.Turn.Facts["calls"] == 1 && s.Turn.Reply != nil {
						if asked++; model == "expert" {
							heard(q, s.Turn.Reply[0].Text)
						}
					}
				}
			}
		}
		if asked == 0 || report.NotScored > 0 {
			t.Errorf("%s: an evaluation asks %d times, and %d completions are not scored", model, asked, report.NotScored)
		}
	}
}
