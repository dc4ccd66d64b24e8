package cli

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/bench"
)

var benchDtypes = []string{string(hf.F32), string(hf.BF16), string(hf.Q8), string(hf.Q4)}

// fromModels are the benchmarks that take the model of --from. Those after all begin a recipe with it.
var fromModels = []string{"decode", "prefill", "train", "groups", "profile", "all", "step", "models"}

const benchNames = "matmul|decode|prefill|train|groups|step|models|episodes|growth|profile|all"

func benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "measure the speed of a device", ArgsUsage: benchNames,
		Description: `   matmul   GFLOP/s of the matrix kernel, compared with a naive kernel
   decode   tokens per second of sampling, for models of 0.23, 25, 135 and
            494 million parameters, compared with kernels that may choose the
            order of their sums by the batch: the cost of log-probs that do
            not depend on the batch. With --dtype, compared with float32
   prefill  tokens per second of reading a prompt of 512 tokens, same models
   train    tokens per second of training, same models
   groups   seconds of an update on the completions of one prompt, compared
            with computing each completion separately, over lengths, group
            sizes and models
   step     seconds of one whole RL step of a preset (--preset), with its
            phases. Without --preset and --from, also of other models, with
            random weights. Where TRL was measured with a step of that size,
            on another machine, the line says so
   models   seconds of such a step of --preset with a second model of the
            policy's size, in turns with the step without one: a teacher, a
            head or two answers as judge, influences; with --from, a teacher
            that leaves the device outside of its phase, beside one that
            stays; and what a judge takes that is asked about all
            completions of a step together
   episodes microseconds of an answer of a tool and of a world, beside what
            it should take at most; and seconds of a step of 64 episodes
            whose worlds take 0.2 s for a turn, in turns with one whose
            worlds take no time. --preset is a recipe of a task in turns,
            guess-tiny unless it is given
   growth   seconds of such a step over lengths, group sizes, numbers of
            prompts and models, compared with what theory predicts from the
            first
   profile  milliseconds of each kernel in an update, a prompt and decoding
   all      all of these but models, episodes, growth
            and profile

The two sides of a comparison are measured in turns. decode prints medians, and the quartiles
of their ratio; the others print the best of several repetitions.

decode, prefill, train, step and profile also print how close they come to their limit:
arithmetic, memory traffic or kernel launches. The limits are what the device reaches with
its own kernels (its fastest square product, a sum of long arrays, an empty dispatch), so a
share may be above 1. --gflops and --gb-s take the limits from a data sheet instead. Bytes
count each operand once. A measurement that would take longer than --longest by these limits
is skipped.

Examples:
   rlzero bench matmul --json
   rlzero bench step --preset countdown-short
   rlzero bench step --from runs/demo/checkpoints/step-001050
   rlzero bench decode --dtype q4_0 --only 25M
   rlzero bench groups --from ./Qwen3-0.6B --longest 10m
   rlzero bench profile --small
   rlzero bench decode --large --dtype bf16 --only 0.5B`,
		Flags: []cli.Flag{jsonFlag, deviceFlag, tierFlag,
			&cli.StringFlag{Name: "preset", Value: "countdown-tiny", Usage: "`RECIPE` whose rl stage step, models and episodes run"},
			&cli.StringFlag{Name: "from", Usage: "the `MODEL` that step and models start from, and that decode, prefill, train, groups and profile measure: a folder, a .gguf file, a run or a checkpoint; without it that of the preset, or random weights and completions of full length"},
			&cli.Float64Flag{Name: "gflops", Usage: "limit of the device in float32 arithmetic, from its data sheet", DefaultText: "measured"},
			&cli.Float64Flag{Name: "gb-s", Usage: "limit of the device in memory traffic, in gigabytes per second, from its data sheet", DefaultText: "measured"},
			&cli.DurationFlag{Name: "longest", Value: time.Minute, Usage: "skip measurements that are estimated to take longer; 0 skips none"},
			&cli.StringFlag{Name: "only", Usage: "measure only the cases whose line contains this `TEXT`, such as 25M; a number at its end is whole"},
			&cli.IntFlag{Name: "max-tokens", Usage: "length of the completions that decode draws, from 2 to 4096; a token takes longer the more there are before it", DefaultText: "by the model"},
			&cli.BoolFlag{Name: "alone", Usage: "leave out what matmul, decode and groups are compared with"},
			&cli.StringFlag{Name: "dtype", Usage: "storage of the matrices: " + strings.Join(benchDtypes, ", ") + "; benchmarks that train skip the last two", DefaultText: "f32, or that of the model of --from"},
			&cli.BoolFlag{Name: "small", Usage: "measure only the smallest model, and step only with the preset"},
			&cli.BoolFlag{Name: "large", Usage: "measure decode, train and profile at the sizes of a GPU: batches up to 256, updates on 8 x 512 tokens"}},
		Action: runBench,
	}
}

func runBench(c *cli.Context) error {
	args, err := positional(c, benchNames)
	if err != nil {
		return err
	}
	var unwritten error
	told, left := 0, []string{}
	emit := func(r bench.Result) {
		var err error
		told++
		if c.Bool("json") {
			err = printJSON(c, r)
		} else if r.Skipped != "" {
			_, err = fmt.Fprintf(c.App.Writer, "%-7s %-34s skipped: %s\n", r.Bench, r.Case, r.Skipped)
		} else {
			_, err = fmt.Fprintf(c.App.Writer, "%-7s %-34s %10s %s%s%s%s\n", r.Bench, r.Case, figure(r.Value), r.Unit, beside(r), phases(r), rate(r.Rate))
		}
		unwritten = cmp.Or(unwritten, err)
	}
	if known := strings.Split(benchNames, "|"); !slices.Contains(known, args[0]) {
		return usage(hint.Unknown("benchmark", args[0], known, c.Command.HelpName+" --help"))
	}
	names := []string{args[0]}
	if args[0] == "all" {
		names = []string{"matmul", "decode", "prefill", "train", "groups", "step"}
	}
	var given []bench.Shape
	if from, at := c.String("from"), slices.Index(fromModels, args[0]); from != "" && at < 0 {
		return usagef("--from with bench %s; accepted: with %s", args[0], strings.Join(fromModels, ", "))
	} else if from != "" && at <= slices.Index(fromModels, "all") {
		s, err := bench.ShapeOf(from)
		if err != nil {
			return err
		}
		given = []bench.Shape{s}
	}
	runs := benchRuns(c, bench.Bench{Emit: emit, Left: func(what string) { left = append(left, what) }, Told: programsTold(c)}, given)
	if err := recipeCatalogue.checkFile(c.String("preset")); err != nil {
		return err
	}
	if n := c.Int("max-tokens"); c.IsSet("max-tokens") && (n < 2 || n > 4096 || args[0] != "decode") {
		return usagef("--max-tokens = %d with bench %s; accepted: 2 to 4096, with bench decode", n, args[0])
	}
	if c.IsSet("max-tokens") && c.Bool("large") {
		return usagef("--max-tokens and --large both say how many tokens decode draws; accepted: one of the two")
	}
	if d := c.String("dtype"); d != "" && !slices.Contains(benchDtypes, d) {
		return badChoice("dtype", d, benchDtypes...)
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
	if told == 0 && len(left) > 0 {
		err := usagef("--only is %q, which no case of bench %s contains", c.String("only"), args[0])
		return hint.With(err, "the cases are: %s", strings.Join(left, "; "))
	}
	return nil
}

// benchRuns are the benchmarks by name, with what b and the flags say, of a model that is given or of their own.
func benchRuns(c *cli.Context, b bench.Bench, given []bench.Shape) map[string]func(gpu.Device) error {
	small := c.Bool("small")
	shapes := given
	if given == nil {
		shapes = bench.Shapes()
	}
	if small {
		shapes = shapes[:1]
	}
	if n := c.Int("max-tokens"); n > 0 {
		for i, s := range shapes {
			shapes[i] = s.Drawing(n)
		}
	}
	if c.Bool("large") {
		for i, s := range shapes {
			shapes[i] = s.Large()
		}
	}
	b.Longest, b.Dtype, b.Only, b.Alone = c.Duration("longest"), hf.Dtype(c.String("dtype")), c.String("only"), c.Bool("alone")
	limited := func(d gpu.Device, run func(bench.Bench) error) (err error) {
		if b.Device = d; b.Limits == (bench.Limits{}) {
			b.Limits, err = bench.Measured(d, bench.Limits{FLOPS: 1e9 * c.Float64("gflops"), Bytes: 1e9 * c.Float64("gb-s")})
		}
		if err != nil {
			return err
		}
		return run(b)
	}
	each := func(run func(bench.Bench, bench.Shape) error) func(gpu.Device) error {
		return func(d gpu.Device) error {
			return limited(d, func(b bench.Bench) error {
				for _, s := range shapes {
					if err := run(b, s); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	groups := func(d gpu.Device) error { return limited(d, bench.Groups) }
	if given != nil {
		groups = each(bench.LongGroup)
	}
	return map[string]func(gpu.Device) error{
		"matmul": func(d gpu.Device) error {
			b.Device = d
			return bench.Matmul(b)
		},
		"decode":  each(bench.Decode),
		"prefill": each(bench.Prefill),
		"train":   each(bench.Train),
		"groups":  groups,
		"growth":  func(d gpu.Device) error { return limited(d, bench.Growth) },
		"step": func(d gpu.Device) error {
			b.Device = d
			err := bench.Step(c.Context, b, c.String("preset"), c.String("from"))
			if err != nil || small || c.IsSet("preset") || c.IsSet("from") {
				return err
			}
			return limited(d, bench.Steps)
		},
		"models": func(d gpu.Device) error {
			b.Device = d
			return bench.Models(c.Context, b, c.String("preset"), c.String("from"))
		},
		"episodes": func(d gpu.Device) error {
			b.Device = d
			preset := "guess-tiny"
			if c.IsSet("preset") {
				preset = c.String("preset")
			}
			return bench.Episodes(c.Context, b, preset)
		},
		"profile": each(bench.Profile),
	}
}

// fewTurns have no quartiles worth the name: the lower one of four turns is between the two
// smallest.
const fewTurns = 4

func beside(r bench.Result) string {
	if r.Baseline == "" {
		return ""
	}
	text := fmt.Sprintf("   %.3g times %s (%s)", r.Ratio, r.Baseline, figure(r.BaselineValue))
	if r.Turns > 0 {
		text += fmt.Sprintf(", quartiles %.3g to %.3g over %s", r.RatioLow, r.RatioHigh, terminal.Count(r.Turns, "turn", ""))
		if r.Turns < fewTurns {
			text += ": too few to tell a difference"
		}
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
	text := "   "
	if r.Calls > 0 {
		text += fmt.Sprintf("%4.1f %%, ", 100*r.Share)
	}
	text += fmt.Sprintf("%.2f of its bound (%s), %s GFLOP/s, %s GB/s", r.OfBound, r.Bound, figure(r.GFLOPS), figure(r.GBs))
	if r.Calls > 0 {
		text += fmt.Sprintf(", %d calls", r.Calls)
	}
	if r.Rows > 0 {
		text += fmt.Sprintf(" of %s rows", figure(r.Rows))
	}
	return text
}
