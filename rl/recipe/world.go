package recipe

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
)

// World is a program of others that plays the problems of a task.
type World struct {
	// the program and its arguments, such as ["python3", "wordle.py"], which runs with your rights; a word that
	// names a file beside the recipe means that file; there is no default: the table needs it
	Command []string `toml:"command"`

	// names of variables of the environment that the program sees, besides PATH, HOME and the folder of
	// temporary files; values of 8 characters and more are cut out of what it says
	Env []string `toml:"env" default:"[]"`

	// names of the numbers that the program tells of a turn, for formulas: turn.NAME
	Facts []string `toml:"facts" default:"[]"`

	// hash of the program's files and of its problems, in hexadecimal digits; the recipe of a run has it, and
	// a run whose program has changed is refused
	SHA256 string `toml:"sha256"`

	// own: the problems that the program has; numbers: whole numbers, of which it makes problems; auto: own if
	// it has some, else numbers. Where the task has data, its rows are the problems
	Problems string `toml:"problems" choice:"auto,own,numbers" default:"auto"`

	// the program says that it tells equal turns the same; the recipe of a run has it. What another program
	// says is kept in calls.jsonl
	Pure bool `toml:"pure"`
}

// Given says whether the task has one.
func (w World) Given() bool { return len(w.Command) > 0 }

// Where the problems of a program of others come from.
const (
	ProblemsAuto    = "auto"
	ProblemsOwn     = "own"
	ProblemsNumbers = "numbers"
)

// Label is what messages call the program: the last word of its command, without folders.
func (w World) Label() string {
	if !w.Given() {
		return ""
	}
	return path.Base(w.Command[len(w.Command)-1])
}

// Starts says whether a task starts programs of others: its world, or servers of tools.
func (t Task) Starts() bool { return t.World.Given() || slices.ContainsFunc(t.Tools, Tool.Served) }

// factName is a name of a number of a turn.
var factName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// variableName is one of a variable of the environment.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// world checks the program of a task that is given, and completes its paths.
func (d decoder) world(task *Task, t map[string]any, at settings.Path) {
	w := &task.World
	if !w.Given() {
		d.Fail(at, `%s has no command; accepted: the program and its arguments, such as command = ["python3", "wordle.py"]`, d.Name(at))
		return
	}
	w.Command = d.words(at.With("command"), w.Command)
	d.names(at.With("env"), w.Env, variableName, variableNames)
	d.names(at.With("facts"), w.Facts, factName, "lower-case letters, digits and _, at most 64, a letter first")
	for _, name := range world.CallFacts() {
		if slices.Contains(w.Facts, name) {
			d.Fail(at.With("facts"), "%s has %q, which counts the calls of tools; accepted: another name", d.Name(at.With("facts")), name)
		}
	}
	beside := map[string]bool{"name": task.Name != "", "tool": t["tool"] != nil, "verifier": task.Verifier != "", "options": len(task.Options) > 0, "starlark": task.Starlark != "", "settings": t["settings"] != nil}
	for _, key := range []string{"name", "settings", "tool", "verifier", "options", "starlark"} {
		if beside[key] {
			p := at[:len(at)-1].With(key)
			d.Fail(p, "%s does not go with [task.world], whose program asks, answers and judges: remove one of them", d.Name(p))
		}
	}
}

// variableNames are what variableName accepts.
const variableNames = "names of variables, such as API_TOKEN"

// names refuses names of another form, and those that are there twice.
func (d decoder) names(at settings.Path, given []string, form *regexp.Regexp, accepted string) {
	for i, name := range given {
		if !form.MatchString(name) || slices.Contains(given[:i], name) {
			d.Fail(at, "%s has %q; accepted: %s, each once", d.Name(at), name, accepted)
		}
	}
}

// words are those of a command, of which a file beside the recipe has its whole path, as has a program that is
// named with a path. Words that no program can be started with are refused.
func (d decoder) words(at settings.Path, command []string) []string {
	out := slices.Clone(command)
	for i, word := range out {
		if word == "" && i == 0 || strings.ContainsRune(word, 0) {
			d.Fail(at, "%s has %q as its word %d; accepted: the name of a program, and texts without NUL", d.Name(at), word, i)
			return command
		}
		file := d.absolute(at.With(strconv.Itoa(i)), word)
		info, err := os.Stat(filepath.FromSlash(file))
		if i == 0 && strings.Contains(word, "/") || i > 0 && err == nil && info.Mode().IsRegular() {
			out[i] = file
		}
	}
	return out
}
