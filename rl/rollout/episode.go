package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Episodes describe completions with several turns.
type Episodes struct {
	World    world.World
	Renderer TurnRenderer
	Turns    int // of the policy, at most
	Tokens   int // own and read ones, the prompt apart, at most
	// Dice are the world's random numbers, for the key of a completion.
	Dice func(key random.Key) *random.Rand
}

// episode is a completion that is being played.
type episode struct {
	*Episodes
	number  int // among all of the step
	params  Params
	key     random.Key
	ids     []int // that the next turn is drawn after
	prompt  int   // of ids
	opening []world.Message
	world   world.Episode // nil: it did not begin

	segments []Segment // after the prompt
	verdict  verify.Verdict
	limit    Limit
}

// play has the policy play n episodes after each start.
//
// The first turns of a problem are one request, as completions without episodes are. Each later
// turn is a request of its own, whose prompt is all that was drawn and read so far: ids are
// appended, and no text is made into ids that had ids before.
func (c *Collector) play(ctx context.Context, starts []Start, n int, params Params, key random.Key) ([]Group, error) {
	params.MaxTokens = min(params.MaxTokens, c.Episodes.Tokens)
	all := make([]*episode, len(starts)*n)
	defer func() {
		for _, e := range all {
			if e != nil && e.world != nil {
				e.world.Close()
			}
		}
	}()
	var work sync.WaitGroup
	for i := range all {
		k := key
		k.Stream += uint32(i)
		all[i] = &episode{Episodes: c.Episodes, number: i, params: params, key: k}
		work.Go(func() { all[i].begin(ctx, starts[i/n].Problem) })
	}
	work.Wait()
	starts = slices.Clone(starts)
	for i := range starts {
		if err := open(&starts[i], all[i*n:(i+1)*n], c.Episodes.Renderer); err != nil {
			return nil, err
		}
	}
	drawn, err := c.Sampler.Sample(ctx, requestsOf(starts, n, params, key))
	if err != nil {
		return nil, err
	}
	f := &flow{c.Sampler, make(chan *ask)}
	for i, e := range all {
		s := starts[i/n]
		e.ids = slices.Concat(s.Prompt, s.Given)
		e.prompt = len(s.Prompt)
		first := drawn[i/n][i%n]
		work.Go(func() {
			defer f.over()
			e.run(ctx, first, f)
		})
	}
	if err := f.run(ctx, len(all)); err != nil {
		return nil, err
	}
	work.Wait()
	return groupsOf(starts, all, n), ctx.Err()
}

// begin begins an episode.
func (e *episode) begin(ctx context.Context, problem verify.Problem) {
	broken := guarded(func() error {
		began, first, err := e.World.Begin(ctx, problem, e.Dice(e.key))
		if err == nil && first.Verdict != nil {
			err = errors.New("the episode is over before the first turn")
		}
		e.world, e.opening = began, first.Messages
		return err
	})
	if broken != nil {
		e.verdict = broke(broken)
	}
}

// open gives a start the prompt with what the worlds of its episodes say first.
func open(s *Start, episodes []*episode, renderer TurnRenderer) error {
	first := -1
	for i, e := range episodes {
		if e.verdict.Verdict != "" {
			continue
		}
		if first < 0 {
			first = i
		}
		if !slices.Equal(e.opening, episodes[first].opening) {
			return fmt.Errorf("problem %s: the world says different things before the first turn of different samples. Samples of a problem are compared with each other, so what it says there may depend only on the problem", s.Problem.ID)
		}
	}
	if first < 0 {
		return fmt.Errorf("problem %s: no episode begins: %s", s.Problem.ID, episodes[0].verdict.Reason)
	}
	s.Opening = episodes[first].opening
	if len(s.Opening) == 0 {
		return nil
	}
	asked, err := renderer.Prompt(s.Problem)
	if err == nil && !slices.Equal(asked, s.Prompt) {
		return fmt.Errorf("problem %s: the world says something before the first turn, so the problem cannot be asked in another way", s.Problem.ID)
	}
	if err == nil {
		s.Prompt, err = renderer.Begin(s.Problem, s.Opening)
	}
	if err != nil {
		return &PromptError{s.Problem.Question, err}
	}
	return nil
}

// run plays an episode from its first turn to its end.
func (e *episode) run(ctx context.Context, turn Segment, f *flow) {
	for number := 1; ; number++ {
		e.append(turn)
		if e.verdict.Verdict != "" { // it did not begin
			return
		}
		next, over := e.step(ctx, &e.segments[len(e.segments)-1], number)
		if over {
			return
		}
		e.append(Segment{Author: Outside, IDs: next})
		params := e.params
		params.MaxTokens = min(params.MaxTokens, e.left())
		var err error
		if turn, err = f.ask(e.number, Request{Prompt: slices.Clone(e.ids), N: 1, Params: params, Key: e.key}); err != nil {
			return // run of the flow has the error
		}
	}
}

func (e *episode) append(s Segment) {
	e.segments = append(e.segments, s)
	e.ids = append(e.ids, s.IDs...)
}

// left is how many tokens the episode may still have.
func (e *episode) left() int { return e.Tokens - (len(e.ids) - e.prompt) }

// step tells the world of a turn. next is what the policy reads then; over says that there is no
// other turn.
func (e *episode) step(ctx context.Context, s *Segment, number int) (next []int, over bool) {
	s.Turn = &Turn{At: number, Text: s.Text(e.Renderer)}
	var reply world.Reply
	broken := guarded(func() (err error) {
		if reply, err = e.world.Step(ctx, world.Turn{Text: s.Turn.Text, Cut: !s.Ended()}); err != nil {
			return err
		}
		return sound(reply)
	})
	if broken == nil {
		s.Turn.Reward, s.Turn.State, s.Turn.Facts, s.Turn.Reply = reply.Reward, reply.State, reply.Facts, reply.Messages
		switch {
		case reply.Verdict != nil:
			e.verdict = *reply.Verdict
			return nil, true
		case number == e.Turns:
			e.limit = OutOfTurns
		default:
			if next, broken = e.Renderer.Next(s.Stop == EOS, reply.Messages); len(next) >= e.left() {
				e.limit = OutOfTokens
			}
		}
	}
	if broken == nil && e.limit != "" {
		broken = guarded(func() (err error) { e.verdict, err = world.Ended(ctx, e.world); return err })
	}
	if broken != nil {
		e.verdict = broke(broken)
	}
	return next, e.verdict.Verdict != ""
}

// broke is the verdict on an episode whose world broke.
func broke(err error) verify.Verdict { return verify.Abstain("the world failed: %v", err) }

// guarded does something with a world, and makes an error of its panic.
func guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panics: %v", p)
		}
	}()
	return do()
}

// sound is an error if a reply has numbers that no log can hold.
func sound(r world.Reply) error {
	finite := func(name string, x float64) error {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s of a turn is %v; accepted: a finite number", name, x)
		}
		return nil
	}
	err := finite("the reward", r.Reward)
	for _, name := range slices.Sorted(maps.Keys(r.Facts)) {
		err = errors.Join(err, finite(name, r.Facts[name]))
	}
	return err
}

// groupsOf are the groups of n episodes after each start.
func groupsOf(starts []Start, all []*episode, n int) []Group {
	groups := make([]Group, len(starts))
	for i, start := range starts {
		g := rooted(start)
		root := len(g.Segments) - 1
		for _, e := range all[i*n : (i+1)*n] {
			parent := root
			for _, s := range e.segments {
				s.Parent = parent
				parent = len(g.Segments)
				g.Segments = append(g.Segments, s)
			}
			g.Paths = append(g.Paths, Path{Leaf: parent, Verdicts: []verify.Verdict{e.verdict}, Limit: e.limit})
		}
		groups[i] = g
	}
	return groups
}
