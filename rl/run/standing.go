package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/store"
)

// Standing has the results of the evaluations of a run, as in store.ResultFile: at its start, at
// its best and last, and which model it offers.
type Standing struct {
	store.Choice
	BelowStart bool        `json:"below_start"`      // the last evaluation is below the first, beyond chance
	Start      *Evaluation `json:"start,omitempty"`  // the first of all held-out problems
	Best       *Evaluation `json:"best,omitempty"`   // whose model is kept
	Last       *Evaluation `json:"last,omitempty"`   //
	Gain       *Difference `json:"gain,omitempty"`   // of the last and the start
	Behind     *Difference `json:"behind,omitempty"` // of the last and the best
}

// Evaluation is one of held-out problems.
type Evaluation struct {
	Step     int     `json:"step"` // of the run
	Stage    string  `json:"stage"`
	Problems int     `json:"problems"`
	Samples  int     `json:"samples"` // of each
	Mean     float64 `json:"mean"`    // score, over problems

	outcomes []record.Outcome
}

// Difference is that of two evaluations on the problems that both have, with its 95 % interval: by
// how much the later one is above the earlier.
type Difference struct {
	Problems int     `json:"problems"`
	From     float64 `json:"from"` // mean score of the earlier one on these problems
	To       float64 `json:"to"`
	Mean     float64 `json:"mean"` // of their differences
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}

// standing observes the evaluations of a run. It keeps the model of the best one, and says where the
// run stands.
type standing struct {
	Standing
	keep   bool
	folder *store.Run
	policy *cast.Policy
	made   func() map[string]func(io.Writer) error // files of models from random weights that tools may ask; nil: there are none
	stages []recipe.Stage
}

// ofPolicy says whether the evaluations of a stage are of the policy, and not of another model that
// the stage trains.
func (s *standing) ofPolicy(stage string) bool {
	return !slices.ContainsFunc(s.stages, func(st recipe.Stage) bool { return st.Name == stage && st.Learner() != recipe.PolicyModel })
}

// bestOutcomes has, beside a best model, the result of each held-out problem.
const bestOutcomes = "heldout.json"

// on implements observer.
func (s *standing) on(e event) error {
	result := e.Result
	if e.Kind == stepped {
		result = e.HeldOut
	}
	if result == nil || !s.ofPolicy(e.Stage) {
		return nil
	}
	now := evaluationOf(record.HeldOut{Step: e.At.Total, Stage: e.Stage, Samples: result.Samples, Problems: result.Outcomes()})
	if now == nil {
		return nil
	}
	if s.Start == nil && e.Kind == measured {
		s.Start = now
	}
	s.Last = now
	if s.keep && s.better(now) {
		if err := s.save(now); err != nil {
			return err
		}
		s.Best = now
	}
	return s.write()
}

// evaluationOf is nil where nothing was judged.
func evaluationOf(line record.HeldOut) *Evaluation {
	var means []float64
	for _, o := range line.Problems {
		if o.Scored > 0 {
			means = append(means, o.Score/float64(o.Scored))
		}
	}
	if means == nil {
		return nil
	}
	return &Evaluation{line.Step, line.Stage, len(line.Problems), line.Samples, compare.Mean(means).Mean, line.Problems}
}

// better says whether an evaluation is the best so far, on the problems that it shares with the one
// that was. Another one of the same weights is not.
func (s *standing) better(now *Evaluation) bool {
	if s.Best == nil {
		return true
	}
	d := difference(s.Best, now)
	return now.Step != s.Best.Step && d != nil && d.Mean > 0
}

// save keeps the model of an evaluation as the best.
func (s *standing) save(now *Evaluation) error {
	files, err := s.policy.Folder()
	if err != nil {
		return err
	}
	if s.made != nil {
		maps.Copy(files, s.made())
	}
	files[bestOutcomes] = func(w io.Writer) error {
		return json.NewEncoder(w).Encode(record.HeldOut{Step: now.Step, Stage: now.Stage, Samples: now.Samples, Problems: now.outcomes})
	}
	return s.folder.SaveBest(now.Step, files)
}

// write says where the run stands.
func (s *standing) write() error {
	s.Gain, s.Behind, s.BelowStart = nil, nil, false
	if s.Start != nil && s.Last != nil && s.Start.Step != s.Last.Step {
		s.Gain = difference(s.Start, s.Last)
		s.BelowStart = s.Gain != nil && s.Gain.High < 0
	}
	if s.Best != nil && s.Last != nil && s.Best.Step != s.Last.Step {
		s.Behind = difference(s.Best, s.Last)
	}
	s.Choice = s.choose()
	text, err := json.MarshalIndent(s.Standing, "", "  ")
	if err != nil {
		return err
	}
	return s.folder.WriteFile(store.ResultFile, append(text, '\n'))
}

// choose takes the last checkpoint, unless its evaluation is below the best beyond the interval of
// their difference on the same problems.
func (s *standing) choose() store.Choice {
	take, why := store.TakeLast, ""
	switch d := s.Behind; {
	case s.Best == nil:
		why = "no best model is kept"
	case s.Last == nil:
		why = "nothing was evaluated since the run continued"
	case d == nil || d.Mean >= 0:
		why = "no evaluation was better"
	case d.High < 0:
		take, why = store.TakeBest, fmt.Sprintf("the last evaluation, at step %d, is below the best, at step %d: %s. The best was chosen for its figure, so that figure is likely too high", s.Last.Step, s.Best.Step, d)
	default:
		why = fmt.Sprintf("the last evaluation, at step %d, is not below the best, at step %d, beyond chance: %s", s.Last.Step, s.Best.Step, d)
	}
	return store.Choice{Take: take, Why: why}
}

// String is the difference for people.
func (d *Difference) String() string {
	return fmt.Sprintf("%.1f %% against %.1f %%, a difference of %.1f points (95 %%: %.1f to %.1f, on the same %s)",
		100*d.To, 100*d.From, 100*d.Mean, 100*d.Low, 100*d.High, terminal.Count(d.Problems, "problem", ""))
}

// difference is nil where nothing says how much it varies: fewer than two problems are in both.
func difference(from, to *Evaluation) *Difference {
	var a, b []float64
	for p := range min(len(from.outcomes), len(to.outcomes)) {
		x, y := from.outcomes[p], to.outcomes[p]
		if x.Scored > 0 && y.Scored > 0 {
			a, b = append(a, x.Score/float64(x.Scored)), append(b, y.Score/float64(y.Scored))
		}
	}
	i := compare.Paired([][]float64{a}, [][]float64{b})
	if len(a) < 2 {
		return nil
	}
	return &Difference{Problems: len(a), From: compare.Mean(a).Mean, To: compare.Mean(b).Mean, Mean: i.Mean, Low: i.Low, High: i.High}
}

// resume goes back to where the run stood after a step, which it continues from. Of an evaluation
// since then nothing is known: it is made again.
func (s *standing) resume(dir string, step int) error {
	start, err := heldOutIn(filepath.Join(dir, record.HeldOutFile), s.ofPolicy)
	if err != nil {
		return err
	}
	var best *Evaluation
	if model, err := store.BestModel(store.OS(), dir); err != nil {
		return err
	} else if model != nil && s.keep {
		if best, err = heldOutIn(filepath.Join(model.Dir(), bestOutcomes), s.ofPolicy); err != nil {
			return err
		}
	}
	text, err := store.Results(dir)
	stands := err == nil && json.Unmarshal(text, &s.Standing) == nil && s.Last != nil && s.Last.Step <= step
	if !stands {
		s.Last = nil
	}
	s.Start, s.Best = start, best
	switch {
	case stands:
		return nil
	case start == nil && best == nil:
		return s.folder.RemoveFile(store.ResultFile)
	}
	return s.write()
}

// errFirst ends the reading of a log after its first line.
var errFirst = errors.New("that is all")

// heldOutIn is the first evaluation of a file that is of some stages; nil: it has none.
func heldOutIn(file string, of func(stage string) bool) (first *Evaluation, err error) {
	err = record.Each(file, func(_ int, line record.HeldOut) error {
		if !of(line.Stage) {
			return nil
		}
		first = evaluationOf(line)
		return errFirst
	})
	if errors.Is(err, errFirst) {
		err = nil
	}
	return first, err
}
