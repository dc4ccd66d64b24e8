package mathans

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

var strict = Rules{Precision: 6}

func same(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := Parse(a)
	if err != nil {
		t.Fatalf("%q: %v", a, err)
	}
	y, err := Parse(b)
	if err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	r, back := Equal(x, y, strict), Equal(y, x, strict)
	if r.Equal != back.Equal {
		t.Errorf("%q, %q: equal is %t, the other way round %t", a, b, r.Equal, back.Equal)
	}
	if !Equal(x, x, strict).Equal {
		t.Errorf("%q is not equal to itself", a)
	}
	return r.Equal
}

// rationalText writes an expression with a known value.
func rationalText(random *rand.Rand, depth int) (string, *big.Rat) {
	if depth == 0 || random.IntN(4) == 0 {
		n, d := random.Int64N(40)-20, random.Int64N(9)+1
		r := big.NewRat(n, d)
		switch {
		case d == 1 || n%d == 0:
			return fmt.Sprintf("(%s)", r.RatString()), r
		case random.IntN(2) == 0:
			return fmt.Sprintf(`\frac{%d}{%d}`, n, d), r
		}
		return fmt.Sprintf("(%d/%d)", n, d), r
	}
	a, x := rationalText(random, depth-1)
	b, y := rationalText(random, depth-1)
	z := new(big.Rat)
	switch random.IntN(5) {
	case 0:
		return fmt.Sprintf(`\left(%s+%s\right)`, a, b), z.Add(x, y)
	case 1:
		return fmt.Sprintf("(%s-%s)", a, b), z.Sub(x, y)
	case 2:
		return fmt.Sprintf(`%s \cdot %s`, a, b), z.Mul(x, y)
	case 3:
		return fmt.Sprintf("{%s}^{2}", "("+a+")"), z.Mul(x, x)
	}
	if y.Sign() == 0 {
		return a, x
	}
	return fmt.Sprintf(`\dfrac{%s}{%s}`, a, b), z.Quo(x, y)
}

// TestRationalsAreExact: an expression equals its value in any form, and two
// different rationals are never equal.
func TestRationalsAreExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 0))
	tiny := new(big.Rat).SetFrac(big.NewInt(1), powerOfTen(60))
	for range 300 {
		text, value := rationalText(random, 3)
		if !same(t, value.RatString(), text) {
			t.Fatalf("%s is not %s", text, value.RatString())
		}
		other := new(big.Rat).Add(value, tiny)
		if random.IntN(2) == 0 {
			_, other = rationalText(random, 2)
		}
		if want := other.Cmp(value) == 0; same(t, text, other.RatString()) != want {
			t.Fatalf("%s = %s is %t", text, other.RatString(), !want)
		}
	}
}

// TestSurdsAreProven: products of sums of roots equal their expansions, and
// nothing that differs by 10^-50.
func TestSurdsAreProven(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 0))
	for range 60 {
		a, b, c, d := random.Int64N(19)-9, random.Int64N(9)+1, random.Int64N(19)-9, random.Int64N(9)+1
		m, n := random.Int64N(20)+2, random.Int64N(20)+2
		product := fmt.Sprintf(`(%d+%d\sqrt{%d})(%d+%d\sqrt{%d})`, a, b, m, c, d, n)
		sum := fmt.Sprintf(`%d+(%d)\sqrt{%d}+(%d)\sqrt{%d}+%d\sqrt{%d}`, a*c, a*d, n, b*c, m, b*d, m*n)
		if !same(t, product, sum) {
			t.Errorf("%s is not %s", product, sum)
		}
		if same(t, product, sum+"+10^{-50}") {
			t.Errorf("%s is %s+10^{-50}", product, sum)
		}
	}
}

// TestBallsHoldTheirValues: what is calculated to 700 bits lies in the ball that
// 200 bits give.
func TestBallsHoldTheirValues(t *testing.T) {
	for _, text := range []string{
		`\sqrt{2}+\sqrt{3}`, `\sqrt[3]{7}`, `\frac{1}{\sqrt{2}-\sqrt{3}}`, `\sqrt{2}^{17}`, `\sqrt[5]{10^{-30}}`, `e^{7/3}`, `e^{-40}`, `\ln 3`, `\ln(1+10^{-9})`,
		`\sin 3`, `\cos 100`, `\sin(10^{15})`, `\tan 1`, `\arctan(1/3)`, `\arctan 20`, `\arcsin(2/3)`, `\arccos(-1/7)`, `\pi`, `\pi^{\sqrt2}`, `2^{\pi}`, `\log_3 10`,
		`(1+2i)^{1/3}`, `\sqrt{3+4i}`, `\sqrt{-7+i}`, `e^{2+3i}`, `\sinh 2`, `\tanh(1/2)`, `|2+\sqrt{3} i|`, `\sqrt{2}-1.41421356237309504880168872420969807`, `\sqrt{1-\sqrt{1-10^{-20}}}`,
	} {
		a, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		m := &matcher{budget: budget{1 << 20}}
		rough, fine := m.newCalc(200, nil), m.newCalc(700, nil)
		x, err := rough.eval(a.root)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		y, err := fine.eval(a.root)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p, q := rough.ball(x), fine.ball(y)
		if !fine.holds(p.re, q.re) || !fine.holds(p.im, q.im) {
			t.Errorf("%s: %v±2^%d at 200 bits, %v±2^%d at 700", text, p.re.mid, p.re.err, q.re.mid, q.re.err)
		}
		if p.re.err > -100 || p.im.err > -100 {
			t.Errorf("%s: the errors are 2^%d and 2^%d", text, p.re.err, p.im.err)
		}
	}
}

// holds: |x - y| is not more than both errors allow.
func (c *calc) holds(x, y ball) bool {
	d := c.sub(x, y)
	return d.magnitude() <= d.err+1
}

// TestElementary compares with package math to 2^-48: its functions are good to
// an ulp or two, 2^-52 of results below 8.
func TestElementary(t *testing.T) {
	a := &arith{prec: 128}
	near := func(name string, got ball, want float64) {
		t.Helper()
		f, _ := got.mid.Float64()
		if math.Abs(f-want) > math.Ldexp(max(1, math.Abs(want)), -48) {
			t.Errorf("%s: %.17g, want %.17g", name, f, want)
		}
	}
	for _, x := range []float64{-20, -3, -1, -0.5, -1e-9, 1e-9, 0.25, 1, 1.5, 3, 6.5, 33} {
		v := ball{big.NewFloat(x).SetPrec(128), exact}
		e, _ := a.exp(v)
		near(fmt.Sprintf("exp %g", x), e, math.Exp(x))
		s, c, _ := a.sinCos(v)
		near(fmt.Sprintf("sin %g", x), s, math.Sin(x))
		near(fmt.Sprintf("cos %g", x), c, math.Cos(x))
		near(fmt.Sprintf("atan %g", x), a.atan(v), math.Atan(x))
		if x > 0 {
			l, _ := a.log(v)
			near(fmt.Sprintf("log %g", x), l, math.Log(x))
			near(fmt.Sprintf("cube root %g", x), a.root(v, 3), math.Cbrt(x))
		}
	}
}

// TestHostileTextsStayInBudget: the work is bounded, whatever the text.
func TestHostileTextsStayInBudget(t *testing.T) {
	five, _ := Parse("5")
	for _, text := range hostileTexts() {
		a, err := Parse(text)
		if err != nil {
			continue
		}
		m := &matcher{rules: strict, budget: budget{maxWork}, comparisons: maxComparisons}
		if m.equal(expand(five.root), expand(a.root)) {
			t.Errorf("%.60q is 5", text)
		}
		if m.comparisons < -1 {
			t.Errorf("%.60q: %d comparisons too many", text, -m.comparisons)
		}
	}
}

func hostileTexts() []string {
	nested := func(open, inside, closing string, n int) string {
		return strings.Repeat(open, n) + inside + strings.Repeat(closing, n)
	}
	return []string{
		"9^9^9^9^9", "9^{9^{9^{9^9}}}", "10^8!", "(10^8)!", "((3!)!)!", "(1+10^{-400})^{16000}", `\binom{3000}{1500}^{400}`, `\sqrt[64]{3000!}`,
		nested("(", "1", ")", 2000), nested(`\frac{1}{1+`, "1", "}", 40), nested(`\frac{1}{1+`, "1", "}", 300), nested(`\sqrt{1+`, "2", "}", 40),
		nested(`\sin(`, "2", ")", 40), nested("e^{", "2", "}", 40), nested(`\pi^{`, "2", "}", 30), nested("{", "1", "}", 90), nested("|", "x", "|", 40),
		strings.Repeat(`\sqrt{2}+`, 300) + "1", strings.Repeat(`(1+\sqrt{x})`, 200), "x^{16000}", "(x+y+1/3)^{300}", "2^{32000}+3^{20000}",
		strings.Repeat("3000!+", 200) + "1", strings.Repeat(`\pm1`, 200), strings.Repeat("x,", 190) + "y", strings.Repeat("-", 4000) + "1",
		strings.Repeat("1+", 2000) + "1", strings.Repeat("|x", 1000), strings.Repeat("(1e400)*", 50) + "1", `\sin(10^{300})`, `e^{60000}`, `\log(10^{-400})`,
		`\begin{pmatrix}` + strings.Repeat("1&", 900) + `1\end{pmatrix}`, strings.Repeat(`\begin{pmatrix}1&x\\y&2\end{pmatrix}`, 60), strings.Repeat(`(2,3)\cup`, 150) + "(1,2)",
	}
}

// FuzzEqual: no two texts make the comparison panic, run away, or depend on
// their order; each answer is equal to itself; rationals are equal when their
// values are.
func FuzzEqual(f *testing.F) {
	for _, pair := range [][2]string{
		{`\frac12`, "0.5"}, {`\sqrt{8}`, `2\sqrt2`}, {`\{1,2\}`, "2, 1"}, {"(1,2]", `1 < x \le 2`}, {`x=\pm 3`, `x=3 \text{ or } x=-3`}, {"28\\%", "0.28"},
		{`\begin{pmatrix}1&2\\3&4\end{pmatrix}`, `\begin{bmatrix}1&2\\3&4\end{bmatrix}`}, {"7:32", `\frac{7}{32}`}, {`5\text{ km}`, "5000 m"}, {`\mathbb{R}\setminus\{3\}`, `(-\infty,3)\cup(3,\infty)`},
		{`e^{i\pi}`, "-1"}, {`\sum_{k=1}^n k`, "n(n+1)/2"}, {`\log_2 8`, "3!"}, {"1,234", `1{,}234`}, {`0.\overline{3}`, "1/3"}, {"|x|", `\lfloor x \rfloor`},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err := Parse(a)
		if err != nil {
			return
		}
		if !Equal(x, x, strict).Equal {
			t.Errorf("%q is not equal to itself", a)
		}
		y, err := Parse(b)
		if err != nil {
			return
		}
		r := Equal(x, y, strict)
		if back := Equal(y, x, strict); r.Equal != back.Equal && !holdsRelation(x.root) && !holdsRelation(y.root) && r.Limit == nil && back.Limit == nil {
			t.Errorf("%q and %q: %+v, the other way round %+v", a, b, r, back)
		}
		if xv, ok := x.rational(); ok && r.How != "rounded" {
			if yv, ok := y.rational(); ok && r.Equal && xv.Cmp(yv) != 0 && !strings.ContainsAny(a+b, ",") && r.How == "exact" && x.root.kind != kQuantity && y.root.kind != kQuantity {
				t.Errorf("%q = %s and %q = %s are equal", a, xv.RatString(), b, yv.RatString())
			}
		}
	})
}

// rational is the answer's exact value, if it is a single rational constant.
func (a Answer) rational() (*big.Rat, bool) {
	if a.root == nil || isCollection(a.root) || a.root.kind == kRelation || a.root.hasKind(kMatrix) {
		return nil, false
	}
	m := &matcher{budget: budget{maxWork}}
	v, err := m.newCalc(startPrecision, nil).eval(a.root)
	return v.rat, err == nil && v.rat != nil
}
