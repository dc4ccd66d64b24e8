//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// span is a part of a buffer that an op reads or writes: bytes low to high-1.
type span struct {
	buffer    *buffer
	low, high int
	write     bool
	texel     int // words of its texels; 0: it is a storage buffer
}

// conflicts: the two cannot be in either order, nor at once.
func (s span) conflicts(o span) bool {
	return s.buffer == o.buffer && s.low < o.high && o.low < s.high && (s.write || o.write)
}

// spanOf is what a kernel that accesses a view of this device so touches.
func spanOf(v gpu.View, access shaders.Access) span {
	s := span{buffer: v.Buffer.(*buffer), low: v.Offset, high: v.Offset + v.Size, write: access != shaders.Read}
	if v.Size == 0 {
		s.high = s.buffer.size
	}
	return s
}

// hazards holds what the ops since the last barrier touch.
type hazards map[*buffer][]span

// add notes the spans of the next op and reports whether it needs a barrier
// before it.
func (h hazards) add(spans []span) (barrier bool) {
	for _, s := range spans {
		for _, earlier := range h[s.buffer] {
			if s.conflicts(earlier) {
				barrier = true
			}
		}
	}
	if barrier {
		clear(h)
	}
	for _, s := range spans {
		h[s.buffer] = append(h[s.buffer], s)
	}
	return barrier
}
