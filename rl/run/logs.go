package run

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
)

// evaluationLines is how many held-out problems of an evaluation are shown in
// evaluations.jsonl.
const evaluationLines = 64

// logs observes a run and writes what happens to its folder. All of them go back to a
// checkpoint together, so that none holds a step twice after a resume.
type logs struct {
	metrics     *metrics.Writer // metrics.jsonl: equal bytes in equal runs
	timing      *metrics.Writer // timing.jsonl: wall-clock times
	completions *store.Log
	evaluations *store.Log
	heldOut     *store.Log // scores of all held-out problems
	tokens      *store.Log
	alerts      *store.Log
	schedule    *store.Log // nil: no stage has order = "arrival"
	open        []*store.Log
}

func openLogs(run *store.Run, schedule bool) (*logs, error) {
	l := &logs{}
	names := []string{"metrics.jsonl", "timing.jsonl", "completions.jsonl", "evaluations.jsonl", "heldout.jsonl", "tokens.jsonl", "alerts.jsonl"}
	if schedule {
		names = append(names, train.ScheduleFile)
	}
	for _, name := range names {
		log, err := run.Log(name)
		if err != nil {
			return l, err
		}
		l.open = append(l.open, log)
	}
	l.metrics, l.timing = metrics.NewWriter(l.open[0].Append), metrics.NewWriter(l.open[1].Append)
	l.completions, l.evaluations, l.heldOut, l.tokens, l.alerts = l.open[2], l.open[3], l.open[4], l.open[5], l.open[6]
	if schedule {
		l.schedule = l.open[7]
	}
	return l, nil
}

// on implements observer.
func (l *logs) on(e event) error {
	switch e.Kind {
	case stepped:
		return errors.Join(l.writeSchedule(e), l.writeCompletions(e), l.metrics.Append(e.At.Total, e.Stage, e.Metrics), l.timing.Append(e.At.Total, e.Stage, e.Timing))
	case refused:
		return l.writeCompletions(e)
	case measured:
		return errors.Join(l.metrics.Append(e.At.Total, e.Stage, e.Metrics), l.writeEvaluation(e.At.Total, e.Stage, e.Result))
	}
	return nil
}

// sync makes what was appended durable.
func (l *logs) sync() error { return l.each((*store.Log).Sync) }

func (l *logs) close() error { return l.each((*store.Log).Close) }

func (l *logs) each(do func(*store.Log) error) error {
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
	Answer     string   `json:"answer,omitempty"` // the reference answer, where the problem has one
	Completion string   `json:"completion"`
	Reward     *float64 `json:"reward"`  // what is trained on; null: not scored
	Verdict    string   `json:"verdict"` // of the task
	Reason     string   `json:"reason"`
	Advantage  *float64 `json:"advantage"` // null: has none
	Tokens     int      `json:"tokens"`    // the end token included
	Stop       string   `json:"stop"`

	Terms     map[string]*float64 `json:"terms,omitempty"`      // of a composed reward; null: not scored
	NotScored string              `json:"not_scored,omitempty"` // why there is no reward

	Context map[string]json.RawMessage `json:"context,omitempty"` // what the prompt was written from besides: messages, tools
}

// writeSchedule records which groups a step learned from, if that was not said by its number.
func (l *logs) writeSchedule(e event) error {
	if e.Arrived == nil {
		return nil
	}
	return l.schedule.Append(train.ScheduleLine{Step: e.At.Total, Stage: e.Stage, Groups: e.Arrived})
}

// writeCompletions records the completions of a step.
func (l *logs) writeCompletions(e event) error {
	for i := range e.Completions {
		if err := l.completions.Append(lineOf(e, &e.Completions[i])); err != nil {
			return err
		}
	}
	return nil
}

func lineOf(e event, c *train.Completion) completionLine {
	var terms map[string]*float64 // written in the order of their names
	for _, t := range c.Terms {
		if terms == nil {
			terms = map[string]*float64{}
		}
		terms[t.Name] = finite(t.Value)
	}
	v := c.Verdict()
	return completionLine{
		Step: e.At.Total, Stage: e.Stage, PromptID: c.From.Problem.ID, Group: c.Group, Sample: c.Sample,
		Prompt: c.From.Problem.Question, Answer: c.From.Problem.Answer, Completion: c.Path().Text, Reward: finite(c.Reward),
		Verdict: v.Verdict, Reason: v.Reason, Advantage: finite(c.Advantage),
		Tokens: c.View.Tokens(), Stop: string(c.View.Stop), Terms: terms, NotScored: c.NotScored,
		Context: prompts.Context(c.From.Problem),
	}
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

	Context map[string]json.RawMessage `json:"context,omitempty"` // as in completionLine
}

// heldOutLine is a line of heldout.jsonl: what each held-out problem of an evaluation
// came to, in their order, which is that of every run with the same task.
type heldOutLine struct {
	Step     int            `json:"step"`
	Stage    string         `json:"stage"`
	Samples  int            `json:"samples"` // of each problem
	Problems []eval.Outcome `json:"problems"`
}

// writeEvaluation records the outcome of every held-out problem, and the first sample
// of each of the first.
func (l *logs) writeEvaluation(step int, stage string, r *eval.Result) error {
	if err := l.heldOut.Append(heldOutLine{step, stage, r.Samples, r.Outcomes()}); err != nil {
		return err
	}
	for _, g := range r.Groups[:min(len(r.Groups), evaluationLines)] {
		v := g.Paths[0].Verdict()
		if err := l.evaluations.Append(evaluationLine{step, stage, g.Problem.Question, g.Paths[0].Text, v.Verdict, v.Reason, prompts.Context(g.Problem)}); err != nil {
			return err
		}
	}
	return nil
}
