package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

type strMethod = func(r *run, s string, c call) (any, error)

// strMethods are the methods of strings:
// https://docs.python.org/3/library/stdtypes.html#string-methods
var strMethods map[string]strMethod

func init() { // a table that refers to functions that refer to it
	strMethods = map[string]strMethod{
		"strip":        strip("strip", true, true),
		"lstrip":       strip("lstrip", true, false),
		"rstrip":       strip("rstrip", false, true),
		"upper":        change("upper", upper),
		"lower":        change("lower", lower),
		"casefold":     change("casefold", func(s string) string { return cases.Fold().String(s) }),
		"capitalize":   change("capitalize", capitalize),
		"title":        change("title", title),
		"swapcase":     change("swapcase", swapCase),
		"split":        split,
		"rsplit":       rsplit,
		"splitlines":   splitLinesMethod,
		"partition":    partition("partition", strings.Index),
		"rpartition":   partition("rpartition", strings.LastIndex),
		"startswith":   affix("startswith", strings.HasPrefix),
		"endswith":     affix("endswith", strings.HasSuffix),
		"removeprefix": remove("removeprefix", strings.TrimPrefix),
		"removesuffix": remove("removesuffix", strings.TrimSuffix),
		"replace":      replaceMethod,
		"find":         find("find", strings.Index, false),
		"rfind":        find("rfind", strings.LastIndex, false),
		"index":        find("index", strings.Index, true),
		"rindex":       find("rindex", strings.LastIndex, true),
		"count":        count,
		"join":         join,
		"center":       pad("center"),
		"ljust":        pad("ljust"),
		"rjust":        pad("rjust"),
		"zfill":        zfill,
		"expandtabs":   expandTabs,
		"format":       func(r *run, s string, c call) (any, error) { return r.format(s, c.args, c.kw) },
		"isdigit":      isAll("isdigit", func(c rune) bool { return unicode.In(c, unicode.Nd) || isSuperscript(c) }),
		"isdecimal":    isAll("isdecimal", func(c rune) bool { return unicode.In(c, unicode.Nd) }),
		"isnumeric":    isAll("isnumeric", unicode.IsNumber),
		"isalpha":      isAll("isalpha", unicode.IsLetter),
		"isalnum":      isAll("isalnum", func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }),
		"isspace":      isAll("isspace", isSpace),
		"isascii": is("isascii", func(s string) bool {
			return !strings.ContainsFunc(s, func(c rune) bool { return c > unicode.MaxASCII })
		}),
		"isprintable":  is("isprintable", func(s string) bool { return !strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) }),
		"isupper":      is("isupper", func(s string) bool { return isCase(s, unicode.IsUpper, unicode.IsLower) }),
		"islower":      is("islower", func(s string) bool { return isCase(s, unicode.IsLower, unicode.IsUpper) }),
		"istitle":      is("istitle", isTitle),
		"isidentifier": is("isidentifier", isIdentifier),
	}
}

func upper(s string) string { return cases.Upper(language.Und).String(s) }
func lower(s string) string { return cases.Lower(language.Und).String(s) }

// change is a method without arguments that makes a string of about the same size.
func change(name string, f func(string) string) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 0, 0); err != nil {
			return nil, err
		}
		return f(s), r.grow(2 * len(s))
	}
}

// is is a method without arguments that answers yes or no.
func is(name string, f func(string) bool) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 0, 0); err != nil {
			return nil, err
		}
		return f(s), r.work(len(s))
	}
}

func isAll(name string, f func(rune) bool) strMethod {
	return is(name, func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return !f(c) })
	})
}

func isSuperscript(c rune) bool {
	return c == 0xb2 || c == 0xb3 || c == 0xb9 || c >= 0x2070 && c <= 0x2089
}

func isCase(s string, want, not func(rune) bool) bool {
	return strings.ContainsFunc(s, want) && !strings.ContainsFunc(s, not)
}

func isTitle(s string) bool {
	found, inWord := false, false
	for _, c := range s {
		switch {
		case unicode.IsUpper(c) || unicode.IsTitle(c):
			if inWord {
				return false
			}
			found, inWord = true, true
		case unicode.IsLower(c):
			if !inWord {
				return false
			}
		default:
			inWord = false
		}
	}
	return found
}

func isIdentifier(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	return s != "" && !unicode.IsDigit(first) && !strings.ContainsFunc(s, func(c rune) bool { return !isNameRune(c) })
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return titleRune(s[:n]) + lower(s[n:])
}

// titleRune is the title case of one character.
func titleRune(s string) string { return cases.Title(language.Und, cases.NoLower).String(s) }

// title makes the first letter of every run of letters a capital.
func title(s string) string {
	var b strings.Builder
	inWord := false
	for _, c := range s {
		cased := unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsTitle(c)
		switch {
		case cased && inWord:
			b.WriteString(lower(string(c)))
		case cased:
			b.WriteString(titleRune(string(c)))
		default:
			b.WriteRune(c)
		}
		inWord = cased
	}
	return b.String()
}

func swapCase(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case unicode.IsUpper(c):
			b.WriteString(lower(string(c)))
		case unicode.IsLower(c):
			b.WriteString(upper(string(c)))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// trimmed cuts characters off the ends: those of chars, or white space without it.
func trimmed(s, chars string, given, left, right bool) string {
	cut := isSpace
	if given {
		cut = func(c rune) bool { return strings.ContainsRune(chars, c) }
	}
	if left {
		s = strings.TrimLeftFunc(s, cut)
	}
	if right {
		s = strings.TrimRightFunc(s, cut)
	}
	return s
}

func strip(name string, left, right bool) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 0, 1); err != nil {
			return nil, err
		}
		chars, given, err := c.text(name, 0)
		if err != nil {
			return nil, err
		}
		return trimmed(s, chars, given, left, right), r.work(len(s) * (1 + len(chars)))
	}
}

// splitArgs reads the arguments of split and rsplit; limit is -1 for no limit.
func (r *run) splitArgs(name, s string, c call) (sep string, given bool, limit int, err error) {
	values, present, err := c.params(name+"()", "sep= maxsplit=")
	if err != nil {
		return "", false, 0, err
	}
	limit = -1
	if present[1] {
		n, ok := small(values[1])
		if !ok {
			return "", false, 0, fmt.Errorf("%s() needs an integer as maxsplit, found %s", name, typeName(values[1]))
		}
		limit = int(max(-1, min(n, 1<<40)))
	}
	sep, given, err = call{args: values[:1]}.text(name, 0)
	if err == nil && given && sep == "" {
		err = errors.New("empty separator")
	}
	if err != nil {
		return "", false, 0, err
	}
	return sep, given, limit, r.grow(len(s) * (1 + valueSize))
}

func split(r *run, s string, c call) (any, error) {
	sep, given, limit, err := r.splitArgs("split", s, c)
	if err != nil {
		return nil, err
	}
	if given {
		n := -1
		if limit >= 0 {
			n = limit + 1
		}
		return listOf(strings.SplitN(s, sep, n)), nil
	}
	var parts []string
	rest := strings.TrimLeftFunc(s, isSpace)
	for rest != "" {
		k := strings.IndexFunc(rest, isSpace)
		if k < 0 || len(parts) == limit {
			k = len(rest)
		}
		parts = append(parts, rest[:k])
		rest = strings.TrimLeftFunc(rest[k:], isSpace)
	}
	return listOf(parts), nil
}

func rsplit(r *run, s string, c call) (any, error) {
	sep, given, limit, err := r.splitArgs("rsplit", s, c)
	if err != nil {
		return nil, err
	}
	var parts []string // from the end
	if given {
		for len(parts) != limit {
			k := strings.LastIndex(s, sep)
			if k < 0 {
				break
			}
			parts = append(parts, s[k+len(sep):])
			s = s[:k]
		}
		parts = append(parts, s)
	} else {
		s = strings.TrimRightFunc(s, isSpace)
		for s != "" {
			k := strings.LastIndexFunc(s, isSpace)
			if k < 0 || len(parts) == limit {
				parts = append(parts, s)
				break
			}
			_, n := utf8.DecodeRuneInString(s[k:])
			parts = append(parts, s[k+n:])
			s = strings.TrimRightFunc(s[:k], isSpace)
		}
	}
	slices.Reverse(parts)
	return listOf(parts), nil
}

func listOf(parts []string) *list {
	items := make([]any, len(parts))
	for i, p := range parts {
		items[i] = p
	}
	return &list{items}
}

// splitLines cuts a text at the line ends of Python's str.splitlines.
func splitLines(s string, keep bool) []string {
	var lines []string
	for s != "" {
		k := strings.IndexFunc(s, func(c rune) bool {
			return c >= '\n' && c <= '\r' || c >= 0x1c && c <= 0x1e || c == 0x85 || c == 0x2028 || c == 0x2029
		})
		if k < 0 {
			return append(lines, s)
		}
		_, n := utf8.DecodeRuneInString(s[k:])
		if strings.HasPrefix(s[k:], "\r\n") {
			n = 2
		}
		line := s[:k]
		if keep {
			line = s[:k+n]
		}
		lines = append(lines, line)
		s = s[k+n:]
	}
	return lines
}

func splitLinesMethod(r *run, s string, c call) (any, error) {
	values, _, err := c.params("splitlines()", "keepends=")
	if err != nil {
		return nil, err
	}
	return listOf(splitLines(s, truth(values[0]))), r.grow(len(s) * valueSize)
}

func partition(name string, index func(s, sep string) int) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 1, 1); err != nil {
			return nil, err
		}
		sep, err := c.mustText(name, 0)
		if err == nil && sep == "" {
			err = errors.New("empty separator")
		}
		if err != nil {
			return nil, err
		}
		k := index(s, sep)
		parts := []any{s, "", ""}
		switch {
		case k >= 0:
			parts = []any{s[:k], sep, s[k+len(sep):]}
		case name == "rpartition":
			parts = []any{"", "", s}
		}
		return &tuple{items: parts}, r.grow(len(s))
	}
}

// part cuts a string to the bounds that stand from argument i on, in characters.
// begin is the byte at which it starts, from the start's character; ok is false if
// the bounds are crossed.
func (r *run) part(name, s string, c call, i int) (out string, from int64, ok bool, err error) {
	if err := r.work(len(s)); err != nil {
		return "", 0, false, err
	}
	if len(c.args) <= i {
		return s, 0, true, nil
	}
	n := int64(utf8.RuneCountInString(s))
	bounds := [2]int64{0, n}
	for k := range bounds {
		if i+k >= len(c.args) || c.args[i+k] == nil {
			continue
		}
		b, err := c.number(name, i+k, 0)
		if err != nil {
			return "", 0, false, err
		}
		if b < 0 {
			b = max(0, b+n)
		}
		bounds[k] = b
	}
	if bounds[0] > n || bounds[0] > bounds[1] {
		return "", 0, false, nil
	}
	end := byteOf(s, int(min(bounds[1], n)))
	return s[byteOf(s, int(bounds[0])):end], bounds[0], true, nil
}

func affix(name string, has func(s, affix string) bool) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 1, 3); err != nil {
			return nil, err
		}
		s, _, ok, err := r.part(name, s, c, 1)
		if err != nil {
			return nil, err
		}
		options := []any{c.args[0]}
		if t, isTuple := c.args[0].(*tuple); isTuple {
			options = t.items
		}
		for _, option := range options {
			text, isText := option.(string)
			if !isText {
				return nil, fmt.Errorf("%s() needs a string or a tuple of strings, found %s", name, typeName(option))
			}
			if ok && has(s, text) {
				return true, nil
			}
		}
		return false, nil
	}
}

func remove(name string, trim func(s, affix string) string) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 1, 1); err != nil {
			return nil, err
		}
		affix, err := c.mustText(name, 0)
		return trim(s, affix), err
	}
}

func replaceMethod(r *run, s string, c call) (any, error) {
	values, given, err := c.params("replace()", "old new count=")
	if err != nil {
		return nil, err
	}
	limit := int64(-1)
	if given[2] {
		var ok bool
		if limit, ok = small(values[2]); !ok {
			return nil, fmt.Errorf("replace() needs an integer as count, found %s", typeName(values[2]))
		}
	}
	for _, v := range values[:2] {
		if _, ok := v.(string); !ok {
			return nil, fmt.Errorf("replace() needs strings, found %s", typeName(v))
		}
	}
	return r.replace(s, values[0].(string), values[1].(string), limit)
}

// replace counts what it makes before it makes it.
func (r *run) replace(s, old, new string, limit int64) (string, error) {
	n := int64(strings.Count(s, old))
	if limit >= 0 {
		n = min(n, limit)
	}
	if grown := int64(len(s)) + n*int64(len(new)); grown > int64(r.limits.Bytes) {
		return "", r.grow(-1)
	} else if err := r.grow(int(grown)); err != nil {
		return "", err
	}
	return strings.Replace(s, old, new, int(n)), nil
}

func find(name string, index func(s, sub string) int, must bool) strMethod {
	return func(r *run, s string, c call) (any, error) {
		if err := c.positional(name, 1, 3); err != nil {
			return nil, err
		}
		sub, err := c.mustText(name, 0)
		if err != nil {
			return nil, err
		}
		inside, from, ok, err := r.part(name, s, c, 1)
		if err != nil {
			return nil, err
		}
		k := -1
		if ok {
			k = index(inside, sub)
		}
		if k < 0 {
			if must {
				return nil, errors.New("substring not found")
			}
			return int64(-1), nil
		}
		return from + int64(utf8.RuneCountInString(inside[:k])), nil
	}
}

func count(r *run, s string, c call) (any, error) {
	if err := c.positional("count", 1, 3); err != nil {
		return nil, err
	}
	sub, err := c.mustText("count", 0)
	if err != nil {
		return nil, err
	}
	inside, _, ok, err := r.part("count", s, c, 1)
	if err != nil || !ok {
		return int64(0), err
	}
	return int64(strings.Count(inside, sub)), nil
}
