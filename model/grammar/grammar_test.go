package grammar

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// single is a vocabulary of all bytes and some longer tokens; the last one ends a text.
func single(more ...string) (v *Vocabulary, end int) {
	var tokens [][]byte
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
	}
	for _, t := range more {
		tokens = append(tokens, []byte(t))
	}
	tokens = append(tokens, nil)
	return NewVocabulary(tokens), len(tokens) - 1
}

// reads says whether a grammar reads a text to its end.
func reads(t testing.TB, g *Grammar, text string) bool {
	t.Helper()
	s := g.Start()
	for i := range len(text) {
		s = s.Next(int(text[i]))
	}
	return s.c.done
}

func made(t testing.TB, f Form) *Grammar {
	t.Helper()
	v, end := single()
	g, err := New(v, []int{end}, f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestReads(t *testing.T) {
	for _, c := range []struct{ schema, yes, no string }{
		{`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":false}`,
			"{\"a\":1,\"b\":\"x\"}|{\"a\": -12, \"b\": \"\"}|{\n  \"a\": 0,\n  \"b\": \"\\u00e9\\n\"\n}", `{}|{"a":1}|{"b":"x","a":1}|{"a":01,"b":""}|{"a":1,"b":"x","c":1}|{"a":1,"b":"x"`},
		{`{"type":"object","properties":{"a":{"type":"null"},"b":{"type":"boolean"},"c":{"const":1}},"required":["b"]}`,
			`{"b":true}|{"a":null,"b":false}|{"b":true,"c":1}|{"a":null,"b":true,"c":1}`, `{}|{"a":null}|{"a":null,"c":1}|{"b":true,}|{,"b":true}`},
		{`{"type":"object","properties":{"a":{"const":1},"b":{"const":2}},"additionalProperties":false}`, `{}|{ }|{"a":1}|{"b":2}|{"a":1, "b":2}`, `{"b":2,"a":1}|{"a":1 "b":2}|{,}`},
		{`{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":2}`, `[1]|[1,2]|[1, 2]`, `[]|[1,2,3]|[1,]`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2}`, `[1,2]|[1,2,3,4]`, `[]|[1]|[1,2,]`},
		{`{"type":"array"}`, `[]|[1,"a",{"b":[null]}]|[[[]]]`, `[|[,]|{}|[1,]`},
		{`{"enum":["a","ab",1,null,{"x":[1,2]}]}`, `"a"|"ab"|1|null|{"x":[1,2]}`, `"abc"|""|2|{"x":[1]}`},
		{`{"type":"string","enum":["a",1]}`, `"a"`, `1`},
		{`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `1|"1"`, `1.5|null`},
		{`{"type":["integer","null"]}`, `1|null`, `"1"`},
		{`{"type":"number"}`, `1|-1.5|1e5|2.5E-10|0.1`, `01|.5|1.|1e|--1|1e100`},
		{`{"type":"integer","minimum":-5,"maximum":12}`, `-5|-1|0|9|10|12`, `-6|13|99|-0|1.0`},
		{`{"type":"integer","exclusiveMinimum":99,"maximum":1234}`, `100|999|1000|1199|1234`, `99|1235|2000|12345`},
		{`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`, `-9007199254740991|0|9007199254740991|9007199254740899`, `9007199254740992|-9007199254740992|10000000000000000`},
		{`{"type":"integer","exclusiveMinimum":0,"maximum":9007199254740991}`, `1|9007199254740991`, `0|-1|9007199254740992`},
		{`{"type":"integer","minimum":10}`, `10|11|99|100|123456789`, `9|0|-10`},
		{`{"type":"number","minimum":0,"maximum":1}`, `0|0.5|1|1.0|0.000|1.00`, `-0.1|1.01|2|-1`},
		{`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":2}`, `0.1|1|1.99|0.01`, `0|0.0|2|2.0|-0.5`},
		{`{"type":"number","exclusiveMinimum":-2,"maximum":-1}`, `-1|-1.0|-1.9|-1.5`, `-2|-2.0|-0.5|0|1`},
		{`{"type":"number","minimum":-1,"exclusiveMaximum":0}`, `-1|-0.5|-0.01|-1.0`, `0|-0|-0.0|-1.5|1`},
		{`{"type":"string","pattern":"^[a-z]+$"}`, `"a"|"abc"`, `""|"A"|"a1"`},
		{`{"type":"string","pattern":"b+"}`, `"b"|"abc"|"é b"|"\"b"`, `""|"ac"|"a"c"`},
		{`{"type":"string","pattern":"^(?i)k$"}`, `"k"|"K"|"` + "\u212a" + `"`, `"x"|"kk"`},
		{`{"type":"string","pattern":"^.$"}`, `"x"|"é"|"\\"|"\""|"` + "\U0001F600" + `"`, `"\n"|""|"xy"`},
		{`{"type":"string","minLength":2,"maxLength":3}`, `"ab"|"abc"|"éé"|"\n\n"`, `"a"|"abcd"|"é"`},
		{`{"type":"string","format":"date"}`, `"2024-02-28"|"1999-12-31"`, `"2024-02-30"|"2024-13-01"|"x"`},
		{`{"type":"string","format":"ipv4"}`, `"127.0.0.1"|"255.255.255.255"`, `"256.0.0.1"|"1.2.3"|"01.2.3.4"`},
		{`{"type":"string"}`, `""|"a\"b"|"\ud83d\ude00"|"😀"`, `"a` + "\n" + `b"|"\x"|"\ud83d"|"\ude00"|a`},
		{`{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]}},"required":["v","next"],"additionalProperties":false}}}`,
			`{"v":1,"next":null}|{"v":1,"next":{"v":2,"next":{"v":3,"next":null}}}`, `{"v":1}|{"v":1,"next":1}|{"v":1,"next":{"v":2,"next":null}`},
		{`{"type":"array","items":{"$ref":"#"}}`, `[]|[[],[[]]]`, `[1]|[[]`},
		{`{}`, `1|"a"|[]|{}|{"a":{"b":null}}|true`, `tru|{"a"}|{1:2}`},
		{`true`, `1`, ``},
		{`{"title":"x","description":"y","properties":{"a/b":{}},"required":["a/b"]}`, `{"a/b":1}`, `{}|1`},
	} {
		g := made(t, JSON([]byte(c.schema)))
		for _, text := range strings.Split(c.yes, "|") {
			if !reads(t, g, text) {
				t.Errorf("%s: %s is not read", c.schema, text)
			}
		}
		for _, text := range strings.Split(c.no, "|") {
			if reads(t, g, text) {
				t.Errorf("%s: %s is read", c.schema, text)
			}
		}
	}
}

func TestForms(t *testing.T) {
	call := Sequence(Text("<call>"), JSON([]byte(`{"const":1}`)), Text("</call>"))
	for _, c := range []struct {
		f       Form
		yes, no string
	}{
		{Text("ab"), "ab", "a|abc"},
		{Object(), `{}|{"a":[1]}`, `[]|1`},
		{OneOf(Text("a"), Text("ab")), "a|ab", "b|abb"},
		{List(call, Text("\n")), "<call>1</call>|<call>1</call>\n<call>1</call>", "|<call>1</call>\n|<call>2</call>"},
		{Sequence(), "", "a"},
	} {
		g := made(t, c.f)
		for _, text := range strings.Split(c.yes, "|") {
			if !reads(t, g, text) {
				t.Errorf("%q is not read", text)
			}
		}
		for _, text := range strings.Split(c.no, "|") {
			if reads(t, g, text) && c.no != "" {
				t.Errorf("%q is read", text)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	v, end := single()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","format":"email"}}}`: `the schema at /properties/a/format: found "email"; accepted: date`,
		`{"allOf":[{}]}`: `the schema at /allOf: the keyword "allOf" is not supported; accepted: type`,
		`{"type":"object","additionalProperties":{}}`: `/additionalProperties: found {}; accepted: false`,
		`{"type":"array","prefixItems":[]}`:           `/prefixItems: the keyword`,
		`{"type":["null","null"]}`:                    `/type: "null" appears twice; accepted: each type once`,
		`{"type":"wrong"}`:                            `/type: found "wrong"; accepted: object`,
		`{"anyOf":[]}`:                                `/anyOf: accepted: a list`,
		`{"anyOf":[{}],"type":"object"}`:              `"type" and "anyOf" are both given`,
		`{"$ref":"#/$defs/x"}`:                        `/$ref: there is nothing at "#/$defs/x"`,
		`{"$ref":"other.json"}`:                       `/$ref: found "other.json"; accepted: a pointer`,
		`{"$ref":"#"}`:                                `it refers to itself`,
		`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"type":"null"},{"$ref":"#"}]}}}`: `refers to itself`,
		`{"type":"string","pattern":"("}`:                                       `/pattern: error parsing regexp`,
		`{"type":"string","pattern":"\\bx"}`:                                    `\b, \B and (?m) are not supported`,
		`{"type":"string","pattern":"` + strings.Repeat(`\\pL{999}`, 20) + `"}`: `instructions; accepted: at most 10000`,
		`{"type":"string","pattern":"(a|b)*a(a|b){20}"}`:                        `the pattern is too large`,
		`{"type":"string","maxLength":1001}`:                                    `/maxLength: found 1001; accepted: whole numbers from 0 to 1000`,
		`{"type":"number","minimum":0.5}`:                                       `/minimum: found 0.5; accepted: whole numbers`,
		`{"type":"integer","maximum":9007199254740993}`:                         `/maximum: found 9007199254740993; accepted: whole numbers from -(2^53-1) to 2^53-1`,
		`{"type":"integer","minimum":3,"maximum":2}`:                            `no value is valid`,
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`:    `no value is valid`,
		`{"type":"object","required":["a"]}`:                                    `there is no property "a"`,
		`{"a":1,"a":2}`:                                                         `the key "a" appears twice`,
		`{"type":`:                                                              `not JSON`,
		`{} {}`:                                                                 `there is more after it`,
		`[]`:                                                                    `found []; accepted: an object`,
		strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100):      `nested more than 64 deep`,
		`{"type":"string","enum":["` + strings.Repeat("x", 1<<18) + `"]}`:       `accepted: at most 262144`,
	} {
		_, err := New(v, []int{end}, JSON([]byte(schema)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", schema, err, want)
		}
	}
	var fault *SchemaError
	if _, err := New(v, []int{end}, JSON([]byte(`{"properties":{"a/b":{"not":{}}}}`))); !errors.As(err, &fault) || fault.Pointer != "/properties/a~1b/not" {
		t.Errorf("%v", err)
	}
}

// TestLarge: grammars that would be large are refused, in time.
func TestLarge(t *testing.T) {
	v, end := single()
	inner := `{"type":"array","minItems":1000,"maxItems":1000,"items":{"type":"string","minLength":1000,"maxLength":1000}}`
	var properties []string
	for i := range 200 {
		properties = append(properties, fmt.Sprintf(`"p%d":%s`, i, inner))
	}
	_, err := New(v, []int{end}, JSON([]byte(`{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`)))
	if err == nil || !strings.Contains(err.Error(), "too large") && !strings.Contains(err.Error(), "not required") {
		t.Errorf("%v", err)
	}
}

// TestReadings: a text with more readings than are followed comes to an error and to no
// text that is not valid.
func TestReadings(t *testing.T) {
	g := made(t, JSON([]byte(`{"$ref":"#/$defs/a","$defs":{
		"a":{"anyOf":[{"type":"null"},{"type":"array","items":{"$ref":"#/$defs/a"},"minItems":1,"maxItems":1},{"type":"array","items":{"$ref":"#/$defs/a"},"minItems":1,"maxItems":2}]}}}`)))
	s := g.Start()
	set := make([]uint32, g.vocab.words())
	for i := range 30 {
		if err := s.Allow(set); err != nil {
			if !errors.Is(err, ErrReadings) || i < 5 {
				t.Fatalf("%d: %v", i, err)
			}
			return
		}
		s = s.Next('[')
	}
	t.Fatal("2^30 readings are followed")
}

// TestAllow: the bits are those of the tokens whose bytes can be read, however much was kept.
func TestAllow(t *testing.T) {
	more := []string{`{"`, `":`, `": "`, `", "`, `"}`, `"},`, `]}`, `abc`, `ab"`, ` a`, "\n  ", `1,`, `12`, `"a"`, `\"`, `é`, "\xc3", `}}`, `"]}`, `null`, `nul`, `true,`, `[[`, `[]`, `]]`}
	v, end := single(more...)
	for _, schema := range []string{`{}`, `{"type":"object","properties":{"a":{"type":"string"},"ab":{"type":"array","items":{"type":"object"}}},"required":["a"]}`,
		`{"type":"string","pattern":"^a(bc)*\"?$"}`, `{"type":"array","items":{"$ref":"#"}}`} {
		g, err := New(v, []int{end}, JSON([]byte(schema)))
		if err != nil {
			t.Fatal(err)
		}
		r := newDice(1)
		for range 50 {
			s := g.Start()
			for range 40 {
				if r.IntN(20) == 0 {
					g.forget()
				}
				set := make([]uint32, v.words())
				if err := s.Allow(set); err != nil {
					t.Fatal(err)
				}
				var allowed []int
				for id, token := range v.tokens {
					want := s.Next(id).c != dead
					if id == end {
						want = s.c.done
					}
					if got := set[id/32]>>(id%32)&1 == 1; got != want {
						t.Fatalf("%s: token %q: %v, want %v", schema, token, got, want)
					}
					if want && id != end {
						allowed = append(allowed, id)
					}
				}
				if len(allowed) == 0 {
					break
				}
				s = s.Next(allowed[r.IntN(len(allowed))])
			}
		}
	}
}

// TestAlphabet: what the vocabulary cannot write is not begun.
func TestAlphabet(t *testing.T) {
	v := NewVocabulary([][]byte{[]byte("["), []byte("]"), []byte("1"), []byte(`"`), []byte("tru"), nil})
	g, err := New(v, []int{5}, JSON([]byte(`{"anyOf":[{"type":"boolean"},{"type":"array","items":{"type":"integer"}}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	set := make([]uint32, v.words())
	if err := g.Start().Allow(set); err != nil || set[0] != 1 {
		t.Errorf("%b, %v, want [ alone", set[0], err)
	}
	if _, err := New(v, []int{5}, JSON([]byte(`{"type":"object"}`))); err == nil || !strings.Contains(err.Error(), "vocabulary cannot write it") {
		t.Errorf("%v", err)
	}
	for _, ends := range [][]int{nil, {6}, {-1}} {
		if _, err := New(v, ends, Text("1")); err == nil {
			t.Errorf("ends %v", ends)
		}
	}
}

// TestMemory: alternatives that come to too many states within one token are an error, and
// the grammar goes on as before. Which of fifteen letters are an a is another state each.
func TestMemory(t *testing.T) {
	tokens := [][]byte{nil}
	for _, c := range `[]"ab,` {
		tokens = append(tokens, []byte(string(c)))
	}
	for n := 1; n <= 15; n++ {
		for i := range 1 << n {
			word := make([]byte, n)
			for k := range word {
				word[k] = "ab"[i>>k&1]
			}
			tokens = append(tokens, append([]byte(`["`), word...))
		}
	}
	var any []string
	for k := range 15 {
		any = append(any, fmt.Sprintf(`{"type":"string","pattern":"^[ab]{%d}a[ab]*$"}`, k))
	}
	g, err := New(NewVocabulary(tokens), []int{0}, Sequence(Text("a"), JSON([]byte(`{"type":"array","items":{"anyOf":[`+strings.Join(any, ",")+`]}}`))))
	if err != nil {
		t.Fatal(err)
	}
	set := make([]uint32, g.vocab.words())
	start := g.Start()
	for range 2 {
		if err := start.Next(4).Allow(set); !errors.Is(err, ErrMemory) {
			t.Errorf("%v", err)
		}
		if n := len(g.configs); n > 2*maxConfigs {
			t.Errorf("%d states are kept", n)
		}
		if err := start.Allow(set); err != nil || set[0] != 1<<4 {
			t.Errorf("%v, %b", err, set[0])
		}
	}
}

// TestBehindEnd: after an end, and after what is not allowed, nothing is, in any grammar.
func TestBehindEnd(t *testing.T) {
	for _, f := range []Form{Text("a"), Object(), Text("abc")} {
		g := made(t, f)
		set := make([]uint32, g.vocab.words())
		for _, id := range []int{256, 'z'} {
			s := g.Start().Next(id).Next('a').Next(256)
			if err := s.Allow(set); !errors.Is(err, ErrReadings) || s.c.done {
				t.Errorf("after %d: %v", id, err)
			}
		}
	}
}

// TestTokenBytes: a token that is no text can be asked for, and is in no text.
func TestTokenBytes(t *testing.T) {
	v := NewVocabulary([][]byte{TokenBytes(0), []byte("1"), nil, []byte("{"), []byte("}"), []byte(`"`)})
	g, err := New(v, []int{2}, Sequence(Text(string(TokenBytes(0))), OneOf(Text("1"), Object(), JSON([]byte(`{"type":"string"}`)))))
	if err != nil {
		t.Fatal(err)
	}
	set := make([]uint32, 1)
	for i, want := range []uint32{1 << 0, 1<<1 | 1<<3 | 1<<5} {
		s := g.Start()
		for range i {
			s = s.Next(0)
		}
		if err := s.Allow(set); err != nil || set[0] != want {
			t.Errorf("%d tokens: %b, %v, want %b", i, set[0], err, want)
		}
	}
	if slices.Equal(TokenBytes(1), TokenBytes(11)) {
		t.Error("two tokens are one")
	}
}
