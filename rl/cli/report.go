package cli

import (
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/page"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "write the report of a run, finished or in progress", ArgsUsage: "RUN",
		Description: `Writes report.html into the folder of the run, from what the run has recorded so far: the file
that rlzero page --out writes for one run. It does not disturb a run that is training. The
file needs no network.

Example:
   rlzero report runs/first`,
		Action: func(c *cli.Context) error {
			args, err := positional(c, "RUN")
			if err != nil {
				return err
			}
			html, err := reportOf(args[0])
			if err != nil {
				return err
			}
			if err := store.WriteBeside(store.OS(), args[0], run.ReportFile, html); err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, filepath.Join(args[0], run.ReportFile))
			return nil
		},
	}
}

// reportOf is the report of a run: its page as one file.
func reportOf(dir string) ([]byte, error) {
	if err := checkRun(dir); err != nil {
		return nil, err
	}
	runs, err := page.Open(dir)
	if err != nil {
		return nil, err
	}
	return runs.File(page.Room)
}
