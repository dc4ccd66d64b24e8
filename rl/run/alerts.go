package run

import (
	"errors"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/watch"
)

// alerts observes the metrics of a run and writes what is wrong to alerts.jsonl and on
// the display.
type alerts struct {
	watch   *watch.Watcher
	log     record.Writer[watch.Alert]
	display *display
	run     string // folder
}

// on implements observer.
func (a *alerts) on(e event) error {
	if e.Kind != stepped && e.Kind != measured {
		return nil
	}
	var errs []error
	for _, alert := range a.watch.Add(e.At.Total, e.Stage, e.Metrics) {
		errs = append(errs, a.log.Append(alert))
		a.display.show.Line("! step %d: %s", e.At.Step, alert.Of(terminal.ShellWord(a.run)))
	}
	return errors.Join(errs...)
}

// recall implements recaller: what the row raises is in the log already.
func (a *alerts) recall(p metrics.Point) { a.watch.Add(p.Step, p.Stage, p.Values) }
