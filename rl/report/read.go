package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/recipe"
)

// Read collects a run folder. metrics.jsonl has to be there; of the other files,
// one that is missing is passed over, and one that cannot be read becomes a note
// on the page. A last line without its end is passed over: a run in progress is
// writing it. Such a run has no receipt yet, and so no Machine: a caller that knows
// it fills it in.
func Read(dir string) (*Run, error) {
	r := &Run{Name: filepath.Base(filepath.Clean(dir)), Plan: map[string]Plan{}}
	file := filepath.Join(dir, "metrics.jsonl")
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("a report needs the run's metrics: %w", err)
	}
	err = lines.Each(file, bytes.NewReader(whole(raw)), func(_ int, line []byte) error {
		p, err := parsePoint(line)
		if err == nil {
			r.Metrics = appendPoint(r.Metrics, p)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(r.Metrics) == 0 {
		return nil, fmt.Errorf("%s holds no step: there is nothing to report", file)
	}
	r.Evaluations = evaluations(r.Metrics)

	r.readRecipe(r.optional(dir, "recipe.toml"))
	r.noted("timing.jsonl", r.optional(dir, "timing.jsonl"), func(line []byte) error {
		p, err := parsePoint(line)
		if err == nil {
			r.Timing = appendPoint(r.Timing, p)
		}
		return err
	})
	r.noted("evaluations.jsonl", r.optional(dir, "evaluations.jsonl"), r.addSample)
	r.readGroups(dir)
	if receipt := r.optional(dir, "receipt.json"); receipt != nil {
		r.Finished = true
		if err := json.Unmarshal(receipt, &r.Machine); err != nil {
			r.Notes = append(r.Notes, fmt.Sprintf("receipt.json cannot be read: %v", err))
		}
	}
	return r, nil
}

// whole is a log without a last line that has no end.
func whole(raw []byte) []byte { return raw[:bytes.LastIndexByte(raw, '\n')+1] }

// optional reads a file that a run may lack; nil: there is none.
func (r *Run) optional(dir, name string) []byte {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Notes = append(r.Notes, fmt.Sprintf("%s cannot be read: %v", name, err))
	}
	return raw
}

// readRecipe takes from the recipe what the logs do not tell.
func (r *Run) readRecipe(raw []byte) {
	if raw == nil {
		return
	}
	r.Recipe = string(raw)
	rec, err := recipe.Parse("recipe.toml", r.Recipe, nil)
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the recipe cannot be read, so its formula is missing: %v", err))
		return
	}
	r.Name, r.About = rec.Name, rec.About
	for i := range rec.Stages {
		st := &rec.Stages[i]
		plan := Plan{MaxCompletion: rec.MaxCompletion(st)}
		if st.Kind == recipe.KindRL {
			plan.Steps = st.RL.Steps
			if method, err := st.Compiled(); err == nil {
				r.Formula = method.Text()
			}
		}
		r.Plan[st.Name] = plan
	}
}

// noted reads the whole lines of an optional file up to the first bad one.
func (r *Run) noted(name string, raw []byte, do func([]byte) error) {
	if err := lines.Each(name, bytes.NewReader(whole(raw)), func(_ int, line []byte) error { return do(line) }); err != nil {
		r.Notes = append(r.Notes, err.Error()+"; the rest of the file is left out")
	}
}

// parsePoint reads {"step":1,"stage":"rl","reward/mean":0.5,...}. null is NaN; a
// value that is no number is none of the report's.
func parsePoint(line []byte) (Point, error) {
	var head struct {
		Step  *int   `json:"step"`
		Stage string `json:"stage"`
	}
	var all map[string]any
	if err := errors.Join(json.Unmarshal(line, &head), json.Unmarshal(line, &all)); err != nil {
		return Point{}, fmt.Errorf("not a JSON object with a whole step and a stage's name: %w", err)
	}
	if head.Step == nil {
		return Point{}, errors.New(`no "step"; accepted: {"step":1,"stage":"...",...}`)
	}
	p := Point{Step: *head.Step, Stage: head.Stage, Values: map[string]float64{}}
	delete(all, "step")
	for name, v := range all {
		switch v := v.(type) {
		case float64:
			p.Values[name] = v
		case nil:
			p.Values[name] = math.NaN()
		}
	}
	return p, nil
}

// appendPoint adds a point; a second line of the same step completes the first,
// as the evaluation after a stage does.
func appendPoint(points []Point, p Point) []Point {
	n := len(points)
	if n == 0 || points[n-1].Step != p.Step || points[n-1].Stage != p.Stage {
		return append(points, p)
	}
	for name, v := range p.Values {
		points[n-1].Values[name] = v
	}
	return points
}

// evaluations are the accuracy before the first step, and the last that was measured
// in each stage.
func evaluations(points []Point) []Evaluation {
	var out []Evaluation
	for _, p := range points {
		e := Evaluation{Step: p.Step, Stage: p.Stage, PassAt: map[int]float64{}, Greedy: value(p, "eval/greedy"), Valid: value(p, "eval/valid")}
		for name, v := range p.Values {
			if k, ok := passK(name); ok {
				e.PassAt[k] = v
			}
		}
		if len(e.PassAt) == 0 {
			continue
		}
		e.Problems, e.PerOne = int(p.Values["eval/problems"]), int(p.Values["eval/samples"])
		e.Low, e.High = p.interval()
		if n := len(out); n > 0 && out[n-1].Stage == e.Stage && out[n-1].Step > 0 {
			out[n-1] = e
		} else {
			out = append(out, e)
		}
	}
	return out
}

func value(p Point, name string) float64 {
	if v, ok := p.Values[name]; ok {
		return v
	}
	return math.NaN()
}

// addSample files a line of evaluations.jsonl under its stage's evaluation.
func (r *Run) addSample(line []byte) error {
	var s struct {
		Step  int    `json:"step"`
		Stage string `json:"stage"`
		Sample
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("not a JSON object of the expected keys: %w", err)
	}
	for i := range r.Evaluations {
		if e := &r.Evaluations[i]; e.Step == s.Step && e.Stage == s.Stage {
			e.Samples = append(e.Samples, s.Sample)
		}
	}
	return nil
}
