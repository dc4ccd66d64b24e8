// Package local runs the workers of a fleet in the process of the trainer, each on a device of its
// own: several devices of one machine, or one device opened several times.
//
//	devices ── Start ──> workers, each with a copy of the policy ──> Sample
//
// The devices belong to the caller, who closes them after Close. A worker that fails ends with a
// note; the others and the trainer do its work. Sample and Close belong to the goroutine of the
// run. Memory is planned in bytes before any of it is allocated.
package local
