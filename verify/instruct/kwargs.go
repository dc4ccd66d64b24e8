package instruct

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// kwargs are the arguments of one instruction, from its task row. The first
// that is missing or of another kind than asked is kept in err: where the
// original would then draw a value at random or raise, ours does not score.
type kwargs struct {
	values map[string]json.RawMessage
	err    error
	steps  *int // that the completion's patterns may still take, all together
}

// readKwargs reads a JSON object; a JSON string that holds one is accepted, as
// some data sets store it so. A null value counts as absent.
func readKwargs(raw json.RawMessage) (*kwargs, error) {
	var packed string
	if json.Unmarshal(raw, &packed) == nil && packed != "" {
		raw = json.RawMessage(packed)
	}
	k := &kwargs{}
	if len(raw) == 0 {
		return k, nil
	}
	if err := json.Unmarshal(raw, &k.values); err != nil {
		return nil, fmt.Errorf(`"kwargs" of the row is %s; accepted: an object`, quote(string(raw)))
	}
	return k, nil
}

func (k *kwargs) fail(format string, args ...any) {
	if k.err == nil {
		k.err = fmt.Errorf(format, args...)
	}
}

// read decodes one value into dst and says whether it is there.
func (k *kwargs) read(name string, dst any, accepted string) bool {
	raw, ok := k.values[name]
	if !ok || string(raw) == "null" {
		return false
	}
	if json.Unmarshal(raw, dst) != nil {
		k.fail("kwargs: %s is %s; accepted: %s", name, quote(string(raw)), accepted)
		return false
	}
	return true
}

func (k *kwargs) missing(name, accepted string) {
	k.fail("kwargs lacks %s; accepted: %s", name, accepted)
}

// integer is a whole number of at least low.
func (k *kwargs) integer(name string, low int) int {
	accepted := fmt.Sprintf("a whole number of %d or more", low)
	if low == math.MinInt32 {
		accepted = "a whole number"
	}
	var v float64
	if !k.read(name, &v, accepted) {
		k.missing(name, accepted)
		return 0
	}
	if v != math.Trunc(v) || v < float64(low) || v > math.MaxInt32 {
		k.fail("kwargs: %s is %v; accepted: %s", name, v, accepted)
		return 0
	}
	return int(v)
}

// percentage is a number of at least 0.
func (k *kwargs) percentage(name string) float64 {
	const accepted = "a number of 0 or more"
	var v float64
	if !k.read(name, &v, accepted) {
		k.missing(name, accepted)
	} else if v < 0 {
		k.fail("kwargs: %s is %v; accepted: %s", name, v, accepted)
	}
	return v
}

// text is a string that is not empty.
func (k *kwargs) text(name string) string {
	const accepted = "a string that is not empty"
	var v string
	if !k.read(name, &v, accepted) || v == "" {
		k.missing(name, accepted)
	}
	return toValid(v)
}

// word is text without white space at its ends.
func (k *kwargs) word(name string) string { return strip(k.text(name)) }

// firstWord is a word, or the first of a list of words.
func (k *kwargs) firstWord(name string) string {
	var list []string
	if raw, ok := k.values[name]; ok && strings.HasPrefix(strings.TrimSpace(string(raw)), "[") {
		if k.read(name, &list, "a string or a list of strings") && len(list) > 0 {
			return strip(toValid(list[0]))
		}
	}
	return k.word(name)
}

// texts is a list of strings with at least one entry.
func (k *kwargs) texts(name string) []string {
	const accepted = "a list of strings"
	var v []string
	if !k.read(name, &v, accepted) || len(v) == 0 {
		k.missing(name, accepted)
	}
	for i := range v {
		v[i] = toValid(v[i])
	}
	return v
}

// relation reads one of the two comparisons that IFEval knows.
func (k *kwargs) relation(name string) comparison {
	v := comparison(k.text(name))
	if v != atLeast && v != lessThan && k.err == nil {
		k.fail("kwargs: %s is %s; accepted: %q and %q", name, quote(string(v)), lessThan, atLeast)
	}
	return v
}

// pattern compiles a keyword that the original uses as a regular expression.
func (k *kwargs) pattern(name, python string, ignoreCase bool) *pattern {
	if k.err != nil {
		return nil
	}
	p, err := newPattern(python, ignoreCase)
	if err != nil {
		k.fail("kwargs: %s is used as a regular expression: %w", name, err)
		return nil
	}
	p.steps = k.steps
	return p
}

// comparison is a relation of counts.
type comparison string

const (
	atLeast  comparison = "at least"
	lessThan comparison = "less than"
)

// holds says whether n stands in this relation to asked.
func (c comparison) holds(n, asked int) bool {
	if c == lessThan {
		return n < asked
	}
	return n >= asked
}
