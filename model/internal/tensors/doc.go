// Package tensors places parameters in the memory of a device, moves them there and back, and knows
// the storages in which they may be kept.
//
//	Set ── Place ──> Region of a Chunk ── NewArena ──> a buffer for each chunk
//	 └─ Piece: which tensor of a file lies where in a region
//
// Parameters are the arenas of a model, in float32, packed, or both (storage.go). Regions are
// padded with zeros that stay zero; pieces leave the padding out. Tensors are read and written in
// bands of rows, so that the host never holds a whole matrix. Matrices (with weight decay) and
// vectors (without) lie in different chunks. Nothing here is safe for concurrent use.
package tensors
