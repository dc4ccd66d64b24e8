package panel

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// duel is a comparison of two paths of a group, in both orders.
type duel struct {
	a, b   int
	equal  bool // their texts are: a tie
	ab, ba judge.Question
	at     [2]int // places in the sheet
}

// contest is what is asked about the pairs of a group.
type contest struct {
	settled []*verify.Verdict // [path]
	alone   [][]int           // [path] the question about it and nothing
	asks    map[[2]int]asked  // of pairs with different texts that can be shown, in their order
	duels   []duel            // that are on the sheet
}

// pairs puts the questions about pairs of completions.
func (s *sheet) pairs(groups []rollout.Group) func([]spoken) [][]verify.Verdict {
	all := make([]contest, len(groups))
	for g := range groups {
		all[g] = s.contest(&groups[g])
	}
	return func(said []spoken) [][]verify.Verdict {
		out, over := make([][]verify.Verdict, len(groups)), true
		for g := range all {
			if s.judge.Against == judge.Bracket {
				out[g] = s.ranked(&groups[g], &all[g], said)
			} else {
				out[g] = s.compared(&groups[g], &all[g], said)
			}
			over = over && out[g] != nil
		}
		if !over || len(s.ids) > len(said) { // those that were refused together are asked about alone
			return nil
		}
		return out
	}
}

// contest settles the completions of a group that cannot be shown, and puts the questions that are known
// from the beginning.
func (s *sheet) contest(g *rollout.Group) contest {
	c := contest{settled: make([]*verify.Verdict, len(g.Paths)), asks: map[[2]int]asked{}}
	c.alone = s.alone(g, c.settled, func(text string) ([]judge.Question, error) {
		q, err := s.judge.Compare(g.Problem, text, "")
		return []judge.Question{q}, err
	})
	if s.judge.Against == judge.Bracket {
		s.ranked(g, &c, nil)
		return c
	}
	pairs := func() (all [][2]int) { // of the completions that are left
		left := left(c.settled)
		for k, a := range left {
			for _, b := range left[k+1:] {
				if s.judge.Against != judge.Anchor || k == 0 {
					all = append(all, [2]int{a, b})
				}
			}
		}
		return all
	}
	for !s.meet(g, &c, pairs()) {
	}
	for _, p := range pairs() {
		s.duel(g, &c, p)
	}
	return c
}

// meet writes the questions about pairs. If one cannot be shown, it leaves out one of the two, and says so.
func (s *sheet) meet(g *rollout.Group, c *contest, pairs [][2]int) bool {
	for _, p := range pairs {
		err := s.write(g, c, p)
		if err == nil {
			err = s.write(g, c, [2]int{p[1], p[0]})
		}
		if err != nil {
			s.leaveOut(g, c.settled, p[:], c.alone, err)
			return false
		}
	}
	return true
}

// write writes the question about two paths in an order.
func (s *sheet) write(g *rollout.Group, c *contest, order [2]int) error {
	a, b := g.Paths[order[0]].Text, g.Paths[order[1]].Text
	if _, known := c.asks[order]; known || a == b {
		return nil
	}
	q, err := s.judge.Compare(g.Problem, a, b)
	var ids []int
	if err == nil {
		ids, err = s.written(q)
	}
	if err == nil {
		q.About = fmt.Sprintf("%d>%d", order[0]+1, order[1]+1)
		c.asks[order] = asked{q, ids}
	}
	return err
}

// duel puts the questions about a pair.
func (s *sheet) duel(g *rollout.Group, c *contest, p [2]int) {
	d := duel{a: p[0], b: p[1], equal: g.Paths[p[0]].Text == g.Paths[p[1]].Text}
	if !d.equal {
		ab, ba := c.asks[p], c.asks[[2]int{p[1], p[0]}]
		d.ab, d.ba, d.at = ab.question, ba.question, [2]int{s.put(ab.ids, g, d.a), s.put(ba.ids, g, d.a)}
	}
	c.duels = append(c.duels, d)
}

// meeting is what came out of a duel: how far each of the two is better than the other, 0 to 1, or why it
// cannot be read.
type meeting struct {
	a, b     float64
	why      string
	opinions []verify.Opinion
}

// met reads a duel.
func (s *sheet) met(g *rollout.Group, d duel, said []spoken) meeting {
	if d.equal {
		return meeting{a: 0.5, b: 0.5}
	}
	var m meeting
	var says [2]float64
	for k, q := range []judge.Question{d.ab, d.ba} {
		opinions := s.opinions(d.at[k], said[d.at[k]], g.Problem)
		for _, o := range opinions {
			o.About = q.About
			m.opinions = append(m.opinions, o)
		}
		var why string
		if says[k], _, _, why = judge.Votes(opinions); m.why == "" {
			m.why = why
		}
	}
	m.a, m.b = judge.Duel(says[0], says[1]), judge.Duel(says[1], says[0]) // of each as it is counted wherever it stands
	return m
}

// meanOf is the mean of outcomes, NaN of none. Equal outcomes in any order have one mean.
func meanOf(outcomes []float64) float64 {
	sum := 0.0
	for _, x := range slices.Sorted(slices.Values(outcomes)) {
		sum += x
	}
	return sum / float64(len(outcomes))
}

// compared are the verdicts of a group each of whose pairs was asked about, or those with the first one:
// the mean of a completion's duels.
func (s *sheet) compared(g *rollout.Group, c *contest, said []spoken) []verify.Verdict {
	n := len(g.Paths)
	outcomes, opinions, why := make([][]float64, n), make([][]verify.Opinion, n), make([]string, n)
	for _, d := range c.duels {
		m := s.met(g, d, said)
		opinions[d.a] = append(opinions[d.a], m.opinions...)
		if m.why != "" {
			why[d.a], why[d.b] = m.why, m.why
			continue
		}
		outcomes[d.a], outcomes[d.b] = append(outcomes[d.a], m.a), append(outcomes[d.b], m.b)
	}
	means := make([]float64, n)
	for i, list := range outcomes {
		means[i] = meanOf(list) // NaN is above nothing
	}
	out := make([]verify.Verdict, n)
	for i := range out {
		if c.settled[i] != nil {
			out[i] = *c.settled[i]
			continue
		}
		above := 0
		for k := range means {
			if means[k] > means[i] {
				above++
			}
		}
		out[i] = s.judge.Among(outcomes[i], means[i], above, opinions[i], why[i])
	}
	return out
}
