package train

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/audit"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// fooledRows is on how many training problems the attacks on a judge are tried.
const fooledRows = 8

// Fooled tries the attacks of package audit on the judges of a stage that have max_fooled below 1, before
// the first step. It says what the best attack earns, and refuses a judge that pays it more than is
// accepted of what a right answer is paid.
func Fooled(ctx context.Context, p Parts, stage int) (notes []string, err error) {
	st := &p.Recipe.Stages[stage]
	for _, j := range p.Recipe.Judges() {
		if j.Stage != st || j.MaxFooled == 1 {
			continue
		}
		groups, cheats := attacked(p, stage, j)
		if groups == nil {
			return nil, fmt.Errorf("%w: verifier %s: max_fooled holds attacks against right answers, and the rows have none", lines.ErrInput, j.Name)
		}
		asks := panel.Panel{Models: p.Cast.Judge, Seed: p.Recipe.Seed, Stage: stage}
		verdicts, err := asks.Judge(ctx, j.Judge, groups)
		if err != nil {
			return nil, err
		}
		note, err := fooled(j, verdicts, cheats)
		if err != nil {
			return nil, err
		}
		notes = append(notes, note)
	}
	return notes, nil
}

// attacked are groups of a right answer and then the attacks, and these.
func attacked(p Parts, stage int, j recipe.Judging) (groups []rollout.Group, cheats [][]audit.Cheat) {
	rows := prompts.Step(p.Source, p.Recipe.Seed, random.Stream(random.Judge, stage+1), 0, fooledRows)
	for i, row := range rows {
		right, found := p.right(row, random.At(p.Recipe.Seed, random.Stream(random.Judge, stage+1), uint64(1<<32+i)))
		if !found {
			continue
		}
		g := rollout.Group{Problem: row, Paths: []rollout.Path{{Text: j.Part + right}}}
		all := audit.Cheats(row)
		for _, c := range all {
			g.Paths = append(g.Paths, rollout.Path{Text: j.Part + c.Text})
		}
		groups, cheats = append(groups, g), append(cheats, all)
	}
	return groups, cheats
}

// fooled says what the attack that earns the most is paid, as a share of what right answers are. verdicts are
// those of a right answer and of the attacks, in each group. Equal texts count once. Where more than a step may have are
// without a score, nothing is known of what the judge pays.
func fooled(j recipe.Judging, verdicts [][]verify.Verdict, cheats [][]audit.Cheat) (note string, err error) {
	var right meanScore
	paid := map[string]*meanScore{}
	var order []audit.Cheat
	var rights, attacks []verify.Verdict
	for g, all := range verdicts {
		right.add(all[0])
		rights, attacks = append(rights, all[0]), append(attacks, all[1:]...)
		for i, c := range cheats[g] {
			if paid[c.Text] == nil {
				paid[c.Text] = &meanScore{}
				order = append(order, c)
			}
			paid[c.Text].add(all[1+i])
		}
	}
	const against = "max_fooled holds attacks against right answers, and"
	why, some := missing(verdicts)
	unread := cmp.Or(unreadOf(rights, "right answers", j.Stage), unreadOf(attacks, "attacks", j.Stage))
	switch {
	case some:
		err := fmt.Errorf("%w: verifier %s: %s an answer of %s is missing: %s", lines.ErrInput, j.Name, against, j.Model, why)
		return "", hint.With(err, "once the server answers, continue with --resume")
	case unread != "":
		err := fmt.Errorf("%w: verifier %s: %s %s", lines.ErrInput, j.Name, against, unread)
		advice := "ask for an answer in the form that read accepts"
		if j.Stage.RL.MaxNotScored < 1 {
			advice += ", or raise max_not_scored"
		}
		return "", hint.With(err, "%s", advice)
	case !(right.of() > 0):
		return "", fmt.Errorf("%w: verifier %s: %s these are paid %v", lines.ErrInput, j.Name, against, right.of())
	}
	scored := slices.DeleteFunc(slices.Clone(order), func(c audit.Cheat) bool { return paid[c.Text].n == 0 })
	worst := slices.MaxFunc(scored, func(a, b audit.Cheat) int { return cmp.Compare(paid[a.Text].of(), paid[b.Text].of()) })
	earned := paid[worst.Text].of() / right.of()
	note = fmt.Sprintf("verifier %s pays %s %.2f of what it pays a right answer", j.Name, terminal.Quote(worst.Text), earned)
	if earned > j.MaxFooled {
		err := fmt.Errorf("%w: %s (the attack %s); max_fooled is %v", lines.ErrInput, note, worst.Attack, j.MaxFooled)
		return "", hint.With(err, "train the judge on such answers as bad ones, ask it otherwise, or raise max_fooled")
	}
	note += fmt.Sprintf(": the best of %d texts", len(order))
	if unread := len(order) - len(scored); unread > 0 {
		note += fmt.Sprintf(", %d of which could not be scored", unread)
	}
	return note, nil
}

// unreadOf says that too many verdicts have no score, and why; "": they are not.
func unreadOf(verdicts []verify.Verdict, what string, st *recipe.Stage) string {
	u := unscored{why: map[string]int{}}
	for _, v := range verdicts {
		if v.Verdict == verify.NotScored {
			u.add(v.Reason)
		}
	}
	why := u.tooMany(len(verdicts), st)
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%d of %d %s have no score, %s", u.count, len(verdicts), what, why)
}

// missing says whether a judge was asked something and did not answer, and why.
func missing(verdicts [][]verify.Verdict) (why string, some bool) {
	for _, v := range slices.Concat(verdicts...) {
		for _, o := range v.Opinions {
			if o.Missing {
				return o.Why, true
			}
		}
	}
	return "", false
}

// right is a right answer to a row: one of the task's demonstrations, or the reference.
func (p *Parts) right(row verify.Problem, r *random.Rand) (string, bool) {
	if d := p.Recipe.Task.Demonstrator(); d != nil {
		next := func() (string, error) { return d.Demonstration(r, row) }
		text, err := next()
		if err != nil {
			return "", false
		}
		text, found, err := rightOne(text, func(text string) bool { return d.Verify(row, text, true).Verdict == verify.Right }, next)
		return text, found && err == nil
	}
	return row.Answer, row.Answer != ""
}

// meanScore is the mean of scores.
type meanScore struct {
	sum float64
	n   int
}

func (m *meanScore) add(v verify.Verdict) {
	if v.Verdict != verify.NotScored {
		m.sum, m.n = m.sum+v.Score, m.n+1
	}
}

// of is NaN of nothing.
func (m *meanScore) of() float64 { return m.sum / float64(m.n) }

// scoreOf is the mean score of a group's completions; NaN: none is scored.
func scoreOf(g *rollout.Group) float64 {
	var mean meanScore
	for _, p := range g.Paths {
		mean.add(p.Verdict())
	}
	return mean.of()
}
