package prompts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// TestLeak: a held-out question that differs from a training question in white space
// alone is found, and a file without one passes.
func TestLeak(t *testing.T) {
	lines := additions(60)
	clean, err := Open(whole(writtenFile(t, lines...)), "number", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Leak(clean); err != nil {
		t.Error(err)
	}
	var heldOut, copied string
	for i := range 60 {
		question := fmt.Sprintf("%d + 1?", i)
		spaced := strings.ReplaceAll(question, " ", "  ")
		if tasks.SplitOf(question) == tasks.HeldOut && tasks.SplitOf(spaced) == tasks.Train {
			heldOut, copied = question, spaced
			lines = append(lines, fmt.Sprintf(`{"question":%q,"answer":"%d"}`, spaced, i+1))
			break
		}
	}
	if heldOut == "" {
		t.Fatal("no question of the sixty is held out")
	}
	leaky, err := Open(whole(writtenFile(t, lines...)), "number", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = Leak(leaky)
	if !errors.Is(err, ErrLeak) || !strings.Contains(err.Error(), fmt.Sprintf("%q is held out, and %q is trained on", heldOut, copied)) {
		t.Errorf("error %v", err)
	}
}

// TestLeakOfSplits: what is held out is what the source holds out: a split of its own or
// a share, whatever the share of a task would be.
func TestLeakOfSplits(t *testing.T) {
	folder := t.TempDir()
	write := func(split, question string) {
		t.Helper()
		text := fmt.Sprintf(`{"question":%q,"answer":"2"}`, question)
		if err := os.WriteFile(filepath.Join(folder, split+".jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		train, test string
		leaks       bool
	}{{"1 + 1?", "1  + 1?", true}, {"1  + 1?", "1 + 1?", true}, {"1 + 1?", "1 + 2?", false}} {
		write("train", c.train)
		write("test", c.test)
		source, err := Open([]Part{{Data: folder, Share: 1, Split: "train", EvalSplit: "test"}}, "number", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Leak(source); errors.Is(err, ErrLeak) != c.leaks {
			t.Errorf("%q to train on, %q held out: error %v, want a leak: %v", c.train, c.test, err, c.leaks)
		}
	}
}

// TestRefuse: a draw that returns a held-out problem is found.
func TestRefuse(t *testing.T) {
	texts := TextsOf([]verify.Problem{{Question: "1 + 1?"}})
	if err := texts.Refuse(verify.Problem{Question: "1 + 2?"}); err != nil {
		t.Error(err)
	}
	if err := texts.Refuse(verify.Problem{Question: "1 + 2?"}, verify.Problem{Question: "1 + 1?"}); !errors.Is(err, ErrLeak) {
		t.Errorf("error %v", err)
	}
}

// TestRefuseIDs: problems that are played in turns may be asked alike and be others.
func TestRefuseIDs(t *testing.T) {
	held := IDsOf([]verify.Problem{{ID: "a", Question: "which room?"}})
	if err := held.Refuse(verify.Problem{ID: "b", Question: "which room?"}); err != nil {
		t.Error(err)
	}
	if err := held.Refuse(verify.Problem{ID: "a", Question: "which door?"}); !errors.Is(err, ErrLeak) {
		t.Errorf("error %v", err)
	}
}
