package cli

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/internal/web"
	"github.com/rlzero/rlzero/rl/endpoint"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/run"
	"github.com/rlzero/rlzero/rl/store"
)

func trainCommand() *cli.Command {
	return &cli.Command{
		Name:      "train",
		Usage:     "train a model by a recipe: the name of a preset, or a TOML file",
		ArgsUsage: "RECIPE",
		Description: `Runs the stages of a recipe and writes a run folder: recipe.toml, metrics.jsonl,
completions.jsonl, checkpoints/ (Hugging Face folders), best/ (the model of the best held-out
evaluation), result.json (its evaluations), report.html. Ctrl-C saves a checkpoint and
prints the command that continues the run.

Examples:
   rlzero train countdown-tiny
   rlzero train countdown-tiny --run runs/longer --set stage.rl.steps=120
   rlzero train countdown-tiny --page       prints a link to its live page
   rlzero train my.toml --dry-run           prints the whole recipe, its
                                            formulas and its memory
   rlzero train --resume --run runs/longer  continues a run
   rlzero train --resume --run runs/longer --set stage.rl.steps=200
                                            goes on with a finished run
   rlzero train countdown-tiny --workers local:vulkan:0,vulkan:1
   rlzero train countdown-tiny --workers nats   prints how to start a worker
   rlzero train --replay runs/fleet --run runs/again

With --workers, other devices draw completions, and the run writes the same bytes as without
them. The trainer draws the first step itself, and prints how much faster workers can make the
run at most. In mode exact, it uses the results of devices that compute the same bits, and
checks a share of them (--audit). In mode draft, and for other devices, it checks every token
and replaces the tokens from the first that differs. In mode exact, workers of other machines
can also run the verifiers that run programs (rlzero worker --for verify).

Workers are named so: local:... are devices of this machine. nats:HOST:PORT listens for
workers of other machines; it needs --key and --allow unless HOST is loopback. nats alone
listens on a free loopback port. nats://HOST:PORT is an existing NATS server; /NAME after it
keeps several runs apart. rlzero worker --help shows all steps.

With lag = 1 in an rl stage, workers draw the next step while the run learns, so that a step
takes only the longer of the two times (rlzero recipes show countdown-lag). --dry-run says what
a lag means, and whether the loss corrects for it. With order = "arrival" beside a lag, the run
takes groups as they come, and no slow worker holds it up; schedule.jsonl records which step
got which group. --replay RUN repeats such a run to the byte, with the recipe of RUN, on one
device of the same kind or on many.

--json prints one object when the run is complete. take says which model it offers, the last or
the best; gain compares the last evaluation with the first, behind compares it with the best:

   {"run":"...","report":"...","model":"...","take":"best","why":"...",
    "below_start":true,"start":{"step":0,"stage":"rl","problems":512,
    "samples":8,"mean":0.27},"best":{...},"last":{...},
    "gain":{"problems":512,"from":0.27,"to":0,"mean":-0.27,"low":-0.29,
    "high":-0.25},"behind":{...}}

--dry-run --json prints one object, with sizes in bytes. The item scratch is memory in which
phases of a step take turns; phases say what each of them has there:

   {"recipe":"...","methods":[{"stage":"...","text":"..."}],"device":"...",
    "memory":...,"fits":true,"total":...,
    "items":[{"name":"...","bytes":...,"from":"..."}],
    "phases":[{"phase":"sampling","bytes":...,"items":[...]}]}`,
		Flags: append([]cli.Flag{
			&cli.StringSliceFlag{Name: "set", Usage: "change a key of the recipe: `PATH=VALUE`"},
			&cli.StringFlag{Name: "run", Usage: "`DIR` of the run", DefaultText: "runs/NAME-DATE"},
			&cli.BoolFlag{Name: "resume", Usage: "continue the run in --run from its newest complete checkpoint"},
			&cli.StringFlag{Name: "replay", Usage: "repeat `RUN` by its schedule.jsonl, where it took groups in order of arrival, and by its calls.jsonl, without the tools that it called"},
			&cli.Uint64Flag{Name: "seed", Usage: "seed of all random numbers", DefaultText: "the recipe's"},
			&cli.BoolFlag{Name: "dry-run", Usage: "print the whole recipe, its formulas and the memory plan, and stop"},
			&cli.BoolFlag{Name: "json", Usage: "print the results of the run, or the dry run, as JSON"},
			&cli.BoolFlag{Name: "page", Usage: "show the run in a browser while it trains, and on a terminal after it too, until Ctrl-C; print the link"},
			&cli.StringFlag{Name: "listen", Usage: "`ADDRESS` of that page, host:port", Value: web.Default},
			verboseFlag, deviceFlag, tierFlag,
		}, workerFlags...),
		Action: train,
	}
}

func train(c *cli.Context) error {
	if c.IsSet("listen") && !c.Bool("page") {
		return usagef("--listen needs --page")
	}
	var page besidePage
	defer page.close()
	if err := trainBeside(c, &page); err != nil {
		return err
	}
	page.stay(c) // the run has given back its device
	return nil
}

// trainBeside trains, and shows the run on a page.
func trainBeside(c *cli.Context, page *besidePage) error {
	opened, dir, err := trainRecipe(c)
	if err != nil {
		return err
	}
	defer opened.Close()
	r := opened.Recipe
	dev, err := openDevice(c)
	if err != nil {
		return err
	}
	defer dev.Close()
	if c.Bool("dry-run") {
		return dryRun(c, opened, dev.Caps())
	}
	show := c.App.ErrWriter
	caps := dev.Caps()
	o := run.Options{Opened: opened, Resume: c.Bool("resume"), Replay: c.String("replay"), Ask: endpoint.New(), Device: dev, Show: show, Verbose: c.Bool("verbose"), Version: Version, Report: reportOf}
	w, err := openWorkers(c, caps)
	if err != nil {
		return err
	}
	if w != nil {
		defer w.close()
		o.Workers = w.start
	}
	fmt.Fprintln(show, strings.TrimSuffix(r.Name+": "+r.About, ": "))
	fmt.Fprintf(show, "device %s: %s (%s), tier %s\n", caps.ID, caps.Name, caps.Driver, caps.Tier)
	ctx, done := interruptible(c)
	defer done()
	if err := page.open(ctx, c); err != nil {
		return err
	}
	var sum *run.Summary
	start := func(at string) (err error) {
		dir, o.Dir = at, at
		if w != nil {
			w.dir = at
		}
		page.show(at)
		sum, err = run.Train(ctx, o)
		return err
	}
	if dir != "" {
		err = start(dir)
	} else {
		err = firstFree(filepath.Join("runs", r.Name+"-"+time.Now().Format("20060102-150405")), start)
	}
	if errors.Is(err, run.ErrInterrupted) || errors.Is(err, gpu.ErrDeviceLost) {
		fmt.Fprintf(show, "to continue: rlzero train --resume --run %s\n", terminal.ShellWord(dir))
	}
	if err != nil {
		return err
	}
	if w != nil {
		fmt.Fprintln(show, w.started.Counts())
		if err := w.end(); err != nil {
			fmt.Fprintf(show, "could not tell the workers that the run is complete: %v\n", err)
		}
	}
	tellEnd(c, r, dir, sum)
	if c.Bool("json") {
		return printJSON(c, trainLine{dir, filepath.Join(dir, run.ReportFile), sum.Checkpoint, sum.Standing})
	}
	return nil
}

// trainLine is what train --json prints when the run is complete.
type trainLine struct {
	Run    string `json:"run"`    // folder
	Report string `json:"report"` // file
	Model  string `json:"model"`  // that the run offers, a folder
	run.Standing
}

// tellEnd says where a finished run is, which model it offers and why, and, at the very end, where it
// came to less than it began with.
func tellEnd(c *cli.Context, r *recipe.Recipe, dir string, sum *run.Summary) {
	show := c.App.ErrWriter
	fmt.Fprintf(show, "done in %s: %s\n", sum.Elapsed.Round(time.Second), dir)
	fmt.Fprintf(show, "  report  %s\n", filepath.Join(dir, run.ReportFile))
	if name := r.EndsWith(); name != recipe.PolicyModel {
		fmt.Fprintf(show, "  export  %s\n", memberCommand(name, dir))
		if !r.Trained(recipe.PolicyModel) { // which is what it was
			return
		}
	}
	fmt.Fprintf(show, "  model   %s\n", sum.Checkpoint)
	if sum.Last != nil {
		fmt.Fprintf(show, "          the %s one: %s\n", sum.Take, sum.Why)
	}
	example := "PROMPT"
	if sum.Example != "" && terminal.Printable(sum.Example, 200) { // a world asks some problems itself
		example = terminal.ShellWord(sum.Example)
	}
	fmt.Fprintf(show, "  try it  rlzero sample --greedy %s--prompt %s %s\n", talking(r, sum), example, terminal.ShellWord(dir))
	if sum.BelowStart {
		fmt.Fprintf(show, "! this run ended below its start: held-out %s. rlzero watch %s says what went wrong\n", sum.Gain, terminal.ShellWord(dir))
	}
}

// memberCommand is the command that writes a model of a run into a new folder.
func memberCommand(name, dir string) string {
	out := name
	if _, err := os.Lstat(out); err == nil {
		out = freeName(out)
	}
	return fmt.Sprintf("rlzero export --member %s --out %s %s", name, out, terminal.ShellWord(dir))
}

// talking are the flags of sample that write a prompt as the run did.
func talking(r *recipe.Recipe, sum *run.Summary) string {
	switch {
	case !sum.Chat:
		return ""
	case r.Task.System == "":
		return "--chat "
	}
	return "--chat --system " + terminal.ShellWord(r.Task.System) + " "
}

// trainRecipe loads the recipe and opens what it names. The folder is that of --run, "" if
// there is none.
func trainRecipe(c *cli.Context) (opened *resolve.Opened, dir string, err error) {
	dir = c.String("run")
	if err := checkNewRun(dir); err != nil {
		return nil, "", err
	}
	if c.Bool("resume") {
		if dir == "" {
			return nil, "", hint.With(usagef("--resume needs --run DIR"), "DIR is the folder of the run to continue")
		}
		if err := checkRun(dir); err != nil {
			return nil, "", err
		}
		if _, err := os.Stat(filepath.Join(dir, recipe.File)); err != nil {
			return nil, "", fmt.Errorf("%w: %s is not a run folder: it has no %s", lines.ErrInput, dir, recipe.File)
		}
	}
	again := c.String("replay")
	if c.IsSet("replay") {
		if c.Bool("resume") {
			return nil, "", hint.With(usagef("--replay is for new runs: a run that is continued keeps the schedule that it repeats"), "leave out --replay")
		}
		if err := checkRun(again); err != nil {
			return nil, "", err
		}
	}
	var name string
	switch {
	case c.Bool("resume") && c.NArg() == 0:
		name = filepath.Join(dir, recipe.File)
	case again != "" && c.NArg() == 0:
		name = filepath.Join(again, recipe.File)
	default:
		args, err := positional(c, "RECIPE")
		if err != nil {
			return nil, "", err
		}
		name = args[0]
		if err := recipeCatalogue.checkFile(name); err != nil {
			return nil, "", err
		}
	}
	sets := c.StringSlice("set")
	if c.IsSet("seed") {
		if c.Uint64("seed") > math.MaxInt64 { // TOML has no larger numbers
			return nil, "", badValue("seed", c.Uint64("seed"), "whole numbers from 0 to %d", math.MaxInt64)
		}
		sets = append(sets, fmt.Sprintf("seed=%d", c.Uint64("seed")))
	}
	r, err := recipe.Load(name, sets)
	if errors.Is(err, recipe.ErrInvalid) && c.Bool("resume") && c.NArg() == 0 {
		err = hint.With(err, "if nobody has changed the recipe of the run, another version of rlzero wrote it: continue the run with that version, or start a new run with --set model.path=%s", terminal.ShellWord(dir))
	}
	if err != nil {
		return nil, "", err
	}
	if again != "" || c.Bool("resume") && run.Repeats(dir) {
		opened, err = resolve.OpenAgain(r, programsTold(c))
	} else {
		opened, err = resolve.Open(r, programsTold(c))
	}
	return opened, dir, err
}

// firstFree starts a run in the folder dir or, where that holds a run already, in
// the first free one of dir-2, dir-3 and so on: two runs may begin in the same
// second. The lock of the folder decides between them.
func firstFree(dir string, start func(dir string) error) error {
	err := start(dir)
	for n := 2; errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrLocked); n++ {
		err = start(fmt.Sprintf("%s-%d", dir, n))
	}
	return err
}

// dryRun prints the resolved recipe and the memory that it takes. As text, the
// plan is a comment below the recipe, so that the whole is a recipe.
func dryRun(c *cli.Context, opened *resolve.Opened, caps gpu.Caps) error {
	r := opened.Recipe
	plan, notes, refused := run.Plan(opened, caps)
	if refused != nil && !errors.Is(refused, gpu.ErrOutOfMemory) {
		return refused
	}
	methods, err := methodsOf(r)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err := printJSON(c, planLine{r.Resolved(), methods, caps.ID, caps.Memory, refused == nil, plan.Total(), itemsOf(plan.Items), phasesOf(plan), opened.Source.Counts(), append([]string{}, notes...)})
		return errors.Join(refused, err)
	}
	fmt.Fprintln(c.App.Writer, r.Resolved())
	for _, m := range methods {
		fmt.Fprintf(c.App.Writer, "# formulas of stage %s, in the order in which they are computed\n", m.Stage)
		for _, line := range splitLines(m.Text) {
			fmt.Fprintf(c.App.Writer, "#   %s\n", line)
		}
	}
	if counts := opened.Source.Counts(); counts != "" {
		fmt.Fprintln(c.App.Writer, "# data")
		for _, line := range splitLines(counts) {
			fmt.Fprintf(c.App.Writer, "#   %s\n", line)
		}
	}
	fmt.Fprintf(c.App.Writer, "# memory on %s\n", caps.Name)
	for _, line := range splitLines(plan.String()) {
		fmt.Fprintf(c.App.Writer, "# %s\n", line)
	}
	for _, note := range notes {
		fmt.Fprintf(c.App.Writer, "# %s\n", note)
	}
	return refused
}

// methodText is what a stage learns by.
type methodText struct {
	Stage string `json:"stage"`
	Text  string `json:"text"` // numbers and formulas, in the order in which they are computed
}

func methodsOf(r *recipe.Recipe) ([]methodText, error) {
	methods := []methodText{}
	for i := range r.Stages {
		if st := &r.Stages[i]; st.Kind != recipe.KindEval {
			method, err := st.Compiled()
			if err != nil {
				return nil, err
			}
			lessons, err := st.Lessons()
			if err != nil {
				return nil, err
			}
			methods = append(methods, methodText{st.Name, strings.Join(slices.Concat([]string{method.Text()}, st.Beside(), lessons), "\n")})
		}
	}
	return methods, nil
}

// planLine is what train --dry-run --json prints.
type planLine struct {
	Recipe  string       `json:"recipe"`  // resolved, TOML
	Methods []methodText `json:"methods"` // of the rl stages
	Device  string       `json:"device"`
	Memory  int          `json:"memory"` // of the device, bytes
	Fits    bool         `json:"fits"`
	Total   int          `json:"total"` // bytes
	Items   []planItem   `json:"items"`
	Phases  []planPhase  `json:"phases"`
	Data    string       `json:"data"`  // how many problems the data sets have, in words; "" for a procedural task
	Notes   []string     `json:"notes"` // what a run would say before its first step, and where micro_batch_tokens changes the results
}

type planItem struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	From  string `json:"from"` // how the size comes about
}

// planPhase is what a phase has in the scratch, which is an item of the plan.
type planPhase struct {
	Phase string     `json:"phase"`
	Bytes int        `json:"bytes"`
	Items []planItem `json:"items"`
}

func itemsOf(of []gpu.Item) []planItem {
	items := []planItem{}
	for _, i := range of {
		items = append(items, planItem{i.Name, i.Bytes, i.Hint})
	}
	return items
}

func phasesOf(plan gpu.Plan) []planPhase {
	phases := []planPhase{}
	for _, p := range plan.Phases {
		phases = append(phases, planPhase{p.Name, p.Total(), itemsOf(p.Items)})
	}
	return phases
}
