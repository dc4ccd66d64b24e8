package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/algo/stats"
	"github.com/rlzero/rlzero/rl/metrics"
)

// Trial is a run of an arm with one seed.
type Trial struct {
	Seed     uint64
	Tokens   []float64        // [step] sampled up to the end of the step
	Curves   map[string]Curve // by metric
	Problems []Outcome        // of the held-out problems at the end, in their order
	Before   []Outcome        // of the same before the first step; nil: not measured
	Prompts  []string         // of the first of them, as far as the run has recorded them
}

// Outcome is what a held-out problem came to.
type Outcome struct {
	Scored int     `json:"scored"` // completions
	Right  int     `json:"right"`
	Score  float64 `json:"score"` // sum over them
}

// Curve is a metric over the tokens sampled. X rises.
type Curve struct{ X, Y []float64 }

// Read reads a finished run. The error is lines.ErrInput where the folder is none, or
// has no stage that learns from rewards.
func Read(dir string, seed uint64) (*Trial, error) {
	points, err := metrics.Read(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	t := &Trial{Seed: seed, Curves: map[string]Curve{}}
	sampled := 0.0
	var evaluated metrics.Point // the newest
	for _, p := range points {
		before, measured := evaluated.Values[accuracy]
		if _, ok := p.Values[accuracy]; ok {
			evaluated = p
		}
		if _, ok := p.Values["rollout/tokens"]; !ok {
			continue
		}
		if len(t.Tokens) == 0 && measured { // the accuracy before the first step is that at 0 tokens
			t.Curves[accuracy] = Curve{[]float64{0}, []float64{before}}
		}
		sampled += p.Values.Sampled()
		t.Tokens = append(t.Tokens, sampled)
		for name, v := range p.Values {
			t.add(name, sampled, v)
		}
	}
	if len(t.Tokens) == 0 {
		return nil, fmt.Errorf("%w: run %s has no step that learns from rewards", lines.ErrInput, dir)
	}
	if err := t.readProblems(filepath.Join(dir, "heldout.jsonl")); err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	if err := t.readPrompts(filepath.Join(dir, "evaluations.jsonl"), evaluated); err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return t, nil
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
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for _, n := range []int{0, len(all) - 1} {
		var line struct {
			Step     int
			Problems []Outcome
		}
		if err := json.Unmarshal(all[n], &line); err != nil {
			return fmt.Errorf("%s: line %d: %w", file, n+1, err)
		}
		if t.Problems = line.Problems; n == 0 && line.Step == 0 {
			t.Before = line.Problems
		}
	}
	return nil
}

// readPrompts takes the problems of an evaluation from a run's log of them, which a run may
// lack.
func (t *Trial) readPrompts(file string, evaluated metrics.Point) error {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return lines.Each(file, f, func(_ int, raw []byte) error {
		var line struct {
			Step          int
			Stage, Prompt string
		}
		if err := json.Unmarshal(raw, &line); err != nil {
			return fmt.Errorf("not a JSON object of the expected keys: %w", err)
		}
		if line.Step == evaluated.Step && line.Stage == evaluated.Stage {
			t.Prompts = append(t.Prompts, line.Prompt)
		}
		return nil
	})
}

// shares are the chance of each held-out problem that one of k samples is right, 0..1;
// NaN where fewer than k were scored.
func shares(problems []Outcome, k int) []float64 {
	out := make([]float64, len(problems))
	for i, p := range problems {
		out[i] = stats.PassAtK(p.Scored, p.Right, k)
	}
	return out
}

// scores are the mean scores of held-out problems; NaN where none was scored.
func scores(problems []Outcome) []float64 {
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
