package programs

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// made is a tool with options.
func made(t *testing.T, name string, set func(tools.Options)) world.Tool {
	t.Helper()
	e, found := tools.Lookup(name)
	if !found {
		t.Fatalf("there is no tool %s", name)
	}
	o := e.Options()
	if set != nil {
		set(o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	tool, _, err := o.Make(nil)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// sessionOf opens a tool for a row.
func sessionOf(t *testing.T, tool world.Tool, row verify.Problem) func(text string) world.Answer {
	t.Helper()
	s, err := tool.Open(t.Context(), row)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return func(text string) world.Answer {
		t.Helper()
		args, err := json.Marshal(map[string]string{tool.Spec().Text: text})
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Call(t.Context(), args)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return a
	}
}

// turn is a call and what is expected of it; a mistake begins with an exclamation mark.
type turn struct{ text, want string }

func plays(t *testing.T, call func(string) world.Answer, turns []turn) {
	t.Helper()
	for _, x := range turns {
		a := call(x.text)
		want, failed := strings.CutPrefix(x.want, "!")
		if a.Failed != failed || !failed && a.Text != want || failed && !(strings.HasPrefix(a.Text, "mistake: ") && strings.Contains(a.Text, want)) {
			t.Errorf("%q: %+v, want %q", x.text, a, x.want)
		}
	}
}

// TestPython: a cell knows what those before it defined and shows what it prints itself; one that fails
// leaves nothing, and whatever a program does is its mistake.
func TestPython(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no box on " + runtime.GOOS)
	}
	python := made(t, "python", func(o tools.Options) { o.(*cellOptions).Timeout = 1 })
	if err := python.Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	plays(t, sessionOf(t, python, verify.Problem{}), []turn{
		{"x = 7\nprint('said')", "said"},
		{"x*8", "56"},
		{"def f(n):\n    return n + x\n", "it prints nothing"},
		{"print(f(1)); f(2)", "8\n9"},
		{"y = 1\n1/0", "!ZeroDivisionError"},
		{"y", "!NameError"},
		{"if:", "!SyntaxError"},
		{"raise SystemExit(3)", "!it exits with code 3"},
		{"import os; os._exit(0)", "!it ends the interpreter"},
		{"raise SystemExit", "!it ends the interpreter"},
		{"'ä\\u2028'", "'ä\\u2028'"},
	})
	call := sessionOf(t, python, verify.Problem{})
	plays(t, call, []turn{
		{"print('x' * 1000000)", "!it prints more than is read"},
		{"import socket; socket.create_connection(('127.0.0.1', 1))", "!it fails"},
		{"open('/etc/passwd').read()", "!it fails"},
		{"1+1", "2"},
	})
	if !testing.Short() {
		plays(t, call, []turn{{"while True: pass", "!it needs more than 1 s of processor time"}, {"1+1", "2"}})
	}
}

// TestToldCells: a session that is told of earlier cells and their answers in place of being called goes on
// from them. One that failed left nothing.
func TestToldCells(t *testing.T) {
	s, err := made(t, "javascript", nil).Open(t.Context(), verify.Problem{})
	if err != nil {
		t.Fatal(err)
	}
	l, learns := s.(world.Learner)
	if !learns {
		t.Fatal("it cannot be told")
	}
	l.Told(json.RawMessage(`{"code":"const x = 7"}`), world.Answer{Text: "it prints nothing"})
	l.Told(json.RawMessage(`{"code":"nothing()"}`), world.Answer{Text: "mistake", Failed: true})
	if a, err := s.Call(t.Context(), json.RawMessage(`{"code":"console.log(x)"}`)); err != nil || a.Text != "7" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestJavaScript: as TestPython, and equal cells print the same, though they ask for chance and time.
func TestJavaScript(t *testing.T) {
	javascript := made(t, "javascript", func(o tools.Options) { o.(*cellOptions).Timeout = 0.5 })
	if err := javascript.Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	call := sessionOf(t, javascript, verify.Problem{})
	plays(t, call, []turn{
		{"const x = 7; console.log('said')", "said"},
		{"console.log(x*8)", "56"},
		{"let x = 1", "!SyntaxError"},
		{"nothing()", "!ReferenceError"},
		{"console.log(x)", "7"},
		{"console.log('x'.repeat(1e6))", "!it prints more than"},
		{"2+2", "it prints nothing"},
		{"process.exit(0)", "!it ends the interpreter"},
	})
	half := "console.log('x'.repeat(9000))" // of what a cell may print
	call = sessionOf(t, javascript, verify.Problem{})
	plays(t, call, []turn{
		{half, strings.Repeat("x", 9000)},
		{half, strings.Repeat("x", 9000)},
		{"Promise.resolve().then(() => console.log('later'))", "later"},
		{"console.log('now')", "now"},
	})
	call = sessionOf(t, javascript, verify.Problem{})
	const chance = "console.log(Math.random(), Date.now())"
	if one, two := sessionOf(t, javascript, verify.Problem{})(chance), sessionOf(t, javascript, verify.Problem{})(chance); one != two || one.Failed {
		t.Errorf("%+v and %+v", one, two)
	}
	plays(t, call, []turn{{"const x = 7", "it prints nothing"}, {"for(;;);", "!over its 500ms of processor time"}, {"console.log(x+1)", "8"}})
}

// TestSQL: queries read the row's database and change nothing; a row without one is an error.
func TestSQL(t *testing.T) {
	sql := made(t, "sql", func(o tools.Options) { o.(*queryOptions).Rows = 3 })
	if err := sql.Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	row := verify.Problem{Metadata: map[string]json.RawMessage{"schema": json.RawMessage(`"CREATE TABLE t(a, b TEXT)"`), "rows": json.RawMessage(`{"t": [[1, "x"], [2.5, null]]}`)}}
	plays(t, sessionOf(t, sql, row), []turn{
		{"SELECT * FROM t", "a | b\n1 | x\n2.5 | NULL"},
		{"SELECT x'00ff' AS c", "c\nx'00ff'"},
		{"SELECT a FROM t WHERE a > 9", "a"},
		{"DELETE FROM t", "!only a SELECT"},
		{"SELECT random()", "!mistake"},
		{"SELECT c FROM t", "!no such column"},
		{"SELECT 1; SELECT 2", "!"},
		{"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 9) SELECT i FROM n", "!"},
		{"SELECT count(*) FROM t", "count(*)\n2"},
	})
	if _, err := sql.Open(t.Context(), verify.Problem{Metadata: map[string]json.RawMessage{}}); err == nil || !strings.Contains(err.Error(), "the row has no database") {
		t.Errorf("a row without a database: %v", err)
	}
}

// printer is a WebAssembly module that prints its second argument.
const printer = "AGFzbQEAAAABEgNgAn9/AX9gBH9/f38Bf2AAAAJFAhZ3YXNpX3NuYXBzaG90X3ByZXZpZXcxCGFyZ3NfZ2V0AAAWd2FzaV9zbmFwc2hvdF9wcmV2aWV3MQhmZF93cml0ZQABAwIBAgUDAQABBxMCBl9zdGFydAACBm1lbW9yeQIACkoBSABBgBBBgCAQABpBAEGEECgCADYCAAJAA0BBhBAoAgBBBCgCAGotAABFDQFBBEEEKAIAQQFqNgIADAALC0EBQQBBAUEIEAEaCw=="

// printed is a file with the printer.
func printed(t *testing.T) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(printer)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "printer.wasm")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestWasm: a program is an argument of the module; one that is no module, or that fails of an empty program, is the
// tool's fault, not the policy's.
func TestWasm(t *testing.T) {
	path := printed(t)
	wasm := made(t, "wasm", func(o tools.Options) {
		m := o.(*moduleOptions)
		m.Runtime, m.Argv, m.OutputKB = path, []string{"printer", "{program}!"}, 1
	})
	if err := wasm.Test(t.Context()); err != nil {
		t.Fatal(err)
	}
	plays(t, sessionOf(t, wasm, verify.Problem{}), []turn{{"7*8", "7*8!"}, {strings.Repeat("x", 2000), "!prints more than"}, {"", "!code is missing"}})
	never := made(t, "wasm", func(o tools.Options) {
		m := o.(*moduleOptions)
		m.Runtime, m.Argv, m.OutputKB = path, []string{"printer", strings.Repeat("x", 2000) + "{program}"}, 1
	})
	if err := never.Test(t.Context()); err == nil || !strings.Contains(err.Error(), "empty program: it prints more than") {
		t.Errorf("a module that fails of every program: %v", err)
	}
	if err := os.WriteFile(path, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := made(t, "wasm", func(o tools.Options) { o.(*moduleOptions).Runtime, o.(*moduleOptions).MemoryMB = path, 99 })
	if err := broken.Test(t.Context()); !errors.Is(err, world.ErrUnable) {
		t.Errorf("a file that is no module: %v", err)
	}
	o := defaultModule()
	if o.Validate() == nil {
		t.Error("a tool without a module is accepted")
	}
	if o.Runtime = filepath.Join(t.TempDir(), "none.wasm"); o.Validate() != nil {
		t.Error("the disk is read where options are checked")
	}
	if _, _, err := o.Make(nil); err == nil {
		t.Error("a module that is not there is accepted")
	}
	if o.Runtime, o.Folder = path, filepath.Join(t.TempDir(), "none"); o.Validate() != nil {
		t.Error("the disk is read where options are checked")
	}
	if _, _, err := o.Make(nil); err == nil || !strings.Contains(err.Error(), "option folder") {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestSpecs: the schema of each tool accepts what it accepts.
func TestSpecs(t *testing.T) {
	module := printed(t)
	for _, name := range []string{"python", "javascript", "sql", "wasm"} {
		tool := made(t, name, func(o tools.Options) {
			if m, is := o.(*moduleOptions); is {
				m.Runtime = module
			}
		})
		spec := tool.Spec()
		if spec.Name != name || spec.Pure || spec.Effects {
			t.Errorf("%+v", spec)
		}
		schema, err := verify.New("json_schema", map[string]any{"schema": spec.Args, "extract": verify.ExtractNone})
		if err != nil {
			t.Fatal(err)
		}
		row := verify.Problem{Metadata: map[string]json.RawMessage{"schema": json.RawMessage(`"CREATE TABLE t(a)"`)}}
		s, err := tool.Open(t.Context(), row)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range []string{`{}`, `{"` + spec.Text + `":7}`, `{"` + spec.Text + `":"x","more":1}`, `null`} {
			a, err := s.Call(t.Context(), json.RawMessage(args))
			if v := schema.Verify(verify.Problem{}, args); v.Verdict != verify.Wrong || err != nil || !a.Failed {
				t.Errorf("%s %s: the schema says %+v, the tool %+v, %v", name, args, v, a, err)
			}
		}
	}
}
