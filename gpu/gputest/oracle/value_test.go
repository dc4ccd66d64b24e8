package oracle

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// within fails unless a float32 result is inside its bound, and the bound is
// no wider than a share of the number: a bound that admits everything is no
// bound.
func within(t *testing.T, what string, got float32, want Value, share float64) {
	t.Helper()
	if err := compareValues([]float32{got}, []Value{want}); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if want.Err > share*math.Abs(want.X) {
		t.Errorf("%s: bound %v of %v is wider than a share of %v", what, want.Err, want.X, share)
	}
}

// TestBoundsHold computes in float32, in several orders, what Values bound.
func TestBoundsHold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		n := 1 + r.IntN(300)
		a, b := make([]float32, n), make([]float32, n)
		for i := range a {
			a[i], b[i] = 0.5+r.Float32(), 0.5+r.Float32()
		}
		var up, down, sum float32
		var fused float64
		for i := range a {
			up += float32(a[i] * b[i])
			down += float32(a[n-1-i] * b[n-1-i])
			fused = float64(float32(math.FMA(float64(a[i]), float64(b[i]), fused)))
			sum += a[i]
		}
		// n+1 roundings, each at most a unit, of terms of one sign.
		share := Tolerance(n+2, 1)
		want := Dot(values(a), values(b))
		within(t, "dot ascending", up, want, share)
		within(t, "dot descending", down, want, share)
		within(t, "dot fused", float32(fused), want, share)
		within(t, "sum", sum, Sum(values(a)), share)

		x, y := Exact(a[0]), Exact(b[0])
		within(t, "quotient", a[0]/b[0], Div(x, y), Tolerance(8, 1))
		within(t, "chain", float32(float32(a[0]*b[0])+a[0])/b[0], Div(Add(Mul(x, y), x), y), Tolerance(12, 1))
		within(t, "exp", float32(math.Exp(float64(a[0]))), Exp(x), Tolerance(16, 1))
		within(t, "rsqrt", float32(1/math.Sqrt(float64(a[0]))), RSqrt(x), Tolerance(10, 1))
		within(t, "sqrt", float32(math.Sqrt(float64(a[0]))), Sqrt(x), Tolerance(10, 1))
		within(t, "log", float32(math.Log(float64(a[0]+3))), Log(Exact(a[0]+3)), Tolerance(8, 1)+logAbs)
	}
}

// TestErrorsAreCarried: the error of an operand reaches the result.
func TestErrorsAreCarried(t *testing.T) {
	x := Value{4, 0.25}
	for name, c := range map[string]struct {
		f    func(Value) Value
		real func(float64) float64
	}{
		"add":   {func(v Value) Value { return Add(v, Exact(3)) }, func(x float64) float64 { return x + 3 }},
		"mul":   {func(v Value) Value { return Mul(v, v) }, func(x float64) float64 { return x * x }},
		"div":   {func(v Value) Value { return Div(Exact(1), v) }, func(x float64) float64 { return 1 / x }},
		"exp":   {Exp, math.Exp},
		"log":   {Log, math.Log},
		"sqrt":  {Sqrt, math.Sqrt},
		"rsqrt": {RSqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }},
		"dot":   {func(v Value) Value { return Dot([]Value{v, v}, []Value{v, Exact(2)}) }, func(x float64) float64 { return x*x + 2*x }},
	} {
		got := c.f(x)
		for _, end := range []float64{x.X - x.Err, x.X + x.Err} {
			if d := math.Abs(c.real(end) - got.X); d > got.Err {
				t.Errorf("%s: the operand's error moves the result by %v, the bound is %v", name, d, got.Err)
			}
		}
	}
}

func TestCompareFindsDifferences(t *testing.T) {
	nan := float32(math.NaN())
	for name, c := range map[string]struct {
		got, want any
		ok        bool
	}{
		"equal":           {[]float32{1, 2}, []Value{{X: 1}, {X: 2}}, true},
		"inside":          {[]float32{1.5}, []Value{{1, 0.5}}, true},
		"outside":         {[]float32{1, 1.6}, []Value{{X: 1}, {1, 0.5}}, false},
		"NaN":             {[]float32{nan}, []Value{{1, 1e9}}, false},
		"NaN, left open":  {[]float32{nan}, []Value{Any()}, true},
		"infinity":        {[]float32{-infinity}, []Value{{X: math.Inf(-1)}}, true},
		"wrong infinity":  {[]float32{infinity}, []Value{{X: math.Inf(-1)}}, false},
		"one ulp":         {[]float32{1}, []float32{math.Nextafter32(1, 2)}, false},
		"sign of zero":    {[]float32{0}, []float32{float32(math.Copysign(0, -1))}, false},
		"words":           {[]uint32{1, 2}, []uint32{1, 3}, false},
		"missing element": {[]float32{1}, []Value{{X: 1}, {X: 1}}, false},
	} {
		if err := compare(c.got, c.want); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCasesAreTheSame: results of two processes can be compared.
func TestCasesAreTheSame(t *testing.T) {
	for _, name := range []string{"rmsnorm", "sample_draw"} {
		made := map[string]func(*data) []Case{"rmsnorm": rmsnormCases, "sample_draw": sampleDrawCases}[name]
		for i, c := range made(newData(name)) {
			if !slices.Equal(c.Bind[0].([]float32), Cases(name)[i].Bind[0].([]float32)) {
				t.Errorf("%s %s: the data changed", name, c.Name)
			}
		}
	}
}
