package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// readOnly are the commands that accept flags behind their argument, as in
// "rlzero score MODEL --in FILE". The others refuse them (see positional): what
// they start may run for hours with a flag's default instead.
var readOnly = []string{"sample", "score", "eval", "tasks"}

// flagsFirst moves the flags of a read-only command before its arguments, where
// the flag package looks for them.
func flagsFirst(a *cli.App, args []string) []string {
	if len(args) < 2 || !slices.Contains(readOnly, args[1]) {
		return args
	}
	c, begin := a.Command(args[1]), 2
	if len(args) > 2 {
		for _, sub := range c.Subcommands {
			if sub.Name == args[2] {
				c, begin = sub, 3
				break
			}
		}
	}
	var flags, rest []string
	for i := begin; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case !strings.HasPrefix(arg, "-") || arg == "-":
			rest = append(rest, arg)
		default:
			flags = append(flags, arg)
			if takesValue(c, arg) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		}
	}
	return slices.Concat(args[:begin], flags, rest)
}

// takesValue says whether the next word belongs to a flag. Unknown flags take
// none; the parser refuses them.
func takesValue(c *cli.Command, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range c.Flags {
		if slices.Contains(f.Names(), name) {
			_, isBool := f.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}
