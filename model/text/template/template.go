package template

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Template is a parsed template. It is immutable and safe for use by several
// goroutines.
type Template struct {
	source string // with normal line ends
	body   []stmt
}

// maxSource bounds the source; the longest chat template in use has 20 kB.
const maxSource = 1 << 20

// Parse reads a template. An error is an [*Error] with the place of the fault.
func Parse(source string) (*Template, error) {
	t := &Template{source: normalize(source)}
	if len(source) > maxSource {
		return nil, t.place(0, fmt.Sprintf("the template has %d bytes, accepted: up to %d", len(source), maxSource))
	}
	if !utf8.ValidString(source) {
		return nil, t.place(0, "the template is not valid UTF-8")
	}
	tokens, err := lex(t.source)
	if err == nil {
		t.body, err = parse(tokens)
	}
	if err != nil {
		return nil, t.fault(err)
	}
	return t, nil
}

// Today is the date that strftime_now writes where none is given: what a run makes
// is a function of its recipe, not of the day.
var Today = time.Date(2025, time.July, 26, 0, 0, 0, 0, time.UTC)

// Options of a rendering. The zero value is fine.
type Options struct {
	Now    time.Time // for strftime_now; Today if zero
	Limits Limits
}

// Result is a rendered text.
type Result struct {
	Text string

	// Assistant are the parts of the text that {% generation %} blocks wrote, in
	// order: bytes that the assistant is trained on.
	Assistant []Span

	// Lost says where a generation block stands whose text went through a macro, a
	// call, a filter or a set block, so that its place in the text is unknown. It is
	// nil if every place is known.
	Lost *Error
}

// Render renders a template with variables, whose values are those of [DecodeJSON]
// or nil, bool, int64, float64, string and [*Dict]. An error is an [*Error].
func (t *Template) Render(vars map[string]any, o Options) (Result, error) {
	if o.Now.IsZero() {
		o.Now = Today
	}
	if o.Limits.Steps == 0 {
		o.Limits.Steps = defaultSteps
	}
	if o.Limits.Bytes == 0 {
		o.Limits.Bytes = defaultBytes
	}
	var out strings.Builder
	r := &run{t: t, limits: o.Limits, now: o.Now, out: &out}
	r.root = &scope{parent: &scope{vars: vars, parent: &scope{vars: globals()}}}
	if err := r.exec(t.body, r.root); err != nil {
		return Result{}, t.fault(err)
	}
	return Result{out.String(), r.spans, r.lost}, nil
}

// fault gives an error its line and column.
func (t *Template) fault(err error) *Error {
	var p *placed
	if !errors.As(err, &p) {
		p = &placed{text: err.Error()}
	}
	e := t.place(p.pos, p.text)
	e.Raised, e.Limit = p.raised, p.limit
	return e
}
