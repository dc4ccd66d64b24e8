package worker

import (
	"fmt"
	"time"
)

// A browser starts no processes: a page has neither children nor what starts them, which would make it larger on the
// way.

// Register does nothing.
func Register[T any](string, func(T) Report) {}

// LimitMemory does nothing.
func LimitMemory(int) {}

// Guard calls nothing.
func Guard(time.Duration, func()) (done func() (over bool)) { return func() bool { return false } }

// Pool has no children.
type Pool struct{}

// NewPool is empty.
func NewPool(string) *Pool { return &Pool{} }

// Do is ErrStart.
func (*Pool) Do(any, time.Duration) (Report, error) {
	return Report{}, fmt.Errorf("%w: a browser starts no processes", ErrStart)
}
