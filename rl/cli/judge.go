package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/endpoint"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/verify"
)

const judgeHelp = `Asks the judges of a run or of a recipe (verifiers "judge") about completions, and holds what they
say against the truth: the task's verdicts of a run, the label of a row (true or false), or the
verdicts of --verifier. A judge of the task itself has no truth in a run: give it --verifier.

RUN is asked about its last --n completions, with the models of its last checkpoint. --in FILE has
rows instead: a question, a completion, and what else the judge's prompt names in braces.

It prints the share of answers that cannot be read, with the commonest reason; the mean score of
right and of wrong completions; how often a right one has the higher score of two of a prompt
(pairs), the best score is a right one's (one of n, best of n), and a score above 0.5 means right
(alone); and of a run how many of the recorded answers come out the same. A judge with a head and
no prompt is shown the tokens that the policy drew. Where a run did not record these (the key
token_every), it is shown their text, and its answers are not compared with the recorded ones.

Examples:
   rlzero judge runs/first
   rlzero judge runs/first --failed
   rlzero judge my.toml --in rows.jsonl --verifier math`

func judgeCommand() *cli.Command {
	return &cli.Command{
		Name: "judge", Usage: "ask the judges of a run, and hold them against the truth", ArgsUsage: "RUN|RECIPE",
		Description: judgeHelp,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "judge", Usage: "ask the verifier `NAME` alone", DefaultText: "all judges"},
			&cli.StringFlag{Name: "in", Usage: "ask about the rows of a `FILE` or folder", DefaultText: "the completions of the run"},
			&cli.StringSliceFlag{Name: "set", Usage: "change a key of the recipe: `PATH=VALUE`"},
			&cli.IntFlag{Name: "n", Value: 512, Usage: "number of completions"},
			verifierFlag,
			&cli.BoolFlag{Name: "failed", Usage: "show answers that cannot be read"},
			&cli.IntFlag{Name: "limit", Value: 5, Usage: "number of these"},
			jsonFlag, deviceFlag, tierFlag,
		},
		Action: askJudges,
	}
}

func askJudges(c *cli.Context) error {
	args, err := positional(c, "RUN|RECIPE")
	if err != nil {
		return err
	}
	o := eval.JudgeOptions{Name: c.String("judge"), Ask: endpoint.New()}
	if o.Most, err = intFrom(c, "n", 1, 1_000_000); err != nil {
		return err
	}
	if o.Examples, err = intFrom(c, "limit", 0, 1_000_000); err != nil {
		return err
	}
	source := args[0]
	if own := filepath.Join(source, recipe.File); isFile(own) {
		found, err := store.FindModel(source, store.TakeLast)
		if err != nil {
			return err
		}
		source, o.Checkpoint = own, found.Dir
		if !c.IsSet("in") {
			o.Run = args[0]
		}
	} else if !c.IsSet("in") {
		return hint.With(usagef("%s is no run, so it has no completions: give --in FILE", source), "--in rows.jsonl, with a question and a completion in each row")
	}
	if o.Checkpoint != "" && c.IsSet("set") {
		return usagef("--set changes a recipe, and a run has been made by its own")
	}
	r, err := recipe.Load(source, c.StringSlice("set"))
	if err != nil {
		return err
	}
	if o.Opened, err = resolve.Open(r, programsTold(c)); err != nil {
		return err
	}
	defer o.Opened.Close()
	full := *o.Opened
	if full.Recipe, o.Folder, err = run.Found(o.Opened.Recipe); err != nil {
		return err
	}
	o.Opened = &full
	if text := c.String("verifier"); text != "" {
		name, options, err := verify.Parse(text)
		if err == nil {
			o.Verifier, err = verify.New(name, options)
		}
		if err != nil {
			return fmt.Errorf("%w: --verifier: %w", lines.ErrInput, err)
		}
		if _, asks := o.Verifier.(verify.Asking); asks {
			return usagef("--verifier %s asks a model itself; accepted: a verifier that judges by itself", text)
		}
	}
	if c.IsSet("in") {
		o.Rows = prompts.Part{Data: c.String("in")}
		if parts := resolve.Parts(&full.Recipe.Task); len(parts) > 0 { // named as the rows of the task, whose completion is that to imitate
			o.Rows.Columns = parts[0].Columns
			o.Rows.Columns.Others = maps.Clone(parts[0].Columns.Others)
			delete(o.Rows.Columns.Others, "completion")
		}
	}
	if o.Device, err = openDevice(c); err != nil {
		return err
	}
	defer o.Device.Close()
	reports, err := eval.Judges(c.Context, o)
	if err != nil {
		return err
	}
	for i, report := range reports {
		if c.Bool("json") {
			if err := printJSON(c, report); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		fmt.Fprint(c.App.Writer, report.Table(c.Bool("failed")))
	}
	return nil
}

// isFile says whether there is such a file.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
