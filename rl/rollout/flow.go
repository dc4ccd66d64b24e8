package rollout

import (
	"cmp"
	"context"
	"slices"
)

// flow has a sampler draw the turns of episodes that are played side by side. A sampler may belong
// to one goroutine, so requests are collected, and drawn together as soon as no episode can go on
// without: which requests meet changes no bit of what is drawn.
//
//	episodes ── ask ──> asks ──> run: Sample ── answer ──> episodes
type flow struct {
	sampler Sampler
	events  chan *ask
}

// ask is a request that an episode waits for; without an answer it says that the episode is over.
type ask struct {
	episode int // its number: requests are drawn in this order
	request Request
	answer  chan answer
}

type answer struct {
	segment Segment
	err     error
}

// ask draws one completion. It may be called by all episodes at once.
func (f *flow) ask(episode int, r Request) (Segment, error) {
	a := &ask{episode, r, make(chan answer, 1)}
	f.events <- a
	got := <-a.answer
	return got.segment, got.err
}

// over says that an episode asks no more.
func (f *flow) over() { f.events <- &ask{} }

// run draws for so many episodes until all are over. The first error of the sampler is that of
// every request from then on.
func (f *flow) run(ctx context.Context, episodes int) error {
	var failed error
	var pending []*ask
	for playing := episodes; playing+len(pending) > 0; {
		if playing > 0 {
			if a := <-f.events; a.answer != nil {
				pending = append(pending, a)
			}
			playing--
			continue
		}
		slices.SortFunc(pending, func(a, b *ask) int { return cmp.Compare(a.episode, b.episode) })
		requests := make([]Request, len(pending))
		for i, a := range pending {
			requests[i] = a.request
		}
		var drawn [][]Segment
		if failed == nil {
			drawn, failed = f.sampler.Sample(ctx, requests)
		}
		for i, a := range pending {
			if failed != nil {
				a.answer <- answer{err: failed}
			} else {
				a.answer <- answer{segment: drawn[i][0]}
			}
		}
		playing, pending = len(pending), nil
	}
	return failed
}
