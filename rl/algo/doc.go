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
// No published method has code of its own here. Each is a file in presets/: formulas in
// the language of package formula, the numbers that they name, the paper, and where other
// trainers do something else. Named formulas that several share (advantages, surrogates,
// KL forms, corrections, filters) are in presets/parts/. A user replaces any of them in a
// recipe. The trainer reads some of the parts (see [Guide]):
//
//	keep       what is learned from
//	advantage  of a completion or token; A in other parts
//	loss       what is minimised, by default token_mean(weight*policy + penalty)
//	weight     a constant, whatever it reads
//	segments   where a segment of a completion begins; without it each is one segment
//
// To add a method: add a file, and compare it with reference figures in the tests, which choose
// presets, parts and numbers and write no formula.
//
// # Three times
//
// What reads no value of now is computed once a step, over all completions, before keep.
// What reads values of now (logp, entropy, uniform_logp) is computed in every update, over
// the completions that keep left in it. Metrics are formulas too and belong to a step or to
// an update in the same way.
//
// # Shapes, units, conventions
//
// Values stand in columns of a [formula.Table]: a row for each group, completion or token.
// Log-probabilities, entropies and KL are in nats, of the distribution that was sampled from
// (logits already divided by the temperature). A loss is minimised. A completion without a
// reward, or for which advantage or keep has no value, is as if keep were false.
//
// A local loss may be cut into parts in any way ([Update.PartSlopes]): the derivatives of the
// parts are those of the whole to the bit. No value depends on the order of groups.
//
// [RunFacts] are what a stage that samples supplies, [RowFacts] what one supplies that learns
// from rows; [Facts] has those besides that only
// rlzero formulas eval is given. The folders schedule (learning rate and other numbers over
// the steps) and stats (pass@k, majority, intervals) hold what is arithmetic too but no part
// of the loss.
//
// An Algorithm is safe for concurrent use; the values of a step and of an update belong to one
// goroutine.
package algo
