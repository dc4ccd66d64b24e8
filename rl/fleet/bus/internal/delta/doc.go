// Package delta encodes weights as their difference from the version before.
//
//	before, after ── Encode ──> delta ── Apply(before, ...) ──> after
//
// An update changes few bits of a number: the exponent hardly ever, the mantissa from some place
// on. So the bytes are combined with those of before by XOR, which leaves zeros where they are
// equal. The first bytes of all numbers are put together, then the second bytes and so on, so that
// the zeros stand together. zstd then compresses them.
//
// A delta is one byte, the width of the planes (1, 2 or 4), the length of after as u64
// little-endian, and one frame of zstd. Whoever has before can decode it to after, whatever the
// contents; the digest of after shows whether that is right. If before is shorter than after, zeros
// are taken for the missing bytes.
//
// Figures for policies in float32 and bf16 are in docs/why/workers.md. The method is that of arXiv
// 2602.03839.
//
// All functions are pure and may be called at the same time.
package delta
