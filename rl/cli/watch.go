package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/metrics"
	receipts "github.com/rlzero/rlzero/rl/receipt" // receipt is a command
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/watch"
)

func watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "print the alerts of a run, finished or in progress", ArgsUsage: "RUN",
		Description: `Applies the alert rules to the metrics that the run has recorded so far, and prints the alerts:
step, level, rule, the two facts that raised it, and what to do. A run also raises these alerts
itself, on the terminal and in alerts.jsonl. --rules lists the rules.

The exit code is 1 if there is a warning or an error. --json prints one object per line.

Examples:
   rlzero watch runs/first
   rlzero watch runs/first --follow    prints alerts as they come`,
		Flags: []cli.Flag{jsonFlag, &cli.BoolFlag{Name: "follow", Usage: "go on until the run ends"}, &cli.BoolFlag{Name: "rules", Usage: "list the rules, and stop"}},
		Action: func(c *cli.Context) error {
			if c.Bool("rules") {
				for _, r := range watch.Rules() {
					if c.Bool("json") {
						if err := printJSON(c, ruleLine{r.Rule, string(r.Level), r.Why}); err != nil {
							return err
						}
						continue
					}
					fmt.Fprintf(c.App.Writer, "%-24s %-8s %s\n", r.Rule, r.Level, r.Why)
				}
				return nil
			}
			dir, err := runArg(c)
			if err != nil {
				return err
			}
			return watchRun(c, dir)
		},
	}
}

// ruleLine is what watch --rules prints with --json.
type ruleLine struct {
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Why   string `json:"why"`
}

// watching is a run that is watched, and what it has raised.
type watching struct {
	c        *cli.Context
	file     string
	trains   map[string]string // the models that stages train
	watcher  *watch.Watcher
	reader   record.Reader
	bad, all int // alerts above info; all
}

func watchRun(c *cli.Context, dir string) error {
	file := filepath.Join(dir, record.MetricsFile)
	w := &watching{c: c, file: file, reader: record.Reader{Name: file}}
	switch r, err := recipe.Load(filepath.Join(dir, recipe.File), nil); {
	case err == nil:
		w.trains = r.Trains()
	case !errors.Is(err, fs.ErrNotExist): // metrics alone can be watched too
		why, _, _ := strings.Cut(err.Error(), "\n")
		warn(c, []string{"the recipe of the run cannot be read, so evaluations count as those of the policy, whichever model a stage trains: " + why})
	}
	w.watcher = watch.New(w.trains)
	if err := w.news(); err != nil {
		return err
	}
	for c.Bool("follow") && !finished(dir) {
		select {
		case <-c.Context.Done():
			return c.Context.Err()
		case <-time.After(time.Second):
		}
		if err := w.news(); err != nil {
			return err
		}
	}
	if w.all == 0 && !c.Bool("json") {
		fmt.Fprintln(c.App.Writer, "nothing to report")
	}
	if w.bad > 0 {
		return fmt.Errorf("run %s has %s", terminal.ShellWord(dir), terminal.Count(w.bad, "alert above info", "alerts above info"))
	}
	return nil
}

func finished(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, receipts.File))
	return err == nil
}

// news applies the rules to the lines that are new. A file that became shorter, as after
// a resume, is read from its beginning; what it raises again is told again.
func (w *watching) news() error {
	in, err := files.Open(w.file)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.Size() < w.reader.At {
		w.watcher, w.reader = watch.New(w.trains), record.Reader{Name: w.file}
	}
	err = w.reader.Each(in, info.Size(), func(_ int, line []byte) error {
		p, err := metrics.Parse(line)
		if err != nil {
			return err
		}
		return w.tell(w.watcher.Add(p.Step, p.Stage, p.Values))
	})
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return nil
}

func (w *watching) tell(alerts []watch.Alert) error {
	for _, a := range alerts {
		w.all++
		if a.Level != watch.Info {
			w.bad++
		}
		if w.c.Bool("json") {
			if err := printJSON(w.c, a); err != nil {
				return err
			}
			continue
		}
		a = a.Of(terminal.ShellWord(filepath.Dir(w.file)))
		fmt.Fprintf(w.c.App.Writer, "step %d  %s  %s\n  seen     %s\n  against  %s\n  why      %s\n  do       %s\n", a.Step, a.Level, a.Rule, a.Seen, a.Against, a.Why, a.Do)
	}
	return nil
}
