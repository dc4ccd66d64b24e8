package bus

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rlzero/rlzero/rl/fleet"
)

// TestDeltas: a worker that has the weights before gets the difference, and one that has
// none or others the whole; where nearly all has changed both get the whole.
func TestDeltas(t *testing.T) {
	t.Parallel()
	s, key, _, _ := guarded(t)
	nc, _ := raw(t, s, key)
	c := &client{nc: nc, place: s.place, name: key.Public()}
	if _, err := c.hello(t.Context(), []byte(`{"release":"1.0","numerics":"2","drafts":true}`)); err != nil {
		t.Fatal(err)
	}
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
