package rl

import (
	"errors"
	"math"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/store"
)

// evaluationLines is how many held-out problems of an evaluation are shown in
// evaluations.jsonl.
const evaluationLines = 64

// logs are what a run appends to. All of them go back to a checkpoint together,
// so that none holds a step twice after a resume.
type logs struct {
	run         *store.Run
	metrics     *metrics.Writer // metrics.jsonl: equal bytes in equal runs
	timing      *metrics.Writer // timing.jsonl: wall times
	completions *store.Log
	evaluations *store.Log
	open        []*store.Log
}

func openLogs(run *store.Run) (logs, error) {
	l := logs{run: run}
	for _, name := range []string{"metrics.jsonl", "timing.jsonl", "completions.jsonl", "evaluations.jsonl"} {
		log, err := run.Log(name)
		if err != nil {
			return l, err
		}
		l.open = append(l.open, log)
	}
	l.metrics, l.timing = metrics.NewWriter(l.open[0].Append), metrics.NewWriter(l.open[1].Append)
	l.completions, l.evaluations = l.open[2], l.open[3]
	return l, nil
}

// rewind cuts the logs back to what they were at a checkpoint, to nothing if it
// is nil.
func (l logs) rewind(ckpt *store.Checkpoint) error { return l.run.Rewind(ckpt) }

// sync makes what was appended durable.
func (l logs) sync() error { return l.each((*store.Log).Sync) }

func (l logs) close() error { return l.each((*store.Log).Close) }

func (l logs) each(do func(*store.Log) error) error {
	var errs []error
	for _, log := range l.open {
		errs = append(errs, do(log))
	}
	return errors.Join(errs...)
}

// completionLine is a line of completions.jsonl.
type completionLine struct {
	Step       int      `json:"step"`
	Stage      string   `json:"stage"`
	PromptID   string   `json:"prompt_id"`
	Group      int      `json:"group"`
	Sample     int      `json:"sample"`
	Prompt     string   `json:"prompt"`
	Completion string   `json:"completion"`
	Reward     *float64 `json:"reward"`  // null: not scored
	Verdict    string   `json:"verdict"` // of the task
	Reason     string   `json:"reason"`
	Advantage  *float64 `json:"advantage"` // null: has none
	Tokens     int      `json:"tokens"`    // the end token included
	Stop       string   `json:"stop"`

	Terms     map[string]*float64 `json:"terms,omitempty"`      // of a composed reward; null: not scored
	NotScored string              `json:"not_scored,omitempty"` // why there is no reward
}

// logCompletions records the completions of the step in progress.
func (s *session) logCompletions(cs []completion, scores reward.Scores, adv []float64) error {
	stage := s.recipe.Stages[s.state.Stage].Name
	for i, c := range cs {
		var terms map[string]*float64 // written in the order of their names
		for _, t := range scores.Terms {
			if terms == nil {
				terms = map[string]*float64{}
			}
			terms[t.Name] = finite(t.Values[i])
		}
		err := s.logs.completions.Append(completionLine{
			Step: s.state.Total + 1, Stage: stage, PromptID: c.row.ID, Group: c.group, Sample: c.sample,
			Prompt: c.row.Question, Completion: c.text, Reward: finite(scores.Reward[i]),
			Verdict: c.verdict.Verdict, Reason: c.verdict.Reason, Advantage: finite(adv[i]),
			Tokens: len(c.IDs), Stop: c.Stop, Terms: terms, NotScored: scores.Why[i],
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// finite is nil, JSON's null, for NaN and infinities.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// evaluationLine is a line of evaluations.jsonl.
type evaluationLine struct {
	Step       int    `json:"step"`
	Stage      string `json:"stage"`
	Prompt     string `json:"prompt"`
	Completion string `json:"completion"`
	Verdict    string `json:"verdict"`
	Reason     string `json:"reason"`
}

// logEvaluation records the first sample of each of the first held-out problems.
func (s *session) logEvaluation(st *recipe.Stage, ev *evaluation) error {
	shown := 0
	for _, c := range ev.Completion {
		if c.sample != 0 {
			continue
		}
		if shown == evaluationLines {
			break
		}
		shown++
		err := s.logs.evaluations.Append(evaluationLine{s.state.Total, st.Name, c.row.Question, c.text, c.verdict.Verdict, c.verdict.Reason})
		if err != nil {
			return err
		}
	}
	return nil
}
