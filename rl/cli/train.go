package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/terminal"
)

func trainCommand() *cli.Command {
	return &cli.Command{
		Name:      "train",
		Usage:     "run a recipe: a preset's name or a TOML file",
		ArgsUsage: "RECIPE",
		Description: `Runs the stages of a recipe and writes a run folder: recipe.toml, metrics.jsonl,
completions.jsonl, checkpoints/ (Hugging Face folders), report.html, curves/.
Ctrl-C writes a checkpoint and says how to continue. Progress goes to standard error.

Examples:
   rlzero train countdown-tiny
   rlzero train --set stage.rl.steps=120 --seed 2 --run runs/longer countdown-tiny
   rlzero train --dry-run my.toml           the resolved recipe and the memory plan
   rlzero train --resume --run runs/longer  goes on with the run's own recipe`,
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "set", Usage: "override a key of the recipe: `PATH=VALUE` (repeatable)"},
			&cli.StringFlag{Name: "run", Usage: "run folder (default runs/NAME-DATE)"},
			&cli.BoolFlag{Name: "resume", Usage: "continue the run in --run from its newest whole checkpoint"},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of everything random (default: the recipe's)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the resolved recipe and the memory plan, do nothing"},
			deviceFlag,
		},
		Action: train,
	}
}

func train(c *cli.Context) error {
	r, dir, err := trainRecipe(c)
	if err != nil {
		return err
	}
	dev, err := openDevice(c)
	if err != nil {
		return err
	}
	defer dev.Close()
	if c.Bool("dry-run") {
		plan, err := rl.Plan(r, dev.Caps())
		if err != nil {
			return err
		}
		fmt.Fprintf(c.App.Writer, "%s\n# memory on %s\n", r.Resolved(), dev.Caps().Name)
		for _, line := range splitLines(plan.String()) {
			fmt.Fprintf(c.App.Writer, "# %s\n", line)
		}
		return plan.Fits(dev.Caps())
	}
	show := c.App.ErrWriter
	caps := dev.Caps()
	fmt.Fprintf(show, "%s: %s\n", r.Name, r.About)
	fmt.Fprintf(show, "device %s: %s (%s), tier %s\n", caps.ID, caps.Name, caps.Driver, caps.Tier)
	ctx, done := interruptible(c)
	defer done()
	sum, err := rl.Train(ctx, rl.Options{Recipe: r, Dir: dir, Resume: c.Bool("resume"), Device: dev, Show: show, Version: Version})
	if errors.Is(err, rl.ErrInterrupted) || errors.Is(err, gpu.ErrDeviceLost) {
		fmt.Fprintf(show, "to continue: rlzero train --resume --run %s\n", terminal.ShellWord(dir))
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(show, "done in %s: %s\n", sum.Elapsed.Round(time.Second), dir)
	fmt.Fprintf(show, "  report  %s\n  model   %s\n", filepath.Join(dir, "report.html"), sum.Checkpoint)
	example := "PROMPT"
	if terminal.Printable(sum.Example, 200) {
		example = terminal.ShellWord(sum.Example)
	}
	fmt.Fprintf(show, "  try it  rlzero sample --greedy --prompt %s %s\n", example, terminal.ShellWord(dir))
	return nil
}

// trainRecipe loads the recipe and settles the run folder.
func trainRecipe(c *cli.Context) (*recipe.Recipe, string, error) {
	dir := c.String("run")
	if c.Bool("resume") {
		if dir == "" {
			return nil, "", usagef("--resume needs --run DIR, the run to continue")
		}
		if _, err := os.Stat(filepath.Join(dir, "recipe.toml")); err != nil {
			return nil, "", fmt.Errorf("%w: %s is not a run folder: %w", rl.ErrInput, dir, err)
		}
	}
	var name string
	if c.Bool("resume") && c.NArg() == 0 {
		name = filepath.Join(dir, "recipe.toml")
	} else {
		args, err := positional(c, "RECIPE")
		if err != nil {
			return nil, "", err
		}
		name = args[0]
	}
	sets := c.StringSlice("set")
	if c.IsSet("seed") {
		if c.Uint64("seed") > math.MaxInt64 { // TOML has no larger numbers
			return nil, "", usagef("--seed %d: accepted are whole numbers from 0 to %d", c.Uint64("seed"), math.MaxInt64)
		}
		sets = append(sets, fmt.Sprintf("seed=%d", c.Uint64("seed")))
	}
	r, err := recipe.Load(name, sets)
	if err != nil {
		return nil, "", err
	}
	if dir == "" {
		dir = filepath.Join("runs", r.Name+"-"+time.Now().Format("20060102-150405"))
	}
	return r, dir, nil
}
