package cli

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/terminal"
	"github.com/rlzero/rlzero/rl/watch"
)

func watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "say what is wrong with a run, finished or in progress", ArgsUsage: "RUN",
		Description: `Applies the alert rules to the metrics that the run has recorded so far, and prints what
they raise: step, level, rule, the two facts behind it, and what to do. A run raises the
same alerts itself, on the terminal and in alerts.jsonl. --rules lists the rules.

The exit code is 1 if there is a warning or an error. --json prints one object a line.

Example:
   rlzero watch runs/first`,
		Flags: []cli.Flag{jsonFlag, &cli.BoolFlag{Name: "rules", Usage: "list the rules, and stop"}},
		Action: func(c *cli.Context) error {
			if c.Bool("rules") {
				for _, r := range watch.Rules() {
					fmt.Fprintf(c.App.Writer, "%-24s %-8s %s\n", r.Rule, r.Level, r.Why)
				}
				return nil
			}
			args, err := positional(c, "RUN")
			if err != nil {
				return err
			}
			if err := checkRun(args[0]); err != nil {
				return err
			}
			return watchRun(c, args[0])
		},
	}
}

func watchRun(c *cli.Context, dir string) error {
	file := filepath.Join(dir, "metrics.jsonl")
	in, err := files.Open(file)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer in.Close()
	w, bad, all := watch.New(), 0, 0
	err = lines.Each(file, in, func(_ int, line []byte) error {
		if line[len(line)-1] != '}' { // a run in progress is writing it
			return nil
		}
		alerts, err := w.AddLine(line)
		for _, a := range alerts {
			all++
			if a.Level != watch.Info {
				bad++
			}
			if c.Bool("json") {
				err = printJSON(c, a)
				continue
			}
			fmt.Fprintf(c.App.Writer, "step %d  %s  %s\n  seen     %s\n  against  %s\n  why      %s\n  do       %s\n", a.Step, a.Level, a.Rule, a.Seen, a.Against, a.Why, a.Do)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	if all == 0 && !c.Bool("json") {
		fmt.Fprintln(c.App.Writer, "nothing to report")
	}
	if bad > 0 {
		return fmt.Errorf("run %s has %s", terminal.ShellWord(dir), terminal.Count(bad, "alert above info", "alerts above info"))
	}
	return nil
}
