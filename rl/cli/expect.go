package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/files"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/recipe/presets"
	"github.com/rlzero/rlzero/rl/store"
)

// expected is an expectation of a recipe, and what its runs would be made with.
type expected struct {
	recipe string
	says   recipe.Expectation
	arms   []contestant // the control, then the recipe; against its start the recipe alone
}

// control is the hash of the control: of the recipe itself where that is its start.
func (e expected) control() string { return e.arms[0].recipe.Hash() }

// own is the hash of the recipe.
func (e expected) own() string { return e.arms[len(e.arms)-1].recipe.Hash() }

// expectationsOf are those of a recipe, each with its control.
func expectationsOf(name string, sets []string, budget int, told func(command string)) ([]expected, error) {
	if err := recipeCatalogue.checkFile(name); err != nil {
		return nil, err
	}
	r, err := recipe.Load(name, nil)
	if err != nil {
		return nil, err
	}
	if len(r.Expect) == 0 {
		return nil, hint.With(fmt.Errorf("%w: %s has no [[expect]], so it says of no metric what a run should show", lines.ErrInput, name), "compare it with another recipe: rlzero compare OTHER %s", name)
	}
	var all []expected
	for _, e := range r.Expect {
		t := contest{shared: true, own: e.Start == recipe.StartOwn, budget: budget, told: told}
		entered := []string{"control = " + e.Than, r.Name + " = " + name}
		if e.Than == recipe.ThanStart {
			entered = entered[1:]
		}
		if err := t.enter(entered, sets); err != nil {
			return nil, err
		}
		all = append(all, expected{r.Name, e, t.arms})
	}
	return all, nil
}

// measure holds the comparison of an expectation.
func (t *contest) measure(ctx context.Context, e expected) (compare.Measured, error) {
	t.arms, t.own = e.arms, e.says.Start == recipe.StartOwn
	arms, err := t.hold(ctx)
	if err != nil {
		return compare.Measured{}, err
	}
	if err := t.arms[len(t.arms)-1].acts(); err != nil {
		return compare.Measured{}, err
	}
	if _, err := compare.New(arms, math.NaN()); err != nil { // the same seeds and problems
		return compare.Measured{}, err
	}
	d, err := compare.Risen(arms[0], e.says.Metric)
	if e.says.Than != recipe.ThanStart {
		d, err = compare.Difference(arms[0], arms[1], e.says.Metric)
	}
	if err != nil {
		return compare.Measured{}, err
	}
	m := compare.Measured{Recipe: e.recipe, Metric: e.says.Metric, Than: e.says.Than, Direction: e.says.Direction, Difference: d,
		Seeds: t.seeds, Budget: t.budget, Device: strings.ReplaceAll(t.device.Caps().Name, "\t", " "), Release: Version, Own: e.own(), Control: e.control()}
	if !t.own && t.arms[0].start != "" {
		start, err := recipe.Load(filepath.Join(t.arms[0].start, recipe.File), nil)
		if err != nil {
			return m, err
		}
		m.Start = start.Hash()
	}
	return m, nil
}

// errIdle is that the mechanism of a recipe does nothing in a run.
var errIdle = errors.New("its mechanism never acts")

// acts refuses runs of a recipe of the program in which the metric never moves that its mechanism is said to be seen in.
func (a *contestant) acts() error {
	p, _ := presets.Find(a.recipe.Name)
	metric := p.Head.ShownBy
	if metric == "" {
		return nil
	}
	for i, dir := range a.runs {
		of := []string{dir}
		if a.start != "" {
			of = append(of, a.start)
		}
		acted := false
		for _, dir := range of {
			acts, err := compare.Acts(dir, metric)
			if err != nil {
				return err
			}
			acted = acted || acts
		}
		if !acted {
			return hint.With(fmt.Errorf("%w: %s with seed %d: %w: %s, in which it is seen, says so in no step", lines.ErrInput, p.Name, i+1, errIdle, metric), "rlzero recipes show %s", p.Name)
		}
	}
	return nil
}

// measureExpected is rlzero compare --expect NAME: each expectation of a recipe, one line each.
func measureExpected(c *cli.Context, t *contest, name string) error {
	all, err := expectationsOf(name, c.StringSlice("set"), t.budget, t.told)
	if err != nil {
		return err
	}
	var measured []compare.Measured
	err = withDevice(c, t, func(ctx context.Context) error {
		for _, e := range all {
			of := *t
			m, err := of.measure(ctx, e)
			if err != nil {
				return err
			}
			measured = append(measured, m)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if c.Bool("json") {
		for _, m := range measured {
			d := m.Difference
			if err := printJSON(c, measuredLine{m.Recipe, m.Metric, m.Than, m.Direction, d.Mean, d.Low, d.High, m.Seeds, m.Budget, m.Device, m.Release, m.Own, m.Control, m.Start, m.Verdict()}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, m := range measured {
		if _, err := io.WriteString(c.App.Writer, sentence(m)); err != nil {
			return err
		}
	}
	return nil
}

// measuredLine is a line of rlzero compare --expect --json.
type measuredLine struct {
	Recipe     string  `json:"recipe"`
	Metric     string  `json:"metric"`
	Than       string  `json:"than"`
	Direction  string  `json:"direction"`
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Seeds      int     `json:"seeds"`
	Budget     int     `json:"budget_tokens"`
	Device     string  `json:"device"`
	Release    string  `json:"release"`
	Own        string  `json:"own_hash"`
	Control    string  `json:"control_hash"`
	Start      string  `json:"start_hash"` // "": no common start
	Verdict    string  `json:"verdict"`
}

// sentence is a measured expectation for people.
func sentence(m compare.Measured) string {
	d, drawn := m.Difference, fmt.Sprintf("with %d tokens each", m.Budget)
	if m.Budget == 0 {
		drawn = "on rows alone"
	}
	return fmt.Sprintf("%s: %s %+.4g (%.4g to %.4g) against %s, expected %s, %s %s: %s\n",
		m.Recipe, m.Metric, d.Mean, d.Low, d.High, m.Than, m.Direction, counted(m.Seeds, "seed"), drawn, m.Verdict())
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// withDevice opens the device for what a comparison does.
func withDevice(c *cli.Context, t *contest, do func(ctx context.Context) error) (err error) {
	if t.device, err = openDevice(c); err != nil {
		return err
	}
	defer t.device.Close()
	ctx, done := interruptible(c)
	defer done()
	err = do(ctx)
	t.again(err)
	return err
}

// measureAll is rlzero compare --papers FILE: what the recipes of the program expect, as far as the
// file has no line of it that counts, the lines that do not count any more first. The file is
// written after each, so that the command can be repeated. With names it measures these recipes alone.
func measureAll(c *cli.Context, t *contest, file string, names []string) error {
	text, err := files.Read(file, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	measured := []compare.Measured{}
	if err == nil {
		if measured, err = compare.ReadMeasured(file, string(text)); err != nil {
			return err
		}
	}
	due, err := dueOf(measured, names, t.told)
	if err != nil {
		return err
	}
	if len(due) == 0 {
		_, err := fmt.Fprintf(c.App.Writer, "%s: everything that recipes expect has been measured\n", file)
		return err
	}
	return withDevice(c, t, func(ctx context.Context) error {
		var idle error // the others are measured all the same
		for i, e := range due {
			of := *t
			m, err := of.measure(ctx, e)
			if errors.Is(err, errIdle) {
				idle = errors.Join(idle, err)
				continue
			}
			if err != nil {
				return errors.Join(err, idle)
			}
			measured = append(slices.DeleteFunc(measured, m.Of), m)
			if err := store.Write(store.OS(), file, compare.WriteMeasured(measured)); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(c.App.Writer, "%d of %d: %s", i+1, len(due), sentence(m)); err != nil {
				return err
			}
		}
		return idle
	})
}

// dueOf are the expectations of the program's recipes, or of those that are named, that no line tells
// of that counts.
func dueOf(measured []compare.Measured, names []string, told func(command string)) ([]expected, error) {
	var stale, missing []expected
	places := map[string]int{}
	if len(names) == 0 {
		for _, p := range presets.All() {
			if len(p.Expects) > 0 {
				names = append(names, p.Name)
			}
		}
	}
	for _, name := range names {
		all, err := expectationsOf(name, nil, 0, told)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			of := compare.Measured{Recipe: e.recipe, Metric: e.says.Metric, Than: e.says.Than, Direction: e.says.Direction}
			i := slices.IndexFunc(measured, of.Of)
			switch {
			case i < 0:
				missing = append(missing, e)
			case !measured[i].Counts(e.own(), e.control()):
				places[e.recipe+e.says.Metric+e.says.Than] = i
				stale = append(stale, e)
			}
		}
	}
	slices.SortStableFunc(stale, func(a, b expected) int {
		return places[a.recipe+a.says.Metric+a.says.Than] - places[b.recipe+b.says.Metric+b.says.Than]
	})
	return append(stale, missing...), nil
}
