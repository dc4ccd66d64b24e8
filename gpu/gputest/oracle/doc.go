// Package oracle checks the kernels of a device against their definition in float64. Its bounds are
// computed, not found by trial.
//
// A Case is one dispatch with its data. For each output it holds a Value: the
// number in float64 and a bound on how far a device may be from it, carried
// through the computation term by term (running error analysis; Higham,
// "Accuracy and Stability of Numerical Algorithms", 2nd edition, sections 3.1
// and 3.3). The bound holds for every order of summation, with and without
// fused multiply-add, so one set of cases serves all tiers. Where a result is
// exact (copies, integers, rounding to bf16) the bound is 0.
//
// The formulas here were written from shaders/kernels.go, independently of package refdev. So there
// are two definitions, and a slip in one of them shows.
//
// # Shapes and units
//
// As in shaders/kernels.go; a slice holds one binding. Errors are absolute.
//
// # Caveats
//
// Bounds are for the worst case: a sum of n terms of mixed sign is usually off
// by a hundredth of its bound. They catch wrong formulas, lost terms, low
// precision and races, not the last digit; the tests of equal bits do that.
//
// The package does not import testing, so that a command can certify a device with it.
package oracle
