// Package packed reads numbers and texts from bytes. Numbers are little-endian and of fixed width;
// a text is its length and its bytes. A length that the data claim never makes the reader take more
// memory than the data have. A Reader belongs to one goroutine.
package packed
