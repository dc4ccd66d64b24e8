package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/audit/worlds"
	"github.com/rlzero/rlzero/rl/tasks"
)

// TestWorldsCommand: every world is listed and shown, a person wins with the turns of the best player, and
// a check tells what it found.
func TestWorldsCommand(t *testing.T) {
	_, listed, _ := rlzero(t, "worlds")
	for _, f := range tasks.Worlds() {
		if !strings.Contains(listed, f.Name+" ") {
			t.Errorf("%s is not among\n%s", f.Name, listed)
		}
		code, shown, stderr := rlzero(t, "worlds", "show", f.Name)
		best, chance, both := strings.Cut(shown, "\nrandom turns:\n")
		if code != 0 || !both || !strings.Contains(best, "\n   right: ") || !strings.Contains(chance, "   => ") {
			t.Errorf("%s is shown as\n%s%s", f.Name, shown, stderr)
		}
		var turns strings.Builder
		for line := range strings.Lines(best) {
			if said, turn := strings.CutPrefix(line, "   => "); turn {
				turns.WriteString(said)
			}
		}
		var out, errs bytes.Buffer
		if code := Main([]string{"rlzero", "worlds", "play", f.Name}, strings.NewReader(turns.String()), &out, &errs); code != 0 || !strings.Contains(out.String(), "\nright: ") {
			t.Errorf("%s is played as\n%s%s", f.Name, out.String(), errs.String())
		}
		if code, played, _ := rlzero(t, "worlds", "play", f.Name); code != 0 || !strings.Contains(played, "\nwrong: ") {
			t.Errorf("%s without a turn is played as\n%s", f.Name, played)
		}
	}
	var e playedEpisode
	if code, line, _ := rlzero(t, "worlds", "show", "nim", "--json"); code != 0 || json.Unmarshal([]byte(line[:strings.IndexByte(line, '\n')]), &e) != nil || e.Player != "best" || len(e.Turns) == 0 || len(e.Turns[0].Reply) != 1 {
		t.Errorf("nim as JSON: exit code %d, %s", code, line)
	}
	code, checked, stderr := rlzero(t, "worlds", "check", "--all", "--problems", "3", "--json")
	n := 0
	for line := range strings.Lines(checked) {
		var w worlds.Report
		if err := json.Unmarshal([]byte(line), &w); err != nil || w.Best != 1 || len(w.Attacks) == 0 {
			t.Errorf("%s: %v", line, err)
		}
		n++
	}
	if n != len(tasks.Worlds()) {
		t.Errorf("exit code %d, %d worlds checked: %s", code, n, stderr)
	}
	if code, told, _ := rlzero(t, "worlds", "check", "guess", "--problems", "20", "--set", "size=7"); code != 0 || !strings.Contains(told, "guess  best 1.000, random ") {
		t.Errorf("exit code %d: %s", code, told)
	}
	if code, text, _ := rlzero(t, "worlds", "bridge", "openenv"); code != 0 || !strings.Contains(text, "\nserve(Episode, ") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"worlds", "show", "countdown"}, `unknown world "countdown"`},
		{[]string{"worlds", "bridge", "gymnasum"}, `unknown library "gymnasum"`},
		{[]string{"worlds", "check"}, "--all checks every world"},
		{[]string{"worlds", "check", "--all", "nim"}, "takes no arguments"},
		{[]string{"worlds", "check", "--all", "--set", "size=7"}, "give its name in place of --all"},
		{[]string{"worlds", "check", "nim", "--problems", "0"}, "--problems is 0; accepted: whole numbers from 1"},
		{[]string{"worlds", "play", "nim", "--set", "heaps=9"}, "heaps = 9 is out of range"},
	} {
		if code, _, stderr := rlzero(t, c.args...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit code %d, %s; want %s", c.args, code, stderr, c.want)
		}
	}
}
