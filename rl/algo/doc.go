// Package algo is the arithmetic of reinforcement learning: rewards in, advantages
// out; log-probabilities in, a loss and its derivatives out. It knows nothing of
// devices, models or text.
//
//	Method: numbers and formulas, a preset with changes
//	   │ Compile over the facts that there are
//	   v
//	Algorithm ── Cut(table) ──> the table with the method's segments
//	          ── Step(table) ──> StepValues: advantage, keep, metrics of the step
//	                                 │ Update(groups)
//	                                 v
//	                             Update ── Loss ──> loss, derivatives by facts of now
//	                                    └─ Metrics
//
// # A method is text
//
// No published method has code of its own here. Each is a file in presets/: formulas in the
// language of package formula, the numbers that they name, the paper, and where other trainers do
// something else. Named formulas that several share (advantages, surrogates, KL forms, corrections,
// filters) are in presets/parts/. A recipe may replace any of them. The trainer reads some of the
// parts (see [Guide]):
//
//	keep       what is learned from
//	advantage  of a completion or token; A in other parts
//	loss       what is minimised, by default token_mean(weight*policy + penalty)
//	weight     a constant, whatever it reads
//	segments   where a segment of a completion begins; without it each is one segment
//
// To add a method, add a file, and compare it with reference figures in the tests. Tests choose
// presets, parts and numbers; they write no formula.
//
// # Once a step, once an update
//
// Values of now (logp, entropy, uniform_logp, value) change with the weights. A part that reads
// none of them and names no update (update_mean) is computed once a step, over all completions,
// before keep. Another one is computed in every update, over the completions that keep left in it.
// A metric is a formula too, and belongs to a step or to an update by the same rule.
//
// # Shapes, units, conventions
//
// Values stand in columns of a [formula.Table]: a row for each group, completion or token.
// Log-probabilities, entropies and KL are in nats, of the distribution that was sampled from
// (logits already divided by the temperature). A loss is minimised. A completion without a reward,
// or for which advantage or keep has no value, is treated as if keep were false.
//
// A local loss may be cut into parts in any way ([Update.PartSlopes]): the derivatives of the
// parts are those of the whole to the bit. No value depends on the order of groups.
//
// [RunFacts] are the facts of a stage that samples, [RowFacts] those of a stage that learns from
// rows. [Facts] also has those that only "rlzero formulas eval" is given. Schedules of the learning
// rate are in rl/recipe/internal/schedule; pass@k, majority votes and intervals are in
// internal/stats.
//
// An Algorithm is safe for concurrent use; the values of a step and of an update belong to one
// goroutine.
package algo
