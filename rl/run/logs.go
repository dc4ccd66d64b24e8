package run

import (
	"cmp"
	"errors"
	"math"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/eval"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/train"
	"github.com/rlzero/rlzero/rl/watch"
	"github.com/rlzero/rlzero/rl/world"
)

// evaluationLines is how many held-out problems of an evaluation are shown in
// evaluations.jsonl.
const evaluationLines = 64

// logs observes a run and writes what happens to its folder. All of them go back to a
// checkpoint together, so that none holds a step twice after a resume.
type logs struct {
	metrics     *metrics.Writer // equal bytes in equal runs
	timing      *metrics.Writer // wall-clock times
	completions record.Writer[record.Completion]
	evaluations record.Writer[record.Evaluation]
	heldOut     record.Writer[record.HeldOut]
	tokens      record.Writer[record.Tokens]
	alerts      record.Writer[watch.Alert]
	schedule    record.Writer[record.Schedule]  // of a run that has a stage with order = "arrival"
	judgements  record.Writer[record.Judgement] // of a run that has judges
	judges      map[string][]string             // [stage] names of the verifiers whose verdicts a completion has; nil: no judge is among them
	updates     record.Writer[record.Update]    // of a run that has a stage with several updates a step
	pieces      func(ids []int) []string        // text that each token of a completion adds
	made        madeLog                         // of a run that makes rows
	open        []*store.Log
}

func openLogs(run *store.Run, r *recipe.Recipe, pieces func(ids []int) []string) (*logs, error) {
	l := &logs{pieces: pieces}
	var failed error
	opened := func(name string) *store.Log {
		if failed != nil {
			return nil
		}
		log, err := run.Log(name)
		if err != nil {
			failed = err
			return nil
		}
		l.open = append(l.open, log)
		return log
	}
	open := func(name string) func(v any) error {
		if log := opened(name); log != nil {
			return log.Append
		}
		return nil
	}
	l.metrics, l.timing = metrics.NewWriter(open(record.MetricsFile)), metrics.NewWriter(open(record.TimingFile))
	l.completions = record.NewWriter[record.Completion](open(record.CompletionsFile))
	l.evaluations = record.NewWriter[record.Evaluation](open(record.EvaluationsFile))
	l.heldOut = record.NewWriter[record.HeldOut](open(record.HeldOutFile))
	l.tokens = record.NewWriter[record.Tokens](open(record.TokensFile))
	l.alerts = record.NewWriter[watch.Alert](open(record.AlertsFile))
	if len(r.Judges()) > 0 {
		l.judgements, l.judges = record.NewWriter[record.Judgement](open(record.JudgementsFile)), map[string][]string{}
		for _, st := range r.Stages {
			l.judges[st.Name] = []string{"task"}
			for _, v := range st.Verifiers {
				l.judges[st.Name] = append(l.judges[st.Name], v.Name)
			}
		}
	}
	if r.Arrives() {
		l.schedule = record.NewWriter[record.Schedule](open(record.ScheduleFile))
	}
	if r.SeveralUpdates() {
		l.updates = record.NewWriter[record.Update](open(record.UpdatesFile))
	}
	if r.MakesRows() {
		l.made.log = opened(record.MadeFile)
	}
	return l, failed
}

// on implements observer.
func (l *logs) on(e event) error {
	switch e.Kind {
	case stepped:
		return errors.Join(l.writeSchedule(e), l.writeUpdates(e), l.writeCompletions(e), l.made.write(e), l.metrics.Append(e.At.Total, e.Stage, e.Metrics), l.timing.Append(e.At.Total, e.Stage, e.Timing))
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

// writeSchedule records which groups a step learned from, if that was not said by its number.
func (l *logs) writeSchedule(e event) error {
	if e.Arrived == nil {
		return nil
	}
	return l.schedule.Append(record.Schedule{Step: e.At.Total, Stage: e.Stage, Groups: e.Arrived})
}

// writeUpdates records the updates of a step that has several.
func (l *logs) writeUpdates(e event) error {
	for _, u := range e.Updates {
		u.Step, u.Stage = e.At.Total, e.Stage
		if err := l.updates.Append(u); err != nil {
			return err
		}
	}
	return nil
}

// writeCompletions records the completions of a step.
func (l *logs) writeCompletions(e event) error {
	for i := range e.Completions {
		if err := errors.Join(l.completions.Append(l.lineOf(e, &e.Completions[i], e.Lesson(i))), l.writeJudgements(e, &e.Completions[i])); err != nil {
			return err
		}
	}
	return nil
}

// writeJudgements records what judges said about a completion.
func (l *logs) writeJudgements(e event, c *train.Completion) error {
	if l.judges == nil {
		return nil
	}
	for k, v := range c.Path().Verdicts {
		for _, o := range v.Opinions {
			if c.Group > 0 { // one group shows what is asked
				o.Asked = ""
			}
			line := record.Judgement{Step: e.At.Total, Stage: e.Stage, Group: c.Group, Sample: c.Sample, Verifier: l.judges[e.Stage][k], Opinion: o}
			if err := l.judgements.Append(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// lineOf is what the log says of a completion: the one place where it becomes a line.
func (l *logs) lineOf(e event, c *train.Completion, learned train.Lesson) record.Completion {
	var terms map[string]*float64 // written in the order of their names
	for _, t := range c.Score.Terms {
		if terms == nil {
			terms = map[string]*float64{}
		}
		terms[t.Name] = finite(t.Value)
	}
	var truth *float64
	if c.Truth != nil {
		truth = finite(c.Truth.Reward)
	}
	v := c.Verdict()
	nodes, branch := treeOf(c.From, c.Sample, l.pieces)
	prompt, seat, against, game := c.From.Problem.Question, c.Origin.Seat, "", 0
	if sat := c.Path().Sat; sat != nil {
		prompt, game = cmp.Or(sat.Asked, prompt), sat.Game
		seat, _ = c.From.Problem.Text(rollout.MemberSeat)
		against, _ = c.From.Problem.Text(rollout.MemberAgainst)
	}
	return record.Completion{
		Step: e.At.Total, Stage: e.Stage, PromptID: c.From.Problem.ID, Group: c.Group, Sample: c.Sample,
		Prompt: prompt, Answer: c.From.Problem.Answer, Text: c.Path().Text, Reward: finite(c.Score.Reward),
		Verdict: v.Verdict, Reason: v.Reason, Advantage: finite(learned.Advantage),
		Tokens: c.View.Tokens(), Stop: string(c.View.Stop), Terms: terms, NotScored: c.Score.NotScored,
		Origin: originOf(&c.Origin), Context: prompts.Context(c.From.Problem), Turns: turnsOf(c.From, c.Sample), Limit: string(c.View.Limit), Truth: truth,
		Nodes: nodes, Branch: branch, Seat: seat, Game: game, Against: against,
	}
}

// treeOf is where a completion is in the tree of its group; nil: the group has none.
func treeOf(g *rollout.Group, sample int, pieces func(ids []int) []string) (nodes []record.Node, branch *record.Branch) {
	if !g.Forks() {
		return nil, nil
	}
	first := map[int]bool{} // nodes that no completion before this one goes through
	for path := range sample + 1 {
		for _, at := range g.Nodes(path) {
			_, known := first[at]
			first[at] = !known && path == sample
		}
	}
	v := g.View(sample)
	var texts []string // of each token that the policy wrote
	for _, s := range v.Spans {
		texts = append(texts, pieces(v.IDs[s.From:s.To])...)
	}
	from := 0
	for _, at := range g.Nodes(sample) {
		s := &g.Segments[at]
		n := record.Node{Node: at, Parent: s.Parent, Tokens: len(s.IDs)}
		if first[at] {
			n.Text = strings.Join(texts[from:from+n.Tokens], "")
		}
		nodes, from = append(nodes, n), from+n.Tokens
	}
	if key := g.Segments[g.Paths[sample].Leaf].Drawn.Key; key.Purpose == random.Branch {
		branch = &record.Branch{Number: int(key.Stream)}
		for _, at := range g.Nodes(sample) {
			s := &g.Segments[at]
			if s.Drawn.Key != key {
				branch.After += len(s.IDs)
			} else if branch.Without == nil { // the first: later turns begin with any
				branch.Without = s.Drawn.Params.Without
			}
		}
	}
	return nodes, branch
}

// turnsOf is what was said in an episode; nil: the completion is one answer.
func turnsOf(g *rollout.Group, sample int) []record.Turn {
	var out []record.Turn
	said := func(messages []world.Message) {
		for _, m := range messages {
			line := record.Turn{By: record.ByWorld, Text: m.Text}
			if m.Role != world.User {
				line.Role = m.Role
			}
			out = append(out, line)
		}
	}
	said(g.Opening)
	var heard []rollout.Said // of other seats, not told so far
	if sat := g.Paths[sample].Sat; sat != nil {
		heard = sat.Heard
	}
	others := func(turns int) {
		for len(heard) > 0 && heard[0].After <= turns {
			out, heard = append(out, record.Turn{By: heard[0].Seat, Text: heard[0].Text}), heard[1:]
		}
	}
	others(0)
	own, fresh := -1, false // place of the policy's turn before; the context began anew after it
	for _, at := range g.Way(sample) {
		s := &g.Segments[at]
		switch {
		case s.Author == rollout.Outside && own >= 0:
			out[own].Read, fresh = len(s.IDs), s.Fresh
		case s.Turn != nil:
			own = len(out)
			out = append(out, record.Turn{By: record.ByPolicy, Text: s.Turn.Text, Tokens: len(s.IDs), Summary: s.Turn.Sums, Fresh: fresh, Reward: s.Turn.Reward, State: s.Turn.State, Facts: s.Turn.Facts, Calls: calledIn(s.Turn)})
			others(s.Turn.At)
			said(s.Turn.Reply)
		}
	}
	return out
}

// calledIn are the calls of a turn.
func calledIn(t *rollout.Turn) []record.Called {
	var out []record.Called
	for _, c := range t.Calls {
		out = append(out, record.Called(c))
	}
	return out
}

// originOf is what a line says of a completion that was not sampled afresh.
func originOf(o *train.Origin) string {
	switch {
	case o.Foreign:
		return "foreign"
	case o.Hinted:
		return "hinted"
	case o.Second:
		return "again"
	}
	return ""
}

// finite is nil, JSON's null, for NaN and infinities.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// writeEvaluation records the outcome of every held-out problem, and the first sample
// of each of the first.
func (l *logs) writeEvaluation(step int, stage string, r *eval.Result) error {
	if err := l.heldOut.Append(record.HeldOut{Step: step, Stage: stage, Samples: r.Samples, Problems: r.Outcomes()}); err != nil {
		return err
	}
	for _, g := range r.Groups[:min(len(r.Groups), evaluationLines)] {
		v := g.Paths[0].Verdict()
		line := record.Evaluation{Step: step, Stage: stage, Prompt: g.Problem.Question, Text: g.Paths[0].Text, Verdict: v.Verdict, Reason: v.Reason, Context: prompts.Context(g.Problem), Turns: turnsOf(&g, 0)}
		if err := l.evaluations.Append(line); err != nil {
			return err
		}
	}
	return nil
}
