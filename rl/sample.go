package rl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rlzero/rlzero/model"
)

// SampleOptions say how Sample draws.
type SampleOptions struct {
	N         int
	MaxTokens int
	Sampling  model.Sampling
	StopText  []string
}

// sampled is a line of sample's output.
type sampled struct {
	IDs      []int     `json:"ids"`
	Text     string    `json:"text"`
	Logprobs []float32 `json:"logprobs"`
	Stop     string    `json:"stop"`
}

// Sample continues each prompt, in order. in holds JSON lines with "prompt" or
// "ids"; out gets a line for each completion.
func Sample(ctx context.Context, m *model.Model, name string, in io.Reader, out io.Writer, o SampleOptions) error {
	var reqs []model.Request
	err := eachLine(name, in, func(_ int, raw []byte) error {
		ids, err := promptIDs(m, raw)
		if err != nil {
			return err
		}
		n := max(1, o.N)
		reqs = append(reqs, model.Request{Prompt: ids, N: n, MaxTokens: o.MaxTokens, Sampling: o.Sampling, Stream: uint32(len(reqs) * n), StopText: o.StopText})
		return nil
	})
	if err != nil || len(reqs) == 0 {
		return err
	}
	all, err := SampleRequests(ctx, m, reqs)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for _, group := range all {
		for _, c := range group {
			line := sampled{IDs: c.IDs, Logprobs: c.Logprob, Stop: c.Stop}
			if m.Tokenizer != nil {
				line.Text = m.Tokenizer.Decode(withoutEnd(c))
			}
			if err := writeLine(w, line); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutEnd are a completion's tokens without its end token.
func withoutEnd(c model.Completion) []int {
	if c.Stop == "eos" {
		return c.IDs[:len(c.IDs)-1]
	}
	return c.IDs
}

// SampleRequests runs requests on an engine just large enough for them.
func SampleRequests(ctx context.Context, m *model.Model, reqs []model.Request) ([][]model.Completion, error) {
	longest, widest, total := 0, 1, 0
	for _, r := range reqs {
		longest = max(longest, len(r.Prompt)+r.MaxTokens)
		widest = max(widest, r.N)
		total += max(1, r.N)
	}
	e, err := m.NewEngine(model.EngineOptions{Sequences: max(widest, min(total, 64)), Context: longest})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.GenerateAll(ctx, reqs)
}

// promptIDs reads {"prompt":"..."} or {"ids":[...]}.
func promptIDs(m *model.Model, raw []byte) ([]int, error) {
	var line struct {
		IDs    []int
		Prompt *string
	}
	if err := decodeLine(raw, &line); err != nil {
		return nil, err
	}
	switch {
	case line.Prompt != nil && line.IDs != nil:
		return nil, fmt.Errorf(`%w: both "ids" and "prompt" are given: give one`, ErrInput)
	case line.Prompt != nil && m.Tokenizer == nil:
		return nil, fmt.Errorf(`%w: "prompt" needs a tokenizer, the model's folder has no tokenizer.json: give "ids"`, ErrInput)
	case line.Prompt != nil:
		ids, err := m.Tokenizer.Encode(*line.Prompt)
		if err == nil && len(ids) == 0 {
			err = errors.New("the prompt has no tokens")
		}
		return ids, err
	case len(line.IDs) == 0:
		return nil, fmt.Errorf(`%w: found neither "ids" nor "prompt": give {"prompt":"..."} or {"ids":[1,2,3]}`, ErrInput)
	}
	return line.IDs, nil
}
