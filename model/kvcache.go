package model

import (
	"fmt"

	"github.com/rlzero/rlzero/gpu"
)

// pageTokens is the unit in which key/value memory is handed out.
const pageTokens = 32

// kvLayer are one block's keys and values, one row a token: [slots][KV hd],
// float32 or pairs of bf16.
type kvLayer struct{ k, v gpu.View }

// kvCache hands out pages of token slots and keeps, for each sequence in
// flight, the list of slots its keys lie in (kvidx). A group's prompt has pages
// of its own; each completion's list begins with the prompt's slots and goes on
// in pages of its own, so the prompt is computed and stored once
// (RATIONALE.md#why-lists-of-key-slots-and-not-page-tables).
type kvCache struct {
	layers     []kvLayer
	kvidx      gpu.View // [lists][maxContext] u32
	maxContext int
	freePages  []int // last in, first out
	freeLists  []int
	pages      int
}

func (p *pool) kvCache(d dims, tokens, lists, maxContext int) *kvCache {
	pages := (tokens + pageTokens - 1) / pageTokens
	c := &kvCache{maxContext: maxContext, pages: pages}
	for range d.layers {
		n := d.kvWords(pages * pageTokens)
		c.layers = append(c.layers, kvLayer{p.words("key cache", n), p.words("value cache", n)})
	}
	c.kvidx = p.words("key lists", lists*maxContext)
	for i := pages - 1; i >= 0; i-- {
		c.freePages = append(c.freePages, i)
	}
	for i := lists - 1; i >= 0; i-- {
		c.freeLists = append(c.freeLists, i)
	}
	return c
}

func pagesFor(tokens int) int { return (tokens + pageTokens - 1) / pageTokens }

// slotList is the list of key slots of one sequence and the pages behind it.
type slotList struct {
	list  int   // row of kvidx
	slots []int // slot of every key, known ahead for whole pages
	own   []int // pages to give back
	used  int   // keys written
}

// open starts a list with shared slots in front and pages of its own for
// tokens more. The caller has checked that they are free (see fits).
func (c *kvCache) open(shared []int, tokens int) (*slotList, error) {
	n := len(c.freeLists) - 1
	s := &slotList{list: c.freeLists[n], slots: append([]int(nil), shared...), used: len(shared)}
	c.freeLists = c.freeLists[:n]
	for range pagesFor(tokens) {
		last := len(c.freePages) - 1
		page := c.freePages[last]
		c.freePages = c.freePages[:last]
		s.own = append(s.own, page)
		for i := range pageTokens {
			s.slots = append(s.slots, page*pageTokens+i)
		}
	}
	if len(s.slots) > c.maxContext {
		s.slots = s.slots[:c.maxContext]
	}
	idx := make([]uint32, len(s.slots))
	for i, slot := range s.slots {
		idx[i] = u(slot)
	}
	return s, c.kvidx.Buffer.Write(c.kvidx.Offset+4*c.offset(s), u32Bytes(idx))
}

// offset is where a list begins in kvidx.
func (c *kvCache) offset(s *slotList) int { return s.list * c.maxContext }

func (c *kvCache) close(s *slotList) {
	c.freePages = append(c.freePages, s.own...)
	c.freeLists = append(c.freeLists, s.list)
	s.own = nil
}

// fits says whether a prompt and n completions can be held now, and an error
// if they never could be.
func (c *kvCache) fits(prompt, completion, n, lists int) (bool, error) {
	need := pagesFor(prompt) + n*pagesFor(completion)
	if prompt+completion > c.maxContext {
		return false, fmt.Errorf("a prompt of %d tokens and %d new ones exceed the context of %d", prompt, completion, c.maxContext)
	}
	if need > c.pages || n+1 > lists {
		return false, fmt.Errorf("%d completions of up to %d tokens after a prompt of %d need %d pages of %d tokens and %d sequences; the engine has %d and %d",
			n, completion, prompt, need, pageTokens, n+1, c.pages, lists)
	}
	return need <= len(c.freePages) && n+1 <= len(c.freeLists), nil
}
