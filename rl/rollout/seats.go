package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Seat is who plays a seat of the episodes. One with neither By nor Player is the policy's: its turns are learned.
type Seat struct {
	Name   string
	By     Concurrent   // draws its turns, which nobody learns; nil: the policy does
	Player world.Player // takes them without a model; nil: a model does
	Pool   []Opponent   // one of them, drawn for each problem, plays it in place of By and Player; nil: nobody is drawn

	drawn string // the opponent's name; "": nobody was drawn
}

// Opponent is one of those who may play a seat.
type Opponent struct {
	Name   string // in rows of the groups of the other seats
	By     Concurrent
	Player world.Player
}

// Learned says whether the turns of the seat are the policy's.
func (s Seat) Learned() bool { return s.By == nil && s.Player == nil && s.Pool == nil }

// Members of the rows of groups of a seat.
const (
	MemberSeat    = "seat"    // its name
	MemberAgainst = "against" // who was drawn to play the other seat; there is none if nobody was
)

// seated are the seats of a problem's games: they are compared with each other, so all have the same opponents.
func (c *Collector) seated(key random.Key) []Seat {
	seats := slices.Clone(c.Seats)
	var dice *random.Rand
	for i := range seats {
		s := &seats[i]
		if s.Pool == nil {
			continue
		}
		if dice == nil {
			dice = c.Episodes.Dice(key, random.Opponent)
		}
		by := s.Pool[dice.Between(0, len(s.Pool)-1)]
		s.By, s.Player, s.drawn = by.By, by.Player, by.Name
	}
	return seats
}

// sitting has the machinery of episodes play a world of several seats.
type sitting struct{ world.Seated }

// Begin implements [world.World].
func (s sitting) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	return s.Sit(ctx, row, dice)
}

// game is an episode that several seats play.
type game struct {
	table *episode // the world, and no tokens
	seats []*seated
}

// seated is a seat of a game, with what it read and wrote.
type seated struct {
	Seat
	*episode
	sat     Sat
	turns   int             // that it took
	history []world.Message // of a player
	dice    *random.Rand    // likewise
}

// playSeats plays n games after each start. The groups are those of the seats that the policy plays, by problem
// and by seat: a path is what one seat read and wrote in a game. A seat whose turn never came has no path.
//
// Seat k of game j of problem i draws from the stream (i·seats + k)·n + j beyond the key's.
func (c *Collector) playSeats(ctx context.Context, starts []Start, n int, params Params, key random.Key) ([]Group, error) {
	params.MaxTokens = min(params.MaxTokens, c.Episodes.Tokens)
	of := *c.Episodes
	of.World = sitting{of.World.(world.Seated)}
	games := make([]*game, len(starts)*n)
	defer func() {
		for _, g := range games {
			g.table.leave()
		}
	}()
	var seats []Seat // of the problem's games
	for i := range games {
		start := &starts[i/n]
		k := key
		k.Stream += uint32(i)
		if i%n == 0 {
			seats = c.seated(k)
		}
		g := &game{table: &episode{Episodes: &of, dice: k, problem: start.Problem}}
		for at, s := range seats {
			k.Stream = key.Stream + uint32((i/n*len(c.Seats)+at)*n+i%n)
			e := &episode{Episodes: c.Episodes, number: i, params: params, key: k, problem: start.Problem}
			one := &seated{Seat: s, episode: e, sat: Sat{Game: i + 1}}
			if s.Player != nil {
				one.dice = c.Episodes.Dice(k, random.Player)
			}
			g.seats = append(g.seats, one)
		}
		games[i] = g
	}
	f := newFlow(ctx, c.Sampler)
	for _, g := range games {
		f.play(func() error { return g.run(f) })
	}
	if err := f.wait(); err != nil {
		return nil, err
	}
	var groups []Group
	for i, start := range starts {
		for at, s := range c.Seats {
			if g := seatOf(start, games[i*n:(i+1)*n], at); s.Learned() && len(g.Paths) > 0 {
				groups = append(groups, g)
			}
		}
	}
	return groups, nil
}

// run plays a game to its end.
func (g *game) run(f *flow) error {
	defer g.table.leave()
	reply, err := g.table.started(f.ctx)
	if err != nil {
		return fmt.Errorf("problem %s: the game does not begin: %w", g.table.problem.ID, err)
	}
	for number := 1; ; number++ {
		s, err := g.seat(reply.Seat)
		if err != nil {
			return err
		}
		if err := s.reads(reply); err != nil {
			return err
		}
		if s.limit != "" {
			verdicts, err := asked(f.ctx, g.table, g.table.Clock, func(ctx context.Context, w world.Episode) (map[string]verify.Verdict, error) {
				return w.(world.Table).Leave(ctx, s.Name)
			})
			return g.over(verdicts, err)
		}
		turn, err := s.draw(f)
		if err != nil {
			return err
		}
		s.turns++
		turn.Turn = &Turn{At: s.turns}
		if turn.Turn.Text = turn.said; s.Player == nil {
			turn.Turn.Text = turn.Segment.Text(s.Renderer)
		}
		for _, other := range g.seats {
			if other != s {
				other.sat.Heard = append(other.sat.Heard, Said{other.turns, s.Name, turn.Turn.Text})
			}
		}
		var broken error
		reply, broken = g.table.tell(f.ctx, world.Turn{Text: turn.Turn.Text, Cut: s.Player == nil && !turn.Ended(), At: number})
		turn.Turn.Reward, turn.Turn.Facts = reply.Reward, reply.Facts
		s.append(turn.Segment)
		if broken != nil || reply.Verdicts != nil {
			return g.over(reply.Verdicts, broken)
		}
	}
}

// seat is that of a name.
func (g *game) seat(name string) (*seated, error) {
	for _, s := range g.seats {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the world asks a seat %q, which it does not have", name)
}

// over gives the seats their verdicts. Of a world that is broken nobody is scored.
func (g *game) over(verdicts map[string]verify.Verdict, broken error) error {
	for _, s := range g.seats {
		v, there := verdicts[s.Name]
		switch {
		case broken != nil:
			v = broke(broken)
		case !there:
			v = broke(fmt.Errorf("it has no verdict on the seat %s", s.Name))
		}
		s.verdict = v
	}
	if errors.Is(broken, world.ErrJournal) {
		return broken
	}
	return nil
}

// reads appends what a seat reads before its turn, or notes the limit that it has reached.
func (s *seated) reads(r world.Reply) error {
	if s.turns == 0 {
		return s.begins(r)
	}
	last := s.segments[len(s.segments)-1]
	last.Turn.State, last.Turn.Reply = r.State, r.Messages
	if s.turns == s.Turns {
		s.limit = OutOfTurns
		return nil
	}
	if s.Player != nil {
		s.history = append(s.history, r.Messages...)
		return nil
	}
	next, err := s.Renderer.Next(last.Stop == EOS, r.Messages)
	if err != nil {
		return &PromptError{s.problem.Question, err}
	}
	if len(next) >= s.left() {
		s.limit = OutOfTokens
		return nil
	}
	s.append(Segment{Author: Outside, IDs: next})
	return nil
}

// begins gives a seat its prompt.
func (s *seated) begins(r world.Reply) error {
	row := s.problem
	if s.sat.Asked, s.sat.State = r.Question, r.State; r.Question != "" {
		row.Question = r.Question
	}
	if s.Player != nil {
		s.history = append([]world.Message{{Role: world.User, Text: row.Question}}, r.Messages...)
		return nil
	}
	prompt, err := s.Renderer.Begin(row, r.Messages)
	if err != nil {
		return &PromptError{row.Question, err}
	}
	if n := len(prompt); s.Prompt > 0 && n > s.Prompt {
		return hint.With(fmt.Errorf("problem %s: what seat %s is asked has %d tokens; accepted: at most task.max_prompt_tokens = %d", row.ID, s.Name, n, s.Prompt),
			"--set task.max_prompt_tokens=%d", n)
	}
	s.append(Segment{Parent: -1, Author: Prompt, IDs: prompt})
	s.context.Prompt = len(prompt)
	return nil
}

// taken is a turn that a seat takes.
type taken struct {
	Segment
	said string // by a player
}

// draw has whoever plays the seat take a turn.
func (s *seated) draw(f *flow) (taken, error) {
	if s.Player != nil {
		text := s.Player.Play(s.history, s.dice)
		s.history = append(s.history, world.Message{Role: world.Assistant, Text: text})
		return taken{Segment{Author: Other}, text}, nil
	}
	params := s.params
	params.MaxTokens = min(params.MaxTokens, s.left())
	r := Request{Prompt: s.context.IDs, N: 1, Params: params, Key: s.key}
	if s.By == nil {
		drawn, err := f.draw(s.number, r)
		if err != nil {
			return taken{}, err
		}
		return taken{Segment: drawn[0]}, nil
	}
	drawn, err := f.drawBy(s.By, s.number, r)
	if err != nil {
		return taken{}, err
	}
	drawn[0].Author = Other
	return taken{Segment: drawn[0]}, nil
}

// InSeat is a problem as the groups of a seat have it.
func InSeat(row verify.Problem, seat string) verify.Problem {
	row.Metadata = maps.Clone(row.Metadata)
	if row.Metadata == nil {
		row.Metadata = map[string]json.RawMessage{}
	}
	row.Metadata[MemberSeat], _ = json.Marshal(seat) // of a text it cannot fail
	return row
}

// seatOf is the group of a seat in the games of a problem.
func seatOf(start Start, games []*game, at int) Group {
	g := Group{Problem: InSeat(start.Problem, games[0].seats[at].Name)}
	for i, s := range games[0].seats {
		if i != at && s.drawn != "" {
			g.Problem.Metadata[MemberAgainst], _ = json.Marshal(s.drawn)
		}
	}
	for _, played := range games {
		if s := played.seats[at]; s.turns > 0 {
			g.add(-1, s.episode)
			g.Paths[len(g.Paths)-1].Sat = &s.sat
		}
	}
	return g
}
