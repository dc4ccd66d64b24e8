package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/fleet/bus"
	"github.com/rlzero/rlzero/rl/fleet/local"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
)

// maxLocal is how many workers one process takes.
const maxLocal = 64

var workerFlags = []cli.Flag{
	&cli.StringFlag{Name: "workers", Usage: "let `WORKERS` draw completions: local:N, local:DEVICE,DEVICE..., nats, nats:HOST:PORT or nats://HOST:PORT"},
	&cli.StringFlag{Name: "workers-mode", Usage: "how far to trust their results: exact or draft", DefaultText: "exact for devices of this machine, draft for others"},
	&cli.Float64Flag{Name: "audit", Usage: "`SHARE` of the results to check in mode exact", Value: 0.05},
	&cli.StringFlag{Name: "allow", Usage: "`FILE` with the public keys of workers on other machines, one per line; read again when it changes"},
	keyFlag, caFlag,
}

// workers are those that --workers asks for: devices of this machine, or a hub.
type workers struct {
	devices []gpu.Device
	hub     *bus.Hub
	invite  func(base string) // of the hub: prints what to type on other machines
	notes   chan string       // of the hub
	options fleet.Options
	started sampler
	own     bus.Card // of this machine
	dir     string   // run folder
}

// sampler is a fleet that was started.
type sampler interface {
	rollout.Sampler
	Counts() fleet.Counts
	Close()
}

// openWorkers opens the devices of --workers, or the server; own is the trainer's device. nil: no
// workers are asked for.
func openWorkers(c *cli.Context, own gpu.Caps) (*workers, error) {
	asked := c.String("workers")
	w := &workers{own: cardOf(own), options: fleet.Options{Mode: fleet.Mode(c.String("workers-mode")), Audit: c.Float64("audit")}}
	if m := w.options.Mode; m != "" && m != fleet.Exact && m != fleet.Draft {
		return nil, badChoice("workers-mode", string(m), string(fleet.Exact), string(fleet.Draft))
	}
	if a := w.options.Audit; !(a >= 0 && a <= 1) {
		return nil, badValue("audit", a, "numbers from 0 to 1")
	}
	if asked == "" {
		return nil, nil
	}
	if asked == "nats" || strings.HasPrefix(asked, "nats:") {
		return w, w.openHub(c, asked)
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
		if other := dev.Caps(); other.Numerics != own.Numerics {
			w.close()
			return nil, hint.With(usagef("--workers: %s computes by numerics version %s (tier %s), but the run's device %s by %s (tier %s), so it would draw other completions", other.ID, other.Numerics, other.Tier, own.ID, own.Numerics, own.Tier),
				"name devices with the run's version, or train with another --tier")
		}
	}
	return w, nil
}

// workerDevices reads the value of --workers: a device for each worker.
func workerDevices(asked, own string) ([]string, error) {
	list, ok := strings.CutPrefix(asked, "local:")
	if !ok || list == "" {
		return nil, badValue("workers", asked, "local:N, N workers on the device of the run; local:DEVICE,DEVICE..., a worker on each; nats, nats:HOST:PORT or nats://HOST:PORT, workers of other machines")
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

// maxNotes is how many notes of a hub wait to be shown. More are of no use to anybody.
const maxNotes = 100

// openHub starts the server of --workers nats or nats:HOST:PORT, or reaches that of
// nats://HOST:PORT.
func (w *workers) openHub(c *cli.Context, asked string) error {
	if w.options.Mode == "" {
		w.options.Mode = fleet.Draft
	}
	door, err := doorOf(c, asked)
	if err != nil {
		return err
	}
	w.notes = make(chan string, maxNotes)
	o := bus.Options{Door: door, Card: w.own, Mode: w.options.Mode, Note: func(text string) {
		select {
		case w.notes <- text:
		default:
		}
	}}
	if !strings.HasPrefix(asked, "nats://") {
		o.Door.URL, o.Listen = "", strings.TrimPrefix(strings.TrimPrefix(asked, "nats"), ":")
		if o.Listen == "" {
			o.Listen = "127.0.0.1:0"
		}
	}
	if file := c.String("allow"); file != "" {
		if door.Key.Public() == "" {
			return usagef("--allow needs --key, the key of this trainer")
		}
		o.Allowed = func() ([]string, error) { return allowedKeys(file) }
	}
	if w.hub, err = bus.Open(o); err != nil {
		return usagef("--workers: %w", err)
	}
	w.invite = func(base string) {
		fmt.Fprintf(c.App.ErrWriter, "each worker is started with: %s\n", workerLine(w.hub.URL(), door.Key.Public() != "", base))
	}
	return nil
}

// workerLine starts a worker of a run. base is the folder of the model below an adapter, where the
// worker needs it too.
func workerLine(url string, key bool, base string) string {
	line := "rlzero worker " + url
	if key {
		line += " --key FILE"
	}
	if base != "" {
		line += " --model DIR, where DIR is the model below the adapter, here " + terminal.ShellWord(base)
	}
	return line
}

// start makes the sampler of a run, and says what to type on other machines.
func (w *workers) start(r *recipe.Recipe, c *cast.Cast, note func(string)) (rollout.Sampler, error) {
	again := w.started != nil // for a folder that another run has
	if again {
		w.started.Close()
	}
	spec, err := cast.SpecOf(r, c.Folder)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	w.options.Note = note
	w.options.Disputed = func(d fleet.Dispute) error { return w.save(d, data, note) }
	if err := w.recall(); err != nil {
		return nil, err
	}
	if w.hub == nil {
		s, err := local.Start(r, c, w.devices, w.options)
		if err != nil {
			return nil, err
		}
		w.started = s
		return s, nil
	}
	if !again {
		w.invite(spec.Base())
	}
	w.hub.Serve(data)
	w.options.Slots, w.options.Judges = w.hub.Slots, w.hub.Judges
	w.started = noting{fleet.New(w.hub, local.TrainerOf(c), w.options), w}
	return w.started, nil
}

// noting shows the notes of a hub, whose goroutines must not write on the display.
type noting struct {
	*fleet.Fleet
	w *workers
}

func (n noting) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	out, err := n.Fleet.Sample(ctx, requests)
	n.tell()
	return out, err
}

func (n noting) Pick(ctx context.Context, requests []rollout.Request, first, count, since int) ([][]rollout.Segment, error) {
	out, err := n.Fleet.Pick(ctx, requests, first, count, since)
	n.tell()
	return out, err
}

func (n noting) tell() {
	for {
		select {
		case text := <-n.w.notes:
			n.w.options.Note(text)
		default:
			return
		}
	}
}

// end tells workers of other machines that the run is complete.
func (w *workers) end() error {
	if w.hub == nil {
		return nil
	}
	return w.hub.End()
}

// close ends the workers and closes their devices.
func (w *workers) close() {
	if w.started != nil {
		w.started.Close()
	}
	if w.hub != nil {
		w.hub.Close()
	}
	for _, dev := range w.devices {
		dev.Close()
	}
}
