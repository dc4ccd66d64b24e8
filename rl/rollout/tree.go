package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Fork is a place of a group from which other completions go on.
type Fork struct {
	Segment int // that the policy wrote
	Token   int // of it, from 0: the first that is drawn anew
}

// Forks are the places of each group from which a round goes on.
type Forks struct {
	At    [][]Fork // [group]
	Most  int      // of a group
	Width int      // completions from each

	Distinct bool // those that go on from a place begin with different tokens
}

// Branch draws completions that begin as others do, up to a fork. The groups that it returns have the
// paths of the given ones, and after them those that it drew, fork by fork. A segment that has a fork
// inside is two of them.
//
// Completion w of fork j of group i draws from the stream (i·most + j)·width + w beyond the key's,
// however many forks other groups have. Params are those of a whole completion. Nobody has judged what
// was drawn; the other paths keep their verdicts. If they are to be distinct, each begins with none of the tokens
// with which those that are there already go on, and those of its fork before it.
//
// With Episodes forks are before turns. The world begins anew for each branch, with the dice of the
// episode that it goes on from, and is told the turns before the fork: what it says has to be the same.
func (c *Collector) Branch(ctx context.Context, groups []Group, f Forks, params Params, key random.Key) ([]Group, error) {
	out := make([]Group, len(groups))
	if c.Episodes != nil {
		return out, c.branchTurns(ctx, groups, out, f, params, key)
	}
	var parents [][]int // [group][fork] the segment that it comes after
	var requests []Request
	var taken [][]int // [request] with which completions go on there
	for i := range groups {
		cut, after, err := groups[i].forked(f.At[i])
		if err != nil {
			return nil, err
		}
		out[i], parents = cut, append(parents, after)
		for j, at := range after {
			r := Request{N: f.Width, Params: params, Key: key}
			r.Key.Stream += uint32((i*f.Most + j) * f.Width)
			ids, own := cut.upTo(at)
			r.Prompt = ids
			r.Params.MaxTokens -= own
			requests, taken = append(requests, r), append(taken, cut.begins(at))
		}
	}
	if requests == nil {
		return out, nil
	}
	draw := c.Sampler.Sample
	if f.Distinct {
		draw = func(ctx context.Context, requests []Request) ([][]Segment, error) {
			return c.distinct(ctx, requests, taken)
		}
	}
	drawn, err := draw(ctx, requests)
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range out {
		for _, parent := range parents[i] {
			said := out[i].said(parent)
			for _, s := range drawn[n] {
				s.Parent = parent
				out[i].Paths = append(out[i].Paths, Path{Leaf: len(out[i].Segments)})
				out[i].Segments = append(out[i].Segments, Stopped(c.Renderer, said, s))
			}
			n++
		}
	}
	return out, nil
}

// distinct draws the completions of requests, those of a request without the beginnings that are taken and without
// those of each other.
func (c *Collector) distinct(ctx context.Context, requests []Request, taken [][]int) ([][]Segment, error) {
	f, out := newFlow(ctx, c.Sampler), make([][]Segment, len(requests))
	first := 0 // number of the request's first player
	for i, r := range requests {
		number := first
		out[i], first = make([]Segment, r.N), first+r.N
		f.play(func() error {
			apart, err := f.apart(number, r, taken[i])
			for k, one := range apart {
				f.play(func() error {
					drawn, err := f.draw(number+k, one)
					if err == nil {
						out[i][k] = drawn[0]
					}
					return err
				})
			}
			return err
		})
	}
	return out, f.wait()
}

// apart are requests for the completions of one, each of which begins with none of the tokens that are taken, and
// none of those with which the ones before it begin. These are found out one after the other.
func (f *flow) apart(number int, r Request, taken []int) ([]Request, error) {
	out := make([]Request, r.N)
	for i := range out {
		one := r
		one.N, one.Key.Stream = 1, r.Key.Stream+uint32(i)
		one.Params.Without = slices.Clone(taken)
		if out[i] = one; i == r.N-1 {
			break
		}
		one.Params.MaxTokens = 1
		begun, err := f.draw(number, one)
		if err != nil {
			return nil, err
		}
		taken = append(taken, begun[0].IDs[0])
	}
	return out, nil
}

// begins are the tokens with which the policy goes on after a segment.
func (g *Group) begins(at int) []int {
	var ids []int
	for _, s := range g.Segments {
		if s.Parent == at && s.Author == Policy && !slices.Contains(ids, s.IDs[0]) {
			ids = append(ids, s.IDs[0])
		}
	}
	return ids
}

// branchTurns is Branch for episodes: out gets the groups.
func (c *Collector) branchTurns(ctx context.Context, groups, out []Group, f Forks, params Params, key random.Key) error {
	params.MaxTokens = min(params.MaxTokens, c.Episodes.Tokens)
	type branch struct {
		group, after int // the segment that it comes after
		played       []*episode
		taken        []int // with which episodes go on there
	}
	var branches []branch
	defer func() {
		for _, b := range branches {
			for _, e := range b.played {
				e.leave()
			}
		}
	}()
	n := 0
	for i := range groups {
		if slices.ContainsFunc(groups[i].Segments, func(s Segment) bool { return s.Fresh }) {
			return fmt.Errorf("problem %s: the world begins the context of an episode anew. Completions grow as trees only in one context", groups[i].Problem.ID)
		}
		cut, after, err := groups[i].forked(f.At[i])
		if err != nil {
			return err
		}
		if len(cut.Segments) > len(groups[i].Segments) {
			return fmt.Errorf("problem %s: a fork inside of a turn, of which its world sees the whole", cut.Problem.ID)
		}
		out[i] = cut
		for j, at := range after {
			b := branch{group: i, after: at}
			if f.Distinct {
				b.taken = cut.begins(at)
			}
			for w := range f.Width {
				k := key
				k.Stream += uint32((i*f.Most+j)*f.Width + w)
				e := &episode{Episodes: c.Episodes, number: n, params: params, key: k, dice: cut.dice(at, k), problem: cut.Problem}
				if c.Episodes.Journal != nil {
					e.journal = c.Episodes.Journal(k, params.Temperature == 0)
				}
				ids, _ := cut.upTo(at)
				e.context = c.Episodes.context(cut.Problem, ids, len(cut.Segments[0].IDs))
				b.played, n = append(b.played, e), n+1
			}
			branches = append(branches, b)
		}
	}
	play := newFlow(ctx, c.Sampler)
	for i := range branches {
		b := &branches[i]
		play.play(func() error { return c.branchTurn(&out[b.group], b.after, b.played, b.taken, play) })
	}
	if err := play.wait(); err != nil {
		return err
	}
	for _, b := range branches {
		for _, e := range b.played {
			out[b.group].add(b.after, e)
		}
	}
	return nil
}

// branchTurn plays the episodes that go on after a segment, whose first turns are one request, unless some
// beginnings are taken: then they have different ones.
func (c *Collector) branchTurn(g *Group, after int, episodes []*episode, taken []int, f *flow) error {
	turns := g.turnsTo(after)
	if err := atOnce(episodes, func(e *episode) error { return e.repeat(f.ctx, g, turns) }); err != nil {
		return err
	}
	first := episodes[0]
	r := Request{Prompt: first.context.IDs, N: len(episodes), Params: first.params, Key: first.key}
	r.Params.MaxTokens = min(r.Params.MaxTokens, first.left())
	if taken != nil {
		apart, err := f.apart(first.number, r, taken)
		for i, one := range apart {
			e := episodes[i]
			f.play(func() error {
				turn, err := f.draw(e.number, one)
				if err != nil {
					return err
				}
				return e.run(turn[0], len(turns)+1, f)
			})
		}
		return err
	}
	drawn, err := f.draw(first.number, r)
	if err != nil {
		return err
	}
	for i, e := range episodes {
		f.play(func() error { return e.run(drawn[i], len(turns)+1, f) })
	}
	return nil
}

// repeat has a fresh world play the turns before a fork again. The error is that it says something else
// than it said, or of the journal, and ends the run.
func (e *episode) repeat(ctx context.Context, g *Group, turns []*Segment) error {
	err := e.begin(ctx)
	if err != nil || e.verdict.Verdict != "" {
		return err
	}
	same := slices.Equal(e.opening, g.Opening) && e.state == g.State
	for i := 0; same && i < len(turns); i++ {
		s := turns[i]
		reply, broken := e.tell(ctx, world.Turn{Text: s.Turn.Text, Cut: !s.Ended(), At: s.Turn.At})
		if errors.Is(broken, world.ErrJournal) {
			return broken
		}
		if broken != nil {
			e.verdict = broke(broken)
			return nil
		}
		same = reply.Verdict == nil && reply.Reward == s.Turn.Reward && reply.State == s.Turn.State && maps.Equal(reply.Facts, s.Turn.Facts) && slices.Equal(reply.Messages, s.Turn.Reply)
	}
	if !same {
		return fmt.Errorf("problem %s: the world says something else when the same turns are played again. Completions grow as trees only where a world repeats itself", g.Problem.ID)
	}
	return nil
}

// turnsTo are the turns up to a segment, itself among them.
func (g *Group) turnsTo(at int) []*Segment {
	var turns []*Segment
	for ; at >= 0; at = g.Segments[at].Parent {
		if s := &g.Segments[at]; s.Turn != nil {
			turns = append(turns, s)
		}
	}
	slices.Reverse(turns)
	return turns
}

// dice are those of the world in which the turns up to a segment were played; none: where there are none.
func (g *Group) dice(at int, none random.Key) random.Key {
	if turns := g.turnsTo(at); len(turns) > 0 {
		return turns[0].Drawn.Key
	}
	return none
}

// add adds an episode that goes on after a segment.
func (g *Group) add(after int, e *episode) {
	for _, s := range e.segments {
		s.Parent = after
		after = len(g.Segments)
		g.Segments = append(g.Segments, s)
	}
	g.Paths = append(g.Paths, Path{Leaf: after, Verdicts: []verify.Verdict{e.verdict}, Limit: e.limit})
}

// Stopped is a segment that goes on after tokens of the same completion, cut where a stop text ends
// that begins among those: whoever draws a completion in one piece stops there.
func Stopped(t Renderer, said []int, s Segment) Segment {
	longest := 0
	for _, stop := range s.Drawn.Params.StopText {
		longest = max(longest, len(stop))
	}
	if longest == 0 || len(said) == 0 {
		return s
	}
	for n := 1; n <= len(s.IDs); n++ {
		text := t.Decode(slices.Concat(said, s.IDs[:n]))
		if slices.ContainsFunc(s.Drawn.Params.StopText, func(stop string) bool { return strings.Contains(text, stop) }) {
			if n < len(s.IDs) {
				s.IDs, s.Logprob, s.Entropy = s.IDs[:n], s.Logprob[:n], s.Entropy[:n]
				s.Stop = Text
			} else if s.Stop != EOS {
				s.Stop = Text
			}
			return s
		}
		if len(t.Decode(s.IDs[:n])) >= longest { // the sampler sees those that begin later
			return s
		}
	}
	return s
}

// forked is the group with the segments in two that have a fork inside, and the segment that each fork
// comes after.
func (g *Group) forked(forks []Fork) (Group, []int, error) {
	cuts := make([][]int, len(g.Segments))
	for _, f := range forks {
		if f.Segment < 0 || f.Segment >= len(g.Segments) || g.Segments[f.Segment].Author != Policy || f.Token < 0 || f.Token >= len(g.Segments[f.Segment].IDs) {
			return Group{}, nil, fmt.Errorf("a fork before token %d of segment %d, which the policy did not write", f.Token, f.Segment)
		}
		if f.Token > 0 {
			cuts[f.Segment] = append(cuts[f.Segment], f.Token)
		}
	}
	out := Group{Problem: g.Problem, Opening: g.Opening, State: g.State, Paths: slices.Clone(g.Paths)}
	first, last := make([]int, len(g.Segments)), make([]int, len(g.Segments)) // pieces of each segment
	for i, s := range g.Segments {
		slices.Sort(cuts[i])
		cuts[i] = slices.Compact(cuts[i])
		if s.Parent >= 0 {
			s.Parent = last[s.Parent]
		}
		from := 0
		first[i] = len(out.Segments)
		for _, to := range cuts[i] {
			head := s
			head.IDs, head.Logprob, head.Entropy, head.Stop = s.IDs[from:to], s.Logprob[from:to], s.Entropy[from:to], ""
			s.Parent = len(out.Segments)
			out.Segments = append(out.Segments, head)
			from = to
		}
		if from > 0 {
			s.IDs, s.Logprob, s.Entropy = s.IDs[from:], s.Logprob[from:], s.Entropy[from:]
		}
		last[i] = len(out.Segments)
		out.Segments = append(out.Segments, s)
	}
	for i := range out.Paths {
		out.Paths[i].Leaf = last[out.Paths[i].Leaf]
	}
	after := make([]int, len(forks))
	for i, f := range forks {
		at, _ := slices.BinarySearch(cuts[f.Segment], f.Token+1) // pieces before it
		after[i] = out.Segments[first[f.Segment]+at].Parent
	}
	return out, after, nil
}

// continues says that a segment goes on with what the segment before it began: the tree forks there.
func (g *Group) continues(at int) bool {
	parent := g.Segments[at].Parent
	return parent >= 0 && g.Segments[at].learned() && g.Segments[parent].learned()
}

// upTo are the tokens up to the end of a segment, and how many of the last completion or turn are
// among them.
func (g *Group) upTo(at int) (ids []int, own int) {
	own = len(g.said(at))
	for ; at >= 0; at = g.Segments[at].Parent {
		ids = slices.Concat(g.Segments[at].IDs, ids)
	}
	return ids, own
}

// said is what the policy wrote at once, up to the end of a segment; nil: the segment is of another.
func (g *Group) said(at int) []int {
	if !g.Segments[at].learned() {
		return nil
	}
	ids := g.Segments[at].IDs
	for ; g.continues(at); at = g.Segments[at].Parent {
		ids = slices.Concat(g.Segments[g.Segments[at].Parent].IDs, ids)
	}
	return ids
}

// Leaves are the numbers of paths through each segment.
func (g *Group) Leaves() []int {
	leaves := make([]int, len(g.Segments))
	for _, p := range g.Paths {
		for at := p.Leaf; at >= 0; at = g.Segments[at].Parent {
			leaves[at]++
		}
	}
	return leaves
}

// Children are the numbers of segments that come after each.
func (g *Group) Children() []int {
	children := make([]int, len(g.Segments))
	for _, s := range g.Segments {
		if s.Parent >= 0 {
			children[s.Parent]++
		}
	}
	return children
}

// Nodes are the segments of a path that the policy wrote, by their places: its nodes in the tree.
func (g *Group) Nodes(path int) []int {
	return slices.DeleteFunc(g.Way(path), func(at int) bool { return !g.Segments[at].learned() })
}

// Forks says whether some paths of the group share what the policy wrote.
func (g *Group) Forks() bool {
	for at, n := range g.Leaves() {
		if n > 1 && g.Segments[at].learned() {
			return true
		}
	}
	return false
}
