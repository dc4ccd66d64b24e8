// Package train has the stages of a run and what one step of each does.
//
//	kind         a step
//	sft          demonstrations ──> loss, gradient ──> update
//	preference   better and worse completions ──> loss, gradient ──> update
//	rl           plan ──> draw ──> ask ──> value ──> learn ──> make
//	make         plan ──> draw ──> ask ──> value ──> make
//	eval         no steps; like every stage it ends with an evaluation
//
// A step of an rl stage is five values. Each is made once, by one function:
//
//	Position ── planner ──> Plan      numbers of the stage, problems        plan.go
//	Plan ────── drawer ───> Drawn     completions, judged and paid          draw.go, tree.go, again.go, reward.go
//	Drawn ───── asker ────> Asked     replayed groups, what models say      ask.go, replay.go
//	Asked ───── learner ──> Valued    advantages, what is kept              learner.go
//	Valued ──── learner ──> Event     updates, lessons, metrics             learner.go, update.go
//
// A planner needs no device, a drawer no optimizer, and a learner samples nothing. A queue calls
// planner and drawer, and decides which drawn step is learned from next. A checkpoint keeps the
// JSON of a [Drawn].
//
// Where the policy writes its own problems (propose.go), a draw has two parts: completions that write problems, and
// completions that solve those which the task accepts. Both are groups of the step, and learned from alike.
//
// # Queues
//
// With lag = k the run draws a step k steps before it learns from it (inTurn in queue.go). Step t
// then learns from completions that the policy drew after step t-1-k; the first steps learn from
// those of the policy that the stage began with. A step is drawn completely before the weights
// change, with its refills, second chances and rewards. So no old weights are kept, and a
// checkpoint has the k open steps. Formulas that are computed before sampling use the step's own
// time; those of learning use the time when it is learned from. Workers begin with the newest step
// before the first gradient of the oldest is computed, and the queue collects their answers after
// that gradient. A step thus takes the longer of the two times and not their sum. Where a stage
// ends by max_sampled_tokens or patience, its open steps are left unused.
//
// With order = "arrival" (byArrival in arrival.go) the run asks for steps as far ahead, but step t
// learns from the first prompts_per_step groups that have arrived. They may belong to any of the
// steps t-k to t+k, and the oldest are taken first. The queue waits for the groups of step t-k, so
// that no group is learned from more than k steps after its own step. It waits for no other group
// once there are enough. A group is at most 2k steps old when it is learned from. It is paid by the
// step that learns from it; its prompt and its sampling are those of its own step.
//
// schedule.jsonl has a line for each step: which groups it took, and which weights drew them. A run
// that is given this [Schedule] has the same bytes on one machine and on many. A resumed run
// follows its own schedule as far as it goes. A run that is resumed has no weights older than its
// checkpoint, so a group that no worker has answered when a checkpoint is written is drawn by later
// weights, in every run. Where max_sampled_tokens or patience ends the stage, some groups may have arrived that
// no step learned from. The schedule does not name them, so two runs by the same schedule may
// differ in them in the last checkpoints.
//
// # Who else learns
//
// Models that learn beside the policy (beside.go) take each step in the order of their names: those that do so
// first before the advantages are computed, the others after the policy's updates and before rows are made. Each is
// a learner with a method, an optimizer and rows of its own, and one update a step. The completions that it learns
// from are those of the step, as they were drawn. Where one learns first, what workers draw is collected before,
// so that an interrupt comes before all changes or after them. A second loss of the policy is no learner of its own:
// its rows are dealt to the updates of the step, and each update adds the two gradients.
//
// # Made rows
//
// A maker (make.go) makes rows of the completions of a step, after its updates: it fills templates, and may
// have a model write a text. The event has them, and the run writes them down. [Rows] (made.go) keeps them
// as problems, and planners and stages of rows draw from it; a run that is resumed reads it from its file. So
// a row is the same whoever made or read it, and both refuse what is a held-out problem of the run or was made
// from one, holds a control token, or is too long for the stage that draws it.
//
// # Facts
//
// Formulas read facts. suppliers in facts.go has a row for each fact, with the time from which it
// is known: when the number of the step is, its problems are, its completions are, when the models
// have answered, or in each update. Planning, second chances, refills, the step's table and the
// updates all use this table. A column is made only if a formula names its fact. Tables have groups
// and completions in the order of the step. Groups may differ in size. The completions of a group
// stand together in the order of their samples, from 0. The trainer takes the groups of an update in
// a random order, and fills micro-batches in that order.
//
// # What a step returns
//
// An [Event] has everything that a step reports: metrics, wall-clock times, completions, and lines
// for people. The stage itself writes nothing; observers in package run write logs and show
// progress. A [Completion] is made once and not edited after its reward. What was learned from it is
// a [Lesson] beside it. A completion from a row of data has the reward 1 if it is the better one or a
// demonstration, and 0 if it is the worse one.
//
// # One forward pass
//
// A loss is local if the derivatives of a completion need nothing from other completions except
// constants of the update. Each batch then goes through forward pass, loss and backward pass at
// once. Any other loss needs the statistics of all completions first. In the first update of a step
// the sampler has recorded log-probs and entropies, to the bit. In later updates all batches go
// through the forward pass twice: once for the statistics, and again before their backward pass.
// The gradient has the same bits either way.
//
// old_value comes from a forward pass of the trainer when the step begins to be learned from.
// Without a lag the policy is then still the one that sampled, and the values are the bits of the
// first update.
//
// # Units and threads
//
// Log-probs and entropies are in nats, times in seconds. A stage's learning rate is per update. A
// stage belongs to one goroutine. Cancelling the context of Step ends a rollout; an update that has
// begun is finished.
//
// Package run drives stages through [Stage] and knows no kind. A new kind is a row of kinds in
// stage.go.
package train
