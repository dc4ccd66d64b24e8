package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
)

// arrange puts a command line into the order that the flag package reads: the
// program, its command, the command's flags, "--", the arguments. Users may
// write flags anywhere, in front of the command too. "--" ends the flags, and
// "rlzero help COMMAND" is "rlzero COMMAND --help".
//
// Of a flag with one value that is given several times, the last one counts, so
// that an alias of a shell can be overridden.
func arrange(a *cli.App, args []string) ([]string, error) {
	line, err := split(valueFlags(a), args[1:])
	if err != nil {
		return nil, err
	}
	words, rest := line.words, line.rest
	if len(words) > 0 && (words[0] == "help" || words[0] == "h") {
		words, line.help = words[1:], true
	}
	commands, path := a.Commands, []string{a.Name}
	for len(words) > 0 && len(commands) > 0 {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(words[0]) })
		if at < 0 {
			break
		}
		commands, path, words = commands[at].Subcommands, append(path, words[0]), words[1:]
	}
	rest = append(words, rest...)
	if len(commands) > 0 && len(rest) > 0 { // a command with subcommands takes nothing else, unless it searches
		if !slices.ContainsFunc(commands, func(c *cli.Command) bool { return c.Name == searchCommand }) {
			return nil, unknownCommand(path, rest[0], commands)
		}
		path = append(path, searchCommand)
	}
	if line.help {
		return slices.Concat(args[:1], path[1:], []string{"--help"}), nil
	}
	return slices.Concat(args[:1], path[1:], line.flags, []string{"--"}, rest), nil
}

// searchCommand is the subcommand that is meant where a word is none of the others.
const searchCommand = "list"

// commandLine is a command line taken apart.
type commandLine struct {
	words []string // commands and arguments in front of "--"
	flags []string // each followed by its value
	rest  []string // what stands after "--"
	help  bool     // --help is among the flags
}

// split takes a command line apart, given the flags whose value is the next word.
func split(valued map[string]bool, args []string) (commandLine, error) {
	var l commandLine
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch name := flagName(arg); {
		case arg == "--":
			l.rest = slices.Clone(args[i+1:])
			return l, nil
		case !strings.HasPrefix(arg, "-") || arg == "-": // - is standard input
			l.words = append(l.words, arg)
		case valued[name] && i+1 == len(args):
			return l, usagef("flag --%s needs a value", name)
		case valued[name]:
			i++
			l.flags = append(l.flags, arg, args[i]) // whatever the value begins with
		default:
			l.flags = append(l.flags, arg)
			l.help = l.help || name == "help" || name == "h"
		}
	}
	return l, nil
}

// flagName is the name in --name, or in the shorter -name that the flag package
// takes as well. --name=value has its value already and gives no name.
func flagName(arg string) string {
	return strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
}

// valueFlags are the names of the flags whose value is the next word. A name
// means the same in all commands.
func valueFlags(a *cli.App) map[string]bool {
	valued := map[string]bool{}
	var walk func(flags []cli.Flag, commands []*cli.Command)
	walk = func(flags []cli.Flag, commands []*cli.Command) {
		for _, f := range flags {
			if _, isBool := f.(*cli.BoolFlag); !isBool {
				for _, name := range f.Names() {
					valued[name] = true
				}
			}
		}
		for _, c := range commands {
			walk(c.Flags, c.Subcommands)
		}
	}
	walk(a.Flags, a.Commands)
	return valued
}

// unknownCommand answers a word that is no command below path.
func unknownCommand(path []string, word string, commands []*cli.Command) error {
	below := strings.Join(path[1:], " ")
	full := func(name string) string { return strings.TrimSpace(below + " " + name) }
	var known []string
	for _, c := range commands {
		known = append(known, full(c.Name))
		if c.HasName(word) {
			return hint.With(usagef("command %q comes after --", full(word)), "-- ends commands and flags: write the command before it")
		}
		if c.Name == "show" && len(path) > 1 && slices.Contains(shown(path[1]), word) {
			return hint.With(usagef("unknown command %q", full(word)), "did you mean rlzero %s?", full("show "+word))
		}
	}
	list := "rlzero --help"
	if below != "" {
		list = "rlzero " + below + " --help"
	}
	return usage(hint.Unknown("command", full(word), known, list))
}

// runArg is the folder of a command whose one argument is RUN.
func runArg(c *cli.Context) (string, error) {
	args, err := positional(c, "RUN")
	if err != nil {
		return "", err
	}
	return args[0], checkRun(args[0])
}

// positional returns the command's arguments, exactly as many as names says.
func positional(c *cli.Context, names ...string) ([]string, error) {
	args := c.Args().Slice()
	if len(args) == len(names) {
		return args, nil
	}
	takes, found := "no arguments", "none"
	if len(names) > 0 {
		takes = terminal.Count(len(names), "argument", "") + ", " + strings.Join(names, " ")
	}
	if len(args) > 0 {
		found = fmt.Sprintf("%q", args)
	}
	return nil, hint.With(usagef("%s takes %s; found %s", c.Command.HelpName, takes, found), "%s --help shows its usage", c.Command.HelpName)
}
