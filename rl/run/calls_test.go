package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/world"
	_ "github.com/rlzero/rlzero/rl/world/programs" // python
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// tried is the tool of these tests: it answers as a test says.
var tried struct {
	sync.Mutex
	calls  int
	answer func(n int) (string, error) // to the n-th call, from 1
}

func init() {
	for _, of := range []triedTool{{name: "learns", pure: true}, {name: "asks"}, {name: "does", effects: true}} {
		tools.Register(tools.Entry{Name: of.name, Summary: "a tool of a test", Options: func() tools.Options { return &of }})
	}
}

// triedTool is such a tool, its options and its sessions.
type triedTool struct {
	name          string
	pure, effects bool
}

func (*triedTool) Validate() error { return nil }

func (t *triedTool) Spec() world.Spec {
	return world.Spec{Name: "c", About: "Answers.", Args: json.RawMessage(`{}`), Text: "text", Pure: t.pure, Effects: t.effects}
}

func (t *triedTool) Make(tools.Documents) (world.Tool, string, error) { return t, "", nil }

func (t *triedTool) Test(context.Context) error { return nil }

func (t *triedTool) Open(context.Context, verify.Problem) (world.Session, error) { return t, nil }

func (t *triedTool) Close() error { return nil }

func (t *triedTool) Call(context.Context, json.RawMessage) (world.Answer, error) {
	if t.pure {
		return world.Answer{Text: "1"}, nil
	}
	tried.Lock()
	defer tried.Unlock()
	tried.calls++
	text, err := tried.answer(tried.calls)
	return world.Answer{Text: text}, err
}

// answers sets how the tool answers, and counts its calls from 0.
func answers(answer func(n int) (string, error)) {
	tried.Lock()
	defer tried.Unlock()
	tried.calls, tried.answer = 0, answer
}

// TestCallJournal: what runs know of calls that are not made twice.
func TestCallJournal(t *testing.T) {
	from := t.TempDir() // a model that has learned to call the tool
	_, err := Train(t.Context(), Options{Opened: opened(t, callingRecipe(t, "learns", "stage.rl.skip=true")), Dir: from, Device: mostly(t), Show: &bytes.Buffer{}})
	must(t, err)
	run := func(t *testing.T, tool, dir string, o Options, sets ...string) error {
		t.Helper()
		sets = append(sets, "model.path="+from, "stage.warm-up.skip=true")
		o.Opened, o.Dir, o.Device, o.Show = opened(t, callingRecipe(t, tool, sets...)), dir, mostly(t), &bytes.Buffer{}
		_, err := Train(t.Context(), o)
		return err
	}
	t.Run("resumed", func(t *testing.T) { callsResumed(t, run) })
	t.Run("repeated", func(t *testing.T) { callsRepeated(t, run) })
	t.Run("effects", func(t *testing.T) { effectsOnce(t, run) })
	t.Run("unable", func(t *testing.T) { unable(t, run) })
	t.Run("tolerated", func(t *testing.T) { tolerated(t, run) })
	t.Run("longer", func(t *testing.T) { callsLonger(t, run) })
	t.Run("longer, killed", func(t *testing.T) { killedLonger(t, run) })
	t.Run("python", func(t *testing.T) { callsPython(t, run) })
	t.Run("ask", callsModels)
}

// calling runs a recipe whose policy calls a tool, in a folder.
type calling func(t *testing.T, tool, dir string, o Options, sets ...string) error

// callingRecipe is the recipe of a small run with the tool.
func callingRecipe(t *testing.T, tool string, sets ...string) *recipe.Recipe {
	t.Helper()
	shown := ""
	if tool == "learns" {
		shown = `, shown = "1"`
	}
	r, err := recipe.Load("calculator-tiny", append([]string{"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=48", "task.eval_problems=3", "task.eval_samples=2", "task.settings.terms=2", "checkpoint.keep=99",
		`task.tool=[{tool = "` + tool + `", name = "c"` + shown + `}]`, "stage.warm-up.batch_size=16", "stage.warm-up.hold_steps=55", "stage.warm-up.decay_steps=5", "stage.warm-up.test_every=99", "stage.warm-up.optimizer.lr=0.01",
		"stage.rl.prompts_per_step=3", "stage.rl.group_size=2", "stage.rl.steps=3", "stage.rl.checkpoint_every=2", "stage.rl.eval_every=2", "stage.rl.eval_problems=2", "stage.rl.max_not_scored=1"}, sets...))
	must(t, err)
	return r
}

// journal are the lines of a run's journal.
func journal(t *testing.T, dir string) (lines []record.Call) {
	t.Helper()
	_, err := record.EachCall(filepath.Join(dir, record.CallsFile), func(c record.Call) error { lines = append(lines, c); return nil })
	must(t, err)
	return lines
}

// callsResumed: a run that is killed while a tool works ends in the bytes of one that was not killed.
// What was answered before is read and not asked again. A changed byte of the journal, and a call that is
// another, are refused at their places.
func callsResumed(t *testing.T, run calling) {
	moments := []int{7, 1, 20}
	if testing.Short() {
		moments = moments[:1]
	}
	for _, at := range moments {
		base, killed := t.TempDir(), ""
		answers(func(n int) (string, error) {
			if n == at {
				killed = copyRun(t, base)
			}
			return "1", nil
		})
		must(t, run(t, "asks", base, Options{}))
		all, before := tried.calls, len(journal(t, killed))
		if all < 20 || before >= at || len(journal(t, base)) != all {
			t.Fatalf("%d calls, of which %d were answered when call %d was made", all, before, at)
		}
		edited := copyRun(t, killed)
		answers(func(int) (string, error) { return "1", nil })
		must(t, run(t, "asks", killed, Options{Resume: true}))
		// Its checkpoint is of step 2 at most: what was answered after it is not asked again.
		if tried.calls > all-before {
			t.Errorf("killed at call %d: %d calls are made after it, and %d of %d were answered", at, tried.calls, before, all)
		}
		sameRun(t, runFiles(t, killed), runFiles(t, base))
		if at == 1 {
			continue
		}
		file := filepath.Join(edited, record.CallsFile)
		text, err := os.ReadFile(file)
		must(t, err)
		changed := bytes.Replace(text, []byte(`"answer":"1"`), []byte(`"answer":"2"`), 1)
		must(t, os.WriteFile(file, changed, 0o600))
		if err := run(t, "asks", edited, Options{Resume: true}); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "calls.jsonl: line 1: the line, or one before it, is not as it was written") {
			t.Errorf("a changed answer: %v", err)
		}
		others := journal(t, killed)
		for i := range others {
			others[i].Args = strings.Repeat("0", 64)
		}
		text, err = record.CallsText(others)
		must(t, err)
		must(t, os.WriteFile(file, text, 0o600))
		if err := run(t, "asks", edited, Options{Resume: true}); !errors.Is(err, world.ErrJournal) || !strings.Contains(err.Error(), "the run does not repeat what it did. Stage 1, step") {
			t.Errorf("another call: %v", err)
		}
	}
}

// callsRepeated: a run whose tools never say the same twice is repeated by its journal to the byte,
// without its tools, also where the repetition is killed. Without its journal it cannot be.
func callsRepeated(t *testing.T, run calling) {
	base, again := t.TempDir(), filepath.Join(t.TempDir(), "again")
	counted := 0
	answers(func(int) (string, error) { counted++; return fmt.Sprint(counted % 9), nil })
	must(t, run(t, "asks", base, Options{}))
	answers(func(int) (string, error) { return "", errors.New("the tool is gone") })
	must(t, run(t, "asks", again, Options{Replay: base}))
	sameRun(t, runFiles(t, again), runFiles(t, base))
	killed := copyRun(t, again)
	for _, c := range checkpointDirs(t, killed)[1:] {
		must(t, os.RemoveAll(c))
	}
	must(t, run(t, "asks", killed, Options{Resume: true}))
	sameRun(t, runFiles(t, killed), runFiles(t, base))
	if tried.calls != 0 {
		t.Errorf("%d calls are made", tried.calls)
	}
	text, err := record.CallsText(journal(t, base)[1:])
	must(t, err)
	must(t, os.WriteFile(filepath.Join(base, record.CallsFile), text, 0o600))
	if err := run(t, "asks", filepath.Join(t.TempDir(), "third"), Options{Replay: base}); !errors.Is(err, world.ErrJournal) || !strings.Contains(err.Error(), "has no answer to call 1 of turn 1, of c") {
		t.Errorf("without its first answer: %v", err)
	}
}

// callsLonger: a finished run that goes on with more steps asks its tools again in the evaluation at its
// new end, and its journal has one answer for each call.
func callsLonger(t *testing.T, run calling) {
	dir := t.TempDir()
	answers(func(int) (string, error) { return "1", nil })
	must(t, run(t, "asks", dir, Options{}))
	before := journal(t, dir)
	answers(func(int) (string, error) { return "2", nil })
	must(t, run(t, "asks", dir, Options{Resume: true}, "stage.rl.steps=4"))
	closing, seen := 0, map[record.Call]bool{}
	for _, c := range journal(t, dir) {
		if seen[placeOf(c)] {
			t.Errorf("%+v is answered twice", c)
		}
		seen[placeOf(c)] = true
		if c.Step == train.AfterStage {
			if closing++; c.Answer != "2" {
				t.Errorf("%+v is of the policy before", c)
			}
		}
	}
	if at := slices.IndexFunc(before, func(c record.Call) bool { return c.Step == train.AfterStage }); at < 0 || closing == 0 {
		t.Errorf("%d calls in the evaluation at the end", closing)
	}
}

// effectsOnce: a call with effects has a line before it, and where a run is killed before its answer it
// is not made again: its episode is not scored, and the run ends in the bytes of its own repetition.
func effectsOnce(t *testing.T, run calling) {
	base, killed := t.TempDir(), ""
	answers(func(n int) (string, error) {
		if n == 12 { // of a step, and not of the evaluation before it
			killed = copyRun(t, base)
		}
		return fmt.Sprint(n % 9), nil
	})
	must(t, run(t, "does", base, Options{}))
	intents := func(dir string) (n int) {
		seen := map[record.Call]bool{}
		for _, c := range journal(t, dir) {
			if c.Intent {
				if n++; seen[placeOf(c)] {
					t.Errorf("%+v is called twice", c)
				}
				seen[placeOf(c)] = true
			}
		}
		return n
	}
	if tried.calls != intents(base) || len(journal(t, base)) != 2*tried.calls {
		t.Errorf("%d calls, %d intents, %d lines", tried.calls, intents(base), len(journal(t, base)))
	}
	before := intents(killed)
	if before < 12 {
		t.Fatalf("%d intents when call 12 was made", before)
	}
	answers(func(n int) (string, error) { return fmt.Sprint(n % 9), nil })
	must(t, run(t, "does", killed, Options{Resume: true}))
	if tried.calls != intents(killed)-before {
		t.Errorf("%d calls are made after %d, and %d are meant in all", tried.calls, before, intents(killed))
	}
	text, err := os.ReadFile(filepath.Join(killed, record.CompletionsFile))
	must(t, err)
	if !bytes.Contains(text, []byte(world.ErrOnce.Error())) {
		t.Errorf("no episode says that %v", world.ErrOnce)
	}
	answers(func(int) (string, error) { return "", errors.New("the tool is gone") })
	again := filepath.Join(t.TempDir(), "again")
	must(t, run(t, "does", again, Options{Replay: killed}))
	sameRun(t, runFiles(t, again), runFiles(t, killed))
}

// unable: a run in which some tools could not be run, or some turns are refused, is repeated by its journal.
// Where nothing can be run, the run stops and names the tool.
func unable(t *testing.T, run calling) {
	for fault, until := range map[error]int{world.ErrUnable: 3, errors.New("it is broken"): 12} {
		base, again := t.TempDir(), filepath.Join(t.TempDir(), "again")
		answers(func(n int) (string, error) {
			if n <= until {
				return "", fault
			}
			return "1", nil
		})
		must(t, run(t, "asks", base, Options{}))
		if !slices.ContainsFunc(journal(t, base), func(c record.Call) bool { return c.Refused || c.Fault != "" }) {
			t.Errorf("%v: the journal has no turn without a reply", fault)
		}
		answers(func(int) (string, error) { return "", errors.New("the tool is gone") })
		must(t, run(t, "asks", again, Options{Replay: base}))
		sameRun(t, runFiles(t, again), runFiles(t, base))
		if tried.calls != 0 {
			t.Errorf("%v: %d calls are made", fault, tried.calls)
		}
	}
	answers(func(int) (string, error) { return "", world.ErrUnable })
	err := run(t, "asks", t.TempDir(), Options{}, "stage.rl.max_not_scored=0.5")
	if !errors.Is(err, train.ErrNotScored) || !strings.Contains(err.Error(), "tool c: "+world.ErrUnable.Error()) {
		t.Errorf("%v", err)
	}
}

// tolerated: what could not be run in a step that was learned from stays so where the run is resumed, as
// the steps after it stand on it: it ends in the bytes of a run that was not killed.
func tolerated(t *testing.T, run calling) {
	sets := []string{"stage.rl.steps=4", "stage.rl.checkpoint_every=99", "stage.rl.eval_every=0"}
	base, killed := t.TempDir(), ""
	answers(func(n int) (string, error) {
		if all := journal(t, base); killed == "" && len(all) > 0 && all[len(all)-1].Step == 3 {
			killed = copyRun(t, base)
		}
		if n == 12 { // of a step, and not of the evaluation before it
			return "", world.ErrUnable
		}
		return "1", nil
	})
	must(t, run(t, "asks", base, Options{}, sets...))
	at := slices.IndexFunc(journal(t, base), func(c record.Call) bool { return c.Fault != "" })
	if fault := journal(t, base)[max(at, 0)]; at < 0 || fault.Step > 1 || killed == "" {
		t.Fatalf("the run was not killed in step 3 after a call that could not be run: %+v", fault)
	}
	answers(func(int) (string, error) { return "1", nil })
	must(t, run(t, "asks", killed, Options{Resume: true}, sets...))
	sameRun(t, runFiles(t, killed), runFiles(t, base))
}

// killedLonger: a run that was killed and goes on with another length has another learning rate from its
// checkpoint on, and so does not go by what its policy of before was told. With calls that have effects it
// is refused.
func killedLonger(t *testing.T, run calling) {
	sets := []string{"stage.rl.checkpoint_every=99", "stage.rl.eval_every=0", "stage.rl.optimizer.schedule=linear", "stage.rl.optimizer.lr=0.02"}
	for _, tool := range []string{"asks", "does"} {
		base, killed := t.TempDir(), ""
		answers(func(n int) (string, error) {
			if all := journal(t, base); killed == "" && len(all) > 0 && all[len(all)-1].Step == 2 {
				killed = copyRun(t, base)
			}
			return fmt.Sprint(n % 9), nil
		})
		must(t, run(t, tool, base, Options{}, sets...))
		answers(func(n int) (string, error) { return fmt.Sprint(n % 7), nil })
		err := run(t, tool, killed, Options{Resume: true}, append(sets, "stage.rl.steps=9")...)
		if tool == "asks" && err != nil || tool == "does" && (!errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "has called c, which has effects, after its last checkpoint")) {
			t.Errorf("tool %s: %v", tool, err)
		}
	}
}

// callsPython: programs of the policy run in the box, and a run that goes back to a checkpoint does not run
// again those whose answers it has.
func callsPython(t *testing.T, run calling) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("-short, or no box: runs Python")
	}
	base := t.TempDir()
	must(t, run(t, "python", base, Options{}))
	lines := journal(t, base)
	if len(lines) < 20 || !slices.ContainsFunc(lines, func(c record.Call) bool { return c.Answer == "1" }) {
		t.Errorf("%d calls", len(lines))
	}
	dir := copyRun(t, base)
	for _, c := range checkpointDirs(t, dir)[1:] {
		must(t, os.RemoveAll(c))
	}
	must(t, run(t, "python", dir, Options{Resume: true}))
	sameRun(t, runFiles(t, dir), runFiles(t, base))
	again := filepath.Join(t.TempDir(), "again")
	t.Setenv("RLZERO_PYTHON", "there-is-none")
	must(t, run(t, "python", again, Options{Replay: base}))
	sameRun(t, runFiles(t, again), runFiles(t, base))
}
