package sample

import (
	"container/list"
	"slices"
)

// prefixes are whole pages of keys and values at the beginnings of prompts that were
// read, kept for prompts that begin alike. The keys and values of a token are a function
// of the model and of the tokens up to it, so a prompt has the same bits with pages that
// another one computed; a model that is trained must not have any (Options.Prefixes).
//
//	root ─ page of tokens 0-31 ─┬─ page of tokens 32-63 ─ …
//	                            └─ another page of tokens 32-63
//
// Pages are compared by their tokens, not by a hash of them. The page that was used
// longest ago goes first. A page is used with all that lead to it, and counts as used
// after the pages that follow it, so the ends of branches go first.
type prefixes struct {
	most  int // pages kept; 0: none
	nodes map[prefixKey]*prefix
	order list.List // of *prefix, the one used last in front
	taken int       // pages that prompts took from here
}

// prefixKey is what tells a page: its tokens, and all before them.
type prefixKey struct {
	before *prefix // nil: the prompt begins with it
	ids    [pageTokens]int32
}

type prefix struct {
	key   prefixKey
	page  int
	place *list.Element
}

// next is the key of the page of a prompt that begins at a token.
func (p *prefix) next(prompt []int, at int) prefixKey {
	k := prefixKey{before: p}
	for i := range k.ids {
		k.ids[i] = int32(prompt[at+i])
	}
	return k
}

// find returns the slots of as many tokens of a prompt as are kept; of the last token
// never, as it is what a completion is drawn from.
func (x *prefixes) find(prompt []int) []int {
	var slots []int
	var found []*prefix
	var at *prefix
	for len(slots)+pageTokens < len(prompt) {
		if at = x.nodes[at.next(prompt, len(slots))]; at == nil {
			break
		}
		found = append(found, at)
		for i := range pageTokens {
			slots = append(slots, at.page*pageTokens+i)
		}
	}
	x.use(found)
	return slots
}

// use marks a branch as used.
func (x *prefixes) use(branch []*prefix) {
	for _, p := range slices.Backward(branch) {
		x.order.MoveToFront(p.place)
	}
}

// keep keeps the whole pages of a prompt that was read.
func (x *prefixes) keep(c *kvCache, prompt []int, l *slotList) {
	if x.most <= 0 {
		return
	}
	if x.nodes == nil {
		x.nodes = map[prefixKey]*prefix{}
	}
	var branch []*prefix
	var at *prefix
	for first := 0; first+pageTokens <= len(prompt); first += pageTokens {
		key := at.next(prompt, first)
		if x.nodes[key] == nil {
			if len(x.nodes) >= x.most && !x.evict(c) || at != nil && x.nodes[at.key] != at {
				break // there is no room, or the page before has just gone
			}
			p := &prefix{key: key, page: l.slots[first] / pageTokens}
			p.place = x.order.PushFront(p)
			x.nodes[key] = p
			c.users[p.page]++
		}
		at = x.nodes[key]
		branch = append(branch, at)
		x.use(branch)
	}
}

// evict gives up the page that was used longest ago among those that no list names.
func (x *prefixes) evict(c *kvCache) bool {
	for e := x.order.Back(); e != nil; e = e.Prev() {
		if p := e.Value.(*prefix); c.users[p.page] == 1 {
			x.order.Remove(e)
			delete(x.nodes, p.key)
			c.leave(p.page)
			return true
		}
	}
	return false
}

// idle is the number of pages that no list names.
func (x *prefixes) idle(c *kvCache) int {
	n := 0
	for e := x.order.Front(); e != nil; e = e.Next() {
		if c.users[e.Value.(*prefix).page] == 1 {
			n++
		}
	}
	return n
}
