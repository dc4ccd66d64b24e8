package wgpu

import "syscall/js"

// await waits for a promise without holding up the browser's event loop: the goroutine
// sleeps. It returns what the promise was rejected with as a JavaScript error, and ok
// false if gone was closed first; gone may be nil.
func await(promise js.Value, gone <-chan struct{}) (value js.Value, ok bool, err error) {
	type outcome struct {
		value js.Value
		err   error
	}
	settled := make(chan outcome, 1)
	fulfilled := js.FuncOf(func(_ js.Value, args []js.Value) any {
		settled <- outcome{value: args[0]}
		return nil
	})
	rejected := js.FuncOf(func(_ js.Value, args []js.Value) any {
		settled <- outcome{err: js.Error{Value: args[0]}}
		return nil
	})
	promise.Call("then", fulfilled, rejected)
	select {
	case o := <-settled:
		fulfilled.Release()
		rejected.Release()
		return o.value, true, o.err
	case <-gone: // the two functions stay: the promise may still call one
		return js.Undefined(), false, nil
	}
}

// guard turns what JavaScript throws into an error.
func guard(f func()) (err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			e, ok := thrown.(js.Error)
			if !ok {
				panic(thrown)
			}
			err = invalid(e)
		}
	}()
	f()
	return nil
}

// invalid is an exception as an error of this package.
func invalid(err error) *Error {
	if e, ok := err.(js.Error); ok {
		if text := e.Value.Get("message"); text.Type() == js.TypeString {
			return &Error{Invalid, text.String()}
		}
	}
	return &Error{Invalid, err.Error()}
}

// What becomes an object and an array of JavaScript.
type (
	object = map[string]any
	array  = []any
)
