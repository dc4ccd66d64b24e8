package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify/judge"
)

// farRun has a judge behind an address, with several votes, and one that compares.
const farRun = `
[models.far]
url = "127.0.0.1:1"
seconds = 5
[[stage]]
name = "warm-up"
[[stage]]
name = "rl"
reward = "good + better"
truth = "task"
lag = 1
max_not_scored = 0.9
checkpoint_every = 2
[[stage.verifier]]
name = "good"
verifier = "judge"
options = {model = "far", source = "{question} {completion}", read = "[0-9]", between = [0, 9], votes = 3, temperature = 1.0, max_tokens = 12, context = 500}
[[stage.verifier]]
name = "better"
verifier = "judge"
options = {model = "far", shows = "pairs", against = "anchor", source = "{question} {a} or {b}", read = "[0-9]", between = [0, 9], max_tokens = 4, context = 500}
`

// server is what a judge behind an address asks in these tests.
type server struct {
	mu     sync.Mutex
	asked  map[panel.Query]int
	n      int
	before func(n int, q panel.Query) error // of an answer: why there is none
}

func (s *server) ask(_ context.Context, _ panel.Server, q panel.Query) (judge.Said, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	if s.asked[q]++; s.before != nil {
		if err := s.before(s.n, q); err != nil {
			return judge.Said{}, err
		}
	}
	return judge.Said{Text: fmt.Sprint("Score: ", (len(q.Text)*7+int(q.Seed%5))%10), Tokens: 3, Ended: true}, nil
}

// TestTold: what a judge behind an address said is asked once in a run, whoever kills it: it comes to the bytes of one
// that was not killed. It is repeated by its calls without the server, and not without them. A missing answer is not
// scored, with the reason, and is asked for again unless something stands on it.
func TestTold(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains several times")
	}
	run := func(t *testing.T, dir string, s *server, o Options, sets ...string) error {
		t.Helper()
		r, err := recipe.Parse("far.toml", "base = \"chain-sum-tiny\"\n"+farRun, append([]string{"model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=48", "task.eval_problems=2", "task.eval_samples=2", "checkpoint.keep=99",
			"stage.warm-up.batch_size=16", "stage.warm-up.hold_steps=40", "stage.warm-up.decay_steps=5", "stage.warm-up.test_every=99", "stage.warm-up.optimizer.lr=0.01",
			"stage.rl.prompts_per_step=6", "stage.rl.group_size=4", "stage.rl.steps=5", "stage.rl.eval_every=0", "task.settings.terms=2", "task.settings.max_number=4", "stage.rl.sampling.temperature=0.3"}, sets...))
		must(t, err)
		o.Opened, o.Dir, o.Device, o.Show = opened(t, r), dir, tester(t), &bytes.Buffer{}
		if s != nil {
			if s.asked == nil {
				s.asked = map[panel.Query]int{}
			}
			o.Ask = s.ask
		}
		_, err = Train(t.Context(), o)
		return err
	}
	base, killed := t.TempDir(), ""
	first := &server{}
	const missing = 5 // the answer that is missing, in the first of several steps
	first.before = func(n int, _ panel.Query) error {
		if n == missing {
			return errors.New("there is no answer after 5 s")
		}
		if lines := journal(t, base); killed == "" && len(lines) > 0 && lines[len(lines)-1].Step == 2 {
			killed = copyRun(t, base)
		}
		return nil
	}
	must(t, run(t, base, first, Options{}))
	all := journal(t, base)
	if len(all) != first.n || killed == "" {
		t.Fatalf("%d questions, %d lines, killed in %q", first.n, len(all), killed)
	}
	seen, faults := map[record.Call]bool{}, 0
	for i, line := range all {
		name, judges := line.Judge()
		if key := asksOf(line); !judges || name != "far" || seen[key] || i > 0 && line.Compare(all[i-1]) <= 0 {
			t.Fatalf("line %d: %+v", i, line)
		} else {
			seen[key] = true
		}
		if line.Fault != "" {
			faults++
		}
	}
	if faults != 1 {
		t.Fatalf("%d faults", faults)
	}
	missed := 0
	for _, line := range linesOf(t, filepath.Join(base, record.JudgementsFile)) {
		if line["why"] == "there is no answer after 5 s" {
			if missed++; line["reading"] != nil {
				t.Errorf("a missing answer reads %v", line["reading"])
			}
		}
	}
	if missed == 0 {
		t.Error("no judgement says that an answer is missing")
	}
	again := &server{}
	answered := map[string]bool{}
	for _, line := range journal(t, killed) {
		answered[line.Args] = line.Fault == ""
	}
	must(t, run(t, killed, again, Options{Resume: true}))
	for q, n := range again.asked {
		text, err := json.Marshal(q)
		must(t, err)
		if sum := sha256.Sum256(text); n != 1 || answered[hex.EncodeToString(sum[:])] {
			t.Errorf("%d times: %+v", n, q)
		}
	}
	sameRun(t, runFiles(t, killed), runFiles(t, base))

	repeat := filepath.Join(t.TempDir(), "repeat")
	must(t, run(t, repeat, nil, Options{Replay: base}))
	sameRun(t, runFiles(t, repeat), runFiles(t, base))
	text, err := record.CallsText(slices.DeleteFunc(slices.Clone(all), func(c record.Call) bool { return c.Step == 2 }))
	must(t, err)
	cut := copyRun(t, base)
	must(t, os.WriteFile(filepath.Join(cut, record.CallsFile), text, 0o600))
	if err := run(t, filepath.Join(t.TempDir(), "third"), nil, Options{Replay: cut}); !errors.Is(err, world.ErrJournal) || !strings.Contains(err.Error(), "has no answer of far to question ") {
		t.Errorf("without some answers: %v", err)
	}
	journalText, err := os.ReadFile(filepath.Join(cut, record.CallsFile))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(cut, record.CallsFile), bytes.Replace(journalText, []byte("Score"), []byte("score"), 1), 0o600))
	if err := run(t, filepath.Join(t.TempDir(), "fourth"), nil, Options{Replay: cut}); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), "calls.jsonl: line 1: the line, or one before it, is not as it was written") {
		t.Errorf("a changed answer: %v", err)
	}

	// A server that is gone, or that takes no question, stops the run; once it is mended the run goes on from its
	// checkpoint.
	for n, why := range []error{panel.Refused{Err: errors.New("it answers with status 400")}, errors.New("connection refused")} {
		dead := &server{before: func(n int, _ panel.Query) error {
			if n > 100 {
				return why
			}
			return nil
		}}
		stopped := t.TempDir()
		if err := run(t, stopped, dead, Options{}); !errors.Is(err, train.ErrNotScored) || !strings.Contains(err.Error(), why.Error()) {
			t.Fatalf("a server that is gone: %v", err)
		} else if said := strings.Join(hint.All(err), "\n"); strings.Count(said, "if the server of far is gone") != n { // one that refuses is there
			t.Errorf("%v: the advice is %s", why, said)
		}
		dead.before = nil
		must(t, run(t, stopped, dead, Options{Resume: true}))
		for _, line := range journal(t, stopped) {
			if lacksAnswer(line) && line.Step == 4 {
				t.Errorf("it stays: %+v", line)
				break
			}
		}
	}
	if err := run(t, t.TempDir(), nil, Options{}); err == nil || !strings.Contains(err.Error(), "the judge far is behind 127.0.0.1:1, and nobody here asks it") {
		t.Errorf("nobody asks: %v", err)
	}
}

// TestOutdatedAttacks: that a judge did not answer about an attack is forgotten only by a resume that tries the attacks
// of the stage again.
func TestOutdatedAttacks(t *testing.T) {
	line := record.Call{Purpose: int(random.Judge), Stage: 1, Number: 1, Tool: record.JudgeTool + "far", Fault: "connection refused"}
	for _, c := range []struct {
		stage, step int
		began, gone bool
	}{{0, 3, true, true}, {1, 0, false, true}, {1, 0, true, false}, {1, 50, true, false}, {2, 0, false, false}} {
		o := &opening{run: &run{state: State{At: train.Position{Stage: c.stage, Step: c.step}, Began: c.began}}}
		o.parts.Recipe = &recipe.Recipe{}
		leave, err := o.outdated([]record.Call{line})
		must(t, err)
		if got := leave(line); got != c.gone {
			t.Errorf("%+v: forgotten: %v", c, got)
		}
		kept := line
		if kept.Fault, kept.Answer = "", `{"refused":"it answers with status 400"}`; leave(kept) != c.gone {
			t.Errorf("%+v: that it is refused is forgotten: %v", c, !c.gone)
		}
		if kept.Answer = `{"text":"7"}`; leave(kept) {
			t.Errorf("%+v: an answer is forgotten", c)
		}
	}
}

// TestToldAtOnce: of two who ask a judge the same at a time, both have the answer that came first, which is the one
// that is kept.
func TestToldAtOnce(t *testing.T) {
	folder := newFolder(t)
	var c calls
	must(t, c.open(folder, train.Position{}))
	q := panel.Query{Text: "Rate this.", MaxTokens: 9}
	says := func(text string) func() (judge.Said, error) {
		return func() (judge.Said, error) { return judge.Said{Text: text, Ended: true}, nil }
	}
	late, err := c.Said("far", q, 1, random.Key{Step: 1}, func() (judge.Said, error) {
		if first, err := c.Said("far", q, 1, random.Key{Step: 2}, says("7")); err != nil || first.Text != "7" {
			t.Errorf("%+v, %v", first, err)
		}
		return says("8")()
	})
	c.close()
	if n := len(journal(t, folder.Dir())); err != nil || late.Text != "7" || n != 1 {
		t.Errorf("%+v, %v; %d lines", late, err, n)
	}
}

// TestRefusedIsKnown: that a judge does not take a question is known wherever it is asked, and after a resume.
func TestRefusedIsKnown(t *testing.T) {
	folder := newFolder(t)
	q := panel.Query{Text: "Rate this.", MaxTokens: 9}
	refused, asked := judge.Said{Fault: "it answers with status 400", Refused: true}, 0
	for step := range 3 {
		var c calls
		must(t, c.open(folder, train.Position{Step: step}))
		for stream := range 2 {
			said, err := c.Said("far", q, 1, random.Key{Step: step, Stream: uint32(stream)}, func() (judge.Said, error) { asked++; return refused, nil })
			if err != nil || said != refused {
				t.Errorf("%+v, %v", said, err)
			}
		}
		c.close()
	}
	if n := len(journal(t, folder.Dir())); asked != 1 || n != 1 {
		t.Errorf("asked %d times, %d lines", asked, n)
	}
}
