package sample

import "slices"

// A branch are the completions of a group, in flight, that have equal tokens so far: the
// next token of all is drawn from one row, each with its own random numbers. The row's
// key and value lie in the slots of the first. It is the tree of package seq while
// it grows.
type branch []*sequence

// branchesOf are those of completions that have no tokens yet. One with a draft is for
// itself: its rows are computed ahead.
func branchesOf(seqs []*sequence) []branch {
	var out []branch
	var all branch
	for _, s := range seqs {
		if s.draft != nil {
			out = append(out, branch{s})
		} else {
			all = append(all, s)
		}
	}
	if all != nil {
		out = append(out, all)
	}
	return out
}

// part takes finished completions out of the branches of a group and parts those that
// no longer have equal tokens.
func (e *Engine) part(g *group) error {
	if g.read < len(g.req.Prompt) {
		return nil
	}
	var out []branch
	for _, b := range g.branches {
		for _, part := range b.parts() {
			if part[0] != b[0] {
				if err := e.cache.follow(part[0].list, b[0].list, len(g.req.Prompt)); err != nil {
					return err
				}
			}
			out = append(out, part)
		}
		if e.opt.Prefixes > 0 && slices.ContainsFunc(b, func(s *sequence) bool { return s.finish }) {
			drawn := b[0].IDs // but for the last token those of all; that one was drawn and not read
			e.cache.prefixes.keep(e.cache, slices.Concat(g.req.Prompt, drawn[:max(0, len(drawn)-1)]), b[0].list.slots)
		}
		for _, s := range b {
			if s.finish {
				e.cache.close(s.list)
				s.list = nil
			}
		}
	}
	g.branches = out
	return nil
}

// parts are the completions of a branch that are not finished, those with the same last
// token together.
func (b branch) parts() []branch {
	var out []branch
	for _, s := range b {
		if s.finish {
			continue
		}
		last := s.IDs[len(s.IDs)-1]
		i := slices.IndexFunc(out, func(p branch) bool { return p[0].IDs[len(p[0].IDs)-1] == last })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], s)
	}
	return out
}
