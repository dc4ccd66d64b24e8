package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/page"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/tasks"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name:      "compare",
		Usage:     "train recipes from the same start on the same budget, and compare them, or finished runs",
		ArgsUsage: "RECIPE RECIPE... | RUN RUN...",
		Description: `Trains every recipe with every seed. Prints accuracy, pass@k, length, entropy, KL, and tokens
to a threshold: the mean, the spread over seeds, and the gain over the first recipe with its
95 % interval on the same seeds and held-out problems. Writes compare.html with curves,
compare.md, compare.json, compare.csv, compare.tex and the run folders into --out.

A recipe is the name of a preset, or a file. Changes may follow it after semicolons; a value that
has semicolons itself stands in quotes, as in 'NAME; stage.rl.reward="x = task/2; x"'. A name in
front, as in "NAME = RECIPE", is used in tables and folders.

The stages before the first that learns from rewards, trains another model, or makes rows that
later stages draw are trained once, with the first recipe, and every run starts from their result.
So the recipes need the same model, the same task and the same such stages. A run ends once it has
sampled --budget tokens; by default the budget is what the first recipe samples with the first
seed.

To continue an interrupted comparison, repeat the command: it ends with the same bytes.

With run folders in place of recipes, it compares these runs and trains nothing. They need the
same task, so that the held-out problems are the same. The runs of several seeds get one name:
'old = RUN' 'old = RUN' 'new = RUN' 'new = RUN'. Files are written only with --out.

--expect NAME compares a recipe with the control that its [[expect]] names, and says whether the
metric agrees, disagrees, or cannot be told apart. --papers FILE does so for every built-in recipe
with an [[expect]], or for those that follow, as far as FILE has no valid line of it yet, and writes
the lines. Recipes that learn from rows alone are compared on as many rows. A built-in recipe that
says in which metric its method is seen has no line if that metric shows nothing in a run.

Examples:
   rlzero compare countdown-tiny countdown-shaped
   rlzero compare --seeds 5 --out runs/clip countdown-tiny \
      "countdown-tiny; stage.rl.algorithm.clip_high=0.28"
   rlzero compare countdown-tiny \
      "wider clip = countdown-tiny; stage.rl.algorithm.clip_high=0.4"
   rlzero compare --budget 2000000 --threshold 0.5 grpo.toml dapo.toml
   rlzero compare runs/grpo runs/ppo
   rlzero compare --expect negative-only --seeds 3
   rlzero compare --papers papers.tsv nsr psr`,
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "seeds", Value: 3, Usage: "number of runs of each recipe, with the seeds 1, 2, 3 ..."},
			&cli.IntFlag{Name: "budget", Usage: "tokens that each run samples", DefaultText: "what the first run samples"},
			&cli.Float64Flag{Name: "threshold", Usage: "count the tokens until this accuracy is reached, from 0 to 1", DefaultText: "0.9 times what the first recipe reaches"},
			&cli.StringFlag{Name: "out", Value: "compare", Usage: "folder for the runs and the comparison"},
			&cli.StringFlag{Name: "expect", Usage: "measure what the recipe `NAME` expects"},
			&cli.StringFlag{Name: "papers", Usage: "measure what all recipes expect, and write it into `FILE`"},
			&cli.StringSliceFlag{Name: "set", Usage: "change a key of every recipe: `PATH=VALUE`"},
			jsonFlag, verboseFlag, deviceFlag, tierFlag,
		},
		Action: compareRecipes,
	}
}

// contest is a comparison that is being made.
type contest struct {
	arms   []contestant
	seeds  int
	budget int // tokens; 0: not known yet
	dir    string
	shared bool // it is one of expectations: folders are named by what they hold, so that others in the same folder share them
	own    bool // every recipe has a start of its own
	device gpu.Device
	show   io.Writer
	told   func(command string) // of each program of others that a recipe starts

	verbose bool
}

// contestant is a recipe as it was asked for.
type contestant struct {
	label, source string
	sets          []string // changes of its own and those of all
	recipe        *recipe.Recipe
	learns        int      // the first stage that is trained for it alone
	imitates      bool     // no stage learns from rewards: all that it learns from are rows
	start         string   // run folder of the start; "": the recipe starts as it is
	runs          []string // folders of the runs, by seed
}

func compareRecipes(c *cli.Context) error {
	of, papers := c.String("expect"), c.String("papers")
	switch {
	case of != "" && papers != "":
		return usagef("--expect and --papers do not go together")
	case of != "" && c.NArg() > 0:
		return usagef("rlzero compare --expect NAME takes no other recipes; found %q", c.Args().Slice())
	case of == "" && papers == "" && c.NArg() < 2:
		return usagef("rlzero compare takes two recipes or runs, or more")
	}
	if n := c.Int("seeds"); n < 1 || n > 1000 {
		return badValue("seeds", n, "whole numbers from 1 to 1000")
	}
	if n := c.Int("budget"); c.IsSet("budget") && n < 1 {
		return badValue("budget", n, "whole numbers from 1")
	}
	threshold := math.NaN()
	if c.IsSet("threshold") {
		if threshold = c.Float64("threshold"); !(threshold > 0 && threshold <= 1) {
			return badValue("threshold", threshold, "numbers above 0 and up to 1")
		}
	}
	t := &contest{seeds: c.Int("seeds"), budget: c.Int("budget"), dir: c.String("out"), show: c.App.ErrWriter, told: programsTold(c), verbose: c.Bool("verbose")}
	switch {
	case of != "":
		t.shared = true
		return measureExpected(c, t, of)
	case papers != "":
		t.shared = true
		return measureAll(c, t, papers, c.Args().Slice())
	}
	if slices.ContainsFunc(c.Args().Slice(), func(arg string) bool { _, _, ok := runOf(arg); return ok }) {
		return compareRuns(c, threshold)
	}
	if err := t.enter(c.Args().Slice(), c.StringSlice("set")); err != nil {
		return err
	}
	var arms []compare.Arm
	err := withDevice(c, t, func(ctx context.Context) (err error) {
		arms, err = t.hold(ctx)
		return err
	})
	if err != nil {
		return err
	}
	result, err := compare.New(arms, threshold)
	if err != nil {
		return err
	}
	return t.tell(c, result)
}

// again says how to go on after an interruption.
func (t *contest) again(err error) {
	if errors.Is(err, run.ErrInterrupted) || errors.Is(err, gpu.ErrDeviceLost) {
		fmt.Fprintln(t.show, "to continue: repeat the command")
	}
}

// enter reads the recipes and refuses those that cannot start from the same weights.
func (t *contest) enter(args, sets []string) error {
	for i, arg := range args {
		entered, changes, err := recipe.SplitSets(arg)
		if err != nil {
			return usage(err)
		}
		label, source, named := strings.Cut(entered, "=")
		if !named {
			source = label
			if strings.HasSuffix(source, ".toml") {
				label = strings.TrimSuffix(filepath.Base(source), ".toml")
			}
		}
		a := contestant{source: strings.TrimSpace(source), label: strings.TrimSpace(label)}
		if named && a.label == "" {
			return usagef("%q has no name before =", arg)
		}
		for _, change := range changes {
			a.sets = append(a.sets, change)
			if path, value, _ := strings.Cut(change, "="); !named {
				a.label += " " + path[strings.LastIndex(path, ".")+1:] + "=" + value
			}
		}
		a.sets = append(append([]string{}, sets...), a.sets...)
		if err := recipeCatalogue.checkFile(a.source); err != nil {
			return err
		}
		if a.recipe, err = recipe.Load(a.source, a.sets); err != nil {
			return err
		}
		opened, err := resolve.Open(a.recipe, t.told)
		if err != nil { // before the device is opened
			return err
		}
		opened.Close()
		if !a.recipe.Samples() {
			return usagef("%s draws no completions, and accuracy on held-out problems is what compare measures; accepted: a recipe whose task has a verifier", a.label)
		}
		for a.learns < len(a.recipe.Stages) && a.recipe.Stages[a.learns].Kind != recipe.KindRL {
			a.learns++
		}
		learns := func(st recipe.Stage) bool { return !st.Skip && st.Learns() }
		if !slices.ContainsFunc(a.recipe.Stages[a.learns:], learns) { // what imitation does is what is compared
			a.imitates = true
			if a.learns = slices.IndexFunc(a.recipe.Stages, learns); a.learns < 0 {
				return fmt.Errorf("%w: %s has no stage that learns", lines.ErrInput, a.label)
			}
			if t.budget > 0 {
				return usagef("--budget bounds what is sampled, and %s learns from rows alone", a.label)
			}
		}
		if rl := a.recipe.Stages[a.learns].RL; t.budget > 0 && rl.PromptsPerStep*rl.GroupSize > t.budget { // of one token each
			return noStep(a.label, float64(rl.PromptsPerStep*rl.GroupSize), t.budget)
		}
		a.learns = beforeFirst(a.recipe.Stages, a.learns)
		if _, err = t.opening(&a); err != nil {
			return err
		}
		for _, b := range t.arms {
			if b.label == a.label {
				return hint.With(usagef("%q is named twice", a.label), "to compare it with a variant of itself, add a change: %q", a.label+"; stage.rl.algorithm.clip_high=0.28")
			}
		}
		t.arms = append(t.arms, a)
		if what := t.differs(&t.arms[0], &t.arms[i]); what != "" {
			return hint.With(fmt.Errorf("%w: %s and %s differ in %s, so they cannot start from the same weights", lines.ErrInput, t.arms[0].label, a.label, what),
				"rlzero train --dry-run prints a recipe with all its keys")
		}
	}
	return nil
}

// beforeFirst is the first stage that is not of a shared start, where it is this one at the latest: a start is its
// policy alone, so neither a stage that trains another model nor one that makes rows which are drawn after it is of it.
func beforeFirst(stages []recipe.Stage, first int) int {
	other := slices.IndexFunc(stages[:first], func(st recipe.Stage) bool {
		return !st.Skip && st.Learns() && st.Learner() != recipe.PolicyModel
	})
	if other >= 0 {
		first = other
	}
	for i := first - 1; i >= 0; i-- {
		if slices.ContainsFunc(stages[first:], func(st recipe.Stage) bool { return st.DrawsFrom(&stages[i]) }) {
			first = i
		}
	}
	return first
}

// differs says in what two recipes differ up to where each is trained for itself; "": nothing. Starts of
// their own are of as many demonstrations.
func (t *contest) differs(a, b *contestant) string {
	switch {
	case !reflect.DeepEqual(a.recipe.Model, b.recipe.Model):
		return "[model]"
	case !t.sameTask(a.recipe.Task, b.recipe.Task):
		return "[task]"
	case t.own && demonstrations(a.recipe.Stages[:a.learns]) != demonstrations(b.recipe.Stages[:b.learns]):
		return "the number of demonstrations of their starts"
	case a.imitates != b.imitates:
		return "whether they learn from rewards"
	case a.imitates && demonstrations(a.recipe.Stages) != demonstrations(b.recipe.Stages):
		return "the number of demonstrations"
	case !t.own && a.beginning() != b.beginning():
		return "the stages of their start"
	}
	return ""
}

// sameTask tells whether two recipes learn the same problems. Starts of their own may imitate other
// demonstrations: settings of a procedural task that change neither the held-out problems nor the tokens, or episodes
// whose context begins anew otherwise.
func (t *contest) sameTask(a, b recipe.Task) bool {
	if t.own {
		a.Episode.History, a.Episode.Summary = b.Episode.History, b.Episode.Summary
	}
	if reflect.DeepEqual(a, b) {
		return true
	}
	one, other := a.Demonstrator(), b.Demonstrator()
	if a.Settings = b.Settings; !t.own || one == nil || other == nil || !reflect.DeepEqual(a, b) || !slices.Equal(one.Vocabulary(), other.Vocabulary()) {
		return false
	}
	rows, err := tasks.HeldOutRows(one, a.EvalProblems)
	others, wrong := tasks.HeldOutRows(other, a.EvalProblems)
	return err == nil && wrong == nil && reflect.DeepEqual(rows, others)
}

// hold makes the runs that are not there yet, seed by seed, and reads them.
func (t *contest) hold(ctx context.Context) ([]compare.Arm, error) {
	if err := t.starts(ctx); err != nil {
		return nil, err
	}
	arms := make([]compare.Arm, len(t.arms))
	for seed := 1; seed <= t.seeds; seed++ {
		for i := range t.arms {
			a := &t.arms[i]
			arms[i].Name = a.label
			r, err := recipe.Load(a.source, append(append([]string{}, a.sets...), t.changes(a, seed)...))
			if err != nil {
				return nil, err
			}
			dir := filepath.Join(t.dir, fmt.Sprintf("%d-%s-seed-%d", i+1, folderName(a.label), seed))
			if t.shared {
				dir = filepath.Join(t.dir, fmt.Sprintf("%s-%s-seed-%d", folderName(a.source), r.Hash(), seed))
			}
			if err := t.train(ctx, dir, r); err != nil {
				return nil, err
			}
			a.runs = append(a.runs, dir)
			trial, err := compare.Read(dir, uint64(seed))
			if err != nil {
				return nil, err
			}
			if first := trial.Tokens[0]; t.budget > 0 && first > float64(t.budget) {
				return nil, noStep(a.label, first, t.budget)
			}
			arms[i].Trials = append(arms[i].Trials, trial)
			if t.budget == 0 && !trial.Taught { // the first run sets it
				t.budget = int(trial.Tokens[len(trial.Tokens)-1])
			}
		}
	}
	return arms, nil
}

// noStep refuses a budget that no step fits.
func noStep(label string, first float64, budget int) error {
	return hint.With(fmt.Errorf("%w: the first step of %s samples %.0f tokens or more, and the budget is %d: no step fits", lines.ErrInput, label, first, budget), "--budget %.0f", 100*first)
}

// folderName is a label as a part of the name of a folder.
func folderName(label string) string {
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9.]+`).ReplaceAllString(label, "-"), "-.")
}

// starts trains the start of every recipe: the same for all, or one for each.
func (t *contest) starts(ctx context.Context) error {
	for i := range t.arms {
		if i > 0 && !t.own {
			t.arms[i].start = t.arms[0].start
			continue
		}
		if err := t.warmUp(ctx, &t.arms[i]); err != nil {
			return err
		}
	}
	return nil
}

// warmUp runs the stages of a recipe before the first that is trained for it alone.
func (t *contest) warmUp(ctx context.Context, a *contestant) error {
	r, err := t.opening(a)
	if err != nil || r == nil {
		return err
	}
	a.start = filepath.Join(t.dir, "start")
	if t.shared {
		a.start = filepath.Join(t.dir, "start-"+r.Hash())
	}
	return t.train(ctx, a.start, r)
}

// opening is the recipe of a start; nil: nothing is trained before the first stage of its own.
func (t *contest) opening(a *contestant) (*recipe.Recipe, error) {
	sets := append([]string{}, a.sets...)
	trained := false
	for i, st := range a.recipe.Stages[:a.learns] {
		if st.Skip {
			continue
		}
		trained = true
		if t.own && st.Kind == recipe.KindSFT { // no test ends one sooner than the other
			sets = append(sets, fmt.Sprintf("stage.%d.test_every=%d", i, st.SFT.HoldSteps+st.SFT.DecaySteps+1))
		}
	}
	if !trained {
		return nil, nil
	}
	r, err := recipe.Load(a.source, sets)
	if err != nil {
		return nil, err
	}
	begins := r.First(a.learns)
	if need := t.context(a); r.Model.Path == "" && r.Model.Context == 0 && need > cast.Context(begins) {
		if r, err = recipe.Load(a.source, append(sets, fmt.Sprintf("model.context=%d", need))); err != nil {
			return nil, err
		}
		begins = r.First(a.learns)
	}
	if t.shared { // whatever is learned after it, and whoever asks first
		begins = begins.Bare("start")
	}
	return begins, nil
}

// context is how many tokens the longest sequence has of those who go on from the start of a recipe.
func (t *contest) context(a *contestant) int {
	if t.own {
		return cast.Context(a.recipe)
	}
	n := 0
	for i := range t.arms {
		n = max(n, cast.Context(t.arms[i].recipe))
	}
	return n
}

// beginning is what the stages of the start say.
func (a *contestant) beginning() string {
	return (&recipe.Recipe{Task: a.recipe.Task, Stages: a.recipe.Stages[:a.learns]}).Resolved()
}

// demonstrations is how many stages learn from, where no test ends one sooner.
func demonstrations(stages []recipe.Stage) int {
	n := 0
	for _, st := range stages {
		if !st.Skip && st.Kind == recipe.KindSFT {
			n += st.SFT.BatchSize * (st.SFT.HoldSteps + st.SFT.DecaySteps)
		}
	}
	return n
}

// changes are the overrides of a run of the comparison.
func (t *contest) changes(a *contestant, seed int) []string {
	sets := []string{fmt.Sprintf("seed=%d", seed)}
	for i, st := range a.recipe.Stages {
		switch {
		case i < a.learns && a.start != "":
			sets = append(sets, fmt.Sprintf("stage.%d.skip=true", i))
		case st.Kind == recipe.KindRL && t.budget > 0:
			sets = append(sets, fmt.Sprintf("stage.%d.max_sampled_tokens=%d", i, t.budget))
		}
	}
	if a.start != "" {
		sets = append(sets, "model.path="+a.start)
	}
	return sets
}

// train makes a run, or continues the one that is there.
func (t *contest) train(ctx context.Context, dir string, r *recipe.Recipe) error {
	opened, err := resolve.Open(r, t.told)
	if err != nil {
		return err
	}
	defer opened.Close()
	_, missing := os.Stat(filepath.Join(dir, recipe.File))
	fmt.Fprintf(t.show, "%s\n", dir)
	_, err = run.Train(ctx, run.Options{Opened: opened, Dir: dir, Resume: missing == nil, Fixed: true, Device: t.device, Show: t.show, Verbose: t.verbose, Version: Version, Report: reportOf})
	if missing == nil && errors.Is(err, lines.ErrInput) {
		err = hint.With(err, "choose another folder for this comparison with --out")
	}
	return err
}

// tell writes the comparison into its folder, if it has one, and prints it.
func (t *contest) tell(c *cli.Context, result *compare.Comparison) error {
	var notes []string
	for _, a := range result.Arms {
		for _, trial := range a.Trials {
			if n := trial.Tokens[len(trial.Tokens)-1]; n < float64(t.budget) {
				notes = append(notes, fmt.Sprintf("%s, seed %d, finished its steps with %.0f of %d tokens sampled: raise the steps of its stage.", a.Name, trial.Seed, n, t.budget))
			}
		}
	}
	text, err := result.MarshalJSON()
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(t.show, n)
	}
	if t.dir != "" {
		if err := t.write(text, notes, result); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		_, err = c.App.Writer.Write(append(text, '\n'))
		return err
	}
	_, err = io.WriteString(c.App.Writer, result.Table())
	return err
}

// write writes a comparison, and its JSON, into its folder.
func (t *contest) write(text []byte, notes []string, result *compare.Comparison) error {
	html, err := page.Contest(text, notes)
	if err != nil {
		return err
	}
	err = errors.Join(
		store.Write(store.OS(), filepath.Join(t.dir, "compare.json"), append(text, '\n')),
		store.Write(store.OS(), filepath.Join(t.dir, "compare.md"), []byte(result.Document())),
		store.Write(store.OS(), filepath.Join(t.dir, "compare.csv"), []byte(result.CSV())),
		store.Write(store.OS(), filepath.Join(t.dir, "compare.tex"), []byte(result.LaTeX())),
		store.Write(store.OS(), filepath.Join(t.dir, "compare.html"), html))
	if err == nil {
		fmt.Fprintln(t.show, filepath.Join(t.dir, "compare.html"))
	}
	return err
}
