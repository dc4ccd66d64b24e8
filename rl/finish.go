package rl

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/rlzero/rlzero/rl/report"
)

// Summary is what a finished run reached.
type Summary struct {
	Dir        string
	Checkpoint string // the trained model, a Hugging Face folder
	Example    string // a held-out prompt to try it with
	Results    []StageResult
	Elapsed    time.Duration
}

// StageResult is the held-out accuracy after a stage.
type StageResult struct {
	Stage  string
	PassAt map[int]float64
	Greedy float64
	Valid  float64
}

// finish writes the report and the curves and sums the run up.
func (s *session) finish(o Options, began time.Time) (*Summary, error) {
	ckpt, _, err := s.run.Latest()
	if err != nil {
		return nil, err
	}
	if err := s.logs.sync(); err != nil {
		return nil, err
	}
	if err := s.writeReceipt(o); err != nil {
		return nil, fmt.Errorf("receipt: %w", err)
	}
	r, err := report.Read(o.Dir) // after the receipt, which makes it a finished run's
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	files, err := r.Files()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	for name, data := range files {
		if err := s.run.WriteFile(name, data); err != nil {
			return nil, err
		}
	}
	var results []StageResult
	for _, e := range r.Evaluations {
		results = append(results, StageResult{e.Stage, e.PassAt, e.Greedy, e.Valid})
	}
	return &Summary{Dir: o.Dir, Checkpoint: filepath.Clean(ckpt.Dir()), Example: s.heldOut[0].Question, Results: results, Elapsed: time.Since(began)}, nil
}
