package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
)

// smallRun makes countdown-short a run of a second that still has everything
// that could depend on what it must not: a reference policy, two updates for
// each rollout, a temperature other than 1, evaluations during a stage, and
// rewards that are not all 0 though the model solves nothing.
var smallRun = []string{
	"model.layers=2", "model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=64",
	"task.eval_problems=6", "task.eval_samples=4", "checkpoint.keep=1000",
	"stage.warm-up.batch_size=6", "stage.warm-up.hold_steps=5", "stage.warm-up.test_every=2", "stage.warm-up.decay_steps=3", "stage.warm-up.checkpoint_every=2",
	"stage.rl.steps=4", "stage.rl.prompts_per_step=5", "stage.rl.group_size=4", "stage.rl.updates_per_rollout=2", "stage.rl.reward=random",
	"stage.rl.eval_every=1", "stage.rl.eval_problems=5", "stage.rl.checkpoint_every=1", "stage.rl.token_every=2",
	"stage.rl.sampling.temperature=0.7", "stage.rl.algorithm.penalty=kl_k3", "stage.rl.algorithm.beta=0.05",
}

const smallRunSteps = 5 + 3 + 4

// tester is the device of runs that are about what a run does: plain Go, which takes half
// of the time that lavapipe takes for models this small.
func tester(*testing.T) gpu.Device { return refdev.New() }

// first is the device of runs that are about bits: the first one, plain Go if there is no
// other.
func first(t testing.TB) gpu.Device {
	t.Helper()
	return gputest.Devices(t)[0]
}

// mostly is the first device, but with -short plain Go: of runs that are about bits, but more about what a run does.
func mostly(t *testing.T) gpu.Device {
	t.Helper()
	if testing.Short() {
		return tester(t)
	}
	return first(t)
}

// shortRecipe is countdown-short with longer problems: prompts of 7 tokens and completions
// of up to 14.
func shortRecipe(t *testing.T, overrides ...string) *recipe.Recipe {
	t.Helper()
	four := []string{"task.settings.numbers=4", "task.settings.max_number=22", "task.settings.max_total=45"}
	r, err := recipe.Load("countdown-short", append(four, overrides...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// opened opens what a recipe names.
func opened(t testing.TB, r *recipe.Recipe) *resolve.Opened {
	t.Helper()
	o, err := resolve.Open(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// trainIn runs a recipe in a folder, in plain Go, and returns its summary and what it showed.
func trainIn(t *testing.T, dir string, resume bool, overrides ...string) (*Summary, string) {
	t.Helper()
	return trainOn(t, tester(t), dir, resume, overrides...)
}

// trainOn is trainIn on a device.
func trainOn(t *testing.T, dev gpu.Device, dir string, resume bool, overrides ...string) (*Summary, string) {
	t.Helper()
	var show bytes.Buffer
	sum, err := Train(context.Background(), Options{Opened: opened(t, shortRecipe(t, overrides...)), Dir: dir, Resume: resume, Device: dev, Show: &show})
	if err != nil {
		t.Fatalf("%v after\n%s", err, show.String())
	}
	return sum, show.String()
}

// notCompared may differ between equal runs: they hold times, or a process, or say which run
// is repeated.
var notCompared = []string{"timing.jsonl", "lock", replayFile}

// runFiles are the files of a run folder that equal runs have in common.
func runFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case slices.Contains(notCompared, name) && d.IsDir():
			return fs.SkipDir
		case slices.Contains(notCompared, name) || d.IsDir():
			return nil
		}
		data, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// editReceipt changes the receipt among a run's files.
func editReceipt(t *testing.T, files map[string]string, change func(*receipt.Receipt)) {
	t.Helper()
	var r receipt.Receipt
	must(t, json.Unmarshal([]byte(files[receipt.File]), &r))
	change(&r)
	text, err := json.MarshalIndent(r, "", "  ")
	must(t, err)
	files[receipt.File] = string(text) + "\n"
}

// withoutExtra leaves out of an interrupted run's files the checkpoints that it
// has more than the undisturbed one: of the steps at which it was interrupted.
func withoutExtra(t *testing.T, got, want map[string]string) {
	t.Helper()
	maps.DeleteFunc(got, func(name, _ string) bool {
		_, known := want[name]
		return !known && strings.HasPrefix(name, "checkpoints/")
	})
	editReceipt(t, got, func(r *receipt.Receipt) {
		r.Checkpoints = slices.DeleteFunc(r.Checkpoints, func(c receipt.Hash) bool { return want["checkpoints/"+c.Name+"/manifest.json"] == "" })
	})
}

// sameRun fails the test where two runs' files are not byte for byte the same.
func sameRun(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		have, ok := got[name]
		switch {
		case !ok:
			t.Errorf("%s is missing", name)
		case have != want[name]:
			t.Errorf("%s differs%s", name, firstDifference(have, want[name]))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is too many", name)
		}
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf(" in line %d:\n%.300q\nwant\n%.300q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf(": %d lines, want %d", len(a)-1, len(b)-1)
}

// metricRows are the lines of metrics.jsonl that have a metric.
func metricRows(t testing.TB, dir, name string) []map[string]any {
	t.Helper()
	return slices.DeleteFunc(linesOf(t, filepath.Join(dir, "metrics.jsonl")), func(row map[string]any) bool { _, there := row[name]; return !there })
}

// linesOf are the objects of a file of JSON lines.
func linesOf(t testing.TB, file string) []map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []map[string]any
	for line := range strings.Lines(string(data)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestRunsAreEqual: a run's files are a function of recipe, seed and device. The
// processors Go uses do not count, nor do the keys that say how the work is cut
// into batches.
func TestRunsAreEqual(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains many times")
	}
	base := t.TempDir()
	trainOn(t, first(t), base, false, smallRun...)
	want := runFiles(t, base)
	rows := metricRows(t, base, "policy/ratio_first")
	if len(rows) != 4 {
		t.Fatalf("%d steps of reinforcement learning, want 4", len(rows))
	}
	for _, row := range rows {
		if g, _ := row["policy/grad_norm"].(float64); g == 0 {
			t.Errorf("step %v learned nothing: the test shows nothing", row["step"])
		}
	}
	cases := []struct {
		name  string
		procs int
		sets  []string
	}{
		{"again", 0, nil},
		{"GOMAXPROCS=1", 1, nil},
		{"GOMAXPROCS=8", 8, nil},
		{"one group a batch", 0, []string{"micro_batch_tokens=59"}},
		{"uneven batches, few in flight", 0, []string{"micro_batch_tokens=103", "sampler_sequences=5"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.procs > 0 {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.procs))
			}
			dir := t.TempDir()
			trainOn(t, first(t), dir, false, slices.Concat(smallRun, c.sets)...)
			got, want := runFiles(t, dir), maps.Clone(want)
			if c.sets != nil { // the recipe says so, the results do not
				for _, files := range []map[string]string{got, want} {
					delete(files, "recipe.toml")
					editReceipt(t, files, func(r *receipt.Receipt) { r.Recipe = "" })
				}
			}
			sameRun(t, got, want)
		})
	}
	t.Run("another seed", func(t *testing.T) {
		dir := t.TempDir()
		trainOn(t, first(t), dir, false, append(slices.Clone(smallRun), "seed=2")...)
		got := runFiles(t, dir)
		for _, name := range []string{"metrics.jsonl", "completions.jsonl", fmt.Sprintf("checkpoints/step-%06d/model.safetensors", smallRunSteps)} {
			if got[name] == want[name] {
				t.Errorf("%s does not depend on the seed", name)
			}
		}
	})
}

// TestPlace: where a run lies, and what it was started with besides its recipe,
// leave no trace in its files.
func TestPlace(t *testing.T) {
	base := t.TempDir()
	trainIn(t, base, false, quiet...)
	other := filepath.Join(t.TempDir(), "another place", "run")
	t.Chdir(t.TempDir())
	t.Setenv("HOSTNAME", "elsewhere")
	t.Setenv("TZ", "Pacific/Auckland")
	t.Setenv("LANG", "tr_TR.UTF-8")
	trainIn(t, other, false, quiet...)
	sameRun(t, runFiles(t, other), runFiles(t, base))
	for name, data := range runFiles(t, base) {
		if strings.Contains(data, base) {
			t.Errorf("%s names the run's folder", name)
		}
	}
}

// TestUnreadable: a run whose task the model's tokenizer cannot read is refused
// before it has a folder.
func TestUnreadable(t *testing.T) {
	start := t.TempDir()
	trainIn(t, start, false, quiet...)
	dir := filepath.Join(t.TempDir(), "run")
	r := shortRecipe(t, "task.eval_problems=6", "task.eval_samples=4", "model.path="+start, "task.settings.max_number=90", "task.settings.max_total=90", "stage.warm-up.skip=true")
	_, err := Train(context.Background(), Options{Opened: opened(t, r), Dir: dir, Device: tester(t), Show: io.Discard})
	if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "prompt \"") {
		t.Errorf("numbers that the tokenizer lacks: error %v, want one that shows the prompt", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the run folder is there: %v", err)
	}

	data := filepath.Join(t.TempDir(), "rows.jsonl")
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, `{"prompt":"say %[1]d","answer":"%[1]d"}`+"\n", i)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	_, err = chatRun(t, dir, chatModel(t), data, `model.path = %q
[task]
data = "rows.jsonl"
verifier = "number"
max_prompt_tokens = 2
eval_problems = 1
[[stage]]
kind = "rl"
steps = 1
sampling.max_completion_tokens = 4
`, false)
	if !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "max_prompt_tokens") {
		t.Errorf("a prompt that is too long: error %v", err)
	}
}

// TestOnPolicyIsExact: at the first update after a rollout, trainer and sampler
// have the same log-probs: ratio 1 and divergence 0, not nearly.
func TestOnPolicyIsExact(t *testing.T) {
	cases := map[string][]string{
		"reference policy, temperature 0.7":   {"stage.rl.algorithm.penalty=kl_k3", "stage.rl.algorithm.beta=0.05", "stage.rl.sampling.temperature=0.7", "stage.rl.updates_per_rollout=2"},
		"one update, filtered, uneven splits": {"stage.rl.updates_per_rollout=1", "stage.rl.sampling.top_p=0.9", "stage.rl.sampling.top_k=20", "micro_batch_tokens=333"},
	}
	for name, sets := range cases {
		t.Run(name, func(t *testing.T) {
			sets = append(sets, "stage.rl.reward=random", "stage.warm-up.hold_steps=10", "stage.warm-up.decay_steps=5", "stage.rl.steps=5", "stage.rl.prompts_per_step=8", "task.eval_problems=4", "stage.rl.eval_problems=4")
			dir := t.TempDir()
			trainOn(t, first(t), dir, false, sets...)
			rows := metricRows(t, dir, "reward/mean")
			if want := shortRecipe(t, sets...).Stages[1].RL.Steps; len(rows) != want {
				t.Fatalf("%d steps of reinforcement learning, want %d", len(rows), want)
			}
			for _, row := range rows {
				if row["policy/mismatch_kl"] != 0.0 || row["policy/ratio_first"] != 1.0 {
					t.Errorf("step %v: policy/mismatch_kl %v, policy/ratio_first %v; want exactly 0 and 1", row["step"], row["policy/mismatch_kl"], row["policy/ratio_first"])
				}
			}
		})
	}
}

// copyRun copies a run folder.
func copyRun(t *testing.T, from string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkpointDirs are the run's checkpoints, oldest first.
func checkpointDirs(t *testing.T, dir string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(dir, "checkpoints", "step-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// TestResumeFromEachCheckpoint: a run that goes on from any of its checkpoints,
// or from none, ends in the same bytes.
func TestResumeFromEachCheckpoint(t *testing.T) {
	base := t.TempDir()
	trainOn(t, first(t), base, false, smallRun...)
	want := runFiles(t, base)
	n := len(checkpointDirs(t, base))
	if n < 8 {
		t.Fatalf("only %d checkpoints", n)
	}
	every := 1
	if testing.Short() {
		every = n / 2 // from none, the middle and the last
	}
	for keep := 0; keep <= n; keep += every {
		dir := copyRun(t, base)
		for _, c := range checkpointDirs(t, dir)[keep:] {
			if err := os.RemoveAll(c); err != nil {
				t.Fatal(err)
			}
		}
		if keep == 0 { // killed before there was one
			must(t, os.Truncate(filepath.Join(dir, "metrics.jsonl"), 0))
		}
		_, shown := trainOn(t, first(t), dir, true, smallRun...)
		sameRun(t, runFiles(t, dir), want)
		if t.Failed() {
			t.Fatalf("resumed from checkpoint %d of %d:\n%s", keep, n, shown)
		}
	}
}

// TestDamagedCheckpoint: of checkpoints that are damaged the run says so, goes
// on from the newest whole one, and ends in the same bytes.
func TestDamagedCheckpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: resumes from each kind of damage")
	}
	base := t.TempDir()
	trainIn(t, base, false, smallRun...)
	want := runFiles(t, base)
	damage := map[string]func(path string, data []byte) error{
		"model.safetensors":             func(p string, b []byte) error { b[len(b)/2] ^= 1; return os.WriteFile(p, b, 0o644) },
		"trainer/optimizer.safetensors": func(p string, b []byte) error { return os.WriteFile(p, b[:len(b)-1], 0o644) },
		"trainer/state.json":            func(p string, b []byte) error { return os.Remove(p) },
		"manifest.json":                 func(p string, b []byte) error { return os.WriteFile(p, nil, 0o644) },
	}
	for _, name := range slices.Sorted(maps.Keys(damage)) {
		t.Run(name, func(t *testing.T) {
			dir := copyRun(t, base)
			all := checkpointDirs(t, dir)
			for _, c := range all[len(all)-2:] {
				path := filepath.Join(c, name)
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage[name](path, data); err != nil {
					t.Fatal(err)
				}
			}
			_, shown := trainIn(t, dir, true, smallRun...)
			sameRun(t, runFiles(t, dir), want)
			for _, c := range all[len(all)-2:] {
				if !strings.Contains(shown, c) || !strings.Contains(shown, "was skipped") {
					t.Errorf("nothing says that %s was skipped:\n%s", c, shown)
				}
			}
			if from := "from " + all[len(all)-3]; !strings.Contains(shown, from) {
				t.Errorf("nothing says that the run goes on %s:\n%s", from, shown)
			}
		})
	}
}

// trigger cancels when a text is shown.
type trigger struct {
	text   string
	cancel func()
	shown  bytes.Buffer
}

func (w *trigger) Write(p []byte) (int, error) {
	if w.text != "" && bytes.Contains(p, []byte(w.text)) {
		w.cancel()
	}
	return w.shown.Write(p)
}

var _ io.Writer = (*trigger)(nil)

// quiet is a smallRun without checkpoints but at its stages' ends.
var quiet = append(slices.Clone(smallRun), "stage.warm-up.checkpoint_every=0", "stage.rl.checkpoint_every=0", "stage.rl.sample_every=1")

// TestInterrupt: a run that is cancelled anywhere leaves a checkpoint of the
// last step done, and goes on from there to the same bytes. Its checkpoints are
// those of the undisturbed run and the ones it wrote when interrupted.
func TestInterrupt(t *testing.T) {
	base := t.TempDir()
	trainIn(t, base, false, quiet...)
	want := runFiles(t, base)
	// What is shown, and the newest checkpoint after the interrupt.
	for text, step := range map[string]int{
		"warm-up    1/":       1,
		"method: ":            8, // the first step's rollout is cut short; the stage's checkpoint stays
		"step 2: ":            10,
		"rl         4/4":      12, // before the evaluation after the stage
		"continuing after st": 10,
	} {
		t.Run(text, func(t *testing.T) {
			dir, resume := t.TempDir(), false
			if strings.HasPrefix(text, "continuing") {
				interruptAt(t, dir, false, "step 2: ", quiet)
				resume = true
			}
			interruptAt(t, dir, resume, text, quiet)
			all := checkpointDirs(t, dir)
			if name := fmt.Sprintf("step-%06d", step); filepath.Base(all[len(all)-1]) != name {
				t.Errorf("the newest checkpoint is %s, want %s", all[len(all)-1], name)
			}
			trainIn(t, dir, true, quiet...)
			got := runFiles(t, dir)
			withoutExtra(t, got, want)
			sameRun(t, got, want)
		})
	}
	t.Run("before the first step", func(t *testing.T) {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := Train(ctx, Options{Opened: opened(t, shortRecipe(t, quiet...)), Dir: dir, Device: tester(t), Show: io.Discard})
		if !errors.Is(err, ErrInterrupted) {
			t.Fatalf("error %v, want %v", err, ErrInterrupted)
		}
	})
}

// interruptAt runs until a text is shown, cancels, and wants ErrInterrupted.
func interruptAt(t *testing.T, dir string, resume bool, text string, overrides []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &trigger{text: text, cancel: cancel}
	_, err := Train(ctx, Options{Opened: opened(t, shortRecipe(t, overrides...)), Dir: dir, Resume: resume, Device: tester(t), Show: w})
	if !errors.Is(err, ErrInterrupted) {
		t.Fatalf("error %v, want %v; shown:\n%s", err, ErrInterrupted, w.shown.String())
	}
}

// countdown is a context that is cancelled once it has been asked so often.
type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptAnywhere interrupts runs at random moments, in the middle of
// rollouts and evaluations.
func TestInterruptAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains many times")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	base := t.TempDir()
	never := &countdown{Context: context.Background()}
	never.left.Store(math.MaxInt64)
	if _, err := Train(never, Options{Opened: opened(t, shortRecipe(t, quiet...)), Dir: base, Device: tester(t), Show: io.Discard}); err != nil {
		t.Fatal(err)
	}
	asked, want := math.MaxInt64-never.left.Load()-1, runFiles(t, base) // the last time, everything is done
	for range 8 {
		dir, ctx, moment := t.TempDir(), &countdown{Context: context.Background()}, rng.Int64N(asked)
		ctx.left.Store(moment)
		_, err := Train(ctx, Options{Opened: opened(t, shortRecipe(t, quiet...)), Dir: dir, Device: tester(t), Show: io.Discard})
		if !errors.Is(err, ErrInterrupted) {
			t.Fatalf("interrupted at moment %d of %d: error %v, want %v", moment, asked, err, ErrInterrupted)
		}
		trainIn(t, dir, true, quiet...)
		got := runFiles(t, dir)
		withoutExtra(t, got, want)
		sameRun(t, got, want)
		if t.Failed() {
			t.Fatalf("interrupted at moment %d of %d", moment, asked)
		}
	}
}
