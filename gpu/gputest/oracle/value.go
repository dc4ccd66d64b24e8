package oracle

import "math"

// Value is a number and a bound on the absolute error with which a device may
// know it.
type Value struct{ X, Err float64 }

const (
	// unit is the unit roundoff of float32.
	unit = 1.0 / (1 << 24)
	// ulp bounds a unit in the last place, relative to the number.
	ulp = 2 * unit
	// tiny is the smallest normal float32. Devices may flush smaller results
	// to zero (Vulkan specification, "Precision and Operation of SPIR-V
	// Instructions"), so each operation may be off by it.
	tiny = 0x1p-126
)

// What the built-in functions may be off by, from the table "Precision of
// GLSL.std.450 Instructions" of the Vulkan specification, which WGSL repeats.
const (
	divUlp   = 2.5
	rsqrtUlp = 2
	expUlp   = 3 // + 2*|x|
	logUlp   = 3
	// logAbs is 2^-21 by the specification, between 0.5 and 2. llvmpipe's
	// polynomial is off by 6.5e-7 near 1 and takes the same polynomial for the
	// mantissa of every x.
	logAbs = 0x1p-20
)

// Tolerance is the one rule behind all bounds: the error of n roundings spread
// over terms whose absolute values sum to abs, gamma(n)*abs of Higham (3.4).
func Tolerance(n int, abs float64) float64 {
	nu := float64(n) * unit
	return nu/(1-nu)*abs + float64(n)*tiny
}

// Exact is a number that the device gets as it is.
func Exact(x float32) Value { return Value{X: float64(x)} }

// Any accepts everything: an element that the contract leaves open.
func Any() Value { return Value{Err: math.Inf(1)} }

// abs is the largest magnitude that the device may have in its hands.
func (v Value) abs() float64 { return math.Abs(v.X) + v.Err }

// rounded is x with the error of its operands and of n roundings of itself.
func rounded(x, inherited float64, n int) Value {
	return Value{x, inherited + Tolerance(n, math.Abs(x)+inherited)}
}

// Add is a+b.
func Add(a, b Value) Value { return rounded(a.X+b.X, a.Err+b.Err, 1) }

// Sub is a-b.
func Sub(a, b Value) Value { return rounded(a.X-b.X, a.Err+b.Err, 1) }

// neg is -a.
func neg(a Value) Value { return Value{-a.X, a.Err} }

// Mul is a*b.
func Mul(a, b Value) Value {
	return rounded(a.X*b.X, math.Abs(a.X)*b.Err+a.Err*b.abs(), 1)
}

// Div is a/b.
func Div(a, b Value) Value {
	x := a.X / b.X
	low := math.Abs(b.X) - b.Err
	if low <= 0 {
		return Any()
	}
	inherited := (a.Err + math.Abs(x)*b.Err) / low
	return Value{x, inherited + divUlp*ulp*(math.Abs(x)+inherited) + tiny}
}

// Sum is the sum of terms in any order.
func Sum(terms []Value) Value {
	var x, abs, inherited float64
	for _, t := range terms {
		x += t.X
		abs += t.abs()
		inherited += t.Err
	}
	return Value{x, inherited + Tolerance(len(terms), abs)}
}

// Dot is the sum of a[i]*b[i] in any order, products rounded or fused.
func Dot(a, b []Value) Value {
	var x, abs, inherited float64
	for i, v := range a {
		w := b[i]
		x += v.X * w.X
		abs += v.abs() * w.abs()
		inherited += math.Abs(v.X)*w.Err + v.Err*w.abs()
	}
	return Value{x, inherited + Tolerance(len(a)+1, abs)}
}

// Exp is e^a.
func Exp(a Value) Value {
	x := math.Exp(a.X)
	inherited := x * math.Expm1(a.Err)
	return Value{x, inherited + (expUlp+2*a.abs())*ulp*(x+inherited) + tiny}
}

// Log is the natural logarithm of a positive number.
func Log(a Value) Value {
	x := math.Log(a.X)
	low := a.X - a.Err
	if low <= 0 {
		return Any()
	}
	inherited := a.Err / low
	return Value{x, inherited + logUlp*ulp*(math.Abs(x)+inherited) + logAbs}
}

// RSqrt is 1/sqrt(a), by itself or as a division by a square root.
func RSqrt(a Value) Value {
	x := 1 / math.Sqrt(a.X)
	low := a.X - a.Err
	if low <= 0 {
		return Any()
	}
	inherited := x * a.Err / (2 * low)
	return Value{x, inherited + (rsqrtUlp+divUlp)*ulp*(x+inherited) + tiny}
}

// Sqrt is the square root: by the specification as exact as 1/inverseSqrt.
func Sqrt(a Value) Value {
	x := math.Sqrt(a.X)
	// |sqrt(a+e) - sqrt(a)| is at most e/sqrt(a), and at most sqrt(e).
	inherited := math.Sqrt(a.Err)
	if a.X > 0 {
		inherited = min(inherited, a.Err/x)
	}
	return Value{x, inherited + (rsqrtUlp+divUlp)*ulp*(x+inherited) + tiny}
}

// values turns device data into exact Values.
func values(x []float32) []Value {
	out := make([]Value, len(x))
	for i, v := range x {
		out[i] = Exact(v)
	}
	return out
}

// column takes every stride-th Value of x, n of them.
func column(x []Value, stride, n int) []Value {
	out := make([]Value, n)
	for i := range out {
		out[i] = x[i*stride]
	}
	return out
}

// scaled multiplies every Value by s.
func scaled(x []Value, s Value) []Value {
	out := make([]Value, len(x))
	for i, v := range x {
		out[i] = Mul(v, s)
	}
	return out
}
