package train

import (
	"math"

	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
)

// truthMetrics hold what is paid against what is measured and not paid, over the completions that have
// both.
func truthMetrics(cs []Completion, row metrics.Row) {
	truth, paid, n := 0.0, 0.0, 0
	for i := range cs {
		c := &cs[i]
		if c.Truth != nil && !math.IsNaN(c.Truth.Reward) && !math.IsNaN(c.Score.Reward) {
			truth, paid, n = truth+c.Truth.Reward, paid+c.Score.Reward, n+1
		}
	}
	if n > 0 {
		row["reward/truth"], row["reward/gap"] = truth/float64(n), (paid-truth)/float64(n)
	}
}

// unreadMetrics say how much of what the judges of a stage, and of the task, said could not be read.
func unreadMetrics(st *recipe.Stage, cs []Completion, row metrics.Row) {
	names := []string{"task"}
	for _, v := range st.Verifiers {
		names = append(names, v.Name)
	}
	for k, name := range names {
		asked, unread := 0, 0
		for i := range cs {
			verdicts := cs[i].Path().Verdicts
			if k >= len(verdicts) {
				continue
			}
			for _, o := range verdicts[k].Opinions {
				asked++
				if o.Reading == nil {
					unread++
				}
			}
		}
		if asked > 0 {
			row["judge/unread/"+name] = float64(unread) / float64(asked)
		}
	}
}

// judged tells what the judges were asked since the step before. It is no metric of the run, whose cache is
// empty after a resume.
func (s *reinforcement) judged(row metrics.Row) {
	p, ok := s.drawer.collector.Judges.(*panel.Panel)
	if !ok {
		return
	}
	if c := p.Take(); c.Questions > 0 {
		row["judge/cached_share"], row["judge/tokens"] = float64(c.Cached)/float64(c.Questions), float64(c.Tokens)
	}
}
