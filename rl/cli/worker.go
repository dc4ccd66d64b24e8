package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/fleet/bus"
	"github.com/rlzero/rlzero/rl/fleet/verdict"
	"github.com/rlzero/rlzero/rl/store"
)

var (
	keyFlag = &cli.StringFlag{Name: "key", Usage: "`FILE` with the key of this machine, for workers on others"}
	caFlag  = &cli.StringFlag{Name: "tls-ca", Usage: "PEM `FILE` with the authorities for the certificate of an external server", DefaultText: "those of the system"}
)

// errUnfit marks why this machine cannot be a worker of a run.
var errUnfit = errors.New("this machine cannot take part")

func workerCommand() *cli.Command {
	return &cli.Command{
		Name:      "worker",
		Usage:     "draw and judge completions for a run on another machine",
		ArgsUsage: "URL",
		Description: `Takes work from the run at URL, the address that rlzero train --workers printed, until the run is
complete. It waits for a trainer that is not there yet, or that was stopped. Ctrl-C gives back
unfinished work.

The machine needs a device and the trainer's release of rlzero. The model comes from the
trainer; if the run trains an adapter, --model names the folder of its base model.

--for verify judges completions with the verifiers that run programs (code:python,
code:javascript, code:wasm), in the boxes and engines of this machine, and needs no device;
--for draft,verify does both. The trainer asks for verdicts only in mode exact. It judges a
completion again itself if a program met a limit of time or memory.

Between machines, trainer and workers need keys. Each worker makes one and prints its public
key; allow.txt on the trainer lists these, one on each line:
   rlzero worker --key-new worker.key
The trainer makes its own key, and trains:
   rlzero worker --key-new trainer.key
   rlzero train countdown-tiny --workers nats:10.0.0.1:4222 \
      --key trainer.key --allow allow.txt
Each worker joins with the trainer's public key:
   rlzero worker nats://TRAINER-KEY@10.0.0.1:4222 --key worker.key

If a trainer refuses a worker because of a result, it keeps the result in RUN/disputes, with
the weights, the device and the release. On any machine, this computes the item again, and
says whose answer it gets (exit code 1: not the trainer's). Example:
   rlzero worker --item runs/first/disputes/0123456789abcdef.json

The exit code is 4 if the trainer does not admit this machine or refuses it, or if the machine
cannot take part; the reason is printed.`,
		Flags: []cli.Flag{deviceFlag, tierFlag, keyFlag, caFlag,
			&cli.StringFlag{Name: "for", Usage: "`WORK` to offer: draft, verify or draft,verify", Value: "draft"},
			&cli.StringFlag{Name: "model", Usage: "`DIR` or .gguf file of the model below the adapter that is trained"},
			&cli.StringFlag{Name: "item", Usage: "compute the disputed item in `FILE` again, compare the results, and stop"},
			&cli.StringFlag{Name: "key-new", Usage: "write a new key to `FILE`, print its public half, and stop"},
		},
		Action: func(c *cli.Context) error {
			if file := c.String("key-new"); file != "" {
				if _, err := positional(c); err != nil {
					return err
				}
				return newKey(c, file)
			}
			if file := c.String("item"); file != "" {
				if _, err := positional(c); err != nil {
					return err
				}
				return repeatItem(c, file)
			}
			args, err := positional(c, "URL")
			if err != nil {
				return err
			}
			door, err := doorOf(c, args[0])
			if err != nil {
				return err
			}
			return work(c, door)
		},
	}
}

// newKey writes a key where no file is, and prints its public half.
func newKey(c *cli.Context, file string) error {
	key, text, err := bus.NewKey()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return usage(err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer, key.Public())
	return nil
}

// doorOf is how the flags reach a server.
func doorOf(c *cli.Context, url string) (bus.Door, error) {
	d := bus.Door{URL: url}
	if file := secretFile(c, "key"); file != "" {
		text, err := os.ReadFile(file)
		if err == nil {
			d.Key, err = bus.ParseKey(text)
		}
		if err != nil {
			name := "FILE"
			if errors.Is(err, fs.ErrNotExist) {
				name = terminal.ShellWord(file)
			}
			return d, hint.With(usagef("--key: %s: %w", file, err), "rlzero worker --key-new %s makes a key", name)
		}
	}
	if file := c.String("tls-ca"); file != "" {
		var err error
		if d.CA, err = os.ReadFile(file); err != nil {
			return d, usagef("--tls-ca: %w", err)
		}
	}
	return d, nil
}

// allowedKeys reads the file of --allow.
func allowedKeys(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usagef("--allow: %w", err)
	}
	keys, err := bus.ParseAllowed(string(text))
	if err != nil {
		return nil, hint.With(usagef("--allow: %s: %w", file, err), "each line has the key that rlzero worker --key-new FILE printed on a worker")
	}
	return keys, nil
}

// system is that of this machine, such as linux/amd64.
const system = runtime.GOOS + "/" + runtime.GOARCH

// cardOf is what this machine says of itself.
func cardOf(caps gpu.Caps) bus.Card {
	return bus.Card{Release: Version, System: system, Device: caps.Name,
		Arithmetic: fmt.Sprintf("%s, %s, tier %s, numerics %s", caps.Name, caps.Driver, caps.Tier, caps.Numerics), Numerics: string(caps.Numerics)}
}

// work takes part in a run.
func work(c *cli.Context, door bus.Door) error {
	show := c.App.ErrWriter
	w := bus.Worker{Door: door, Card: bus.Card{Release: Version, System: system, Device: "no device"}, Note: func(text string) { fmt.Fprintln(show, terminal.Message(text)) }}
	offers := strings.Split(c.String("for"), ",")
	for _, o := range offers {
		if o != "draft" && o != "verify" {
			return badValue("for", c.String("for"), "draft, verify or draft,verify")
		}
	}
	if slices.Contains(offers, "draft") {
		dev, err := openDevice(c)
		if err != nil {
			return err
		}
		defer dev.Close()
		caps := dev.Caps()
		fmt.Fprintf(show, "device %s: %s (%s), tier %s\n", caps.ID, caps.Name, caps.Driver, caps.Tier)
		w.Card = cardOf(caps)
		w.Card.Drafts = true
		w.Open = func(spec []byte) (bus.Engine, error) { return openCopy(spec, c.String("model"), dev) }
	}
	if slices.Contains(offers, "verify") {
		w.Card.Verifies, w.Card.Lacks = verdict.Engines()
	}
	fmt.Fprintf(show, "offers %s\n", terminal.Message(w.Card.Offers()))
	ctx, done := interruptible(c)
	defer done()
	if err := w.Work(ctx); err != nil {
		return err
	}
	fmt.Fprintln(show, "the run is complete")
	return nil
}

// openCopy makes a copy of a run's policy. path names the model whose adapter is trained, as
// MODEL does; "": none is named.
func openCopy(data []byte, path string, dev gpu.Device) (bus.Engine, error) {
	var spec cast.Spec
	if err := json.Unmarshal(data, &spec); err != nil {
		return nil, fmt.Errorf("%w: the trainer's model: %w", errUnfit, err)
	}
	folder := ""
	if spec.NeedsFolder() {
		if path == "" {
			return nil, hint.With(fmt.Errorf("%w: the run trains an adapter, and this machine needs its base model", errUnfit),
				"name the folder of that model with --model DIR")
		}
		var err error
		if folder, err = baseOf(path); err != nil {
			return nil, fmt.Errorf("--model: %w", err)
		}
	}
	plan, err := spec.Plan(dev.Caps())
	if err == nil {
		err = plan.Fits(dev.Caps())
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnfit, err)
	}
	engine, err := spec.Open(folder, dev)
	if err != nil { // a nil *cast.Worker would be an engine that is there
		return nil, err
	}
	return engine, nil
}

// baseOf is the folder of the model that path names, of an adapter that of the model below it.
func baseOf(path string) (string, error) {
	found, err := store.FindModel(path, "")
	if err != nil {
		return "", err
	}
	f, err := hf.ReadFolder(found.Dir)
	if err != nil {
		return "", fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	if f.Adapter != "" {
		found.Dir = f.Dir
	}
	return found.Dir, f.Tensors.Close()
}

func workersCommand() *cli.Command {
	return &cli.Command{
		Name:      "workers",
		Usage:     "list the workers of a run and what they do",
		ArgsUsage: "URL",
		Description: `Asks the trainer at URL, the address that rlzero train --workers printed.

Examples:
   rlzero workers nats://127.0.0.1:4222
   rlzero workers nats://TRAINER-KEY@10.0.0.1:4222 --key worker.key --json

The class of a worker says how its bits compare with the trainer's: same, near, or other
(refused). Its mode says how its completions are used: exact, or as drafts. Its version says
which weights it drew with last.

--json prints one line for each worker:

   {"worker":"KEY","card":{"release":"...","system":"linux/amd64",
    "device":"...","arithmetic":"...","numerics":"2","drafts":true,
    "verifies":{"code:python":"..."},"lacks":{"code:wasm":"why"}},
    "class":"same","mode":"exact","version":7,"busy":true,"done":12,
    "silent":0.5}

silent is in seconds. The class is "" while it is not known, the version -1 before the first
completion. A refused worker also has "refused", the reason.`,
		Flags: []cli.Flag{keyFlag, caFlag, jsonFlag},
		Action: func(c *cli.Context) error {
			args, err := positional(c, "URL")
			if err != nil {
				return err
			}
			door, err := doorOf(c, args[0])
			if err != nil {
				return err
			}
			list, err := bus.Who(context.Background(), door)
			if err != nil {
				return fmt.Errorf("%w: %w", lines.ErrInput, err)
			}
			for _, p := range list {
				if c.Bool("json") {
					if err := printJSON(c, p); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintln(c.App.Writer, presenceText(p))
			}
			return nil
		},
	}
}

// presenceText is a worker as a line for people.
func presenceText(p bus.Presence) string {
	if p.Refused != "" {
		return fmt.Sprintf("%s  other, refused: %s", p.Worker, terminal.Message(p.Refused))
	}
	does := "waits"
	if p.Busy {
		does = "works"
	}
	if p.Card.Drafts {
		does += ", class " + cmp.Or(p.Class, "not known yet") + ", mode " + p.Mode
	}
	if p.Version >= 0 {
		does += fmt.Sprintf(", version %d", p.Version)
	}
	return fmt.Sprintf("%s  %s, %d items done, heard %.0f s ago; offers %s; %s, %s", p.Worker, does, p.Done, p.Silent,
		terminal.Message(p.Card.Offers()), terminal.Message(p.Card.Device), terminal.Message(p.Card.System))
}
