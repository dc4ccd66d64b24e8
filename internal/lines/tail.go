package lines

import "sync"

// Tail keeps the last bytes that were written to it, such as those of a log. It is safe for concurrent use.
type Tail struct {
	mu    sync.Mutex
	bytes []byte
}

const maxTailBytes = 2048

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes = append(t.bytes, p[max(0, len(p)-maxTailBytes):]...)
	t.bytes = t.bytes[max(0, len(t.bytes)-maxTailBytes):]
	return len(p), nil
}

// String is what it keeps.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.bytes)
}
