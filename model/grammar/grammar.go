package grammar

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"sync"
)

// Grammar is a form over a vocabulary.
type Grammar struct {
	vocab *Vocabulary
	ends  []int // tokens that may come after the whole text
	nodes []node
	class [256]uint8 // bytes that no edge tells apart
	start *config

	mu      sync.Mutex
	stacks  map[frame]*stack
	made    uint64 // stacks so far
	closing uint64 // configs so far
	configs map[string]*config
	full    bool // a call has come to more configs than one may
	locals  map[int32]*local
	kept    int       // words of locals
	path    []*config // of a walk, by depth
	scratch []uint32
}

// frame is a node and where its rule comes back to.
type frame struct {
	node int32
	rest *stack // nil: the bottom
}

// stack is a frame; equal ones are one.
type stack struct {
	frame
	id   uint64
	seen uint64  // the last closure that has it
	back *config // what the rest comes to
}

// config is what is still possible: the stacks that read a byte next, in an order that
// depends on the text alone.
type config struct {
	stacks []*stack
	done   bool      // it may end here
	next   []*config // by class of bytes; nil: not known yet
}

// local is what a node takes without its rest: tokens that stay in its rule, and the places
// in the trie where it ends and more follows.
type local struct {
	ids   []int32
	bits  []uint32 // in place of ids, if there are many
	exits []int32
}

// dead takes nothing.
var dead = &config{}

// What is kept at most. All of it can be made again.
const (
	maxConfigs = 1 << 14 // and one call makes as many again
	maxKept    = 1 << 22 // words
)

// ErrMemory says that the next token alone takes more memory than a grammar may have.
var ErrMemory = errors.New("the schema has too many patterns or alternatives: what may come next needs more memory than is allowed")

// ErrReadings says that a text has more readings than are followed.
var ErrReadings = errors.New("the alternatives of the schema begin too much alike: what was written can be read in more ways than are followed")

// New makes the grammar of a form. Tokens that end a completion are allowed after a whole
// text alone, and nothing else is.
func New(v *Vocabulary, ends []int, f Form) (*Grammar, error) {
	if err := v.check(ends); err != nil {
		return nil, err
	}
	if len(ends) == 0 {
		return nil, errors.New("no token ends a completion")
	}
	b := newBuilder()
	start, end := b.node(), b.node()
	b.nodes[end].ends = true
	if err := f.add(b, start, end); err != nil {
		return nil, err
	}
	if b.large() {
		return nil, errLarge
	}
	var all [256]bool
	for i := range all {
		all[i] = true
	}
	if !b.trim(start, &all) {
		return nil, errors.New("no value is valid")
	}
	if !b.trim(start, &v.bytes) {
		return nil, errors.New("the model's vocabulary cannot write it: it has no tokens for single characters")
	}
	g := &Grammar{vocab: v, ends: ends, nodes: b.nodes, path: make([]*config, v.deep+1), scratch: make([]uint32, v.words())}
	g.classes()
	g.forget()
	return g, nil
}

// classes tells apart the bytes that edges do.
func (g *Grammar) classes() {
	var cut [257]bool
	for _, n := range g.nodes {
		for _, e := range n.edges {
			cut[e.lo], cut[int(e.hi)+1] = true, true
		}
	}
	var k uint8
	for b := 1; b < 256; b++ {
		if cut[b] {
			k++
		}
		g.class[b] = k
	}
}

// forget drops what was kept. States that are in use go on with what they have.
func (g *Grammar) forget() {
	g.stacks, g.configs, g.locals, g.kept, g.full = map[frame]*stack{}, map[string]*config{}, map[int32]*local{}, 0, false
	g.start = g.closed(g.stack(frame{0, nil}))
}

func (g *Grammar) stack(f frame) *stack {
	s, ok := g.stacks[f]
	if !ok {
		g.made++
		s = &stack{frame: f, id: g.made}
		g.stacks[f] = s
	}
	return s
}

// closed is the config of one stack.
func (g *Grammar) closed(s *stack) *config {
	if s.back == nil {
		c := g.config([]*stack{s})
		if g.full {
			return c
		}
		s.back = c
	}
	return s.back
}

// config follows what needs no byte, and finds the config.
func (g *Grammar) config(seeds []*stack) *config {
	g.closing++
	c := &config{}
	for todo := seeds; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.seen == g.closing {
			continue
		}
		s.seen = g.closing
		n := &g.nodes[s.node]
		if len(n.edges) > 0 {
			if c.stacks = append(c.stacks, s); len(c.stacks) > maxStacks {
				return dead
			}
		}
		if n.ends {
			if s.rest == nil {
				c.done = true
			} else {
				todo = append(todo, s.rest)
			}
		}
		for _, to := range n.free {
			todo = append(todo, g.stack(frame{to, s.rest}))
		}
		for _, k := range n.calls {
			rest := s.rest
			if back := &g.nodes[k.back]; !back.ends || len(back.edges)+len(back.free)+len(back.calls) > 0 {
				rest = g.stack(frame{k.back, s.rest})
			}
			todo = append(todo, g.stack(frame{k.rule, rest}))
		}
	}
	if len(c.stacks) == 0 && !c.done {
		return dead
	}
	key := make([]byte, 1, 1+8*len(c.stacks))
	if c.done {
		key[0] = 1
	}
	for _, s := range c.stacks {
		key = binary.LittleEndian.AppendUint64(key, s.id)
	}
	if same, ok := g.configs[string(key)]; ok {
		return same
	}
	if len(g.configs) > 2*maxConfigs {
		g.full = true
		return dead
	}
	g.configs[string(key)] = c
	return c
}

// step is the config after a byte.
func (g *Grammar) step(c *config, b byte) *config {
	if len(c.stacks) == 0 {
		return dead
	}
	k := g.class[b]
	if c.next == nil {
		c.next = make([]*config, int(g.class[255])+1)
	}
	if c.next[k] == nil {
		var seeds []*stack
		for _, s := range c.stacks {
			for _, e := range g.nodes[s.node].edges {
				if e.lo <= b && b <= e.hi {
					seeds = append(seeds, g.stack(frame{e.to, s.rest}))
				}
			}
		}
		next := dead
		if len(seeds) > 0 {
			next = g.config(seeds)
		}
		if g.full { // what is not known is not kept
			return dead
		}
		c.next[k] = next
	}
	return c.next[k]
}

// walk sets the bits of the tokens below a place of the trie that a config takes. Where it
// is done and there are longer tokens, the place is an exit.
func (g *Grammar) walk(root int32, c *config, set []uint32, exits *[]int32) {
	v := g.vocab
	g.path[v.trie[root].depth] = c
	for i, end := root+1, v.trie[root].end; i < end && !g.full; {
		n := &v.trie[i]
		next := g.step(g.path[n.depth-1], n.b)
		if next == dead {
			i = n.end
			continue
		}
		for _, id := range v.order[n.first : n.first+n.count] {
			set[id/32] |= 1 << (id % 32)
		}
		if exits != nil && next.done && n.end > i+1 {
			*exits = append(*exits, i)
		}
		g.path[n.depth] = next
		if i++; len(next.stacks) == 0 {
			i = n.end
		}
	}
}

// local is what a node takes without its rest.
func (g *Grammar) local(at int32) *local {
	l, ok := g.locals[at]
	if ok {
		return l
	}
	l = &local{}
	clear(g.scratch)
	g.walk(0, g.closed(g.stack(frame{at, nil})), g.scratch, &l.exits)
	count := 0
	for _, w := range g.scratch {
		count += bits.OnesCount32(w)
	}
	g.kept += min(count, len(g.scratch))
	if count > len(g.scratch) {
		l.bits = append(l.bits, g.scratch...)
	} else {
		l.ids = make([]int32, 0, count)
		for i, w := range g.scratch {
			for ; w != 0; w &= w - 1 {
				l.ids = append(l.ids, int32(32*i+bits.TrailingZeros32(w)))
			}
		}
	}
	if !g.full {
		g.locals[at] = l
	}
	return l
}

// allow sets the bits of the tokens that a config takes, and clears the others.
func (g *Grammar) allow(c *config, set []uint32) {
	clear(set)
	for _, s := range c.stacks {
		l := g.local(s.node)
		for i, w := range l.bits {
			set[i] |= w
		}
		for _, id := range l.ids {
			set[id/32] |= 1 << (id % 32)
		}
		if s.rest == nil {
			continue
		}
		for _, at := range l.exits {
			g.walk(at, g.closed(s.rest), set, nil)
		}
	}
	if c.done {
		for _, id := range g.ends {
			set[id/32] |= 1 << (id % 32)
		}
	}
}

// State is a place in a text of a grammar. It does not change.
type State struct {
	g *Grammar
	c *config
}

// Start is the beginning of a text.
func (g *Grammar) Start() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return State{g, g.start}
}

// Allow sets the bits of the tokens that may come next, and clears the others. The error is
// [ErrReadings] if there is none, and [ErrMemory] if they cannot be found out.
func (s State) Allow(set []uint32) error {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.g.limit()
	s.g.allow(s.c, set)
	if s.g.full {
		s.g.forget()
		return ErrMemory
	}
	for _, w := range set {
		if w != 0 {
			return nil
		}
	}
	return ErrReadings
}

// Next is the state after a token. After one that is not allowed, and after the end,
// nothing is allowed.
func (s State) Next(id int) State {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	s.g.limit()
	c := s.c
	for _, b := range s.g.vocab.tokens[id] {
		c = s.g.step(c, b)
	}
	if len(s.g.vocab.tokens[id]) == 0 || s.g.full {
		c = dead
	}
	return State{s.g, c}
}

// limit bounds what is kept.
func (g *Grammar) limit() {
	if len(g.configs) > maxConfigs || g.kept > maxKept || g.full {
		g.forget()
	}
}
