// Package bench measures what a device reaches: matrix products beside a naive
// kernel, tokens per second of sampling and of training, and one whole step of
// reinforcement learning. An update on the completions of one prompt is measured beside
// one on the same completions computed separately. Sampling is measured beside the same with
// sums in a free order: the price of log-probs that do not depend on the batch; or, of a model
// whose matrices are not kept in float32, beside one whose are. Steps of several sizes are
// measured beside what theory makes of the first, and those that TRL was measured with beside
// its seconds, which were taken on another machine.
//
// Times are wall-clock times, but for Profile, which takes the device's own: each op runs
// alone, with a timestamp after it. What is compared is measured in turns, in the same run.
// Products and training give the best of several repetitions, since noise on a
// shared machine only adds; sampling gives medians, and the quartiles of the ratio
// over the turns, which show how much of a difference is noise. Values are for
// reading side by side within one run.
//
// # Limits
//
// A Rate says how much of a device's limits a measurement reaches. Limits are operations
// and bytes a second and seconds a dispatch; Measured takes them with the device's own
// kernels, so that a share may be above 1, and a data sheet gives those of the hardware. Of
// an op the work that it cannot do without is counted, see workOf: bytes that caches
// save twice are not. By the same limits Bench estimates how long a measurement takes, and
// leaves out what is longer than the caller wants. The work of a step is counted by rows and
// pairs of tokens, prompts once for all completions of a group, and weights as they are kept.
package bench
