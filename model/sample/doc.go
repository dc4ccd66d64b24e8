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
//   - Completions that are equal so far share one row of a step, and each has a draw of its own:
//     the tree of package seq, while it grows (branch.go).
//   - A completion gets memory for its keys as it grows. If there is none left, the youngest
//     request is set back and repeated (pages.go). What was read and drawn may be kept for prompts
//     that begin alike, such as the next turn of a conversation (prefix.go).
//   - A request may guess its completions (Request.Draft). All draws of a draft are computed in one
//     pass, and a completion has the same bits with any draft. [Engine.Check] uses this to prove
//     completions right or wrong, token by token, for the time that it takes to read them
//     (draft.go).
//   - A request may receive its tokens as they are drawn, each with the most likely alternatives,
//     and those of its prompt too (ask.go). A guide says which tokens may come next.
//
// Log-probs and entropies are in nats, of the whole distribution at the temperature. Many
// goroutines may call Engine.Generate and Engine.Check. An engine shares the device with trainers:
// do not train while a Generate is in flight.
package sample
