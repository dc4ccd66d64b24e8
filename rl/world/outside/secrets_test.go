package outside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestSecrets: a value is cut out of strings and keys however JSON escapes it, and of numbers, and the line stays
// JSON. Lines that are none, and lines without values, are quoted as they are but for the values.
func TestSecrets(t *testing.T) {
	s := newSecrets([][2]string{{`pass"w\rd<`, "[A]"}, {"12345678", "[B]"}})
	for line, want := range map[string]string{
		`{"z":1,"a":"ok","n":1e400}`:                   `{"z":1,"a":"ok","n":1e400}`,
		`{"a":"x pass\"w\\rd< y"}`:                     `{"a":"x [A] y"}`,
		`{"a":"\u0070ass\u0022w\u005crd\u003c"}`:       `{"a":"[A]"}`,
		`{"pass\"w\\rd\u003c":[{"b":"12345678"}]}`:     `{"[A]":[{"b":"[B]"}]}`,
		`{"a":12345678,"b":123456789}`:                 `{"a":"[B]","b":123456789}`,
		`hello pass"w\rd< 12345678`:                    `hello [A] [B]`,
		`{"a":"pass\"w\\rd<","a":"pass\"w\\rd\u003c"}`: `{"a":"[A]","a":"[A]"}`,
		`{"a":"pass\"w\\rd<"`:                          `{"a":"[A]"`,
	} {
		if got := string(s.line([]byte(line))); got != want {
			t.Errorf("%s becomes %s, want %s", line, got, want)
		}
	}
}

// TestNothingIsSaid: no error that quotes a program has a value of its environment.
func TestNothingIsSaid(t *testing.T) {
	const value = `pass"w\rd<`
	t.Setenv("RLZERO_TOKEN", value)
	told := func(what string, err error) {
		t.Helper()
		if err == nil || strings.Contains(err.Error(), "w\\") || !strings.Contains(err.Error(), "[RLZERO_TOKEN]") {
			t.Errorf("%s: %v", what, err)
		}
	}
	hello := program(t, `hello=pass"w\rd<`)
	hello.Env = []string{"RLZERO_TOKEN"}
	_, err := New(hello, nil).Hello()
	told("the first line", err)
	c := program(t)
	c.Env = hello.Env
	w := New(c, nil)
	defer w.Close()
	for what, answer := range map[string]string{
		"a fact":    `{"id":"ID","messages":[{"text":"a"}],"facts":{"pass\"w\\rd<":1}}`,
		"a role":    `{"id":"ID","messages":[{"text":"a","role":"pass\"w\\rd<"}]}`,
		"a verdict": `{"id":"ID","verdict":{"score":1,"verdict":"pass\"w\\rd<"}}`,
		"a key":     `{"id":"ID","pass\"w\\rd<":1}`,
	} {
		e, _, err := w.Begin(t.Context(), verify.Problem{}, canaryDice())
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Step(t.Context(), world.Turn{Text: "say " + answer})
		told(what, err)
		e.Close()
	}
}

// TestDigestOfPrograms: only the program and scripts count, not files that it is given, which it may write.
func TestDigestOfPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	digest := func(words ...string) string {
		t.Helper()
		sum, err := Command{Words: words}.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	for name, counts := range map[string]bool{"notes.db": false, "settings.json": false, "tool.py": true, "index.mjs": true, "script": true} {
		text := map[bool]string{true: "#!/bin/sh\n"}[name == "script"]
		before := digest("server", "--with", write(name, text+"a"))
		if after := digest("server", "--with", write(name, text+"b")); (before != after) != counts {
			t.Errorf("%s: another text has another digest: %v, want %v", name, before != after, counts)
		}
	}
	before := digest(write("program", "a"), "x")
	if before == digest(write("program", "b"), "x") {
		t.Error("another program has the same digest")
	}
}
