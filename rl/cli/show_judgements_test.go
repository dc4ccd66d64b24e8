package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// TestShowJudgements: a group shows below each completion what judges said about it, and those of the
// first where several are equal; and below all of them the rows that were made of it.
func TestShowJudgements(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, lines ...string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("recipe.toml", "seed = 1")
	write(record.CompletionsFile,
		`{"step":3,"stage":"rl","group":1,"sample":0,"prompt":"1 + 2","completion":"3","verdict":"right","reason":"3 is 3","reward":0.9,"advantage":1}`,
		`{"step":3,"stage":"rl","group":1,"sample":1,"prompt":"1 + 2","completion":"4","verdict":"wrong","reason":"4 is not 3","reward":null,"advantage":null}`)
	write(record.JudgementsFile,
		`{"step":2,"stage":"rl","group":1,"sample":0,"verifier":"liked","question":"aa","reading":0.25}`,
		`{"step":3,"stage":"rl","group":0,"sample":0,"verifier":"liked","question":"ab","reading":0.5}`,
		`{"step":3,"stage":"rl","group":1,"sample":0,"verifier":"liked","question":"ac","reading":0.75,"raw":1.5}`,
		`{"step":3,"stage":"rl","group":1,"sample":0,"verifier":"says","question":"ad","about":"it is short","reading":1,"mass":0.5}`,
		`{"step":3,"stage":"rl","group":1,"sample":1,"verifier":"said","question":"ae","asked":"Rate 4:\u001b[2J","text":"\u001b[2J well","reading":null,"why":"no match of [0-9]"}`)
	write(record.MadeFile,
		`{"step":3,"stage":"rl","rows":"pairs","id":"pairs-1","from":"p7","group":0,"samples":[1,0],"by":"policy@2","seed":1,"row":{"chosen":"5"},"sum":"x"}`,
		`{"step":3,"stage":"rl","rows":"pairs","id":"pairs-2","from":"p8","group":1,"samples":[0,1],"by":"policy@2","seed":1,"row":{"chosen":"3","rejected":"\u001b[2J4"},"sum":"y"}`)
	code, out, stderr := rlzero(t, "show", dir, "--group", "1")
	const want = `step 3 of stage rl, group 1: 1 + 2
  1 x  reward  0.900  advantage  1.000  3
       right: 3 is 3
       judge liked: 0.750; its head says 1.500
       judge says: 1.000; about it is short; its answers have 50.0 % of the probability
  1 x  reward      –  advantage      –  4
       wrong: 4 is not 3
       judge said: cannot be read: no match of [0-9]; it wrote "\x1b[2J well"; it was asked "Rate 4:\x1b[2J"

pairs-2  step 3 of stage rl, group 1, sample 0 and 1, by policy@2, seed 1
  from p8
  chosen: 3
  rejected: \x1b[2J4
`
	if code != 0 || out != want {
		t.Errorf("%d, %s\n%s\nwant\n%s", code, stderr, out, want)
	}
}
