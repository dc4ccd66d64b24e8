// Package cast holds the models of a run, by name, and what they are asked.
//
//	recipe ──wants──▶ members, facts, heads ──▶ Plan, Open
//	                                             │
//	views of completions ──Supply(fact)──▶ duty ─┴▶ member.score ──▶ a column
//
// A member is a model. Its role is a row of the table in members.go: the name, the memory
// it takes, how it is opened.
//
//	member  what it is                                      there is one
//	policy  the model that is trained and draws             always
//	ref     the policy as it was when the stage began       where a formula or a reward reads "ref"
//	ema     the moving average of the policy's weights      where one reads "ema"
//
// A duty is a row of the table in duties.go: a fact, the member that is asked for it, and
// which quantity of its pass the fact is. A quantity may need a value head, which is one
// more output of a member (today of the policy alone). A further fact of a model that is
// there is one duty. A second reference is a row in each table; its row says how its memory
// is counted and which file of a checkpoint it has, today one of each for a whole run.
//
// A pure function, wants, finds out what a recipe needs. Planning and opening follow it:
// a model that nothing reads is neither counted nor opened. Members that have state are
// Keepers, and those that move with the policy hear of each update by [Cast.Follow].
// Checkpoints have a value head in trainer/, beside the optimizer's state, so a checkpoint
// is still a folder that other programs open.
//
// The package is the lowest that knows package model: it turns views of package
// rollout into the trainer's sequences, and the sampler's completions into segments.
//
// Shapes: a column has a row for each view, with an entry for each token that the
// policy wrote. Log-probs are in nats, of logits divided by the view's temperature.
//
// A Cast belongs to one goroutine. Close frees the device memory.
package cast
