package template

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// render renders a template with variables given as JSON.
func render(t testing.TB, source, vars string) (Result, error) {
	t.Helper()
	return renderWithin(t, source, vars, Limits{})
}

func renderWithin(t testing.TB, source, vars string, limits Limits) (Result, error) {
	t.Helper()
	parsed, err := Parse(source)
	if err != nil {
		return Result{}, err
	}
	v, err := DecodeJSON([]byte(vars))
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Render(v.(*Dict).Vars(), Options{Limits: limits})
}

// TestSemantics compares with what Jinja makes of small templates
// (testdata/README.md).
func TestSemantics(t *testing.T) {
	file, err := os.ReadFile("testdata/semantics.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for line := range bytes.Lines(file) {
		var c struct {
			Template string
			Text     *string
			Fails    string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		cases++
		got, err := render(t, c.Template, "{}")
		switch {
		case c.Text == nil && err == nil:
			t.Errorf("%s\n got %q\nwant an error (%s)", c.Template, got.Text, c.Fails)
		case c.Text != nil && err != nil:
			t.Errorf("%s\n got error %v\nwant %q", c.Template, err, *c.Text)
		case c.Text != nil && got.Text != *c.Text:
			t.Errorf("%s\n got %q\nwant %q", c.Template, got.Text, *c.Text)
		}
	}
	if cases == 0 {
		t.Error("no case: nothing was tested")
	}
}

// TestErrors: line, column and what is said.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"a\n  {{ 1 + }}", `line 2, column 10: found "}}", expected an expression`},
		{"é{{ x.y }}", "line 1, column 7: 'x' is undefined"},
		{"{% if a %}", `line 1, column 11: the template ends inside a block; close it with {% endif %}`},
		{"{% for x in y %}{% endif %}", "line 1, column 20: found the tag 'endif'; expected another statement, or endfor or else"},
		{"{% nope %}", "line 1, column 4: there is no tag 'nope'"},
		{"{% include 'x' %}", "line 1, column 4: the tag 'include' reads another template; a chat template is one file"},
		{"x {# y", `line 1, column 3: the comment has no end; close it with "#}"`},
		{"x {% raw %}", "line 1, column 3: the raw block has no end; close it with {% endraw %}"},
		{"{{ 'x }}", "line 1, column 4: the string has no end; close it with '"},
		{"{{ (1] }}", `line 1, column 6: found "]", expected ")"`},
		{"{{ 1 ? 2 }}", "line 1, column 6: found the character '?', which has no meaning in a tag"},
		{"{{ 1|shout }}", "line 1, column 6: there is no filter 'shout'"},
		{"{{ [1]|random }}", "line 1, column 8: the filter 'random' is not supported: a prompt does not depend on chance"},
		{"{{ 1 is loud }}", "line 1, column 9: there is no test 'loud'"},
		{"{{ 1|tojson(colour=2) }}", "line 1, column 6: tojson has no argument 'colour'"},
		{"{{ '%s' ~ [1].append(2) }}", "line 1, column 21: access to attribute 'append' of 'list' object is unsafe"},
		{"{% break %}", "line 1, column 4: break is outside a loop"},
		{"{% set none = 1 %}", "line 1, column 8: cannot assign to 'none'"},
		{"{% set x.y = 1 %}", "line 1, column 8: cannot assign attribute on non-namespace object 'x'"},
		{"{{ raise_exception('no\nno') }}", "line 1, column 19: no\nno"},
		{"{{ '\\x4' }}", `line 1, column 4: the escape \x needs 2 hexadecimal digits`},
		{"{{ '\\N{DASH}' }}", `line 1, column 4: the escape \N is not supported; write the character, or \u and its number`},
		{"a\xff", "line 1, column 1: the template is not valid UTF-8"},
	} {
		_, err := render(t, c.source, "{}")
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.source, err, c.want)
		}
	}
}

// TestRaised: a conversation that the template refuses can be told from a fault.
func TestRaised(t *testing.T) {
	_, err := render(t, "{{ raise_exception('roles must alternate') }}", "{}")
	if e, ok := err.(*Error); !ok || !e.Raised || e.Limit || e.Message != "roles must alternate" {
		t.Errorf("%#v", err)
	}
	_, err = render(t, "{{ 1 + none }}", "{}")
	if e, ok := err.(*Error); !ok || e.Raised {
		t.Errorf("%#v", err)
	}
}

// TestBounds: templates without end and texts without bound stop with an error
// that says which bound it was.
func TestBounds(t *testing.T) {
	loops := "{% for a in range(100000) %}{% for b in range(100000) %}"
	for _, c := range []struct{ name, source, want string }{
		{"loops", loops + "{% endfor %}{% endfor %}", "takes more than 300000 steps"},
		{"text", loops + strings.Repeat("x", 1000) + "{% endfor %}{% endfor %}", "makes more than 4194304 bytes"},
		{"repeat", "{{ 'x' * 10**9 }}", "makes more than"},
		{"repeat list", "{{ ([1] * 10**9)|length }}", "makes more than"},
		{"doubling", "{% set ns = namespace(x='ab') %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}", "makes more than"},
		{"pad", "{{ 'x'.center(10**10) }}", "makes more than"},
		{"format", "{{ '%*d' % (10**10, 1) }}", "makes more than"},
		{"braces", "{{ '{:9999999999}'.format(1) }}", "makes more than"},
		{"zfill", "{{ 'x'.zfill(10**10) }}", "makes more than"},
		{"indent", "{{ ('a\n' * 1000)|indent(10**7) }}", "makes more than"},
		{"json indent", "{{ ([1] * 1000)|tojson(indent=10**7) }}", "makes more than"},
		{"join", "{{ ([''] * 10**6)|join('x' * 10**4) }}", "makes more than"},
		{"replace", "{{ ('a' * 10**5).replace('a', 'b' * 10**5) }}", "makes more than"},
		{"macro", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nests deeper than"},
		{"recursive loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "nests deeper than"},
		{"integers", "{{ 7 ** (10**6) }}", "more than 16384 bits"},
		{"integers by steps", "{% set ns = namespace(x=3) %}{% for i in range(100) %}{% set ns.x = ns.x * ns.x %}{% endfor %}", "more than 16384 bits"},
		{"range", "{{ range(100001)|list }}", "the range has 100001 items, accepted: up to 100000"},
		{"generators", "{% set ns = namespace(x=[1]) %}{% for i in range(90000) %}{% set ns.x = ns.x|map('string') %}{% endfor %}{{ ns.x|list }}", ""},
		{"search", "{% set x = 'a' * 10**6 %}" + loops + "{{ 'b' in x }}{% endfor %}{% endfor %}", "steps"},
		{"deep source", "{{ " + strings.Repeat("(", 10000) + "1" + strings.Repeat(")", 10000) + " }}", "nests deeper than 300 levels"},
		{"deep blocks", strings.Repeat("{% if 1 %}", 10000), "nests deeper than 300 levels"},
		{"long sum", "{{ 1" + strings.Repeat(" + 1", 100000) + " }}", "nests deeper than"},
		{"long source", strings.Repeat("x", 1<<20+1), "the template has 1048577 bytes, accepted: up to 1048576"},
		{"format key", "{{ '{0" + strings.Repeat("[0]", 1000) + "}'.format('x') }}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := renderWithin(t, c.source, "{}", Limits{Steps: 300_000, Bytes: 4 << 20})
			if c.want == "" {
				return // an error or a text: it ends
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestSharedLists: lists that hold one list many times are compared, printed,
// hashed and written as JSON in bounded time.
func TestSharedLists(t *testing.T) {
	const build = "{% set ns = namespace(x=KIND, y=KIND) %}{% for i in range(60) %}{% set ns.x = OPENns.x, ns.xEND %}{% set ns.y = OPENns.y, ns.yEND %}{% endfor %}"
	lists := strings.NewReplacer("KIND", "[]", "OPEN", "[", "END", "]").Replace(build)
	tuples := strings.NewReplacer("KIND", "()", "OPEN", "(", "END", ")").Replace(build)
	for _, source := range []string{lists + "{{ ns.x == ns.y }}", lists + "{{ ns.x < ns.y }}", lists + "{{ ns.x }}", lists + "{{ ns.x|tojson }}",
		tuples + "{{ {ns.x: 1} }}", tuples + "{{ ns.x in [ns.y] }}", lists + "{{ [ns.x, ns.y]|sort }}", tuples + "{{ [ns.x, ns.y]|unique|list }}"} {
		_, err := renderWithin(t, source, "{}", Limits{Steps: 300_000, Bytes: 4 << 20})
		if e, ok := err.(*Error); !ok || !e.Limit {
			t.Errorf("%s: got %v, want an error of a bound", source[len(source)-24:], err)
		}
	}
}

func TestGeneration(t *testing.T) {
	const source = "{% for m in messages %}<{{ m.role }}>{% if m.role == 'a' %}{% generation %}{{ m.content }}!{% endgeneration %}{% else %}{{ m.content }}{% endif %}{% endfor %}"
	r, err := render(t, source, `{"messages":[{"role":"u","content":"é"},{"role":"a","content":"ü"},{"role":"a","content":""}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range r.Assistant {
		got = append(got, r.Text[s.Start:s.End])
	}
	if r.Text != "<u>é<a>ü!<a>!" || strings.Join(got, "|") != "ü!|!" || r.Lost != nil {
		t.Errorf("%q %q %v", r.Text, got, r.Lost)
	}
	r, err = render(t, "{% macro m() %}\n{% generation %}x{% endgeneration %}{% endmacro %}{{ m()|upper }}", "{}")
	if err != nil || r.Text != "X" || r.Assistant != nil || r.Lost == nil || r.Lost.Line != 2 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestDate(t *testing.T) {
	p, err := Parse("{{ strftime_now('%-d %B %Y, %H:%M') }}")
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Render(nil, Options{Now: time.Date(2024, 2, 9, 8, 5, 0, 0, time.UTC)})
	if err != nil || r.Text != "9 February 2024, 08:05" {
		t.Errorf("%q %v", r.Text, err)
	}
	if r, err := p.Render(nil, Options{}); err != nil || r.Text != "26 July 2025, 00:00" {
		t.Errorf("%q %v", r.Text, err)
	}
}

// TestVariablesStay: a rendering changes nothing that it was given.
func TestVariablesStay(t *testing.T) {
	v, err := DecodeJSON([]byte(`{"m":[{"b":[3,1]},{"a":2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse("{% set m = m + [1] %}{{ m|reverse|list }}{{ m[0].b|sort }}{{ m[0]|dictsort }}{{ dict(m[0], c=1) }}{{ m|batch(2, 0)|list }}{{ m|slice(2)|list }}{{ m|list + [2] }}")
	if err != nil {
		t.Fatal(err)
	}
	first, err := p.Render(v.(*Dict).Vars(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.Render(v.(*Dict).Vars(), Options{})
	if err != nil || first.Text != second.Text {
		t.Errorf("%q, then %q (%v)", first.Text, second.Text, err)
	}
}

func TestDecodeJSON(t *testing.T) {
	r, err := render(t, "{{ x|tojson }}", `{"x":{"z":1,"a":1.0,"m":18446744073709551615,"e":1e5,"n":null,"z":2,"s":"\u00e9"}}`)
	if want := `{"z": 2, "a": 1.0, "m": 18446744073709551615, "e": 100000.0, "n": null, "s": "é"}`; err != nil || r.Text != want {
		t.Errorf("got %s, %v\nwant %s", r.Text, err, want)
	}
	for _, bad := range []string{"", "{", "[1,]", `{"a":1} 2`, "{1:2}", "nul", strings.Repeat("9", 5000)} {
		if v, err := DecodeJSON([]byte(bad)); err == nil {
			t.Errorf("%.20q: got %v, want an error", bad, v)
		}
	}
}

// TestRegressions: faults that were here once, by number.
func TestRegressions(t *testing.T) {
	for _, c := range []struct {
		number       int
		source, want string
	}{
		{1, `{{ "{:<08}".format(5) }}`, "50000000"},
		{2, `{{ {"__a": 1}.__a }}`, "1"},
		{3, `{% for g in [{"a": 1}]|groupby("a") %}{{ g.grouper }} {{ g.list }}{% endfor %}`, "1 [{'a': 1}]"},
		{4, `{{ true|round }} {{ [undef] }}`, "1 [Undefined]"},
		{5, `{{ "  a b c  ".rsplit(none, 1) }} {{ " a b  c ".split(none, 1) }}`, "['  a b', 'c'] ['a', 'b  c ']"},
	} {
		if r, err := render(t, c.source, "{}"); err != nil || r.Text != c.want {
			t.Errorf("%d: %s: got %q, %v; want %q", c.number, c.source, r.Text, err, c.want)
		}
	}
}

// FuzzRender: any source ends without a panic, in bounded time, in a text or in an
// error inside the source.
func FuzzRender(f *testing.F) {
	file, err := os.ReadFile("testdata/semantics.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var c struct{ Template string }
		if err := json.Unmarshal(line, &c); err != nil {
			f.Fatal(err)
		}
		f.Add(c.Template)
	}
	v, err := DecodeJSON([]byte(`{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"text","text":"é"}]}],"tools":[{"a":[1,2.5,null,true]}]}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := Parse(source)
		var r Result
		if err == nil {
			r, err = p.Render(v.(*Dict).Vars(), Options{Limits: Limits{Steps: 100_000, Bytes: 1 << 20}})
		}
		if err != nil {
			if e := err.(*Error); e.Line < 1 || e.Column < 1 || e.Line > 1+strings.Count(source, "\n")+strings.Count(source, "\r") {
				t.Errorf("place %d, %d of %q", e.Line, e.Column, source)
			}
			return
		}
		if len(r.Text) > 1<<20 {
			t.Errorf("%d bytes of text", len(r.Text))
		}
	})
}
