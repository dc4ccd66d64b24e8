package natsd

import (
	"net"
	"sync"
	"time"
)

// outbox is what waits to be written to a client.
type outbox struct {
	conn   net.Conn
	inside bool // publishers wait for this client
	bounds bounds

	mu      sync.Mutex
	more    sync.Cond // for the writer: something waits, or the end has come
	room    sync.Cond // for publishers
	waiting net.Buffers
	size    int    // bytes of waiting
	chunk   bool   // waiting begins with a chunk, which is this outbox's own
	spare   []byte // a chunk that was written
	ended   bool   // what waits is still written, and nothing after it
}

// chunkBytes is the length up to which parts are copied and joined.
const chunkBytes = 16 << 10

func newOutbox(conn net.Conn, inside bool, b bounds) *outbox {
	o := &outbox{conn: conn, inside: inside, bounds: b}
	o.more.L, o.room.L = &o.mu, &o.mu
	return o
}

// add has parts written one after another. Nobody may change a part that is longer than a chunk.
// It returns false if the client is too slow to be sent more.
func (o *outbox) add(parts ...[]byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.inside && o.size > o.bounds.pending && !o.ended {
		o.room.Wait()
	}
	if o.ended {
		return true // it is told no more
	}
	if o.size > o.bounds.pending {
		return false
	}
	for _, p := range parts {
		o.put(p)
	}
	return true
}

// put appends a part. o.mu is held.
func (o *outbox) put(part []byte) {
	if o.size == 0 {
		o.more.Signal()
	}
	o.size += len(part)
	if len(part) > chunkBytes {
		o.waiting = append(o.waiting, part[:len(part):len(part)]) // nothing is appended to it
		return
	}
	last := len(o.waiting) - 1
	if last < 0 || cap(o.waiting[last])-len(o.waiting[last]) < len(part) {
		chunk := o.spare
		if o.spare = nil; chunk == nil {
			chunk = make([]byte, 0, chunkBytes)
		}
		o.waiting = append(o.waiting, chunk)
		last++
		o.chunk = o.chunk || last == 0
	}
	o.waiting[last] = append(o.waiting[last], part...)
}

// end lets the client have what waits, and a last line, and all of it be over soon: reading from
// the connection too.
func (o *outbox) end(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	if line != "" {
		o.put([]byte(line))
	}
	o.ended = true
	_ = o.conn.SetDeadline(time.Now().Add(o.bounds.farewell)) // of a connection that was closed it means nothing
	o.more.Signal()
	o.room.Broadcast()
}

// over says whether the end has come.
func (o *outbox) over() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended
}

// awake lets reading wait for a while, unless the end has come.
func (o *outbox) awake(wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		_ = o.conn.SetReadDeadline(time.Now().Add(wait))
	}
}

// write writes to a connection until the end has come and nothing waits, or an error comes.
func (o *outbox) write(to net.Conn) error {
	var free net.Buffers // a list that was written
	for {
		o.mu.Lock()
		for o.size == 0 && !o.ended {
			o.more.Wait()
		}
		if o.size == 0 {
			o.mu.Unlock()
			return nil
		}
		list, size, own := o.waiting, o.size, o.chunk
		o.waiting, o.size, o.chunk = free[:0], 0, false
		if !o.ended && !o.inside {
			_ = o.conn.SetWriteDeadline(time.Now().Add(o.bounds.wait * time.Duration(1+size>>20)))
		}
		o.room.Broadcast()
		o.mu.Unlock()
		first, rest := list[0], list
		if _, err := rest.WriteTo(to); err != nil { // it clears the list
			return err
		}
		free = list
		if own {
			o.mu.Lock()
			o.spare = first[:0]
			o.mu.Unlock()
		}
	}
}
