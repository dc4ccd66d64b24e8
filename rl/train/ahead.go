package train

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
	"github.com/rlzero/rlzero/rl/reward"
	"github.com/rlzero/rlzero/rl/rollout"
)

// openStep is a step that is drawn and not yet learned from. All that is decided before
// sampling is as of its drawing.
type openStep struct {
	at      Position
	version int                // of the policy that draws: updates since the run began
	numbers map[string]float64 // of the stage, by key
	stage   *recipe.Stage      // with them
	drawing drawing            // unset once it is drawn
	told    metrics.Row        // of the time before sampling
	aside   *aside
	gathered
}

// rolls is the drawing of one call of Step.
type rolls struct {
	newest  *openStep // that is begun and not drawn yet; nil: none
	since   time.Time // it was begun
	waited  time.Duration
	spans   time.Duration // from the beginning of each drawing to its end
	tokens  float64
	err     error
	refused *openStep // that has too few scores
	arrived []Arrived // groups of the step, with order = "arrival"
}

// event is that of a Step at a position which failed.
func (r *rolls) event(at Position) *Event {
	if r.refused == nil {
		return nil
	}
	return &Event{Completions: r.refused.cs, Ahead: r.refused.at.Step - at.Step}
}

// rate is what the drawing adds to the times of a step of so many seconds.
func (r *rolls) rate(step time.Duration) metrics.Row {
	row := metrics.Row{"time/rollout_s": r.waited.Seconds(), "time/train_s": (step - r.waited).Seconds()}
	if r.spans > 0 {
		row["rollout/tokens_per_s"] = r.tokens / r.spans.Seconds()
	}
	return row
}

// use makes a step the one that is drawn or learned from.
func (s *reinforcement) use(o *openStep) {
	s.stage, s.before.drawing, s.aside = o.stage, o.drawing, o.aside
}

// fill draws what the policy of now has to draw: the step that is lag steps ahead of at, and
// at the beginning of the stage those before it. With lag the last is only begun, as workers
// can draw while the run learns from another one.
func (s *reinforcement) fill(ctx context.Context, at Position, r *rolls) error {
	lag := s.before.whole.Lag
	for {
		next := Position{at.Stage, at.Step + len(s.open), at.Total + len(s.open)}
		if next.Step > at.Step+lag || next.Step >= s.before.whole.RL.Steps {
			return nil
		}
		last := lag > 0 && next.Step == at.Step+lag
		if err := s.begin(ctx, next, r, last); err != nil || last {
			return err
		}
		if err := s.finish(ctx, r); err != nil {
			return err
		}
	}
}

// begin prepares the drawing of a step; early lets workers begin with it.
func (s *reinforcement) begin(ctx context.Context, at Position, r *rolls, early bool) error {
	r.since = time.Now()
	defer func() { r.waited += time.Since(r.since) }()
	if err := s.prepare(at); err != nil {
		return err
	}
	s.aside = newAside()
	r.newest = &openStep{at: at, version: s.Cast.Policy.Version(), numbers: s.before.numbers, stage: s.stage, drawing: s.before.drawing, aside: s.aside}
	r.newest.stored = s.replayed()
	if !early {
		return nil
	}
	problems, err := s.problems(at, 0, s.stage.RL.PromptsPerStep-r.newest.stored)
	if err == nil {
		err = s.HeldOut.refuse(problems...)
	}
	if err != nil {
		return err
	}
	_, key := s.streams(at, 0)
	return s.HeldOut.Collector.Begin(ctx, problems, s.stage.RL.GroupSize, StepParams(s.stage), key)
}

// finish draws the step that was begun, if one was, by the weights by which it was begun. It is
// then open.
func (s *reinforcement) finish(ctx context.Context, r *rolls) error {
	o := r.newest
	if o == nil {
		return nil
	}
	began := time.Now()
	r.newest = nil
	s.use(o)
	if o.gathered, r.err = s.gather(ctx, o.at, o.stored); r.err != nil {
		return r.err
	}
	if r.err = s.enoughScored(o.at, o.cs); r.err != nil {
		r.refused = o
		return r.err
	}
	o.told, o.drawing = metrics.Row{}, drawing{}
	s.before.tell(o.told)
	s.open = append(s.open, o)
	r.waited, r.spans = r.waited+time.Since(began), r.spans+time.Since(r.since)
	r.tokens += tokensOf(o.cs) + tokensOf(o.refused)
	return nil
}

// versionOf is of the weights that drew a completion of the step.
func (o *openStep) versionOf(c *Completion) int {
	if leaf := &c.From.Segments[c.Path().Leaf]; leaf.Author == rollout.Policy {
		return leaf.Drawn.Version
	}
	return o.version
}

// meanVersion is that of the completions of the step.
func (o *openStep) meanVersion() float64 {
	sum := 0
	for i := range o.cs {
		sum += o.versionOf(&o.cs[i])
	}
	return float64(sum) / float64(len(o.cs))
}

// overtake notes in the completions of a step by how many updates the policy has changed since
// it drew them, and what it makes of them now.
func (s *reinforcement) overtake(o *openStep) error {
	now := s.Cast.Policy.Version()
	var which []*Completion
	add := func(cs []Completion) {
		for i := range cs {
			if c := &cs[i]; o.versionOf(c) < now {
				c.Origin.Age = now - o.versionOf(c)
				which = append(which, c)
			}
		}
	}
	add(o.cs)
	if len(s.method.Method.State) > 0 { // see sampled
		add(o.refused)
	}
	if which == nil {
		return nil
	}
	stats, err := s.Cast.Policy.Forward(viewsOf(which))
	for i := range stats {
		which[i].Origin.Start = &Start{stats[i].Logprob, stats[i].Entropy}
	}
	return err
}

// Lagging says of each stage with a lag what it means, and warns where nothing corrects it, or
// where a correction has nothing to correct.
func Lagging(r *recipe.Recipe) []string {
	var notes []string
	for i := range r.Stages {
		st := &r.Stages[i]
		if st.Kind != recipe.KindRL || st.Skip {
			continue
		}
		method, err := st.Compiled() // an error is told when the stage begins
		if st.Lag == 0 {
			if err == nil && st.Replay.Store == "" && !st.Reprompts() && method.WeighsLag() {
				notes = append(notes, fmt.Sprintf("stage %s: weight in [stage.algorithm] does nothing: it compares start with old, the log-probs by the weights of now with those by the weights that drew, and without lag, [stage.replay] or a hint of [stage.second_chance] the two are the same bits", st.Name))
			}
			continue
		}
		if st.Arrives() {
			notes = append(notes, fmt.Sprintf("stage %[1]s: lag = %[2]d, order = \"arrival\": step t learns from the first %[3]d groups that are there of those of steps t-%[2]d to t+%[2]d, drawn up to %[4]d steps ago; it waits for those of step t-%[2]d alone. %[5]s says which it took", st.Name, st.Lag, st.RL.PromptsPerStep, 2*st.Lag, record.ScheduleFile))
		} else {
			notes = append(notes, fmt.Sprintf("stage %s: lag = %d: step t learns from completions of the policy after step t-%d; workers draw them while the first gradient of a step is computed, so the longer of the two counts and not their sum", st.Name, st.Lag, st.Lag+1))
		}
		if err == nil && !method.Corrects() {
			notes = append(notes, fmt.Sprintf("warning: stage %s: the loss does not read old, the log-prob by the weights that drew: nothing corrects the lag. A clipped ratio does not, as ratios are to start; weight = \"tis\" in [stage.algorithm] does", st.Name))
		}
	}
	return notes
}

// aheadFile keeps the open steps in a checkpoint.
const aheadFile = "trainer/ahead.json"

// savedStep is an open step there.
type savedStep struct {
	At      Position
	Version int
	Numbers map[string]float64
	Told    metrics.Row
	Stored  int
	Second  int // groups with a second chance
	Extra   int // tokens of no completion of the step
	Groups  []savedGroup
	Lists   [3][]savedCompletion // of the step, refused, replaced
}

// savedGroup is a group with the reward of its greedy completion.
type savedGroup struct {
	Group  rollout.Group
	Greedy figure
	Why    string // there is none
}

// savedCompletion is a completion as it was drawn and judged.
type savedCompletion struct {
	From      int // place of its group
	Group     int
	Sample    int
	View      *rollout.View // of a second chance; nil: that of the group
	Reward    figure
	NotScored string
	Terms     []savedTerm
	Origin    Origin
}

type savedTerm struct {
	Name  string
	Value figure
}

// saved is an open step as a checkpoint has it.
func (o *openStep) saved() savedStep {
	out := savedStep{At: o.at, Version: o.version, Numbers: o.numbers, Told: o.told, Stored: o.stored, Second: o.aside.second, Extra: o.aside.tokens}
	place := map[*rollout.Group]int{}
	for list, cs := range [][]Completion{o.cs, o.refused, o.aside.replaced} {
		for _, c := range cs {
			at, known := place[c.From]
			if !known {
				at = len(out.Groups)
				place[c.From] = at
				greedy := o.aside.greedy[c.From]
				out.Groups = append(out.Groups, savedGroup{*c.From, figure(greedy.reward), greedy.why})
			}
			one := savedCompletion{From: at, Group: c.Group, Sample: c.Sample, Reward: figure(c.Reward), NotScored: c.NotScored, Origin: c.Origin}
			for _, t := range c.Terms {
				one.Terms = append(one.Terms, savedTerm{t.Name, figure(t.Value)})
			}
			if c.Origin.Second { // it may be trained behind another prompt
				one.View = &c.View
			}
			out.Lists[list] = append(out.Lists[list], one)
		}
	}
	return out
}

// opened is the step of a checkpoint.
func (saved savedStep) opened(whole *recipe.Stage) (*openStep, error) {
	o := &openStep{at: saved.At, version: saved.Version, numbers: saved.Numbers, told: saved.Told, aside: newAside()}
	o.stored, o.aside.second, o.aside.tokens = saved.Stored, saved.Second, saved.Extra
	var err error
	if o.stage, err = whole.With(saved.Numbers); err != nil {
		return nil, err
	}
	groups := make([]*rollout.Group, len(saved.Groups))
	for i := range saved.Groups {
		g := &saved.Groups[i]
		unscore(&g.Group)
		groups[i] = &g.Group
		o.aside.greedy[groups[i]] = graded{float64(g.Greedy), g.Why}
	}
	for list, into := range []*[]Completion{&o.cs, &o.refused, &o.aside.replaced} {
		for _, one := range saved.Lists[list] {
			if one.From < 0 || one.From >= len(groups) || one.Sample < 0 || one.Sample >= len(groups[one.From].Paths) {
				return nil, fmt.Errorf("step %d has a completion of no group: sample %d of group %d", saved.At.Total+1, one.Sample, one.From)
			}
			c := Completion{From: groups[one.From], Group: one.Group, Sample: one.Sample, Score: reward.Score{Reward: float64(one.Reward), NotScored: one.NotScored}, Advantage: math.NaN(), Origin: one.Origin}
			for _, t := range one.Terms {
				c.Terms = append(c.Terms, reward.Term{Name: t.Name, Value: float64(t.Value)})
			}
			if one.View != nil {
				c.View = *one.View
			} else {
				c.View = c.From.View(c.Sample)
				c.View.Group = c.Group + 1
			}
			*into = append(*into, c)
		}
	}
	return o, nil
}

// saveAhead adds the open steps to a checkpoint.
func (s *reinforcement) saveAhead(files map[string]func(io.Writer) error) {
	if s.before.whole.Lag == 0 {
		return
	}
	saved := []savedStep{}
	for _, o := range s.open {
		saved = append(saved, o.saved())
	}
	files[aheadFile] = func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false) // logs have rows as they were read
		return enc.Encode(saved)
	}
}

// loadAhead reads them.
func (s *reinforcement) loadAhead(dir string) error {
	if s.before.whole.Lag == 0 {
		return nil
	}
	var saved []savedStep
	if err := readJSON(dir, aheadFile, &saved); err != nil {
		return err
	}
	s.open = nil
	for _, one := range saved {
		o, err := one.opened(s.before.whole)
		if err != nil {
			return fmt.Errorf("%s: %w", aheadFile, err)
		}
		s.open = append(s.open, o)
	}
	return nil
}
