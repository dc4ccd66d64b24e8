//go:build (linux || darwin || windows) && (amd64 || arm64)

package vk

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// invoke calls the C function fn. Pointers must be converted to uintptr in its
// argument list and nowhere earlier: the directive then keeps them valid.
//
//go:uintptrescapes
func invoke(fn uintptr, args ...uintptr) Result {
	result, _, _ := purego.SyscallN(fn, args...)
	return Result(int32(result))
}

// pinned returns the address of v for use inside a structure. It stays valid
// until pin is released.
func pinned[T any](pin *runtime.Pinner, v *T) unsafe.Pointer {
	pin.Pin(v)
	return unsafe.Pointer(v)
}

// pinnedSlice is pinned for the elements of s; nil if there are none.
func pinnedSlice[T any](pin *runtime.Pinner, s []T) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	return pinned(pin, &s[0])
}

// pinnedStrings is an array of C strings.
func pinnedStrings(pin *runtime.Pinner, list []string) unsafe.Pointer {
	pointers := make([]unsafe.Pointer, len(list))
	for i, s := range list {
		pointers[i] = pinnedSlice(pin, append([]byte(s), 0))
	}
	return pinnedSlice(pin, pointers)
}

// goString reads a C string out of a fixed array.
func goString(chars []byte) string {
	for i, c := range chars {
		if c == 0 {
			return string(chars[:i])
		}
	}
	return string(chars)
}

// proc is a function pointer to look up by name.
type proc struct {
	pointer *uintptr
	name    string
}
