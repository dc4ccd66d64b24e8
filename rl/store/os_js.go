package store

import (
	"errors"
	"fmt"
	"io"
	"syscall/js"
)

// Lock takes a lock of the browser, which frees it when the worker or the tab ends,
// however it ends: no lock is ever stale. The tabs of a page share locks as they share
// files (https://www.w3.org/TR/web-locks/). A page that may have no locks may have no
// files that last either, so none is taken there.
func (osFS) Lock(path string) (io.Closer, error) {
	navigator := js.Global().Get("navigator")
	if !navigator.Truthy() || !navigator.Get("locks").Truthy() {
		return io.NopCloser(nil), nil
	}
	l := &webLock{freed: make(chan struct{})}
	taken := make(chan js.Value, 1)
	refused := false
	hold := l.function(func(args []js.Value) any {
		taken <- args[0] // called, it ends what held promises
		return nil
	})
	held := l.function(func(args []js.Value) any {
		if refused = args[0].IsNull(); refused {
			return nil
		}
		return js.Global().Get("Promise").New(hold)
	})
	freed := l.function(func([]js.Value) any {
		close(l.freed)
		return nil
	})
	navigator.Get("locks").Call("request", path, map[string]any{"ifAvailable": true}, held).Call("then", freed, freed)
	select {
	case l.free = <-taken:
		return l, nil
	case <-l.freed:
		l.release()
		if refused {
			return nil, fmt.Errorf("%w (another tab)", ErrLocked)
		}
		return nil, errors.New("the browser gives no lock")
	}
}

// webLock is a lock that is held until free is called.
type webLock struct {
	free      js.Value
	freed     chan struct{}
	functions []js.Func
}

func (l *webLock) function(f func(args []js.Value) any) js.Func {
	made := js.FuncOf(func(_ js.Value, args []js.Value) any { return f(args) })
	l.functions = append(l.functions, made)
	return made
}

func (l *webLock) release() {
	for _, f := range l.functions {
		f.Release()
	}
}

// Close returns when the lock can be taken again.
func (l *webLock) Close() error {
	l.free.Invoke()
	<-l.freed
	l.release()
	return nil
}
