package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// line is the row as it is written.
func line(t *testing.T, step int, stage string, row Row) string {
	t.Helper()
	var out string
	w := NewWriter(func(v any) error {
		raw, err := json.Marshal(v)
		out = string(raw)
		return err
	})
	if err := w.Append(step, stage, row); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOrder(t *testing.T) {
	row := Row{
		"eval/greedy": 1, "eval/pass@8": 2, "eval/pass@16": 3, "eval/pass@1": 4, "optim/lr": 5, "policy/loss": 6,
		"rollout/tokens": 7, "reward/mean": 8, "sft/loss": 9, "reward/term/task": 10, "reward/term/form_2": 11,
	}
	want := `{"step":12,"stage":"rl","sft/loss":9,"reward/mean":8,"reward/term/form_2":11,"reward/term/task":10,"rollout/tokens":7,"policy/loss":6,"optim/lr":5,` +
		`"eval/pass@1":4,"eval/pass@8":2,"eval/pass@16":3,"eval/greedy":1}`
	for range 20 { // a map's order differs from one walk to the next
		if got := line(t, 12, "rl", row); got != want {
			t.Fatalf("row is\n%s, want\n%s", got, want)
		}
	}
	if got := line(t, 0, `a "b" é`, nil); got != `{"step":0,"stage":"a \"b\" é"}` {
		t.Errorf("empty row is %s", got)
	}
}

// A stage's name is written as it is, not escaped for HTML.
func TestStageName(t *testing.T) {
	raw, err := encode(1, "a<b&c", nil)
	if err != nil || string(raw) != `{"step":1,"stage":"a<b&c"}` {
		t.Errorf("row is %s, error %v", raw, err)
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1", -2.5: "-2.5", 0.1: "0.1", 1.0 / 3: "0.3333333333333333", 1e-6: "0.000001", 9e-7: "9e-07",
		1e20: "100000000000000000000", 1e21: "1e+21", 5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e+308",
		math.Inf(1): "null", math.Inf(-1): "null",
	} {
		if got := string(number(v)); got != want {
			t.Errorf("%g is written %s, want %s", v, got, want)
		}
	}
	if got := string(number(math.NaN())); got != "null" {
		t.Errorf("NaN is written %s", got)
	}
	for _, v := range []float64{math.Pi, 2.0 / 3, 1e-7 / 3, 1e22 / 3, math.Nextafter(1, 2), math.Copysign(0, -1)} {
		var back float64
		if err := json.Unmarshal(number(v), &back); err != nil || math.Float64bits(back) != math.Float64bits(v) {
			t.Errorf("%g is read back as %g, error %v", v, back, err)
		}
	}
	if got := line(t, 1, "s", Row{"reward/mean": math.NaN()}); got != `{"step":1,"stage":"s","reward/mean":null}` {
		t.Errorf("row is %s", got)
	}
}

func TestUnknownNames(t *testing.T) {
	for _, name := range []string{"reward/meen", "", "eval/pass@0", "eval/pass@01", "eval/pass@+1", "eval/pass@K", "eval/pass@", "eval/pass", "reward/mean@1", "reward/term/", "reward/term/A", "reward/term/a/b", "reward/term/a@1", "rollout/not_scored/", "rollout/not_scored/1", "rollout/not_scored/a-b"} {
		w := NewWriter(func(v any) error { t.Errorf("%q: wrote %s", name, v); return nil })
		if err := w.Append(1, "rl", Row{"reward/mean": 0, name: 1}); err == nil || !strings.Contains(err.Error(), strconv.Quote(name)) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}

func TestWriteError(t *testing.T) {
	full := errors.New("disk full")
	if err := NewWriter(func(any) error { return full }).Append(1, "rl", Row{}); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Table() {
		if seen[m.Name] || !regexp.MustCompile(`^([a-z]+|NAME)/([a-z_]+(@K|/NAME)?|NAME)$`).MatchString(m.Name) || m.Meaning == "" || m.Reading == "" {
			t.Errorf("entry %+v: seen before, misnamed or without a text", m)
		}
		seen[m.Name] = true
	}
	var out bytes.Buffer
	if err := Print(&out); err != nil {
		t.Fatal(err)
	}
	for _, m := range Table() {
		if !strings.Contains(out.String(), m.Name+" ") || !strings.Contains(out.String(), m.Meaning) || !strings.Contains(out.String(), m.Reading) {
			t.Errorf("%s is not printed in full", m.Name)
		}
	}
}

// The names that programs read are fixed.
func TestStableNames(t *testing.T) {
	for _, name := range []string{
		"reward/mean", "reward/std", "policy/loss", "policy/entropy", "policy/ratio_mean", "policy/clip_fraction", "policy/kl_ref",
		"policy/mismatch_kl", "policy/grad_norm", "rollout/tokens", "rollout/length_mean", "rollout/not_scored", "groups/uniform_share",
		"eval/pass@1", "eval/pass@8",
	} {
		if _, ok := find(name); !ok {
			t.Errorf("%s is not in the table", name)
		}
	}
}

// Every name that the sources of rl and of the packages below it write or read is in
// the table. A name is a text that begins with an area of the table.
func TestNamesInUse(t *testing.T) {
	areas := map[string]bool{}
	for _, m := range Table() {
		area, _, _ := strings.Cut(m.Name, "/")
		areas[area] = true
	}
	shape := regexp.MustCompile(`^([a-z]+)/[a-z_]+(@(%d|[0-9]*))?$`)
	names := 0
	for _, pattern := range []string{"../*.go", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no sources at %s: %v", pattern, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, text := range literals(t, file) {
				if m := shape.FindStringSubmatch(text); m == nil || !areas[m[1]] {
					continue
				}
				names++
				name, _, cut := strings.Cut(text, "@")
				if cut {
					name += "@1"
				}
				if _, ok := find(name); !ok {
					t.Errorf("%s: %q is not in the table", file, text)
				}
			}
		}
	}
	if names < len(Table()) {
		t.Errorf("found %d names in the sources, fewer than the table has", names)
	}
}

// The texts are sentences, and use the words that people know.
func TestTexts(t *testing.T) {
	for _, m := range Table() {
		if first := m.Reading[:1]; !strings.HasSuffix(m.Reading, ".") || first != strings.ToUpper(first) && !strings.HasPrefix(m.Reading, "pass@") {
			t.Errorf("%s: how to read it is no sentence: %q", m.Name, m.Reading)
		}
		if strings.HasSuffix(m.Meaning, ".") {
			t.Errorf("%s: the meaning is a phrase without a period: %q", m.Name, m.Meaning)
		}
		if strings.HasSuffix(m.Name, "_frac") {
			t.Errorf("%s: a share ends in _share", m.Name)
		}
	}
}

// literals are the strings in a source file, imports left out.
func literals(t *testing.T, file string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				text, err := strconv.Unquote(n.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, text)
			}
		}
		return true
	})
	return out
}
