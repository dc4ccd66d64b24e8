package sample

import (
	"context"
	"fmt"
	"runtime"
)

// PageTokens is how many tokens a page holds.
const PageTokens = pageTokens

// Rounded is how many rows a step with n of them computes.
func Rounded(n int) int { return rounded(n) }

// Programs are the keys of the programs that an engine keeps.
func (e *Engine) Programs() []string { return e.progs.Keys }

// Wait lets a request wait without a loop that begins it.
func (e *Engine) Wait(ctx context.Context, r Request) (<-chan error, error) {
	g, err := e.admit(ctx, r)
	if err != nil {
		return nil, err
	}
	e.waiting = append(e.waiting, g)
	return g.done, nil
}

// Start begins what waits, as far as there is room, and returns how many requests are active.
func (e *Engine) Start() int {
	e.start()
	return len(e.active)
}

// StepByStep is what an engine's loop does, and the rows of completions on the way.
func (e *Engine) StepByStep(ctx context.Context, reqs []Request) (all []Completion, rows int, err error) {
	e.Rest()
	var groups []*group
	for _, r := range reqs {
		g, err := e.admit(ctx, r)
		if err != nil {
			return nil, 0, err
		}
		groups = append(groups, g)
	}
	e.waiting = groups
	for e.start(); len(e.active) > 0; e.start() {
		for _, g := range e.active {
			if g.read == len(g.req.Prompt) {
				rows += len(g.branches)
			}
		}
		if err := e.step(); err != nil {
			return nil, 0, err
		}
		e.retire()
	}
	for _, g := range groups {
		if err := <-g.done; err != nil {
			return nil, 0, err
		}
		all = append(all, g.completions()...)
	}
	return all, rows, nil
}

// Rest waits until an engine's loop has ended.
func (e *Engine) Rest() {
	for {
		e.mu.Lock()
		running := e.running
		e.mu.Unlock()
		if !running {
			return
		}
		runtime.Gosched()
	}
}

// Held is what an engine that has nothing to do holds of its cache, an error if that is not
// nothing but prefixes.
func (e *Engine) Held() error {
	e.Rest()
	if got := e.cache.available(); got != e.cache.pages || len(e.cache.freeLists) != 2*e.opt.Sequences {
		return fmt.Errorf("%d of %d pages are free, %d of %d lists", got, e.cache.pages, len(e.cache.freeLists), 2*e.opt.Sequences)
	}
	for page, n := range e.cache.users {
		kept := 0
		for _, p := range e.cache.prefixes.nodes {
			eachPage(p.slots, func(its int) {
				if its == page {
					kept++
				}
			})
		}
		if n != kept {
			return fmt.Errorf("page %d has %d users, and %d prefixes keep it", page, n, kept)
		}
	}
	return nil
}
