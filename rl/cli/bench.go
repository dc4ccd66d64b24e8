package cli

import (
	"cmp"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/bench"
)

const benchNames = "matmul|decode|train|groups|step|profile|all"

func benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "measure the speed of the device", ArgsUsage: benchNames,
		Description: `matmul   GFLOP/s of the matrix kernel, compared with a naive kernel
decode   tokens per second of sampling, for the demo's model and a SmolLM2-135M shape,
         compared with kernels that may choose their order of sums by the batch: the
         cost of log-probs that do not depend on the batch
train    tokens per second of training, for the same models
groups   seconds of an update on completions of one prompt, compared with computing each
         completion separately, over lengths, group sizes and models
step     seconds of one whole RL step of a preset (--preset), with its phases
profile  milliseconds of each kernel in an update, in prompts and in decoding, with its rate,
         what bounds it (arithmetic, memory, launch) and how close to that bound it is
all      all of these but profile; groups as with --small

The bounds are what the device reaches with its own kernels: its fastest square product
(so a share above 1 can be), a sum of long arrays, an empty dispatch. --gflops and --gb-s
take them from a data sheet instead. Bytes count each operand once.

The two sides of a comparison are measured in turns. decode prints medians and the
quartiles of the ratio, the others the best of several repetitions.

Examples:
   rlzero bench matmul --json
   rlzero bench step --preset countdown-short
   rlzero bench profile --small`,
		Flags: []cli.Flag{jsonFlag, deviceFlag,
			&cli.StringFlag{Name: "preset", Value: "countdown-tiny", Usage: "recipe whose rl stage the benchmark step runs"},
			&cli.StringFlag{Name: "from", Usage: "Hugging Face folder of the model that the benchmark step starts from, such as a checkpoint; default: random weights, and completions of full length"},
			&cli.Float64Flag{Name: "gflops", Usage: "the device's limit in float32 arithmetic, for profile", DefaultText: "measured"},
			&cli.Float64Flag{Name: "gb-s", Usage: "the device's limit in memory traffic, gigabytes a second, for profile", DefaultText: "measured"},
			&cli.BoolFlag{Name: "small", Usage: "leave out the SmolLM2-135M shape, and the groups that take minutes on a CPU"}},
		Action: runBench,
	}
}

func runBench(c *cli.Context) error {
	args, err := positional(c, benchNames)
	if err != nil {
		return err
	}
	var unwritten error
	emit := func(r bench.Result) {
		var err error
		if c.Bool("json") {
			err = printJSON(c, r)
		} else {
			_, err = fmt.Fprintf(c.App.Writer, "%-7s %-34s %10s %s%s%s%s\n", r.Bench, r.Case, figure(r.Value), r.Unit, beside(r), phases(r), rate(r.Rate))
		}
		unwritten = cmp.Or(unwritten, err)
	}
	shapes := bench.Shapes()
	if c.Bool("small") {
		shapes = shapes[:1]
	}
	runs := map[string]func(gpu.Device) error{
		"matmul": func(d gpu.Device) error { return bench.Matmul(d, emit) },
		"decode": func(d gpu.Device) error { return eachShape(d, shapes, bench.Decode, emit) },
		"train":  func(d gpu.Device) error { return eachShape(d, shapes, bench.Train, emit) },
		"groups": func(d gpu.Device) error { return bench.Groups(d, c.Bool("small") || args[0] == "all", emit) },
		"profile": func(d gpu.Device) error {
			limits, err := bench.Measured(d, bench.Limits{FLOPS: 1e9 * c.Float64("gflops"), Bytes: 1e9 * c.Float64("gb-s")})
			if err != nil {
				return err
			}
			return eachShape(d, shapes, func(d gpu.Device, s bench.Shape, emit func(bench.Result)) error {
				return bench.Profile(d, s, limits, emit)
			}, emit)
		},
		"step": func(d gpu.Device) error { return bench.Step(c.Context, d, c.String("preset"), c.String("from"), emit) },
	}
	names := []string{args[0]}
	if args[0] == "all" {
		names = []string{"matmul", "decode", "train", "groups", "step"}
	}
	for _, name := range names {
		if runs[name] == nil {
			return usage(hint.Unknown("benchmark", name, strings.Split(benchNames, "|"), ""))
		}
	}
	if err := recipeCatalogue.checkFile(c.String("preset")); err != nil {
		return err
	}
	dev, err := openDevice(c)
	if err != nil {
		return err
	}
	defer dev.Close()
	for _, name := range names {
		if err := cmp.Or(runs[name](dev), unwritten); err != nil {
			return err
		}
	}
	return nil
}

func eachShape(d gpu.Device, shapes []bench.Shape, run func(gpu.Device, bench.Shape, func(bench.Result)) error, emit func(bench.Result)) error {
	for _, s := range shapes {
		if err := run(d, s, emit); err != nil {
			return err
		}
	}
	return nil
}

func beside(r bench.Result) string {
	if r.Baseline == "" {
		return ""
	}
	text := fmt.Sprintf("   %.3g times %s (%s)", r.Ratio, r.Baseline, figure(r.BaselineValue))
	if r.Turns > 0 {
		text += fmt.Sprintf(", quartiles %.3g to %.3g over %d turns", r.RatioLow, r.RatioHigh, r.Turns)
	}
	if r.Detail != "" {
		text += ", " + r.Detail
	}
	return text
}

// figure is a measured value with three digits, or all of a larger one.
func figure(x float64) string {
	if x >= 100 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

func phases(r bench.Result) string {
	var parts []string
	for name, s := range r.Phases {
		parts = append(parts, fmt.Sprintf("%s %.3f s", name, s))
	}
	sort.Strings(parts)
	if len(parts) == 0 {
		return ""
	}
	return "   " + strings.Join(parts, ", ")
}

// rate is a rate's part of a line.
func rate(r *bench.Rate) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("   %4.1f %%, %.2f of its bound (%s), %d calls", 100*r.Share, r.OfBound, r.Bound, r.Calls)
	if r.Rows > 0 {
		text += fmt.Sprintf(" of %s rows", figure(r.Rows))
	}
	return text + fmt.Sprintf(", %s GFLOP/s, %s GB/s", figure(r.GFLOPS), figure(r.GBs))
}
