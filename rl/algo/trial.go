package algo

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/formula"
)

// Trial is what a stage gives its method in synthetic steps ([Algorithm.Try]).
type Trial struct {
	Size      int // completions of a prompt
	MaxTokens int // of a completion
	Steps     int // of the stage

	// Rewards are those of completions, and the values that the reward names; NaN: not scored.
	Rewards func(made []Made) (rewards []float64, named map[string][]float64)
	// Member is a number and a text of a row; why: it has none.
	Member func(row int, name string) (number float64, text, why string)
	// Key is the key of a problem for states that have one number for each.
	Key func(group int, by string) string
}

// Made is a synthetic completion. Row is that of its problem, below [TrialRows].
type Made struct {
	Group, Row int
	Tokens     int
	Right      bool
	Random     float64 // 0 or 1
}

// Finding is what a trial says of a method: that it learns nothing, or what is likely not meant.
type Finding struct {
	Part    string // of the method, which causes it
	Text    string
	Warning bool
}

// tries are the synthetic steps: the first and the last have the same log-probs now as when their
// completions were drawn, the others have moved on. In the last one the reference is far away. Each
// has groups of other problems.
const tries = 4

// TrialRows is how many problems the steps of a trial have.
const TrialRows = tries * trialGroups

// Try tries a method on synthetic steps of some groups: mixed ones, all right, all wrong, of one
// token, and of the greatest length. What is found holds in all of them.
func (a *Algorithm) Try(w Trial) []Finding {
	var states States
	seen := &tried{a: a, w: w, why: map[string]int{}}
	for k := range tries {
		if err := seen.step(k, &states); err != nil {
			var fault *formula.Error
			if errors.As(err, &fault) { // such as 0/0 for the run: a step of a run would end with it
				return []Finding{{Part: fault.Part, Text: fault.Text}}
			}
			return nil // what cannot be tried may be right
		}
	}
	return seen.findings()
}

// tried is what the trials have shown.
type tried struct {
	a *Algorithm
	w Trial

	kept, gradient, advantage, weight bool           // some completion, token or derivative is not left out or 0
	why                               map[string]int // reasons for which completions are left out
	negative                          string         // a part that weighs and is below 0
	wrong, compared                   int            // steps in which a step makes the worse likelier than the better; that have both
}

// step is one trial.
func (s *tried) step(k int, states *States) error {
	made := makeStep(s.w, k)
	keys := func(by string) []string {
		var out []string
		for g := range trialGroups {
			out = append(out, s.w.Key(g, by))
		}
		return out
	}
	table, rewards, err := s.table(made, k, states.Columns(s.a, keys))
	if err != nil {
		return err
	}
	values, err := s.a.Step(table)
	if err != nil {
		return err
	}
	for i, why := range values.Refused {
		s.kept = s.kept || why == ""
		if why != "" && !math.IsNaN(rewards[i]) {
			s.why[why]++
		}
	}
	s.advantage = s.advantage || values.Advantage.V == nil || slices.ContainsFunc(values.Advantage.V, func(x float64) bool { return x != 0 && x == x })
	u, err := values.Update(nil)
	if err != nil || u == nil {
		return err
	}
	if err := s.update(u, made, rewards, k); err != nil {
		return err
	}
	return states.AfterStep(s.a, values.Table, keys)
}

// update looks at the derivatives of an update of a whole trial.
func (s *tried) update(u *Update, made []Made, rewards []float64, k int) error {
	_, slopes, err := u.Loss()
	if err != nil {
		return err
	}
	for _, d := range slopes {
		s.gradient = s.gradient || slices.ContainsFunc(d.V, func(x float64) bool { return x != 0 })
	}
	for _, name := range []string{"weight", "beta"} {
		if _, _, there := s.a.program.Level(name); !there {
			continue
		}
		c, err := u.part(name)
		if err != nil {
			return err
		}
		if name == "weight" {
			s.weight = s.weight || slices.ContainsFunc(c.V, func(x float64) bool { return x != 0 })
		}
		if slices.ContainsFunc(c.V, func(x float64) bool { return x < 0 }) {
			s.negative = name
		}
	}
	if d, there := slopes["logp"]; there && (k == 0 || k == tries-1) {
		s.compare(u.Table.Restore(d, tokensOf(made)).V, made, rewards)
	}
	return nil
}

func tokensOf(made []Made) int {
	n := 0
	for _, m := range made {
		n += m.Tokens
	}
	return n
}

// compare tells whether a step against the gradient makes the completions with the least reward of
// a mixed group likelier than those with the greatest.
func (s *tried) compare(by []float64, made []Made, rewards []float64) {
	for g := range trialGroups {
		least, greatest, up, down, ups, downs, from := math.Inf(1), math.Inf(-1), 0.0, 0.0, 0, 0, 0
		for i, m := range made {
			if m.Group == g && rewards[i] == rewards[i] {
				least, greatest = min(least, rewards[i]), max(greatest, rewards[i])
			}
		}
		for i, m := range made {
			sum := 0.0
			for _, x := range by[from : from+m.Tokens] {
				sum -= x
			}
			from += m.Tokens
			switch {
			case m.Group != g || !(least < greatest):
			case rewards[i] == greatest:
				up, ups = up+sum, ups+1
			case rewards[i] == least:
				down, downs = down+sum, downs+1
			}
		}
		if ups > 0 && downs > 0 {
			if s.compared++; up/float64(ups) < down/float64(downs) {
				s.wrong++
			}
		}
	}
}

// findings are what the trials come to.
func (s *tried) findings() []Finding {
	var out []Finding
	switch {
	case !s.kept:
		part, reason := keepPart, "keep is false for every completion of a trial with right, wrong and mixed groups"
		for why := range s.why {
			if why != RefusedByKeep {
				part, reason = advantagePart, "no completion of a trial has a value to be learned by: "+why
			}
		}
		out = append(out, Finding{Part: part, Text: reason + ". Nothing would be learned"})
	case !s.gradient && !s.advantage:
		out = append(out, Finding{Part: advantagePart, Text: "it is 0 for every completion of a trial with right, wrong and mixed groups. Nothing would be learned"})
	case !s.gradient && !s.weight:
		out = append(out, Finding{Part: "weight", Text: "it is 0 for every token of a trial. Nothing would be learned"})
	case !s.gradient:
		out = append(out, Finding{Part: lossPart, Text: "its gradient is 0 for every token of a trial with right, wrong and mixed groups, as where all is stopped, floored or masked. Nothing would be learned"})
	}
	if len(out) > 0 {
		return out
	}
	warn := func(part, format string, args ...any) {
		out = append(out, Finding{part, fmt.Sprintf(format, args...), true})
	}
	if s.negative != "" {
		warn(s.negative, "it is below 0 in a trial: what it weighs is turned around")
	}
	if beta, there := s.a.Parameters()["beta"]; there && beta < 0 {
		warn("beta", "it is below 0: the term that it weighs is turned around, as a KL term that drives the policy away")
	}
	if s.compared > 0 && s.wrong == s.compared {
		warn(lossPart, "a step makes the completions with the least reward likelier than those with the greatest: is a sign missing? A loss is minimised")
	}
	if place := s.a.program.Multiplies(lossPart, "logp"); place != "" {
		warn(lossPart, "%s: the gradient is not the ratio times that of logp. Write stop(...) around the ratio", place)
	}
	return out
}

// trialGroups is how many groups a trial has.
const trialGroups = 12

// makeStep makes the completions of a trial: of the groups four are mixed, one is all right, one
// all wrong, one of one token, one long, and then they begin again with other lengths.
func makeStep(w Trial, k int) []Made {
	size := min(max(w.Size, 1), 64)
	var made []Made
	for g := range trialGroups {
		for i := range size {
			r := random.At(1, random.Stream(random.Trial, k), uint64(g*64+i))
			m := Made{Group: g, Row: k*trialGroups + g, Tokens: 1 + r.Between(1, 6), Right: r.Chance(0.5), Random: float64(r.Between(0, 1))}
			switch {
			case i == 0 && size > 1:
				m.Right = true
			case i == 1:
				m.Right = false
			case size == 1:
				m.Right = g%2 == 0
			}
			switch g {
			case 0:
				m.Right = true
			case 1:
				m.Right = false
			case 2:
				m.Tokens = 1
			case 3:
				if i < 2 {
					m.Tokens = 4096
				}
			}
			m.Tokens = min(m.Tokens, max(1, w.MaxTokens))
			made = append(made, m)
		}
	}
	return made
}

// table has the states of the method and the facts that it reads, for a trial, cut into segments.
func (s *tried) table(made []Made, k int, states map[string]formula.Column) (*formula.Table, []float64, error) {
	var group []int
	var tokens [][]int
	for _, m := range made {
		group, tokens = append(group, m.Group), append(tokens, []int{m.Tokens})
	}
	frame, err := formula.NewFrame(group, tokens, nil)
	if err != nil {
		return nil, nil, err
	}
	rewards, named := s.w.Rewards(made)
	f := filler{s: s, t: formula.NewTable(frame), made: made, rewards: rewards, named: named, k: k}
	for name, c := range states {
		if err := f.t.Add(name, c); err != nil {
			return nil, nil, err
		}
	}
	var cut []string // what is known once they are cut
	for _, name := range slices.Concat(s.a.Needs(), s.a.SegmentReads()) {
		if OfPath(name) {
			cut = append(cut, name)
		} else if err := f.add(name); err != nil {
			return nil, nil, err
		}
	}
	if f.t, err = s.a.Cut(f.t); err != nil {
		return nil, nil, err
	}
	for _, name := range cut {
		if err := f.add(name); err != nil {
			return nil, nil, err
		}
	}
	return f.t, rewards, nil
}

// filler adds facts to the table of a trial.
type filler struct {
	s       *tried
	t       *formula.Table
	made    []Made
	rewards []float64
	named   map[string][]float64
	k       int
	count   uint64
}

// add adds a fact.
func (f *filler) add(name string) error {
	if _, there := f.t.Column(name); there {
		return nil
	}
	family, _, _ := strings.Cut(strings.SplitN(name, ".", 2)[0], "(")
	i := slices.IndexFunc(f.s.a.facts, func(x formula.Fact) bool { return x.Name == name })
	if i < 0 {
		i = slices.IndexFunc(f.s.a.facts, func(x formula.Fact) bool { return x.Name == family+".*" || x.Name == family && x.Takes != nil })
	}
	if i < 0 {
		return fmt.Errorf("no fact %s", name)
	}
	fact := f.s.a.facts[i]
	if member, row := strings.CutPrefix(name, "row."); row {
		return f.member(name, member)
	}
	c := formula.Column{Level: fact.Level, V: make([]float64, f.t.Size(fact.Level)), Why: map[int]string{}}
	r := random.At(2, random.Stream(random.Trial, f.k), f.count)
	f.count++
	if fact.Text {
		c.Text = make([]string, len(c.V))
		for row := range c.Text {
			c.Text[row] = fmt.Sprintf("%s %d", name, r.Between(1, 2)) // some are equal
		}
		c.V = nil
	}
	for row := range c.V {
		c.V[row] = f.value(fact, name, row, r)
		if math.IsNaN(c.V[row]) {
			c.Why[row] = "a completion of the trial has no " + name
		}
	}
	return f.t.Add(name, c)
}

// member adds a member of the rows, as numbers and as texts.
func (f *filler) member(name, member string) error {
	numbers, texts := formula.Column{Level: formula.Group, Why: map[int]string{}}, formula.Column{Level: formula.Group, Text: []string{}, Why: map[int]string{}}
	for g := range trialGroups {
		x, text, why := f.s.w.Member(f.k*trialGroups+g, member)
		if numbers.V = append(numbers.V, x); math.IsNaN(x) {
			numbers.Why[g] = why
		}
		if texts.Text = append(texts.Text, text); text == "" && why != "" {
			texts.Why[g] = why
		}
	}
	return errors.Join(f.t.Add(name, numbers), f.t.Add(name, texts))
}

// value is that of a fact in a row. Facts with a meaning of their own follow it; of another one
// any number may be met.
func (f *filler) value(fact formula.Fact, name string, row int, r *random.Rand) float64 {
	random := r.Unit()
	switch {
	case name == "reward":
		return f.rewards[row]
	case strings.HasPrefix(name, "reward."):
		if of := f.named[strings.TrimPrefix(name, "reward.")]; of != nil {
			return of[row]
		}
	case name == "step":
		return []float64{1, 2, math.Ceil(float64(f.s.w.Steps) / 2), float64(f.s.w.Steps)}[f.k]
	case name == "steps":
		return float64(f.s.w.Steps)
	case name == "progress":
		return float64(f.k) / (tries - 1)
	case name == "max_tokens":
		return float64(f.s.w.MaxTokens)
	case name == "prompt_tokens":
		return float64(3 + row)
	case strings.HasSuffix(name, StepFact): // what a judge says of a step
		return random
	case name == "age", name == "seen", name == "steps_since":
		return math.Floor(4 * random)
	case name == "fresh":
		return math.Round(random)
	case fact.Condition:
		return math.Round(random)
	case fact.Level == formula.Completion && !strings.Contains(name, ".") && name != "hint_share" && name != "mismatched" && name != GradientNormFact: // verdicts
		if f.made[row].Right {
			return 1
		}
		return 0
	case strings.Contains(name, "."):
		return math.Floor(4 * random)
	case name == "greedy_reward":
		return math.Round(random)
	case fact.Unit == "nats" && fact.Level == formula.Token && !strings.Contains(name, "entropy"):
		return f.nats(name, row, random)
	}
	return random
}

// nats are log-probs: in the first trial those of now are those of sampling.
func (f *filler) nats(name string, row int, noise float64) float64 {
	drawn := -0.2 - 1.5*random.At(3, random.Stream(random.Trial, f.k), uint64(row)).Unit()
	switch {
	case strings.HasSuffix(name, "uniform_logp"):
		return -3 - noise
	case name == "old" || (f.k == 0 || f.k == tries-1) && (name == "logp" || name == "start"):
		return drawn
	case name == "ref" && f.k == tries-1:
		return drawn - 8*noise
	case name == "start":
		return drawn + 0.02*(noise-0.5)
	}
	return drawn + 0.3*(noise-0.5)
}
