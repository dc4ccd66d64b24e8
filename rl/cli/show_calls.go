package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	steps "github.com/rlzero/rlzero/rl/train"
)

// showCalls prints the journal of a run: what tools and programs of others answered.
func showCalls(c *cli.Context, dir string) error {
	for _, flag := range []string{"step", "group", "tokens"} {
		if c.IsSet(flag) {
			return usagef("%s --calls shows the calls of the whole run: it does not go with --%s", c.Command.HelpName, flag)
		}
	}
	r, err := recipe.Load(filepath.Join(dir, recipe.File), nil)
	if err != nil {
		return err
	}
	var all []record.Call
	_, err = record.EachCall(filepath.Join(dir, record.CallsFile), func(line record.Call) error {
		all = append(all, line)
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hint.With(usagef("run %s has no %s", dir, record.CallsFile), "runs have one whose task has tools that are not pure, or a program of others")
	case err != nil:
		return fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	slices.SortStableFunc(all, record.Call.Compare) // a run in progress has them in the order of the answers
	var shown []record.Call
	for i, line := range all {
		if line.Intent && i+1 < len(all) && all[i+1].Compare(line) == 0 { // its answer follows
			continue
		}
		if !c.Bool("failed") || line.Intent || line.Failed || line.Refused || line.Fault != "" {
			shown = append(shown, line)
		}
	}
	if c.Bool("json") {
		return printAll(c, shown)
	}
	return printCalls(c.App.Writer, r, shown)
}

// printCalls prints the calls of each episode below a line that says which one it is.
func printCalls(w io.Writer, r *recipe.Recipe, calls []record.Call) error {
	before := ""
	for _, line := range calls {
		if of := episodeOf(r, line); of != before {
			fmt.Fprintln(w, of)
			before = of
		}
		where := fmt.Sprintf("turn %d", line.Turn)
		if line.Turn == 0 {
			where = "begins"
		}
		judge, judges := line.Judge()
		if judges {
			where = fmt.Sprintf("judge %s, vote %d", judge, line.Number)
		}
		said := terminal.Line(line.Answer, shownWidth)
		switch {
		case line.Fault != "" && judges:
			said = "no answer: " + terminal.Line(line.Fault, shownWidth)
		case line.Fault != "":
			said = "no reply, and the episode is not scored: " + terminal.Line(line.Fault, shownWidth)
		case line.Refused:
			said = "it broke what answers it twice, and the policy was told that there is no answer"
		case line.Intent:
			said = line.Tool + " may have been called, and its answer is not known"
		case line.Failed:
			said = line.Tool + ", a mistake: " + said
		default:
			said = line.Tool + ": " + said
		}
		if _, err := fmt.Fprintf(w, "   %s  %s\n", where, said); err != nil {
			return err
		}
	}
	return nil
}

// drawnFor says what the episodes of some purposes are; others are completions.
var drawnFor = map[random.Purpose]string{
	random.HeldOut: "held-out completion", random.Probe: "completion of the test of form", random.Contest: "completion of a contest",
	random.Refill: "completion of a refill", random.SecondChance: "second chance", random.Greedy: "greedy completion",
	random.FreshPass: "completion of a fresh pass",
}

// episodeOf says which episode a call belongs to.
func episodeOf(r *recipe.Recipe, c record.Call) string {
	stage := fmt.Sprint(c.Stage)
	if c.Stage < len(r.Stages) {
		stage = r.Stages[c.Stage].Name
	}
	purpose := random.Purpose(c.Purpose)
	step, after := steps.StepOf(purpose, c.Step)
	when := fmt.Sprintf("step %d", step+1)
	switch {
	case c.Step == steps.AfterStage:
		when = "after its last step"
	case after && step < 0:
		when = "before its first step"
	case after:
		when = "after " + when
	}
	what := drawnFor[purpose]
	if what == "" {
		what = "completion"
	}
	if c.Greedy && purpose != random.Greedy {
		what = "greedy " + what
	}
	return fmt.Sprintf("stage %s, %s, %s %d", stage, when, what, c.Stream)
}
