package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world/tools"
)

// catalogue is a kind of things that have names: a command lists them, and its
// subcommand show shows one. A name that none of them has is answered alike
// wherever it is given.
type catalogue struct {
	command string // "tasks"
	kind    string // "task"
	names   func() []string
	entries func(name string) []string // the names of the entries for other spellings; nil: there are none
	without func(name string) error    // why a thing that is known has no entry; nil: there is none such
}

var (
	taskCatalogue      = catalogue{command: "tasks", kind: "task", names: taskNames}
	worldCatalogue     = catalogue{command: "worlds", kind: "world", names: worldNames}
	toolCatalogue      = catalogue{command: "tools", kind: "tool", names: tools.Names}
	verifierCatalogue  = catalogue{command: "verifiers", kind: "verifier", names: verifierNames}
	recipeCatalogue    = catalogue{command: "recipes", kind: "recipe", names: presets.Names, entries: recipesOf, without: waiting}
	algorithmCatalogue = catalogue{command: "algorithms", kind: "algorithm", names: algo.MethodNames, without: noMethod}
	formulaCatalogue   = catalogue{command: "formulas", kind: "name of formulas", names: formulaNames}
	metricCatalogue    = catalogue{command: "metrics", kind: "metric", names: metricNames, entries: metricEntry}

	// Where a task is asked for, a recipe may be given, whose task is meant.
	taskOrRecipe = catalogue{command: "tasks", kind: "task", names: func() []string { return append(taskNames(), presets.Names()...) }}

	catalogues = []catalogue{taskCatalogue, worldCatalogue, toolCatalogue, verifierCatalogue, recipeCatalogue, metricCatalogue, algorithmCatalogue, formulaCatalogue}
)

// check is nil for a known name.
func (k catalogue) check(name string) error {
	known := k.names()
	if slices.Contains(known, name) {
		return nil
	}
	if k.without != nil {
		if err := k.without(name); err != nil {
			return err
		}
	}
	return usage(hint.Unknown(k.kind, name, known, "rlzero "+k.command))
}

// checkFile is check for a name in whose place a file may be given.
func (k catalogue) checkFile(name string) error {
	if _, err := os.Stat(name); err == nil || strings.ContainsAny(name, `/\.`) {
		return nil
	}
	return k.check(name)
}

// withEntry adds to an error about a run or a model which entry of a catalogue has its name, if no file or folder has.
func withEntry(err error, name string) error {
	if _, none := os.Stat(name); none == nil {
		return err
	}
	for _, k := range catalogues {
		if slices.Contains(k.names(), name) {
			a := "a"
			if strings.ContainsAny(k.kind[:1], "aeiou") {
				a = "an"
			}
			return hint.With(err, "%s is %s %s: rlzero %s show %[1]s", name, a, k.kind, k.command)
		}
	}
	return err
}

// shown are the names that "rlzero COMMAND show" takes.
func shown(command string) []string {
	for _, k := range catalogues {
		if k.command == command {
			return k.names()
		}
	}
	return nil
}

// lister is the command of a catalogue; show gets a known name.
func (k catalogue) lister(usage, example string, list func(*cli.Context) error, show func(c *cli.Context, name string) error) *cli.Command {
	return &cli.Command{
		Name: k.command, Usage: usage, ArgsUsage: "[show NAME]",
		Description: "Examples:\n   rlzero " + k.command + "\n   rlzero " + k.command + " show " + example,
		Flags:       []cli.Flag{jsonFlag},
		Action:      list, // arrange lets no arguments through
		Subcommands: []*cli.Command{k.shower(example, show)},
	}
}

// shower is the subcommand that shows one.
func (k catalogue) shower(example string, show func(c *cli.Context, name string) error) *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show one " + k.kind, ArgsUsage: "NAME",
		Description: "Example:\n   rlzero " + k.command + " show " + example,
		Flags:       []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			args, err := positional(c, "NAME")
			if err != nil {
				return err
			}
			names := args
			if k.entries != nil {
				names = k.entries(args[0])
			}
			for _, name := range names {
				if err := k.check(name); err != nil {
					return err
				}
				if err := show(c, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// named is a line of a list.
type named struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

func printNamed(c *cli.Context, list []named) error {
	width := 0
	for _, n := range list {
		width = max(width, len(n.Name))
	}
	for _, n := range list {
		var err error
		if c.Bool("json") {
			err = printJSON(c, n)
		} else {
			_, err = fmt.Fprintf(c.App.Writer, "%-*s  %s\n", width, n.Name, n.Summary)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func taskNames() []string {
	var names []string
	for _, f := range tasks.Families() {
		names = append(names, f.Name)
	}
	return names
}

// recipesOf are the recipes of a system for its id.
func recipesOf(name string) []string {
	var all []string
	for _, p := range presets.All() {
		if slices.Contains(p.Systems, name) {
			all = append(all, p.Name)
		}
	}
	if all == nil {
		return []string{name}
	}
	return all
}

// metricEntry is eval/pass@K for eval/pass@8. What could be of a model, but is nearly the name of
// another metric, is a slip.
func metricEntry(name string) []string {
	m, ok := metrics.Find(name)
	if slip := strings.HasPrefix(m.Name, "NAME/") && hint.Nearest(name, metricNames()) != ""; ok && (!slip || m.Name == name) {
		return []string{m.Name}
	}
	return []string{name}
}

func metricNames() []string {
	var names []string
	for _, m := range metrics.Table() {
		names = append(names, m.Name)
	}
	return names
}
