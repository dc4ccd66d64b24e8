package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// chance is a group that gets a second chance.
type chance struct {
	from, to int           // its completions in the draw
	numbers  []int         // of the samples that are replaced, ascending
	start    rollout.Start // what is sampled again
	answer   []int         // in place of sampling: tokens of a completion, end token included; nil: sample
}

// secondChance replaces completions of the groups for which the stage's condition holds,
// and gives all completions of the draw their rewards again.
func (s *reinforcement) secondChance(ctx context.Context, at Position, try int, cs []Completion) ([]Completion, error) {
	if s.when == nil {
		return cs, nil
	}
	t, err := s.table(at, cs, s.when.Needs("second_chance/when"))
	if err != nil {
		return nil, err
	}
	holds, err := s.when.On(t).At("second_chance/when", formula.Group)
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", s.stage.Name, err)
	}
	var all []chance
	for from := 0; from < len(cs); {
		to := from + 1
		for to < len(cs) && cs[to].Group == cs[from].Group {
			to++
		}
		if holds.V[cs[from].Group] == 1 {
			c := chance{from: from, to: to, numbers: s.worst(cs[from:to])}
			fits, err := s.begins(&c, cs[from].From.Problem)
			if err != nil {
				return nil, err
			}
			if fits {
				all = append(all, c)
			}
		}
		from = to
	}
	s.aside.second += len(all)
	if len(all) == 0 {
		return cs, nil
	}
	groups, err := s.replacements(ctx, at, try, all)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(cs)
	for i, c := range all {
		s.replace(out[c.from:c.to], &groups[i], c)
	}
	if err := s.startOf(out); err != nil {
		return nil, err
	}
	return out, s.score(at, out, s.coins(at, try))
}

// worst are the numbers of the samples of a group that are replaced: those with the lowest
// rewards, of equal ones the last.
func (s *reinforcement) worst(group []Completion) []int {
	n := s.stage.SecondChance.Replace
	if n == 0 {
		n = len(group)
	}
	order := make([]int, len(group))
	for i := range order {
		order[i] = i
	}
	value := func(i int) float64 {
		if r := group[i].Reward; !math.IsNaN(r) {
			return r
		}
		return math.Inf(-1)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(b, a)) })
	order = order[:min(n, len(order))]
	slices.Sort(order)
	return order
}

// begins finds what a second chance of a problem begins with. It is false where that is
// longer than the stage has room for.
func (s *reinforcement) begins(c *chance, problem verify.Problem) (fits bool, err error) {
	k := s.stage.SecondChance
	c.start.Problem = problem
	var answer []int
	if c.start.Prompt, answer, err = shown(s.stage, s.Prompts, problem); err != nil || answer == nil {
		return len(c.start.Prompt) <= s.Recipe.Task.MaxPromptTokens, err
	}
	if k.Rows != "" {
		c.answer = answer
		return len(answer) <= s.stage.Sampling.MaxCompletionTokens, nil
	}
	body := answer[:len(answer)-1] // without its end token
	c.start.Given = body[:int(k.PrefixShare*float64(len(body)))]
	return len(c.start.Given) > 0 && len(c.start.Given) < s.stage.Sampling.MaxCompletionTokens, nil
}

// shown is what a second chance makes of a problem: the prompt that is sampled behind, and the
// tokens of the solution that it takes, with the end token; nil: it takes none.
func shown(st *recipe.Stage, r *prompts.Renderer, problem verify.Problem) (prompt, answer []int, err error) {
	k := st.SecondChance
	fail := func(key string, err error) error {
		return fmt.Errorf("stage %s: second_chance.%s: prompt %s: %w", st.Name, key, terminal.Quote(problem.Question), err)
	}
	if k.Show != "" {
		if prompt, err = r.Asked(problem, k.Show); err != nil {
			return nil, nil, fail("show", err)
		}
		return prompt, nil, nil
	}
	member, key := k.Prefix, "prefix"
	if k.Rows != "" {
		member, key = k.Rows, "rows"
	}
	if member == "" {
		prompt, err = r.Prompt(problem)
		return prompt, nil, err
	}
	text, why := problem.Text(member)
	if why != "" {
		return nil, nil, fail(key, errors.New(why))
	}
	lesson, err := r.Shown(problem, "", text)
	if err != nil {
		return nil, nil, fail(key, err)
	}
	from := lesson.Learned[0].From
	return lesson.IDs[:from], lesson.IDs[from:], nil
}

// givesChances refuses problems that lack what the second chance of a stage shows.
func givesChances(st *recipe.Stage, source prompts.Source, r *prompts.Renderer) error {
	if st.Kind != recipe.KindRL || st.Skip || st.SecondChance.When == "" {
		return nil
	}
	rows, _ := source.Rows()
	if rows == nil {
		rows = []verify.Problem{source.Draw(random.At(0, 0, 0))}
	}
	for _, row := range rows {
		if _, _, err := shown(st, r, row); err != nil {
			return err
		}
	}
	return nil
}

// replacements are new completions for each second chance, as many as it replaces: sampled, or
// those of the rows.
func (s *reinforcement) replacements(ctx context.Context, at Position, try int, all []chance) ([]rollout.Group, error) {
	if all[0].answer == nil {
		params := StepParams(s.stage)
		if again := s.stage.SecondChance.Again; again > 0 {
			params.Temperature = again
		}
		var starts []rollout.Start
		for _, c := range all {
			starts = append(starts, c.start)
		}
		key := random.Key{Purpose: random.SecondChance, Stage: s.index, Step: at.Step*maxTries + try}
		return s.HeldOut.Collector.From(ctx, starts, len(all[0].numbers), params, key, s.program.Verifiers()...)
	}
	groups := make([]rollout.Group, len(all))
	for i, c := range all {
		given := rollout.Segment{Author: rollout.Foreign, IDs: c.answer, Stop: rollout.EOS}
		given.Drawn.Params.Temperature = 1
		g := rollout.Group{Problem: c.start.Problem, Segments: []rollout.Segment{{Parent: -1, IDs: c.start.Prompt}}}
		for range c.numbers {
			g.Paths = append(g.Paths, rollout.Path{Leaf: len(g.Segments)})
			g.Segments = append(g.Segments, given)
		}
		groups[i] = g
	}
	return groups, s.HeldOut.Collector.Judge(ctx, groups, s.program.Verifiers()...)
}

// replace puts new completions in place of those of a group.
func (s *reinforcement) replace(group []Completion, by *rollout.Group, c chance) {
	k, before := s.stage.SecondChance, group[0].From
	merged := before.With(by, c.numbers)
	s.aside.greedy[&merged] = s.aside.greedy[before]
	for i := range group {
		group[i].From = &merged
	}
	for _, n := range c.numbers {
		old := group[n]
		old.From = before
		s.aside.replaced = append(s.aside.replaced, old)
		view := merged.View(n)
		view.Group = old.View.Group
		o := Origin{Second: true, Foreign: k.Rows != "", Hinted: k.Show+k.Prefix != ""}
		switch {
		case k.Prefix != "":
			o.Share = k.PrefixShare
		case k.Show != "":
			o.Share = 1
			if !k.TrainHint {
				view = view.Behind(before.Segments[0].IDs)
			}
		}
		group[n] = Completion{From: &merged, Group: old.Group, Sample: n, View: view, Score: notYet, Advantage: math.NaN(), Origin: o}
	}
	s.aside.tokens += int(tokensOf(s.aside.replaced[len(s.aside.replaced)-len(c.numbers):]))
}

// startOf computes what the trainer makes of completions that it is to train behind another
// prompt than they were sampled behind, or that nobody sampled. What sampled a token stays its
// old; of a row that nobody sampled old is start.
func (s *reinforcement) startOf(cs []Completion) error {
	if s.stage.SecondChance.Rows == "" && !s.stage.Reprompts() {
		return nil
	}
	var which []*Completion
	for i := range cs {
		if cs[i].Origin.Second {
			which = append(which, &cs[i])
		}
	}
	stats, err := s.Cast.Policy.Forward(viewsOf(which))
	if err != nil {
		return err
	}
	for i, c := range which {
		if c.Origin.Foreign {
			c.View.Logprob, c.View.Entropy = stats[i].Logprob, stats[i].Entropy
		} else {
			c.Origin.Start = &Start{stats[i].Logprob, stats[i].Entropy}
		}
	}
	return nil
}
