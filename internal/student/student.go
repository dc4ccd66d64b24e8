package student

import "math"

// Tail is the chance that Student's t with so many degrees of freedom is above a positive value
// (https://dlmf.nist.gov/8.17, Abramowitz and Stegun 26.7.1).
func Tail(t, freedom float64) float64 {
	return beta(freedom/(freedom+t*t), freedom/2, 0.5) / 2
}

// beta is the regularised incomplete beta function I_x(a, b), by its continued
// fraction (https://dlmf.nist.gov/8.17#E22), which converges quickly for
// x below (a+1)/(a+b+2); above, by its symmetry.
func beta(x, a, b float64) float64 {
	switch {
	case x <= 0 || x >= 1:
		return math.Max(0, math.Min(1, x))
	case x > (a+1)/(a+b+2):
		return 1 - beta(1-x, b, a)
	}
	ga, _ := math.Lgamma(a)
	gb, _ := math.Lgamma(b)
	gab, _ := math.Lgamma(a + b)
	front := math.Exp(gab-ga-gb+a*math.Log(x)+b*math.Log1p(-x)) / a
	return front / fraction(x, a, b)
}

// fraction is the continued fraction of beta from its terms backwards: 200 of them
// are far more than any x it is called for needs.
func fraction(x, a, b float64) float64 {
	f := 1.0
	for k := 200; k >= 1; k-- {
		m := float64(k / 2)
		d := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		if k%2 == 1 {
			d = -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		}
		f = 1 + d/f
	}
	return f
}
