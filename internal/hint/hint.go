package hint

import (
	"fmt"
	"slices"
)

type hinted struct {
	error
	hint  string
	alone bool // in place of those of error
}

func (h hinted) Unwrap() error { return h.error }

// With returns err with a hint. The text of the error stays as it is; nil stays
// nil.
func With(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hinted{err, fmt.Sprintf(format, args...), false}
}

// Instead is With where the hint takes the place of those that err has.
func Instead(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hinted{err, fmt.Sprintf(format, args...), true}
}

// All returns the hints of an error and of those that it wraps, each once, the
// innermost first.
func All(err error) []string {
	h, ok := err.(hinted)
	if ok && h.alone {
		return []string{h.hint}
	}
	var hints []string
	add := func(more ...string) {
		for _, h := range more {
			if !slices.Contains(hints, h) {
				hints = append(hints, h)
			}
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		add(All(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			add(All(inner)...)
		}
	}
	if ok {
		add(h.hint)
	}
	return hints
}
