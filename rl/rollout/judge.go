package rollout

import (
	"context"
	"runtime"
	"sync"

	"github.com/rlzero/rlzero/verify"
)

// place is a verdict to be found: that of a verifier, 0 being the task, about a path.
type place struct{ group, path, verifier int }

// Judge gives all completions of groups their texts and verdicts: the task's, then those of
// the verifiers besides. Verdicts that are there stay: an episode has its first one already, and a
// completion that was judged before its tree grew has all of them. Verifiers that are metered
// have a budget for all completions together; the error says that it is spent.
func (c *Collector) Judge(ctx context.Context, groups []Group, besides ...verify.Verifier) error {
	if err := c.Read(ctx, groups); err != nil {
		return err
	}
	known, err := c.ask(ctx, groups, besides)
	if err == nil {
		err = c.opinions(ctx, groups, besides, known)
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	paths := 0
	for _, g := range groups {
		paths += len(g.Paths)
	}
	meters := make([]*verify.Meter, 1+len(besides))
	for k := range meters {
		meters[k] = verify.NewMeter(paths)
	}
	judge := func(k int, v verify.Verifier, problem verify.Problem, text string) verify.Verdict {
		verdict, over := meters[k].Verify(v, problem, text)
		if over != nil {
			stop()
		}
		return verdict
	}
	err = each(ctx, groups, func(g, path int) {
		p, problem := &groups[g].Paths[path], groups[g].Problem
		ended := groups[g].Segments[p.Leaf].Ended()
		played := p.Verdicts
		p.Verdicts = make([]verify.Verdict, 1+len(besides))
		for k := range p.Verdicts {
			if k < len(played) {
				p.Verdicts[k] = played[k]
				continue
			}
			if v := known[place{g, path, k}]; v != nil {
				p.Verdicts[k] = *v
				continue
			}
			p.Verdicts[k] = verify.Guard(func() verify.Verdict {
				if k > 0 {
					return judge(k, besides[k-1], problem, p.Text)
				}
				if _, metered := c.Asks.(verify.Metered); metered && ended {
					return judge(0, c.Asks, problem, p.Text)
				}
				return c.Task(problem, p.Text, ended)
			})
		}
	})
	for _, m := range meters {
		if over := m.Add(verify.Cost{}); over != nil {
			return over
		}
	}
	return err
}

// each calls do for all paths of groups, side by side: a verdict that runs a program may
// take tens of milliseconds.
func each(ctx context.Context, groups []Group, do func(group, path int)) error {
	var work sync.WaitGroup
	next := make(chan place)
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for at := range next {
				do(at.group, at.path)
			}
		})
	}
	defer work.Wait()
	defer close(next)
	for i := range groups {
		for j := range groups[i].Paths {
			if err := ctx.Err(); err != nil {
				return err
			}
			next <- place{group: i, path: j}
		}
	}
	return nil
}

// Read gives all completions of groups their texts.
func (c *Collector) Read(ctx context.Context, groups []Group) error {
	return each(ctx, groups, func(g, path int) { groups[g].Paths[path].Text = c.text(&groups[g], path) })
}

// text is what verifiers read of a path.
func (c *Collector) text(g *Group, path int) string {
	said := g.Said(path)
	leaf := g.Segments[said[len(said)-1]]
	leaf.IDs = g.IDs(said)
	return leaf.Text(c.Renderer)
}

// ask has the panel judge what it can.
func (c *Collector) ask(ctx context.Context, groups []Group, besides []verify.Verifier) (map[place]*verify.Verdict, error) {
	known := map[place]*verify.Verdict{}
	if c.Panel == nil {
		return known, nil
	}
	var questions []verify.Question
	var places []place
	for k, v := range append([]verify.Verifier{c.Asks}, besides...) {
		portable, ok := v.(verify.Portable)
		if !ok {
			continue
		}
		for i, g := range groups {
			for j, p := range g.Paths {
				if !g.lacks(j, k) {
					continue
				}
				questions = append(questions, verify.Question{Verifier: portable, Row: g.Problem, Completion: p.Text})
				places = append(places, place{i, j, k})
			}
		}
	}
	if len(questions) == 0 {
		return known, nil
	}
	verdicts, err := c.Panel.Judge(ctx, questions)
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		known[places[i]] = v
	}
	return known, nil
}

// opinions adds the verdicts of those that ask a model, about what lacks them.
func (c *Collector) opinions(ctx context.Context, groups []Group, besides []verify.Verifier, known map[place]*verify.Verdict) error {
	if c.Judges == nil {
		return nil
	}
	for k, v := range append([]verify.Verifier{c.Asks}, besides...) {
		asking, ok := v.(verify.Asking)
		if !ok {
			continue
		}
		about, places := lacking(groups, k, c.Judges.Compares(asking))
		if len(about) == 0 {
			continue
		}
		verdicts, err := c.Judges.Judge(ctx, asking, about)
		if err != nil {
			return err
		}
		for i, all := range places {
			for j, at := range all {
				if groups[at.group].lacks(at.path, k) {
					known[at] = &verdicts[i][j]
				}
			}
		}
	}
	return nil
}

// lacking are groups of those paths that lack a verdict of a verifier, and where these stand. whole keeps the other paths
// of their groups.
func lacking(groups []Group, verifier int, whole bool) (about []Group, places [][]place) {
	for i, g := range groups {
		paths, lacks := g.Paths, false
		var own []place
		g.Paths = nil
		for j, p := range paths {
			one := groups[i].lacks(j, verifier)
			lacks = lacks || one
			if one || whole {
				g.Paths, own = append(g.Paths, p), append(own, place{i, j, verifier})
			}
		}
		if lacks {
			about, places = append(about, g), append(places, own)
		}
	}
	return about, places
}

// lacks says whether a path is still to get the verdict of a verifier. A completion that the model did not end has the
// task's own.
func (g *Group) lacks(path, verifier int) bool {
	p := g.Paths[path]
	return verifier >= len(p.Verdicts) && (verifier > 0 || g.Segments[p.Leaf].Ended())
}
