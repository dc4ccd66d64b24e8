// Package delta sends weights as their difference from those of the version before.
//
//	before, after ── Encode ──> delta ── Apply(before, ...) ──> after
//
// An update changes few bits of a number: the exponent hardly ever, the mantissa from
// some place on. So the bytes are combined by XOR with those of before, which leaves
// zeros where they are equal; the first bytes of all numbers are put together, then the
// second and so on, so that the zeros stand together; and zstd takes them away.
//
// A delta is one byte, the width of the planes (1, 2 or 4), the length of after as u64
// little-endian, and one frame of zstd. It is an encoding of after for whoever has
// before, of any content: what it means is checked by the digest of after. Where the
// lengths differ, what before has too little counts as zeros.
//
// Figures for policies in float32 and bf16 stand in docs/why/workers.md. The way is that of
// others: arXiv 2602.03839.
//
// All functions are pure and may be called at the same time.
package delta
