package blackbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

const (
	newcomersPage = "docs/guide/first-model.md"
	newcomersRows = 120
)

// fewFirst makes the recipe of the page take seconds.
const fewFirst = " --set stage.sft.hold_steps=3 --set stage.sft.decay_steps=1 --set stage.sft.batch_size=4 --set stage.sft.optimizer.warmup_steps=0 --set task.eval_problems=4 --set task.eval_samples=2" +
	" --set stage.rl.eval_problems=4 --set stage.rl.steps=4 --set stage.rl.prompts_per_step=4 --set stage.rl.group_size=2 --set stage.rl.sampling.max_completion_tokens=8 --set stage.rl.checkpoint_every=1"

// TestNewcomer follows the page about a first model from its first command to its last, as it is
// printed but for the length of the training. On the way the run is killed in its RL stage; it goes
// on to the bytes of runs that nobody killed, over the same rows in each of the four formats.
func TestNewcomer(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs every command of a guide")
	}
	needsShell(t)
	if !haveDevice(t) {
		t.Setenv("RLZERO_DEVICE", "ref")
	}
	s := &session{folder: t.TempDir()}
	defer s.stop(t)
	formats := s.rowsOfNewcomer(t)
	text, err := os.ReadFile(filepath.Join(fixtures.Root(t), filepath.FromSlash(newcomersPage)))
	if err != nil {
		t.Fatal(err)
	}
	killed, resumed := false, false
	for _, b := range blocks(string(text)) {
		for _, command := range commandsOf(b.text) {
			switch {
			case strings.HasPrefix(command, "rlzero inspect data "):
				s.equalOutput(t, command, formats)
			case strings.HasPrefix(command, "rlzero train first-model "):
				for _, format := range formats[1:] { // nobody kills these
					run := strings.NewReplacer("problems.jsonl", format, "runs/first", "runs/"+format).Replace(command)
					s.run(t, command, run+fewFirst)
				}
				s.killed(t, command+fewFirst, "runs/first")
				killed = true
			case strings.HasPrefix(command, "rlzero train --resume "):
				s.run(t, command, command)
				resumed = true
				for _, format := range formats[1:] {
					s.sameModel(t, "runs/first", "runs/"+format)
				}
			default:
				less := strings.NewReplacer("rlzero eval runs/first", "rlzero eval runs/first --problems 2 -n 1 -k 1", "chat --greedy", "chat --greedy --max-tokens 8")
				run, why := replaced(less.Replace(command), map[string]bool{})
				if why != "" {
					t.Errorf("%s is not run: %s", command, why)
				}
				s.run(t, command, run)
			}
			if t.Failed() {
				return
			}
		}
	}
	if !killed || !resumed {
		t.Errorf("%s trains no model and resumes none", newcomersPage)
	}
}

// rowsOfNewcomer writes the rows of testdata/newcomer in every format, and returns the files.
func (s *session) rowsOfNewcomer(t *testing.T) []string {
	t.Helper()
	columnar, err := os.ReadFile("testdata/newcomer/problems.parquet")
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	table := "question,solution,answer\n"
	for i := range newcomersRows {
		a, b := 3+i*7%37, 2+i*5%23
		question := fmt.Sprintf("Tom has %d apples and gets %d more. How many has he now?", a, b)
		objects = append(objects, fmt.Sprintf(`{"question":%q,"solution":"%d+%d=%d","answer":"%d"}`, question, a, b, a+b, a+b))
		table += fmt.Sprintf("%s,%d+%d=%d,%d\n", question, a, b, a+b, a+b)
	}
	formats := []struct{ file, text string }{
		{"problems.jsonl", strings.Join(objects, "\n") + "\n"},
		{"problems.json", "[" + strings.Join(objects, ",\n") + "]"},
		{"problems.csv", table},
		{"problems.parquet", string(columnar)},
	}
	var files []string
	for _, f := range formats {
		s.write(t, f.file, f.text)
		files = append(files, f.file)
	}
	return files
}

// equalOutput runs a command for each file: it prints the same, but for the name.
func (s *session) equalOutput(t *testing.T, command string, files []string) {
	t.Helper()
	want := ""
	for _, file := range files {
		sh := exec.Command("sh", "-e", "-c", strings.ReplaceAll(command, "problems.jsonl", file))
		sh.Dir = s.folder
		out, err := sh.Output()
		if err != nil || len(out) == 0 {
			t.Errorf("%s for %s: %v: %s", command, file, err, out)
			continue
		}
		if got := strings.ReplaceAll(string(out), file, "FILE"); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%s prints for %s\n%s\nfor %s\n%s", command, files[0], want, file, got)
		}
	}
}

// killed starts a command and kills it once its run has a checkpoint of the RL stage.
func (s *session) killed(t *testing.T, command, run string) {
	t.Helper()
	sh := exec.Command("sh", "-c", "exec "+command)
	sh.Dir = s.folder
	p := &process{cmd: sh, ended: make(chan struct{})}
	sh.Stderr = p
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		sh.Wait()
		close(p.ended)
	}()
	come := p.until(func() bool {
		found, _ := filepath.Glob(filepath.Join(s.folder, run, "checkpoints", "step-000005"))
		return len(found) > 0
	})
	_ = sh.Process.Signal(syscall.SIGKILL)
	if p.wait() != -1 || !come {
		t.Errorf("%s ended before it was killed:\n%s", command, p.shown())
	}
}

// sameModel compares the logs and the last model of two runs.
func (s *session) sameModel(t *testing.T, run, other string) {
	t.Helper()
	got, want := filesOf(t, filepath.Join(s.folder, run)), filesOf(t, filepath.Join(s.folder, other))
	models := 0
	for name, data := range want {
		log := name == "metrics.jsonl" || name == "completions.jsonl"
		weights := strings.HasSuffix(name, "model.safetensors")
		if (log || weights) && got[name] != data {
			t.Errorf("%s of %s and of %s differ", name, run, other)
		}
		if weights {
			models++
		}
	}
	if models == 0 {
		t.Errorf("%s has no model", other)
	}
}
