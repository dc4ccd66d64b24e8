package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// TestShowCalls: the journal of a run as people read it, and its lines as JSON.
func TestShowCalls(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, text, _ := rlzero(t, "recipes", "show", "calculator-tiny")
	write("recipe.toml", text)
	if code, _, stderr := rlzero(t, "show", dir, "--calls"); code != exitUsage || !strings.Contains(stderr, "has no calls.jsonl") {
		t.Errorf("%d, %s", code, stderr)
	}
	journal, err := record.CallsText([]record.Call{
		{Purpose: 4, Stage: 1, Step: 0, Stream: 3, Greedy: true, Turn: 1, Number: 1, Tool: "python", Answer: "45"},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 7, Turn: 1, Number: 1, Tool: "mail", Intent: true},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 7, Turn: 1, Number: 1, Tool: "mail", Answer: "sent"},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 7, Turn: 1, Number: 2, Tool: "python", Answer: "mistake: line 1\nunknown x", Failed: true},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 7, Turn: 2, Number: 1, Tool: "mail", Intent: true},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 8, Turn: 0, Fault: "out of cards"},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 8, Turn: 2, Refused: true},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 9, Number: 2, Tool: "models.far", Answer: `{"text":"Score: 7","tokens":4,"ended":true}`},
		{Purpose: 2, Stage: 1, Step: 1, Stream: 9, Number: 1, Tool: "models.far", Fault: "there is no answer after 60 s"},
		{Purpose: 4, Stage: 1, Step: math.MaxInt, Stream: 0, Turn: 0, Number: 1, Tool: "world", Answer: `{"messages":[{"text":"hello"}]}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(record.CallsFile, string(journal))
	const all = `stage rl, before its first step, greedy held-out completion 3
   turn 1  python: 45
stage rl, step 2, completion 7
   turn 1  mail: sent
   turn 1  python, a mistake: mistake: line 1\nunknown x
   turn 2  mail may have been called, and its answer is not known
stage rl, step 2, completion 8
   begins  no reply, and the episode is not scored: out of cards
   turn 2  it broke what answers it twice, and the policy was told that there is no answer
stage rl, step 2, completion 9
   judge far, vote 1  no answer: there is no answer after 60 s
   judge far, vote 2  models.far: {"text":"Score: 7","tokens":4,"ended":true}
stage rl, after its last step, held-out completion 0
   begins  world: {"messages":[{"text":"hello"}]}
`
	failed := strings.Join(strings.Split(all, "\n")[2:3], "") + "\n" + strings.Join(strings.Split(all, "\n")[4:11], "\n") + "\n"
	for _, x := range []struct {
		flags []string
		want  string
	}{{[]string{"--calls"}, all}, {[]string{"--calls", "--failed"}, failed}} {
		if code, out, stderr := rlzero(t, append([]string{"show", dir}, x.flags...)...); code != 0 || out != x.want {
			t.Errorf("%v: %d, %s\n%s\nwant\n%s", x.flags, code, stderr, out, x.want)
		}
	}
	if code, out, _ := rlzero(t, "show", dir, "--calls", "--failed", "--json"); code != 0 || strings.Count(out, "\n") != 5 || !strings.Contains(out, `"fault":"out of cards"`) {
		t.Errorf("%d, %s", code, out)
	}
	line, err := json.Marshal(record.Completion{Step: 1, Stage: "rl", Turns: []record.Turn{{By: record.ByPolicy, Text: "now", Calls: []record.Called{{Tool: "python"}, {Tool: "mail", Failed: true}}},
		{By: record.ByWorld, Role: "tool", Text: "45"}, {By: record.ByWorld, Role: "tool", Text: "no such name"}, {By: record.ByPolicy, Text: "done"}}})
	if err != nil {
		t.Fatal(err)
	}
	write(record.CompletionsFile, string(line)+"\n")
	if code, out, stderr := rlzero(t, "show", dir, "--step", "1", "--group", "0"); code != 0 || !strings.Contains(out, "turn 1: now\n           python: 45\n           mail, a mistake: no such name\n       turn 2: done") {
		t.Errorf("%d, %s%s", code, out, stderr)
	}
	for _, flags := range [][]string{{"--failed"}, {"--calls", "--step", "3"}} {
		if code, _, _ := rlzero(t, append([]string{"show", dir}, flags...)...); code != exitUsage {
			t.Errorf("%v: exit code %d", flags, code)
		}
	}
	write(record.CallsFile, strings.Replace(string(journal), "45", "46", 1))
	if code, _, stderr := rlzero(t, "show", dir, "--calls"); code != exitUsage || !strings.Contains(stderr, "calls.jsonl: line 1") {
		t.Errorf("%d, %s", code, stderr)
	}
}
