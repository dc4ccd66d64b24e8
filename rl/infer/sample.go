package infer

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/sample"
)

// defaultMaxTokens is how many new tokens there are at most where nothing says
// so.
const defaultMaxTokens = 64

// SampleOptions say how Sample draws.
type SampleOptions struct {
	N         int // completions of each prompt
	MaxTokens int // 0: defaultMaxTokens, or fewer where the model's positions end
	Sampling  sample.Settings
	StopText  []string
	Chat      ChatOptions
	Sum       *Sum // by which it draws; nil: by the model alone
}

// sampled is a line of sample's output.
type sampled struct {
	IDs      []int     `json:"ids"`
	Text     string    `json:"text"`
	Logprobs []float32 `json:"logprobs"`
	Stop     string    `json:"stop"`
}

// maxWaiting is how many completions Sample collects before it draws them: enough to
// keep SequencesAtOnce of them in flight, and a bound on what it keeps of a pipe that
// never ends.
const maxWaiting = 16 * SequencesAtOnce

// Sample continues each prompt, in order. in holds JSON lines with "prompt", "messages"
// or "ids"; out gets a line for each completion. Lines are read, drawn and written in
// batches of maxWaiting completions, and draws do not depend on the batch.
func Sample(ctx context.Context, m *model.Model, name string, in io.Reader, out io.Writer, o SampleOptions) error {
	if len(o.StopText) > 0 && m.Tokenizer == nil {
		return fmt.Errorf("%w: a stop text needs a tokenizer, but the model's folder has no tokenizer.json", lines.ErrInput)
	}
	var reqs []sample.Request
	var failed error // in drawing or writing: no fault of the line that was read last
	asked, waiting := 0, 0
	w := bufio.NewWriter(out)
	draw := func() error {
		failed = sampleTo(ctx, m, o.Sum, reqs, w)
		reqs, waiting = nil, 0
		return failed
	}
	read := &reader{m: m, o: o.Chat}
	err := lines.Input(name, in, func(_ int, raw []byte) error {
		ids, err := read.prompt(raw)
		if err != nil {
			return err
		}
		room, err := NewTokens(m, len(ids), o.MaxTokens)
		if err != nil {
			return err
		}
		// In parts, as the engine holds a request as a whole; each completion's
		// stream makes it the same in any of them.
		for n := 0; n < o.N; n += SequencesAtOnce {
			part := min(o.N-n, SequencesAtOnce)
			reqs = append(reqs, sample.Request{Prompt: ids, N: part, MaxTokens: room, Sampling: o.Sampling, Stream: uint32(asked), StopText: o.StopText})
			asked += part
			if waiting += part; waiting >= maxWaiting {
				if err := draw(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	}
	return draw()
}

// sampleTo draws the completions of requests and writes a line for each.
func sampleTo(ctx context.Context, m *model.Model, sum *Sum, reqs []sample.Request, w *bufio.Writer) error {
	if len(reqs) == 0 {
		return nil
	}
	all, err := sampleRequests(ctx, m, sum, reqs)
	if err != nil {
		return err
	}
	for _, group := range all {
		for _, c := range group {
			line := sampled{IDs: c.IDs, Logprobs: c.Logprob, Stop: c.Stop}
			if m.Tokenizer != nil {
				line.Text = m.Tokenizer.Decode(withoutEnd(c))
			}
			if err := lines.Write(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// SequencesAtOnce is how many completions sample and eval have in flight.
const SequencesAtOnce = 64

// NewTokens is how many tokens may follow a prompt; asked is 0 for the default.
func NewTokens(m *model.Model, prompt, asked int) (int, error) {
	room := m.Positions() - prompt
	switch {
	case room < 1:
		return 0, fmt.Errorf("%w: the prompt has %d tokens and the model %d positions: no token can follow", lines.ErrInput, prompt, m.Positions())
	case asked == 0:
		return min(defaultMaxTokens, room), nil
	case asked > room:
		return 0, fmt.Errorf("%w: the prompt has %d tokens, %d new ones are asked for, and the model has %d positions; accepted: at most %d new tokens", lines.ErrInput, prompt, asked, m.Positions(), room)
	}
	return asked, nil
}

// withoutEnd are a completion's tokens without its end token.
func withoutEnd(c sample.Completion) []int {
	if c.Stop == "eos" {
		return c.IDs[:len(c.IDs)-1]
	}
	return c.IDs
}

// sampleRequests runs requests on an engine just large enough for them.
func sampleRequests(ctx context.Context, m *model.Model, sum *Sum, reqs []sample.Request) ([][]sample.Completion, error) {
	longest, widest, total := 0, 1, 0
	for _, r := range reqs {
		longest = max(longest, len(r.Prompt)+r.MaxTokens)
		widest = max(widest, r.N)
		total += max(1, r.N)
	}
	e, err := sum.NewEngine(m, sample.Options{Sequences: max(widest, min(total, SequencesAtOnce)), Context: longest})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.GenerateAll(ctx, reqs)
}
