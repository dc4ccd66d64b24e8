package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// Times of an answer.
const (
	awake     = 15 * time.Second // between comments that keep proxies from closing a stream
	writeTime = 30 * time.Second // for a client to take what is written

	wholePace   = 250 * time.Millisecond // between two looks of an answer in one piece at what was drawn
	perStream   = time.Millisecond       // see streamPace
	slowestPace = 100 * time.Millisecond // people do not notice it
)

// streamPace is the time between two writings of a stream. One takes some 15 us of
// processor time, of the server, its kernel and a reader on the same machine, and the engine
// may be drawing for all streams on the same cores: so all together are written once in a
// millisecond, which takes 1.5 % of a core. A single stream is written token by token.
func (s *Server) streamPace() time.Duration {
	return min(time.Duration(s.streams.Load())*perStream, slowestPace)
}

// extend gives a client time to take what is written next.
func extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime)) // a test's recorder has none
}

// events are server-sent events: https://html.spec.whatwg.org/multipage/server-sent-events.html
// What is added is sent together.
type events struct {
	w     http.ResponseWriter
	added bytes.Buffer
}

// write adds an event; name is "" for one without.
func (e *events) write(name string, data []byte) {
	if name != "" {
		e.added.WriteString("event: " + name + "\n")
	}
	e.added.WriteString("data: ")
	e.added.Write(data)
	e.added.WriteString("\n\n")
}

// add adds an event of JSON.
func (e *events) add(name string, v any) error {
	data, err := json.Marshal(v)
	e.write(name, data)
	return err
}

// send writes what was added.
func (e *events) send() error {
	if e.added.Len() == 0 {
		return nil
	}
	extend(e.w)
	if _, err := e.w.Write(e.added.Bytes()); err != nil {
		return err
	}
	e.added.Reset()
	return http.NewResponseController(e.w).Flush()
}

const maxAdded = 64 << 10 // bytes

// streamed answers with the events that the encoder of the wire format makes.
func (s *Server) streamed(ctx context.Context, w http.ResponseWriter, t *telling, drawn *feed) *fault {
	out := &events{w: w}
	encode, err := t.q.wire.stream(t, out)
	if err != nil {
		return s.failed(ctx, err)
	}
	s.streams.Add(1)
	defer s.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	beat, late := time.NewTicker(awake), time.NewTimer(slowestPace)
	defer beat.Stop()
	defer late.Stop()
	var told []event
	for {
		select {
		case <-beat.C:
			out.added.WriteString(": awake\n\n")
		case <-late.C: // what the engine told after the last waking, of the same step too
		case <-drawn.news:
		}
		var ended bool
		var err error
		if told, ended, err = drawn.take(told); len(told) > 0 {
			late.Reset(min(2*s.streamPace(), slowestPace))
		}
		for _, e := range told {
			p, tells := t.hear(e)
			if !tells {
				continue
			}
			wrong := encode.part(p)
			if wrong == nil && out.added.Len() >= maxAdded { // to a slow reader there is much to tell
				wrong = out.send()
			}
			if wrong != nil {
				return nil // the client has gone away
			}
		}
		switch {
		case err != nil:
			encode.fail(s.failed(ctx, err))
		case ended && encode.close() != nil:
			return nil
		}
		if out.send() != nil || err != nil || ended {
			return nil
		}
	}
}
