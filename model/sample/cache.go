package sample

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/device"
)

// pageTokens is the unit in which key/value memory is handed out.
const pageTokens = 32

// kvCache hands out pages of token slots and keeps, for each sequence in
// flight, the list of slots its keys lie in (kvidx). A group's prompt has pages
// of its own; each completion's list begins with the prompt's slots and goes on
// in pages of its own, which it gets as it grows, so the prompt is computed and stored
// once (docs/why/model.md#why-lists-of-key-slots-and-not-page-tables). Completions that begin
// alike name the same slots as long as they do (branch.go), and prompts that begin alike
// may (prefix.go). A page is free when no list and no prefix names a slot of it.
type kvCache struct {
	layers     []decoder.KVLayer
	kvidx      gpu.View // [lists][maxContext] u32
	maxContext int
	freePages  []int // last in, first out
	freeLists  []int
	pages      int
	users      []int // [page] lists and prefixes that name slots of it
	prefixes   prefixes
}

func newCache(p *device.Pool, d decoder.Dims, tokens, lists, maxContext int) *kvCache {
	pages := (tokens + pageTokens - 1) / pageTokens
	c := &kvCache{maxContext: maxContext, pages: pages, users: make([]int, pages)}
	c.layers = c.beside(p, d)
	c.kvidx = p.Words("key lists", lists*maxContext)
	for i := pages - 1; i >= 0; i-- {
		c.freePages = append(c.freePages, i)
	}
	for i := lists - 1; i >= 0; i-- {
		c.freeLists = append(c.freeLists, i)
	}
	return c
}

// beside are the keys and values of another decoder in the same slots.
func (c *kvCache) beside(p *device.Pool, d decoder.Dims) []decoder.KVLayer {
	var layers []decoder.KVLayer
	for range d.Layers {
		layers = append(layers, decoder.NewKVLayer(p, d, c.pages*pageTokens))
	}
	return layers
}

func pagesFor(tokens int) int { return (tokens + pageTokens - 1) / pageTokens }

// slotList is the list of key slots of one sequence.
type slotList struct {
	list  int   // row of kvidx
	slots []int // slot of every key, known ahead to the end of a page
	used  int   // keys written
}

// eachPage calls do for every page that slots lie in, again where they come back to one.
func eachPage(slots []int, do func(page int)) {
	for i, slot := range slots {
		if page := slot / pageTokens; i == 0 || page != slots[i-1]/pageTokens {
			do(page)
		}
	}
}

// hold counts a list among the users of its pages.
func (c *kvCache) hold(s *slotList) { eachPage(s.slots, func(page int) { c.users[page]++ }) }

// release takes a list from the users of its pages.
func (c *kvCache) release(s *slotList) { eachPage(s.slots, c.leave) }

// leave takes one user from a page.
func (c *kvCache) leave(page int) {
	if c.users[page]--; c.users[page] == 0 {
		c.freePages = append(c.freePages, page)
	}
}

// open starts a list with shared slots in front. The caller has checked that a list is
// free.
func (c *kvCache) open(shared []int) (*slotList, error) {
	n := len(c.freeLists) - 1
	s := &slotList{list: c.freeLists[n], slots: slices.Clone(shared), used: len(shared)}
	c.freeLists = c.freeLists[:n]
	c.hold(s)
	return s, c.write(s, 0, len(s.slots))
}

// grow gives a list room for so many keys more than are written, and says whether there
// were pages enough. Those that it got it keeps.
func (c *kvCache) grow(s *slotList, tokens int) (bool, error) {
	first := len(s.slots)
	for len(s.slots) < s.used+tokens {
		if len(c.freePages) == 0 && !c.prefixes.evict(c) {
			return false, c.write(s, first, len(s.slots))
		}
		last := len(c.freePages) - 1
		page := c.freePages[last]
		c.freePages = c.freePages[:last]
		c.users[page]++
		for i := range min(pageTokens, c.maxContext-len(s.slots)) {
			s.slots = append(s.slots, page*pageTokens+i)
		}
	}
	return true, c.write(s, first, len(s.slots))
}

// available is the number of pages that grow can hand out.
func (c *kvCache) available() int { return len(c.freePages) + c.prefixes.idlePages(c) }

// write writes the slots of places first to end-1 of a list.
func (c *kvCache) write(s *slotList, first, end int) error {
	idx := make([]uint32, 0, end-first)
	for _, slot := range s.slots[first:end] {
		idx = append(idx, uint32(slot))
	}
	return device.Upload(device.Put(device.At(c.kvidx, c.offset(s)+first), idx))
}

// follow gives a list, which has no keys of its own after a place yet, the slots of
// another one from there to the last key that is written. Before it the two are equal;
// after it each goes on in its own pages.
func (c *kvCache) follow(s, other *slotList, first int) error {
	former := *s
	s.slots = slices.Concat(s.slots[:first], other.slots[first:other.used])
	c.hold(s)
	c.release(&former)
	return c.write(s, first, other.used)
}

// offset is where a list begins in kvidx.
func (c *kvCache) offset(s *slotList) int { return s.list * c.maxContext }

func (c *kvCache) close(s *slotList) {
	c.release(s)
	c.freeLists = append(c.freeLists, s.list)
}

// fits is an error if a prompt and n completions could never be held.
func (c *kvCache) fits(prompt, completion, n, lists int) error {
	need := pagesFor(prompt) + n*pagesFor(completion)
	if prompt+completion > c.maxContext {
		return fmt.Errorf("a prompt of %d tokens and %d new ones exceed the context of %d", prompt, completion, c.maxContext)
	}
	if need > c.pages || n+1 > lists {
		return fmt.Errorf("%d completions of up to %d tokens after a prompt of %d need %d pages of %d tokens and %d sequences; the engine has %d and %d",
			n, completion, prompt, need, pageTokens, n+1, c.pages, lists)
	}
	return nil
}
