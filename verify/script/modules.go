package script

import (
	"fmt"
	"regexp"
	"strings"

	starjson "go.starlark.net/lib/json"
	starmath "go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// Modules of scripts. What takes time with the length of a text is charged to the steps of the
// call, so that the same text costs the same everywhere: a step is about ten nanoseconds.
const (
	bytesPerStep = 4  // of JSON, and of a text that a pattern goes through once
	maxDepth     = 64 // of JSON
	maxDigits    = 4096
	maxPattern   = 1 << 10 // bytes
	maxMatches   = 10_000  // of a search for all of them
	maxPatterns  = 64      // compiled ones that a child keeps
)

func module(name string, functions starlark.StringDict) *starlarkstruct.Module {
	return &starlarkstruct.Module{Name: name, Members: functions}
}

// modules are what scripts find by name.
var modules = starlark.StringDict{
	"math": starmath.Module, // sqrt, exp, log, floor ...: pure functions
	"json": module("json", starlark.StringDict{
		"decode": starlark.NewBuiltin("json.decode", decodeJSON),
		"encode": starlark.NewBuiltin("json.encode", encodeJSON),
	}),
	"re": module("re", starlark.StringDict{
		"search":    starlark.NewBuiltin("re.search", searches("", "")),
		"match":     starlark.NewBuiltin("re.match", searches(`\A(?:`, `)`)),
		"fullmatch": starlark.NewBuiltin("re.fullmatch", searches(`\A(?:`, `)\z`)),
		"findall":   starlark.NewBuiltin("re.findall", findAll),
		"split":     starlark.NewBuiltin("re.split", split),
		"sub":       starlark.NewBuiltin("re.sub", substitute),
	}),
}

// takes charges steps to a call. The thread notices when it goes on.
func takes(t *starlark.Thread, steps int) error {
	t.Steps += uint64(max(1, steps))
	if t.Steps > maxSteps {
		return fmt.Errorf("too many steps")
	}
	return nil
}

func decodeJSON(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "text", &text); err != nil {
		return nil, err
	}
	if err := takes(t, len(text)/bytesPerStep); err != nil {
		return nil, err
	}
	if err := shallow(text); err != nil {
		return nil, err
	}
	return starlark.Call(t, starjson.Module.Members["decode"], starlark.Tuple{starlark.String(text)}, nil)
}

// shallow refuses JSON that is nested deeply, or has a number with more digits than can be
// read in no time.
func shallow(text string) error {
	depth, digits, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		digits++
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
		if c < '0' || c > '9' || quoted {
			digits = 0
		}
		if depth > maxDepth {
			return fmt.Errorf("nested deeper than %d", maxDepth)
		}
		if digits > maxDigits {
			return fmt.Errorf("a number of more than %d digits", maxDigits)
		}
	}
	return nil
}

func encodeJSON(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, starjson.Module.Members["encode"], args, kwargs)
	if err == nil {
		err = takes(t, int(bytesOf(v))/bytesPerStep)
	}
	return v, err
}

// patterns are those that this child has compiled.
var patterns = map[string]*regexp.Regexp{}

// pattern compiles an expression and charges a search of a text.
func pattern(t *starlark.Thread, expression, before, after, text string) (*regexp.Regexp, error) {
	if len(expression) > maxPattern {
		return nil, fmt.Errorf("a pattern of %d bytes; accepted: at most %d", len(expression), maxPattern)
	}
	if err := takes(t, len(text)/bytesPerStep*(1+len(expression)/16)); err != nil {
		return nil, err
	}
	whole := before + expression + after
	if re := patterns[whole]; re != nil {
		return re, nil
	}
	if _, err := regexp.Compile(expression); err != nil {
		return nil, fmt.Errorf("%s; patterns are RE2's, which has no lookaround and no backreferences", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	re, err := regexp.Compile(whole)
	if err != nil {
		return nil, err
	}
	if len(patterns) == maxPatterns {
		clear(patterns)
	}
	patterns[whole] = re
	return re, nil
}

// groups are the text that matched and its groups, None for one that took no part.
func groups(text string, at []int) starlark.Tuple {
	all := make(starlark.Tuple, len(at)/2)
	for i := range all {
		all[i] = starlark.None
		if at[2*i] >= 0 {
			all[i] = starlark.String(text[at[2*i]:at[2*i+1]])
		}
	}
	return all
}

func searches(before, after string) func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var expression, text string
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &expression, "text", &text); err != nil {
			return nil, err
		}
		re, err := pattern(t, expression, before, after, text)
		if err != nil {
			return nil, err
		}
		at := re.FindStringSubmatchIndex(text)
		if at == nil {
			return starlark.None, nil
		}
		return groups(text, at), nil
	}
}

// every finds all matches. Each may look at the rest of the text.
func every(t *starlark.Thread, re *regexp.Regexp, text string) ([][]int, error) {
	all := re.FindAllStringSubmatchIndex(text, maxMatches+1)
	if len(all) > maxMatches {
		return nil, fmt.Errorf("more than %d matches", maxMatches)
	}
	return all, takes(t, len(all)*(1+len(text)/256))
}

func findAll(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var expression, text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &expression, "text", &text); err != nil {
		return nil, err
	}
	re, err := pattern(t, expression, "", "", text)
	if err != nil {
		return nil, err
	}
	found, err := every(t, re, text)
	if err != nil {
		return nil, err
	}
	all := make([]starlark.Value, len(found))
	for i, at := range found {
		switch g := groups(text, at); len(g) {
		case 1:
			all[i] = g[0]
		case 2:
			all[i] = g[1]
		default:
			all[i] = g[1:]
		}
	}
	return starlark.NewList(all), nil
}

func split(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var expression, text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &expression, "text", &text); err != nil {
		return nil, err
	}
	re, err := pattern(t, expression, "", "", text)
	if err != nil {
		return nil, err
	}
	found, err := every(t, re, text)
	if err != nil {
		return nil, err
	}
	var all []starlark.Value
	from := 0
	for _, at := range found {
		all = append(all, starlark.String(text[from:at[0]]))
		from = at[1]
	}
	return starlark.NewList(append(all, starlark.String(text[from:]))), nil
}

// reference is a group in a replacement, as Python writes it.
var reference = regexp.MustCompile(`\\(\d|g<(\w+)>|\\)`)

func substitute(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var expression, replacement, text string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "pattern", &expression, "replacement", &replacement, "text", &text); err != nil {
		return nil, err
	}
	re, err := pattern(t, expression, "", "", text)
	if err != nil {
		return nil, err
	}
	found, err := every(t, re, text)
	if err != nil {
		return nil, err
	}
	form := reference.ReplaceAllStringFunc(strings.ReplaceAll(replacement, "$", "$$"), func(r string) string {
		switch {
		case r == `\\`:
			return `\`
		case r[1] == 'g':
			return "${" + r[3:len(r)-1] + "}"
		}
		return "${" + r[1:] + "}"
	})
	var out []byte
	from := 0
	for _, at := range found {
		out = re.ExpandString(append(out, text[from:at[0]]...), form, text, at)
		from = at[1]
		if len(out) > maxGrowth {
			return nil, fmt.Errorf("more than %d MiB made", maxGrowth>>20)
		}
	}
	out = append(out, text[from:]...)
	return starlark.String(out), takes(t, len(out)/bytesPerStep)
}
