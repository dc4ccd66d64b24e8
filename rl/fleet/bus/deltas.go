package bus

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/delta"
)

// deltas is the difference of the policy's weights from those before. It is made when a
// worker asks for it.
type deltas struct {
	before, now fleet.Policy
	asked, done bool
	id          fleet.Digest
	data        []byte // nil: there is none that is worth it
}

// announce notes new weights.
func (d *deltas) announce(p fleet.Policy) {
	if p.Weights != d.now.Weights {
		*d = deltas{before: d.now, now: p}
	}
}

// worth is the share of the weights' size above which they are sent whole.
const worth = 0.9

// delta answers a request for a delta: want [32], have [32]. h.mu is held.
func (h *Hub) delta(m *nats.Msg) {
	d := &h.deltas
	if len(m.Data) != 2*sha256.Size || fleet.Digest(m.Data[:sha256.Size]) != d.now.Weights || fleet.Digest(m.Data[sha256.Size:]) != d.before.Weights || d.done && d.data == nil {
		reply(m, statusGone, nil)
		return
	}
	if d.done {
		reply(m, statusOK, d.id[:])
		return
	}
	reply(m, statusNothing, nil)
	if d.asked {
		return
	}
	d.asked = true
	before, now := d.before, d.now
	go func() {
		data := delta.Encode(before.Data, now.Data)
		if float64(len(data)) > worth*float64(len(now.Data)) {
			data = nil
		}
		id := fleet.Digest(sha256.Sum256(data))
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.deltas.now.Weights == now.Weights {
			h.deltas.done, h.deltas.id, h.deltas.data = true, id, data
		}
	}()
}

// fetchDelta makes weights from those that the worker had last, or returns fleet.ErrGone.
func (c *client) fetchDelta(ctx context.Context, want fleet.Digest, most int) (data []byte, err error) {
	if c.held == nil {
		return nil, fleet.ErrGone
	}
	var id []byte
	err = c.retry(ctx, func() (final bool, err error) {
		id, err = c.ask(ctx, verbDelta, append(want[:], c.heldID[:]...), replyWait)
		return !errors.Is(err, errNothing), err
	})
	if err != nil {
		return nil, err
	}
	if len(id) != len(want) {
		return nil, errors.New("the reply to delta has another form")
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
