package panel

import (
	"errors"
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
			all[g][i] = s.about(&groups[g], i)
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
					votes[k] = s.opinions(at, said[at], groups[g].Problem)
				}
				out[g] = append(out[g], s.judge.Verdict(a.questions, votes))
			}
		}
		return out
	}
}

// about puts the questions about a path of a group.
func (s *sheet) about(g *rollout.Group, path int) (a asking) {
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
			v := s.unshown(g, path, a.questions, err, func(text string) ([]judge.Question, error) { return s.judge.Ask(g.Problem, text) })
			a.settled = &v
			return a
		}
	}
	for _, ids := range all {
		a.places = append(a.places, s.put(ids, g, path))
	}
	return a
}

// errHolds is why a completion is not shown that could have its answer taken for a repetition of the question.
var errHolds = errors.New("it has the text of the question in it")

// shown are the ids of a question about a path.
func (s *sheet) shown(g *rollout.Group, path int, q judge.Question) (ids []int, err error) {
	switch {
	case !s.judge.Conversation():
		if s.judge.Holds(g.Paths[path].Text) {
			return nil, errHolds
		}
		return s.written(q)
	case s.member.Shares() && g.Segments != nil:
		ids = g.View(path).Last()
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
	r := s.member.Renderer()
	prompt, err := r.Prompt(row)
	if err != nil {
		return nil, err
	}
	answer, err := r.Answer(completion)
	return slices.Concat(prompt, answer, r.Ends()[:1]), err
}

// unshown is the verdict about a completion that cannot be shown: wrong if that is its own doing, since
// the questions of an empty one could be, and else not scored. Where a question about the completion was refused, those of
// the empty one have to be answered. Of a prompt without text of its own, in which nothing stands then, those of a
// short one are.
func (s *sheet) unshown(g *rollout.Group, path int, questions []judge.Question, err error, about func(text string) ([]judge.Question, error)) verify.Verdict {
	refused := errors.As(err, &Refused{})
	lacks := s.could(g, path, about, "", refused)
	if errors.Is(lacks, errNothing) {
		if lacks = nil; refused {
			lacks = s.could(g, path, about, s.judge.Part+".", refused)
		}
	}
	if lacks != nil {
		v := verify.Abstain("the question cannot be shown to %s: %v", s.judge.Model, lacks)
		if gone := (unanswered{}); errors.As(lacks, &gone) { // whoever reads the verdict learns that the server is at fault
			v.Opinions = []verify.Opinion{gone.opinion}
		}
		return v
	}
	return s.judge.Unshown(questions, len(g.Paths), "it cannot be shown to %s: %v", s.judge.Model, err)
}

// could says why a completion with a text could not be shown in the place of a path, or where its questions have to be
// answered, are not; nil: it could.
func (s *sheet) could(g *rollout.Group, path int, about func(text string) ([]judge.Question, error), text string, answered bool) error {
	questions, err := about(text)
	for _, q := range questions {
		var ids []int
		switch {
		case err != nil:
		case s.judge.Conversation():
			if ids, err = s.conversation(g.Problem, text); err == nil {
				err = s.fits(ids)
			}
		default:
			if ids, err = s.written(q); err == nil && answered {
				err = s.lacks(ids, g, path)
			}
		}
	}
	return err
}

// asked is a question with its ids.
type asked struct {
	question judge.Question
	ids      []int
}

// alone settles the completions that cannot be shown even without the others, and returns the questions about each
// alone.
func (s *sheet) alone(g *rollout.Group, settled []*verify.Verdict, about func(text string) ([]judge.Question, error)) (ids [][]int) {
	ids = make([][]int, len(g.Paths))
	for i, p := range g.Paths {
		q, err := about(p.Text)
		if err == nil && s.judge.Holds(p.Text) {
			err = errHolds
		}
		if err == nil {
			ids[i], err = s.written(q[0])
		}
		if err != nil {
			v := s.unshown(g, i, nil, err, about)
			settled[i] = &v
		}
	}
	return ids
}

// left are the paths that are not settled.
func left(settled []*verify.Verdict) (out []int) {
	for i, v := range settled {
		if v == nil {
			out = append(out, i)
		}
	}
	return out
}

// leaveOut settles one of some paths that cannot be shown together: it is wrong, so that none of the others is not
// scored because of it. It is the one with the most tokens, the last one of several, unless the question was refused and
// one alone is too, which is asked.
func (s *sheet) leaveOut(g *rollout.Group, settled []*verify.Verdict, paths []int, alone [][]int, err error) {
	most := paths[0]
	for _, p := range paths {
		if errors.As(err, &Refused{}) {
			s.put(alone[p], g, p)
		}
		if len(alone[p]) >= len(alone[most]) {
			most = p
		}
	}
	v := s.judge.Unshown(nil, len(g.Paths), "it cannot be shown to %s beside others: %v", s.judge.Model, err)
	settled[most] = &v
}

// order is the question about all completions of a group.
type order struct {
	settled []*verify.Verdict // [path]
	shown   []int             // paths that are shown, in their order
	at      int
}

// orders puts the questions about groups.
func (s *sheet) orders(groups []rollout.Group) func([]spoken) [][]verify.Verdict {
	all := make([]order, len(groups))
	for g := range groups {
		all[g] = s.order(&groups[g])
	}
	return func(said []spoken) [][]verify.Verdict {
		out := make([][]verify.Verdict, len(groups))
		for g, o := range all {
			out[g] = make([]verify.Verdict, len(groups[g].Paths))
			var places []int
			var opinion verify.Opinion
			if len(o.shown) > 1 {
				places, opinion = s.judge.OfOrder(said[o.at].said[0], len(o.shown))
				opinion = s.of(o.at, opinion)
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
func (s *sheet) order(g *rollout.Group) order {
	o := order{settled: make([]*verify.Verdict, len(g.Paths))}
	list := func(texts ...string) ([]judge.Question, error) {
		q, err := s.judge.List(g.Problem, texts)
		return []judge.Question{q}, err
	}
	alone := s.alone(g, o.settled, func(text string) ([]judge.Question, error) { return list(text) })
	for o.shown = left(o.settled); len(o.shown) > 1; o.shown = left(o.settled) {
		var texts []string
		for _, i := range o.shown {
			texts = append(texts, g.Paths[i].Text)
		}
		q, err := list(texts...)
		var ids []int
		if err == nil {
			ids, err = s.written(q[0])
		}
		if err == nil {
			o.at = s.put(ids, g, o.shown[0])
			return o
		}
		s.leaveOut(g, o.settled, o.shown, alone, err)
	}
	return o
}
