package template

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// Arithmetic and comparison as Python defines them for the types of value.go:
// https://docs.python.org/3/reference/expressions.html

// asInt is the value of an integer or bool.
func asInt(v any) (*big.Int, bool) {
	switch v := v.(type) {
	case bool:
		return big.NewInt(boolInt(v)), true
	case int64:
		return big.NewInt(v), true
	case *big.Int:
		return v, true
	}
	return nil, false
}

// small is the value of an integer or bool that fits an int64.
func small(v any) (int64, bool) {
	switch v := v.(type) {
	case bool:
		return boolInt(v), true
	case int64:
		return v, true
	}
	return 0, false
}

// fromBig is the value of an integer.
func fromBig(n *big.Int) any {
	if n.IsInt64() {
		return n.Int64()
	}
	return n
}

// asFloat is the value of any number.
func asFloat(v any) (float64, bool) {
	if f, ok := v.(float64); ok {
		return f, true
	}
	if n, ok := small(v); ok {
		return float64(n), true
	}
	if n, ok := v.(*big.Int); ok {
		f, _ := new(big.Float).SetInt(n).Float64()
		return f, true
	}
	return 0, false
}

// arithmetic is left op right for + - * / // % **.
func (r *run) arithmetic(op string, left, right any) (any, error) {
	for _, v := range []any{left, right} {
		if u, ok := v.(*undefined); ok {
			if _, format := left.(string); format && op == "%" {
				break // "%s" % undefined is empty text
			}
			return nil, errors.New(u.message)
		}
	}
	if op == "%" {
		if format, ok := left.(string); ok {
			return r.percent(format, right)
		}
	}
	if v, ok, err := r.sequenceArithmetic(op, left, right); ok || err != nil {
		return v, err
	}
	_, leftFloat := left.(float64)
	_, rightFloat := right.(float64)
	if !leftFloat && !rightFloat {
		a, isInt := asInt(left)
		b, isInt2 := asInt(right)
		if isInt && isInt2 {
			return intArithmetic(op, a, b)
		}
	}
	a, ok := asFloat(left)
	b, ok2 := asFloat(right)
	if !ok || !ok2 {
		if op == "**" {
			op = "** or pow()"
		}
		return nil, fmt.Errorf("unsupported operand type(s) for %s: '%s' and '%s'", op, typeName(left), typeName(right))
	}
	return floatArithmetic(op, a, b)
}

// sequenceArithmetic joins and repeats strings, lists and tuples.
func (r *run) sequenceArithmetic(op string, left, right any) (v any, ok bool, err error) {
	if op == "*" {
		if n, isInt := small(left); isInt {
			if v, ok, err = r.repeat(right, n); ok || err != nil {
				return v, ok, err
			}
		}
		if n, isInt := small(right); isInt {
			return r.repeat(left, n)
		}
		return nil, false, nil
	}
	if op != "+" {
		return nil, false, nil
	}
	switch a := left.(type) {
	case string:
		b, same := right.(string)
		if !same {
			return nil, false, fmt.Errorf(`can only concatenate str (not "%s") to str`, typeName(right))
		}
		return a + b, true, r.grow(len(a) + len(b))
	case *list:
		b, same := right.(*list)
		if !same {
			return nil, false, fmt.Errorf(`can only concatenate list (not "%s") to list`, typeName(right))
		}
		err := r.grow(valueSize * (len(a.items) + len(b.items)))
		return &list{slices.Concat(a.items, b.items)}, true, err
	case *tuple:
		b, same := right.(*tuple)
		if !same {
			return nil, false, fmt.Errorf(`can only concatenate tuple (not "%s") to tuple`, typeName(right))
		}
		err := r.grow(valueSize * (len(a.items) + len(b.items)))
		return &tuple{items: slices.Concat(a.items, b.items)}, true, err
	}
	return nil, false, nil
}

// repeat is n times a string, list or tuple; ok is false for other values.
func (r *run) repeat(v any, n int64) (out any, ok bool, err error) {
	n = max(n, 0)
	size := 0
	switch v := v.(type) {
	case string:
		size = len(v)
	case *list:
		size = valueSize * len(v.items)
	case *tuple:
		size = valueSize * len(v.items)
	default:
		return nil, false, nil
	}
	if size > 0 && n > int64(r.limits.Bytes/size) {
		return nil, false, r.grow(-1)
	}
	if size == 0 {
		n = 0
	}
	if err := r.grow(size * int(n)); err != nil {
		return nil, false, err
	}
	switch v := v.(type) {
	case string:
		return strings.Repeat(v, int(n)), true, nil
	case *list:
		return &list{slices.Repeat(v.items, int(n))}, true, nil
	}
	return &tuple{items: slices.Repeat(v.(*tuple).items, int(n))}, true, nil
}

var errZero = errors.New("division by zero")

func intArithmetic(op string, a, b *big.Int) (any, error) {
	out := new(big.Int)
	switch op {
	case "+":
		out.Add(a, b)
	case "-":
		out.Sub(a, b)
	case "*":
		out.Mul(a, b)
	case "/":
		if b.Sign() == 0 {
			return nil, errZero
		}
		f, _ := new(big.Rat).SetFrac(a, b).Float64()
		if math.IsInf(f, 0) {
			return nil, errors.New("integer division result too large for a float")
		}
		return f, nil
	case "//", "%":
		if b.Sign() == 0 {
			return nil, errZero
		}
		mod := new(big.Int)
		out.QuoRem(a, b, mod) // towards zero; Python's goes down
		if mod.Sign() != 0 && mod.Sign() != b.Sign() {
			out.Sub(out, big.NewInt(1))
			mod.Add(mod, b)
		}
		if op == "%" {
			out = mod
		}
	case "**":
		if b.Sign() < 0 {
			x, _ := asFloat(fromBig(a))
			y, _ := asFloat(fromBig(b))
			return floatArithmetic(op, x, y)
		}
		if a.BitLen() > 1 && (!b.IsInt64() || b.Int64() > maxBits/int64(a.BitLen()-1)) {
			return nil, fmt.Errorf("the result of ** has more than %d bits", maxBits)
		}
		if a.BitLen() <= 1 { // -1, 0 or 1: the parity decides
			b = big.NewInt(int64(b.Bit(0)) + 2*min(1, int64(b.BitLen())))
		}
		out.Exp(a, b, nil)
	}
	if out.BitLen() > maxBits {
		return nil, fmt.Errorf("the result of %s has more than %d bits", op, maxBits)
	}
	return fromBig(out), nil
}

func floatArithmetic(op string, a, b float64) (any, error) {
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "**":
		v := math.Pow(a, b)
		switch {
		case a == 0 && b < 0:
			return nil, errors.New("0.0 cannot be raised to a negative power")
		case math.IsNaN(v) && !math.IsNaN(a) && !math.IsNaN(b):
			return nil, errors.New("a negative number cannot be raised to a fractional power")
		case math.IsInf(v, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0):
			return nil, errors.New("the result of ** is too large for a float")
		}
		return v, nil
	}
	if b == 0 {
		return nil, errors.New("float division by zero")
	}
	if op == "/" {
		return a / b, nil
	}
	mod := math.Mod(a, b)
	div := (a - mod) / b
	if mod != 0 && (mod < 0) != (b < 0) {
		mod += b
		div--
	}
	if op == "%" {
		return mod, nil
	}
	return math.Round(div), nil
}

// equal is Python's a == b.
func (r *run) equal(a, b any) (bool, error) {
	if err := r.enter(); err != nil {
		return false, err
	}
	defer r.leave()
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case string:
		y, ok := b.(string)
		return ok && x == y, r.work(len(x))
	case *list:
		y, ok := b.(*list)
		if !ok {
			return false, nil
		}
		return r.equalItems(x.items, y.items)
	case *tuple:
		y, ok := b.(*tuple)
		if !ok {
			return false, nil
		}
		return r.equalItems(x.items, y.items)
	case *Dict:
		y, ok := b.(*Dict)
		if !ok || len(x.keys) != len(y.keys) {
			return false, nil
		}
		for i, key := range x.keys {
			h, err := r.hashKey(key)
			if err != nil {
				return false, err
			}
			v, ok := y.lookup(h)
			if !ok {
				return false, nil
			}
			if same, err := r.equal(x.vals[i], v); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	case *span:
		y, ok := b.(*span)
		return ok && x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step)), nil
	}
	if c, ok := compareNumbers(a, b); ok {
		return c == 0, nil
	}
	return a == b, nil // objects: the same one
}

func (r *run) equalItems(a, b []any) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	for i := range a {
		if same, err := r.equal(a[i], b[i]); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

const unordered = 2 // one of two numbers is no number

// compareNumbers is -1, 0 or 1, or unordered; ok is false unless both are numbers.
func compareNumbers(a, b any) (c int, ok bool) {
	x, ok := asInt(a)
	y, ok2 := asInt(b)
	if ok && ok2 {
		return x.Cmp(y), true
	}
	f, ok := asFloat(a)
	g, ok2 := asFloat(b)
	if !ok || !ok2 {
		return 0, false
	}
	if math.IsNaN(f) || math.IsNaN(g) {
		return unordered, true
	}
	return cmp.Compare(f, g), true
}

// order is -1, 0 or 1 for two values that op (<, <=, >, >=) can compare, or
// unordered.
func (r *run) order(op string, a, b any) (int, error) {
	if err := r.enter(); err != nil {
		return 0, err
	}
	defer r.leave()
	for _, v := range []any{a, b} {
		if u, ok := v.(*undefined); ok {
			return 0, errors.New(u.message)
		}
	}
	if c, ok := compareNumbers(a, b); ok {
		return c, nil
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), r.work(len(x)) // UTF-8 orders as characters do
		}
	case *list:
		if y, ok := b.(*list); ok {
			return r.orderItems(op, x.items, y.items)
		}
	case *tuple:
		if y, ok := b.(*tuple); ok {
			return r.orderItems(op, x.items, y.items)
		}
	}
	return 0, fmt.Errorf("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
}

func (r *run) orderItems(op string, a, b []any) (int, error) {
	for i := range min(len(a), len(b)) {
		same, err := r.equal(a[i], b[i])
		if err != nil {
			return 0, err
		}
		if !same {
			return r.order(op, a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b)), nil
}

// compare is a op b for the operators of Jinja's comparisons.
func (r *run) compare(op string, a, b any) (bool, error) {
	switch op {
	case "==", "!=":
		same, err := r.equal(a, b)
		return same == (op == "=="), err
	case "in", "not in":
		found, err := r.contains(b, a)
		return found == (op == "in"), err
	}
	c, err := r.order(op, a, b)
	if err != nil || c == unordered {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// contains is Python's item in v.
func (r *run) contains(v, item any) (bool, error) {
	switch v := v.(type) {
	case string:
		s, ok := item.(string)
		if !ok {
			return false, fmt.Errorf("'in <string>' requires string as left operand, not %s", typeName(item))
		}
		return strings.Contains(v, s), r.work(len(v))
	case *Dict:
		h, err := r.hashKey(item)
		_, ok := v.lookup(h)
		return ok && err == nil, err
	case *view:
		if v.kind == "dict_keys" {
			return r.contains(v.d, item)
		}
	}
	it, err := iterate(v)
	if err != nil {
		return false, fmt.Errorf("argument of type '%s' is not iterable", typeName(v))
	}
	for {
		x, ok, err := it.next()
		if err != nil || !ok {
			return false, err
		}
		if same, err := r.equal(x, item); same || err != nil {
			return same, err
		}
	}
}
