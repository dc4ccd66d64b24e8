// Package bench measures what a device reaches: matrix products against a naive
// kernel in the same run, tokens per second of sampling, beside the same with sums
// in a free order (the price of batch invariance), and of training, and one whole
// reinforcement learning step. Every figure is the best of several
// repetitions, in wall time, because machines are shared and noise only adds;
// what is compared is measured in turns. Values are for reading side by side
// within one run.
package bench
