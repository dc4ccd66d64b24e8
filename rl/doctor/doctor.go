package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/shaders"
)

// Options say how thorough the checks are.
type Options struct {
	Quick   bool      // leave the runs out
	Version string    // of the program, for the report
	Show    io.Writer // progress, for people
}

// patient is what the checks work on.
type patient struct {
	ctx context.Context
	dev gpu.Device
	dir string // temporary
}

// step is a check of whole parts of the program.
type step struct {
	name   string
	run    func(*patient) (detail string, err error)
	isRun  bool // left out by Quick
	device bool // a failure is the device's
}

var steps = []step{
	{name: "losses", run: losses},
	{name: "gradients", run: gradients, device: true},
	{name: "sampler = trainer = scorer", run: sameBits, device: true},
	{name: "learning rate 0", run: standStill, isRun: true, device: true},
	{name: "equal runs, equal bytes", run: repeat, isRun: true, device: true},
}

// Run certifies a device. The error says that it could not: the context was
// cancelled, or there is no temporary folder.
func Run(ctx context.Context, dev gpu.Device, o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "rlzero-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := &patient{ctx, dev, dir}
	r := newReport(o.Version)
	r.about(dev.Caps())
	facts(r, dev.Caps())
	kernels := shaders.Kernels()
	show := progress.New(o.Show)
	defer show.End()
	show.Begin("doctor", 0, len(kernels)+len(steps))
	for i, k := range kernels {
		detail, err := guarded(func() (string, error) { return kernel(dev, k.Name) })
		r.add("kernel "+k.Name, detail, err, advice(dev.Caps()))
		if ctx.Err() != nil {
			return nil, rl.ErrInterrupted
		}
		show.Step(i+1, "kernel "+k.Name)
	}
	sound := r.OK
	for i, s := range steps {
		switch {
		case s.isRun && o.Quick:
			r.LeftOut = append(r.LeftOut, s.name+" (quick)")
		case s.device && !sound:
			r.LeftOut = append(r.LeftOut, s.name+" (a kernel is wrong)")
		default:
			detail, err := guarded(func() (string, error) { return s.run(p) })
			what := programAdvice
			if s.device {
				what = advice(dev.Caps())
			}
			r.add(s.name, detail, err, what)
		}
		if ctx.Err() != nil {
			return nil, rl.ErrInterrupted
		}
		show.Step(len(kernels)+i+1, s.name)
	}
	return r.finish(), nil
}

func facts(r *Report, c gpu.Caps) {
	r.add("device", fmt.Sprintf("%s: %s, %s, %.1f GiB", c.ID, c.Name, c.Kind, float64(c.Memory)/(1<<30)), nil, "")
	r.add("driver", c.Driver, nil, "")
	r.add("tier", string(c.Tier), nil, "")
	r.add("numerics", fmt.Sprintf("version %d", c.Numerics), nil, "")
}

// guarded turns a panic into an error: wrong results of a device may break
// anything that is built on them.
func guarded(do func() (string, error)) (detail string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return do()
}

const report = "report an issue with the output of rlzero doctor --json"

const programAdvice = "nothing of this happens on the device: the program or this machine's processor is at fault; " + report

// advice is what a person can do about a device that computes wrong.
func advice(c gpu.Caps) string {
	text := "update the driver"
	if c.Tier != gpu.TierBase && c.Kind != gpu.Reference {
		text += "; try the plainest kernels, RLZERO_TIER=T0"
	}
	return text + "; choose another device with --device (rlzero devices lists them); " + report
}
