package sample

import (
	"errors"
	"slices"
)

// A completion gets its pages as it grows. Where none is left, the youngest group is set
// back: it gives up all it has and waits again, in front of the others. What it had drawn
// becomes the draft of what it draws then (draft.go), so it comes to the same bits, and
// nothing is told twice. The oldest group is never set back while there is another, and
// alone it fits (kvCache.fits): so each comes to its end.

// place gives a waiting group a list for each of its completions and pages for its prompt,
// and says whether there was room for them and for a page of each completion.
func (e *Engine) place(g *group) (bool, error) {
	c, n := e.cache, len(g.req.Prompt)
	if len(c.freeLists) < g.req.N+1 {
		return false, nil
	}
	var known []int
	if !g.req.ScorePrompt && g.req.Hidden == nil {
		known = e.whole(g, c.prefixes.find(g.req.Prompt))
	}
	var err error
	if g.prompt, err = c.open(known); err != nil {
		return false, err
	}
	first := 0 // completions that need a page
	for _, s := range g.seqs {
		if !s.finish {
			first++
		}
	}
	if pagesFor(n-len(known))+first > c.available() {
		e.leave(g)
		return false, nil
	}
	if _, err := c.grow(g.prompt, n-len(known)); err != nil {
		return false, err
	}
	g.read = len(known)
	c.prefixes.taken += len(known) / pageTokens
	var open []*sequence
	for _, s := range g.seqs {
		if s.finish {
			continue
		}
		if s.list, err = c.open(g.prompt.slots[:n]); err != nil {
			return false, err
		}
		open = append(open, s)
	}
	g.branches = branchesOf(open)
	return true, nil
}

// whole are as many of the slots that are known of a prompt as leave room for the rest of the
// group, alone in the cache: what is known may lie in more pages than a prompt that is read.
func (e *Engine) whole(g *group, known []int) []int {
	for ; len(known) > 0; known = known[:len(known)-pageTokens] {
		pages := map[int]bool{}
		eachPage(known, func(page int) { pages[page] = true })
		if len(pages)+pagesFor(len(g.req.Prompt)-len(known))+g.req.N*pagesFor(g.req.MaxTokens) <= e.cache.pages {
			break
		}
	}
	return known
}

// leave gives back the lists and pages of a group.
func (e *Engine) leave(g *group) {
	if g.prompt != nil {
		e.cache.close(g.prompt)
		g.prompt = nil
	}
	for _, s := range g.seqs {
		if s.list != nil {
			e.cache.close(s.list)
			s.list = nil
		}
	}
	g.branches = nil
}

// makeRoom sees to it that the next token of each branch has a slot. It sets groups back
// where there are not pages enough.
func (e *Engine) makeRoom() error {
	for i := 0; i < len(e.active); i++ {
		g := e.active[i]
		for b := 0; g.read == len(g.req.Prompt) && b < len(g.branches); {
			ok, err := e.cache.grow(g.branches[b][0].list, 1)
			if err != nil {
				return err
			}
			if ok {
				b++
				continue
			}
			if len(e.active) == 1 {
				return errors.New("the key/value cache has no page for a group that it was found to hold")
			}
			e.setBack()
			if i == len(e.active) { // it was this one
				return nil
			}
		}
	}
	return nil
}

// setBack makes the youngest group wait again.
func (e *Engine) setBack() {
	last := len(e.active) - 1
	g := e.active[last]
	e.active[last] = nil
	e.active = e.active[:last]
	e.leave(g)
	for _, s := range g.seqs {
		if s.finish {
			continue
		}
		if s.draft == nil || len(s.draft) < len(s.IDs) {
			s.draft = s.IDs
		}
		s.Completion, s.stream, s.tail, s.guide = Completion{}, nil, "", g.req.Guide
	}
	g.read = 0
	e.count.SetBack++
	e.mu.Lock()
	e.waiting = slices.Insert(e.waiting, 0, g)
	e.mu.Unlock()
}

// State is what an engine is doing, and what it has done since it was made.
type State struct {
	Waiting     int // requests that have not begun, or were set back
	Active      int // requests in flight
	Completions int // in flight
	Pages       int // of the key/value cache, of 32 tokens
	Used        int // pages that requests in flight use
	Kept        int // runs of 32 tokens that are kept for prompts that begin alike

	Steps     int // forward passes
	Tokens    int // drawn; those that were set back count again
	Prompt    int // prompt tokens computed
	FromCache int // prompt tokens whose keys were kept
	SetBack   int // times that a request was set back
}

// State tells what the engine is doing: as of the beginning of a step.
func (e *Engine) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.state
	s.Waiting = len(e.waiting)
	return s
}

// observe notes the state, with the lock held.
func (e *Engine) observe(completions int) {
	e.state = e.count
	e.state.Active, e.state.Completions = len(e.active), completions
	e.state.Pages, e.state.Used = e.cache.pages, e.cache.pages-e.cache.available()
	e.state.Kept, e.state.FromCache = len(e.cache.prefixes.nodes), e.cache.prefixes.taken*pageTokens
}
