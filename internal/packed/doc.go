// Package packed reads numbers and texts that others packed into bytes, one after the
// other: little-endian and of fixed width, a text as its length and its bytes. No length
// that the data claim makes it take more memory than the data have. A Reader belongs to
// one goroutine.
package packed
