// Package train has the stages of a run and what one step of each does.
//
//	kind         a step
//	sft          demonstrations ──> loss, gradient ──> update
//	preference   better and worse completions ──> loss, gradient ──> update
//	rl           plan ──> draw ──> ask ──> value ──> learn
//	eval         none: the evaluation after every stage is all there is to it
//
// A step of an rl stage is five values. Each is made once, by one function:
//
//	Position ── planner ──> Plan      numbers of the stage, problems        plan.go
//	Plan ────── drawer ───> Drawn     completions, judged and paid          draw.go, again.go, reward.go
//	Drawn ───── asker ────> Asked     replayed groups, what models say      ask.go, replay.go
//	Asked ───── learner ──> Valued    advantages, what is kept              learner.go
//	Valued ──── learner ──> Event     updates, lessons, metrics             learner.go, update.go
//
// A planner needs no device, a drawer no optimizer, and a learner samples nothing. A queue stands
// between planning and asking: it says which drawn step is learned from next. The JSON of a
// [Drawn] is what a checkpoint keeps of it.
//
// # Queues
//
// With lag = k a step is drawn k steps before it is learned from (inTurn in queue.go): step t learns
// from completions of the policy after step t-1-k, at first of the one that the stage begins with.
// What some weights draw is all drawn before they change: refills, second chances and rewards too.
// So no weights are kept, and the open steps, k of them, are in the checkpoint. Formulas of the
// time before sampling are evaluated when a step is drawn; those of its learning, when it is learned
// from. Workers begin with the newest step before the first gradient of the oldest is computed, and
// the queue collects it after that gradient, so the longer of the two counts. A stage that ends by
// max_sampled_tokens leaves open steps unused.
//
// With order = "arrival" (byArrival in arrival.go) steps are asked for as far ahead, but step t
// learns from the first prompts_per_step groups that are there of those that are asked for: of the
// steps t-k to t+k, the oldest first. It waits for the groups of step t-k, so that none comes more
// than k steps after its own step, and for no others once there are enough. At most 2k steps lie
// between the drawing of a group and its learning. Its reward is that of the step that learns from
// it; its prompt and the numbers it is drawn by are those of its own step. Which groups a step took,
// and by which weights they were drawn, is its line of schedule.jsonl. Given the [Schedule] a run is
// the same on one machine and on many, and one that is resumed follows its own as far as it got. So
// that this can be done from each checkpoint, what no worker has answered by then is drawn by later
// weights. Where max_sampled_tokens ends the stage, groups may have come that no step learned from:
// the schedule does not name them, and checkpoints shortly before the end differ in that.
//
// # Facts
//
// Formulas read facts. suppliers in facts.go has one row for each, with the time from which on it is
// known: the number of the step, its problems, its completions, what models say, each update.
// Planning, second chances, refills, the step's table and the updates all ask this table; a column is
// made if and only if a formula names the fact. Tables have groups and completions in the order of
// the step. Groups may differ in size; the completions of one stand together in the order of their
// samples, from 0 on. The trainer takes the completions of an update in a random order of its groups,
// and micro-batches in that order.
//
// # What a step returns
//
// An [Event] holds everything that is to be told about a step: metrics, wall-clock times,
// completions, lines for people. The stage tells nobody itself; observers in package run write logs
// and show progress. A [Completion] is made once and not edited after its reward; what was learned
// from it is a [Lesson] beside it. One that stands in a row of data has a reward that says whether it
// is the better one (1) or the worse one (0); of demonstrations it is 1.
//
// # One forward pass
//
// A loss is local if the derivatives of a completion need nothing of others but constants
// of the update. Then each batch goes through forward pass, loss and backward pass at once.
// Another loss needs the statistics of all completions first. In the first update of a step
// they are those that the sampler recorded, to the bit; in later ones all batches go through
// the forward pass first, and again before their backward pass. The gradient has the same
// bits in each way.
//
// Values of the time of sampling (old_value) come from a forward pass of the trainer at the
// beginning of the step, when the policy is still the one that sampled, unless there is a lag.
// They are the bits of the first update.
//
// Units: log-probs and entropies in nats; times in seconds; a stage's learning rate is per update. A
// stage belongs to one goroutine. Cancelling the context of Step ends a rollout; an update that has
// begun is finished.
//
// Package run drives stages through [Stage] and knows no kind. A new kind is a row of kinds in
// stage.go.
package train
