package formula

import (
	"maps"
	"math"
	"slices"
)

// Clips are the parts in whose text a clip stands that some formulas are made of, sorted.
func (p *Program) Clips(names ...string) []string {
	found := map[string]bool{}
	for i, used := range p.reach(names) {
		if o := &p.ops[i]; used && o.clips() {
			found[o.in.name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// ClipsNow tells whether one of the clips in a part's text reads values of now.
func (p *Program) ClipsNow(part string) bool {
	return slices.ContainsFunc(p.ops, func(o op) bool { return o.clips() && o.in.name == part && o.now })
}

// Clipped is the share of the values that the clips in a part's text bound: those that are below the
// lower bound or above the upper one, among those that are not missing, and of tokens among those that
// the policy wrote. NaN: there are none.
func (v *Values) Clipped(part string) (share float64, err error) {
	defer rescue(&err)
	bound, all := 0, 0
	for i := range v.p.ops {
		o := &v.p.ops[i]
		if !o.clips() || o.in.name != part {
			continue
		}
		args := v.operands(o)
		at := func(arg, row int) float64 { return args[arg].v[row*args[arg].step] }
		for row := range v.t.size[o.level] {
			x, low, high := at(0, row), at(1, row), at(2, row)
			if o.level == Token && !v.t.train[row] || math.IsNaN(x) || math.IsNaN(low) || math.IsNaN(high) {
				continue
			}
			if all++; x < low || x > high {
				bound++
			}
		}
	}
	return float64(bound) / float64(all), nil
}

// clips tells whether an operation is a clip.
func (o *op) clips() bool { return o.kind == eachOp && o.fn.Name == "clip" }
