package compare

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/stats"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/tasks"
)

// Trial is a run of an arm with one seed.
type Trial struct {
	Seed     uint64
	Taught   bool             // no step learns from rewards: places on curves are steps, not tokens
	Tokens   []float64        // [step] sampled up to the end of the step; where Taught, steps so far
	Curves   map[string]Curve // by metric
	Problems []record.Outcome // of the held-out problems at the end, in their order
	Before   []record.Outcome // of the same before the first step; nil: not measured
	Kinds    []string         // of the same: the task of a mixture that each belongs to; nil: there is one
	Prompts  []string         // of the first of them, as far as the run has recorded them
}

// Curve is a metric over the tokens sampled, or over the steps of a run that is Taught. X rises.
type Curve struct{ X, Y []float64 }

// Read reads a finished run. Its curves are those of the steps that learn from rewards or, if there
// are none, of all that learn. The error is lines.ErrInput where the folder is none, or where nothing
// learns.
func Read(dir string, seed uint64) (*Trial, error) {
	t := &Trial{Seed: seed, Curves: map[string]Curve{}}
	taught := &Trial{Seed: seed, Taught: true, Curves: map[string]Curve{}}
	sampled := 0.0
	var evaluated metrics.Point // the newest
	err := metrics.Each(filepath.Join(dir, record.MetricsFile), func(p metrics.Point) error {
		before, measured := evaluated.Values[accuracy]
		if _, ok := p.Values[accuracy]; ok {
			evaluated = p
		}
		_, draws := p.Values["rollout/tokens"]
		_, learns := p.Values["optim/lr"]
		if draws {
			sampled += p.Values.Sampled()
		}
		if !draws || !learns && makes(p.Values) { // it learns from rows, or makes some, or measures
			if learns {
				taught.Tokens = append(taught.Tokens, float64(len(taught.Tokens)+1))
			}
			for name, v := range p.Values {
				taught.add(name, float64(len(taught.Tokens)), v)
			}
			return nil
		}
		if len(t.Tokens) == 0 && measured { // the accuracy before the first step is that at 0 tokens
			t.Curves[accuracy] = Curve{[]float64{0}, []float64{before}}
		}
		t.Tokens = append(t.Tokens, sampled)
		for name, v := range p.Values {
			t.add(name, sampled, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.Tokens) == 0 {
		t = taught
	}
	if len(t.Tokens) == 0 {
		return nil, fmt.Errorf("%w: run %s has no step that learns", lines.ErrInput, dir)
	}
	if err := t.readProblems(filepath.Join(dir, record.HeldOutFile)); err != nil {
		return nil, err
	}
	if err := t.readKinds(filepath.Join(dir, recipe.File)); err != nil {
		return nil, err
	}
	if err := t.readPrompts(filepath.Join(dir, record.EvaluationsFile), evaluated); err != nil {
		return nil, err
	}
	return t, nil
}

// Acts says whether a metric shows in some step of a run that something acts, see [metrics.Acts].
func Acts(dir, metric string) (acts bool, err error) {
	err = metrics.Each(filepath.Join(dir, record.MetricsFile), func(p metrics.Point) error {
		v, measured := p.Values[metric]
		acts = acts || measured && metrics.Acts(metric, v)
		return nil
	})
	return acts, err
}

// makes says whether a step made rows.
func makes(values metrics.Row) bool {
	for name := range values {
		if strings.HasPrefix(name, "made/rows/") {
			return true
		}
	}
	return false
}

// accuracy is the metric of the score on held-out problems.
const accuracy = "eval/pass@1"

func (t *Trial) add(name string, x, y float64) {
	if math.IsNaN(y) || math.IsInf(y, 0) {
		return
	}
	c := t.Curves[name]
	t.Curves[name] = Curve{append(c.X, x), append(c.Y, y)}
}

// readProblems takes the first and the last line of a run's log of held-out problems: the first
// if it is from before the first step.
func (t *Trial) readProblems(file string) error {
	read := 0
	err := record.Each(file, func(_ int, line record.HeldOut) error {
		if t.Problems = line.Problems; read == 0 && line.Step == 0 {
			t.Before = line.Problems
		}
		read++
		return nil
	})
	if err == nil && read == 0 {
		err = fmt.Errorf("%w: %s has no line", lines.ErrInput, file)
	}
	return err
}

// readKinds draws the held-out problems of the run's recipe, where its task is a mixture. A recipe that this
// version does not read has one task.
func (t *Trial) readKinds(file string) error {
	r, err := recipe.Load(file, nil)
	if err != nil || r.Task.Settings == nil || r.Task.Settings.Name() != tasks.MixtureName {
		return nil
	}
	rows, err := tasks.HeldOutRows(r.Task.Settings, len(t.Problems))
	for _, row := range rows {
		t.Kinds = append(t.Kinds, tasks.KindOf(r.Task.Settings, row))
	}
	return err
}

// readPrompts takes the problems of an evaluation from a run's log of them, which a run may
// lack.
func (t *Trial) readPrompts(file string, evaluated metrics.Point) error {
	err := record.Each(file, func(_ int, line record.Evaluation) error {
		if line.Step == evaluated.Step && line.Stage == evaluated.Stage {
			t.Prompts = append(t.Prompts, line.Prompt)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// shares are the chance of each held-out problem that one of k samples is right, 0..1;
// NaN where fewer than k were scored.
func shares(problems []record.Outcome, k int) []float64 {
	out := make([]float64, len(problems))
	for i, p := range problems {
		out[i] = stats.PassAtK(p.Scored, p.Right, k)
	}
	return out
}

// votes are 1 for each held-out problem whose commonest answer is right, and 0 for others; NaN where answers were not
// counted.
func votes(problems []record.Outcome) []float64 {
	out := make([]float64, len(problems))
	for i, p := range problems {
		switch {
		case !p.Voted:
			out[i] = math.NaN()
		case p.Elects:
			out[i] = 1
		}
	}
	return out
}

// scores are the mean scores of held-out problems; NaN where none was scored.
func scores(problems []record.Outcome) []float64 {
	out := make([]float64, len(problems))
	for i, p := range problems {
		out[i] = p.Score / float64(p.Scored)
	}
	return out
}

func finite(x []float64) []float64 {
	var out []float64
	for _, v := range x {
		if !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}
