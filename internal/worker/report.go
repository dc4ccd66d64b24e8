package worker

import (
	"errors"
	"time"
)

// Report is what a program did in an engine.
type Report struct {
	Stdout string
	Result string // JSON: what the function returned that was called
	Failed string // how the program failed, or ""
	Broke  string // how the engine itself broke, or what was wrong before the program began, or ""

	Used time.Duration // processor time of the task
}

// Why a request has no response.
var (
	ErrTime  = errors.New("out of time")         // the task's fault
	ErrDied  = errors.New("the engine has died") // so
	ErrStart = errors.New("the engine cannot be started")
)

// EngineBytes is room for an engine that compiles code, and for Go. With a few times
// what a program may have it is a limit for what the engine's own does not count, such
// as tables of WebAssembly.
const EngineBytes = 2 << 30
