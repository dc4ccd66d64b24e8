package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/record"
)

func rowsCommand() *cli.Command {
	return &cli.Command{
		Name: "rows", Usage: "show the rows that a run has made, and where they come from", ArgsUsage: "RUN",
		Description: `Prints the newest rows that a run has made by [[stage.make]], finished or in progress: their columns,
and where each comes from: step and stage, group and samples (rlzero show RUN --step S --group G has
them), who wrote it, the seed, and the problem. Before it prints, it checks the sums of all lines:
a row that is not as it was written is refused, with its line.

--json prints one object per row, its columns beside id, from, by and the others: data for another
run, as in task.data.

Examples:
   rlzero rows runs/first
   rlzero rows runs/first --rows pairs --n 3
   rlzero rows runs/first --json --n 100000 > rows.jsonl`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "rows", Usage: "only rows of this `NAME`", DefaultText: "all"},
			&cli.IntFlag{Name: "n", Value: 10, Usage: "number of rows, the newest"},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			n, err := intFrom(c, "n", 1, 10_000_000)
			if err != nil {
				return err
			}
			return showRows(c, dir, n)
		},
	}
}

// showRows prints the newest rows of a run.
func showRows(c *cli.Context, dir string, most int) error {
	counts, shown := map[string]int{}, []record.Made{}
	wanted := c.String("rows")
	_, err := record.EachMade(filepath.Join(dir, record.MadeFile), func(_ int, _ []byte, m record.Made) error {
		counts[m.Rows]++
		if wanted == "" || m.Rows == wanted {
			shown = append(shown, m)
		}
		if len(shown) > 2*most { // older ones are not shown
			shown = slices.Clone(shown[len(shown)-most:])
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hint.With(usagef("run %s makes no rows: no stage of its recipe has [[stage.make]]", dir), "rlzero recipes keys lists the keys of stage.make")
	case err != nil:
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	case len(counts) == 0:
		return usagef("run %s has made no rows yet", dir)
	}
	names := slices.Sorted(maps.Keys(counts))
	if wanted != "" && counts[wanted] == 0 {
		return usagef("run %s has no rows %q%s", dir, wanted, settings.DidYouMean(wanted, names, "it has "+strings.Join(names, ", ")))
	}
	shown = shown[max(0, len(shown)-most):]
	if c.Bool("json") {
		for _, m := range shown {
			if err := printJSON(c, m.Whole()); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range names {
		fmt.Fprintf(c.App.Writer, "%s: %s\n", name, terminal.Count(counts[name], "row", ""))
	}
	for _, m := range shown {
		showRow(c.App.Writer, m)
	}
	return nil
}

func showRow(w io.Writer, m record.Made) {
	samples := ""
	if len(m.Samples) > 0 {
		samples = ", sample " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(m.Samples)), " and "), "[]")
	}
	fmt.Fprintf(w, "\n%s  step %d of stage %s, group %d%s, by %s, seed %d\n", m.ID, m.Step, m.Stage, m.Group, samples, terminal.Line(m.By, shownWidth), m.Seed)
	fmt.Fprintf(w, "  from %s\n", terminal.Line(m.From, shownWidth))
	for _, name := range slices.Sorted(maps.Keys(m.Row)) {
		var text string
		if json.Unmarshal(m.Row[name], &text) != nil {
			text = string(m.Row[name])
		}
		fmt.Fprintf(w, "  %s: %s\n", terminal.Line(name, shownWidth), terminal.Line(text, shownWidth))
	}
}
