// Package check is what every backend asks of the ops it is given before it
// records them, and of the ranges it is to copy: the same mistakes are the same
// errors on every device. So is a tier that it does not have.
//
// The contract of each kernel is its row of shaders.Kernels. Sizes and offsets
// are bytes; extents are elements. Nothing here has state, so any goroutine may
// call it. A view that is shorter than the parameters need is not seen here,
// because shapes are prose in the table; the plain-Go device reports it when it
// runs.
package check
