package formula

// total is what sums, means and counts need of the values of a row.
type total struct {
	sum   float64
	n     int
	first float64
	equal bool // all values are equal, so that their mean is exactly the first
}

func (t total) mean() float64 {
	if t.equal {
		return t.first
	}
	return t.sum / float64(t.n)
}

// see takes note of a further value; the sum is left alone.
func (t *total) see(x float64) {
	if t.n == 0 {
		t.first, t.equal = x, true
	}
	t.equal = t.equal && x == t.first
	t.n++
}

// total adds up the values of one row: within a completion in the order of the rows, over
// completions or groups in order of size.
func (s *selector) total(level Level, row int) total {
	var t total
	if level >= Completion {
		s.v.t.ranges(level, row, s.o.from, func(from, to int) { t.sum += s.partial(&t, from, to) })
		return t
	}
	s.vals = s.vals[:0]
	add := func(from, to int) {
		before := t.n
		if sum := s.partial(&t, from, to); t.n > before {
			s.vals = append(s.vals, sum)
		}
	}
	switch {
	case s.o.from <= Completion:
		s.v.t.ranges(level, row, s.o.from, func(from, to int) {
			for i := from; i < to; i++ {
				add(i, i+1)
			}
		})
	case level == Run:
		for c := range s.v.t.size[Completion] {
			add(s.v.t.span(c, s.o.from))
		}
	default:
		for _, c := range s.v.t.in[row] {
			add(s.v.t.span(int(c), s.o.from))
		}
	}
	sortFloats(s.vals)
	t.sum = sum(s.vals)
	return t
}

// partial is the sum of a range of rows, each of which the total sees.
func (s *selector) partial(t *total, from, to int) float64 {
	sum := 0.0
	for i := from; i < to; i++ {
		if s.mask != nil && !s.mask[i] || !s.any && s.where.v[i*s.where.step] != 1 {
			continue
		}
		x := s.x.v[i*s.x.step]
		if x != x {
			s.lacks(i)
			continue
		}
		t.see(x)
		sum += x
	}
	return sum
}
