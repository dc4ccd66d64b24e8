package learn_test

import (
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/seq"
)

// TestAccumulate: a loss of each sequence's own statistics takes one forward pass of
// each batch.
func TestAccumulate(t *testing.T) {
	dev := &modeltest.Counting{Device: gputest.Devices(t)[0]}
	m := modeltest.Small(t, dev, 64)
	tr, err := learn.NewTrainer(m, 20)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	ids := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	seqs := []seq.Sequence{seq.Predict(ids, 1, 1), seq.Predict(ids, 1, 1), seq.Predict(ids, 1, 1), seq.Predict(ids, 1, 1)} // two batches
	for name, c := range map[string]struct {
		pass func(*testing.T, *learn.Trainer, []seq.Sequence)
		want int
	}{"at once": {modeltest.OnePass, 4}, "in two passes": {modeltest.TwoPasses, 6}} {
		dev.Submitted = 0
		if c.pass(t, tr, seqs); dev.Submitted != c.want {
			t.Errorf("%s: %d programs submitted, want %d", name, dev.Submitted, c.want)
		}
	}
	if rows := tr.Rows(); rows != 80 { // of two passes
		t.Errorf("%d rows, want 80", rows)
	}
	if _, err := tr.Step(learn.Optimizer{}); err != nil || tr.Rows() != 0 {
		t.Errorf("%d rows after a step, %v", tr.Rows(), err)
	}
	err = tr.Accumulate(seqs, func(int, []seq.Stats) ([]learn.Weights, error) { return nil, nil })
	if err == nil || !strings.Contains(err.Error(), "weights for 0 sequences") {
		t.Errorf("missing weights: %v", err)
	}
}
