//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramsTold: a command tells of the program that a recipe starts, once, with what a terminal would obey escaped, and
// of none that it does not start.
func TestProgramsTold(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"world.sh": `echo '{"protocol":1,"name":"sh","pure":true,"at_once":64}'
while read -r line; do
	id=$(echo "$line" | sed 's/^{"id":"\([0-9]*\)".*/\1/')
	case $line in
	*'"op":"begin"'*) echo "{\"id\":\"$id\",\"messages\":[{\"text\":\"q\"}]}" ;;
	*'"op":"step"'*) echo "{\"id\":\"$id\",\"verdict\":{\"score\":0}}" ;;
	*) echo "{\"id\":\"$id\"}" ;;
	esac
done
`,
		"world.toml": `[model]
path = "start"
[task]
max_prompt_tokens = 9
eval_problems = 8
episode = {tokens = 9}
[task.world]
command = ["sh", "world.sh", "\u001b[2J\nunseen"]
[[stage]]
kind = "rl"
sampling = {max_completion_tokens = 9}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "world.toml")
	const says = "a program of the recipe runs with your rights: "
	for _, x := range []struct {
		args []string
		told int
	}{
		{[]string{"worlds", "check", file, "--problems", "2"}, 1},
		{[]string{"compare", file, "other = " + file + "; stage.rl.steps=2", "--device", "none"}, 1},
		{[]string{"worlds", "check", file, "--set", "task.world.command=[]"}, 0},
		{[]string{"worlds", "check", file, "--set", `task.world.env=["RLZERO_NONE"]`}, 0},
	} {
		_, _, stderr := rlzero(t, x.args...)
		want := says + "sh " + filepath.Join(dir, "world.sh") + ` '\x1b[2J\nunseen'` + "\n"
		if n := strings.Count(stderr, says); n != x.told || strings.Count(stderr, want) != x.told || strings.Contains(stderr, "\x1b") {
			t.Errorf("%q: told %d times, want %d: %s", x.args, n, x.told, stderr)
		}
	}
}
