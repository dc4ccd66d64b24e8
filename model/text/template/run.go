package template

import (
	"fmt"
	"strings"
	"time"
)

// run is one rendering. It belongs to one goroutine.
type run struct {
	t      *Template
	limits Limits
	now    time.Time
	root   *scope // top-level variables

	steps, bytes, depth int

	out      *strings.Builder // what is written now
	captured int              // open blocks whose text goes into a value
	spans    []Span           // of {% generation %}, in bytes of the text
	lost     *Error           // a generation block whose place in the text is unknown
}

// Limits bound a rendering. Zero fields have the default.
type Limits struct {
	Steps int // evaluations, and 32 bytes that are looked at count as one; 20,000,000 if 0
	Bytes int // strings and lists that are made, together; 256 MiB if 0
}

const (
	defaultSteps = 20_000_000
	defaultBytes = 256 << 20
	maxDepth     = 3000 // of nested evaluation: macros that call themselves, lists in lists
	valueSize    = 16   // bytes that an item of a list counts
	maxRange     = 100_000
	maxBits      = 1 << 14 // of an integer
	maxDigits    = 4300    // of an integer that is read; Python's limit
)

// scope holds the variables of a block. Names are looked up outwards.
type scope struct {
	vars   map[string]any
	parent *scope
}

func (s *scope) inner() *scope { return &scope{parent: s} }

func (s *scope) set(name string, v any) {
	if s.vars == nil {
		s.vars = map[string]any{}
	}
	s.vars[name] = v
}

func (s *scope) get(name string) any {
	for ; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	return undefinedf("'%s' is undefined", name)
}

// work counts bytes that are looked at, or items.
func (r *run) work(n int) error {
	r.steps += 1 + n/32
	if r.steps > r.limits.Steps {
		return limitf("the template takes more than %d steps; does it loop without end?", r.limits.Steps)
	}
	return nil
}

// grow counts bytes that are about to be made.
func (r *run) grow(n int) error {
	if n < 0 || n > r.limits.Bytes-r.bytes {
		return limitf("the template makes more than %d bytes of text and lists", r.limits.Bytes)
	}
	r.bytes += n
	return r.work(n)
}

// enter counts a level of nesting; leave is its end.
func (r *run) enter() error {
	if r.depth++; r.depth > maxDepth {
		return limitf("the template nests deeper than %d levels", maxDepth)
	}
	return r.work(0)
}

func (r *run) leave() { r.depth-- }

// write appends text to what is written now.
func (r *run) write(s string) error {
	if err := r.grow(len(s)); err != nil {
		return err
	}
	r.out.WriteString(s)
	return nil
}

// capture returns the text that do writes.
func (r *run) capture(do func() error) (string, error) {
	before := r.out
	r.out = &strings.Builder{}
	r.captured++
	err := do()
	text := r.out.String()
	r.out = before
	r.captured--
	return text, err
}

// Error is a fault of a template or of what it was given, with its place.
type Error struct {
	Line, Column int // from 1; columns count characters
	Message      string
	Raised       bool // by the template itself, with raise_exception
	Limit        bool // a bound of Limits was met
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// placed is an error that knows its byte in the source.
type placed struct {
	pos    int
	text   string
	raised bool
	limit  bool
}

func (p *placed) Error() string { return p.text }

func failAt(pos int, format string, args ...any) error {
	return &placed{pos: pos, text: fmt.Sprintf(format, args...)}
}

func limitf(format string, args ...any) error {
	return &placed{pos: -1, text: fmt.Sprintf(format, args...), limit: true}
}

// at gives an error its place unless it has one.
func at(pos int, err error) error {
	switch p := err.(type) {
	case nil:
		return nil
	case *placed:
		if p.pos < 0 {
			p.pos = pos
		}
		return p
	}
	if err == errBreak || err == errContinue {
		return err
	}
	return &placed{pos: pos, text: err.Error()}
}
