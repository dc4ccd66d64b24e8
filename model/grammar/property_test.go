package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func newDice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// someSchema is a random schema of the subset.
func someSchema(r *rand.Rand, depth int) map[string]any {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	kind := r.IntN(12)
	if depth == 0 {
		kind = r.IntN(7)
	}
	switch kind {
	case 0:
		return map[string]any{"type": pick("boolean", "null", "integer", "number", "string")}
	case 1:
		return map[string]any{"enum": []any{pick("a", "é\n", "\"x\""), r.IntN(1000), nil, []any{true, map[string]any{"k": 1.5}}}[:1+r.IntN(4)]}
	case 2, 3:
		s := map[string]any{"type": pick("integer", "number")}
		low := r.IntN(2500) - 1200
		if r.IntN(3) > 0 {
			s[pick("minimum", "exclusiveMinimum")] = low
		}
		if r.IntN(3) > 0 {
			s[pick("maximum", "exclusiveMaximum")] = low + 2 + r.IntN(1500)
		}
		return s
	case 4:
		return map[string]any{"type": "string", "pattern": pick(`^[a-c]{2,4}$`, `x`, `^\d+-\w+$`, `^(foo|bar|é+)?$`, `[^"\\a-z]`, `^.{1,3}$`, `^\s*$`, `(?i)stra[sß]e$`, `^[\x00-\x{10FFFF}]{2}$`)}
	case 5:
		return map[string]any{"type": "string", "format": pick("date", "date-time", "time", "uuid", "ipv4")}
	case 6:
		return map[string]any{"type": "string", "minLength": r.IntN(3), "maxLength": 3 + r.IntN(5)}
	case 7, 8:
		s := map[string]any{"type": "array", "items": someSchema(r, depth-1)}
		if r.IntN(2) == 0 {
			s["minItems"] = r.IntN(3)
		}
		if r.IntN(2) == 0 {
			s["maxItems"] = 2 + r.IntN(3)
		}
		return s
	case 9:
		return map[string]any{"anyOf": []any{someSchema(r, depth-1), someSchema(r, depth-1)}}
	}
	properties, required := map[string]any{}, []any{}
	for i := range r.IntN(5) {
		name := fmt.Sprintf("%s%d", pick("k", "a\"", "ü ", "/"), i)
		properties[name] = someSchema(r, depth-1)
		if r.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// TestValid: whatever follows the bits of a random schema and comes to an end is valid, by
// a library that others wrote.
func TestValid(t *testing.T) {
	schemas := 400
	if os.Getenv("RLZERO_LONG") != "" {
		schemas = 10_000
	}
	v, end := single(`{"`, `":`, `": "`, `", "`, `"}`, `"},`, `]}`, `abc`, `ab"`, ` a`, "\n  ", `1,`, `12`, `"a"`, `\"`, `é`, "\xc3", `}}`, `"]}`, `null`, `nul`, `true,`, `[[`, `[]`, `]]`, `-1`, `2024-`, `\u00`)
	unfinished, impossible := 0, 0
	for i := range schemas {
		r := newDice(uint64(i))
		schema, err := json.Marshal(someSchema(r, 3))
		if err != nil {
			t.Fatal(err)
		}
		g, err := New(v, []int{end}, JSON(schema))
		if err != nil {
			if !strings.Contains(err.Error(), "no value is valid") {
				t.Fatalf("%s: %v", schema, err)
			}
			impossible++
			continue
		}
		valid := validator(t, schema)
		for range 3 {
			text, ended := someText(t, g, r, end)
			if !ended {
				unfinished++
				continue
			}
			if err := valid(text); err != nil {
				t.Fatalf("schema %d: %s\ntext: %s\n%v", i, schema, text, err)
			}
		}
	}
	t.Logf("%d schemas: %d walks came to no end, %d schemas have no value", schemas, unfinished, impossible)
	if unfinished > schemas/10 || impossible > schemas/20 {
		t.Error("too little was tested")
	}
}

// someText follows the bits at random, and after a while prefers what closes.
func someText(t *testing.T, g *Grammar, r *rand.Rand, end int) (text []byte, ended bool) {
	t.Helper()
	s := g.Start()
	set := make([]uint32, g.vocab.words())
	for n := range 3000 {
		if err := s.Allow(set); err != nil {
			t.Fatalf("after %s: %v", text, err)
		}
		has := func(id int) bool { return set[id/32]>>(id%32)&1 == 1 }
		if has(end) != s.c.done {
			t.Fatal("the end is allowed where the text is not done, or the other way round")
		}
		if has(end) && r.IntN(2) == 0 {
			return text, true
		}
		id := -1
		for _, c := range []byte(`"]}e`) {
			if n > 100 && r.IntN(3) > 0 && has(int(c)) {
				id = int(c)
				break
			}
		}
		for id < 0 {
			if at := r.IntN(len(g.vocab.tokens)); has(at) {
				id = at
			}
		}
		if id == end {
			return text, true
		}
		text = append(text, g.vocab.tokens[id]...)
		s = s.Next(id)
	}
	return text, false
}

func validator(t testing.TB, schema []byte) func(text []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return func(text []byte) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return compiled.Validate(value)
	}
}

// FuzzSchema: no schema breaks the compiler, and what it makes has always a next token.
func FuzzSchema(f *testing.F) {
	r := newDice(3)
	for range 20 {
		schema, err := json.Marshal(someSchema(r, 3))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(schema)
	}
	f.Add([]byte(`{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":["string","null"],"pattern":"(a*)*$^"}}}`))
	v, end := single(`{"`, `"}`)
	f.Fuzz(func(t *testing.T, schema []byte) {
		g, err := New(v, []int{end}, JSON(schema))
		if err != nil {
			return
		}
		s, r, set := g.Start(), newDice(1), make([]uint32, v.words())
		for range 20 {
			if err := s.Allow(set); err != nil {
				if !errors.Is(err, ErrReadings) {
					t.Fatal(err)
				}
				return
			}
			id := r.IntN(len(v.tokens))
			for set[id/32]>>(id%32)&1 == 0 {
				id = (id + 1) % len(v.tokens)
			}
			if id == end {
				return
			}
			s = s.Next(id)
		}
	})
}
