// Package check has the checks that every backend makes before it records ops, copies ranges or
// takes a tier. The same mistake is the same error on every device.
//
// The contract of each kernel is its row of shaders.Kernels. Sizes and offsets are bytes; extents
// are elements. Nothing here has state, so any goroutine may call it. The table describes shapes in
// words, so a view that is too short for the parameters is not found here; the plain-Go device
// reports it when it runs.
package check
