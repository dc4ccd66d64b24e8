package panel

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// asking is a completion that is judged by itself.
type asking struct {
	questions []judge.Question
	places    []int           // of the questions in the sheet
	settled   *verify.Verdict // that needs no question
}

// each puts the questions about each completion, and returns what makes verdicts of the answers.
func (s *sheet) each(groups []rollout.Group) func([]spoken) [][]verify.Verdict {
	all := make([][]asking, len(groups))
	for g := range groups {
		all[g] = make([]asking, len(groups[g].Paths))
		for i := range groups[g].Paths {
			all[g][i] = s.about(&groups[g], g, i)
		}
	}
	return func(said []spoken) [][]verify.Verdict {
		out := make([][]verify.Verdict, len(groups))
		for g := range all {
			for _, a := range all[g] {
				if a.settled != nil {
					out[g] = append(out[g], *a.settled)
					continue
				}
				votes := make([][]verify.Opinion, len(a.questions))
				for k, at := range a.places {
					votes[k] = s.opinions(at, said[at], a.questions[k], groups[g].Problem)
				}
				out[g] = append(out[g], s.judge.Verdict(a.questions, votes))
			}
		}
		return out
	}
}

// about puts the questions about a path of a group.
func (s *sheet) about(g *rollout.Group, group, path int) (a asking) {
	text := g.Paths[path].Text
	var err error
	if a.questions, err = s.judge.Ask(g.Problem, text); err != nil {
		v := verify.Abstain("%v", err)
		a.settled = &v
		return a
	}
	all := make([][]int, len(a.questions))
	for k, q := range a.questions {
		if all[k], err = s.shown(g, path, q); err != nil {
			v := s.unshown(g.Problem, err, func() ([]judge.Question, error) { return s.judge.Ask(g.Problem, "") })
			a.settled = &v
			return a
		}
	}
	for _, ids := range all {
		a.places = append(a.places, s.put(ids, group))
	}
	return a
}

// shown are the ids of a question about a path.
func (s *sheet) shown(g *rollout.Group, path int, q judge.Question) (ids []int, err error) {
	switch {
	case !s.judge.Conversation():
		return s.written(q)
	case s.model.Shares() && g.Segments != nil:
		ids = g.View(path).IDs
	default:
		if ids, err = s.conversation(g.Problem, g.Paths[path].Text); err != nil {
			return nil, err
		}
	}
	return ids, s.fits(ids)
}

// conversation are the ids of a prompt with a completion, whose control tokens are text, and the end of
// the turn.
func (s *sheet) conversation(row verify.Problem, completion string) ([]int, error) {
	r := s.model.Renderer()
	prompt, err := r.Prompt(row)
	if err != nil {
		return nil, err
	}
	answer, err := r.Answer(completion)
	return slices.Concat(prompt, answer, r.Ends()[:1]), err
}

// unshown is the verdict about a completion that cannot be shown: wrong if that is its own doing, since
// the questions of an empty one could be, and else not scored.
func (s *sheet) unshown(row verify.Problem, err error, empty func() ([]judge.Question, error)) verify.Verdict {
	questions, lacks := empty()
	for _, q := range questions {
		switch {
		case lacks != nil:
		case q.Text == "": // the conversation
			var ids []int
			if ids, lacks = s.conversation(row, ""); lacks == nil {
				lacks = s.fits(ids)
			}
		default:
			_, lacks = s.written(q)
		}
	}
	if lacks != nil {
		return verify.Abstain("the question cannot be shown to %s: %v", s.judge.Model, lacks)
	}
	return s.judge.TooLong("it cannot be shown to %s: %v", s.judge.Model, err)
}

// duel is a comparison of two paths of a group, in both orders.
type duel struct {
	a, b   int
	equal  bool // their texts are: a tie
	ab, ba judge.Question
	at     [2]int // places in the sheet
	why    string // it cannot be asked; "": it can
}

// rounds are the comparisons of a group.
type rounds struct {
	settled []*verify.Verdict // [path]
	duels   []duel
}

// pairs puts the questions about pairs of completions.
func (s *sheet) pairs(groups []rollout.Group) func([]spoken) [][]verify.Verdict {
	all := make([]rounds, len(groups))
	for g := range groups {
		all[g] = s.rounds(&groups[g], g)
	}
	return func(said []spoken) [][]verify.Verdict {
		out := make([][]verify.Verdict, len(groups))
		for g := range all {
			out[g] = s.compared(&groups[g], &all[g], said)
		}
		return out
	}
}

// rounds puts the questions about the pairs of a group.
func (s *sheet) rounds(g *rollout.Group, group int) rounds {
	n := len(g.Paths)
	r := rounds{settled: make([]*verify.Verdict, n)}
	compare := func(a, b string) ([]judge.Question, error) {
		q, err := s.judge.Compare(g.Problem, a, b)
		return []judge.Question{q}, err
	}
	for i, p := range g.Paths {
		q, err := compare(p.Text, "")
		if err == nil {
			_, err = s.written(q[0])
		}
		if err != nil {
			v := s.unshown(g.Problem, err, func() ([]judge.Question, error) { return compare("", "") })
			r.settled[i] = &v
		}
	}
	for a := range n {
		for b := a + 1; b < n; b++ {
			if r.settled[a] != nil || r.settled[b] != nil || s.judge.Against == judge.Anchor && a > 0 {
				continue
			}
			d := duel{a: a, b: b, equal: g.Paths[a].Text == g.Paths[b].Text}
			for k, order := range [][2]int{{a, b}, {b, a}} {
				if d.equal || d.why != "" {
					break
				}
				q, err := s.judge.Compare(g.Problem, g.Paths[order[0]].Text, g.Paths[order[1]].Text)
				var ids []int
				if err == nil {
					ids, err = s.written(q)
				}
				if err != nil {
					d.why = err.Error()
					break
				}
				q.About = fmt.Sprintf("%d>%d", order[0]+1, order[1]+1)
				d.at[k] = s.put(ids, group)
				if k == 0 {
					d.ab = q
				} else {
					d.ba = q
				}
			}
			r.duels = append(r.duels, d)
		}
	}
	return r
}

// compared are the verdicts of a group whose pairs were asked about.
func (s *sheet) compared(g *rollout.Group, r *rounds, said []spoken) []verify.Verdict {
	n := len(g.Paths)
	outcomes, opinions, why := make([][]float64, n), make([][]verify.Opinion, n), make([]string, n)
	for _, d := range r.duels {
		x, y := 0.5, 0.5 // of a and of b, as each is counted wherever it stands
		if d.why != "" {
			why[d.a], why[d.b] = d.why, d.why
			continue
		}
		if !d.equal {
			first, second := s.opinions(d.at[0], said[d.at[0]], d.ab, g.Problem), s.opinions(d.at[1], said[d.at[1]], d.ba, g.Problem)
			ab, _, _, reason := judge.Votes(first)
			ba, _, _, other := judge.Votes(second)
			for k, list := range [][]verify.Opinion{first, second} {
				for _, o := range list {
					o.About = []string{d.ab.About, d.ba.About}[k]
					opinions[d.a] = append(opinions[d.a], o)
				}
			}
			if reason == "" {
				reason = other
			}
			if reason != "" {
				why[d.a], why[d.b] = reason, reason
				continue
			}
			x, y = judge.Duel(ab, ba), judge.Duel(ba, ab)
		}
		outcomes[d.a], outcomes[d.b] = append(outcomes[d.a], x), append(outcomes[d.b], y)
	}
	means := make([]float64, n)
	for i, list := range outcomes {
		slices.Sort(list) // equal outcomes in any order have one sum
		for _, x := range list {
			means[i] += x / float64(len(list))
		}
	}
	out := make([]verify.Verdict, n)
	for i := range out {
		if r.settled[i] != nil {
			out[i] = *r.settled[i]
			continue
		}
		above := 0
		for k := range means {
			if len(outcomes[k]) > 0 && means[k] > means[i] {
				above++
			}
		}
		if why[i] == "" {
			why[i] = "there is no other completion to compare it with"
		}
		out[i] = s.judge.Among(outcomes[i], above, opinions[i], why[i])
	}
	return out
}

// order is the question about all completions of a group.
type order struct {
	settled  []*verify.Verdict // [path]
	shown    []int             // paths that are shown, in their order
	question judge.Question
	at       int
	why      string
}

// orders puts the questions about groups.
func (s *sheet) orders(groups []rollout.Group) func([]spoken) [][]verify.Verdict {
	all := make([]order, len(groups))
	for g := range groups {
		all[g] = s.order(&groups[g], g)
	}
	return func(said []spoken) [][]verify.Verdict {
		out := make([][]verify.Verdict, len(groups))
		for g, o := range all {
			out[g] = make([]verify.Verdict, len(groups[g].Paths))
			var places []int
			opinion := verify.Opinion{Why: o.why}
			if o.why == "" {
				places, opinion = s.judge.OfOrder(o.question, said[o.at].said[0], len(o.shown))
				opinion.Question = s.name(o.at)
			}
			for k, path := range o.shown {
				place := 0
				if places != nil {
					place = places[k]
				}
				out[g][path] = s.judge.Placed(place, len(o.shown), opinion)
			}
			for path, v := range o.settled {
				if v != nil {
					out[g][path] = *v
				}
			}
		}
		return out
	}
}

// order puts the question about a group.
func (s *sheet) order(g *rollout.Group, group int) order {
	o := order{settled: make([]*verify.Verdict, len(g.Paths))}
	list := func(texts ...string) ([]judge.Question, error) {
		q, err := s.judge.List(g.Problem, texts)
		return []judge.Question{q}, err
	}
	var texts []string
	for i, p := range g.Paths {
		q, err := list(p.Text)
		if err == nil {
			_, err = s.written(q[0])
		}
		if err != nil {
			v := s.unshown(g.Problem, err, func() ([]judge.Question, error) { return list("") })
			o.settled[i] = &v
			continue
		}
		o.shown, texts = append(o.shown, i), append(texts, p.Text)
	}
	if o.why = "none of its completions can be shown"; len(texts) == 0 {
		return o
	}
	q, err := list(texts...)
	var ids []int
	if err == nil {
		ids, err = s.written(q[0])
	}
	if err != nil {
		o.why = err.Error()
		return o
	}
	o.why, o.question, o.at = "", q[0], s.put(ids, group)
	return o
}
