//go:build !js

package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// World is a program of others that plays.
type World struct {
	programs *programs
	facts    []string
	canary   *canary
	own      bool          // each episode has a process of its own
	journal  world.Journal // nil: there is none
}

// canary is an episode whose beginning is known.
type canary struct {
	row   verify.Problem
	reply world.Reply
}

var _ interface {
	world.Shared
	world.Journaled
} = World{}

// New is the world of a program, which is started when the first episode begins. facts are the names of what it
// tells of a turn.
func New(c Command, facts []string) World {
	return World{programs: &programs{command: c, clock: StartClock, came: make(chan struct{})}, facts: facts, canary: &canary{}}
}

// Hello starts the program, if it does not run, and returns what it says of itself.
func (w World) Hello() (Hello, error) {
	p, _, err := w.programs.enter(context.Background(), false)
	if err != nil {
		return Hello{}, err
	}
	p.free()
	return p.hello, nil
}

// Rows are the problems of the program, in order, as JSON objects.
func (w World) Rows(ctx context.Context) ([]json.RawMessage, error) {
	p, _, err := w.programs.enter(ctx, false)
	if err != nil {
		return nil, err
	}
	defer p.free()
	return p.rows(ctx)
}

// free gives back the place of an episode that did not begin.
func (p *process) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.episodes--
}

// Try begins an episode of a problem, which is the canary from now on. turn is how long the program may take for a
// turn; a beginning has StartClock besides.
func (w World) Try(ctx context.Context, row verify.Problem, turn time.Duration) error {
	clock := w.programs.clock + turn
	ctx, cancel := awake.WithTimeout(ctx, clock, fmt.Errorf("it does not begin an episode within %v", clock))
	defer cancel()
	e, first, err := w.Begin(ctx, row, canaryDice())
	if err != nil {
		return err
	}
	w.canary.row, w.canary.reply = row, first
	return e.Close()
}

// canaryDice are the dice of the canary: those of no run.
func canaryDice() *random.Rand { return random.At(0, 0, 0) }

// Most is how many episodes may be played at once; 0: the program has not been started, so nobody knows.
func (w World) Most() int { return w.programs.says().Most() }

// Close ends the processes of the program.
func (w World) Close() { w.programs.close() }

// Alone implements [world.Shared].
func (w World) Alone() world.World {
	w.own = true
	return w
}

// Through implements [world.Journaled].
func (w World) Through(j world.Journal) world.World {
	w.journal = j
	return w
}

// Canary implements [world.Checked]: in a process of its own the known episode begins as it did.
func (w World) Canary(ctx context.Context) error {
	w.own, w.journal = true, nil
	e, first, err := w.Begin(ctx, w.canary.row, canaryDice())
	if err != nil {
		return err
	}
	if w.programs.says().Pure && !reflect.DeepEqual(first, w.canary.reply) {
		err = fmt.Errorf("an episode of problem %s begins otherwise than before", w.canary.row.ID)
	}
	return errors.Join(err, e.Close())
}

// Refused implements [world.Checked].
func (World) Refused(world.Turn) world.Reply {
	return world.Reply{Messages: []world.Message{{Role: world.User, Text: world.Unanswered}}}
}

// Begin implements [world.World].
func (w World) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	raw, err := rowOf(row)
	if err != nil {
		return nil, world.Reply{}, err
	}
	e := &episode{World: w, row: raw, chance: fmt.Sprintf("%016x%016x", dice.Uint64(), dice.Uint64())}
	first, err := e.through(ctx, 1, request{Op: "begin", Row: e.row, Chance: e.chance}, e.begin)
	if err != nil {
		return nil, world.Reply{}, errors.Join(err, e.Close())
	}
	return e, first, nil
}

// episode is one that the program plays.
type episode struct {
	World
	row    json.RawMessage
	chance string

	process *process // nil: the program has not begun it
	id      string
	behind  []world.Turn // that the journal answered, and the program has not been told
	turn    int          // the newest
}

// journalName is what the journal calls the program.
const journalName = "world"

// asking is a request as a journal knows it; number is its place in its turn.
func asking(turn, number int, r request) world.Asked {
	return world.Asked{Turn: turn, Number: number, Tool: journalName, Args: r.line()}
}

// stepOf is the request that tells of a turn.
func stepOf(t world.Turn) request { return request{Op: "step", Text: &t.Text, Cut: t.Cut} }

// judging is the request for a verdict.
func judging() request { return request{Op: "judge"} }

// through is the reply to a request, or what the journal knows of it; number is its place in its turn.
func (e *episode) through(ctx context.Context, number int, r request, ask func(context.Context) (answer, error)) (world.Reply, error) {
	first := r.Op == "begin"
	if e.journal == nil || e.programs.says().Pure {
		said, err := ask(ctx)
		if err != nil {
			return world.Reply{}, err
		}
		return said.reply(first, e.facts)
	}
	kept, err := e.journal.Answer(asking(e.turn, number, r), func() (world.Answer, error) {
		said, err := ask(ctx)
		if err != nil {
			return world.Answer{}, err
		}
		if _, err := said.reply(first, e.facts); err != nil {
			return world.Answer{}, err
		}
		said.ID = ""
		text, err := encoded(said, false)
		return world.Answer{Text: string(text)}, err
	})
	if err != nil {
		return world.Reply{}, err
	}
	said, err := parseAnswer([]byte(kept.Text))
	if err != nil {
		return world.Reply{}, fmt.Errorf("%w has an answer that is none: %w", world.ErrJournal, err)
	}
	return said.reply(first, e.facts)
}

// says is what the program says of itself. Before it has been started it is not known to be or do anything.
func (s *programs) says() (h Hello) {
	if told := s.hello.Load(); told != nil {
		h = *told
	}
	return h
}

// begin has the program begin the episode.
func (e *episode) begin(ctx context.Context) (answer, error) {
	var err error
	if e.process, e.id, err = e.programs.enter(ctx, e.own); err != nil {
		return answer{}, err
	}
	return e.process.ask(ctx, request{ID: e.id, Op: "begin", Row: e.row, Chance: e.chance})
}

// caughtUp has the program begin and play what the journal answered.
func (e *episode) caughtUp(ctx context.Context) error {
	if e.process == nil {
		if _, err := e.begin(ctx); err != nil {
			return err
		}
	}
	for len(e.behind) > 0 {
		said, err := e.tell(ctx, e.behind[0])
		if err != nil {
			return err
		}
		if said.Verdict != nil {
			return errors.New("the episode is over before its end where its turns are played again, since the program is not pure")
		}
		e.behind = e.behind[1:]
	}
	return nil
}

// tell tells the program of a turn.
func (e *episode) tell(ctx context.Context, t world.Turn) (answer, error) {
	r := stepOf(t)
	r.ID = e.id
	return e.process.ask(ctx, r)
}

// CatchUp implements [world.Follower].
func (e *episode) CatchUp(ctx context.Context, t *world.Turn) error {
	if e.journal == nil || e.programs.says().Pure {
		return nil // it is told of each turn
	}
	next := asking(e.turn, 2, judging())
	if t != nil {
		next = asking(t.At, 1, stepOf(*t))
	}
	if e.journal.Knows(next) || t == nil && !e.programs.says().Judges {
		return nil
	}
	return e.caughtUp(ctx)
}

// Step implements [world.Episode].
func (e *episode) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	told := false
	e.turn = t.At
	r, err := e.through(ctx, 1, stepOf(t), func(ctx context.Context) (answer, error) {
		told = true
		if err := e.caughtUp(ctx); err != nil {
			return answer{}, err
		}
		return e.tell(ctx, t)
	})
	if !told {
		e.behind = append(e.behind, t)
	}
	return r, err
}

// Close implements [world.Episode].
func (e *episode) Close() error {
	p := e.process
	if p == nil {
		return nil
	}
	e.process = nil
	p.leave(e.id)
	if e.own {
		p.child.close()
	}
	return nil
}

// Forks says whether episodes can be copied.
func (e *episode) Forks() bool { return e.process != nil && e.process.hello.Forks }

// Fork is a copy of the episode as it is.
func (e *episode) Fork(ctx context.Context) (world.Episode, error) {
	p := e.process
	id := p.enter()
	if id == "" {
		return nil, fmt.Errorf("%w: the process holds as many episodes as it can, at_once = %d", world.ErrUnable, p.hello.AtOnce)
	}
	if _, err := p.ask(ctx, request{ID: e.id, Op: "fork", To: id}); err != nil {
		p.free()
		return nil, err
	}
	copied := *e
	copied.id = id
	return &copied, nil
}

// Judge implements [world.Judge].
func (e *episode) Judge(ctx context.Context) (verify.Verdict, error) {
	r, err := e.through(ctx, 2, judging(), func(ctx context.Context) (answer, error) {
		if !e.programs.says().Judges {
			return answer{Verdict: &verdict{Reason: world.NotOver}}, nil
		}
		if err := e.caughtUp(ctx); err != nil {
			return answer{}, err
		}
		r := judging()
		r.ID = e.id
		return e.process.ask(ctx, r)
	})
	if err == nil && r.Verdict == nil {
		err = fmt.Errorf("%w: the answer to judge has no verdict", world.ErrSpoken)
	}
	if err != nil {
		return verify.Verdict{}, err
	}
	return *r.Verdict, nil
}
