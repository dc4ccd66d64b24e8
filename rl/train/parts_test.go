package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// smallest is a recipe with one rl stage and a model that the plain-Go device trains in no time.
func smallest(t *testing.T, sets ...string) *recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse("r.toml", "[model]\nfamily = \"qwen3\"\nlayers = 1\nwidth = 8\nheads = 1\nmlp = 8\n[task]\nname = \"countdown\"\nmax_prompt_tokens = 40\n[[stage]]\nname = \"rl\"\nkind = \"rl\"\nsteps = 5\nprompts_per_step = 2\ngroup_size = 3\nreward = \"random\"\nsampling.max_completion_tokens = 5\n", sets)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// spoken are models that say one log-prob of all tokens.
type spoken struct {
	version int
	logprob float32
	asked   int // views
}

func (m *spoken) Forward(views []rollout.View) ([]seq.Stats, error) {
	m.asked += len(views)
	out := make([]seq.Stats, len(views))
	for i, v := range views {
		out[i] = seq.Stats{Logprob: slices.Repeat([]float32{m.logprob}, v.Tokens()), Entropy: slices.Repeat([]float32{1}, v.Tokens())}
	}
	return out, nil
}
func (m *spoken) Supply(string, []rollout.View) ([][]float64, error) {
	return nil, errors.New("no model")
}
func (m *spoken) ScoreOf(string, []cast.Text) ([]cast.Scored, error) {
	return nil, errors.New("no model")
}
func (m *spoken) Best() rollout.Sampler { return nil }
func (m *spoken) Crown() error          { return errors.New("no model") }
func (m *spoken) HeadOf(_ string, views []rollout.View) ([]float64, error) {
	out := make([]float64, len(views))
	for i, v := range views {
		out[i] = float64(v.IDs[len(v.IDs)-1])
	}
	return out, nil
}

// PlaceOf is where the ids of a text are, on the two axes of even and odd ones.
func (m *spoken) PlaceOf(_ string, texts []cast.Text) ([]reward.Place, error) {
	m.asked++
	out := make([]reward.Place, len(texts))
	for i, t := range texts {
		if out[i].Why = t.Lack; len(t.IDs) == 0 {
			out[i].Why = "no ids"
			continue
		}
		out[i].At = []float64{0, 0}
		for _, id := range t.IDs {
			out[i].At[id%2]++
		}
	}
	return out, nil
}

// Influence of a token is the sum of all x of its set, and the number of views of that.
func (m *spoken) Influence(sets [][]rollout.View, x [][][]float64) ([][][]float64, error) {
	out := make([][][]float64, len(sets))
	for k, views := range sets {
		m.asked++
		sum := float64(100 * len(views))
		for _, v := range slices.Concat(x[k]...) {
			sum += v
		}
		for _, v := range views {
			out[k] = append(out[k], slices.Repeat([]float64{sum}, v.Tokens()))
		}
	}
	return out, nil
}

// GradientNorms are the numbers of tokens.
func (m *spoken) GradientNorms(views []rollout.View) ([]float64, error) {
	var out []float64
	for _, v := range views {
		out = append(out, float64(v.Tokens()))
	}
	return out, nil
}

// States of a token are twice its id and the layer.
func (m *spoken) States(_ string, layer int, views []rollout.View, do func(int, [][]float32) error) error {
	m.asked++
	for i, v := range views {
		var states [][]float32
		for _, s := range v.Spans {
			for _, id := range v.IDs[s.From:s.To] {
				states = append(states, []float32{float32(2 * id), float32(layer)})
			}
		}
		if err := do(i, states); err != nil {
			return err
		}
	}
	return nil
}
func (m *spoken) Version() int    { return m.version }
func (m *spoken) Vocabulary() int { return 256 }
func (m *spoken) Ends() []int     { return nil }

// echo is a sampler whose completion i of a prompt is the prompt's token and i.
type echo struct{ asked int }

func (e *echo) Sample(_ context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		for j := range r.N {
			e.asked++
			out[i] = append(out[i], rollout.Segment{Author: rollout.Policy, IDs: []int{r.Prompt[0], j}, Logprob: []float32{-1, -2}, Entropy: []float32{0, 0}, Drawn: r.Drawn("policy", 3, j), Stop: rollout.Length})
		}
	}
	return out, nil
}

// asToken reads a question as one token.
type asToken struct{}

func (asToken) Prompt(p verify.Problem) ([]int, error) { return []int{int(p.Question[0])}, nil }
func (asToken) Decode(ids []int) string                { return string(rune(ids[0])) + string(rune('0'+ids[1])) }

// drawerOf draws with an echo; the task pays samples above 0 of problems that do not begin with x.
func drawerOf(t *testing.T, r *recipe.Recipe, said *spoken) *drawer {
	t.Helper()
	f, err := newFacts(Parts{Recipe: r}, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.models = said
	task := func(p verify.Problem, text string, _ bool) verify.Verdict {
		if strings.HasPrefix(text, "x") || strings.HasSuffix(text, "0") {
			return verify.Reject(text, "", "not %s", text)
		}
		return verify.Accept(text, "", "")
	}
	d, err := newDrawer(Parts{Recipe: r, Collector: &rollout.Collector{Sampler: &echo{}, Renderer: asToken{}, Task: task}}, f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDrawerAlone: a plan of two problems, for one of which keep is false, is drawn without a trainer:
// the group is drawn again once, and what was refused stands beside the step.
func TestDrawerAlone(t *testing.T) {
	r := smallest(t, "stage.rl.reward=task", "stage.rl.refill.tries=1", "stage.rl.algorithm.keep=group_std(reward) > 0")
	d := drawerOf(t, r, &spoken{})
	var asked []int
	p := Plan{At: Position{Step: 2, Total: 4}, Version: 3, Problems: []verify.Problem{{Question: "x"}, {Question: "a"}}, stage: &r.Stages[0],
		more: func(try, n int) ([]verify.Problem, error) {
			asked = append(asked, try, n)
			return []verify.Problem{{Question: "b"}}, nil
		}}
	got, err := d.draw(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(asked, []int{1, 1}) || len(got.Groups) != 3 || got.At != p.At || got.Problems != nil {
		t.Errorf("asked for %v, drawn %+v", asked, got)
	}
	question := func(c *Completion) string { return c.From.Problem.Question }
	if qs := column(got.Completions, question); strings.Join(qs, "") != "aaabbb" {
		t.Errorf("the step is of %v", qs)
	}
	if qs := column(got.Refused, question); strings.Join(qs, "") != "xxx" || got.Refused[0].Group != 2 {
		t.Errorf("refused are %v", qs)
	}
	for i, c := range got.Completions {
		want := min(float64(i%3), 1)
		if c.Group != i/3 || c.View.Group != i/3+1 || c.Sample != i%3 || c.Score.Reward != want || got.Groups[c.Place] != c.From || got.versionOf(&c) != 3 {
			t.Errorf("completion %d: %+v", i, c)
		}
	}
	r = smallest(t, "stage.rl.reward=0/(task - task)")
	var few *notScored
	if _, err := drawerOf(t, r, &spoken{}).draw(t.Context(), Plan{Problems: p.Problems, stage: &r.Stages[0]}); !errors.Is(err, ErrNotScored) || !errors.As(err, &few) || len(few.drawn.Completions) != 6 {
		t.Errorf("a step without scores: %v", err)
	}
}

// TestAskerAlone: what the policy has overtaken gets its age and its log-probs of now; a stored
// group takes part with what its own step computed.
func TestAskerAlone(t *testing.T) {
	r := smallest(t, "stage.rl.reward=task", "stage.rl.algorithm.advantage=reward", `stage.rl.replay={store = "1 > 0", share = 0.5}`)
	said := &spoken{version: 5, logprob: -7}
	d := drawerOf(t, r, said)
	drawn, err := d.draw(t.Context(), Plan{Version: 3, Problems: []verify.Problem{{Question: "a"}}, Stored: 1, stage: &r.Stages[0]})
	if err != nil {
		t.Fatal(err)
	}
	old := stored{Group: *drawn.Groups[0], Version: 1, Paths: []storedPath{{1, 0.5, map[string][]reward.Number{"advantage": {2}}}}}
	a, err := (&asker{d.facts, &replay{groups: []stored{old}}}).ask(drawn)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Replayed) != 1 || a.Replayed[0].Group != 1 || a.Replayed[0].Score.Reward != 0.5 || a.Held[3]["advantage"][0] != 2 || said.asked != 4 {
		t.Errorf("replayed %+v, held %v, asked about %d", a.Replayed, a.Held, said.asked)
	}
	for i, n := range a.Now {
		if want := []int{2, 2, 2, 4}[i]; n.Age != want || n.Logprob[0] != -7 || a.all()[i].View.Logprob[0] != -1 {
			t.Errorf("completion %d: %+v", i, n)
		}
	}
	said.version, said.asked = 3, 0
	if a, err = (&asker{d.facts, &replay{}}).ask(drawn); err != nil || said.asked != 0 || a.Now[0].Age != 0 || a.Now[0].Logprob[0] != -1 || a.Stored != 0 {
		t.Errorf("asked about %d of what was just drawn: %+v, %v", said.asked, a.Now[0], err)
	}
}

// TestLearnerFromJSON: a step that is learned from as it was drawn, and after it was written as JSON
// and read back, without a sampler, come to the same bits of the weights.
func TestLearnerFromJSON(t *testing.T) {
	r := smallest(t, "stage.rl.updates_per_rollout=2", "stage.rl.optimizer.lr=0.01", "stage.rl.optimizer.warmup_steps=0", "stage.rl.algorithm.advantage=reward - 0.3")
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	var text, weights []byte
	for _, again := range []bool{false, true} {
		c, err := cast.Open(r, "", dev)
		if err != nil {
			t.Fatal(err)
		}
		p := Parts{Recipe: r, Source: prompts.Of(r.Task.Settings), Cast: c, HeldOut: &HeldOut{recipe: r}, Record: NewRecord(r)}
		if p.Prompts, err = prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, prompts.Style{Form: prompts.Auto}); err != nil {
			t.Fatal(err)
		}
		f, err := newFacts(p, 0)
		if err != nil {
			t.Fatal(err)
		}
		before, err := c.Policy.Weights()
		if err != nil {
			t.Fatal(err)
		}
		var drawn Drawn
		if again {
			c.Sampler = nil
			if err := errors.Join(json.Unmarshal(text, &drawn), drawn.under(&r.Stages[0])); err != nil {
				t.Fatal(err)
			}
		} else {
			drawn = drawnBy(t, p, f)
			if text, err = json.Marshal(drawn); err != nil {
				t.Fatal(err)
			}
		}
		a, err := (&asker{f, &replay{}}).ask(drawn)
		if err != nil {
			t.Fatal(err)
		}
		l := &learner{facts: f, cast: c, who: c.Policy.Trainee}
		v, err := l.value(a)
		if err != nil {
			t.Fatal(err)
		}
		lessons, err := l.begin(&v)
		if err != nil {
			t.Fatal(err)
		}
		e, err := lessons.finish()
		if err != nil || e.Metrics["optim/updates"] != 2 || len(e.Lessons) != 6 || e.Lessons[0].Slope == nil {
			t.Fatalf("%+v, %v", e, err)
		}
		after, err := c.Policy.Weights()
		if err != nil || bytes.Equal(after, before) {
			t.Fatalf("the weights did not change: %v, %v", e.Metrics, err)
		}
		if again && !bytes.Equal(after, weights) {
			t.Error("other bits of the weights")
		}
		weights = after
		c.Close()
	}
}

// drawnBy is the first step of a stage.
func drawnBy(t *testing.T, p Parts, f *facts) Drawn {
	t.Helper()
	var err error
	if p.Collector, err = NewCollector(&resolve.Opened{Recipe: p.Recipe, Source: p.Source}, p.Cast, p.Prompts, nil); err != nil {
		t.Fatal(err)
	}
	l, err := newPlanner(p, f)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDrawer(p, f)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := l.plan(Position{}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := d.draw(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	return drawn
}

// TestOldOpenSteps: a checkpoint that keeps open steps in the form of earlier releases is refused
// with a sentence that says which release continues it.
func TestOldOpenSteps(t *testing.T) {
	for _, order := range []string{"drawn", "arrival"} {
		r := smallest(t, "stage.rl.lag=1", "stage.rl.order="+order)
		d := drawerOf(t, r, &spoken{})
		queues := map[string]queue{"drawn": &inTurn{drawer: d}, "arrival": &byArrival{drawer: d}}
		dir := checkpoint(t, map[string]func(io.Writer) error{oldStepsFile: writeSteps([]int{})})
		err := queues[order].Load(dir)
		if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "in trainer/ahead.json, as earlier releases of rlzero did") || !strings.Contains(strings.Join(hint.All(err), "\n"), "continue the run with the release that wrote the checkpoint") {
			t.Errorf("%s: %v, %v", order, err, hint.All(err))
		}
		files, err := queues[order].Save()
		if err != nil || files[stepsFile] == nil {
			t.Fatal(files, err)
		}
		if err := queues[order].Load(checkpoint(t, files)); err != nil {
			t.Errorf("%s: %v", order, err)
		}
	}
}

// checkpoint is a folder with files.
func checkpoint(t *testing.T, files map[string]func(io.Writer) error) string {
	t.Helper()
	dir := t.TempDir()
	for name, write := range files {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700), os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
