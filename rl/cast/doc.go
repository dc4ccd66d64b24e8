// Package cast holds the models of a run, by name, and answers what a step asks of them.
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
// A duty is a row of the table in duties.go: a fact, the member that supplies it, and which
// quantity of the member's pass it is. A quantity may need a value head, one more output of a
// member; only the policy has one so far. A further fact of an existing model is one more duty. A
// second reference is a row in each table. Its row in members.go says how its memory is counted and
// which file of a checkpoint it has; so far there is one of each for a whole run.
//
// A pure function, wants, finds out what a recipe needs. Planning and opening follow it: a model
// that nothing reads is neither counted nor opened. Members with state are Keepers. [Cast.Follow]
// tells members that move with the policy of each update. A checkpoint keeps the value head in
// trainer/, beside the optimizer's state, so other programs can still open the folder as a model.
//
// No package of the training loop below this one knows package model. This one turns views of
// package rollout into the trainer's sequences, and the sampler's completions into segments.
//
// Shapes: a column has a row for each view, with an entry for each token that the
// policy wrote. Log-probs are in nats, of logits divided by the view's temperature.
//
// A Cast belongs to one goroutine. Close frees the device memory.
package cast
