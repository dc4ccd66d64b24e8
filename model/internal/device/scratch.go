package device

import (
	"fmt"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/gpu"
)

// Scratch is device memory in which phases take turns: the buffers of one phase lie where those of another do. What a
// phase leaves there is undefined once another one has been entered. It takes as much as the phase that takes most.
//
//	block 0  | sampling: keys, values, logits …        |
//	         | training: activations, gradients …  |     |
//	         | model judge: weights, activations |       |
//
// A phase is in use from Enter to Leave, by any number of goroutines; who enters another one waits.
type Scratch struct {
	dev    gpu.Device // nil: it plans
	most   int        // bytes of a block that is planned
	blocks []block
	phases []*Phase

	mu    sync.Mutex
	idle  *sync.Cond // nobody uses the phase any more
	in    *Phase     // the one that was entered last; nil: none, or what it left may be gone
	users int        // of that phase, now
}

// block is one buffer of a scratch.
type block struct {
	buffer gpu.Buffer // nil: it is planned
	size   int        // bytes
}

// Phase is what lies side by side in a scratch. The nil phase is one that never ends.
type Phase struct {
	of    *Scratch
	name  string
	whole *Phase         // it is a part of; nil: of none
	taken []int          // [block] bytes
	enter []func() error // see [Phase.OnEnter]
}

// NewScratch allocates blocks of so many bytes, see [Scratch.Blocks].
func NewScratch(dev gpu.Device, blocks []int) (*Scratch, error) {
	s := &Scratch{dev: dev}
	s.idle = sync.NewCond(&s.mu)
	for _, size := range blocks {
		if err := s.add(size); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// PlanScratch is a scratch that takes no memory: its blocks become as large as its phases need, up to so many bytes.
func PlanScratch(most int) *Scratch { return &Scratch{most: most} }

func (s *Scratch) add(size int) error {
	b := block{size: size}
	if s.dev != nil {
		var err error
		if b.buffer, err = s.dev.NewBuffer(fmt.Sprintf("scratch %d", len(s.blocks)), size); err != nil {
			return err
		}
	}
	s.blocks = append(s.blocks, b)
	return nil
}

// Blocks are the sizes of the buffers that a planned scratch needs, bytes.
func (s *Scratch) Blocks() []int {
	sizes := make([]int, len(s.blocks))
	for _, p := range s.phases {
		for i, n := range p.taken {
			sizes[i] = max(sizes[i], n)
		}
	}
	return sizes
}

// Phase is that of a name. It is made when it is first asked for.
func (s *Scratch) Phase(name string) *Phase {
	if s == nil {
		return nil
	}
	if i := slices.IndexFunc(s.phases, func(p *Phase) bool { return p.name == name }); i >= 0 {
		return s.phases[i]
	}
	p := &Phase{of: s, name: name}
	s.phases = append(s.phases, p)
	return p
}

// Part is a phase that begins with what p has taken by now. Parts of a phase take turns, and do not lose that.
func (p *Phase) Part(name string) *Phase {
	if p == nil {
		return nil
	}
	part := p.of.Phase(name)
	if part.whole == nil {
		part.whole, part.taken = p, slices.Clone(p.taken)
	}
	return part
}

// Close frees the memory.
func (s *Scratch) Close() {
	if s == nil {
		return
	}
	for _, b := range s.blocks {
		if b.buffer != nil {
			b.buffer.Free()
		}
	}
	s.blocks = nil
}

// take gives a phase so many bytes, in the first block with room. What was planned has room in the same places: a
// block that had none in the plan has none now.
func (p *Phase) take(size int) (gpu.View, error) {
	s := p.of
	for i := 0; ; i++ {
		if i == len(s.blocks) {
			if err := s.add(max(size, s.most)); err != nil {
				return gpu.View{}, err
			}
		}
		if i == len(p.taken) {
			p.taken = append(p.taken, 0)
		}
		if at := p.taken[i]; at+size <= s.blocks[i].size {
			p.taken[i] += size
			return gpu.View{Buffer: s.blocks[i].buffer, Offset: at, Size: size}, nil
		}
	}
}

// OnEnter has do be called when the phase is entered after another one: what the phase left is gone.
func (p *Phase) OnEnter(do func() error) {
	if p != nil {
		p.enter = append(p.enter, do)
	}
}

// Enter begins to use a phase, once nobody uses another one. An error is one of [Phase.OnEnter]; the phase is not in use
// then.
func (p *Phase) Enter() error {
	if p == nil {
		return nil
	}
	s := p.of
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.in != p && s.users > 0 {
		s.idle.Wait()
	}
	if s.in != p {
		last := s.in
		s.in = nil
		if err := p.begin(last); err != nil {
			return err
		}
		s.in = p
	}
	s.users++
	return nil
}

// begin says that what a phase left is gone, after the last one that was entered.
func (p *Phase) begin(last *Phase) error {
	if w := p.whole; w != nil && (last == nil || last != w && last.whole != w) {
		if err := w.begin(last); err != nil {
			return err
		}
	}
	for _, do := range p.enter {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// Leave ends one use of a phase.
func (p *Phase) Leave() {
	if p == nil {
		return
	}
	s := p.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		s.idle.Broadcast()
	}
}
