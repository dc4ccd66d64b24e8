package infer

import (
	"fmt"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/seq"
)

// Label is the place of a label of a model's head, as --label names it; "": of the only one.
func Label(m *model.Model, name string) (int, error) {
	at, err := m.Head.Label(name)
	if err != nil {
		err = fmt.Errorf("%w: --label: %w", lines.ErrInput, err)
		err = hint.With(err, "--label %s", terminal.ShellWord(m.Head.Labels[len(m.Head.Labels)-1]))
	}
	return at, err
}

// Threshold is the score above which a head says that what it read is right: the logarithm of even
// odds where it has one label, an even probability where it has several.
func Threshold(m *model.Model) float64 {
	if len(m.Head.Labels) > 1 {
		return 0.5
	}
	return 0
}

// HeadReader reads what a model's head says. Its scorer is made when it is needed, and grows with the
// sequences.
type HeadReader struct {
	m      *model.Model
	label  int
	scorer *model.Scorer
	rows   int
}

// NewHead reads a label of a model's head, given by its place.
func NewHead(m *model.Model, label int) *HeadReader { return &HeadReader{m: m, label: label} }

// Read is what the head says after each token of a sequence's spans.
func (h *HeadReader) Read(s seq.Sequence) ([]float64, error) {
	if err := checkIDs(h.m, s.IDs); err != nil {
		return nil, err
	}
	if need := len(s.IDs) + 1; h.scorer == nil || need > h.rows {
		h.Close()
		h.rows = max(scoreRows, need)
		var err error
		if h.scorer, err = h.m.NewScorer(h.rows); err != nil {
			return nil, err
		}
	}
	st, err := h.scorer.Read([]seq.Sequence{s}, h.m.Head, h.label)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(st[0].Score))
	for i, x := range st[0].Score {
		out[i] = float64(x)
	}
	return out, nil
}

// Close frees the scorer.
func (h *HeadReader) Close() {
	if h.scorer != nil {
		h.scorer.Close()
		h.scorer = nil
	}
}
