// Package bench measures what a device reaches: matrix products beside a naive kernel, tokens per
// second of sampling and of training, and one whole step of reinforcement learning.
//
// Each is measured next to something that it can be compared with. An update on the completions of
// one prompt stands next to one on the same completions computed separately. Sampling stands next
// to sampling with sums in a free order, which shows the price of log-probs that do not depend on
// the batch; with a model whose matrices are not float32, next to one with float32 matrices. Steps
// of several sizes stand next to what theory predicts from the first, and the steps that TRL was
// measured with next to its seconds, which were taken on another machine.
//
// Times are wall-clock times, except in Profile, which takes the device's own: each op runs alone,
// with a timestamp after it. Things that are compared are measured in turns, in the same run.
// Products and training give the best of several repetitions, since noise on a shared machine only
// adds, and so do answers of tools and worlds. Sampling gives medians, and the quartiles of the ratio over the turns, which show how much
// of a difference is noise. Compare values only within one run.
//
// # Limits
//
// A Rate says how much of a device's limits a measurement reaches. Limits are operations a second,
// bytes a second and seconds a dispatch. Measured takes them with the device's own kernels, so a
// share may be above 1; a data sheet gives those of the hardware. workOf counts the work that an op
// cannot avoid; it does not count bytes that a cache keeps for a second use. Bench also uses the
// limits to estimate how long a measurement takes, and leaves out those that are longer than the
// caller wants. The work of a step is counted by rows and pairs of tokens, with each prompt once
// for all completions of its group, and weights in the storage that they are kept in.
package bench
