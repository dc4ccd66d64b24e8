// Package sample draws completions from a model.
//
//	Request ─ admit ─> waiting ─> active ─┬─ step: forward, draw ─┬─> Completions
//	                     ^                └───────────────────────┘
//	                     └─ set back where the cache is full
//
// An engine's requests advance together, one step at a time, and join and leave it between
// steps. A completion is a function of the model, the prompt and its random numbers alone: no
// bit of it depends on what else is in flight.
//
//   - Completions with equal tokens so far are one row of a step, with a draw for each: the
//     tree of package seq while it grows (branch.go).
//   - A completion gets memory for its keys as it grows; where there is none the youngest
//     request is set back and repeated (pages.go). Pages of prompts may be kept for others
//     that begin alike (prefix.go).
//   - A request may say what its completions are expected to be (Request.Draft). All draws of
//     a draft are computed in one pass, and the completion has the same bits with any draft.
//     [Engine.Check] uses this to prove completions right or wrong, token by token, at the
//     price of reading them (draft.go).
//   - A request may be told its tokens as they come, with the most likely ones beside them, and
//     those of its prompt (ask.go). A guide says which tokens may come next.
//
// Log-probs and entropies are in nats, of the whole distribution at the temperature.
// Engine.Generate and Engine.Check may be called by many goroutines. An engine shares the device
// with trainers: do not train while a Generate is in flight.
package sample
