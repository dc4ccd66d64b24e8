// Package oracle checks the kernels of a device against their definition in
// float64, with bounds that are computed and not tried out.
//
// A Case is one dispatch with its data. For each output it holds a Value: the
// number in float64 and a bound on how far a device may be from it, carried
// through the computation term by term (running error analysis; Higham,
// "Accuracy and Stability of Numerical Algorithms", 2nd edition, sections 3.1
// and 3.3). The bound holds for every order of summation, with and without
// fused multiply-add, so one set of cases serves all tiers. Where a result is
// exact (copies, integers, rounding to bf16) the bound is 0.
//
// The formulas here are written from shaders/kernels.go, apart from package
// refdev's: two definitions that agree, and a slip in one shows.
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
// Package testing is not imported: a command may certify a device with this.
package oracle
