package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/rlzero/rlzero/rl/algo/stats"
	"github.com/rlzero/rlzero/rl/lines"
	"github.com/rlzero/rlzero/rl/report"
)

// Trial is a run of an arm with one seed.
type Trial struct {
	Seed     uint64
	Tokens   []float64        // [step] sampled up to the end of the step
	Curves   map[string]Curve // by metric
	Problems []Outcome        // of the held-out problems at the end, in their order
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
	r, err := report.Read(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	t := &Trial{Seed: seed, Curves: map[string]Curve{}}
	if n := len(r.Evaluations); n > 0 {
		for _, s := range r.Evaluations[n-1].Samples {
			t.Prompts = append(t.Prompts, s.Prompt)
		}
	}
	sampled := 0.0
	for _, p := range r.Metrics {
		tokens, ok := p.Values["rollout/tokens"]
		if !ok {
			continue
		}
		if len(t.Tokens) == 0 {
			t.startOf(r, p.Step)
		}
		sampled += tokens
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
	return t, nil
}

// startOf puts the accuracy before the first step at 0 tokens.
func (t *Trial) startOf(r *report.Run, first int) {
	for _, e := range r.Evaluations {
		if mean, ok := e.PassAt[1]; ok && e.Step < first {
			t.Curves[accuracy] = Curve{[]float64{0}, []float64{mean}}
		}
	}
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

// readProblems takes the last line of a run's log of held-out problems.
func (t *Trial) readProblems(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	all := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var line struct{ Problems []Outcome }
	if err := json.Unmarshal(all[len(all)-1], &line); err != nil {
		return fmt.Errorf("%s: line %d: %w", file, len(all), err)
	}
	t.Problems = line.Problems
	return nil
}

// shares are the chance of each held-out problem that one of k samples is right, 0..1;
// NaN where fewer than k were scored.
func (t *Trial) shares(k int) []float64 {
	out := make([]float64, len(t.Problems))
	for i, p := range t.Problems {
		out[i] = stats.PassAtK(p.Scored, p.Right, k)
	}
	return out
}

// scores are the mean scores of the held-out problems; NaN where none was scored.
func (t *Trial) scores() []float64 {
	out := make([]float64, len(t.Problems))
	for i, p := range t.Problems {
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
