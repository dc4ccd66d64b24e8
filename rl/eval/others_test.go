//go:build unix

package eval

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/rollout"
)

// TestAtOnce: an evaluation of more episodes than the program of a recipe holds is refused, and the program ended.
func TestAtOnce(t *testing.T) {
	dir := t.TempDir()
	ended := filepath.Join(dir, "ended")
	for name, text := range map[string]string{
		"world.sh": `echo '{"protocol":1,"name":"sh","pure":true,"at_once":1}'
while read -r line; do
	id=$(echo "$line" | sed 's/^{"id":"\([0-9]*\)".*/\1/')
	echo "{\"id\":\"$id\",\"messages\":[{\"text\":\"q\"}]}"
done
echo > ` + ended + `
`,
		"world.toml": `[model]
path = "start"
[task]
max_prompt_tokens = 9
eval_problems = 8
episode = {tokens = 9}
[task.world]
command = ["sh", "world.sh"]
[[stage]]
kind = "rl"
prompts_per_step = 8
sampling = {max_completion_tokens = 9}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	problems := func(n, samples int) error {
		opened, rows, err := (&Evaluator{Collector: &rollout.Collector{}}).taskProblems(&Options{Subject: Subject{Task: filepath.Join(dir, "world.toml")}, Problems: n, N: samples}, &prompts.Style{})
		if err == nil {
			if _, over := os.Stat(ended); over == nil || len(rows) != n {
				t.Errorf("%d problems; the program is over: %v", len(rows), over == nil)
			}
			opened.Close()
		}
		return err
	}
	if err := problems(8, 8); err != nil {
		t.Error(err)
	}
	if err := os.Remove(ended); err != nil {
		t.Error(err)
	}
	const want = "9 samples of 8 problems are 72 episodes at once; accepted: at most 64, since the programs of the recipe hold no more"
	if err := problems(8, 9); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Errorf("the program goes on: %v", err)
	}
}
