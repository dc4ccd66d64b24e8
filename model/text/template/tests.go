package template

import (
	"errors"
	"fmt"
	"math/big"
	"unicode"
)

// test is what stands after "is".
type test func(r *run, v any, c call) (bool, error)

// tests are Jinja's: https://jinja.palletsprojects.com/en/stable/templates/#builtin-tests
var tests map[string]test

func init() { // a table that refers to functions that refer to it
	tests = map[string]test{
		"boolean": check(func(v any) bool { _, ok := v.(bool); return ok }),
		"callable": check(func(v any) bool {
			switch v.(type) {
			case *callable, *loop, *joiner, *undefined:
				return true
			}
			return false
		}),
		"defined":     check(func(v any) bool { return !isUndefined(v) }),
		"undefined":   check(isUndefined),
		"none":        check(func(v any) bool { return v == nil }),
		"true":        check(func(v any) bool { return v == true }),
		"false":       check(func(v any) bool { return v == false }),
		"string":      check(func(v any) bool { _, ok := v.(string); return ok }),
		"mapping":     check(func(v any) bool { _, ok := v.(*Dict); return ok }),
		"float":       check(func(v any) bool { _, ok := v.(float64); return ok }),
		"integer":     check(isInteger),
		"number":      check(func(v any) bool { _, ok := asFloat(v); return ok }),
		"iterable":    check(func(v any) bool { _, err := iterate(v); return err == nil }),
		"sequence":    check(isSequence),
		"escaped":     check(func(any) bool { return false }),
		"lower":       caseTest(unicode.IsLower, unicode.IsUpper),
		"upper":       caseTest(unicode.IsUpper, unicode.IsLower),
		"odd":         remainder("odd", 2, 1),
		"even":        remainder("even", 2, 0),
		"divisibleby": divisible,
		"filter":      known(func(name string) bool { _, ok := filters[name]; return ok }),
		"test":        known(func(name string) bool { _, ok := tests[name]; return ok }),
		"sameas": func(_ *run, v any, c call) (bool, error) {
			if err := c.positional("sameas", 1, 1); err != nil {
				return false, err
			}
			return v == c.args[0], nil
		},
	}
	for op, names := range map[string][]string{"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, "in": {"in"},
		"<": {"<", "lt", "lessthan"}, "<=": {"<=", "le"}, ">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"}} {
		for _, name := range names {
			tests[name] = func(r *run, v any, c call) (bool, error) {
				if err := c.positional(name, 1, 1); err != nil {
					return false, err
				}
				return r.compare(op, v, c.args[0])
			}
		}
	}
}

// check is a test without arguments.
func check(f func(v any) bool) test {
	return func(_ *run, v any, c call) (bool, error) {
		return f(v), c.positional("the test", 0, 0)
	}
}

func isUndefined(v any) bool {
	_, ok := v.(*undefined)
	return ok
}

func isInteger(v any) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

func isSequence(v any) bool {
	switch v.(type) {
	case string, *list, *tuple, *Dict, *span, *undefined:
		return true
	}
	return false
}

func caseTest(want, not func(rune) bool) test {
	return func(r *run, v any, c call) (bool, error) {
		s, err := r.str(v)
		return isCase(s, want, not), firstError(err, c.positional("the test", 0, 0))
	}
}

// remainder tests value % by == want.
func remainder(name string, by, want int64) test {
	return func(r *run, v any, c call) (bool, error) {
		if err := c.positional(name, 0, 0); err != nil {
			return false, err
		}
		if _, ok := asFloat(v); !ok && !isUndefined(v) {
			return false, fmt.Errorf("the test '%s' needs a number, found %s", name, typeName(v))
		}
		rest, err := r.arithmetic("%", v, by)
		if err != nil {
			return false, err
		}
		return r.equal(rest, want)
	}
}

func divisible(r *run, v any, c call) (bool, error) {
	values, _, err := c.params("divisibleby", "num")
	if err != nil {
		return false, err
	}
	if _, ok := v.(string); ok {
		return false, errors.New("the test 'divisibleby' needs a number, found str")
	}
	rest, err := r.arithmetic("%", v, values[0])
	if err != nil {
		return false, err
	}
	return r.equal(rest, int64(0))
}

func known(is func(name string) bool) test {
	return func(_ *run, v any, c call) (bool, error) {
		name, ok := v.(string)
		return ok && is(name), c.positional("the test", 0, 0)
	}
}
