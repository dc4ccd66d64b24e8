//go:build !js

package outside

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// bridge is a program that a Python runs: that of a library, with arguments.
func bridge(t *testing.T, python, library string, arguments ...string) Command {
	t.Helper()
	file := filepath.Join(t.TempDir(), library+"-bridge.py")
	if err := os.WriteFile(file, []byte(Bridge(library)), 0o600); err != nil {
		t.Fatal(err)
	}
	return Command{Words: append([]string{python, file}, arguments...), Env: []string{"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}}
}

// line is a reply as the tests compare it.
func line(r world.Reply, err error) string {
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return "! " + first
	}
	var parts []string
	for _, m := range r.Messages {
		parts = append(parts, m.Text)
	}
	if r.Reward != 0 {
		parts = append(parts, fmt.Sprint(r.Reward))
	}
	if r.State != "" {
		parts = append(parts, "state "+r.State)
	}
	if r.Verdict != nil {
		parts = append(parts, fmt.Sprintf("= %v %s", r.Verdict.Score, r.Verdict.Reason))
	}
	return strings.Join(parts, "; ")
}

// sideBySide plays equal episodes in turns with each other, and returns what each was told; the last is judged.
func sideBySide(t *testing.T, w World, row verify.Problem, turns []string) [2][]string {
	t.Helper()
	var all [2][]string
	var playing [2]world.Episode
	for i := range playing {
		e, first, err := w.Begin(t.Context(), row, random.At(1, 2, uint64(i)))
		if all[i] = append(all[i], line(first, err)); err == nil {
			playing[i] = e
			defer e.Close()
		}
	}
	for _, turn := range turns {
		for i, e := range playing {
			if e != nil {
				r, err := e.Step(t.Context(), world.Turn{Text: turn})
				all[i] = append(all[i], line(r, err))
			}
		}
	}
	return all
}

// TestBridges: each bridge plays the environments of what stands in for its library: what it tells, what it takes
// for an action, rewards, scores and errors. Episodes of a problem that are played in turns with each other
// are equal.
func TestBridges(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	folder, err := filepath.Abs(filepath.Join("testdata", "stand-ins"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	tested := map[string]bool{}
	for _, x := range []struct {
		library   string
		arguments []string
		row       string
		turns     []string
		want      string
	}{
		{"gymnasium", []string{"Corridor-v0", "--ask", "Walk."}, `{"number":6}`, []string{"left", "2", "thought\n1 ", "1"},
			`Walk.|{"at": 2}|Say a whole number from 0 to 1.; state {"at": 2} / Say a whole number from 0 to 1. / Say a whole number from 0 to 1. / {"at": 3}; -0.25; state {"at": 3} / -0.25; = 0 a return of -0.5`},
		{"gymnasium", []string{"Corridor-v0", "--with", `{"long": 1}`, "--actions", "back,on", "--low", "-1"}, `{"number":6}`, []string{"1", "ON"},
			`{"at": 0}|Say one of: back, on.; state {"at": 0} / Say one of: back, on. / -0.25; = 0.375 a return of -0.25`},
		{"gymnasium", []string{"Switches-v0"}, `{"number":2}`, []string{"[0.9, 1.7]", "[0, 3]", "[2]", "[1.0, 2]"},
			`{"at": 2}|Say a list of 2 whole numbers, as JSON.; state {"at": 2} / Say a list of 2 whole numbers, as JSON. / Say a list of 2 whole numbers, as JSON. / Say a list of 2 whole numbers, as JSON. / [1, 2]; state [1, 2]`},
		{"textarena", []string{"Dice"}, `{"number":5}`, []string{"1", "1", "enough"},
			`Guess. / It was 638. / It was 262. / -1; = 0 no more`},
		{"verifiers", []string{"doubles"}, `{"number":2}`, []string{"3", "4"}, "Be brief.||double 2 / again / 1; = 1 a return of 1"},
		{"verifiers", []string{"doubles"}, `{"number":1}`, []string{"boom"}, "Be brief.||double 1 / ! it says: RuntimeError('it broke')"},
		{"verifiers", []string{"doubles"}, `{"number":1}`, []string{"rewrite"}, "Be brief.||double 1 / ! it says: ValueError('what the policy reads is not what it read and said before, and a message more')"},
		{"openenv", []string{"127.0.0.1:1", "--say", "number", "--action", `{"tag": "n"}`, "--show", "observation.text", "--high", "2"}, `{"number":7}`, []string{"one", "1.5", "8", "9"},
			`ready, 7 / Say a value of number as JSON: {"type": "integer"} / Invalid action: no integer / n 8; 0.5 / 0.5; = 0.5 a return of 1`},
		{"openenv", []string{"127.0.0.1:1", "--say", "number", "--action", `{"tag": "n"}`}, `{"number":7}`, []string{"-1"},
			`{"text": "ready, 7"} / ! it says: RuntimeError('the server says EXECUTION_ERROR: below 0')`},
	} {
		tested[x.library] = true
		w := New(bridge(t, python, x.library, x.arguments...), nil)
		var row verify.Problem
		if err := json.Unmarshal([]byte(x.row), &row.Metadata); err != nil {
			t.Fatal(err)
		}
		for i, got := range sideBySide(t, w, row, x.turns) {
			if all := strings.ReplaceAll(strings.Join(got, " / "), "\n", "|"); all != x.want {
				t.Errorf("%s %q, episode %d:\n%s\nwant\n%s", x.library, x.arguments, i+1, all, x.want)
			}
		}
		w.Close()
	}
	for _, library := range Bridges() {
		if !tested[library] {
			t.Errorf("nothing is played through the bridge of %s", library)
		}
	}

	// A server that holds fewer sessions than the bridge begins says so, and problems of a library are its rows.
	full := New(bridge(t, python, "openenv", "127.0.0.1:1", "--say", "number"), nil)
	defer full.Close()
	for i := range 3 {
		e, _, err := full.Begin(t.Context(), verify.Problem{ID: "a"}, random.At(1, 2, 3))
		if e != nil {
			defer e.Close()
		}
		if full := i == 2; full != (err != nil) || full && !strings.Contains(err.Error(), "the server holds 2 sessions at most") {
			t.Errorf("episode %d of a server that holds 2: %v", i+1, err)
		}
	}
	doubles := New(bridge(t, python, "verifiers", "doubles"), nil)
	defer doubles.Close()
	if rows, err := doubles.Rows(t.Context()); err != nil || len(rows) != 3 || string(rows[2]) != `{"number": 2}` {
		t.Errorf("rows %s, %v", rows, err)
	}

	// What is no JSON, such as a reward that is not finite, is an error of its episode. Long observations are equal
	// situations only if they are equal.
	broken := New(bridge(t, python, "gymnasium", "Corridor-v0", "--with", `{"pays": NaN}`), nil)
	defer broken.Close()
	for _, got := range sideBySide(t, broken, verify.Problem{ID: "a"}, []string{"1"}) {
		if !strings.HasPrefix(got[1], "! it says: ValueError('Out of range float values") {
			t.Errorf("a reward that is no number: %q", got)
		}
	}
	wide := New(bridge(t, python, "gymnasium", "Corridor-v0", "--with", `{"long": 9, "before": 2000}`), nil)
	defer wide.Close()
	got := sideBySide(t, wide, verify.Problem{Metadata: map[string]json.RawMessage{"number": json.RawMessage("2")}}, []string{"1", "0"})[0]
	var states []string
	for _, told := range got {
		_, state, _ := strings.Cut(told, "; state ")
		states = append(states, state)
	}
	if states[0] != states[2] || states[0] == states[1] || len(states[0]) != 64 {
		t.Errorf("the states of a long observation, the next, and the first again: %q", states)
	}

	for _, x := range []struct {
		library, want string
		arguments     []string
	}{
		{"gymnasium", "--actions has 3 names", []string{"Corridor-v0", "--actions", "a,b,c"}},
		{"gymnasium", "accepted: low < high", []string{"Corridor-v0", "--low", "1"}},
		{"gymnasium", "--with is no JSON object", []string{"Corridor-v0", "--with", "[]"}},
		{"textarena", "AssertionError", []string{"Chess"}},
		{"openenv", "which no action has; accepted: number, tag", []string{"127.0.0.1:1"}},
		{"openenv", "HTTP Error 302", []string{"127.0.0.2:1", "--say", "number"}},
		{"openenv", "has more than 1 MiB", []string{"127.0.0.3:1", "--say", "number"}},
		{"openenv", "--action is no JSON object", []string{"127.0.0.1:1", "--say", "number", "--action", "[1]"}},
		{"openenv", "example.com:80 is not on this machine", []string{"example.com:80", "--say", "number"}},
	} {
		w := New(bridge(t, python, x.library, x.arguments...), nil)
		if _, err := w.Hello(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s %q: %v, want %s", x.library, x.arguments, err, x.want)
		}
		w.Close()
	}
}

// doubles is an environment of verifiers, and echo one of openenv with its server.
const (
	doubles = `import verifiers as vf
from datasets import Dataset

class Double(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **more):
        return [{"role": "user", "content": "again"}]

def load_environment(n=4):
    async def right(completion, answer, **more):
        return float(completion[-1].content == answer)
    rows = Dataset.from_list([{"question": f"double {i}", "answer": str(2 * i)} for i in range(n)])
    return Double(dataset=rows, system_prompt="Be brief.", rubric=vf.Rubric(funcs=[right]), max_turns=2)
`
	echo = `from openenv.core.env_server import create_fastapi_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State

class Say(Action):
    message: str

class Heard(Observation):
    echoed: str = ""

class Echo(Environment):
    SUPPORTS_CONCURRENT_SESSIONS = True
    state = State()
    def reset(self, seed=None, episode_id=None, **more):
        return Heard(echoed=f"ready, {seed}")
    def step(self, action):
        return Heard(echoed=action.message, reward=0.25, done=action.message == "enough")

app = create_fastapi_app(Echo, Say, Heard, max_concurrent_envs=2)
`
)

// TestRealBridges plays environments of the libraries themselves, in the Pythons of RLZERO_BRIDGES.
func TestRealBridges(t *testing.T) {
	pythons := filepath.SplitList(os.Getenv("RLZERO_BRIDGES"))
	if len(pythons) == 0 {
		t.Skip("RLZERO_BRIDGES names no Python with the libraries")
	}
	having := func(module string) string {
		for _, python := range pythons {
			if exec.Command(python, "-c", "import "+module).Run() == nil {
				return python
			}
		}
		t.Fatalf("no Python of RLZERO_BRIDGES has %s", module)
		return ""
	}
	folder := t.TempDir()
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	for name, text := range map[string]string{"doubles.py": doubles, "echo_server.py": echo} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := served(t, having("openenv.core"))
	for _, x := range []struct {
		library, module string
		arguments       []string
		turns           []string
		begins          string // what is told at first
		ends            string // and at last
	}{
		{"gymnasium", "gymnasium", []string{"FrozenLake-v1", "--with", `{"is_slippery": false, "render_mode": "ansi"}`, "--actions", "left,down,right,up"},
			[]string{"down", "down", "right", "right", "down", "right"}, "[S]FFF", "1; = 1 a return of 1"},
		{"gymnasium", "gymnasium", []string{"Pendulum-v1", "--low", "-2000"}, []string{"[0.5]", "[3]", "[1, 2]"}, "[", "Say a list of 1 numbers, as JSON."},
		{"textarena", "textarena", []string{"TowerOfHanoi-v0"}, []string{"[A C]", "[A B]", "[C B]", "[A C]", "[B A]", "[B C]", "[A C]"}, "You are playing Tower of Hanoi", "= 1 "},
		{"verifiers", "verifiers.clients", []string{"doubles"}, []string{"5", "6"}, "Be brief.\n\ndouble 3", "1; = 1 a return of 1"},
		{"openenv", "openenv.core", []string{address, "--show", "observation.echoed"}, []string{"a", "enough"}, "ready, 3", "0.25; = 0.5 a return of 0.5"},
	} {
		w := New(bridge(t, having(x.module), x.library, x.arguments...), nil)
		both := sideBySide(t, w, verify.Problem{Metadata: map[string]json.RawMessage{"number": json.RawMessage("3")}}, x.turns)
		if got := both[0]; !slices.Equal(got, both[1]) || !strings.HasPrefix(got[0], x.begins) || !strings.Contains(got[len(got)-1], x.ends) {
			t.Errorf("%s %q: %q, want %s … %s", x.library, x.arguments, both, x.begins, x.ends)
		}
		w.Close()
	}
}

// served is the address of the server of echo.
func served(t *testing.T, python string) string {
	t.Helper()
	server := exec.Command(python, "-m", "uvicorn", "echo_server:app", "--port", "0")
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
	})
	all := bufio.NewScanner(log)
	for all.Scan() {
		if _, after, running := strings.Cut(all.Text(), "running on http://"); running {
			go io.Copy(io.Discard, log)
			address, _, _ := strings.Cut(after, " ")
			return address
		}
	}
	t.Fatal("the server ends before it runs")
	return ""
}
