package formula

import "slices"

// alike are statistics over the segments of a group that have an equal key, whichever completions
// they are of: over the turns that were taken in the same situation, for one.
var alike = []Function{
	ofAlike("mean", "x, key", "nn", "mean of x over the group's segments with the same key"),
	ofAlike("std", "x, key", "nn", "standard deviation of x over the group's segments with the same key, divisor n-1; 0 for one"),
	ofAlike("count", "key", "n", "number of the group's segments with the same key"),
}

func ofAlike(name, args, params, meaning string) Function {
	full := "same_" + name
	return Function{Name: full, Usage: full + "(" + args + ")", Meaning: meaning + ", itself among them; the key is a number, or a fact that is text, such as state",
		Slope: "none", Source: "GiGPO, arXiv 2505.10978", params: params, build: func(c *compiler, s *scope, n *node) int {
			f, last := functionNamed(full), len(params)-1
			key := c.key(s, n.args[last])
			x := c.literal(s, n.at, 1, false)
			if last > 0 {
				if x = c.node(s, n.args[0]); x < 0 || !c.accepts(s, n.args[0], x, f, takesConstant) {
					return -1
				}
			}
			if key < 0 || !c.accepts(s, n.args[last], key, f, takesConstant) {
				return -1
			}
			for i, arg := range []int{x, key} {
				if l := c.ops[arg].level; l > Segment {
					return c.fail(s, n.args[min(i, last)].at, "%s takes one value for each segment, found %s; write segment_mean(...) or another segment_ function around it", n.name, l.each())
				}
			}
			return c.add(s, op{kind: alikeOp, fn: f, fold: foldNamed(name), args: []int{x, key}, where: -1, k: -1, level: Segment, from: Segment, at: n.at})
		}}
}

// key compiles what segments are compared by. Of a fact that is text, equal texts are equal numbers.
func (c *compiler) key(s *scope, n *node) int {
	if fact, ok := c.fact(n.name); ok && n.kind == nameNode && (fact.Text || fact.Both) {
		return c.add(s, op{kind: codeOp, name: n.name, level: fact.Level, where: -1, k: -1, at: n.at})
	}
	return c.node(s, n)
}

// codes are numbers for the texts of a column: equal ones for equal texts.
func codes(c Column) []float64 {
	known := map[string]float64{}
	out := make([]float64, len(c.Text))
	for row, text := range c.Text {
		code, ok := known[text]
		if !ok {
			code = float64(len(known))
			known[text] = code
		}
		if out[row] = code; c.Why[row] != "" {
			out[row] = missing
		}
	}
	return out
}

// alike computes a statistic over segments with equal keys. Without a key there is no value; an x
// without a value is left out.
func (v *Values) alike(o *op) []float64 {
	x, key := v.operand(o.args[0], Segment), v.operand(o.args[1], Segment)
	out := slices.Repeat([]float64{missing}, v.t.size[Segment])
	for g := range v.t.size[Group] {
		rows := map[float64][]int{}
		var keys []float64
		v.t.ranges(Group, g, Segment, func(from, to int) {
			for row := from; row < to; row++ {
				k := key.v[row*key.step]
				if k != k {
					continue
				}
				if rows[k] == nil {
					keys = append(keys, k)
				}
				rows[k] = append(rows[k], row)
			}
		})
		for _, k := range keys {
			var vals []float64
			for _, row := range rows[k] {
				if y := x.v[row*x.step]; y == y {
					vals = append(vals, y)
				}
			}
			if len(vals) == 0 {
				continue
			}
			slices.Sort(vals)
			y := o.fold.value(vals, 0)
			for _, row := range rows[k] {
				out[row] = y
			}
		}
	}
	return out
}
