package script

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"

	"github.com/rlzero/rlzero/verify"
)

// maxNamed bounds the numbers that a script gives beside a score.
const maxNamed = 32

// namedShape is that of the names of such numbers.
var namedShape = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// Verdict reads what a function reward(row, completion) of a file returned: true or false, a
// number from low to high, nil for a completion that is not to be scored, or one of them with a
// reason and a map of named numbers, or either of the two after it, as a list. Numbers are
// float64; a value of any other kind is its name as a [Kind]. rule goes into the verdict.
func Verdict(file, rule string, result any, low, high float64) verify.Verdict {
	reason := "" // the script's
	var values map[string]float64
	if all, ok := result.([]any); ok && len(all) > 1 {
		rest := all[1:]
		if text, ok := rest[0].(string); ok {
			reason, rest = short(text), rest[1:]
		}
		if len(rest) == 1 {
			var why string
			if values, why = namedNumbers(rest[0]); why != "" {
				return verify.Abstain("%s: reward() returned %s", file, why)
			}
			rest = nil
		}
		if len(rest) == 0 {
			result = all[0]
		}
	}
	v := score(file, rule, result, reason, low, high)
	v.Values = values
	return v
}

// Kind is the name of a value that is no verdict, such as "function".
type Kind string

// kindOf names a value.
func kindOf(v any) string {
	switch v := v.(type) {
	case Kind:
		return string(v)
	case nil:
		return "None"
	case bool:
		return "bool"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "tuple"
	}
	return "dict"
}

// namedNumbers reads a dict of finite numbers by name; why says what is wrong with it.
func namedNumbers(value any) (named map[string]float64, why string) {
	dict, ok := value.(map[string]any)
	switch {
	case !ok:
		return nil, fmt.Sprintf("%s after the score; accepted: a text, a dict of numbers", kindOf(value))
	case len(dict) > maxNamed:
		return nil, fmt.Sprintf("%d named numbers; accepted: at most %d", len(dict), maxNamed)
	}
	named = map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(dict)) {
		x, ok := dict[name].(float64)
		if !ok || math.IsNaN(x) || math.IsInf(x, 0) || !namedShape.MatchString(name) {
			return nil, short(fmt.Sprintf("the named number %q: %s; accepted: a name of lower-case letters, digits and _, and a finite number", name, kindOf(dict[name])))
		}
		named[name] = x
	}
	return named, ""
}

// score reads the first value that a script returns.
func score(file, rule string, result any, reason string, low, high float64) verify.Verdict {
	var value float64
	switch r := result.(type) {
	case nil:
		v := verify.Abstain("%s", or(reason, file+" says None"))
		v.Rule = rule
		return v
	case bool:
		if r {
			return verify.Accept("", rule, "%s", or(reason, file+" says True"))
		}
		return verify.Reject("", rule, "%s", or(reason, file+" says False"))
	case float64:
		value = r
	default:
		return verify.Abstain("%s: reward() returned %s; accepted: a number, True, False, None, or one of them with a text, a dict of numbers, or both", file, kindOf(result))
	}
	switch {
	case !(value >= low && value <= high):
		return verify.Abstain("%s: reward() returned %v, but its range is %v to %v", file, value, low, high)
	case value == 1:
		return verify.Accept("", rule, "%s", or(reason, file+" says 1"))
	case value == 0:
		return verify.Reject("", rule, "%s", or(reason, file+" says 0"))
	}
	return verify.Verdict{Score: value, Verdict: verify.Graded, Reason: or(reason, fmt.Sprintf("%s says %v", file, value)), Rule: rule}
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
