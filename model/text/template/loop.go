package template

import (
	"errors"
)

// loop is the variable of that name in a for loop. The iterable is read ahead by
// one item, and whole if the template asks for the length.
type loop struct {
	r       *run
	next    func() (any, bool, error)
	ahead   []any // read and not yet used
	ended   bool
	failed  error // met while reading ahead
	index0  int
	depth0  int
	current any
	before  any
	changed *tuple // what loop.changed saw last
	recurse func(v any, depth int) (any, error)
}

func (st *forStmt) exec(r *run, s *scope) error {
	v, err := r.value(st.in, s)
	if err != nil {
		return err
	}
	return st.run(r, s, v, 0)
}

// run is one loop over a value, with the depth of a recursive one.
func (st *forStmt) run(r *run, s *scope, v any, depth int) error {
	it, err := iterate(v)
	if err != nil {
		return at(st.pos, err)
	}
	l := &loop{r: r, next: it.next, index0: -1, depth0: depth}
	if st.filter != nil {
		l.next = st.filtered(r, s, it)
	}
	if st.recursive {
		l.recurse = func(v any, depth int) (any, error) {
			return r.capture(func() error { return st.run(r, s, v, depth) })
		}
	}
	for {
		item, ok, err := l.step()
		if err != nil {
			return at(st.pos, err)
		}
		if !ok {
			break
		}
		inner := s.inner()
		inner.set("loop", l)
		if err := st.target.assign(r, inner, item); err != nil {
			return err
		}
		switch err := r.exec(st.body, inner); err {
		case nil, errContinue:
		case errBreak:
			return nil
		default:
			return err
		}
	}
	if l.index0 < 0 {
		return r.exec(st.empty, s.inner())
	}
	return nil
}

// filtered are the items that meet the condition of {% for ... if ... %}.
func (st *forStmt) filtered(r *run, s *scope, it *iterator) func() (any, bool, error) {
	return func() (any, bool, error) {
		for {
			item, ok, err := it.next()
			if err != nil || !ok {
				return nil, false, err
			}
			inner := s.inner()
			inner.set("loop", undefinedf("'loop' is undefined: the condition of a loop cannot use it"))
			if err := st.target.assign(r, inner, item); err != nil {
				return nil, false, err
			}
			v, err := r.value(st.filter, inner)
			if err != nil {
				return nil, false, err
			}
			if truth(v) {
				return item, true, nil
			}
		}
	}
}

// fetch reads one item ahead.
func (l *loop) fetch() bool {
	if l.ended {
		return false
	}
	item, ok, err := l.next()
	if err == nil && ok {
		err = l.r.grow(valueSize)
	}
	if err != nil || !ok {
		l.ended, l.failed = true, err
		return false
	}
	l.ahead = append(l.ahead, item)
	return true
}

// step goes to the next item.
func (l *loop) step() (any, bool, error) {
	if len(l.ahead) == 0 && !l.fetch() {
		return nil, false, l.failed
	}
	l.before, l.current = l.current, l.ahead[0]
	l.ahead = l.ahead[1:]
	l.index0++
	return l.current, true, nil
}

func (l *loop) length() int {
	for l.fetch() {
	}
	return l.index0 + 1 + len(l.ahead)
}

// attribute is an attribute of loop:
// https://jinja.palletsprojects.com/en/stable/templates/#for
func (l *loop) attribute(name string) (any, bool) {
	switch name {
	case "index":
		return int64(l.index0 + 1), true
	case "index0":
		return int64(l.index0), true
	case "revindex":
		return int64(l.length() - l.index0), true
	case "revindex0":
		return int64(l.length() - l.index0 - 1), true
	case "first":
		return l.index0 == 0, true
	case "last":
		return len(l.ahead) == 0 && !l.fetch(), true
	case "length":
		return int64(l.length()), true
	case "depth":
		return int64(l.depth0 + 1), true
	case "depth0":
		return int64(l.depth0), true
	case "previtem":
		if l.index0 == 0 {
			return undefinedf("there is no previous item"), true
		}
		return l.before, true
	case "nextitem":
		if len(l.ahead) == 0 && !l.fetch() {
			return undefinedf("there is no next item"), true
		}
		return l.ahead[0], true
	case "cycle":
		return function("cycle", l.cycle), true
	case "changed":
		return function("changed", l.hasChanged), true
	}
	return nil, false
}

func function(name string, f func(r *run, c call) (any, error)) *callable {
	return &callable{kind: "function", name: name, call: f}
}

func (l *loop) cycle(_ *run, c call) (any, error) {
	if len(c.args) == 0 {
		return nil, errors.New("no items for cycling given")
	}
	return c.args[l.index0%len(c.args)], nil
}

func (l *loop) hasChanged(r *run, c call) (any, error) {
	now := &tuple{items: c.args}
	if l.changed != nil {
		if same, err := r.equal(l.changed, now); same || err != nil {
			return false, err
		}
	}
	l.changed = now
	return true, nil
}

// joiner gives nothing when it is first called and its separator afterwards.
type joiner struct {
	separator any
	used      bool
}

func (j *joiner) call() any {
	if !j.used {
		j.used = true
		return ""
	}
	return j.separator
}

// cycler gives its items in turn.
type cycler struct {
	items []any
	pos   int
}

func (c *cycler) attribute(name string) (any, bool) {
	switch name {
	case "current":
		return c.items[c.pos], true
	case "next":
		return function("next", func(*run, call) (any, error) {
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v, nil
		}), true
	case "reset":
		return function("reset", func(*run, call) (any, error) {
			c.pos = 0
			return nil, nil
		}), true
	}
	return nil, false
}
