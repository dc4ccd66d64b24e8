package panel

import (
	"cmp"
	"slices"

	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
)

// stand is where one ends in a tournament.
type stand struct {
	round int     // in which it lost; of who lost none: one more than the last
	mean  float64 // of its duels
	why   string  // a duel cannot be read that decides where it stands; else ""
}

// compare is negative where a stands above b.
func (a stand) compare(b stand) int {
	return cmp.Or(cmp.Compare(b.round, a.round), cmp.Compare(b.mean, a.mean))
}

// tournament plays one of n from what is known: all meet the first one, whose means seed them; then who
// loses is out, the best seeds meet the worst, and where their number is no power of two the best wait a
// round. In a tie the better seed goes on. Those are at most n-1 duels and n-1 more; two that meet again have
// met once (seeded single elimination of ArenaRL, arXiv:2601.06487, as in github.com/Alibaba-NLP/qqr, where who
// waits differs). met says what came out of a duel. next are the duels that are not known and are needed
// first; nil: stands are all there.
//
// Who meets the first one unread has no seed, and who meets a better seed unread is out: neither has a
// place, and the other one loses nothing by it.
func tournament(n int, met func(a, b int) (m meeting, known bool)) (next [][2]int, stands []stand) {
	stands = make([]stand, n)
	points := make([][]float64, n)
	played := map[[2]int]bool{}
	play := func(a, b int) (m meeting) {
		m, known := met(a, b)
		switch {
		case !known:
			next = append(next, [2]int{a, b})
		case m.why == "" && !played[[2]int{min(a, b), max(a, b)}]:
			points[a], points[b] = append(points[a], m.a), append(points[b], m.b)
			played[[2]int{min(a, b), max(a, b)}] = true
		}
		return m
	}
	var seeds []int // the best first
	for i := range n {
		if i > 0 {
			stands[i].why = play(0, i).why
		}
		if stands[i].why == "" {
			seeds = append(seeds, i)
		}
	}
	if next != nil {
		return next, nil
	}
	if n == 0 {
		return nil, nil
	}
	if n > 1 && len(seeds) == 1 {
		stands[0].why = stands[1].why
	}
	first := make([]float64, n)
	for i := range first {
		first[i] = meanOf(points[i])
	}
	slices.SortStableFunc(seeds, func(a, b int) int { return cmp.Compare(first[b], first[a]) })
	slots := []int{0} // seeds as they meet; those that there are none of are better than nobody
	for len(slots) < len(seeds) {
		var wider []int
		for _, s := range slots {
			wider = append(wider, s, 2*len(slots)-1-s)
		}
		slots = wider
	}
	round := 1
	for ; len(slots) > 1; round++ {
		var on []int
		for i := 0; i < len(slots); i += 2 {
			better, worse := min(slots[i], slots[i+1]), max(slots[i], slots[i+1])
			if worse < len(seeds) {
				m := play(seeds[better], seeds[worse])
				if stands[seeds[worse]].why = m.why; m.why == "" && m.b > m.a {
					better, worse = worse, better
				}
				stands[seeds[worse]].round = round
			}
			on = append(on, better)
		}
		if next != nil {
			return next, nil
		}
		slots = on
	}
	stands[seeds[slots[0]]].round = round
	for i := range stands {
		stands[i].mean = meanOf(points[i])
	}
	return nil, stands
}

// ranked are the verdicts of a group by a tournament of its different texts: the share of the other
// completions that stand lower, and half of those that stand beside it. It puts the duels of the next round
// as long as there are some, and the verdicts are nil then. Two that are to meet and do not fit into a question leave out
// one of them, and the tournament is that of the others.
func (s *sheet) ranked(g *rollout.Group, c *contest, said []spoken) []verify.Verdict {
	var paths []int              // of the entrants
	entrants := map[string]int{} // by text
	same := map[int][]int{}      // [entrant] paths with its text
	for _, path := range left(c.settled) {
		text := g.Paths[path].Text
		at, known := entrants[text]
		if !known {
			at = len(paths)
			entrants[text], paths = at, append(paths, path)
		}
		same[at] = append(same[at], path)
	}
	known := map[[2]int]meeting{} // by entrants
	opinions := map[int][]verify.Opinion{}
	outcomes := map[int][]float64{}
	for _, d := range c.duels {
		a, still := entrants[g.Paths[d.a].Text]
		b, both := entrants[g.Paths[d.b].Text]
		if !still || !both { // one was left out since
			continue
		}
		m := s.met(g, d, said)
		known[[2]int{a, b}], known[[2]int{b, a}] = m, meeting{a: m.b, b: m.a, why: m.why}
		opinions[a] = append(opinions[a], m.opinions...)
		if m.why == "" {
			outcomes[a], outcomes[b] = append(outcomes[a], m.a), append(outcomes[b], m.b)
		}
	}
	next, stands := tournament(len(paths), func(a, b int) (meeting, bool) {
		m, there := known[[2]int{a, b}]
		return m, there
	})
	pairs := make([][2]int, len(next))
	for i, p := range next {
		pairs[i] = [2]int{paths[p[0]], paths[p[1]]}
	}
	if !s.meet(g, c, pairs) {
		return s.ranked(g, c, said)
	}
	for _, p := range pairs {
		s.duel(g, c, p)
	}
	if next != nil {
		return nil
	}
	out := make([]verify.Verdict, len(g.Paths))
	for path, v := range c.settled {
		if v != nil {
			out[path] = *v
		}
	}
	for i, at := range stands {
		above, beside, below := 0, -1, 0
		for k, other := range stands {
			switch by := other.compare(at); {
			case other.why != "":
			case by < 0:
				above += len(same[k])
			case by == 0:
				beside += len(same[k])
			default:
				below += len(same[k])
			}
		}
		var played []float64 // what counts
		if at.why == "" {
			played = append(outcomes[i], slices.Repeat([]float64{0.5}, len(same[i])-1)...) // with those beside equal ones
		}
		score := (float64(below) + float64(beside)/2) / float64(above+beside+below)
		for k, path := range same[i] {
			if out[path] = s.judge.Among(played, score, above, opinions[i], at.why); k > 0 {
				out[path].Opinions = nil // they are those of the first one
			}
		}
	}
	return out
}
