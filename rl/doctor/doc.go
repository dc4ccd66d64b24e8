// Package doctor certifies a device. It checks that the kernels compute what they are defined to,
// and that a run on the device behaves as a run must. It also checks the receipt of a finished run.
//
//	facts      device, driver, tier, numerics version
//	kernels    every kernel against the float64 oracle, within computed bounds
//	losses     the host's arithmetic against values of another trainer
//	gradients  every tensor of a small model against finite differences
//	bits       gradients, sampler, trainer and scorer agree to the bit, however work is cut,
//	           also with weights, and with keys and values, in bf16
//	runs       at learning rate 0 nothing moves; two equal runs write equal bytes
//
// A check is a row of the [Report]. If a kernel is wrong, the checks that build on it are left out:
// they would only say so again.
//
// [Draws] checks the completions in the logs of a run. It draws each again with the weights of the
// run's checkpoints and of its best model, and takes the recorded text as the draft (see package
// sample). Logs have texts, so texts are compared. A tokenizer that can read a text in several ways
// costs time but changes no result.
//
// Bounds are absolute, or shares of a computed error bound (package oracle). Log-probs are in nats.
// Runs use a temporary folder of a few megabytes.
//
// In a browser (GOOS=js) [Run] does the same, in a worker. The page can copy the [Report] into an
// issue, as text or as JSON; it names the device by vendor, architecture and browser.
//
// Call it from one goroutine at a time; the bits check uses several inside.
package doctor
