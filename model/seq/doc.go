// Package seq has sequences of tokens, the statistics that are computed for them, and how they are
// packed into the rows of a batch. It knows no device.
//
//	Sequence ─ Pack ─> Batch ── a pass over its rows ──> Stats of each sequence
//
// # Groups
//
// Sequences of a group, such as the completions of one prompt, share the tokens that they have in
// common at their beginnings. A batch holds the nodes of a tree for each group, in depth-first
// order:
//
//	prompt ─┬─ completion 1            rows: prompt, completion 1, what 2 and 3 have
//	        └──┬─ completion 2         in common, the rest of 2, the rest of 3
//	           └─ completion 3
//
// A row's position is its depth, and its keys are the rows of its path, from a list. So it has the
// numbers that it would have in a sequence of its own, and log-probs keep their bits. A row's
// gradient is a sum over all rows that follow it, in their order, so a group's gradient depends on
// the group but not on its batch. Batches are cut between groups. A group that is too large for one
// batch is cut between its sequences, and its gradient is then added up in another order.
//
// T counts rows (tokens of all sequences, packed one after the other, no padding between
// them), R those whose next token is predicted. Log-probs and entropies are in nats, of logits
// divided by the temperature. Functions are pure and safe for concurrent use.
package seq
