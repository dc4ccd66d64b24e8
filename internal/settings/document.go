package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/rlzero/rlzero/internal/hint"
)

// Path names a place in a document: keys, and after the key of a list of tables
// an index, as in stage, 1, optimizer, lr.
type Path []string

// With is the path of a key in the table at p.
func (p Path) With(key string) Path { return append(slices.Clone(p), key) }

func (p Path) last() string { return p[len(p)-1] }

// Document is a TOML text with overrides, and what is wrong with them.
type Document struct {
	file, text string
	tree       map[string]any
	sets       []set
	faults     []fault
	under      *Document // see Over; nil: there is none
	fixed      bool      // see Fixed
	homes      func(key string) []string
	places     map[string]map[int]int // of lists that Over has merged: by key and index, the index in the text
}

// set is an override that was applied.
type set struct {
	text string // as given
	path Path
}

// fault is one thing that is wrong.
type fault struct {
	where     string // file:line:column, or the override
	under     int    // 1: in the text below, see Over
	line, col int    // 0 for an override
	text      string
	hints     []string // of the error that text is of
}

// Parse reads a TOML text; file is its name in errors. The error is for text that
// is no TOML and has file, line and column.
func Parse(file, text string) (*Document, error) {
	if line, column, err := bounded(text); err != nil {
		return nil, fmt.Errorf("%s:%d:%d: %w", file, line, column, err)
	}
	d := &Document{file: file, text: text, tree: map[string]any{}}
	if _, err := toml.Decode(text, &d.tree); err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			quoted := ""
			if strings.HasPrefix(parse.Message, "expected value but found") {
				quoted = "; text stands in quotes"
			}
			return nil, fmt.Errorf("%s:%d:%d: %s%s", file, parse.Position.Line, parse.Position.Col, parse.Message, quoted)
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// Again is the same document without its faults, for checks that come later.
func (d *Document) Again() *Document {
	again := *d
	again.faults = nil
	return &again
}

// Fixed says that the text is right by itself, as one of the program's own is: what is wrong is
// the overrides, and they are named in its place.
func (d *Document) Fixed() { d.fixed = true }

// Homes tells where a key is, for those who write it in another place: full names, as overrides
// write them, the likeliest first.
func (d *Document) Homes(of func(key string) []string) { d.homes = of }

// Tree is the parsed text with its overrides. A list of tables is a
// []map[string]any, see [Tables].
func (d *Document) Tree() map[string]any { return d.tree }

// Override applies PATH=VALUE, such as seed=2 or stage.rl.steps=10, as if the text
// had said so, and returns the path; nil, with a fault, if there is no such place.
// An element of a list of tables goes by its name, its kind or its index. Whether
// key and value are accepted is checked when they are decoded.
func (d *Document) Override(text string) Path {
	reject := func(format string, args ...any) Path {
		d.faults = append(d.faults, fault{where: "--set " + text, text: fmt.Sprintf(format, args...)})
		return nil
	}
	name, value, ok := strings.Cut(text, "=")
	if _, _, err := bounded(name); err != nil {
		return reject("%v", err)
	}
	keys := strings.Split(strings.TrimSpace(name), ".")
	if !ok || slices.Contains(keys, "") {
		return reject("write PATH=VALUE, such as seed=2 or stage.rl.steps=10")
	}
	at, p := d.tree, Path{}
	for i := 0; i < len(keys)-1; i++ {
		key := keys[i]
		p = p.With(key)
		if at[key] == nil {
			at[key] = map[string]any{}
		}
		if list := Tables(at[key]); list != nil {
			if i+2 >= len(keys) {
				return reject("%s is a list of tables: write %s.NAME.KEY, such as stage.rl.steps", d.Name(p), d.Name(p))
			}
			i++
			n, hint := element(list, keys[i])
			if n < 0 {
				return reject("there is no %s %q%s", key, keys[i], hint)
			}
			at, p = list[n], p.With(strconv.Itoa(n))
			continue
		}
		next, ok := at[key].(map[string]any)
		if !ok {
			return reject("%s is a value and has no keys", d.Name(p))
		}
		at = next
	}
	p = p.With(keys[len(keys)-1])
	value = strings.TrimSpace(value)
	if _, err := strconv.ParseInt(value, 0, 64); errors.Is(err, strconv.ErrRange) { // TOML has no others
		return reject("%s is out of range; whole numbers go from -9223372036854775808 to 9223372036854775807", value)
	}
	at[p.last()] = valueOf(value)
	d.sets = append(d.sets, set{text: text, path: p})
	return p
}

// element is the index of the table that a word means; -1, with a hint, if there
// is none.
func element(list []map[string]any, word string) (i int, hint string) {
	var names []string
	for _, t := range list {
		names = append(names, elementName(t))
	}
	if i := slices.Index(names, word); i >= 0 {
		return i, ""
	}
	if i, err := strconv.Atoi(word); err == nil && i >= 0 && i < len(list) {
		return i, ""
	}
	return -1, DidYouMean(word, names, "accepted: "+strings.Join(names, ", ")+", or an index from 0")
}

// elementName is what a table of a list is called; "?": it has neither name nor
// kind.
func elementName(t map[string]any) string {
	for _, key := range []string{"name", "kind"} {
		if s, ok := t[key].(string); ok && s != "" {
			return s
		}
	}
	return "?"
}

// valueOf reads a value as TOML. What is no TOML is a string, so that quotes may be
// left out; so is a date, which no setting is.
func valueOf(text string) any {
	if _, _, err := bounded(text); err != nil {
		return text
	}
	var v map[string]any
	if _, err := toml.Decode("v = "+text, &v); err != nil || len(v) != 1 {
		return text
	}
	if typeName(v["v"]) == dateOrTime {
		return text
	}
	return v["v"]
}

// Tables are the tables of a list, headed [[ ]] or written in line; nil if the
// value is something else.
func Tables(value any) []map[string]any {
	switch v := value.(type) {
	case []map[string]any:
		return v
	case []any:
		var out []map[string]any
		for _, e := range v {
			t, ok := e.(map[string]any)
			if !ok {
				return nil
			}
			out = append(out, t)
		}
		return out
	}
	return nil
}

// Name writes a path as overrides do: elements of a list of tables by name.
func (d *Document) Name(p Path) string {
	p = slices.Clone(p)
	value := any(d.tree)
	for i, key := range p {
		if list := Tables(value); list != nil {
			n, err := strconv.Atoi(key)
			if err != nil || n < 0 || n >= len(list) {
				break
			}
			value = list[n]
			if name := elementName(list[n]); name != "?" {
				p[i] = name
			}
			continue
		}
		t, _ := value.(map[string]any)
		value = t[key]
	}
	return strings.Join(p, ".")
}

// maxFaults is how many faults are collected: a text with more is something else.
const maxFaults = 20

// Fail records that something at p is wrong. The text begins with the name of the
// key if the reader needs it. Hints of an error that is wrapped with %w are kept.
func (d *Document) Fail(p Path, format string, args ...any) {
	if len(d.faults) == maxFaults {
		return
	}
	err := fmt.Errorf(format, args...)
	f := fault{text: err.Error(), hints: hint.All(err)}
	if s := d.override(p); s != nil {
		f.where = "--set " + s.text
	} else if d.file != "" {
		f.where, f.under, f.line, f.col = d.place(p)
		if blamed := d.blamed(p); blamed != "" {
			f.where = blamed
		}
	}
	d.faults = append(d.faults, f)
}

// Failed is the number of faults so far.
func (d *Document) Failed() int { return len(d.faults) }

// Overridden says whether the value at p, or a table around it, is an override's.
func (d *Document) Overridden(p Path) bool { return d.override(p) != nil }

// OverriddenIn says whether the value at p, or one below it, is an override's.
func (d *Document) OverriddenIn(p Path) bool {
	below := func(s set) bool { return len(s.path) > len(p) && slices.Equal(s.path[:len(p)], p) }
	return d.Overridden(p) || slices.ContainsFunc(d.sets, below)
}

// Written says whether the user wrote the value at p: in the text, which is not [Document.Fixed],
// or in an override.
func (d *Document) Written(p Path) bool {
	if d.Overridden(p) {
		return true
	}
	own, here := d.ownPath(p)
	if d.fixed || !here {
		return false
	}
	_, _, found := find(d.text, own)
	return found
}

// override is the last one of a key, or of a table around it; nil: there is none.
func (d *Document) override(p Path) *set {
	for i := len(d.sets) - 1; i >= 0; i-- {
		if s := &d.sets[i]; len(s.path) <= len(p) && slices.Equal(s.path, p[:len(s.path)]) {
			return s
		}
	}
	return nil
}

// blamed are the overrides that a fault at p comes from, which is in no override itself: one that
// made the table at p, or, where the text is right, those that are nearest to p; "": none.
func (d *Document) blamed(p Path) string {
	var flags []string
	nearest := 0
	for i := range d.sets {
		s := &d.sets[i]
		n := 0
		for n < min(len(p), len(s.path)) && p[n] == s.path[n] {
			n++
		}
		_, _, there := find(d.text, p)
		made := n == len(p) && n > 0 && !there && d.under == nil
		if !made && !d.fixed || n < nearest {
			continue
		}
		if n > nearest {
			nearest, flags = n, nil
		}
		flags = append(flags, "--set "+s.text)
	}
	return strings.Join(flags, " ")
}

// Err is one error with a line for each fault, in the order of the text; nil: there
// are none.
func (d *Document) Err() error {
	if len(d.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(d.faults, func(a, b fault) int { return cmp.Or(a.under-b.under, a.line-b.line, a.col-b.col) })
	var lines, hints []string
	for _, f := range d.faults {
		if f.where != "" {
			f.where += ": "
		}
		lines, hints = append(lines, f.where+f.text), append(hints, f.hints...)
	}
	err := errors.New(strings.Join(lines, "\n"))
	for _, h := range hints {
		err = hint.With(err, "%s", h)
	}
	return err
}
