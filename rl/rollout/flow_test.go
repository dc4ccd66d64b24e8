package rollout

import (
	"testing"
	"testing/synctest"
)

// TestFirstDraw: a player that asks before the next one has begun waits for it, so that the first
// draws of all are one call of the sampler on every machine.
func TestFirstDraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked [][]Request
		f := newFlow(t.Context(), says{&asked})
		for i := range 2 {
			f.play(func() error {
				_, err := f.draw(i, Request{N: 1, Params: Params{MaxTokens: 8}})
				return err
			})
			synctest.Wait() // it asks
		}
		if err := f.wait(); err != nil || len(asked) != 1 || len(asked[0]) != 2 {
			t.Errorf("%v: requests of %v", err, asked)
		}
	})
}
