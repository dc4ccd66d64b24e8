package settings

import (
	"embed"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// plan is a table with every type of setting.
type plan struct {
	Name  string         `toml:"name" about:"of the plan"`
	Size  int            `toml:"size" range:"[0,9]" unit:"tokens" was:"width"`
	Seed  uint64         `toml:"seed"`
	Most  float64        `toml:"most" range:"(-1,inf]"`
	Free  float64        `toml:"free" range:"(-inf,inf)"`
	On    bool           `toml:"on"`
	Words []string       `toml:"words" choice:"a,b"`
	Pair  [2]float64     `toml:"pair" range:"[0,1)"`
	Extra map[string]any `toml:"extra"`
	Parts []part         `toml:"part"`
	hidden
}

type hidden struct {
	Deep int `toml:"deep"`
}

type part struct {
	Kind   string `toml:"kind" choice:"x,y"`
	Name   string `toml:"name" of:"named"`
	OnlyX  int    `toml:"only_x" in:"x"`
	Spread spread `toml:"spread"`
}

type spread struct {
	MinX int `toml:"min_x" range:"[0,100]"`
	MaxX int `toml:"max_x" range:"[0,100]"`
	InY  int `toml:"in_y" in:"y"`
}

// Variant says that a part without a name has no such key.
func (p part) Variant() string {
	if p.Name == "" {
		return "nameless"
	}
	return "named"
}

const text = `name = "p"
size = 3
most = inf
words = ["b", "a"]
pair = [0.5, 0]
extra = {a = [1, {b = true}]}
deep = 4
[[part]]
kind = "x"
only_x = 5
[[part]]
kind = "y"
name = "second"
[part.spread]
in_y = 6
`

func read(t *testing.T, text string, overrides ...string) (plan, error) {
	t.Helper()
	d, err := Parse("f.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range overrides {
		d.Override(o)
	}
	var p plan
	d.Decode(&p, d.Tree(), nil)
	return p, d.Err()
}

// TestDecode: every type is read, and the printed text gives the same struct.
func TestDecode(t *testing.T) {
	got, err := read(t, text)
	if err != nil {
		t.Fatal(err)
	}
	want := plan{Name: "p", Size: 3, Most: math.Inf(1), Words: []string{"b", "a"}, Pair: [2]float64{0.5, 0},
		Extra: map[string]any{"a": []any{int64(1), map[string]any{"b": true}}}, hidden: hidden{4},
		Parts: []part{{Kind: "x", OnlyX: 5}, {Kind: "y", Name: "second", Spread: spread{InY: 6}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	printed := Print(&got)
	again, err := read(t, printed)
	if err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("after printing: %+v, %v\n%s", again, err, printed)
	}
	if strings.Count(printed, "only_x") != 1 || strings.Count(printed, "in_y") != 1 || strings.Count(printed, "name = ") != 2 {
		t.Errorf("keys of another kind, or that a part does not have, are printed:\n%s", printed)
	}
}

// TestFaults: each fault has its place, what was found and what is accepted.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"size = 3", "size = 10", "f.toml:2:1: size = 10 is out of range; accepted: a whole number from 0 to 9"},
		{"size = 3", "size = 3.0", "f.toml:2:1: size = 3.0 is written as a float; write 3"},
		{"size = 3", "size = 1e9", "f.toml:2:1: size = 1e+09 is written as a float; write 1000000000"},
		{"size = 3", "size = 3.5", "f.toml:2:1: size = 3.5 is a number with a fraction; accepted: a whole number from 0 to 9"},
		{"size = 3", "width = 3", "f.toml:2:1: width is now called size; rename the key"},
		{"size = 3", "seed = -1", "f.toml:2:1: seed = -1 is out of range; accepted: a whole number, at least 0"},
		{"size = 3", "sise = 3", "f.toml:2:1: unknown key sise; did you mean size?"},
		{"most = inf", "most = -1", "f.toml:3:1: most = -1 is out of range; accepted: a number, above -1, or inf"},
		{"most = inf", "free = inf", "f.toml:3:1: free = inf is out of range; accepted: a finite number"},
		{`["b", "a"]`, `["b", "c"]`, `f.toml:4:1: words = "c" is not known; accepted: a, b`},
		{`["b", "a"]`, `"b"`, `f.toml:4:1: words = "b" is a string; accepted: a list, each one of a, b`},
		{"[0.5, 0]", "[0.5]", "f.toml:5:1: pair = [...] is a list of 1 values; accepted: a list of 2 values, each a number, at least 0 and below 1"},
		{"{b = true}", "{b = 2026-01-01}", "f.toml:6:1: extra holds a date or time; accepted: strings, numbers, true, false, lists and tables"},
		{"only_x = 5", "only_x = true", "f.toml:10:1: part.x.only_x = true is a boolean; accepted: a whole number"},
		{`name = "second"`, "only_x = 5", `f.toml:13:1: part.y.only_x goes with kind = "x"; this table has kind = "y"`},
		{"in_y = 6", "in_x = 6", "f.toml:15:1: unknown key part.second.spread.in_x; did you mean min_x?"},
		{"[part.spread]", "spread = 3\n[other]", "f.toml:14:1: part.second.spread = 3 is a whole number; accepted: a table"},
	} {
		if _, err := read(t, strings.Replace(text, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.new, err, c.want)
		}
	}
	if _, err := Parse("f.toml", "a = 1\na = 2"); err == nil || !strings.HasPrefix(err.Error(), "f.toml:2:") {
		t.Errorf("a key twice: %v", err)
	}
}

// TestOverride: a path goes through lists of tables by name, kind or index.
func TestOverride(t *testing.T) {
	got, err := read(t, text, "size=4", "part.x.only_x = 7", "part.second.spread.in_y=8", "part.1.spread.min_x=2", "name=a=b", "words=[]", "extra.day=2026-01-01")
	if err != nil {
		t.Fatal(err)
	}
	if got.Size != 4 || got.Parts[0].OnlyX != 7 || got.Parts[1].Spread != (spread{MinX: 2, InY: 8}) || got.Name != "a=b" || got.Words == nil || len(got.Words) != 0 || got.Extra["day"] != "2026-01-01" {
		t.Errorf("%+v", got)
	}
	for set, want := range map[string]string{
		"size=x":                    `--set size=x: size = "x" is a string; accepted: a whole number from 0 to 9`,
		"size":                      "--set size: write PATH=VALUE",
		"part.x=3":                  "--set part.x=3: part is a list of tables: write part.NAME.KEY",
		"part.scond.a=3":            `there is no part "scond"; did you mean second? (accepted: x, second, or an index from 0)`,
		"part.2.only_x=3":           `there is no part "2"`,
		"size.a=3":                  "size is a value and has no keys",
		"seed=99999999999999999999": "is out of range; whole numbers go from",
	} {
		if _, err := read(t, text, set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", set, err, want)
		}
	}
}

// TestCheck: values that were set in Go are checked as decoded ones are, and a
// min_ does not exceed its max_.
func TestCheck(t *testing.T) {
	good := plan{Size: 1, Most: 1, Words: []string{"a"}}
	if err := Check(&good); err != nil {
		t.Error(err)
	}
	bad := plan{Size: -1, Most: math.NaN(), Words: []string{"a", "c"}, Pair: [2]float64{0, 1}}
	want := "size = -1 is out of range; accepted: a whole number from 0 to 9\n" +
		"most = nan is out of range; accepted: a number, above -1, or inf\n" +
		"words = \"c\" is not known; accepted: a, b\n" +
		"pair = 1.0 is out of range; accepted: a number, at least 0 and below 1"
	if err := Check(bad); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if err := Check(spread{MinX: 5, MaxX: 4}); err == nil || err.Error() != "max_x = 4 is out of range; accepted: a whole number from 0 to 100, not below min_x = 5" {
		t.Errorf("%v", err)
	}
}

// TestSet: one setting from text; one that is not accepted changes nothing.
func TestSet(t *testing.T) {
	p := plan{Size: 2}
	for key, text := range map[string]string{"size": "5", "name": "a b", "free": "3", "on": "true"} {
		if err := Set(&p, key, text); err != nil {
			t.Error(err)
		}
	}
	for _, c := range [][3]string{{"size", "10", "size = 10 is out of range"}, {"size", "1.5", "is a number with a fraction"}, {"sizes", "1", "unknown key sizes; did you mean size?"}} {
		if err := Set(&p, c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if p.Size != 5 || p.Name != "a b" || p.Free != 3 || !p.On {
		t.Errorf("%+v", p)
	}
}

// TestDecodeJSON: options are decoded as recipes are.
func TestDecodeJSON(t *testing.T) {
	var o struct {
		Size  int             `toml:"size" range:"[1,9]"`
		Share float64         `toml:"share" range:"[0,1]"`
		Any   json.RawMessage `toml:"any"`
	}
	if err := DecodeJSON(json.RawMessage(`{"size":3,"share":1,"any":{"a":[12345678901234567890,null]}}`), &o); err != nil {
		t.Fatal(err)
	}
	if o.Size != 3 || o.Share != 1 || string(o.Any) != `{"a":[12345678901234567890,null]}` {
		t.Errorf("%+v %s", o, o.Any)
	}
	for raw, want := range map[string]string{
		`{"size":2.0}`:            "size = 2.0 is written as a float; write 2",
		`{"size":10,"share":"x"}`: "share = \"x\" is a string; accepted: a number from 0 to 1\nsize = 10 is out of range; accepted: a whole number from 1 to 9",
		`{"size":null}`:           "size = null is nothing; accepted: a whole number from 1 to 9",
		`{"share":1e999}`:         "share = inf is out of range",
		`{"siz":1}`:               "unknown key siz; did you mean size?",
		`[1]`:                     "not a JSON object",
	} {
		if err := DecodeJSON(json.RawMessage(raw), &o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", raw, err, want)
		}
	}
}

// TestFields: what a reference needs.
func TestFields(t *testing.T) {
	fields := map[string]Field{}
	for _, f := range Fields(plan{Size: 3}) {
		fields[f.Key] = f
	}
	size := fields["size"]
	if size.Unit != "tokens" || size.Type() != "whole number" || size.Range != "[0,9]" || size.Text() != "3" || size.Value() != 3 || fields["name"].About() != "of the plan" {
		t.Errorf("%+v", size)
	}
	for key, want := range map[string]string{"name": "string", "most": "number", "on": "boolean", "words": "list of strings", "pair": "list of numbers", "extra": "table", "part": "list of tables", "deep": "whole number"} {
		if got := fields[key].Type(); got != want {
			t.Errorf("%s is a %s, want %s", key, got, want)
		}
	}
	if got := Describe(struct {
		A int    `toml:"a" range:"[1,2]" about:"one"`
		B string `toml:"bcd" choice:"x,y" about:"two"`
	}{1, "x"}); got != "a     one: a whole number from 1 to 2. Default 1.\nbcd   two: one of x, y. Default \"x\".\n" {
		t.Errorf("%s", got)
	}
}

// timer has what a tag can say beside the range.
type timer struct {
	// how it runs: up
	//
	// or down
	Kind string `toml:"kind" choice:"up,down" default:"up"`

	// where it ends
	Last int `toml:"last" range:"[1,inf)" default:"60" default_down:"0"` // 0: below what a recipe may say

	Ring  string     `toml:"ring" of:"bounded" about:"what it plays" choice:"bell,none" default:"bell"`
	Tone  float64    `toml:"tone" with:"ring=bell" default:"440"`
	Steps []int      `toml:"steps" default:"[]"`
	Pair  [2]float64 `toml:"pair" default:"[0.9, 1]" in:"up"`
	alarm `of:"bounded"`
}

type alarm struct {
	// whether it repeats
	Again bool `toml:"again" default:"true"`
}

func (t timer) Variant() string {
	if t.Last > 1000 {
		return "endless"
	}
	return "bounded"
}

//go:embed settings_test.go
var source embed.FS

func init() { Comments[timer](source) }

// TestComments: a setting is what the comment above its field says, or its tag.
func TestComments(t *testing.T) {
	want := map[string]string{"kind": "how it runs: up or down", "last": "where it ends", "ring": "what it plays", "tone": "", "steps": "", "pair": "", "again": "whether it repeats"}
	for _, f := range Fields(timer{}) {
		if got := f.About(); got != want[f.Key] {
			t.Errorf("%s: %q", f.Key, got)
		}
	}
}

// TestDefaults: a struct gets the values of its tags, by kind; elements of a list have theirs
// before they are read, and the keys of another variant are emptied.
func TestDefaults(t *testing.T) {
	var up, down timer
	SetDefaults(&up, "up")
	if want := (timer{Kind: "up", Last: 60, Ring: "bell", Tone: 440, Steps: []int{}, Pair: [2]float64{0.9, 1}, alarm: alarm{true}}); !reflect.DeepEqual(up, want) {
		t.Errorf("%+v", up)
	}
	d, err := Parse("f.toml", "[[timer]]\nring = \"none\"\n")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Timers []timer `toml:"timer"`
	}
	if d.Decode(&list, d.Tree(), nil); d.Err() != nil || len(list.Timers) != 1 || list.Timers[0].Ring != "none" || list.Timers[0].Tone != 440 {
		t.Errorf("%+v, %v", list, d.Err())
	}
	up.Last = 2000
	if Clear(&up); up.Last != 2000 || up.Tone != 440 || up.Ring != "" || up.Again {
		t.Errorf("%+v", up)
	}
	defer func() {
		if said := recover(); said == nil || !strings.Contains(said.(error).Error(), "the default of settings.timer.Last: last = 0 is out of range") {
			t.Errorf("a default that is not accepted: %v", said)
		}
	}()
	SetDefaults(&down, "down")
}

// TestWith: a key that does nothing beside another one is refused, unless it has its default.
func TestWith(t *testing.T) {
	for text, want := range map[string]string{
		"ring = \"none\"\ntone = 500": `f.toml:2:1: tone = 500.0 would do nothing: it goes with ring = bell, and ring is "none"`,
		"ring = \"none\"\ntone = 440": "",
		"ring = \"bell\"\ntone = 500": "",
		"ring = \"gong\"\ntone = 500": `f.toml:1:1: ring = "gong" is not known; accepted: bell, none`,
	} {
		d, err := Parse("f.toml", text)
		if err != nil {
			t.Fatal(err)
		}
		var got timer
		SetDefaults(&got, "up")
		d.Decode(&got, d.Tree(), nil)
		if err := d.Err(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"learning_rate", "steps", "seed"}
	for name, want := range map[string]string{"stpes": "; did you mean steps?", "STEPS": "; did you mean steps?", "rate": "; did you mean learning_rate?", "zzz": "; known here: learning_rate, steps, seed"} {
		if got := DidYouMean(name, known, ""); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"stpes": "; did you mean steps? (accepted: words)", "zzz": "; accepted: words"} {
		if got := DidYouMean(name, known, "accepted: words"); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := DidYouMean("zzz", nil, ""); got != "" {
		t.Errorf("nothing known: %q", got)
	}
}

// FuzzDecode: no text and no override makes the decoder fail other than with an
// error, and what it accepts prints to the same struct.
func FuzzDecode(f *testing.F) {
	f.Add(text, "size=4")
	f.Add("[[part]]\n[[part]]\nkind='x'\n[part.spread]\nmin_x=1", "part.0.kind=y")
	f.Add("part = [{kind = 'x'}, 3]", "extra.a.b.c=1")
	f.Add("[[part]]\n[[part]]\nkind='x'\n[part.spread]\nmin_x=1", "part.1.kind=y") // a part without a kind
	f.Fuzz(func(t *testing.T, text, set string) {
		d, err := Parse("f.toml", text)
		if err != nil {
			return
		}
		d.Override(set)
		var p plan
		d.Decode(&p, d.Tree(), nil)
		if d.Err() != nil || p.Parts == nil && Tables(d.Tree()["part"]) != nil {
			return
		}
		if slices.ContainsFunc(p.Parts, func(part part) bool { return part.Kind == "" }) {
			return // whoever decodes refuses a table without a kind, as rl/recipe does
		}
		printed := Print(&p)
		if again, err := read(t, printed); err != nil || Print(&again) != printed {
			t.Errorf("%v after\n%s\nof %+v", err, printed, p)
		}
	})
}

// garden is a struct with tables that go by names of their own.
type garden struct {
	Beds map[string]bed `toml:"beds"`
}

type bed struct {
	Rows  int    `toml:"rows" range:"[1,9]" default:"2"`
	Crop  string `toml:"crop" of:"sown"`
	Soil  soil   `toml:"soil"`
	Until string `toml:"until" of:"fallow"`
}

type soil struct {
	Depth float64 `toml:"depth" default:"0.5"`
}

func (b bed) Variant() string {
	if b.Crop != "" {
		return "early sown" // several at a time
	}
	return "fallow"
}

// TestNamedTables: tables that go by names of their own are read over their defaults, and printed in
// the order of their names.
func TestNamedTables(t *testing.T) {
	decode := func(text string, overrides ...string) (g garden, err error) {
		d, err := Parse("f.toml", text)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range overrides {
			d.Override(o)
		}
		d.Decode(&g, d.Tree(), nil)
		return g, d.Err()
	}
	const text = "[beds.south]\ncrop = \"peas\"\n[beds.south.soil]\ndepth = 1\n[beds.\"by the wall\"]\nrows = 3\n"
	g, err := decode(text, "beds.north.rows=4")
	if err != nil {
		t.Fatal(err)
	}
	want := garden{map[string]bed{"south": {2, "peas", soil{1}, ""}, "by the wall": {3, "", soil{0.5}, ""}, "north": {4, "", soil{0.5}, ""}}}
	if !reflect.DeepEqual(g, want) {
		t.Errorf("%+v", g)
	}
	const printed = "[beds.\"by the wall\"]\nrows = 3\nuntil = \"\"\n\n[beds.\"by the wall\".soil]\ndepth = 0.5\n\n[beds.north]\nrows = 4\nuntil = \"\"\n\n[beds.north.soil]\ndepth = 0.5\n\n[beds.south]\nrows = 2\ncrop = \"peas\"\n\n[beds.south.soil]\ndepth = 1.0\n"
	if got := Print(g); got != printed {
		t.Errorf("printed\n%s\nwant\n%s", got, printed)
	}
	if again, err := decode(Print(g)); err != nil || !reflect.DeepEqual(again, want) {
		t.Errorf("read again: %+v, %v", again, err)
	}
	if none, err := decode(""); err != nil || none.Beds != nil || Print(none) != "" {
		t.Errorf("%+v, printed %q, %v", none, Print(none), err)
	}
	for text, want := range map[string]string{
		"beds = 3":                      "f.toml:1:1: beds = 3 is a whole number; accepted: a table",
		"beds = {south = 3}":            "f.toml:1:9: beds.south = 3 is a whole number; accepted: a table [beds.south]",
		"[beds.south]\nrows = 0":        "f.toml:2:1: beds.south.rows = 0 is out of range; accepted: a whole number from 1 to 9",
		"[beds.south]\nrow = 1":         "f.toml:2:1: unknown key beds.south.row; did you mean rows?",
		"[beds.south.soil]\ndeep = 1.0": "f.toml:2:1: unknown key beds.south.soil.deep",
	} {
		if _, err := decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}

// TestHashed: a field that is hashed where it is given is left out where it is zero; it is always printed.
func TestHashed(t *testing.T) {
	type table struct {
		Old int  `toml:"old"`
		New bool `toml:"new" hashed:"given"`
	}
	for want, v := range map[string]table{"old = 1\n": {Old: 1}, "old = 1\nnew = true\n": {1, true}} {
		if got := Hashed(&v); got != want || !strings.Contains(Print(&v), "new = ") {
			t.Errorf("hashed\n%s\nwant\n%s\nprinted\n%s", got, want, Print(&v))
		}
	}
}
