package settings

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// place is where the key at p stands, as file:line:column and in parts: in the text itself, or
// under 1, in that of the document below, if the key is there alone.
func (d *Document) place(p Path) (where string, under, line, col int) {
	line, col, found := 1, 1, false
	own, here := d.ownPath(p)
	if here {
		line, col, found = find(d.text, own)
	}
	if !found && d.under != nil {
		if l, c, there := find(d.under.text, p); there || !here {
			return fmt.Sprintf("%s:%d:%d", d.under.file, l, c), 1, l, c
		}
	}
	return fmt.Sprintf("%s:%d:%d", d.file, line, col), 0, line, col
}

// find is the line and column, from 1, of the key at p, or of the nearest table
// around it if the text has no such key; found tells them apart.
func find(whole string, p Path) (line, col int, found bool) {
	text, key := whole, make([]string, 0, len(p))
	var counts []int
	var root map[string]any
	if _, err := toml.Decode(whole, &root); err != nil {
		return 1, 1, false
	}
	value := any(root)
	for _, part := range p {
		if list := Tables(value); list != nil {
			if n, err := strconv.Atoi(part); err == nil && n >= 0 && n < len(list) {
				counts = append(counts, n+1)
				text, value = through(text, key, counts), list[n]
				continue
			}
		}
		key = append(key, part)
		table, _ := value.(map[string]any)
		value = table[part]
	}
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		return 1, 1, false
	}
	for n := len(key); n > 0; n-- {
		if at := positionOf(text, tree, key[:n]); at.Line > 0 {
			line, col = keyAt(whole, at, key[n-1])
			return line, col, n == len(key)
		}
	}
	return 1, 1, len(p) == 0
}

// through is the text up to and with a table of a list of tables, such as the
// second stage.verifier of the third stage: key, and how many there are of each
// list on the way. The parser keeps one position for the equal keys of a list,
// that of the last table, so the later ones are cut off.
func through(text string, key []string, counts []int) string {
	for _, at := range listHeads(key).FindAllStringIndex(text, -1) {
		// A head inside a string of several lines leaves a text that does not parse.
		var before map[string]any
		if _, err := toml.Decode(text[:at[0]], &before); err == nil && slices.Equal(countsOf(before, key), counts) {
			return text[:at[0]]
		}
	}
	return text
}

// listHeads finds the heads [[a.b]] of a list of tables.
func listHeads(key []string) *regexp.Regexp {
	const gap, mark = `[ \t]*`, `["']?`
	return regexp.MustCompile(`(?m)^` + gap + `\[\[` + gap + mark + strings.Join(key, mark+gap+`\.`+gap+mark) + mark + gap + `\]\]`)
}

// countsOf is how many tables the lists at key have, each in the last of the
// list around it.
func countsOf(tree map[string]any, key []string) []int {
	var counts []int
	for _, k := range key {
		tables, ok := tree[k].([]map[string]any)
		if !ok || len(tables) == 0 {
			return counts
		}
		counts, tree = append(counts, len(tables)), tables[len(tables)-1]
	}
	return counts
}

// refuses is a type that no value decodes into.
type refuses struct{}

var errRefused = errors.New("refused")

func (*refuses) UnmarshalTOML(any) error { return errRefused }

// positionOf is where the value of a key stands; line 0: the text has no such
// key. The parser tells positions only in errors, so the text is decoded into a
// struct that holds just this key, with a type that refuses any value.
func positionOf(text string, tree map[string]any, key []string) toml.Position {
	holder, value, ok := holderOf(tree, key)
	if !ok {
		return toml.Position{}
	}
	_, err := toml.Decode(text, reflect.New(holder).Interface())
	var parse toml.ParseError
	errors.As(err, &parse)
	if t, ok := value.(map[string]any); ok && parse.Position.Line == 0 { // [a.b] defines a without a place of its own
		for _, inner := range slices.Sorted(maps.Keys(t)) {
			if at := positionOf(text, tree, append(slices.Clone(key), inner)); at.Line > 0 {
				return at
			}
		}
	}
	return parse.Position
}

// holderOf is the type struct{ F T } for a key that there is, T being refuses at
// the end of the key and such a struct, or a list of them, before. It also
// returns the key's value.
func holderOf(value any, key []string) (reflect.Type, any, bool) {
	if len(key) == 0 {
		return reflect.TypeFor[refuses](), value, true
	}
	list := false
	switch v := value.(type) {
	case []map[string]any:
		list, value = true, any(v[len(v)-1])
	case []any:
		if len(v) == 0 {
			return nil, nil, false
		}
		list, value = true, v[len(v)-1]
	}
	t, ok := value.(map[string]any)
	if !ok {
		return nil, nil, false
	}
	inner, ok := t[key[0]]
	if !ok {
		return nil, nil, false
	}
	typ, found, ok := holderOf(inner, key[1:])
	if !ok {
		return nil, nil, false
	}
	tag := reflect.StructTag("toml:" + strconv.Quote(key[0]))
	holder := reflect.StructOf([]reflect.StructField{{Name: "F", Type: typ, Tag: tag}})
	if list {
		return reflect.SliceOf(holder), found, true
	}
	return holder, found, true
}

// keyAt is where the key itself begins: on the line of its value, or where a
// value of several lines began, which the parser places at its end.
func keyAt(text string, at toml.Position, key string) (line, col int) {
	lines := strings.Split(text, "\n")
	text = lines[at.Line-1]
	end := min(len(text), max(0, at.Col-1))
	for _, i := range []int{strings.LastIndex(text[:end], key), strings.Index(text, key)} {
		if i >= 0 {
			return at.Line, len([]rune(text[:i])) + 1
		}
	}
	begins := regexp.MustCompile(`^[ \t]*["']?` + regexp.QuoteMeta(key) + `["']?[ \t]*=`)
	for n := at.Line - 1; n > 0; n-- {
		if begins.MatchString(lines[n-1]) {
			return n, len([]rune(lines[n-1][:strings.Index(lines[n-1], key)])) + 1
		}
	}
	return at.Line, at.Col
}
