package train

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// before has the formulas of a stage that are evaluated before anything is drawn, and the task with
// the settings that they give it. It needs no device.
type before struct {
	*facts
	whole   *recipe.Stage // as the recipe has it
	source  prompts.Source
	program *formula.Program
	sources map[string]prompts.Source // by settings
}

func newBefore(f *facts, source prompts.Source) (before, error) {
	b := before{facts: f, whole: f.stage, source: source, sources: map[string]prompts.Source{}}
	var err error
	b.program, err = b.whole.Before()
	return b, err
}

// blamed says in which stage the formula of an error stands.
func (b before) blamed(err error) error {
	return fmt.Errorf("stage %s: %w", b.whole.Name, err)
}

// values are the formulas on a step of which some problems are known; nil: its number alone.
func (b before) values(at Position, st *recipe.Stage, problems []verify.Problem, kept map[string][]formula.Column) (*formula.Values, error) {
	x := subject{facts: b.facts, at: at, stage: st, problems: problems, kept: kept}
	by := posed
	if problems == nil {
		by = begun
	}
	t, err := x.table(by, b.program.Needs())
	if err != nil {
		return nil, err
	}
	return b.program.On(t), nil
}

// changed are the sources of a step's n problems, each with the settings that the curriculum gives
// it. row gets the mean of each setting. Without settings all are the task as it is.
func (b before) changed(at Position, st *recipe.Stage, n int, row metrics.Row) ([]prompts.Source, error) {
	names := slices.Sorted(maps.Keys(b.whole.Curriculum.Settings))
	if len(names) == 0 {
		return slices.Repeat([]prompts.Source{b.source}, n), nil
	}
	values, err := b.values(at, st, make([]verify.Problem, n), nil)
	if err != nil {
		return nil, err
	}
	found := make([]map[string]float64, n)
	for i := range found {
		found[i] = map[string]float64{}
	}
	for _, name := range names {
		column, err := values.At("settings/"+name, formula.Group)
		if err != nil {
			return nil, b.blamed(err)
		}
		mean := 0.0
		for i, x := range column.V {
			found[i][name] = x
			mean += x / float64(n)
		}
		row["curriculum/setting/"+name] = mean
	}
	sources := make([]prompts.Source, n)
	for i := range sources {
		if sources[i], err = b.with(found[i]); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// with is the task with other settings.
func (b before) with(settings map[string]float64) (prompts.Source, error) {
	key := fmt.Sprint(settings) // of a map, in the order of its keys
	if b.sources[key] == nil {
		source, err := b.source.Changed(settings)
		if err != nil {
			return nil, b.blamed(fmt.Errorf("curriculum.settings: %w", err))
		}
		b.sources[key] = source
	}
	return b.sources[key], nil
}
