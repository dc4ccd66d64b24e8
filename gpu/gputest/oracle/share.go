package oracle

import "math"

// Share is how much of its bound the worst element of the results uses: at most
// 1 where Compare finds nothing wrong, 0 where all is exact.
func (c Case) Share(got []any) float64 {
	worst := 0.0
	for i, want := range c.Want {
		values, ok := want.([]Value)
		if !ok {
			continue
		}
		numbers := floats(got[i])
		for j, w := range values {
			x := float64(numbers[j])
			if math.IsInf(w.Err, 1) || x == w.X {
				continue
			}
			worst = max(worst, math.Abs(x-w.X)/w.Err)
		}
	}
	return worst
}
