package template

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// stmt is a statement. exec writes its text and changes its scope.
type stmt interface {
	exec(r *run, s *scope) error
}

type (
	data   struct{ text string }
	output struct { // {{ value }}
		pos   int
		value expr
	}
	ifStmt struct {
		tests  []expr
		bodies [][]stmt // one more than tests if there is an else
	}
	forStmt struct {
		pos       int
		target    target
		in        expr
		filter    expr // nil without one
		recursive bool
		body      []stmt
		empty     []stmt // else
	}
	setStmt struct {
		pos    int
		target target
		value  expr
	}
	setBlock struct {
		pos     int
		target  target
		filters []*filterExpr
		body    []stmt
	}
	withStmt struct {
		targets []target
		values  []expr
		body    []stmt
	}
	filterBlock struct {
		filters []*filterExpr
		body    []stmt
	}
	scopeStmt struct { // autoescape
		body []stmt
	}
	blockStmt struct { // block: it sees top-level variables
		scoped bool
		body   []stmt
	}
	macroStmt struct{ macro *macro }
	callBlock struct {
		pos    int
		caller *macro
		call   *callExpr
	}
	generation struct {
		pos  int
		body []stmt
	}
	jump struct{ err error } // break, continue
)

var (
	errBreak    = errors.New("break is outside a loop")
	errContinue = errors.New("continue is outside a loop")
)

func (r *run) exec(body []stmt, s *scope) error {
	for _, st := range body {
		if err := r.enter(); err != nil {
			return err
		}
		err := st.exec(r, s)
		r.leave()
		if err != nil {
			return err
		}
	}
	return nil
}

func (st *data) exec(r *run, _ *scope) error { return r.write(st.text) }

func (st *output) exec(r *run, s *scope) error {
	v, err := r.value(st.value, s)
	if err != nil {
		return at(st.pos, err)
	}
	text, err := r.str(v)
	if err != nil {
		return at(st.pos, err)
	}
	return at(st.pos, r.write(text))
}

func (st *ifStmt) exec(r *run, s *scope) error {
	for i, test := range st.tests {
		v, err := r.value(test, s)
		if err != nil {
			return err
		}
		if truth(v) {
			return r.exec(st.bodies[i], s)
		}
	}
	if len(st.bodies) > len(st.tests) {
		return r.exec(st.bodies[len(st.tests)], s)
	}
	return nil
}

// target is what an assignment sets: a name, an attribute of a namespace, or a
// tuple of targets.
type target struct {
	pos   int
	name  string
	attr  string   // of the namespace name
	parts []target // a tuple; nil for a name
}

func (t *target) assign(r *run, s *scope, v any) error {
	switch {
	case t.parts != nil:
		items, err := r.all(v)
		if err == nil && len(items) != len(t.parts) {
			err = fmt.Errorf("found %d values to unpack, expected %d", len(items), len(t.parts))
		}
		if err != nil {
			return at(t.pos, err)
		}
		for i := range t.parts {
			if err := t.parts[i].assign(r, s, items[i]); err != nil {
				return err
			}
		}
	case t.attr != "":
		ns, ok := s.get(t.name).(*namespace)
		if !ok {
			return failAt(t.pos, "cannot assign attribute on non-namespace object '%s'", t.name)
		}
		ns.attrs.Set(t.attr, v)
	default:
		s.set(t.name, v)
	}
	return nil
}

func (st *setStmt) exec(r *run, s *scope) error {
	v, err := r.value(st.value, s)
	if err != nil {
		return at(st.pos, err)
	}
	return st.target.assign(r, s, v)
}

func (st *setBlock) exec(r *run, s *scope) error {
	inner := s.inner()
	v, err := r.filtered(st.body, st.filters, inner)
	if err != nil {
		return err
	}
	return st.target.assign(r, s, v)
}

// filtered is the text of a body after filters.
func (r *run) filtered(body []stmt, filters []*filterExpr, s *scope) (any, error) {
	text, err := r.capture(func() error { return r.exec(body, s) })
	if err != nil {
		return nil, err
	}
	var v any = text
	for _, f := range filters {
		if v, err = f.apply(r, s, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (st *withStmt) exec(r *run, s *scope) error {
	values, err := r.values(st.values, s)
	if err != nil {
		return err
	}
	inner := s.inner()
	for i := range st.targets {
		if err := st.targets[i].assign(r, inner, values[i]); err != nil {
			return err
		}
	}
	return r.exec(st.body, inner)
}

func (st *filterBlock) exec(r *run, s *scope) error {
	v, err := r.filtered(st.body, st.filters, s.inner())
	if err != nil {
		return err
	}
	text, err := r.str(v)
	if err != nil {
		return err
	}
	return r.write(text)
}

func (st *scopeStmt) exec(r *run, s *scope) error { return r.exec(st.body, s.inner()) }

func (st *blockStmt) exec(r *run, s *scope) error {
	if !st.scoped {
		s = r.root
	}
	return r.exec(st.body, s.inner())
}

func (st *jump) exec(*run, *scope) error { return st.err }

// Span is a part of a text, in bytes: text[Start:End].
type Span struct{ Start, End int }

func (st *generation) exec(r *run, s *scope) error {
	if r.captured > 0 {
		if r.lost == nil {
			e := r.t.place(st.pos, "")
			r.lost = e
		}
		return r.exec(st.body, s.inner())
	}
	start := r.out.Len()
	err := r.exec(st.body, s.inner())
	r.spans = append(r.spans, Span{start, r.out.Len()})
	return err
}

// macro is a macro or the body of a call block.
type macro struct {
	pos      int
	name     string
	params   []string
	defaults []expr // of the last parameters
	body     []stmt
	uses     map[string]bool // those of caller, varargs and kwargs that the body uses
}

// bind makes the macro a value that sees the variables of a scope.
func (m *macro) bind(s *scope) *callable {
	args := make([]any, len(m.params))
	for i, p := range m.params {
		args[i] = p
	}
	return &callable{kind: "Macro", name: m.name,
		call: func(r *run, c call) (any, error) { return m.run(r, s.inner(), c) },
		attr: map[string]any{"name": m.name, "arguments": &tuple{items: args}, "caller": m.uses["caller"],
			"catch_kwargs": m.uses["kwargs"], "catch_varargs": m.uses["varargs"]}}
}

func (m *macro) run(r *run, s *scope, c call) (any, error) {
	given := len(c.args)
	kw := NewDict()
	if c.kw != nil {
		for i, key := range c.kw.keys {
			if k := slices.Index(m.params, key.(string)); k >= min(given, len(m.params)) {
				s.set(key.(string), c.kw.vals[i])
			} else {
				kw.Set(key.(string), c.kw.vals[i])
			}
		}
	}
	for i, param := range m.params {
		if i < given {
			s.set(param, c.args[i])
			continue
		}
		if _, ok := s.own(param); ok {
			continue
		}
		s.set(param, undefinedf("parameter '%s' was not provided", param))
		if k := i - (len(m.params) - len(m.defaults)); k >= 0 {
			v, err := r.value(m.defaults[k], s)
			if err != nil {
				return nil, err
			}
			s.set(param, v)
		}
	}
	if err := m.special(s, c, kw); err != nil {
		return nil, err
	}
	return r.capture(func() error { return r.exec(m.body, s) })
}

// special sets caller, varargs and kwargs for a body that uses them and refuses
// arguments that are left over otherwise.
func (m *macro) special(s *scope, c call, kw *Dict) error {
	if m.uses["caller"] && !slices.Contains(m.params, "caller") {
		var caller any = undefinedf("No caller defined")
		if v, ok := kw.Get("caller"); ok {
			caller, kw = v, kw.without("caller")
		}
		s.set("caller", caller)
	}
	switch {
	case m.uses["kwargs"]:
		s.set("kwargs", kw)
	case len(kw.keys) > 0:
		return fmt.Errorf("macro '%s' takes no keyword argument '%s'", m.name, kw.keys[0])
	}
	extra := c.args[min(len(c.args), len(m.params)):]
	switch {
	case m.uses["varargs"]:
		s.set("varargs", &tuple{items: extra})
	case len(extra) > 0:
		return fmt.Errorf("macro '%s': found %d arguments, accepted: at most %d", m.name, len(c.args), len(m.params))
	}
	return nil
}

func (d *Dict) without(name string) *Dict {
	out := NewDict()
	for i, key := range d.keys {
		if key != name {
			out.Set(key.(string), d.vals[i])
		}
	}
	return out
}

func (st *macroStmt) exec(_ *run, s *scope) error {
	s.set(st.macro.name, st.macro.bind(s))
	return nil
}

func (st *callBlock) exec(r *run, s *scope) error {
	f, err := r.value(st.call.function, s)
	if err != nil {
		return err
	}
	c, err := st.call.args.call(r, s)
	if err != nil {
		return at(st.pos, err)
	}
	if c.kw == nil {
		c.kw = NewDict()
	}
	c.kw.Set("caller", st.caller.bind(s))
	v, err := r.invoke(f, c)
	if err != nil {
		return at(st.pos, err)
	}
	text, err := r.str(v)
	if err != nil {
		return at(st.pos, err)
	}
	return at(st.pos, r.write(text))
}

// place is a position of the source as line and column.
func (t *Template) place(pos int, message string) *Error {
	e := &Error{Line: 1, Column: 1, Message: message}
	for i, c := range t.source {
		if i >= pos {
			break
		}
		if e.Column++; c == '\n' {
			e.Line, e.Column = e.Line+1, 1
		}
	}
	if !utf8.ValidString(message) {
		e.Message = fmt.Sprintf("%q", message)
	}
	return e
}
