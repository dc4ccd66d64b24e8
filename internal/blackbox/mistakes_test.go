package blackbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dry is a run of one's own data that is only looked at.
const dry = "rlzero train --dry-run lora-math --set model.path=start --set task.data=problems.jsonl"

// mistakes are commands that cannot work: what each says first, what it advises, and with which code
// it ends. Every piece of advice can be pasted: as a command, as a flag to add, or, after "did you
// mean", in place of the word that is wrong. Without advice, the first line says what is accepted.
var mistakes = []struct {
	command, error, hint string
	code                 int
	wrong                string // the word that "did you mean" replaces
}{
	// A recipe without its model, beside the one model that is there.
	{"rlzero train --dry-run lora-math --set task.data=problems.jsonl", "model $DIR/MODEL: no such file or directory", "--set model.path=start", 2, ""},

	// Names that are nearly right.
	{"rlzero trian countdown-tiny --dry-run", `unknown command "trian"`, "did you mean train? rlzero --help lists them all", 2, "trian"},
	{"rlzero train countdown-tny --dry-run", `unknown recipe "countdown-tny"`, "did you mean countdown-tiny? rlzero recipes lists them all", 2, "countdown-tny"},
	{"rlzero train countdown-tiny --dryrun", `unknown flag "--dryrun"`, "did you mean --dry-run? rlzero train --help lists them all", 2, "--dryrun"},
	{"rlzero tasks show countdwn", `unknown task "countdwn"`, "did you mean countdown? rlzero tasks lists them all", 2, "countdwn"},
	{"rlzero tasks countdown", `unknown command "tasks countdown"`, "did you mean rlzero tasks show countdown?", 2, ""},
	{"rlzero metrics show polcy/entropy", `unknown metric "polcy/entropy"`, "did you mean policy/entropy? rlzero metrics lists them all", 2, "polcy/entropy"},
	{"rlzero algorithms show grop", `unknown algorithm "grop"`, "did you mean grpo? rlzero algorithms lists them all", 2, "grop"},
	{"rlzero formulas show grop", `unknown name of formulas "grop"`, "did you mean grpo? rlzero formulas lists them all", 2, "grop"},
	{"rlzero verifiers show nmber", `unknown verifier "nmber"`, "did you mean number? rlzero verifiers lists them all", 2, "nmber"},
	{"rlzero eval start --data problems.jsonl --problems 1 -n 1 -k 1 --max-tokens 2 --verifier mth", `unknown verifier "mth"`, "did you mean math? rlzero verifiers lists them all", 2, "mth"},
	{"rlzero sample start --prompt hi --max-token 2", `unknown flag "--max-token"`, "did you mean --max-tokens? rlzero sample --help lists them all", 2, "--max-token"},
	{"rlzero model new other --size tny", `--size is "tny"; accepted: tiny, small, medium`, "did you mean tiny?", 2, "tny"},
	{"rlzero inspect", "rlzero inspect needs a subcommand", "rlzero inspect --help lists its subcommands", 2, ""},
	{"rlzero train", "rlzero train takes 1 argument, RECIPE; found none", "rlzero train --help shows its usage", 2, ""},
	{"rlzero train --seed -1 countdown-tiny", `--seed is "-1"; accepted: a whole number from 0`, "rlzero train --help shows its flags", 2, ""},

	// Models.
	{"rlzero train --dry-run lora-math --set task.data=problems.jsonl --set model.path=strat", "model $DIR/strat: no such file or directory", "--set model.path=start", 2, ""},
	{"rlzero sample strt --prompt hi --max-tokens 2", "model strt: no such file or directory", "did you mean start?", 2, "strt"},
	{"rlzero fit strt", "model strt: no such file or directory", "did you mean start?", 2, "strt"},
	{"rlzero sample Qwen/Qwen3-0.6B --prompt hi --max-tokens 2", "model Qwen/Qwen3-0.6B: no such file or directory",
		"nothing is downloaded by rlzero; fetch it from the Hugging Face hub first: hf download Qwen/Qwen3-0.6B --local-dir Qwen/Qwen3-0.6B", 2, ""},
	{"rlzero model new start", "DIR start already exists", "did you mean start-2?", 2, "start"},
	{"rlzero export start", "rlzero export needs --out DIR", "--out exported", 2, ""},

	// Rows.
	{strings.Replace(dry, "problems", "problem", 1), "invalid recipe: --set task.data=problem.jsonl: task.data: open $DIR/problem.jsonl: no such file or directory", "--set task.data=problems.jsonl", 2, ""},
	{strings.Replace(dry, "problems", "asked", 1), `invalid recipe: --set task.data=asked.jsonl: task.data: $DIR/asked.jsonl: line 1: the line has no "question" (or "prompt", or "messages"); it has answer, ask`, "to take another column: --set task.prompt=ask", 2, ""},
	{strings.Replace(dry, "problems", "vague", 1) + " --set task.verifier=", `invalid recipe: --set task.verifier=: task.verifier: no verifier is named, which judges the completions, and none fits answers such as "about 10 or so"`, "an answer that has to be the same text: --set task.verifier=exact", 2, ""},
	{strings.Replace(dry, "problems", "several", 1), `invalid recipe: --set task.data=several.jsonl: task.data: $DIR/several.jsonl: line 1: the verifier math cannot judge this line: the row has no "answer", or an empty one; the line has answers, context, question`, "to take squad_exact, as the rows have several texts as answers: --set task.verifier=", 2, ""},
	{"rlzero eval start --data vague.jsonl --problems 1 -n 1 -k 1 --max-tokens 2", `--data: no verifier is named, which judges the completions, and none fits answers such as "about 10 or so"`, "an answer that has to be the same text: --set task.verifier=exact", 2, ""},
	{strings.Replace(dry, "problems", "twice", 1), `invalid recipe: --set task.data=twice.jsonl: task.data: $DIR/twice.jsonl: line 1: the key "answer" is there twice, and which of the two values is meant cannot be told`, "", 2, ""},
	{dry + " --set task.max_prompt_tokens=20", `$DIR/problems.jsonl: 48 of 48 rows (lines 1, 2, 3, 4, 5, ...): prompt "What is 7+3?" has 76 tokens, but [task] max_prompt_tokens is 20: it is too long`, "take such rows out, or --set task.max_prompt_tokens=128", 2, ""},

	// Keys of recipes.
	{dry + " --set lr=1e-4", "invalid recipe: --set lr=1e-4: unknown key lr; did you mean stage.rl.optimizer.lr?", "--set stage.rl.optimizer.lr=1e-4", 2, "lr=1e-4"},
	{dry + " --set stage.rl.step=5", "invalid recipe: --set stage.rl.step=5: unknown key stage.rl.step; did you mean steps?", "--set stage.rl.steps=5", 2, "stage.rl.step=5"},
	{dry + " --set stage.rl.optimizer.lr=fast", `invalid recipe: --set stage.rl.optimizer.lr=fast: stage.rl.optimizer.lr = "fast" is a string; accepted: a number from 0 to 10`, "", 2, ""},
	{dry + " --set stage.rl.steps=0", "invalid recipe: --set stage.rl.steps=0: stage.rl.steps = 0 is out of range; accepted: a whole number from 1 to 1000000000", "", 2, ""},

	// Runs.
	{"rlzero train countdown-tiny --run runs/first", "the folder is not empty: runs/first already holds ", "to continue that run: rlzero train --resume --run runs/first", 2, ""},
	{"rlzero train --resume --run runs/frist", "run runs/frist: there is no such folder", "did you mean runs/first?", 2, "runs/frist"},
	{"rlzero receipt runs/frist", "run runs/frist: there is no such folder", "did you mean runs/first?", 2, "runs/frist"},
	{"rlzero receipt runs/cut", "runs/cut has no receipt.json: it is written when a run ends", "finish the run: rlzero train --resume --run runs/cut", 2, ""},
	{"rlzero compare runs/cut runs/first", "run runs/cut has not finished", "rlzero train --resume --run runs/cut", 2, ""},
	{"rlzero page nothing", "run nothing: there is no such folder", "", 2, ""},
	{"rlzero sample start --prompt hi --device vulkn", `unknown device "vulkn"`, "did you mean vulkan? rlzero devices lists them all", 2, "vulkn"},
}

// TestMistakes: mistakes are told by their first line, and their advice works as it is pasted.
func TestMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs some eighty commands")
	}
	needsShell(t)
	device := haveDevice(t)
	t.Setenv("RLZERO_DEVICE", "ref") // it is there in no time
	s := &session{folder: t.TempDir()}
	for name, form := range map[string]string{
		"problems.jsonl": `{"question":"What is %[1]d+%[2]d?","answer":"%[3]d"}`,
		"asked.jsonl":    `{"ask":"What is %[1]d+%[2]d?","answer":"%[3]d"}`,
		"several.jsonl":  `{"context":"We add %[1]d.","question":"What is %[1]d+%[2]d?","answers":{"text":["%[3]d"],"answer_start":[0]}}`,
		"vague.jsonl":    `{"question":"What is %[1]d+%[2]d?","answer":"about %[3]d or so"}`,
		"twice.jsonl":    `{"question":"What is %[1]d+%[2]d?","answer":"%[3]d","answer":"7"}`,
	} {
		var text strings.Builder
		for i := range 48 {
			a, b := 7*(i+1)%50, 3*(i+1)%40
			fmt.Fprintf(&text, form+"\n", a, b, a+b)
		}
		s.write(t, name, text.String())
	}
	// The hub's own program, as far as it matters here.
	s.write(t, "bin/hf", "#!/bin/sh\nmkdir -p \"$(dirname \"$4\")\" && cp -r start \"$4\"\n")
	s.run(t, "its mode", "chmod +x bin/hf")
	t.Setenv("PATH", filepath.Join(s.folder, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	s.run(t, "a model", "rlzero model new start --data problems.jsonl")
	s.run(t, "a run", "rlzero train countdown-tiny --run runs/first"+fewDemo)
	for _, m := range mistakes {
		t.Run(m.command, func(t *testing.T) {
			if err := os.RemoveAll(filepath.Join(s.folder, "runs", "cut")); err != nil {
				t.Fatal(err)
			}
			s.run(t, "a run that was cut short", "cp -r runs/first runs/cut && rm runs/cut/receipt.json")
			if strings.Contains(m.hint, "vulkan") && !device {
				t.Skip("no Vulkan device")
			}
			said, code := s.said(t, m.command)
			lines := strings.Split(said, "\n")
			for len(lines) > 1 && !strings.HasPrefix(lines[0], "rlzero: error: ") { // what was said before it failed
				lines = lines[1:]
			}
			want := "rlzero: error: " + strings.ReplaceAll(m.error, "$DIR", resolved(t, s.folder))
			if code != m.code || !strings.HasPrefix(lines[0], want) || m.hint != "" && !strings.Contains(said, "\nrlzero: hint: "+m.hint+"\n") {
				t.Fatalf("code %d, want %d; first line and hint\n%s\n%s\nin\n%s", code, m.code, want, m.hint, said)
			}
			if m.hint == "" {
				return
			}
			next := pasted(t, m.command, m.hint, m.wrong)
			if said, code := s.said(t, next); code != 0 {
				t.Errorf("advice %q, pasted:\n%s\ncode %d:\n%s", m.hint, next, code, said)
			}
		})
	}
}

// resolved is a folder as processes in it see it.
func resolved(t *testing.T, folder string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// said is what a command writes to standard error, and its exit code.
func (s *session) said(t *testing.T, command string) (text string, code int) {
	t.Helper()
	sh := exec.Command("sh", "-c", command)
	sh.Dir = s.folder
	var stderr strings.Builder
	sh.Stderr = &stderr
	err := sh.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return stderr.String(), sh.ProcessState.ExitCode()
}

var (
	meant    = regexp.MustCompile(`^did you mean ([^?]+)\?`)
	whole    = regexp.MustCompile(`rlzero [^:?]*?( lists [a-z ]*| shows [a-z ]*|$)`)
	download = regexp.MustCompile(`hf download .*$`)
	flag     = regexp.MustCompile(`--.*$`)
)

// pasted is the command that somebody gives next who pastes the advice.
func pasted(t *testing.T, command, advice, wrong string) string {
	t.Helper()
	if m := meant.FindStringSubmatch(advice); m != nil {
		if strings.HasPrefix(m[1], "rlzero ") {
			return m[1]
		}
		if wrong == "" || !strings.Contains(command, wrong) {
			t.Fatalf("%q does not stand in %q", wrong, command)
		}
		return strings.Replace(command, wrong, m[1], 1)
	}
	if found := download.FindString(advice); found != "" {
		return found + " && " + command
	}
	if m := whole.FindStringSubmatch(advice); m != nil {
		return strings.TrimSuffix(m[0], m[1])
	}
	found := flag.FindString(advice)
	if found == "" {
		t.Fatalf("nothing in %q can be pasted", advice)
	}
	if wrong != "" { // the flag takes the place of the wrong one
		command = strings.Replace(command, "--set "+wrong, "", 1)
	}
	return command + " " + found
}
