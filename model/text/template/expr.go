package template

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// expr is an expression. eval gives its value in a scope.
type expr interface {
	eval(r *run, s *scope) (any, error)
}

type (
	constant struct{ value any }
	name     struct {
		pos  int
		name string
	}
	listExpr  struct{ items []expr }
	tupleExpr struct{ items []expr }
	dictExpr  struct {
		pos          int
		keys, values []expr
	}
	binary struct {
		pos         int
		op          string
		left, right expr
	}
	unary struct {
		pos     int
		op      string // - + not
		operand expr
	}
	logic struct { // and, or
		or          bool
		left, right expr
	}
	comparison struct {
		pos      int
		first    expr
		ops      []string
		operands []expr
	}
	concat struct {
		pos   int
		parts []expr
	}
	conditional struct {
		pos                 int
		test, then, without expr // without is nil if there is no else
	}
	attrExpr struct {
		pos    int
		object expr
		name   string
	}
	itemExpr struct {
		pos         int
		object, key expr
	}
	sliceExpr struct {
		pos                       int
		object, start, stop, step expr // nil where absent
	}
	callExpr struct {
		pos      int
		function expr
		args     arguments
	}
	filterExpr struct {
		pos   int
		input expr // nil: the text of a block
		name  string
		args  arguments
	}
	testExpr struct {
		pos   int
		input expr
		name  string
		args  arguments
	}
)

// arguments of a call, as they are written.
type arguments struct {
	args           []expr
	names          []string
	values         []expr // of the names
	spread, kwargs expr   // *args, **kwargs
}

// value evaluates an expression one level deeper.
func (r *run) value(e expr, s *scope) (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	return e.eval(r, s)
}

func (r *run) values(list []expr, s *scope) ([]any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = r.value(e, s); err != nil {
			return nil, err
		}
	}
	return out, r.grow(valueSize * len(list))
}

func (e *constant) eval(*run, *scope) (any, error) { return e.value, nil }

func (e *name) eval(_ *run, s *scope) (any, error) { return s.get(e.name), nil }

func (e *listExpr) eval(r *run, s *scope) (any, error) {
	items, err := r.values(e.items, s)
	return &list{items}, err
}

func (e *tupleExpr) eval(r *run, s *scope) (any, error) {
	items, err := r.values(e.items, s)
	return &tuple{items: items}, err
}

func (e *dictExpr) eval(r *run, s *scope) (any, error) {
	d := NewDict()
	for i := range e.keys {
		pair, err := r.values([]expr{e.keys[i], e.values[i]}, s)
		if err != nil {
			return nil, err
		}
		h, err := r.hashKey(pair[0])
		if err != nil {
			return nil, at(e.pos, err)
		}
		d.set(h, pair[0], pair[1])
	}
	return d, nil
}

func (e *binary) eval(r *run, s *scope) (any, error) {
	left, err := r.value(e.left, s)
	if err != nil {
		return nil, err
	}
	right, err := r.value(e.right, s)
	if err != nil {
		return nil, err
	}
	v, err := r.arithmetic(e.op, left, right)
	return v, at(e.pos, err)
}

func (e *unary) eval(r *run, s *scope) (any, error) {
	v, err := r.value(e.operand, s)
	if err != nil {
		return nil, err
	}
	if e.op == "not" {
		return !truth(v), nil
	}
	if n, ok := asInt(v); ok {
		if e.op == "-" {
			n = new(big.Int).Neg(n)
		}
		return fromBig(n), nil
	}
	switch v := v.(type) {
	case float64:
		if e.op == "-" {
			return -v, nil
		}
		return v, nil
	case *undefined:
		return nil, at(e.pos, errors.New(v.message))
	}
	return nil, failAt(e.pos, "bad operand type for unary %s: '%s'", e.op, typeName(v))
}

func (e *logic) eval(r *run, s *scope) (any, error) {
	v, err := r.value(e.left, s)
	if err != nil || truth(v) == e.or {
		return v, err
	}
	return r.value(e.right, s)
}

func (e *comparison) eval(r *run, s *scope) (any, error) {
	left, err := r.value(e.first, s)
	if err != nil {
		return nil, err
	}
	for i, op := range e.ops {
		right, err := r.value(e.operands[i], s)
		if err != nil {
			return nil, err
		}
		ok, err := r.compare(op, left, right)
		if err != nil {
			return nil, at(e.pos, err)
		}
		if !ok {
			return false, nil
		}
		left = right
	}
	return true, nil
}

func (e *concat) eval(r *run, s *scope) (any, error) {
	var b strings.Builder
	for _, part := range e.parts {
		v, err := r.value(part, s)
		if err != nil {
			return nil, err
		}
		text, err := r.str(v)
		if err == nil {
			err = r.grow(len(text))
		}
		if err != nil {
			return nil, at(e.pos, err)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func (e *conditional) eval(r *run, s *scope) (any, error) {
	v, err := r.value(e.test, s)
	switch {
	case err != nil:
		return nil, err
	case truth(v):
		return r.value(e.then, s)
	case e.without == nil:
		return undefinedf("the inline if has no else, and its condition is false"), nil
	}
	return r.value(e.without, s)
}

func (e *attrExpr) eval(r *run, s *scope) (any, error) {
	object, err := r.value(e.object, s)
	if err != nil {
		return nil, err
	}
	v, err := r.getAttr(object, e.name)
	return v, at(e.pos, err)
}

func (e *itemExpr) eval(r *run, s *scope) (any, error) {
	object, err := r.value(e.object, s)
	if err != nil {
		return nil, err
	}
	key, err := r.value(e.key, s)
	if err != nil {
		return nil, err
	}
	v, err := r.getItem(object, key)
	return v, at(e.pos, err)
}

func (e *sliceExpr) eval(r *run, s *scope) (any, error) {
	object, err := r.value(e.object, s)
	if err != nil {
		return nil, err
	}
	var bounds [3]any
	for i, b := range []expr{e.start, e.stop, e.step} {
		if b == nil {
			continue
		}
		if bounds[i], err = r.value(b, s); err != nil {
			return nil, err
		}
	}
	v, err := r.slice(object, bounds[0], bounds[1], bounds[2])
	return v, at(e.pos, err)
}

// call evaluates the arguments of a call.
func (a *arguments) call(r *run, s *scope) (call, error) {
	args, err := r.values(a.args, s)
	if err != nil {
		return call{}, err
	}
	c := call{args: args}
	if a.spread != nil {
		v, err := r.value(a.spread, s)
		if err != nil {
			return call{}, err
		}
		more, err := r.all(v)
		if err != nil {
			return call{}, err
		}
		c.args = append(c.args, more...)
	}
	if len(a.names) == 0 && a.kwargs == nil {
		return c, nil
	}
	c.kw = NewDict()
	for i, name := range a.names {
		v, err := r.value(a.values[i], s)
		if err != nil {
			return call{}, err
		}
		c.kw.Set(name, v)
	}
	if a.kwargs == nil {
		return c, nil
	}
	v, err := r.value(a.kwargs, s)
	if err != nil {
		return call{}, err
	}
	d, ok := v.(*Dict)
	if !ok {
		return call{}, fmt.Errorf("the value after ** must be a dict, found %s", typeName(v))
	}
	for i, key := range d.keys {
		name, ok := key.(string)
		if !ok {
			return call{}, errors.New("keywords must be strings")
		}
		if _, ok := c.kw.lookup(name); ok {
			return call{}, fmt.Errorf("got two values for the argument '%s'", name)
		}
		c.kw.Set(name, d.vals[i])
	}
	return c, nil
}

func (e *callExpr) eval(r *run, s *scope) (any, error) {
	f, err := r.value(e.function, s)
	if err != nil {
		return nil, err
	}
	c, err := e.args.call(r, s)
	if err != nil {
		return nil, at(e.pos, err)
	}
	v, err := r.invoke(f, c)
	return v, at(e.pos, err)
}

// invoke calls a value.
func (r *run) invoke(f any, c call) (any, error) {
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.leave()
	switch f := f.(type) {
	case *callable:
		return f.call(r, c)
	case *loop:
		if f.recurse == nil {
			return nil, errors.New("the loop must have the 'recursive' marker to be called recursively")
		}
		if err := c.positional("loop", 1, 1); err != nil {
			return nil, err
		}
		return f.recurse(c.args[0], f.depth0+1)
	case *joiner:
		return f.call(), c.positional("joiner", 0, 0)
	case *undefined:
		return nil, errors.New(f.message)
	}
	return nil, fmt.Errorf("'%s' object is not callable", typeName(f))
}

func (e *filterExpr) eval(r *run, s *scope) (any, error) {
	v, err := r.value(e.input, s)
	if err != nil {
		return nil, err
	}
	return e.apply(r, s, v)
}

// apply filters a value.
func (e *filterExpr) apply(r *run, s *scope, v any) (any, error) {
	f, ok := filters[e.name]
	if !ok {
		return nil, failAt(e.pos, "%s", unknownFilter(e.name))
	}
	c, err := e.args.call(r, s)
	if err != nil {
		return nil, at(e.pos, err)
	}
	out, err := f(r, v, c)
	return out, at(e.pos, err)
}

func (e *testExpr) eval(r *run, s *scope) (any, error) {
	v, err := r.value(e.input, s)
	if err != nil {
		return nil, err
	}
	t, ok := tests[e.name]
	if !ok {
		return nil, failAt(e.pos, "there is no test '%s'", e.name)
	}
	c, err := e.args.call(r, s)
	if err != nil {
		return nil, at(e.pos, err)
	}
	yes, err := t(r, v, c)
	return yes, at(e.pos, err)
}
