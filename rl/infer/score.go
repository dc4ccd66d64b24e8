package infer

import (
	"bufio"
	"io"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/seq"
)

// scoreRows is the number of tokens that score computes at a time, unless a
// sequence is longer.
const scoreRows = 2048

// scored is a line of score's output. Entry i is about ids[i] given ids[:i];
// the first is null.
type scored struct {
	IDs         []int      `json:"ids"`
	Logprobs    []*float32 `json:"logprobs"`
	Entropy     []*float32 `json:"entropy"`
	MeanLogsoft []*float32 `json:"mean_logsoftmax"`
}

// said is a line of score's output for a model with a head. Entry i is what it says after ids[:i+1].
type said struct {
	IDs    []int     `json:"ids"`
	Scores []float64 `json:"scores"`
}

// ScoreHead reads lines as [Score] does and writes what a label of the model's head, given by its place,
// says after each token.
func ScoreHead(m *model.Model, label int, name string, in io.Reader, out io.Writer, c ChatOptions) error {
	w, read, head := bufio.NewWriter(out), &reader{m: m, o: c}, NewHead(m, label)
	defer head.Close()
	return lines.Input(name, in, func(_ int, raw []byte) error {
		ids, err := read.sequence(raw)
		if err != nil {
			return err
		}
		scores, err := head.Read(seq.Sequence{IDs: ids, Spans: []seq.Span{{To: len(ids)}}, Temperature: 1})
		if err != nil {
			return err
		}
		return lines.Write(w, said{ids, scores})
	})
}

// Score reads JSON lines with "ids", "text" or "messages" and writes each token's log-prob,
// entropy and mean log-softmax (nats, of logits divided by the temperature).
func Score(m *model.Model, name string, in io.Reader, out io.Writer, temperature float64, c ChatOptions) error {
	w := bufio.NewWriter(out)
	read := &reader{m: m, o: c}
	var sc *model.Scorer
	rows := 0
	defer func() {
		if sc != nil {
			sc.Close()
		}
	}()
	return lines.Input(name, in, func(_ int, raw []byte) error {
		ids, err := read.sequence(raw)
		if err == nil {
			err = checkIDs(m, ids)
		}
		if err != nil {
			return err
		}
		if len(ids) > rows {
			if sc != nil {
				sc.Close()
				sc = nil
			}
			rows = max(scoreRows, len(ids))
			if sc, err = m.NewScorer(rows); err != nil {
				return err
			}
		}
		st, err := sc.Score([]seq.Sequence{seq.Predict(ids, 1, temperature)})
		if err != nil {
			return err
		}
		return lines.Write(w, scored{ids, withNull(st[0].Logprob), withNull(st[0].Entropy), withNull(st[0].MeanLogprob)})
	})
}

// withNull puts a null in front: the first token is predicted from nothing.
func withNull(v []float32) []*float32 {
	out := make([]*float32, len(v)+1)
	for i := range v {
		out[i+1] = &v[i]
	}
	return out
}
