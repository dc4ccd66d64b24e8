package cli

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/lines"
	pages "github.com/rlzero/rlzero/rl/report"
	"github.com/rlzero/rlzero/rl/tfevents"
)

// exportMetrics writes what a run measured: metrics.jsonl and timing.jsonl, step by step.
func exportMetrics(c *cli.Context, run, format, out string) error {
	for _, name := range []string{"type", adapterFlag.Name} {
		if c.IsSet(name) {
			return usagef("--%s is about models, and --format %s writes metrics", name, format)
		}
	}
	if err := checkRun(run); err != nil {
		return err
	}
	r, err := pages.Read(run)
	if err != nil {
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	warn(c, r.Notes)
	points := measured(r)
	if format == "csv" {
		return exportInto(c, out, func(e exporter) error {
			return e.file("metrics.csv", func(w io.Writer) error { return writeCSV(w, points) })
		})
	}
	// TensorBoard takes files with tfevents in their name; others expect a time and a host
	// behind it.
	return exportInto(c, out, func(e exporter) error {
		return e.file("events.out.tfevents.0000000000.rlzero", func(w io.Writer) error { return writeEvents(w, points) })
	})
}

// measured joins the metrics of each step with its times.
func measured(r *pages.Run) []pages.Point {
	type key struct {
		step  int
		stage string
	}
	times := map[key]map[string]float64{}
	for _, p := range r.Timing {
		times[key{p.Step, p.Stage}] = p.Values
	}
	var out []pages.Point
	for _, p := range r.Metrics {
		values := maps.Clone(p.Values)
		maps.Copy(values, times[key{p.Step, p.Stage}])
		out = append(out, pages.Point{Step: p.Step, Stage: p.Stage, Values: values})
	}
	return out
}

// writeCSV writes a row for each step. A number is the shortest text that reads back to
// the same float64; the cell of what was not measured is empty.
func writeCSV(out io.Writer, points []pages.Point) error {
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
func writeEvents(out io.Writer, points []pages.Point) error {
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
