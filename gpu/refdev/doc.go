// Package refdev is a gpu.Device in plain Go: the definition of every kernel
// and the oracle that the shaders are tested against. It is registered as
// "ref", chosen only by name, and never the fast path.
//
// A kernel is one function over [][]F, written once for float32 and float64.
// The device runs the float32 instance; the tests differentiate the float64
// instance numerically, which rounding would not allow in float32.
//
// # Arithmetic
//
// Where shaders/kernels.go states an order (matrix products, gradients of weights, attention), sums
// are chains in that order, one rounded product and one rounded addition at a time: a conversion
// around each product keeps compilers from fusing the two. Where it states none (sums over a row in
// the norms, the log-sum-exp, the gradient's norm), sums are in float64 and rounded once.
// Transcendental functions are those of package math, rounded once. Only they may differ between
// architectures.
//
// Kernels with bf16 operands unpack them, compute as the float32 kernels do, and round the results.
//
// # Shapes and units
//
// As in shaders/kernels.go. Memory is in the host's byte order.
//
// # Threads
//
// Submit spreads a kernel over GOMAXPROCS goroutines and returns when it is
// done. Each output is computed by one goroutine, in an order that does not
// depend on how many there are.
//
// # Caveats
//
// A view that is too small for its parameters is an error of Submit, not of Record. A view of size
// 0 reaches to the end of its buffer, so it is an error only if the parameters reach past the
// buffer.
package refdev
