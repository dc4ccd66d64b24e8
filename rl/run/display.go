package run

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/progress"
)

// display observes a run and shows people how it goes.
type display struct {
	show    *progress.Reporter
	verbose bool      // every formula
	heldOut float64   // pass@1 as last measured; NaN: not yet
	tokens  int       // trained since then
	since   time.Time // first step that was shown of the stage
	steps   int       // of the stage, as shown
}

func newDisplay(out io.Writer, verbose bool) *display {
	show := progress.New(out)
	show.Keep("held-out")
	return &display{show: show, verbose: verbose, heldOut: math.NaN()}
}

// method is what is shown of the method of a stage: a line, or all of its formulas.
func (d *display) method(line string, formulas []string) []string {
	if d.verbose || line == "" {
		return formulas
	}
	return []string{line + "; --verbose shows the formulas"}
}

// on implements observer.
func (d *display) on(e event) error {
	switch e.Kind {
	case began:
		d.notes(e)
		if e.Steps > 0 {
			d.show.Begin(e.Stage, e.At.Step, e.Steps)
		}
		d.steps, d.since = e.Steps, time.Time{}
	case stepped:
		if d.steps != e.Steps {
			d.steps = e.Steps
			d.show.Extend(e.Steps)
		}
		d.notes(e)
		d.show.Step(e.At.Step, append(d.figures(e), d.rate(e.Tokens))...)
	case measured:
		d.heldOut = e.Result.PassAt[1]
		d.show.Line("%s: %s", e.When, e.Result.Line())
	case measuring, refused, ended:
		d.show.End()
	}
	return nil
}

// recall takes the held-out accuracy from a row of a run's metrics, if it has one.
func (d *display) recall(p metrics.Point) {
	if pass, there := p.Values["eval/pass@1"]; there && !math.IsNaN(pass) {
		d.heldOut = pass
	}
}

func (d *display) notes(e event) {
	for _, line := range e.Notes {
		d.show.Line("%s", line)
	}
}

// figures are what a step's line says besides its number.
func (d *display) figures(e event) []string {
	var out []string
	if loss, there := e.Metrics["sft/loss"]; there {
		out = append(out, fmt.Sprintf("loss %.3f", loss))
	}
	if share, there := e.Metrics["preference/accuracy"]; there {
		out = append(out, fmt.Sprintf("loss %.3f", e.Metrics["policy/loss"]), fmt.Sprintf("preferred %.0f %%", 100*share))
	}
	if mean, there := e.Metrics["reward/mean"]; there {
		out = append(out, fmt.Sprintf("reward %.2f", mean))
	}
	if share, there := e.Metrics["eval/valid"]; there && len(e.Completions) == 0 {
		out = append(out, fmt.Sprintf("valid %.0f %%", 100*share))
	}
	if pass, there := e.Metrics["eval/pass@1"]; there {
		d.heldOut = pass
	}
	if len(e.Completions) == 0 {
		return out
	}
	if !math.IsNaN(d.heldOut) {
		out = append(out, fmt.Sprintf("held-out %.0f %%", 100*d.heldOut))
	}
	if n := e.Metrics["rollout/not_scored"]; n > 0 {
		out = append(out, fmt.Sprintf("not scored %.0f %%", 100*n/float64(len(e.Completions))))
	}
	return out
}

// rate is the stage's throughput, "" while the clock has not moved. The first step counts as a warm-up.
func (d *display) rate(tokens int) string {
	if d.since.IsZero() {
		d.since, d.tokens = time.Now(), 0
		return ""
	}
	d.tokens += tokens
	took := time.Since(d.since)
	if took <= 0 {
		return ""
	}
	rate := float64(d.tokens) / took.Seconds()
	switch {
	case rate >= 1e4:
		return fmt.Sprintf("%.0fk tok/s", rate/1e3)
	case rate >= 10:
		return fmt.Sprintf("%.0f tok/s", rate)
	}
	return fmt.Sprintf("%.2g tok/s", rate)
}
