package bus

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/bus/internal/delta"
)

// deltas is the difference of the policy's weights from those before. It is made when a
// worker asks for it.
type deltas struct {
	before, now fleet.Policy
	waiting     map[string]*nats.Msg // requests while it is made, the last of each worker; nil: nobody has asked
	done        bool
	id          fleet.Digest
	data        []byte // nil: there is none that is worth it
}

// announce notes new weights. Who waits for the difference of earlier ones gets none.
func (d *deltas) announce(p fleet.Policy) {
	if p.Weights != d.now.Weights {
		d.answer()
		*d = deltas{before: d.now, now: p}
	}
}

// answer tells all who wait what there is.
func (d *deltas) answer() {
	for _, m := range d.waiting {
		if d.data == nil {
			_ = send(m, statusGone, nil) // who gets nothing asks again
		} else {
			_ = send(m, statusOK, d.id[:])
		}
	}
	clear(d.waiting)
}

// worth is the share of the weights' size above which they are sent whole.
const worth = 0.9

// delta answers a worker's request for a delta, once it is made: want [32], have [32]. h.mu
// is held.
func (h *Hub) delta(m *nats.Msg, key string) {
	d := &h.deltas
	if len(m.Data) != 2*sha256.Size || fleet.Digest(m.Data[:sha256.Size]) != d.now.Weights || fleet.Digest(m.Data[sha256.Size:]) != d.before.Weights {
		h.reply(m, statusGone, nil)
		return
	}
	first := d.waiting == nil
	if first {
		d.waiting = map[string]*nats.Msg{}
	}
	d.waiting[key] = m
	if d.done {
		d.answer()
	}
	if !first {
		return
	}
	before, now := d.before, d.now
	go func() {
		data := delta.Encode(before.Data, now.Data)
		if float64(len(data)) > worth*float64(len(now.Data)) {
			data = nil
		}
		id := fleet.Digest(sha256.Sum256(data))
		h.mu.Lock()
		defer h.mu.Unlock()
		if d := &h.deltas; d.before.Weights == before.Weights && d.now.Weights == now.Weights {
			d.done, d.id, d.data = true, id, data
			d.answer()
		}
	}()
}

// fetchDelta makes weights from those that the worker had last, or returns fleet.ErrGone.
func (c *client) fetchDelta(ctx context.Context, want fleet.Digest, most int) (data []byte, err error) {
	if c.held == nil {
		return nil, fleet.ErrGone
	}
	id, err := c.ask(ctx, verbDelta, append(want[:], c.heldID[:]...), replyWait) // and again, while it is made
	if err != nil {
		return nil, err
	}
	if len(id) != len(want) {
		return nil, errors.New("the reply to delta has an unknown form")
	}
	d, err := c.fetch(ctx, fleet.Digest(id), most)
	if err != nil {
		return nil, err
	}
	data, err = delta.Apply(c.held, d, most)
	if err != nil || fleet.Digest(sha256.Sum256(data)) != want {
		return nil, fleet.ErrGone // the whole tells whether it is wrong
	}
	return data, nil
}
