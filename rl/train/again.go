package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/cast"
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
	given    [][]int       // in place of sampling: tokens of solutions, end tokens included; nil: sample
	share    float64       // of what show has that is shown
}

// secondChance replaces completions of the groups for which the stage's condition holds,
// and gives all completions of the draw their rewards again. What it replaces goes to the step.
func (d *drawer) secondChance(ctx context.Context, out *Drawn, try int, cs []Completion) ([]Completion, error) {
	if d.when == nil {
		return cs, nil
	}
	p := &out.Plan
	needs := d.when.Needs("second_chance/when")
	if d.entries != nil {
		needs = append(needs, d.entries.Needs("second_chance/entries")...)
	}
	t, err := d.of(p, cs, atOnce(cs)).table(asked, needs)
	if err != nil {
		return nil, err
	}
	holds, err := d.when.On(t).At("second_chance/when", formula.Group)
	var shares formula.Column // of each completion
	if err == nil && d.entries != nil {
		shares, err = d.entries.On(t).At("second_chance/entries", formula.Completion)
	}
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", p.stage.Name, err)
	}
	var all []chance
	for from := 0; from < len(cs); {
		to := from + 1
		for to < len(cs) && cs[to].Group == cs[from].Group {
			to++
		}
		if holds.V[cs[from].Group] == 1 {
			numbers := leaving(cs[from:to], p.stage.SecondChance.Replace, p.stage.SecondChance.Last)
			chances := []chance{{from: from, to: to, numbers: numbers, share: 1}}
			if d.entries != nil { // each is shown something else
				chances = nil
				for _, n := range numbers {
					chances = append(chances, chance{from: from, to: to, numbers: []int{n}, share: shares.V[from+n]})
				}
			}
			for _, c := range chances {
				fits, err := d.begins(p, try, &c, cs[from].From.Problem)
				if err != nil {
					return nil, err
				}
				if fits {
					all = append(all, c)
				}
			}
		}
		from = to
	}
	if len(all) == 0 {
		return cs, nil
	}
	groups, err := d.replacements(ctx, p, try, all, cs)
	if err == nil {
		err = remembered(p.stage, groups)
	}
	if err != nil {
		return nil, err
	}
	var again []Completion
	replaced := slices.Clone(cs)
	last := -1 // group of which one was replaced
	for i, c := range all {
		group := replaced[c.from:c.to]
		if len(c.numbers) > 0 && group[0].Group != last {
			last = group[0].Group
			out.Chances++
		}
		merged := group[0].From.With(&groups[i], c.numbers)
		for _, n := range c.numbers {
			out.Replaced = append(out.Replaced, cs[c.from+n]) // of the group as it was drawn
			out.Extra += int(tokensOf(group[n : n+1]))
			again = append(again, replacement(p.stage, &merged, n, &group[n], c.share))
		}
		for n := range group {
			group[n].From = &merged
		}
	}
	if err := d.starts(p.stage, again); err != nil {
		return nil, err
	}
	for _, c := range all {
		for _, n := range c.numbers {
			from := replaced[c.from+n].From // the group with all that was replaced in it
			replaced[c.from+n], again = again[0], again[1:]
			replaced[c.from+n].From = from
		}
	}
	return replaced, d.pay(p, replaced, d.coins(p.At, try))
}

// remembered refuses episodes that were shown something and whose context a world began anew, without that.
func remembered(st *recipe.Stage, groups []rollout.Group) error {
	for i := range groups {
		if st.SecondChance.Show != "" && slices.ContainsFunc(groups[i].Segments, func(s rollout.Segment) bool { return s.Fresh }) {
			return hint.With(fmt.Errorf("stage %s: second_chance.show: problem %s: the world begins the context of an episode anew, where what was shown is forgotten", st.Name, groups[i].Problem.ID),
				"second_chance.again in place of show, or a world whose answers never have fresh")
		}
	}
	return nil
}

// leaving are the numbers of n samples of a group that are replaced, ascending: the last ones, or those with the lowest
// rewards, of equal ones the last. With 0 they are all.
func leaving(group []Completion, n int, last bool) []int {
	order := make([]int, len(group))
	for i := range order {
		order[i] = len(group) - 1 - i
	}
	if !last {
		value := func(i int) float64 {
			if r := group[i].Score.Reward; !math.IsNaN(r) {
				return r
			}
			return math.Inf(-1)
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value(a), value(b)) })
	}
	if n > 0 {
		order = order[:min(n, len(order))]
	}
	slices.Sort(order)
	return order
}

// begins finds what a second chance of a problem begins with. fits is false if the
// stage has no room for it, or if its share is no entry.
func (d *drawer) begins(p *Plan, try int, c *chance, problem verify.Problem) (fits bool, err error) {
	st, k := p.stage, p.stage.SecondChance
	c.start.Problem = problem
	if d.entries != nil {
		dice := random.At(d.recipe.Seed, random.Stream(random.Entries, d.index), uint64(p.At.Step*maxTries+try)<<32|uint64(c.from+c.numbers[0]))
		problem, c.share, err = partly(k.Show, k.Between, problem, c.share, dice)
		if err != nil {
			return false, unfit(st, "entries", problem, err)
		}
		if c.share == 0 {
			return false, nil
		}
	}
	var answers [][]int
	if c.start.Prompt, answers, err = shown(st, d.prompts, problem); err != nil {
		return false, err
	}
	if k.Rows != "" {
		c.given = slices.DeleteFunc(answers, func(ids []int) bool { return len(ids) > st.Sampling.MaxCompletionTokens })
		return len(c.given) > 0, nil
	}
	if answers == nil {
		return len(c.start.Prompt) <= d.recipe.Task.MaxPromptTokens, nil
	}
	body := answers[0][:len(answers[0])-1] // without its end token
	c.start.Given = body[:int(k.PrefixShare*float64(len(body)))]
	return len(c.start.Given) > 0 && len(c.start.Given) < st.Sampling.MaxCompletionTokens, nil
}

// partly is a problem with a share of the entries of each list that a text shows, drawn at random and in their order, as
// texts in the place of the lists. shown is the share of all entries that these are.
func partly(show, between string, problem verify.Problem, share float64, dice *random.Rand) (part verify.Problem, shown float64, err error) {
	lists, err := prompts.Lists(problem, show)
	if err == nil && len(lists) == 0 {
		err = fmt.Errorf("show = %q names no list; accepted: the name of a list in braces", show)
	}
	if err != nil || !(share > 0) { // none, or no value
		return problem, 0, err
	}
	some, all := 0, 0
	problem.Metadata = maps.Clone(problem.Metadata)
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		list := lists[name]
		open := int(math.Round(min(share, 1) * float64(len(list))))
		some, all = some+open, all+len(list)
		var chosen []string
		for i, entry := range list {
			if dice.Between(1, len(list)-i) <= open {
				chosen = append(chosen, entry)
				open--
			}
		}
		problem.Metadata[name] = asJSON(strings.Join(chosen, cmp.Or(between, "\n")))
	}
	return problem, float64(some) / float64(max(1, all)), nil
}

// unfit says why a problem does not go with a key of the second chance of a stage.
func unfit(st *recipe.Stage, key string, problem verify.Problem, err error) error {
	return fmt.Errorf("stage %s: second_chance.%s: prompt %s: %w", st.Name, key, terminal.Quote(problem.Question), err)
}

// shown is what a second chance makes of a problem: the prompt that is sampled after, and the
// tokens of the solutions that it takes, with their end tokens; nil: it takes none.
func shown(st *recipe.Stage, r *prompts.Renderer, problem verify.Problem) (prompt []int, answers [][]int, err error) {
	k := st.SecondChance
	fail := func(key string, err error) error { return unfit(st, key, problem, err) }
	if k.Show != "" {
		if prompt, err = r.Asked(problem, k.Show); err != nil {
			return nil, nil, fail("show", err)
		}
		return prompt, nil, nil
	}
	members, key := k.Solutions(), "rows"
	if k.Prefix != "" {
		members, key = []string{k.Prefix}, "prefix"
	}
	for _, member := range members {
		text, why := problem.Text(member)
		if why != "" && len(members) > 1 {
			continue // a row may lack what one of several teachers says
		}
		if why != "" {
			return nil, nil, fail(key, errors.New(why))
		}
		lesson, err := r.Shown(problem, "", text)
		if err != nil {
			return nil, nil, fail(key, err)
		}
		from := lesson.Learned[0].From
		prompt, answers = lesson.IDs[:from], append(answers, lesson.IDs[from:])
	}
	if answers == nil {
		prompt, err = r.Prompt(problem)
	}
	return prompt, answers, err
}

// givesChances refuses problems that lack what the second chance of a stage shows, or for which all entries are too long.
func givesChances(r *recipe.Recipe, st *recipe.Stage, source prompts.Source, renderer *prompts.Renderer) error {
	if st.Kind != recipe.KindRL || st.Skip || st.SecondChance.When == "" || st.OfRows() { // which are made later
		return nil
	}
	k, most := st.SecondChance, r.Task.MaxPromptTokens
	rows, _ := source.Rows()
	if rows == nil {
		rows = prompts.Step(source, r.Seed, 0, 0, cast.ProbeProblems)
	}
	for _, row := range rows {
		all := row
		if k.Entries != "" {
			var err error
			if all, _, err = partly(k.Show, k.Between, row, 1, random.At(0, 0, 0)); err != nil {
				return unfit(st, "entries", row, err)
			}
		}
		switch prompt, _, err := shown(st, renderer, all); {
		case err != nil:
			return err
		case k.Entries != "" && len(prompt) > most:
			err := fmt.Errorf("with all entries it has %d tokens; accepted: at most max_prompt_tokens = %d", len(prompt), most)
			return unfit(st, "entries", row, hint.With(err, "--set task.max_prompt_tokens=%d", len(prompt)))
		}
	}
	return nil
}

// prompted refuses problems that lack what the prompt of a model shows, or for which that of a head that learns is too long.
func prompted(r *recipe.Recipe, source prompts.Source, renderer *prompts.Renderer) error {
	for _, name := range r.ModelNames() {
		prompt, learns := r.Models[name].Prompt, r.Models[name].Head && r.Trained(name)
		asks := func(st recipe.Stage) bool { return !st.Skip && st.Asks(name) }
		if prompt == "" || !learns && !slices.ContainsFunc(r.Stages, asks) {
			continue
		}
		rows, _ := source.Rows()
		if rows == nil {
			rows = prompts.Step(source, r.Seed, 0, 0, cast.ProbeProblems)
		}
		for _, row := range rows {
			faults := r.Faults()
			switch ids, err := renderer.Asked(row, prompt); {
			case err != nil:
				faults.Fail("models."+name+".prompt", "problem %s: %w; accepted: {question}, {answer} and what else the row has", terminal.Quote(row.Question), err)
				return faults.Err()
			case learns && len(ids) > r.Task.MaxPromptTokens:
				err := fmt.Errorf("a head learns after %d tokens; accepted: at most max_prompt_tokens = %d", len(ids), r.Task.MaxPromptTokens)
				faults.Fail("models."+name+".prompt", "problem %s: %w", terminal.Quote(row.Question), hint.With(err, "--set task.max_prompt_tokens=%d", len(ids)))
				return faults.Err()
			}
		}
	}
	return nil
}

// replacements are new completions for each second chance, as many as it replaces: sampled, or
// those of the rows. Where the rows have fewer, fewer are replaced. cs is the draw.
func (d *drawer) replacements(ctx context.Context, p *Plan, try int, all []chance, cs []Completion) ([]rollout.Group, error) {
	key := random.Key{Purpose: random.SecondChance, Stage: d.index, Step: p.At.Step*maxTries + try}
	if all[0].given == nil {
		params := StepParams(p.stage)
		if again := p.stage.SecondChance.Again; again > 0 {
			params.Temperature = again
		}
		var starts []rollout.Start
		for _, c := range all {
			starts = append(starts, c.start)
		}
		return d.collector.From(ctx, starts, len(all[0].numbers), params, key, d.program.Verifiers()...)
	}
	groups := make([]rollout.Group, len(all))
	for i, c := range all {
		solutions := c.given
		if len(p.stage.SecondChance.Solutions()) == 1 {
			solutions = slices.Repeat(solutions, len(c.numbers))
		}
		g := rollout.Group{Problem: c.start.Problem, Segments: []rollout.Segment{{Parent: -1, IDs: c.start.Prompt}}}
		for _, ids := range solutions {
			s := rollout.Segment{Author: rollout.Foreign, IDs: ids, Stop: rollout.EOS}
			s.Drawn.Params.Temperature, s.Drawn.Key = 1, key
			key.Stream++
			g.Paths = append(g.Paths, rollout.Path{Leaf: len(g.Segments)})
			g.Segments = append(g.Segments, s)
		}
		groups[i] = g
	}
	if err := d.collector.Judge(ctx, groups, d.program.Verifiers()...); err != nil {
		return nil, err
	}
	return groups, d.take(p, try, all, cs, groups)
}

// take leaves each second chance those solutions that it takes: the first of them, or the ones that the
// stage's formula says.
func (d *drawer) take(p *Plan, try int, all []chance, cs []Completion, groups []rollout.Group) error {
	var values []float64 // of all solutions, one group after the other
	if d.chooses != nil {
		var given []Completion
		for i := range groups {
			old := cs[all[i].from]
			old.Group = i
			for n := range groups[i].Paths {
				given = append(given, replacement(p.stage, &groups[i], n, &old, all[i].share))
			}
		}
		if err := d.starts(p.stage, given); err != nil {
			return err
		}
		if err := d.pay(p, given, d.coins(p.At, try)); err != nil {
			return err
		}
		t, err := d.of(p, given, atOnce(given)).table(asked, d.chooses.Needs("second_chance/choose"))
		if err != nil {
			return err
		}
		chosen, err := d.chooses.On(t).At("second_chance/choose", formula.Completion)
		if err != nil {
			return fmt.Errorf("stage %s: %w", p.stage.Name, err)
		}
		values = chosen.V
	}
	for i := range groups {
		c, paths := &all[i], groups[i].Paths
		order := make([]int, len(paths))
		for n := range order {
			order[n] = n
		}
		if values != nil {
			own := values[:len(paths)]
			values = values[len(paths):]
			order = slices.DeleteFunc(order, func(n int) bool { return math.IsNaN(own[n]) })
			slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(own[b], own[a]) })
		}
		if len(order) < len(c.numbers) {
			c.numbers = leaving(cs[c.from:c.to], len(order), p.stage.SecondChance.Last)
			if len(order) == 0 {
				c.numbers = nil // 0 are all
			}
		}
		groups[i].Paths = nil
		for _, n := range order[:len(c.numbers)] {
			groups[i].Paths = append(groups[i].Paths, paths[n])
		}
	}
	return nil
}

// replacement is the completion in place of an old one, the n-th sample of its group, with the share of what show has
// that it was shown.
func replacement(st *recipe.Stage, merged *rollout.Group, n int, old *Completion, share float64) Completion {
	k := st.SecondChance
	o := Origin{Second: true, Foreign: k.Rows != "", Hinted: k.Show+k.Prefix != ""}
	switch {
	case k.Prefix != "":
		o.Share = k.PrefixShare
	case k.Show != "":
		o.Share = share
		if !k.TrainHint {
			o.Prompt = old.From.Segments[0].IDs
		}
	}
	return Completion{From: merged, Group: old.Group, Sample: n, View: viewOf(merged, n, old.Group, &o), Score: notYet, Greedy: old.Greedy, Origin: o}
}

// starts computes what the trainer makes of completions that it is to train after another
// prompt than they were sampled after, or that nobody sampled. What sampled a token stays its
// old; of a row that nobody sampled old is start.
func (d *drawer) starts(st *recipe.Stage, cs []Completion) error {
	if st.SecondChance.Rows == "" && !st.Reprompts() {
		return nil
	}
	stats, err := d.models.Forward(column(cs, func(c *Completion) rollout.View { return c.View }))
	if err != nil {
		return err
	}
	for i := range cs {
		c := &cs[i]
		c.Origin.Start = &Start{stats[i].Logprob, stats[i].Entropy}
		c.View = viewOf(c.From, c.Sample, c.Group, &c.Origin)
	}
	return nil
}
