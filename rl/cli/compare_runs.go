package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/compare"
	receipts "github.com/rlzero/rlzero/rl/receipt"
	"github.com/rlzero/rlzero/rl/recipe"
)

// pastRun is a run that compare was given in place of a recipe.
type pastRun struct {
	label, dir string
	recipe     *recipe.Recipe
}

// runOf is the run folder that an argument of compare names; ok is false where it names no folder,
// and so a recipe.
func runOf(arg string) (label, dir string, ok bool) {
	folder := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	if folder(arg) { // its name may hold a =
		return filepath.Clean(arg), arg, true
	}
	at := strings.LastIndexByte(arg, '=') // a name may hold one, as those of changed recipes do
	if at < 0 {
		return "", "", false
	}
	dir = strings.TrimSpace(arg[at+1:])
	return strings.TrimSpace(arg[:at]), dir, folder(dir)
}

// compareRuns compares runs that have finished.
func compareRuns(c *cli.Context, threshold float64) error {
	for _, name := range []string{"seeds", "budget", "set"} {
		if c.IsSet(name) {
			return hint.With(usagef("--%s is about runs that are to be trained, and %s is one already", name, c.Args().First()), "leave --%s out", name)
		}
	}
	arms, err := armsOf(c.Args().Slice())
	if err != nil {
		return err
	}
	result, err := compare.New(arms, threshold)
	if err != nil {
		return err
	}
	t := &contest{show: c.App.ErrWriter}
	if c.IsSet("out") { // the runs lie elsewhere
		t.dir = c.String("out")
	}
	return t.tell(c, result)
}

// armsOf reads runs. Those of one name are the seeds of an arm.
func armsOf(args []string) ([]compare.Arm, error) {
	var first *pastRun
	var arms []compare.Arm
	for _, arg := range args {
		f := pastRun{}
		var ok bool
		if f.label, f.dir, ok = runOf(arg); !ok {
			return nil, usagef("%q is no run folder: compare takes recipes or runs, not both", arg)
		}
		if f.label == "" {
			return nil, usagef("%q has no name before =", arg)
		}
		var err error
		if f.recipe, err = recipe.Load(filepath.Join(f.dir, recipe.File), nil); err != nil {
			return nil, err
		}
		if _, err := os.Stat(filepath.Join(f.dir, receipts.File)); err != nil {
			return nil, hint.With(fmt.Errorf("%w: run %s has not finished", lines.ErrInput, f.dir), "rlzero train --resume --run %s", terminal.ShellWord(f.dir))
		}
		if first == nil {
			first = &f
		} else if err := sameProblems(first, &f); err != nil {
			return nil, err
		}
		trial, err := compare.Read(f.dir, f.recipe.Seed)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(arms, func(a compare.Arm) bool { return a.Name == f.label })
		if i < 0 {
			i, arms = len(arms), append(arms, compare.Arm{Name: f.label})
		}
		if slices.ContainsFunc(arms[i].Trials, func(t *compare.Trial) bool { return t.Seed == trial.Seed }) {
			return nil, usagef("%s has two runs of seed %d", f.label, trial.Seed)
		}
		arms[i].Trials = append(arms[i].Trials, trial)
	}
	if len(arms) < 2 {
		return nil, usagef("%s is the one name of all runs, and there is nothing to compare it with", arms[0].Name)
	}
	for i := range arms {
		slices.SortFunc(arms[i].Trials, func(a, b *compare.Trial) int { return cmp.Compare(a.Seed, b.Seed) })
		if a, b := seedsOf(arms[0]), seedsOf(arms[i]); a != b {
			return nil, hint.With(usagef("%s has runs of the seeds %s and %s of the seeds %s: runs are compared seed by seed", arms[0].Name, a, arms[i].Name, b),
				"the runs of one recipe get one name: rlzero compare 'old = RUN' 'old = RUN' 'new = RUN' 'new = RUN'")
		}
	}
	return arms, nil
}

// seedsOf lists the seeds of an arm.
func seedsOf(a compare.Arm) string {
	var seeds []string
	for _, t := range a.Trials {
		seeds = append(seeds, fmt.Sprint(t.Seed))
	}
	return strings.Join(seeds, ", ")
}

// sameProblems refuses two runs whose tasks differ: equal tasks have equal held-out problems, in
// the same order.
func sameProblems(a, b *pastRun) error {
	changes, err := recipe.Changes(a.recipe, b.recipe)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if strings.HasPrefix(change.Key, "task.") {
			return fmt.Errorf("%w: %s and %s were not measured on the same held-out problems: %s is %s in one and %s in the other",
				lines.ErrInput, a.dir, b.dir, change.Key, cmp.Or(change.From, "not there"), cmp.Or(change.To, "not there"))
		}
	}
	return nil
}
