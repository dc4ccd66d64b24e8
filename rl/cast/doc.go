// Package cast holds the models of a run, by name, and answers what a step asks of them.
//
//	recipe ──wants──▶ members, facts, heads ──▶ Plan, Open
//	                                             │
//	views of completions ──Supply(fact)──▶ duty ─┴▶ member.score ──▶ a column
//
// A member is a model. Its role says the memory it takes and how it is opened: a row of the table in
// members.go for those that every run can have, and what its table in the recipe says for the others.
//
//	member   what it is                                    there is one
//	policy   the model that is trained and draws           always
//	ref      the policy as it was when the stage began     where a formula or a reward reads "ref"
//	ema      the moving average of the policy's weights    where one reads "ema"
//	best     the best policy so far, which draws           with [stage.best]
//	NAME     of [models.NAME]: a folder with the policy's  where one reads NAME, or a stage trains it
//	         tokens, a copy of the policy, made of
//	         others by a formula (blend.go), or a new
//	         model of another shape (novice.go); or a
//	         sum of what others say (sum.go)
//
// A duty is a fact, the member that supplies it, and which quantity of the member's pass it is: a row
// of the table in duties.go, or what a member that the recipe names says: its log-prob, or its head, if
// it has one. A quantity may need a value head of whoever learns, one more output of the trainer.
//
// A pure function, wants, finds out what a recipe needs. Planning and opening follow it: a model
// that nothing reads is neither counted nor opened. Members with state are Keepers. [Cast.Follow]
// tells members that move with whoever learns of each update, [Cast.Renew] those that are made again of
// each step. A checkpoint keeps the value head in trainer/, beside the optimizer's state, so other
// programs can still open the folder as a model.
//
// Sampling, training and the passes of other models take turns in one scratch; package memory says what lies there.
// Who is asked writes activations where the policy's trainer does, one after the other, as [learn.Trainer.NewScorer]
// says; a model of a folder of another shape, and a sampler of its own, has a phase. So a model that is asked costs
// its weights; and one of a folder may leave the device outside of its phases (resident).
//
// A copy may be one of a member that learns beside the policy, with its head (average.go): it follows that one.
//
// A named copy may also learn beside the policy, in the steps of a stage that trains the policy (beside.go): by a
// trainer of its own, which writes its activations where that of the policy does. [Cast.Learner] is who learns under
// a name. A checkpoint has its optimizer's state beside its weights, in models/.
//
// A new model of a shape of its own learns by a trainer of its own too, in stages of kind sft that train it: the policy
// stays where it is, and learns nothing meanwhile.
//
// A sum of logits has no weights. A stage that trains it has the policy in its place, whose trainer and sampler add
// the logits of the other models to the policy's ([sum.trade]). A checkpoint says so in the policy's file.
//
// A model on whose distribution the filters of a stage's sampling act reads what the policy reads, in the policy's
// sampler ([Cast.FilterBy]).
//
// A stage that trains a named copy exchanges its weights with those of the policy ([Cast.Begin]):
// optimizer, sampler and workers serve whoever is trained, and the policy lies in the other's place
// meanwhile. The heads change places too: that of a copy is the trainer's value head as long as the
// copy learns. Elsewhere a head reads final hidden states on the host. In a checkpoint each file has
// the model that it is named after, whoever is trained: the folder is always the policy.
//
// No package of the training loop below this one knows package model. This one turns views of
// package rollout into the trainer's sequences, and the sampler's completions into segments.
//
// Shapes: a column has a row for each view, with an entry for each token that the
// policy wrote. Log-probs are in nats, of logits divided by the view's temperature.
//
// A Cast belongs to one goroutine. Close frees the device memory.
package cast
