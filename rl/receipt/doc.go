// Package receipt has the receipt of a finished run: hashes of its inputs and of its results, and
// the device and program that made them.
//
//	recipe, task and held-out problems, starting model ─┐
//	logs, checkpoints ──────────────────────────────────┼─> Receipt ── Audit ──> what differs now
//	device, driver, tier, numerics, program ────────────┘
//
// A receipt proves that files are what they were, not that a run was honest: it is not
// signed. Hashes are SHA-256 in hexadecimal. Functions are safe for concurrent use.
package receipt
