// Package doctor certifies a device: that its kernels compute what they are
// defined to, and that a run on it is what a run has to be. It also checks the
// receipt of a finished run.
//
//	facts      device, driver, tier, numerics version
//	kernels    every kernel against the float64 oracle, within computed bounds
//	losses     the host's arithmetic against values of another trainer
//	gradients  every tensor of a small model against finite differences
//	bits       gradients, sampler, trainer and scorer agree to the bit, however work is cut,
//	           also with weights, and with keys and values, in bf16
//	runs       at learning rate 0 nothing moves; two equal runs write equal bytes
//
// A check is a row of the [Report]. Where a kernel is wrong, what is built on it
// is left out: it would only say so again.
//
// [Draws] checks the completions in the logs of a run: it draws each again with the
// weights of the run's checkpoints, the recorded text being the draft (see package
// model). Logs have texts, so that is what is compared; a tokenizer with several
// readings of a text costs time and no right result.
//
// Bounds are absolute or shares of a computed error bound (package oracle); the
// unit of log-probs is nats. The runs happen in a temporary folder, which needs a
// few megabytes.
//
// In a browser (GOOS=js) [Run] does the same, in a worker; what the page copies into an
// issue is the [Report], as text or as JSON: its device is named by vendor, architecture and
// browser.
//
// One goroutine at a time, as a device; the bits check uses several by itself.
package doctor
