package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

func devicesCommand() *cli.Command {
	return &cli.Command{
		Name: "devices", Usage: "list the devices that can be used, best first",
		Description: `Discrete GPUs come before integrated, virtual and software ones, Vulkan before
WebGPU where both reach the same device. Each has the reason for its place.

Example:
   rlzero devices --json

Exit code 3 when there is none but the plain-Go device.`,
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			infos, err := gpu.List()
			usable := false
			for _, d := range infos {
				usable = usable || d.Usable && d.Kind != gpu.Reference
				if c.Bool("json") {
					if err := printJSON(c, d); err != nil {
						return err
					}
					continue
				}
				if d.Usable {
					fmt.Fprintf(c.App.Writer, "%-10s %-11s %s (%s)\n           tier %s, %.1f GiB; %s\n", d.ID, d.Kind, d.Name, d.Driver, d.Tier, float64(d.Memory)/(1<<30), d.Reason)
				} else {
					fmt.Fprintf(c.App.Writer, "%-10s %-11s %s\n           not usable: %s\n", d.ID, d.Kind, d.Name, d.Reason)
				}
			}
			if err != nil && usable {
				fmt.Fprintf(c.App.ErrWriter, "rlzero: warning: %v\n", err)
				return nil
			}
			if err == nil && !usable {
				err = fmt.Errorf("%w: only the plain-Go device is there", gpu.ErrNoDevice)
			}
			return err
		},
	}
}

// lister is a command that lists things and shows one of them.
func lister(name, usage, example string, list func(*cli.Context) error, show func(*cli.Context, string) error) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "[show NAME]",
		Description: "Example:\n   rlzero " + name + "\n   rlzero " + name + " show " + example,
		Flags:       []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return usagef("rlzero %s takes no arguments, or show NAME", name)
			}
			return list(c)
		},
		Subcommands: []*cli.Command{{
			Name: "show", Usage: "show one", ArgsUsage: "NAME",
			Action: func(c *cli.Context) error {
				args, err := positional(c, "NAME")
				if err != nil {
					return err
				}
				return show(c, args[0])
			},
		}},
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
		if c.Bool("json") {
			if err := printJSON(c, n); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(c.App.Writer, "%-*s  %s\n", width, n.Name, n.Summary); err != nil {
			return err
		}
	}
	return nil
}

func recipesCommand() *cli.Command {
	list := func(c *cli.Context) error {
		for _, name := range recipe.Names() {
			text, err := recipe.Source(name)
			if err != nil {
				return err
			}
			r, err := recipe.Load(name, nil)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				err = printJSON(c, map[string]any{"name": name, "about": r.About, "systems": []string{}, "file_lines": strings.Count(text, "\n")})
				if err != nil {
					return err
				}
				continue
			}
			fmt.Fprintf(c.App.Writer, "%-18s %s\n", name, r.About)
		}
		return nil
	}
	show := func(c *cli.Context, name string) error {
		text, err := recipe.Source(name)
		if err != nil {
			return err
		}
		fmt.Fprint(c.App.Writer, text)
		return nil
	}
	command := lister("recipes", "list the built-in recipes, show one, list the keys of recipes", "countdown-tiny", list, show)
	command.ArgsUsage = "[show NAME | keys]"
	command.Subcommands = append(command.Subcommands, recipeKeysCommand())
	return command
}

func verifiersCommand() *cli.Command {
	list := func(c *cli.Context) error {
		var all []named
		for _, e := range verify.Entries() {
			all = append(all, named{e.Name, e.Summary})
		}
		return printNamed(c, all)
	}
	show := func(c *cli.Context, name string) error {
		e, err := verify.Lookup(name)
		if err != nil {
			var group []named
			for _, e := range verify.Entries() {
				if strings.HasPrefix(e.Name, name+":") {
					group = append(group, named{e.Name, e.Summary})
				}
			}
			if group != nil {
				return printNamed(c, group)
			}
			return usagef("%v", err)
		}
		fmt.Fprintf(c.App.Writer, "%s: %s\n\n%s\n", e.Name, e.Summary, strings.TrimSpace(e.Doc))
		return nil
	}
	return lister("verifiers", "list the verifiers", "countdown", list, show)
}

func metricsCommand() *cli.Command {
	return &cli.Command{
		Name: "metrics", Usage: "explain every metric: unit, meaning, how to read it",
		Description: "Example:\n   rlzero metrics | grep -A1 policy/",
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			return metrics.Print(c.App.Writer)
		},
	}
}
