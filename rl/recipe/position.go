package recipe

import (
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// source is a recipe's text with the name it goes by in errors.
type source struct{ file, text string }

// find is the line and column, from 1, of the key at p, or of the nearest table
// around it if the text has no such key.
func (s source) find(p path) (line, col int) {
	text, key := s.text, make([]string, 0, len(p))
	for i, part := range p {
		if i == 1 && p[0] == "stage" {
			if n, err := strconv.Atoi(part); err == nil {
				text = s.through(n)
				continue
			}
		}
		key = append(key, part)
	}
	var tree map[string]any
	if _, err := toml.Decode(text, &tree); err != nil {
		return 1, 1
	}
	for ; len(key) > 0; key = key[:len(key)-1] {
		if at := positionOf(text, tree, key); at.Line > 0 {
			return at.Line, column(text, at, key[len(key)-1])
		}
	}
	return 1, 1
}

// through is the text up to and with the n-th stage, from 0. The parser keeps
// one position for the equal keys of a list of tables, that of the last, so the
// later stages are cut off.
func (s source) through(n int) string {
	for _, at := range stageHeads.FindAllStringIndex(s.text, -1) {
		// A head inside a string of several lines leaves a text that does not parse.
		var before struct {
			Stage []any `toml:"stage"`
		}
		if _, err := toml.Decode(s.text[:at[0]], &before); err == nil && len(before.Stage) == n+1 {
			return s.text[:at[0]]
		}
	}
	return s.text
}

var stageHeads = regexp.MustCompile(`(?m)^[ \t]*\[\[[ \t]*["']?stage["']?[ \t]*\]\]`)

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

// column is where the key itself begins on the line of its value.
func column(text string, at toml.Position, key string) int {
	lines := strings.Split(text, "\n")
	line := lines[at.Line-1]
	end := min(len(line), max(0, at.Col-1))
	if i := strings.LastIndex(line[:end], key); i >= 0 {
		return len([]rune(line[:i])) + 1
	}
	if i := strings.Index(line, key); i >= 0 {
		return len([]rune(line[:i])) + 1
	}
	return at.Col
}
