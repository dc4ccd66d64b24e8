package natsd

import (
	"bytes"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
)

// sink keeps what is written.
type sink struct {
	net.Conn
	got bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) { return s.got.Write(p) }

// TestOutbox: clients who are sent the same parts, of any lengths and with room behind them, each
// get what was added for them, whether it is written at once or long after. No part is changed.
func TestOutbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 0))
		var boxes [3]*outbox
		var sinks [3]*sink
		var wants [3]bytes.Buffer
		for i := range boxes {
			near, far := net.Pipe()
			defer far.Close()
			sinks[i] = &sink{Conn: near}
			boxes[i] = newOutbox(near, false, usual)
		}
		write := func(i int) { _ = boxes[i].write(sinks[i]) }
		go write(0) // the others write at the end
		for round := range 50 {
			for range rng.IntN(5) {
				part := make([]byte, rng.IntN(2*chunkBytes), 3*chunkBytes)
				for i := range part {
					part[i] = byte(rng.Uint32())
				}
				for i, o := range boxes {
					own := []byte{byte(i), byte(round)}
					o.add(part, own)
					wants[i].Write(part)
					wants[i].Write(own)
				}
			}
			synctest.Wait()
		}
		for i, o := range boxes {
			o.end("")
			if i > 0 {
				write(i)
			}
		}
		synctest.Wait()
		for i := range boxes {
			if !bytes.Equal(sinks[i].got.Bytes(), wants[i].Bytes()) {
				t.Errorf("client %d got other bytes than were sent", i)
			}
		}
	})
}
