package sample

import (
	"context"
	"fmt"
	"math"
)

// A draft is what somebody says that a completion will be. The draw of a token is a
// function of the tokens before it and of the random numbers of its place, so the
// draws of all tokens of a draft are computed side by side, in one pass, as the rows of
// a prompt are. The tokens up to the first that was not drawn are the completion's own;
// that one is replaced by what was drawn, and sampling goes on from there.
//
// It is speculative decoding (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv
// 2302.01318) with exact equality in place of their acceptance test: random numbers
// belong to places, so the completion has the same bits with any draft and with none.

// draftOf is the draft of a request's completion, as far as it can be one: up to the
// limit of new tokens, or to an id that is none of the vocabulary.
func (e *Engine) draftOf(req Request, completion int) []int {
	if completion >= len(req.Draft) {
		return nil
	}
	draft := req.Draft[completion]
	draft = draft[:min(len(draft), req.MaxTokens)]
	for i, id := range draft {
		if id < 0 || id >= e.m.Config.Vocab {
			return draft[:i]
		}
	}
	return draft
}

// addDrafts adds rows of drafts and their draws. Each completion has a draw in this step
// already, of the token after those it has.
func (e *Engine) addDrafts(r *stepRows) error {
	for _, g := range e.active {
		if g.read < len(g.req.Prompt) {
			continue
		}
		for _, s := range g.seqs {
			if s.finish {
				continue
			}
			guide := s.guide
			for at := len(s.IDs); at+1 < len(s.draft); at++ {
				if len(r.ids) == e.opt.StepRows || len(r.draws) == e.opt.Draws {
					return nil
				}
				if ok, err := e.cache.grow(s.list, 1); err != nil {
					return err
				} else if !ok {
					break
				}
				if guide != nil {
					guide = guide.Next(s.draft[at])
				}
				e.addRow(r, s.draft[at], s.list)
				r.addDraw(len(r.ids)-1, g, s, at+1, guide)
			}
		}
	}
	return nil
}

// stands says whether a draw follows what was drawn: it is neither after the end of the
// completion nor after a token of the draft that was not drawn.
func (d draw) stands() bool {
	return !d.s.finish && len(d.g.req.Prompt)+d.at <= d.s.list.used
}

// compareDraft drops a draft whose token was not drawn, with the keys and values of its
// rows: those that come next take their slots.
func (s *sequence) compareDraft(prompt int) {
	last := len(s.IDs) - 1
	if last < len(s.draft) && s.draft[last] != s.IDs[last] {
		s.draft = nil
		s.list.used = prompt + last
	}
}

// Check returns the right completions of requests: those that Generate returns, to the bit. If
// claimed[i] are the right completions of request i, it takes one forward pass over them, in steps
// of at most StepRows tokens and Draws draws, and not one pass for each token.
// [Completion.FirstDifference] says where a claim is wrong.
//
// A claim may be anything: too long, without log-probs, with ids outside of the vocabulary. Only a
// wrong number of completions is an error.
func (e *Engine) Check(ctx context.Context, reqs []Request, claimed [][]Completion) ([][]Completion, error) {
	if len(claimed) != len(reqs) {
		return nil, fmt.Errorf("completions of %d requests are claimed; there are %d requests", len(claimed), len(reqs))
	}
	drafted := make([]Request, len(reqs))
	for i, r := range reqs {
		if n := max(r.N, 1); len(claimed[i]) != n {
			return nil, fmt.Errorf("request %d: %d completions are claimed; it asks for %d", i, len(claimed[i]), n)
		}
		r.Draft = make([][]int, len(claimed[i]))
		for j, c := range claimed[i] {
			r.Draft[j] = c.IDs
		}
		drafted[i] = r
	}
	return e.GenerateAll(ctx, drafted)
}

// FirstDifference says where a completion begins to differ from the right one: at which token, and
// in what: "id", "logprob" or "entropy" (in their bits), "stop", or "" if it does not. A completion
// that ends too early or too late differs in "id" after the shorter one's end.
func (c Completion) FirstDifference(right Completion) (token int, what string) {
	bit := func(claimed, right []float32, i int) bool {
		return i < len(claimed) && math.Float32bits(claimed[i]) == math.Float32bits(right[i])
	}
	for i, id := range right.IDs {
		switch {
		case i >= len(c.IDs) || c.IDs[i] != id:
			return i, "id"
		case !bit(c.Logprob, right.Logprob, i):
			return i, "logprob"
		case !bit(c.Entropy, right.Entropy, i):
			return i, "entropy"
		}
	}
	n := len(right.IDs)
	switch {
	case len(c.IDs) > n:
		return n, "id"
	case len(c.Logprob) > n:
		return n, "logprob"
	case len(c.Entropy) > n:
		return n, "entropy"
	case c.Stop != right.Stop:
		return n - 1, "stop"
	}
	return n, ""
}
