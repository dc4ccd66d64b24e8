package prompts

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// sources are a procedural task and a file of 100 rows.
func sources(t *testing.T) map[string]Source {
	t.Helper()
	task, err := tasks.New("countdown")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "{\"prompt\":\"%d+1=\",\"answer\":\"%d\"}\n", i, i+1)
	}
	name := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(name, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := Open(whole(name), "number", map[string]any{"plain": true})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Source{"countdown": Of(task), "file": file}
}

// TestStep: the problems of a step are a function of seed, stream and step, are
// never held out, and do not repeat those of the step before.
func TestStep(t *testing.T) {
	for name, s := range sources(t) {
		heldOut, err := s.HeldOut(3)
		if err != nil {
			t.Fatal(err)
		}
		const seed, stream, n = 7, 3, 8
		var drawn []verify.Problem
		for step := range 20 {
			rows := Step(s, seed, stream, step, n)
			if again := Step(s, seed, stream, step, n); !reflect.DeepEqual(rows, again) {
				t.Errorf("%s: step %d differs when it is drawn again", name, step)
			}
			drawn = append(drawn, rows...)
		}
		for i, row := range drawn {
			if want := s.Draw(random.At(seed, stream, uint64(i))); !reflect.DeepEqual(row, want) {
				t.Errorf("%s: problem %d is %q, want element %d of the stream, %q", name, i, row.ID, i, want.ID)
			}
			for _, other := range heldOut {
				if row.ID == other.ID {
					t.Errorf("%s: %q is held out, and is a training problem", name, row.ID)
				}
			}
		}
		if other := Step(s, seed+1, stream, 0, n); reflect.DeepEqual(other, drawn[:n]) {
			t.Errorf("%s: another seed draws the same problems", name)
		}
	}
}

// TestFile: a file has a hash, lists its rows, and returns all held-out problems
// where fewer are left than are asked for.
func TestFile(t *testing.T) {
	all := sources(t)
	file, task := all["file"], all["countdown"]
	rows, err := file.HeldOut(100)
	train, heldOut := file.Rows()
	if err != nil || len(rows) == 0 || len(rows) != len(heldOut) || len(train)+len(heldOut) != 100 || len(file.Hash()) != 64 {
		t.Errorf("%d held-out rows, %d and %d listed, hash %q, %v", len(rows), len(train), len(heldOut), file.Hash(), err)
	}
	first, err := file.HeldOut(2)
	if err != nil || !reflect.DeepEqual(first, rows[:2]) {
		t.Errorf("the first two are %v, %v; want %v", first, err, rows[:2])
	}
	if name, options := file.Grader(); name != "number" || options["plain"] != true {
		t.Errorf("grader %s %v", name, options)
	}
	if name, options := task.Grader(); name != "task:countdown" || options != nil || task.Hash() != "" {
		t.Errorf("grader %s %v, hash %q", name, options, task.Hash())
	}
	if train, heldOut := task.Rows(); train != nil || heldOut != nil {
		t.Errorf("a procedural task lists %d and %d rows", len(train), len(heldOut))
	}
	if v := file.Verify(rows[0], rows[0].Answer, true); v.Verdict != verify.Right {
		t.Errorf("its own answer is %+v", v)
	}
}
