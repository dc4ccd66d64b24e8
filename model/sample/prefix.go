package sample

import (
	"container/list"
	"math"
	"slices"
)

// prefixes are keys and values of prompts that were read and of completions that were drawn,
// kept for prompts that begin alike: those of the next turn of a conversation begin with all of
// it. The keys and values of a token are a function of the model and of the tokens up to it, so
// a prompt has the same bits with those that another request computed. They are dropped when
// the model's weights change.
//
//	root ─ tokens 0-31 ─┬─ tokens 32-63 ─ …
//	                    └─ other tokens 32-63
//
// Runs of tokens are compared by the tokens, not by a hash of them. Their slots may lie in
// several pages, as a completion goes on in a page of its own. The run that was used longest ago
// goes first. One is used with all that lead to it, and counts as used after those that follow
// it, so the ends of branches go first.
type prefixes struct {
	most    int // runs kept; 0: none
	nodes   map[prefixKey]*prefix
	order   list.List // of *prefix, the one used last in front
	kept    []int     // [page] runs that name slots of it
	taken   int       // runs that prompts took from here
	changes uint64    // of the model's weights that the runs are of
}

// EveryPage, as the number of Options.Prefixes, keeps whatever is not needed otherwise.
const EveryPage = math.MaxInt

// prefixKey is what tells a run: its tokens, and all before them.
type prefixKey struct {
	before *prefix // nil: it is the beginning
	ids    [pageTokens]int32
}

type prefix struct {
	key   prefixKey
	slots []int // [pageTokens]
	place *list.Element
}

// next is the key of the run that begins at a token.
func (p *prefix) next(ids []int, at int) prefixKey {
	k := prefixKey{before: p}
	for i := range k.ids {
		k.ids[i] = int32(ids[at+i])
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
		slots = append(slots, at.slots...)
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

// keep keeps the whole runs of tokens, from the first of a prompt on, whose keys are written to
// these slots.
func (x *prefixes) keep(c *kvCache, ids, slots []int) {
	if x.most <= 0 {
		return
	}
	if x.nodes == nil {
		x.nodes, x.kept = map[prefixKey]*prefix{}, make([]int, c.pages)
	}
	var branch []*prefix
	var at *prefix
	for first := 0; first+pageTokens <= len(ids); first += pageTokens {
		key := at.next(ids, first)
		if x.nodes[key] == nil {
			if len(x.nodes) >= x.most && !x.drop(c) || at != nil && x.nodes[at.key] != at {
				break // there is no room, or the run before has just gone
			}
			p := &prefix{key: key, slots: slices.Clone(slots[first : first+pageTokens])}
			p.place = x.order.PushFront(p)
			x.nodes[key] = p
			eachPage(p.slots, func(page int) { c.users[page]++; x.kept[page]++ })
		}
		at = x.nodes[key]
		branch = append(branch, at)
		x.use(branch)
	}
}

// idle says whether a page is named by runs alone.
func (x *prefixes) idle(c *kvCache, page int) bool {
	return x.kept != nil && x.kept[page] > 0 && x.kept[page] == c.users[page]
}

// idlePages is the number of pages that runs alone name.
func (x *prefixes) idlePages(c *kvCache) int {
	n := 0
	for page := range x.kept {
		if x.idle(c, page) {
			n++
		}
	}
	return n
}

// drop gives up the run that was used longest ago among those with a page that no list names.
func (x *prefixes) drop(c *kvCache) bool {
	for e := x.order.Back(); e != nil; e = e.Prev() {
		p, idle := e.Value.(*prefix), false
		eachPage(p.slots, func(page int) { idle = idle || x.idle(c, page) })
		if idle {
			x.remove(c, p)
			return true
		}
	}
	return false
}

// evict gives up runs until a page is free, and says whether one is.
func (x *prefixes) evict(c *kvCache) bool {
	for len(c.freePages) == 0 {
		if !x.drop(c) {
			return false
		}
	}
	return true
}

// forget gives up all runs if the weights are not those that they are of.
func (x *prefixes) forget(c *kvCache, changes uint64) {
	if x.changes == changes {
		return
	}
	x.changes = changes
	for e := x.order.Front(); e != nil; e = x.order.Front() {
		x.remove(c, e.Value.(*prefix))
	}
}

func (x *prefixes) remove(c *kvCache, p *prefix) {
	x.order.Remove(p.place)
	delete(x.nodes, p.key)
	eachPage(p.slots, func(page int) {
		x.kept[page]--
		c.leave(page)
	})
}
