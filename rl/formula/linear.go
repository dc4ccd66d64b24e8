package formula

import "math"

// Linear are the factors of a part that is a sum of facts, each times a number, with the place and what is wrong if it
// is anything else.
func (p *Program) Linear(part string) (factors map[string]float64, wrong error) {
	d := p.parts[part]
	type sum struct {
		of     map[string]float64
		number float64
	}
	known := map[int]sum{} // by operation: parts may read one many times
	var visit, read func(i int) (map[string]float64, float64)
	visit = func(i int) (map[string]float64, float64) {
		s, there := known[i]
		if !there {
			s.of, s.number = read(i)
			known[i] = s
		}
		return s.of, s.number
	}
	read = func(i int) (of map[string]float64, number float64) {
		o := &p.ops[i]
		refuse := func(format string, args ...any) (map[string]float64, float64) {
			if wrong == nil {
				wrong = errorAt(o.in.name, o.in.text, o.at, format, args...)
			}
			return nil, 0
		}
		switch o.kind {
		case literalOp:
			return nil, o.value
		case factOp:
			return map[string]float64{o.name: 1}, 0
		case partOp:
			return visit(o.args[0])
		}
		if o.kind != eachOp {
			return refuse("%s is no sum", o.called())
		}
		var facts []map[string]float64
		var numbers []float64
		for _, a := range o.args {
			f, x := visit(a)
			facts, numbers = append(facts, f), append(numbers, x)
		}
		if wrong != nil {
			return nil, 0
		}
		combine := func(a, b float64) map[string]float64 {
			sum := map[string]float64{}
			for k, factor := range []float64{a, b}[:len(facts)] {
				for name, x := range facts[k] {
					sum[name] += factor * x
				}
			}
			return sum
		}
		switch o.fn.Name {
		case "+":
			return combine(1, 1), numbers[0] + numbers[1]
		case "-":
			return combine(1, -1), numbers[0] - numbers[1]
		case "negative":
			return combine(-1, 0), -numbers[0]
		case "*":
			switch {
			case len(facts[0]) > 0 && len(facts[1]) > 0:
				return refuse("* multiplies what is no number")
			case len(facts[0]) > 0:
				return combine(numbers[1], 0), numbers[0] * numbers[1]
			}
			return combine(0, numbers[0]), numbers[0] * numbers[1]
		case "/":
			if len(facts[1]) > 0 {
				return refuse("/ divides by what is no number")
			}
			return combine(1/numbers[1], 0), numbers[0] / numbers[1]
		}
		return refuse("%s is no sum", o.called())
	}
	factors, number := visit(d.root)
	o := &p.ops[d.root]
	switch {
	case wrong != nil:
		return nil, wrong
	case number != 0:
		return nil, errorAt(o.in.name, o.in.text, o.at, "found %v beside the sum", number)
	}
	for name, x := range factors {
		if x == 0 || math.IsInf(x, 0) || x != x {
			return nil, errorAt(o.in.name, o.in.text, o.at, "the factor of %s is %v", name, x)
		}
	}
	return factors, nil
}
