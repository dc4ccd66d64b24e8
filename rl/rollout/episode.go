package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Episodes describe completions with several turns.
type Episodes struct {
	World    world.World
	Renderer TurnRenderer
	Anywhere bool          // workers may play on: the world is a function of the problem and the dice, wherever this program is, and contexts only grow
	Prompt   int           // tokens before the first turn, at most; 0: as many as there are
	Turns    int           // of the policy, at most
	Tokens   int           // own and read ones of a context, the prompt apart, at most
	Whole    bool          // before each turn the template writes the conversation as a whole: where it changes what stood there, the context begins anew
	Sum      world.Summary // when the context begins anew from a summary of the policy
	Clock    time.Duration // that a world may take for one turn; 0: as long as it likes
	Start    time.Duration // that it may take besides where an episode begins or catches up, or its canary
	// Dice are the random numbers of [random.World], or of a [random.Player], for the key of a completion.
	Dice func(key random.Key, of random.Purpose) *random.Rand
	// Journal remembers calls of tools in the episode of a key, which greedy tells from another of the same
	// key; nil: nobody does.
	Journal func(key random.Key, greedy bool) world.Journal
}

// episode is a completion that is being played.
type episode struct {
	*Episodes
	number  int // among all of the step
	params  Params
	key     random.Key
	dice    random.Key // of the world: of a branch those of the episode that it goes on from
	context Context
	problem verify.Problem
	opening []world.Message
	state   string        // before the first turn
	world   world.Episode // nil: it did not begin
	told    []world.Turn  // that the world answered
	alone   bool          // it shares nothing with others, since a turn broke its world
	journal world.Journal // nil: there is none

	segments []Segment // after the prompt
	verdict  verify.Verdict
	limit    Limit
}

// context is that of an episode before its first turn.
func (c *Episodes) context(row verify.Problem, ids []int, prompt int) Context {
	return Context{Renderer: c.Renderer, Row: row, Whole: c.Whole, IDs: ids, Prompt: prompt}
}

// play has the policy play n episodes after each start.
//
// The first turns of a problem are one request, as completions without episodes are. Each later
// turn is a request of its own, whose prompt is the context of then. As long as this does not begin
// anew, ids are appended to it, and what was drawn keeps its ids.
func (c *Collector) play(ctx context.Context, starts []Start, n int, params Params, key random.Key) ([]Group, error) {
	params.MaxTokens = min(params.MaxTokens, c.Episodes.Tokens)
	all := make([]*episode, len(starts)*n)
	defer func() {
		for _, e := range all {
			e.leave()
		}
	}()
	for i := range all {
		k := key
		k.Stream = uint32(i)
		all[i] = &episode{Episodes: c.Episodes, number: i, params: params, key: k, dice: k, problem: starts[i/n].Problem}
		if c.Episodes.Journal != nil {
			all[i].journal = c.Episodes.Journal(k, params.Temperature == 0)
		}
	}
	starts = slices.Clone(starts)
	f := newFlow(ctx, c.Sampler)
	for i := range starts {
		f.play(func() error { return c.playAfter(&starts[i], all[i*n:(i+1)*n], f) })
	}
	if err := f.wait(); err != nil {
		return nil, err
	}
	if s, can := c.Sampler.(Foreseeing); can {
		if err := s.Over(ctx); err != nil {
			return nil, err
		}
	}
	return groupsOf(starts, all, n), nil
}

// playAfter plays the episodes after a start, whose first turns are one request.
func (c *Collector) playAfter(s *Start, episodes []*episode, f *flow) error {
	if err := atOnce(episodes, func(e *episode) error { return e.begin(f.ctx) }); err != nil {
		return err
	}
	if err := c.Episodes.open(s, episodes); err != nil {
		return err
	}
	first := episodes[0]
	r := requestsOf([]Start{*s}, len(episodes), first.params, first.key)[0]
	r.Key = first.key
	if c.Episodes.Anywhere && s.Given == nil {
		r.Plays = &Plays{s.Problem, c.Episodes.Turns, c.Episodes.Tokens}
	}
	return playFrom(r, len(s.Prompt), episodes, f)
}

// playFrom draws the first turns of episodes, and plays each to its end. The prompt has so many tokens.
func playFrom(r Request, prompt int, episodes []*episode, f *flow) error {
	drawn, err := f.draw(episodes[0].number, r)
	if err != nil {
		return err
	}
	for i, e := range episodes {
		e.context = e.Episodes.context(e.problem, r.Prompt, prompt)
		e.context.Said = e.opening
		f.play(func() error { return e.run(drawn[i], 1, f) })
	}
	return nil
}

// Ahead plays the episodes that requests begin, and returns what stands in each after its prompt,
// [request][completion][segment]: a turn, and then what was read and the next turn, again and again. Who plays an
// episode again from these turns comes to the same segments.
func (c *Episodes) Ahead(ctx context.Context, s Sampler, requests []Request) ([][][]Segment, error) {
	all := make([][]*episode, len(requests))
	defer func() {
		for _, e := range slices.Concat(all...) {
			e.leave()
		}
	}()
	f, number := newFlow(ctx, s), 0
	for at, r := range requests {
		of := *c
		of.Turns, of.Tokens = r.Plays.Turns, r.Plays.Tokens
		for i := range r.N {
			k := r.Key
			k.Stream += uint32(i)
			all[at] = append(all[at], &episode{Episodes: &of, number: number, params: r.Params, key: k, dice: k, problem: r.Plays.Problem})
			number++
		}
		f.play(func() error {
			if err := atOnce(all[at], func(e *episode) error { return e.begin(f.ctx) }); err != nil {
				return err
			}
			return playFrom(r, len(r.Prompt), all[at], f)
		})
	}
	if err := f.wait(); err != nil {
		return nil, err
	}
	out := make([][][]Segment, len(requests))
	for at, episodes := range all {
		for _, e := range episodes {
			out[at] = append(out[at], e.segments)
		}
	}
	return out, nil
}

// atOnce does something with episodes side by side: none waits for the world of another.
func atOnce(episodes []*episode, do func(*episode) error) error {
	var work sync.WaitGroup
	errs := make([]error, len(episodes))
	for i, e := range episodes {
		work.Go(func() { errs[i] = do(e) })
	}
	work.Wait()
	for _, err := range errs {
		if err != nil { // the others are most often the same
			return err
		}
	}
	return nil
}

// begin begins an episode. The error is of the journal, and ends the run.
func (e *episode) begin(ctx context.Context) error {
	first, broken := e.started(ctx)
	if errors.Is(broken, world.ErrJournal) {
		return broken
	}
	e.opening, e.state = first.Messages, first.State
	if broken != nil {
		e.verdict = broke(broken)
	}
	return nil
}

// open gives a start the prompt with what the worlds of its episodes say first.
func (c *Episodes) open(s *Start, episodes []*episode) error {
	first := -1
	for i, e := range episodes {
		if e.verdict.Verdict != "" {
			continue
		}
		if first < 0 {
			first = i
		}
		if !slices.Equal(e.opening, episodes[first].opening) || e.state != episodes[first].state {
			return fmt.Errorf("problem %s: the world says different things before the first turn of different samples. Samples of a problem are compared with each other, so what it says there may depend only on the problem", s.Problem.ID)
		}
	}
	if first < 0 {
		return fmt.Errorf("problem %s: no episode begins: %s", s.Problem.ID, episodes[0].verdict.Reason)
	}
	s.Opening, s.State = episodes[first].opening, episodes[first].state
	if len(s.Opening) == 0 {
		if len(s.Prompt) == 0 {
			return fmt.Errorf("problem %s: it has no question, and the world says nothing before the first turn: there is no prompt", s.Problem.ID)
		}
		return nil
	}
	asked, err := c.Renderer.Prompt(s.Problem)
	if err == nil && !slices.Equal(asked, s.Prompt) {
		return fmt.Errorf("problem %s: the world says something before the first turn, so the problem cannot be asked in another way", s.Problem.ID)
	}
	if err == nil {
		s.Prompt, err = c.Renderer.Begin(s.Problem, s.Opening)
	}
	if err != nil {
		return &PromptError{s.Problem.Question, err}
	}
	if n := len(s.Prompt); c.Prompt > 0 && n > c.Prompt {
		return hint.With(fmt.Errorf("problem %s: its prompt has %d tokens with what the world says before the first turn; accepted: at most task.max_prompt_tokens = %d", s.Problem.ID, n, c.Prompt),
			"--set task.max_prompt_tokens=%d", n)
	}
	return nil
}

// run plays an episode from a turn to its end, and gives its world back.
func (e *episode) run(turn Segment, number int, f *flow) error {
	defer e.leave()
	for ; ; number++ {
		e.append(turn)
		if e.verdict.Verdict != "" { // it did not begin
			return nil
		}
		over, err := e.step(f, &e.segments[len(e.segments)-1], number)
		if over || err != nil {
			return err
		}
		if turn, err = e.draw(f); err != nil {
			return err
		}
	}
}

// draw has the policy write what comes next.
func (e *episode) draw(f *flow) (Segment, error) {
	params := e.params
	params.MaxTokens = min(params.MaxTokens, e.left())
	drawn, err := f.draw(e.number, Request{Prompt: e.context.IDs, N: 1, Params: params, Key: e.turnKey()})
	if err != nil {
		return Segment{}, err
	}
	return drawn[0], nil
}

// turnKey is that of the next turn.
func (e *episode) turnKey() random.Key {
	if e.context.Begun == 0 {
		return e.key
	}
	return e.key.Restarted(e.context.Begun)
}

func (e *episode) append(s Segment) {
	e.segments = append(e.segments, s)
	e.context.Append(s)
}

// left is how many tokens the context may still have.
func (e *episode) left() int { return e.Tokens - e.context.Size(Segment{}) }

// step tells the world of a turn, and has the policy read what it takes the next one after. over says that there is
// no other turn. The error is of the journal or the sampler, and ends the run.
func (e *episode) step(f *flow, s *Segment, number int) (over bool, err error) {
	s.Turn = &Turn{At: number, Text: s.Text(e.Renderer)}
	reply, broken := e.tell(f.ctx, world.Turn{Text: s.Turn.Text, Cut: !s.Ended(), At: number})
	if broken == nil {
		s.Turn.Reward, s.Turn.State, s.Turn.Facts, s.Turn.Reply = reply.Reward, reply.State, reply.Facts, reply.Messages
		s.Turn.Calls = reply.Calls
		switch {
		case reply.Verdict != nil:
			e.verdict = *reply.Verdict
			return true, nil
		case number == e.Turns:
			e.limit = OutOfTurns
		default:
			if broken, err = e.goOn(f, s, reply); err != nil {
				return true, err
			}
		}
	}
	if broken == nil && e.limit != "" {
		e.verdict, broken = e.end(f.ctx, number)
	}
	if errors.Is(broken, world.ErrJournal) {
		return true, broken
	}
	if broken != nil {
		e.verdict = broke(broken)
	}
	return e.verdict.Verdict != "", nil
}

// goOn has the policy read what it takes its next turn after, or notes the limit that it has reached. broken is that
// the reply cannot be read; the error is the sampler's.
func (e *episode) goOn(f *flow, s *Segment, reply world.Reply) (broken, err error) {
	next, broken := e.context.Next(s.Turn.Text, s.Stop == EOS, reply)
	switch {
	case broken != nil:
		return broken, nil
	case e.Sum.At > 0 && e.context.Size(next) >= e.Sum.At:
		return e.sumUp(f, s, reply)
	}
	e.read(next)
	return nil, nil
}

// sumUp asks the policy for a summary in place of a turn, and begins its context anew with that.
func (e *episode) sumUp(f *flow, s *Segment, reply world.Reply) (broken, err error) {
	reply.Messages = slices.Concat(reply.Messages, []world.Message{e.Sum.Asked()})
	next, broken := e.context.Next(s.Turn.Text, s.Stop == EOS, reply)
	if broken != nil {
		return broken, nil
	}
	if e.read(next); e.limit != "" {
		return nil, nil
	}
	sum, err := e.draw(f)
	if err != nil {
		return nil, err
	}
	sum.Turn = &Turn{At: s.Turn.At, Text: sum.Text(e.Renderer), State: reply.State, Sums: true}
	e.append(sum)
	next, broken = e.context.Anew(e.Sum.Told(sum.Turn.Text))
	if broken == nil {
		e.read(next)
	}
	return broken, nil
}

// read appends what the policy reads, unless it leaves no room for a turn.
func (e *episode) read(next Segment) {
	if e.context.Size(next) >= e.Tokens {
		e.limit = OutOfTokens
		return
	}
	e.append(next)
}

// groupsOf are the groups of n episodes after each start.
func groupsOf(starts []Start, all []*episode, n int) []Group {
	groups := make([]Group, len(starts))
	for i, start := range starts {
		g := rooted(start)
		root := len(g.Segments) - 1
		for _, e := range all[i*n : (i+1)*n] {
			g.add(root, e)
		}
		groups[i] = g
	}
	return groups
}
