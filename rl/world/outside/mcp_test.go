package outside

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// server is the scripted server in modes.
func server(t *testing.T, modes ...string) *Server {
	t.Helper()
	return NewServer(Command{Words: append([]string{program(t).Words[0], serverWord}, modes...)}, false)
}

// called is what a tool of a server answers in an episode of its own.
func called(t *testing.T, s *Server, tool, args string) (world.Answer, error) {
	t.Helper()
	text, err := s.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.Tools(text)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(tools, func(x world.Tool) bool { return x.Spec().Name == tool })
	session, err := tools[i].Open(t.Context(), verify.Problem{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	return session.Call(t.Context(), json.RawMessage(args))
}

// TestRevisions: servers of the revision without a handshake and of those with one are understood, also those
// that are silent, or end, where they are asked what they do not know.
func TestRevisions(t *testing.T) {
	for _, modes := range [][]string{{"revision=" + modern}, {"revision=2025-11-25"}, {"revision=2024-11-05"}, {"revision=dual"}, {"revision=2025-06-18", "dies"}, {"revision=2025-06-18", "silent"}} {
		t.Run(strings.Join(modes, " "), func(t *testing.T) {
			if slices.Contains(modes, "silent") && testing.Short() {
				t.Skip("-short: waits for 5 seconds")
			}
			t.Parallel()
			s := server(t, modes...)
			if a, err := called(t, s, "echo_text", `{"text":"7 < 8"}`); err != nil || a != (world.Answer{Text: "7 < 8"}) {
				t.Errorf("%+v, %v", a, err)
			}
			if (era(s.era.Load()) == withoutHandshake) != (modes[0] == "revision="+modern) {
				t.Error("the wrong revision is remembered")
			}
		})
	}
	for want, modes := range map[string][]string{
		`it speaks 2031-01-01; accepted: 2026-07-28, 2025-11-25`:            {"revision=other"},
		`it speaks revision "1999-01-01"; accepted: 2026-07-28, 2025-11-25`: {"revision=1999-01-01"},
	} {
		if _, err := server(t, modes...).List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestList: tools are listed once, in one order, and what cannot be called is refused.
func TestList(t *testing.T) {
	s := server(t)
	text, err := s.List(t.Context(), []string{"fail", "echo-text"})
	const want = `[{"name":"echo-text","description":"It is echo-text.","inputSchema":{"properties":{"text":{"type":"string"}},"type":"object"}},{"name":"fail","description":"It is fail.","inputSchema":{"properties":{},"type":"object"}}]`
	if err != nil || text != want {
		t.Errorf("%s, %v", text, err)
	}
	specs, err := Specs(text, true)
	if err != nil || len(specs) != 2 || specs[0].Name != "echo_text" || specs[0].Text != "text" || specs[1].Text != "" || specs[0].Pure || !specs[0].Effects {
		t.Errorf("%+v, %v", specs, err)
	}
	more := filepath.Join(t.TempDir(), "more")
	growing := server(t, "more="+more)
	if text, err = growing.List(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	tools, err := growing.Tools(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := tools[0].Test(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(more, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := tools[0].Test(t.Context()); err != nil { // a tool that nobody wants
		t.Error(err)
	}
	if other, err := growing.List(t.Context(), nil); err != nil || other == text {
		t.Errorf("a new tool is not listed, %v", err)
	}
	if _, err := s.List(t.Context(), []string{"fial"}); err == nil || !strings.Contains(err.Error(), `unknown tool of the server "fial"`) {
		t.Error(err)
	}
	for schema, want := range map[string]string{`{"type":"string"}`: `the arguments of tool bad have the schema "{\"type\":\"string\"}"; accepted: one of an object`, `7`: "accepted: one of an object", `null`: "accepted: one of an object"} {
		if _, err := server(t, "bad="+schema).List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
	if _, err := server(t, "bad="+`{"type":"object","about":"`+strings.Repeat("a", maxToolText)+`"}`).List(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "accepted: at most 65536") {
		t.Error(err)
	}
}

// TestToolCalls: what a server answers, and whose fault it is where it does not.
func TestToolCalls(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	t.Setenv("RLZERO_TOKEN", "secret-word")
	s := server(t, "notes="+notes)
	s.Command.Env = []string{"RLZERO_TOKEN"}
	for tool, want := range map[string]world.Answer{
		"fail":       {Text: "no paper", Failed: true},
		"ask":        {Text: "asked"},
		"wrong":      {Text: "no such page", Failed: true},
		"image":      {Text: "[image]\na text\n[resource file:///b]"},
		"structured": {Text: `{"n":5}`},
		"variable":   {Text: "[RLZERO_TOKEN]"},
	} {
		if a, err := called(t, s, tool, "{}"); err != nil || a != want {
			t.Errorf("%s: %+v, %v, want %+v", tool, a, err, want)
		}
	}
	if text, err := os.ReadFile(notes); err != nil || strings.Count(string(text), "refused with -32601") != 3 || strings.Count(string(text), "answered") != 1 {
		t.Errorf("what the server asked for: %s, %v", text, err)
	}
	for tool, want := range map[string]string{
		"break": "it answers with error -32603: out of ink",
		"die":   "the program has ended (exit status 7)",
		"input": `the result of tools/call is "input_required"`,
	} {
		if _, err := called(t, s, tool, "{}"); err == nil || errors.Is(err, world.ErrSpoken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", tool, err, want)
		}
	}
	if _, err := called(t, s, "junk", "{}"); !errors.Is(err, world.ErrSpoken) || !strings.Contains(err.Error(), `"hello" is no message of JSON-RPC`) {
		t.Error(err)
	}
	over := errors.New("over its clock")
	c, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.running <- struct{}{}
	session := mcpSession{talk: &talk{server: s, client: c}, tool: "slow"}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, over)
	defer cancel()
	if _, err := session.Call(ctx, json.RawMessage("{}")); !errors.Is(err, over) {
		t.Error(err)
	}
	session.Close()
	if text, err := os.ReadFile(notes); err != nil || !strings.Contains(string(text), "cancelled ") {
		t.Errorf("the call is not cancelled: %s, %v", text, err)
	}
}

// TestSlowStart: a server that is known to need no handshake has time to begin, and one of which nothing is known
// is understood where it begins after it was taken for an old one.
func TestSlowStart(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: waits for 6 seconds")
	}
	for name, known := range map[string]bool{"known": true, "unknown": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := filepath.Join(t.TempDir(), "late")
			s := server(t, "late="+late)
			if known {
				if _, err := s.List(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(late, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := s.List(t.Context(), nil); err != nil || era(s.era.Load()) != withoutHandshake {
				t.Errorf("%v", err)
			}
		})
	}
}

// toolsOf is the world of a server's tools.
func toolsOf(t *testing.T, s *Server) world.Tooled {
	t.Helper()
	text, err := s.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.Tools(text)
	if err != nil {
		t.Fatal(err)
	}
	return world.Tooled{Tools: tools}
}

// remembered is a journal that has answers to turns.
type remembered map[int]string

func (r remembered) Answer(a world.Asked, call func() (world.Answer, error)) (world.Answer, error) {
	if text, known := r[a.Turn]; known {
		return world.Answer{Text: text}, nil
	}
	return call()
}

func (r remembered) Knows(a world.Asked) bool { _, known := r[a.Turn]; return known }

func (remembered) Fault(int) (error, bool) { return nil, false }

func (remembered) Failed(int, error) error { return nil }

// TestOneProcess: the tools of a server answer an episode from one process, which knows of all calls before, also
// of those that a journal answered; another episode has another process.
func TestOneProcess(t *testing.T) {
	s := server(t)
	w := toolsOf(t, s)
	played := func(w world.World, texts ...string) (said string, err error) {
		e, _, err := w.Begin(t.Context(), verify.Problem{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for i, text := range texts {
			r, err := e.Step(t.Context(), world.Turn{Text: text, At: i + 1})
			if err != nil {
				return said, err
			}
			said += r.Messages[0].Text + "\n"
			if n := len(s.running); n > 1 {
				t.Errorf("an episode has %d processes", n)
			}
		}
		return said, nil
	}
	turns := []string{"<echo_text>a</echo_text>", "<count>{}</count>", "<fail>{}</fail><count>{}</count>"}
	const want = "a\n2\nno paper\n4\n"
	for range 2 {
		if said, err := played(w, turns...); err != nil || said != want {
			t.Errorf("%q, %v", said, err)
		}
	}
	if said, err := played(w.Through(remembered{1: "a", 2: "2"}), turns...); err != nil || said != want {
		t.Errorf("with a journal of two turns: %q, %v", said, err)
	}
	if n := len(s.running); n != 0 {
		t.Errorf("%d processes go on", n)
	}
	e, _, err := w.Through(remembered{1: "a", 2: "2"}).Begin(t.Context(), verify.Problem{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range turns {
		turn := world.Turn{Text: text, At: i + 1}
		if err := e.(world.Follower).CatchUp(t.Context(), &turn); err != nil {
			t.Error(err)
		}
		known := i < 2
		if runs := len(s.running) == 1; runs == known {
			t.Errorf("turn %d: it is started before it: %v", i+1, runs)
		}
		if known {
			told(t, e, i+1, text)
		}
	}
	e.Close()
	s.Effects = true
	if _, err := played(toolsOf(t, s).Through(remembered{1: "a"}), turns...); !errors.Is(err, world.ErrOnce) {
		t.Errorf("calls with effects are made again: %v", err)
	}
	if said, err := played(toolsOf(t, s), "<break>{}</break>"); err != nil || said != "out of ink\n" {
		t.Errorf("an error of a call with effects: %q, %v", said, err)
	}
	for range maxProcesses {
		s.running <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := (&talk{server: s}).caughtUp(ctx); !errors.Is(err, world.ErrUnable) {
		t.Errorf("one process more than there may be: %v", err)
	}
}

// TestOneTest: the canary tests the tools of a server once.
func TestOneTest(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	s := server(t, "notes="+starts, "counted")
	w := toolsOf(t, s)
	if err := w.Canary(t.Context()); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(starts); err != nil || strings.Count(string(text), "started") != 2 { // to list, and to test
		t.Errorf("%s, %v", text, err)
	}
}

// FuzzMessages: whatever a server says is read without a panic.
func FuzzMessages(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`,
		`{"jsonrpc":"2.0","method":"ping","id":"a"}`, `{"jsonrpc":"2.0","id":null,"result":{}}`, `[]`, `{"jsonrpc":"2.0","id":1,"id":2,"result":{}}`, "\xff", `null`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseMessage(line)
		if err != nil {
			return
		}
		if m.Version != "2.0" || m.Method == "" && m.ID == nil {
			t.Errorf("%+v", m)
		}
		if all, err := listed(string(m.Result)); err == nil {
			if specs, err := specsOf(all, false); err == nil && len(specs) != len(all) {
				t.Errorf("%d specs of %d tools", len(specs), len(all))
			}
		}
	})
}
