package blackbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// guides are the pages whose commands are run, each in a folder of its own, with what it finds
// there of pages before it: "runs/grpo of formulas.md".
var guides = []struct{ page, finds string }{
	{"docs/guide/formulas.md", ""},
	{"README.md", "runs/grpo of formulas.md"},
	{"docs/guide/own-data.md", ""},
	{"docs/guide/first-run.md", "runs/grpo of formulas.md"},
	{"docs/guide/watching.md", "runs/grpo of formulas.md"},
	{"docs/guide/chat-model.md", "my-adapter of own-data.md"},
	{"docs/guide/export.md", "runs/math of own-data.md"},
	{"docs/guide/serving.md", "runs/grpo of formulas.md, my-adapter of own-data.md"},
	{"docs/guide/workers.md", ""},
	{"docs/guide/browser.md", ""},
	{"docs/guide/devices.md", ""},
	{"docs/guide/reproducing.md", ""},
	{"docs/guide/rewards.md", "runs/grpo of formulas.md"},
	{"docs/guide/judge.md", ""},
	{"docs/guide/tools-and-programs.md", ""},
	{"docs/guide/environment.md", ""},
}

// Runs of the test are of the same recipes with less of everything.
const (
	few     = " --set task.eval_problems=4 --set task.eval_samples=1 --set stage.rl.eval_problems=4 --set stage.rl.steps=2 --set stage.rl.prompts_per_step=4 --set stage.rl.group_size=2"
	fewDemo = " --set model.width=32 --set model.heads=1 --set model.kv_heads=1 --set model.mlp=32 --set stage.warm-up.hold_steps=1 --set stage.warm-up.decay_steps=1" + few
	fewLoRA = " --set model.lora.rank=2 --set stage.rl.sampling.max_completion_tokens=8" + few
)

// shorter is what a test runs in place of what is printed. The rest of a command is as printed.
var shorter = []struct{ printed, run string }{
	{"rlzero train countdown-blind", "rlzero train countdown-blind" + fewDemo},
	{"rlzero train countdown-tiny", "rlzero train countdown-tiny" + fewDemo},
	{"rlzero train sft-chat", "rlzero train sft-chat --set stage.sft.hold_steps=1 --set stage.sft.decay_steps=1 --set stage.sft.batch_size=2"},
	{"rlzero train lora-math", "rlzero train lora-math" + fewLoRA},
	{"rlzero train judged.toml", "rlzero train judged.toml" + fewLoRA},
	{"rlzero train --run runs/guess", "rlzero train --run runs/guess" + fewLoRA},
	{"rlzero train --run runs/sums", "rlzero train --run runs/sums --set stage.warm-up.hold_steps=1 --set stage.warm-up.decay_steps=1 --set stage.warm-up.batch_size=2" + fewLoRA},
	{"--run runs/math lora-math", "--run runs/math lora-math" + fewLoRA},
	{"task.data=FILE lora-math", "task.data=problems.jsonl lora-math" + fewLoRA},
	{"model.path=DIR", "model.path=SmolLM2-135M-Instruct"},
	{"rlzero train dpo-lora", "rlzero train dpo-lora --set model.lora.rank=2 --set stage.preference.steps=1 --set stage.preference.batch_size=2"},
	{"rlzero train reward-model", "rlzero train reward-model --set model.lora.rank=2 --set stage.rm.steps=1 --set stage.rm.batch_size=2"},
	{"step-001750", "step-000002"}, // the checkpoint after the warm-up
	{"sample RUN", "sample runs/grpo"},
	{"show RUN --step 1931", "show runs/grpo --step 3"},
	{"show runs/grpo --step 1931", "show runs/grpo --step 3"},
	{"rlzero compare countdown-tiny", "rlzero compare --seeds 1 --budget 200" + fewDemo + " countdown-tiny"},
	{"--max-tokens 200", "--max-tokens 8"},
	{"--chat --greedy", "--chat --greedy --max-tokens 8"},
	{"--prompt 'Hello'", "--prompt 'Hello' --max-tokens 8"},
	{"rlzero eval runs/math", "rlzero eval runs/math --problems 2 -n 1 -k 1"},
	{"local:vulkan:0,vulkan:1", "local:ref"},
	{"rlzero serve", "rlzero serve --listen 127.0.0.1:0"},
	{"curl", "curl -sSf"},                                                                      // an answer that is an error is one
	{"--workers nats:10.0.0.1:4222", "--workers nats:127.0.0.1:0 --set stage.rl.steps=100000"}, // until it is stopped
}

// notRun are the beginnings of commands that no test can run, with the reason.
var notRun = []struct{ begins, why string }{
	{"git clone", "needs a network"},
	{"make demo", "builds the program and trains for minutes; formulas.md trains the same recipe"},
	{"make test", "would run this test"},
	{"make web", "builds the program for browsers, where make test-browser visits the page"},
	{"rlzero doctor", "checks a device for a minute or more; the tests of rl/cli run it"},
	{"ollama", "another program, of another project"},
}

// mentioned are commands in the midst of a sentence that are run otherwise than they stand
// there: with names in place of words such as RUN, or with less to do. Where a sentence names a
// command or a flag as such, "", the help is asked for: it has to know them.
var mentioned = []struct{ printed, run string }{
	{"rlzero audit RUN", "rlzero audit runs/grpo"},
	{"rlzero bench all", ""},
	{"rlzero bench decode", "rlzero bench decode --device ref --gflops 1 --gb-s 1 --longest 1ns"},
	{"rlzero bench growth", "rlzero bench growth --device ref --gflops 1 --gb-s 1 --longest 1ns"},
	{"rlzero bench profile", "rlzero bench profile --device ref --gflops 1 --gb-s 1 --longest 1ns"},
	{"rlzero compare A B --seeds 3", "rlzero compare countdown-tiny countdown-shaped --seeds 1 --budget 200 --out short" + fewDemo},
	{`rlzero compare countdown-tiny "wider clip = countdown-tiny; stage.rl.algorithm.clip_high=0.4"`,
		`rlzero compare countdown-tiny "wider clip = countdown-tiny; stage.rl.algorithm.clip_high=0.4" --seeds 1 --budget 200 --out clips` + fewDemo},
	{"rlzero compare RUN RUN", "cp -r runs/grpo runs/again && rlzero compare runs/grpo runs/again"},
	{"rlzero doctor --draws RUN", "rlzero doctor --draws runs/grpo"},
	{"rlzero eval FOLDER --data rows.jsonl", ""}, // of a folder with a head
	{"rlzero eval MODEL --data FILE", ""},
	{"rlzero export RUN --format csv|tfevents --out DIR", "rlzero export runs/grpo --format csv --out curves && rlzero export runs/grpo --format tfevents --out events"},
	{"rlzero fit MODEL", ""}, // chat-model.md runs it
	{"rlzero fit MODEL --beside JUDGE", ""},
	{"rlzero formulas eval", ""},
	{"rlzero inspect kernels", ""},              // needs a driver that tells
	{"rlzero judge RECIPE --in rows.jsonl", ""}, // of a recipe with a judge
	{"rlzero judge RUN", ""},                    // judge.md runs it
	{"rlzero judge RUN --failed", ""},           // likewise
	{"rlzero rows RUN", ""},                     // of a run that makes rows
	{"rlzero page --out FILE.html RUN...", "rlzero page --out runs.html runs/grpo"},
	{"rlzero page runs", ""}, // README.md runs it
	{"rlzero receipt RUN", "rlzero receipt runs/grpo"},
	{"rlzero report RUN", "rlzero report runs/grpo"},
	{"rlzero show RUN --calls", ""},          // of a run with tools or programs
	{"rlzero show RUN --calls --failed", ""}, // the same
	{"rlzero show RUN --step N --group G --tokens", "rlzero show runs/grpo --step 3 --group 1 --tokens"},
	{"rlzero tasks draw NAME", "rlzero tasks draw countdown -n 4"},
	{"rlzero tasks show NAME", "rlzero tasks show countdown"},
	{"rlzero train countdown-blind --run runs/grpo", ""}, // formulas.md runs it
	{"rlzero train --dry-run RECIPE", "rlzero train --dry-run countdown-tiny"},
	{"rlzero train --dry-run", ""},
	{"rlzero train --page", ""},
	{"rlzero train --replay RUN", ""}, // of a run with a journal or in order of arrival
	{"rlzero serve", ""},              // serving.md runs it
	{"rlzero train --resume --run DIR", "rlzero train --resume --run runs/grpo"},
	{"rlzero train --resume --run DIR --set stage.rl.steps=400", "rlzero train --resume --run runs/grpo --set stage.rl.steps=3"},
	{"rlzero train --set model.path=DIR --set model.lora.rank=16 RECIPE", "rlzero train --dry-run --set model.path=Qwen2.5-0.5B-Instruct --set model.lora.rank=16 --set task.data=problems.jsonl lora-math"},
	{"rlzero train countdown-blind", "rlzero train --dry-run countdown-blind"},
	{"rlzero train countdown-ppo", "rlzero train countdown-ppo" + fewDemo},
	{"rlzero watch RUN", "rlzero watch runs/grpo"},
	{"rlzero worlds bridge LIBRARY", "rlzero worlds bridge textarena"},
	{"rlzero worker --for verify", ""},
	{"rlzero worker --item FILE", ""}, // of a dispute
}

// TestGuides runs every command of README.md and of the guides as it is printed there, with the
// replacements of shorter, in folders with small models and data, and those in the midst of
// sentences. Commands that serve are stopped at the end of their page.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs every command of the guides")
	}
	needsShell(t)
	if !haveDevice(t) {
		t.Setenv("RLZERO_DEVICE", "ref")
	}
	root, home := fixtures.Root(t), t.TempDir()
	prepare(t, home)
	used := map[string]bool{}
	for _, g := range guides {
		t.Run(filepath.Base(g.page), func(t *testing.T) {
			folder := filepath.Join(home, filepath.Base(g.page))
			if err := os.CopyFS(folder, os.DirFS(filepath.Join(home, "start"))); err != nil {
				t.Fatal(err)
			}
			for found := range strings.SplitSeq(g.finds, ", ") {
				what, from, some := strings.Cut(found, " of ")
				if !some {
					continue
				}
				if err := os.CopyFS(filepath.Join(folder, what), os.DirFS(filepath.Join(home, from, what))); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(g.page)))
			if err != nil {
				t.Fatal(err)
			}
			s := &session{folder: folder}
			defer s.stop(t)
			for _, b := range blocks(string(text)) {
				if name := fileName.FindStringSubmatch(b.text); name != nil {
					s.write(t, name[1], b.text)
				}
				switch b.language {
				case "toml":
					s.recipe(t, b.text)
				case "", "sh":
					for _, command := range commandsOf(b.text) {
						if run, why := replaced(command, used); why == "" {
							s.run(t, command, run)
						}
					}
				}
			}
			if g.page == "docs/guide/own-data.md" { // the adapter of chat-model.md
				s.run(t, "my-adapter", "cp -r runs/math/checkpoints/step-000002 my-adapter")
			}
		})
	}
	t.Run("sentences", func(t *testing.T) {
		s := &session{folder: filepath.Join(home, "README.md")}
		for _, command := range inSentences(t, root) {
			s.mention(t, command, used)
		}
	})
	for _, r := range mentioned {
		if !used["`"+r.printed] {
			t.Errorf("no page mentions %s", r.printed)
		}
	}
	for _, r := range shorter {
		if !used[r.printed] {
			t.Errorf("no page prints %s", r.printed)
		}
	}
	for _, r := range notRun {
		if !used[r.begins] {
			t.Errorf("no page prints %s", r.begins)
		}
	}
}

// needsShell skips a test whose commands are those of a Unix shell.
func needsShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are those of a Unix shell")
	}
}

// TestGuidesAreAll: every guide is run.
func TestGuidesAreAll(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(fixtures.Root(t), "docs", "guide", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	known := map[string]bool{filepath.Base(newcomersPage): true} // TestNewcomer follows it
	for _, g := range guides {
		known[filepath.Base(g.page)] = true
	}
	for _, page := range pages {
		if !known[filepath.Base(page)] {
			t.Errorf("%s has no row in guides", page)
		}
	}
}

// prepare makes the folder that every page begins with: data as the guides describe it, and a
// chat model under the names that they use.
func prepare(t *testing.T, home string) {
	start := filepath.Join(home, "start")
	s := &session{folder: start}
	for name, form := range map[string]string{
		"problems.jsonl":         `{"question":"Tom has %[1]d apples and buys %[2]d more. How many has he?","answer":"%[3]d","level":%[2]d,"completion":"It is \\boxed{%[3]d}."}`,
		"known.jsonl":            `{"question":"Tom has %[1]d apples and buys %[2]d more. How many has he?","answer":"%[3]d","completion":"It is \\boxed{%[3]d}."}`,
		"conversations.jsonl":    `{"messages":[{"role":"user","content":"What is %[1]d+%[2]d?"},{"role":"assistant","content":"It is %[3]d."}]}`,
		"pairs.jsonl":            `{"prompt":"What is %[1]d+%[2]d?","chosen":"It is %[3]d.","rejected":"I think %[2]d and not %[3]d."}`,
		"other-pairs.jsonl":      `{"prompt":"What is 1%[1]d+%[2]d?","chosen":"It is 1%[3]d.","rejected":"I think %[2]d and not 1%[3]d."}`,
		"gsm8k/main/train.jsonl": `{"question":"What is %[1]d+%[2]d?","answer":"%[1]d+%[2]d=%[3]d\n#### %[3]d"}`,
		"gsm8k/main/test.jsonl":  `{"question":"How much is 1%[1]d+%[2]d?","answer":"#### 1%[3]d"}`,
	} {
		var text strings.Builder
		for i := range 48 {
			a, b := 7*i%50, 3*i%40
			fmt.Fprintf(&text, form+"\n", a, b, a+b)
		}
		s.write(t, name, text.String())
	}
	s.write(t, "rubric.txt", "{question}\n{completion}\nIs this right? Say yes or no: ")
	s.run(t, "the model", "rlzero model new Qwen2.5-0.5B-Instruct --data problems.jsonl --data conversations.jsonl")
	s.run(t, "its other name", "cp -r Qwen2.5-0.5B-Instruct SmolLM2-135M-Instruct")
}

// block is a block of a page.
type block struct{ language, text string }

func blocks(page string) []block {
	var all []block
	for _, found := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		all = append(all, block{found[1], found[2]})
	}
	return all
}

// commandsOf are the commands of a block for a shell, one a line.
func commandsOf(text string) []string {
	var commands []string
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", "")) {
		if line = strings.TrimSpace(line); line != "" {
			commands = append(commands, line)
		}
	}
	return commands
}

// fileName is what a page calls a script or a recipe, in a remark on its first line.
var fileName = regexp.MustCompile(`^[^\n]*# (\S+\.(?:star|py|toml))\n`)

// recipe checks tables of a recipe as a dry run does. What a page leaves out comes from the
// recipe that it is about: countdown-tiny, or lora-math where the task is a file.
func (s *session) recipe(t *testing.T, tables string) {
	t.Helper()
	text, rows := tables, strings.Contains(tables, "data = ") || strings.Contains(tables, "row.level")
	whole := strings.Contains(tables, "base = ") || strings.Contains(tables, "[model]")
	switch {
	case whole:
	case strings.HasPrefix(tables, "[stage."):
		text = "base = \"countdown-tiny\"\n[[stage]]\nname = \"rl\"\n" + tables
	default:
		text = "base = \"countdown-tiny\"\n" + tables
	}
	if rows {
		text = strings.Replace(text, "countdown-tiny", "lora-math", 1)
	}
	s.write(t, "tables.toml", text)
	command := "rlzero train --dry-run tables.toml"
	if rows {
		command += " --set model.path=Qwen2.5-0.5B-Instruct"
	}
	s.run(t, tables, command)
}

// write writes a file of the session.
func (s *session) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inSentences are the commands that stand in the midst of sentences, each once.
func inSentences(t *testing.T, root string) []string {
	var commands []string
	for _, g := range guides {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(g.page)))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile("`(rlzero [^`\n]+)`").FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(commands, found[1]) {
				commands = append(commands, found[1])
			}
		}
	}
	return commands
}

// mention runs a command of a sentence.
func (s *session) mention(t *testing.T, command string, used map[string]bool) {
	t.Helper()
	run := command
	if len(strings.Fields(command)) == 2 {
		run = "" // it names the command
	}
	for _, m := range mentioned {
		if m.printed == command {
			used["`"+command], run = true, m.run
		}
	}
	if run != "" {
		s.run(t, command, run)
		return
	}
	words := strings.Fields(command)
	help := []string{"help", words[1]}
	if len(words) > 2 && regexp.MustCompile(`^[a-z]+$`).MatchString(words[2]) && words[1] != "page" {
		help = append(help, words[2])
	}
	out, err := exec.Command("rlzero", help...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", command, err, out)
	}
	for _, word := range words {
		if strings.HasPrefix(word, "--") && !strings.Contains(string(out), "   "+word+" ") {
			t.Errorf("%s: the help has no %s", command, word)
		}
	}
}

// replaced is a command with the replacements of shorter, or why it is not run. Rows that apply
// are marked as used.
func replaced(command string, used map[string]bool) (run, why string) {
	for _, r := range notRun {
		if strings.HasPrefix(command, r.begins) {
			used[r.begins] = true
			return "", r.why
		}
	}
	for _, r := range shorter {
		if strings.Contains(command, r.printed) {
			used[r.printed] = true
			command = strings.ReplaceAll(command, r.printed, r.run)
		}
	}
	return command, ""
}

// serving are the commands that run until they are stopped: what each prints once
// it can be used, and by what name later commands of the page know that.
var serving = []struct{ command, prints, name string }{
	{`^rlzero serve `, `http://[0-9.]+:[0-9]+`, "http://127.0.0.1:8080"},
	{`^rlzero page runs`, `http://[0-9.]+:[0-9]+`, ""},
	{`^rlzero train .*--workers nats:`, `nats://[A-Z0-9]+@[0-9.]+:[0-9]+`, "nats://TRAINER-KEY@10.0.0.1:4222"},
	{`^rlzero worker nats:`, `takes part in the run`, ""},
}

// session runs the commands of a page, one after another, in a folder.
type session struct {
	folder  string
	servers []server
	names   []string // what the last server is called, and what it has printed
}

type server struct {
	*exec.Cmd
	printed string
	ended   chan error
}

// run runs a command in a shell, to its end or, of one that serves, until it can be used.
func (s *session) run(t *testing.T, printed, command string) {
	t.Helper()
	command = strings.NewReplacer(s.names...).Replace(command)
	for _, v := range serving {
		if regexp.MustCompile(v.command).MatchString(command) {
			found := s.serve(t, printed, command, regexp.MustCompile(v.prints))
			if v.name != "" {
				s.names = []string{v.name, found}
			}
			return
		}
	}
	sh := exec.Command("sh", "-e", "-c", command)
	sh.Dir = s.folder
	if out, err := sh.CombinedOutput(); err != nil {
		t.Errorf("%s\nrun as %s\n%v: %s", printed, command, err, out)
	}
}

// serve starts a command and returns what it prints once it can be used.
func (s *session) serve(t *testing.T, printed, command string, usable *regexp.Regexp) string {
	t.Helper()
	sh := exec.Command("sh", "-c", "exec "+command) // a signal reaches the program itself
	sh.Dir = s.folder
	out, in := io.Pipe()
	sh.Stdout, sh.Stderr = in, in
	if err := sh.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	s.servers = append(s.servers, server{sh, printed, ended})
	go func() {
		ended <- sh.Wait()
		in.Close()
	}()
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if found := usable.FindString(lines.Text()); found != "" {
			go io.Copy(io.Discard, out) // what it says later must not hold it up
			return found
		}
	}
	t.Errorf("%s\nrun as %s\nended before it could be used: %s", printed, command, said)
	return ""
}

// stop interrupts the servers, the last first. They have to end as what was told to end.
func (s *session) stop(t *testing.T) {
	const interrupted = 130
	for _, v := range slices.Backward(s.servers) {
		_ = v.Process.Signal(os.Interrupt) // of one that has ended the code says it
		if err := <-v.ended; err != nil && v.ProcessState.ExitCode() != interrupted {
			t.Errorf("%s, interrupted: %v", v.printed, err)
		}
	}
}
