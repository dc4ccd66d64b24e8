package cli

import (
	"cmp"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/tfevents"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
)

// exportMetrics writes what a run measured: metrics.jsonl and timing.jsonl, step by step.
func exportMetrics(c *cli.Context, run, format, out string) error {
	for _, name := range []string{"type", "member", adapterFlag.Name} {
		if c.IsSet(name) {
			return usagef("--%s is about models, but --format %s writes metrics", name, format)
		}
	}
	if err := checkRun(run); err != nil {
		return err
	}
	rows, err := metrics.Read(filepath.Join(run, record.MetricsFile))
	if err != nil {
		return err
	}
	times, err := metrics.Read(filepath.Join(run, record.TimingFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		warn(c, []string{err.Error() + "; the times after it are left out"})
	}
	points := measured(rows, times)
	if format == "csv" {
		return exportInto(c, out, format, "", map[string]func(io.Writer) error{"metrics.csv": func(w io.Writer) error { return writeCSV(w, points) }})
	}
	// TensorBoard takes files with tfevents in their name; others expect a time and a host
	// after it.
	return exportInto(c, out, format, "", map[string]func(io.Writer) error{
		"events.out.tfevents.0000000000.rlzero": func(w io.Writer) error { return writeEvents(w, points) },
	})
}

// measured joins the metrics of each step with its times.
func measured(rows, times []metrics.Point) []metrics.Point {
	type key struct {
		step  int
		stage string
	}
	timed := map[key]metrics.Row{}
	for _, p := range times {
		timed[key{p.Step, p.Stage}] = p.Values
	}
	var out []metrics.Point
	for _, p := range rows {
		values := maps.Clone(p.Values)
		maps.Copy(values, timed[key{p.Step, p.Stage}])
		out = append(out, metrics.Point{Step: p.Step, Stage: p.Stage, Values: values})
	}
	return out
}

// writeCSV writes a row for each step. A number is the shortest text that reads back to
// the same float64; the cell of what was not measured is empty.
func writeCSV(out io.Writer, points []metrics.Point) error {
	seen := map[string]bool{}
	for _, p := range points {
		for name := range p.Values {
			seen[name] = true
		}
	}
	names := slices.Sorted(maps.Keys(seen))
	w := csv.NewWriter(out)
	rows := [][]string{append([]string{"step", "stage"}, names...)}
	for _, p := range points {
		row := []string{strconv.Itoa(p.Step), p.Stage}
		for _, name := range names {
			cell := ""
			if v, there := p.Values[name]; there && !math.IsNaN(v) {
				cell = strconv.FormatFloat(v, 'g', -1, 64)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return w.WriteAll(rows)
}

// writeEvents writes an event for each step, at the time when the step ended.
func writeEvents(out io.Writer, points []metrics.Point) error {
	w, err := tfevents.NewWriter(out)
	seconds := 0.0
	for _, p := range points {
		for _, name := range []string{"time/rollout_s", "time/train_s", "time/eval_s"} {
			if v := p.Values[name]; v > 0 { // NaN: not measured
				seconds += v
			}
		}
		var scalars []tfevents.Scalar
		for _, name := range slices.Sorted(maps.Keys(p.Values)) {
			if v := p.Values[name]; !math.IsNaN(v) {
				scalars = append(scalars, tfevents.Scalar{Tag: name, Value: v})
			}
		}
		err = cmp.Or(err, w.Add(p.Step, seconds, scalars))
	}
	return err
}
