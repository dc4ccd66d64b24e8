package cli

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/lines"
	pages "github.com/rlzero/rlzero/rl/report" // report is a helper of this package's tests
	"github.com/rlzero/rlzero/rl/store"
)

func reportCommand() *cli.Command {
	return &cli.Command{
		Name: "report", Usage: "write the report of a run, finished or in progress", ArgsUsage: "RUN",
		Description: `Writes report.html and curves/ into the run folder, from what the run has recorded so
far. A run that is training is not disturbed. The page needs no network and no script.

Example:
   rlzero report runs/first`,
		Action: func(c *cli.Context) error {
			args, err := positional(c, "RUN")
			if err != nil {
				return err
			}
			r, err := pages.Read(args[0])
			if err != nil {
				return fmt.Errorf("%w: %w", lines.ErrInput, err)
			}
			files, err := r.Files()
			if err != nil {
				return err
			}
			for _, name := range slices.Sorted(maps.Keys(files)) {
				if err := store.WriteBeside(store.OS(), args[0], name, files[name]); err != nil {
					return err
				}
			}
			fmt.Fprintln(c.App.Writer, filepath.Join(args[0], "report.html"))
			return nil
		},
	}
}
