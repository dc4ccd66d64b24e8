package panel

import (
	"context"
	"fmt"

	"github.com/rlzero/rlzero/rl/world/tools"
)

// Answerer answers questions of a tool by a model, under the seed of a run. It may be used by many goroutines, as
// the model may.
func Answerer(w Writer, o tools.Whom, seed uint64) tools.Answerer {
	return func(ctx context.Context, question string) (out []tools.Said, mistake, err error) {
		ids, err := w.Renderer().Plain(question)
		if err != nil {
			return nil, fmt.Errorf("the model cannot read the question: %w", err), nil
		}
		if n, room := len(ids), min(o.Context, w.Room())-o.MaxTokens; n > room {
			return nil, fmt.Errorf("the question has %d tokens; accepted: at most %d", n, room), nil
		}
		said, err := w.Write(ctx, []Asked{{IDs: ids, Answers: o.Answers, MaxTokens: o.MaxTokens, Temperature: o.Temperature, Seed: seedOf(seed, sumOf(ids))}})
		if err != nil {
			return nil, nil, err
		}
		for _, a := range said[0] {
			out = append(out, tools.Said{Text: a.Text, Ended: a.Ended})
		}
		return out, nil, nil
	}
}
