package fleet

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/rl/fleet/verdict"
)

// Memory carries within one process.
type Memory struct {
	mu      sync.Mutex
	policy  Policy
	items   []queued
	results []Delivery
	closed  bool
	round   int               // announced weights, counted
	tests   map[string]tested // by worker
	changed chan struct{}     // closed, and made anew, when anything of the above changes
}

// tested is what became of the canaries of a worker.
type tested struct {
	answered int // round whose canary it answered last; 0: none
	given    int // times, in the round asked
	asked    int
	id       Digest // of the canary of that round
}

// queued is an item that waits for a worker.
type queued struct {
	id   Digest
	data []byte
	need string // the engine of its verdicts; drawing: it is to be drawn
}

// drawing is what an item needs whose completions are to be drawn.
const drawing = ""

var (
	_ TrainerSide = (*Memory)(nil)
	_ WorkerSide  = (*Memory)(nil)
)

// NewMemory makes a carrier.
func NewMemory() *Memory { return &Memory{tests: map[string]tested{}, changed: make(chan struct{})} }

// Close ends it: whoever waits gets ErrClosed.
func (m *Memory) Close() { m.change(func() { m.closed = true }) }

// change changes something and wakes all who wait.
func (m *Memory) change(do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	do()
	close(m.changed)
	m.changed = make(chan struct{})
}

// wait tries until try says that it is done.
func (m *Memory) wait(ctx context.Context, try func() (done bool, err error)) error {
	for {
		m.mu.Lock()
		done, err := false, error(ErrClosed)
		if !m.closed {
			done, err = try()
		}
		changed := m.changed
		m.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Announce implements [TrainerSide].
func (m *Memory) Announce(_ context.Context, p Policy) error {
	m.change(func() {
		if p.Weights != m.policy.Weights {
			m.items = nil
			m.round++
		}
		m.policy = p
	})
	return nil
}

// Offer implements [TrainerSide].
func (m *Memory) Offer(_ context.Context, item []byte) error {
	m.change(func() {
		if !bytes.Equal(item, m.policy.Canary) { // which is nobody else's
			need, _ := verdict.Release(item)
			m.items = append(m.items, queued{digestOf(item), item, need})
		}
	})
	return nil
}

// Withdraw implements [TrainerSide].
func (m *Memory) Withdraw(items []Digest) {
	m.change(func() {
		m.items = slices.DeleteFunc(m.items, func(q queued) bool { return slices.Contains(items, q.id) })
	})
}

// Forget forgets how a worker computes: it has joined again.
func (m *Memory) Forget(worker string) { m.change(func() { delete(m.tests, worker) }) }

// canary is the item that tells how a worker computes, if it is asked for that. m.mu is
// held.
func (m *Memory) canary(worker string) []byte {
	s, was := m.tests[worker]
	if s.asked != m.round {
		s.asked, s.given = m.round, 0
	}
	known := was && m.policy.Known[worker] != "" && m.round-s.answered < canaryEvery
	if m.policy.Canary == nil || known || s.answered == m.round || s.given == canaryTries {
		return nil
	}
	s.given++
	s.id = digestOf(m.policy.Canary)
	m.tests[worker] = s
	return m.policy.Canary
}

// Next implements [TrainerSide].
func (m *Memory) Next(ctx context.Context) (d Delivery, err error) {
	err = m.wait(ctx, func() (bool, error) {
		if len(m.results) == 0 {
			return false, nil
		}
		d, m.results = m.results[0], m.results[1:]
		return true, nil
	})
	return d, err
}

// Take implements [WorkerSide].
func (m *Memory) Take(ctx context.Context, worker string, does ...string) (item []byte, err error) {
	if len(does) == 0 {
		does = []string{drawing}
	}
	err = m.wait(ctx, func() (bool, error) {
		if why, refused := m.policy.Refused[worker]; refused {
			return false, fmt.Errorf("%w: %s", ErrRefused, why)
		}
		if slices.Contains(does, drawing) {
			if item = m.canary(worker); item != nil {
				return true, nil
			}
		}
		i := slices.IndexFunc(m.items, func(q queued) bool { return slices.Contains(does, q.need) })
		if i < 0 {
			return false, nil
		}
		item = m.items[i].data
		m.items = slices.Delete(m.items, i, i+1)
		return true, nil
	})
	return item, err
}

// Fetch implements [WorkerSide].
func (m *Memory) Fetch(_ context.Context, weights Digest, most int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if weights != m.policy.Weights {
		return nil, ErrGone
	}
	if n := len(m.policy.Data); n > most {
		return nil, fmt.Errorf("weights of %d bytes; accepted: at most %d", n, most)
	}
	return m.policy.Data, nil
}

// Deliver implements [WorkerSide]. Copies of the item that still wait are withdrawn.
func (m *Memory) Deliver(_ context.Context, worker string, result []byte) error {
	id, err := answered(result)
	m.change(func() {
		s := m.tests[worker]
		stayed := s.answered > 0
		m.results = append(m.results, Delivery{worker, result, stayed && m.round-s.answered <= canaryEvery, stayed})
		if err == nil && s.given > 0 && id == s.id {
			s.answered = s.asked
			m.tests[worker] = s
		}
		if err == nil {
			m.items = slices.DeleteFunc(m.items, func(q queued) bool { return q.id == id })
		}
	})
	return nil
}
