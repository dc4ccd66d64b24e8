// Package train has the stages of a run and what one step of each does.
//
//	kind   a step
//	sft    demonstrations ──> loss, gradient ──> update
//	rl     problems ── rollout ──> reward ──> advantage ──> updates
//	eval   none: the evaluation after every stage is all there is to it
//
// Package run drives stages through [Stage] and knows no kind. A new kind is a row of
// kinds in stage.go.
//
// # What a step returns
//
// An [Event] holds everything that is to be told about a step: metrics, wall-clock times,
// completions, lines for people. The stage tells nobody itself; observers in package
// run write logs and show progress.
//
// A [Completion] is one record from sampling to log line: the path of its group, its
// reward, its advantage, and the facts that the loss reads. Its reward is the number
// that is trained on. Where the KL to a reference is a part of the reward, the number
// that is logged has it too.
//
// # One forward pass
//
// A loss is local if the derivatives of a sequence need nothing of other sequences but
// counts that are known in advance. Then each batch goes through forward pass, loss and
// backward pass at once. Otherwise all batches go through the forward pass first, and
// again before their backward pass. The gradient has the same bits either way.
//
// Units: log-probs and entropies in nats; times in seconds; a stage's learning rate is
// per update. A stage belongs to one goroutine. Cancelling the context of Step ends a
// rollout; an update that has begun is finished.
package train
