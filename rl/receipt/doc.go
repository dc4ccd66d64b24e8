// Package receipt has the receipt of a finished run: hashes of what it was made of and
// of what it made, and the device and program that made it.
//
//	recipe, task and held-out problems, starting model ─┐
//	logs, checkpoints ──────────────────────────────────┼─> Receipt ── Audit ──> what differs now
//	device, driver, tier, numerics, program ────────────┘
//
// A receipt proves that files are what they were, not that a run was honest: it is not
// signed. Hashes are SHA-256 in hexadecimal. Functions are safe for concurrent use.
package receipt
