package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/bus/internal/delta"
)

// greeted is a trainer, and the connection of a worker that it has let in.
func greeted(t *testing.T) (*site, *client) {
	t.Helper()
	s, key, _, _ := guarded(t)
	nc, _ := raw(t, s, key)
	c := &client{nc: nc, place: s.place, name: key.Public()}
	if _, err := c.hello(t.Context(), []byte(`{"release":"1.0","numerics":"2","drafts":true}`)); err != nil {
		t.Fatal(err)
	}
	return s, c
}

// TestDeltas: a worker that has the weights before gets the difference, and one that has
// none or others the whole; where nearly all has changed both get the whole.
func TestDeltas(t *testing.T) {
	t.Parallel()
	s, c := greeted(t)
	rng := rand.New(rand.NewPCG(1, 0))
	values := make([]float32, 1<<16)
	for version, change := range []struct {
		rate  float32 // of the changes
		delta bool
	}{{1, false}, {1e-4, true}, {1e-4, true}, {1e30, false}, {0, false}} {
		var data []byte
		for i := range values {
			values[i] += change.rate * float32(rng.NormFloat64())
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(values[i]))
		}
		if change.rate == 0 { // there is nothing new: no update was made
			data = append(data, 1)
			c.held, c.heldID = []byte("others"), fleet.Digest{1}
		}
		want := fleet.Digest(sha256.Sum256(data))
		if err := s.Announce(t.Context(), fleet.Policy{Weights: want, Data: data}); err != nil {
			t.Fatal(err)
		}
		got, err := c.fetchDelta(t.Context(), want, len(data))
		if change.delta != (err == nil) || !change.delta && !errors.Is(err, fleet.ErrGone) || err == nil && !bytes.Equal(got, data) {
			t.Errorf("version %d: %d bytes by a delta, %v", version, len(got), err)
		}
		if got, err := c.Fetch(t.Context(), want, len(data)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("version %d: %d bytes, %v", version, len(got), err)
		}
		if n := len(s.deltas.data); change.delta && (n == 0 || n > len(data)*9/10) {
			t.Errorf("version %d: a delta of %d bytes for %d", version, n, len(data))
		}
	}
	c.held[0]++ // memory that fails
	next := append(bytes.Clone(s.deltas.now.Data), 2)
	_ = s.Announce(t.Context(), fleet.Policy{Weights: sha256.Sum256(next), Data: next})
	if got, err := c.Fetch(t.Context(), sha256.Sum256(next), len(next)); err != nil || !bytes.Equal(got, next) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestDeltaWaits: a worker that asks for a difference while it is made gets it once it is there,
// and is sent away when the policy has other weights by then.
func TestDeltaWaits(t *testing.T) {
	t.Parallel()
	s, c := greeted(t)
	c.held, c.heldID = make([]byte, 1000), sha256.Sum256(make([]byte, 1000))
	after := append(make([]byte, 999), 1)
	now := fleet.Policy{Weights: sha256.Sum256(after), Data: after}
	for _, then := range []struct {
		name string
		do   func()
		want error
	}{
		{"it is made", func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			d := delta.Encode(c.held, after)
			s.deltas.done, s.deltas.id, s.deltas.data = true, sha256.Sum256(d), d
			s.deltas.answer()
		}, nil},
		{"the policy has other weights", func() { _ = s.Announce(t.Context(), fleet.Policy{Weights: fleet.Digest{1}}) }, fleet.ErrGone},
	} {
		s.mu.Lock() // as if somebody had asked already
		s.deltas = deltas{before: fleet.Policy{Weights: c.heldID, Data: c.held}, now: now, waiting: map[string]*nats.Msg{}}
		s.mu.Unlock()
		answer := make(chan error)
		go func() {
			data, err := c.fetchDelta(t.Context(), now.Weights, len(after))
			if err == nil && !bytes.Equal(data, after) {
				err = fmt.Errorf("%q", data)
			}
			answer <- err
		}()
		for asked := false; !asked; {
			s.mu.Lock()
			asked = len(s.deltas.waiting) == 1
			s.mu.Unlock()
			runtime.Gosched()
		}
		then.do()
		if err := <-answer; !errors.Is(err, then.want) {
			t.Errorf("%s: %v, want %v", then.name, err, then.want)
		}
	}
}

// TestNotWorth: a worker that waited for a difference that is no shorter than the weights does not
// wait for the next one.
func TestNotWorth(t *testing.T) {
	t.Parallel()
	s, c := greeted(t)
	rng := rand.New(rand.NewPCG(1, 0))
	for n, asks := range []bool{false, true, false, false} { // there is none to the first
		data := make([]byte, 1000)
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		want := fleet.Digest(sha256.Sum256(data))
		if err := s.Announce(t.Context(), fleet.Policy{Weights: want, Data: data}); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			c.whole = 1 // ns, whatever the machine does meanwhile: what it waits for the difference is longer
		}
		if got, err := c.Fetch(t.Context(), want, len(data)); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d: %d bytes, %v", n, len(got), err)
		}
		if asked := s.deltas.waiting != nil; asked != asks {
			t.Errorf("%d: a difference is asked for: %t", n, asked)
		}
	}
}

// TestQuickerWay: weights come the way that took less time, and each sixteenth the other way.
func TestQuickerWay(t *testing.T) {
	t.Parallel()
	s, c := greeted(t)
	for n, way := range []struct {
		changed, whole time.Duration
		fetched        int
		asks           bool
	}{{0, 0, 0, true}, {0, 9, 1, true}, {3, 9, 2, true}, {3, 9, tryOther - 1, false}, {9, 3, 2, false}, {9, 3, tryOther - 1, true}} {
		data := bytes.Repeat([]byte{byte(n)}, 1000)
		want := fleet.Digest(sha256.Sum256(data))
		if err := s.Announce(t.Context(), fleet.Policy{Weights: want, Data: data}); err != nil {
			t.Fatal(err)
		}
		c.changed, c.whole, c.fetched = way.changed, way.whole, way.fetched
		got, err := c.Fetch(t.Context(), want, len(data))
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d: %d bytes, %v", n, len(got), err)
		}
		if asked := s.deltas.waiting != nil; asked != (way.asks && n > 0) { // of the first there is none
			t.Errorf("%d: a difference is asked for: %t", n, asked)
		}
		if took := c.whole != way.whole; took == (way.asks && n > 0) {
			t.Errorf("%d: all bytes took %v, before %v", n, c.whole, way.whole)
		}
	}
}
