package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestCompletions: what a shell is offered at the end of a line.
func TestCompletions(t *testing.T) {
	for line, want := range map[string][]string{
		"tr":                            {"train"},
		"train countdown-ti":            {"countdown-tiny"},
		"--seed 3 train countdown-ti":   {"countdown-tiny"},
		"train x countdown":             nil, // a recipe is named already
		"inspect t":                     {"template", "tokens"},
		"inspect tokens --mo":           {"--model"},
		"eval --verifier math_":         nil,
		"eval m --verifier code:p":      {"code:python"},
		"eval --task=countdown-bl":      {"--task=countdown-blind"},
		"tasks show gc":                 {"gcd"},
		"tasks draw gc":                 {"gcd"},
		"export m --format g":           {"gguf"},
		"model new --size ":             {"medium", "small", "tiny"},
		"completion ":                   {"bash", "fish", "zsh"},
		"compare countdown-tiny lora-m": {"lora-math", "lora-math-small"},
		"nosuch ":                       nil,
		"train -- --":                   nil,
	} {
		got := completions(app(strings.NewReader(""), io.Discard, io.Discard), strings.Split(line, " "))
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	all := completions(app(strings.NewReader(""), io.Discard, io.Discard), nil)
	for _, l := range leaves(app(strings.NewReader(""), io.Discard, io.Discard)) {
		if !slices.Contains(all, l.path[0]) {
			t.Errorf("%s is not offered", l.path[0])
		}
		flags := completions(app(strings.NewReader(""), io.Discard, io.Discard), append(slices.Clone(l.path), "--"))
		for _, f := range l.flags {
			if !slices.Contains(flags, "--"+f.Names()[0]) {
				t.Errorf("rlzero %s: --%s is not offered", strings.Join(l.path, " "), f.Names()[0])
			}
		}
	}
	for _, s := range shells {
		if code, out, stderr := rlzero(t, "completion", s.name); code != 0 || !strings.Contains(out, "rlzero "+completeCommand) {
			t.Errorf("%s: exit code %d, %s%s", s.name, code, out, stderr)
		}
	}
}

// TestManual: the page has every command with its flags, and no line that roff would read as
// something else than text or one of the macros here.
func TestManual(t *testing.T) {
	code, page, stderr := rlzero(t, "man")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, l := range leaves(app(strings.NewReader(""), io.Discard, io.Discard)) {
		if !strings.Contains(page, ".SS "+roff("rlzero "+strings.Join(l.path, " "))) {
			t.Errorf("%s is not in the manual", strings.Join(l.path, " "))
		}
		for _, f := range l.flags {
			if !strings.Contains(page, `.B `+roff("--"+f.Names()[0])) {
				t.Errorf("--%s is not in the manual", f.Names()[0])
			}
		}
	}
	macros := regexp.MustCompile(`^(?:\.TH |\.SH |\.SS |\.TP$|\.PP$|\.B |\.I |\.nf$|\.fi$)`)
	open := false
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if (strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'")) && !macros.MatchString(line) {
			t.Errorf("a line of roff: %q", line)
		}
		if line == ".nf" || line == ".fi" {
			if open == (line == ".nf") {
				t.Fatalf("%s twice", line)
			}
			open = !open
		}
	}
	if got := roff(".a -b \\c"); got != `\&.a \-b \ec` {
		t.Errorf("escaped as %s", got)
	}
}

// gone is a pipe that nobody reads.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, &syscallError{syscall.EPIPE} }

type syscallError struct{ error }

func (e *syscallError) Unwrap() error { return e.error }

// TestBrokenPipe: who reads has read enough, which is told by the exit code alone. Any other
// failure to write is an error.
func TestBrokenPipe(t *testing.T) {
	for _, args := range [][]string{{"recipes"}, {"formulas"}, {"recipes", "--json"}, {"man"}, {"help", "train"}} {
		var stderr bytes.Buffer
		if code := Main(append([]string{"rlzero"}, args...), strings.NewReader(""), gone{}, &stderr); code != exitPipe || stderr.Len() > 0 {
			t.Errorf("%q: exit code %d, %s", args, code, stderr.String())
		}
	}
	var stderr bytes.Buffer
	full := failing{errors.New("no space left on device")}
	if code := Main([]string{"rlzero", "recipes"}, strings.NewReader(""), full, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "standard output: no space left") {
		t.Errorf("exit code %d, %s", code, stderr.String())
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// prosaic are commands that print no table and no values: --json would have nothing to say.
var prosaic = []string{"chat", "page", "report", "serve", "worker", "completion", "man", "inspect template", "worlds play", "worlds bridge"}

// TestJSONEverywhere: every command that prints values prints them as JSON with --json.
func TestJSONEverywhere(t *testing.T) {
	for _, l := range leaves(app(strings.NewReader(""), io.Discard, io.Discard)) {
		name, has := strings.Join(l.path, " "), false
		for _, f := range l.flags {
			has = has || f.Names()[0] == "json"
		}
		if has == slices.Contains(prosaic, name) && (l.takes || has) {
			t.Errorf("rlzero %s has --json: %v", name, has)
		}
	}
	for _, args := range [][]string{{"version"}, {"watch", "--rules"}, {"tasks", "draw", "gcd", "--n", "2"}} {
		code, out, stderr := rlzero(t, append(args, "--json")...)
		if code != 0 || !strings.HasPrefix(out, "{") || strings.Contains(out, ":null") {
			t.Errorf("%q: exit code %d, %.200s%s", args, code, out, stderr)
		}
	}
}

// TestQuiet: -q leaves out what is told on the way, and neither warnings, alerts nor errors.
func TestQuiet(t *testing.T) {
	dir := t.TempDir()
	for _, flag := range []string{"-q", "--quiet"} {
		if code, out, stderr := rlzero(t, "model", "new", dir+"/"+strings.Trim(flag, "-"), flag); code != 0 || out == "" || stderr != "" {
			t.Errorf("%s: exit code %d, %q and %q", flag, code, out, stderr)
		}
	}
	if code, _, stderr := rlzero(t, "model", "new", dir+"/loud"); code != 0 || !strings.Contains(stderr, "random parameters") {
		t.Errorf("without it: exit code %d, %q", code, stderr)
	}
	if code, _, stderr := rlzero(t, "model", "new", dir+"/loud", "-q"); code != exitUsage || !strings.Contains(stderr, "rlzero: error: ") {
		t.Errorf("an error: exit code %d, %q", code, stderr)
	}
	var out strings.Builder
	q := quiet{&out}
	for _, line := range []string{"rl 1/2\n", warning + "a\n", "! step 3: an alert\n", "done\n", "page  http://127.0.0.1\n"} {
		if n, err := io.WriteString(q, line); n != len(line) || err != nil {
			t.Errorf("%q: %d, %v", line, n, err)
		}
	}
	if want := warning + "a\n! step 3: an alert\npage  http://127.0.0.1\n"; out.String() != want {
		t.Errorf("passed on %q, want %q", out.String(), want)
	}
}

// TestWatchDamaged: metrics alone can be watched, also where the recipe of the run is damaged or has a key that this
// version does not know: that is told with its place.
func TestWatchDamaged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("metrics.jsonl", `{"step":1,"stage":"rl","reward/mean":0.5}`+"\n")
	if code, out, stderr := rlzero(t, "watch", dir); code != 0 {
		t.Errorf("without a recipe: exit code %d, %s%s", code, out, stderr)
	}
	for _, text := range []string{"name = ", "seed = 1\nof_another_version = 2\nand_one_more = 3\n"} {
		write("recipe.toml", text)
		write("metrics.jsonl", `{"step":1,"stage":"rl","reward/mean":0.5,"policy/compared":2,"policy/equal":1}`+"\n")
		code, out, stderr := rlzero(t, "watch", dir)
		if code != 1 || !strings.Contains(out, "step 1  error") || strings.Count(stderr, "recipe.toml:") != 1 {
			t.Errorf("%q: exit code %d, %s%s", text, code, out, stderr)
		}
	}
}
