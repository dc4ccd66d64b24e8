package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/progress"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/shaders"
)

// Options say how thorough the checks are.
type Options struct {
	Quick   bool      // leave the runs out, and compare bits over fewer prompts
	Version string    // of the program, for the report
	Show    io.Writer // progress, for people
}

// subject is what the checks work on.
type subject struct {
	ctx   context.Context
	dev   gpu.Device
	dir   string // temporary
	quick bool
}

// part is what a check works on; a later one is built on those before.
type part int

const (
	host     part = iota // this machine's processor alone
	kernel               // a kernel
	whole                // model, trainer, sampler
	training             // a training run
)

// step is one check.
type step struct {
	name string
	part part
	do   func(*subject) (detail string, err error)
}

// againstDifferences is the check that compares gradients with finite differences.
const againstDifferences = "gradients"

// wholes are the checks besides those of the kernels.
var wholes = []step{
	{"losses", host, losses},
	{againstDifferences, whole, gradients},
	{"gradient bits", whole, gradientBits},
	{"sampler = trainer = scorer", whole, samplerBits(hf.F32, hf.F32)},
	{"sampler = trainer = scorer, bf16 weights", whole, samplerBits(hf.BF16, hf.F32)},
	{"sampler = trainer = scorer, bf16 keys and values", whole, samplerBits(hf.F32, hf.BF16)},
	{"learning rate 0", training, standStill},
	{"equal runs, equal bytes", training, repeat},
}

func allSteps() []step {
	var all []step
	for _, k := range shaders.Kernels() {
		all = append(all, step{"kernel " + k.Name, kernel, func(p *subject) (string, error) { return checkKernel(p.dev, k.Name) }})
	}
	return append(all, wholes...)
}

// Run certifies a device. The error says that it could not: run.ErrInterrupted
// when the context was cancelled, or there is no temporary folder.
func Run(ctx context.Context, dev gpu.Device, o Options) (*Report, error) {
	dir, err := os.MkdirTemp("", "rlzero-doctor-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p := &subject{ctx: ctx, dev: dev, dir: dir, quick: o.Quick}
	r := newReport(o.Version)
	r.about(dev.Caps())
	facts(r, dev.Caps())
	steps := allSteps()
	show := progress.New(o.Show)
	defer show.End()
	show.Begin("doctor", 0, len(steps))
	wrong, lost := false, false // a kernel, the device
	for i, s := range steps {
		if why := s.leftOut(o.Quick, wrong, lost, dev.Caps().Tier); why != "" {
			r.leave(s.name, why)
			continue
		}
		detail, err := s.guarded(p)
		if ctx.Err() != nil {
			return nil, run.ErrInterrupted
		}
		r.add(s.name, detail, err, advice(s.part, dev.Caps()))
		wrong = wrong || err != nil && s.part == kernel
		lost = lost || errors.Is(err, gpu.ErrDeviceLost)
		show.Step(i+1, s.name)
	}
	return r.finish(), nil
}

// leftOut is why a step is not taken, of a device that a kernel is wrong on or that was lost;
// "" if it is.
func (s step) leftOut(quick, wrong, lost bool, tier gpu.Tier) string {
	switch {
	case s.part == training && quick:
		return "quick"
	case s.part != host && lost:
		return "the device was lost"
	case s.part > kernel && wrong:
		return "a kernel is wrong"
	case s.name == againstDifferences && tier.Matrices():
		return "finite differences say nothing where matrix cores round operands to 2^-11: the bound would be above every derivative. The kernels of the backward pass are checked separately"
	}
	return ""
}

func facts(r *Report, c gpu.Caps) {
	r.add("device", fmt.Sprintf("%s: %s, %s, %.1f GiB", c.ID, c.Name, c.Kind, float64(c.Memory)/(1<<30)), nil, "")
	r.add("driver", c.Driver, nil, "")
	r.add("tier", string(c.Tier), nil, "")
	r.add("numerics", fmt.Sprintf("version %s", c.Numerics), nil, "")
}

// guarded runs a step and turns a panic into an error: wrong results of a device
// may break anything that is built on them.
func (s step) guarded(p *subject) (detail string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return s.do(p)
}

// advice is what a person can do about a failed check.
func advice(at part, c gpu.Caps) string {
	const tell = "report an issue with the output of rlzero doctor --json"
	if at == host {
		return "this check does not use the device, so the program or this machine's processor is at fault; " + tell
	}
	if runtime.GOOS == "js" {
		return "update the browser and the driver; try another browser; report an issue with this report"
	}
	text := "update the driver"
	if c.Tier != gpu.TierBase && c.Kind != gpu.Reference {
		text += "; try the portable kernels with RLZERO_TIER=T0"
	}
	return text + "; choose another device with --device (rlzero devices lists them); " + tell
}
