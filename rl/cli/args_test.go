package cli

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// leaf is a command that takes no subcommand, or one that does something itself.
type leaf struct {
	path  []string // ["tasks", "draw"]
	flags []cli.Flag
	takes bool // arguments
	c     *cli.Command
}

// leaves are all commands that can be run.
func leaves(a *cli.App) []leaf {
	var all []leaf
	var walk func(path []string, commands []*cli.Command)
	walk = func(path []string, commands []*cli.Command) {
		for _, c := range commands {
			at := append(slices.Clone(path), c.Name)
			all = append(all, leaf{at, c.Flags, len(c.Subcommands) == 0, c})
			walk(at, c.Subcommands)
		}
	}
	walk(nil, a.Commands)
	return all
}

// parsed is what a command was given.
type parsed struct {
	command string
	flags   map[string]string
	args    []string
}

// parse runs a command line with every action replaced by one that records what
// the command was given, under the flags' first names.
func parse(args []string) (parsed, error) {
	a := app(strings.NewReader(""), io.Discard, io.Discard)
	var got parsed
	for _, l := range leaves(a) {
		l.c.Action = func(c *cli.Context) error {
			got = parsed{strings.Join(l.path, " "), map[string]string{}, c.Args().Slice()}
			for _, f := range l.flags {
				name := f.Names()[0]
				if !c.IsSet(name) {
					continue
				}
				if _, list := f.(*cli.StringSliceFlag); list {
					got.flags[name] = fmt.Sprint(c.StringSlice(name))
				} else {
					got.flags[name] = fmt.Sprint(c.Value(name))
				}
			}
			return nil
		}
	}
	args, err := arrange(a, append([]string{"rlzero"}, args...))
	if err != nil {
		return got, err
	}
	return got, a.Run(args)
}

// drawValue is a value that a flag takes.
func drawValue(f cli.Flag, r *rand.Rand) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	switch f.(type) {
	case *cli.IntFlag:
		return pick("-7", "0", "12")
	case *cli.Uint64Flag:
		return pick("0", "3")
	case *cli.Float64Flag:
		return pick("-1", "0.5", "2")
	case *cli.DurationFlag:
		return pick("0s", "1m0s", "-3ms")
	}
	return pick("x", "-x", "--", "--json", "-", "a=b", "two words", "", "train", "show")
}

// TestFlagsAnywhere: for every command and every one of its flags, what the
// command is given does not depend on where the flags stand or how they are
// written.
func TestFlagsAnywhere(t *testing.T) {
	t.Setenv("RLZERO_DEVICE", "") // to be restored
	os.Unsetenv("RLZERO_DEVICE")
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range leaves(app(strings.NewReader(""), io.Discard, io.Discard)) {
		for range 50 {
			want := parsed{strings.Join(l.path, " "), map[string]string{}, []string{}}
			var pieces [][]string // what stays together
			lists := map[string][]string{}
			for range r.IntN(5) {
				if len(l.flags) == 0 {
					break
				}
				f := l.flags[r.IntN(len(l.flags))]
				name, dashes := f.Names()[0], []string{"-", "--"}[r.IntN(2)]
				if _, isBool := f.(*cli.BoolFlag); isBool {
					pieces, want.flags[name] = append(pieces, []string{dashes + name}), "true"
					continue
				}
				text := drawValue(f, r)
				read := text
				if _, list := f.(*cli.StringSliceFlag); list {
					lists[name] = append(lists[name], text)
					read = fmt.Sprint(lists[name])
				}
				want.flags[name] = read // of one value, the last counts
				if r.IntN(2) == 0 {
					pieces = append(pieces, []string{dashes + name + "=" + text})
				} else {
					pieces = append(pieces, []string{dashes + name, text})
				}
			}
			words := slices.Clone(l.path)
			if l.takes {
				for range r.IntN(3) {
					words = append(words, []string{"x", "-", "runs/a b", "show"}[r.IntN(4)])
				}
			}
			want.args = append(want.args, words[len(l.path):]...)
			var line []string
			for len(pieces)+len(words) > 0 {
				if len(words) == 0 || len(pieces) > 0 && r.IntN(2) == 0 {
					line, pieces = append(line, pieces[0]...), pieces[1:]
				} else {
					line, words = append(line, words[0]), words[1:]
				}
			}
			if l.takes && r.IntN(3) == 0 { // after --, everything is an argument
				line, want.args = append(line, "--", "--json", "--"), append(want.args, "--json", "--")
			}
			got, err := parse(line)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%q:\n got %q, %v\nwant %q", line, got, err, want)
			}
		}
	}
}

// TestFlagNames: where the same name means a flag with a value in one command
// and without one in another, nobody could tell which word belongs to it. A list is a
// flag with a value.
func TestFlagNames(t *testing.T) {
	kinds := map[string]string{}
	for _, l := range leaves(app(strings.NewReader(""), io.Discard, io.Discard)) {
		for _, f := range l.flags {
			for _, name := range f.Names() {
				kind := strings.Replace(fmt.Sprintf("%T", f), "StringSlice", "String", 1)
				if other := kinds[name]; other != "" && other != kind {
					t.Errorf("--%s of rlzero %s is a %s, elsewhere a %s", name, strings.Join(l.path, " "), kind, other)
				}
				kinds[name] = kind
			}
		}
	}
}

// TestHelp: every command explains itself, by --help after anything and by
// rlzero help, with at least one example, on lines that fit a terminal of 80 columns.
func TestHelp(t *testing.T) {
	for _, l := range append(leaves(app(strings.NewReader(""), io.Discard, io.Discard)), leaf{}) {
		name := strings.Join(l.path, " ")
		_, want, _ := rlzero(t, append(slices.Clone(l.path), "--help")...)
		for line := range strings.Lines(want) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > 80 || strings.TrimRight(line, " ") != line {
				t.Errorf("rlzero %s --help: a line of %d columns: %q", name, utf8.RuneCountInString(line), line)
			}
		}
		if !strings.Contains(want, "USAGE:\n   rlzero "+name) || !strings.Contains(want, "Example") {
			t.Errorf("rlzero %s --help: no usage or no example:\n%s", name, want)
		}
		for _, line := range [][]string{append([]string{"help"}, l.path...), append([]string{"--help"}, l.path...), append(slices.Clone(l.path), "-h")} {
			if code, got, stderr := rlzero(t, line...); code != 0 || got != want {
				t.Errorf("%q: exit code %d, %s%s", line, code, stderr, got)
			}
		}
	}
}

// TestExamples: the examples in the help texts are command lines that the program
// takes: the commands exist and have these flags.
func TestExamples(t *testing.T) {
	total := 0
	a := app(strings.NewReader(""), io.Discard, io.Discard)
	texts := map[string]string{"rlzero": a.Description}
	for _, l := range leaves(a) {
		texts["rlzero "+strings.Join(l.path, " ")] = l.c.Description
	}
	for name, text := range texts {
		found := 0
		for line := range strings.Lines(joined(text)) {
			for _, args := range exampleCommands(line) {
				found++
				got, err := parse(args)
				if err != nil || got.command == "" {
					t.Errorf("%s: %q: %v", name, args, err)
				}
				for _, arg := range got.args { // "..." and the like are no examples
					if strings.HasPrefix(arg, "-") && arg != "-" {
						t.Errorf("%s: %q: %q was taken for an argument", name, args, arg)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s --help has no example", name)
		}
		total += found
	}
	if total < 25 {
		t.Errorf("only %d examples found: is the shape of their lines still known here?", total)
	}
}

var environment = regexp.MustCompile(`^[A-Z_]+=`)

// joined is a text in which a command that a backslash continues stands on one line.
func joined(text string) string { return regexp.MustCompile(`\\\n *`).ReplaceAllString(text, "") }

// exampleCommands are the command lines of rlzero in a line of a help text, as a
// shell would cut them: indented, perhaps after $, | or settings of the environment.
func exampleCommands(line string) [][]string {
	if !strings.HasPrefix(line, "   ") {
		return nil
	}
	var commands [][]string
	for _, command := range shellWords(strings.TrimPrefix(strings.TrimSpace(line), "$ ")) {
		for len(command) > 0 && environment.MatchString(command[0]) {
			command = command[1:]
		}
		if len(command) > 1 && command[0] == "rlzero" {
			commands = append(commands, command[1:])
		}
	}
	return commands
}

// shellWords cuts a line into commands at | and into words at spaces, minding
// quotes. What follows > or three spaces (a remark) is left out.
func shellWords(line string) [][]string {
	line, _, _ = strings.Cut(line, "   ")
	commands := [][]string{nil}
	word, open, quote := "", false, rune(0)
	end := func() {
		if open {
			commands[len(commands)-1] = append(commands[len(commands)-1], word)
		}
		word, open = "", false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ':
			end()
		case r == '|':
			end()
			commands = append(commands, nil)
		case r == '>':
			end()
			return commands
		default:
			word, open = word+string(r), true
		}
	}
	end()
	return commands
}

func TestShellWords(t *testing.T) {
	got := fmt.Sprintf("%q", shellWords(`echo '{"a": 1}' | rlzero score m --in "x y" > out   with a remark`))
	if want := `[["echo" "{\"a\": 1}"] ["rlzero" "score" "m" "--in" "x y"]]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
