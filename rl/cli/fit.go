package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/fit"
)

func fitCommand() *cli.Command {
	return &cli.Command{
		Name: "fit", Usage: "say which ways to train a model fit a device, and how fast", ArgsUsage: "MODEL",
		Description: `Plans the recipe lora-math for MODEL: the whole model in f32 or bf16, and a LoRA adapter on
matrices in bf16, q8_0 or q4_0. For each context (half prompt, half completion) it prints the
largest group of completions that fits the memory of the device. The last line is a command to
start from, which trains an adapter. Where a context fits only with settings that cost time
(fewer completions at once, smaller batches, recomputed activations), --json names them.

MODEL is a Hugging Face folder, a .gguf file, a run, a checkpoint folder, or only a
config.json. The command allocates nothing of the model's size.

The speeds are estimates: one layer of the model's width is measured in each storage, in
turns, and the median time is scaled by the multiplications of the whole model for a token.
Sampling is for groups of 8, updates for contexts of 1,024 tokens. A line below the table says
how much the measurements varied. On a busy machine all speeds are low.

Example: what can a machine with 16 GB train of a model with half a billion parameters?

   rlzero fit Qwen2.5-0.5B-Instruct

With --beside, the plan includes a judge, stored in the same type as MODEL. The last table is the
memory of each phase of a step: sampling, training and the judge's reading take turns in one
scratch, which is working memory that the phases reuse.

--json prints one object, with sizes in bytes:

   {"family":"...","parameters":...,"context":...,"device":"...",
    "memory":...,"recipe":"lora-math",
    "ways":[{"way":"LoRA, q8_0",
      "fits":[{"context":1024,"group_size":16,"bytes":...,
               "set":["model.dtype=q8_0",...]}],"never":"",
      "sampling_tokens_per_s":...,"training_tokens_per_s":...}],
    "start":{"context":...},"phases":[{"phase":"sampling","bytes":...,
    "scratch":...}],"speed_spread":...}

speed_spread is the distance of the quartiles as a share of the median, of the measurement
that varied most.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "beside", Usage: "also plan a `JUDGE`, a model that says yes or no of each completion; given as MODEL is"},
			jsonFlag, deviceFlag, tierFlag},
		Action: runFit,
	}
}

func runFit(c *cli.Context) error {
	args, err := positional(c, "MODEL")
	if err != nil {
		return err
	}
	var m fit.Planned
	if m.Path, m.Config, err = configOf(c, args[0]); err != nil {
		return err
	}
	if judge := c.String("beside"); judge != "" {
		m.Judge = &fit.Judge{}
		if m.Judge.Path, m.Judge.Config, err = configOf(c, judge); err != nil {
			return err
		}
	}
	dev, err := openDevice(c)
	if err != nil {
		return err
	}
	defer dev.Close()
	r, err := fit.Model(dev, m)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, r)
	}
	printFit(c, r, dev.Caps(), args[0])
	return nil
}

// configOf reads the config of a model, or of only a config.json, and says what stands for it in a recipe.
func configOf(c *cli.Context, path string) (string, hf.Config, error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() || filepath.Ext(path) != ".json" {
		found, err := findQuietly(c, path, "")
		if err != nil {
			return "", hf.Config{}, err
		}
		path = found.Dir
	}
	config, err := hf.ReadConfig(path)
	if err != nil {
		err = fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return path, config, err
}

// printFit prints a report as a table: a row for each way, a column for each context.
func printFit(c *cli.Context, r *fit.Report, caps gpu.Caps, path string) {
	w := c.App.Writer
	fmt.Fprintf(w, "%s: %s, %s parameters, contexts of up to %d tokens\n", terminal.Line(path, 80), r.Family, millions(r.Parameters), r.Context)
	fmt.Fprintf(w, "%s: %s, %s\n\n", caps.ID, caps.Name, gpu.FormatBytes(caps.Memory))
	var contexts []int
	for _, way := range r.Ways {
		for i, cell := range way.Fits {
			if i == len(contexts) {
				contexts = append(contexts, cell.Context)
			}
		}
	}
	fmt.Fprintf(w, "%-12s", "context")
	for _, n := range contexts {
		fmt.Fprintf(w, "%7d", n)
	}
	fmt.Fprintf(w, "   sampling   training\n")
	for _, way := range r.Ways {
		fmt.Fprintf(w, "%-12s", way.Way)
		for i := range contexts {
			group := "-"
			if i < len(way.Fits) {
				group = fmt.Sprint(way.Fits[i].Group)
			}
			fmt.Fprintf(w, "%7s", group)
		}
		if way.Never != "" {
			fmt.Fprintf(w, "   not possible: %s\n", terminal.Line(strings.TrimPrefix(way.Never, lines.ErrInput.Error()+": "), 120))
			continue
		}
		fmt.Fprintf(w, "%9s  %9s tok/s\n", figure(way.Sampling), figure(way.Training))
	}
	fmt.Fprintf(w, "\nThe table shows the largest group of completions that fits, up to 64. Speeds are estimates from one layer, whose times varied by %.0f %%.\n", 100*r.Spread)
	if r.Start == nil {
		fmt.Fprintf(w, "Nothing fits. Take a smaller model, or a device with more memory.\n")
		return
	}
	fmt.Fprintf(w, "To start with %d completions per prompt, %d tokens each, in %s:\n   rlzero train %s --set model.path=%s %s --set task.data=FILE\n",
		r.Start.Group, r.Start.Context, gpu.FormatBytes(r.Start.Bytes), r.Recipe, terminal.ShellWord(path), r.Start.Set)
	fmt.Fprintf(w, "Memory by phase:\n")
	for _, p := range r.Phases {
		fmt.Fprintf(w, "   %-24s %10s, of which %s is scratch\n", p.Phase, gpu.FormatBytes(p.Bytes), gpu.FormatBytes(p.Scratch))
	}
}

// millions is a number of parameters for people.
func millions(n int) string {
	if n < 1e6 {
		return fmt.Sprint(n)
	}
	return figure(float64(n)/1e6) + " million"
}
