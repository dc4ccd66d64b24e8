// Package algo is the arithmetic of reinforcement learning: rewards in,
// advantages out; log-probabilities in, a loss and its derivatives out. It is
// plain float64 code that knows nothing of devices, models or text.
//
//	rewards, groups ──Advantages──> advantage, keep
//	                                    │
//	logprobs, masks ────────────────> Batch ──Loss──> Result{Loss, DLogprob, DEntropy, Metrics}
//
// # A recipe is a composition
//
// No published method has code of its own here. Each is a [Config]: one choice
// for every part below, and [Preset] holds the well-known ones.
//
//	advantage   estimator × sign weights × whitening × filters     advantage.go
//	ratio       token, sequence mean, sequence sum, ...            ratio.go
//	surrogate   clip, reinforce, cispo, sapo, ...                  surrogate.go
//	weights     sampler mismatch, off-policy mask, entropy mask    weights.go
//	KL          k1, k2, k3, abs, each straight-through or not      kl.go
//	normalizer  what the sum over tokens is divided by             normalize.go
//
// Per token t of sequence i, with everything in brackets held constant,
//
//	loss = Σ_i Σ_t norm_i · ( [weight_it] · surrogate_it + kl_coef · kl_it ) − entropy_coef · mean entropy
//
// To add a method: find the part that is new, add one small function there and
// its name to the table in config.go.
//
// # Shapes, units, conventions
//
// Slices are [sequence] or [sequence][token]; rows may differ in length.
// Log-probabilities, entropies and KL are in nats, of the distribution that
// was sampled from (logits already divided by the temperature). Tokens whose
// loss mask is false are never read. A loss is minimised.
//
// A global batch may be cut into micro-batches in any way: with [Global] set
// to the totals of the whole batch, losses and derivatives of the pieces add
// up to those of the whole (normalize = "micro_token_mean" excepted, whose
// definition depends on the cut). [Metrics] add up too.
//
// Where published trainers mean different things by one name, the comment at
// the part says which meaning it has; the reference figures of several
// trainers are compared in the tests.
//
// The folders schedule (learning rate and other numbers over the steps) and
// stats (pass@k, majority, intervals) hold what is arithmetic too but no part
// of the loss.
//
// Everything is a pure function of its arguments and safe for concurrent use.
package algo
