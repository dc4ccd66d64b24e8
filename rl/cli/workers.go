package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/local"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// maxLocal is how many workers one process takes.
const maxLocal = 64

var workerFlags = []cli.Flag{
	&cli.StringFlag{Name: "workers", Usage: "let `WORKERS` draw completions: local:N, or local:DEVICE,DEVICE..."},
	&cli.StringFlag{Name: "workers-mode", Usage: "how far their results are trusted: exact or draft", DefaultText: "exact, or draft if their devices differ"},
	&cli.Float64Flag{Name: "audit", Usage: "`SHARE` of the results that are checked in mode exact", Value: 0.05},
}

// workers are those that --workers asks for.
type workers struct {
	devices []gpu.Device
	options fleet.Options
	started *local.Workers
}

// openWorkers opens the devices of --workers; own is the trainer's. nil: no workers are
// asked for.
func openWorkers(c *cli.Context, own gpu.Caps) (*workers, error) {
	asked := c.String("workers")
	w := &workers{options: fleet.Options{Mode: fleet.Mode(c.String("workers-mode")), Audit: c.Float64("audit")}}
	if m := w.options.Mode; m != "" && m != fleet.Exact && m != fleet.Draft {
		return nil, badValue("workers-mode", string(m), "%s, %s", fleet.Exact, fleet.Draft)
	}
	if a := w.options.Audit; !(a >= 0 && a <= 1) {
		return nil, badValue("audit", a, "numbers from 0 to 1")
	}
	if asked == "" {
		return nil, nil
	}
	names, err := workerDevices(asked, own.ID)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		dev, err := gpu.Open(name)
		if err != nil {
			w.close()
			return nil, fmt.Errorf("--workers: %w", err)
		}
		w.devices = append(w.devices, dev)
	}
	return w, nil
}

// workerDevices reads the value of --workers: a device for each worker.
func workerDevices(asked, own string) ([]string, error) {
	list, ok := strings.CutPrefix(asked, "local:")
	if !ok || list == "" {
		return nil, badValue("workers", asked, "local:N, N workers on the device of the run, or local:DEVICE,DEVICE..., a worker on each")
	}
	n, err := strconv.Atoi(list)
	if err != nil {
		return strings.Split(list, ","), nil
	}
	if n < 1 || n > maxLocal {
		return nil, badValue("workers", asked, "local:1 to local:%d", maxLocal)
	}
	names := make([]string, n)
	for i := range names {
		names[i] = own
	}
	return names, nil
}

// start makes the sampler of a run.
func (w *workers) start(r *recipe.Recipe, c *cast.Cast, note func(string)) (rollout.Sampler, error) {
	if w.started != nil { // for a folder that another run has
		w.started.Close()
	}
	w.options.Note = note
	var err error
	w.started, err = local.Start(r, c, w.devices, w.options)
	return w.started, err
}

// close ends the workers and closes their devices.
func (w *workers) close() {
	if w.started != nil {
		w.started.Close()
	}
	for _, dev := range w.devices {
		dev.Close()
	}
}
