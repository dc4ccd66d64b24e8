package worlds

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Other is a world of which nothing is known but what it says: a program of others.
type Other struct {
	Name  string
	World world.Checked
	Pure  bool // it promises that equal turns are told the same
	Rows  []verify.Problem
	Turns int           // of an episode
	Clock time.Duration // for one turn; 0: as long as it likes
	Start time.Duration // besides, where an episode begins, or for the canary
}

// OtherReport is what the check of such a world found.
type OtherReport struct {
	Name     string   `json:"name"`
	Problems int      `json:"problems"` // that each player was tried on
	Guesses  float64  `json:"guesses"`  // mean score of a player that says numbers and short words
	Attacks  []Earned `json:"attacks"`
	Notes    []string `json:"notes"`
	Faults   []string `json:"faults"` // empty: it keeps what a world promises
}

// CheckOther plays a world of others with a player that guesses and with those of attacks. The canary lives; an
// episode begins with the same words whatever its dice are; episodes of a pure world that are played in turns with
// others are the same as alone, and copies of episodes as their originals; problems or dice make a difference; and
// no turn breaks the world or wins every episode. The same arguments find the same in a pure world.
func CheckOther(ctx context.Context, o Other) *OtherReport {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.Clock > 0 {
		o.World = clocked{o.World, &o, stop}
	}
	c := &others{Other: o, ctx: ctx, out: &OtherReport{Name: o.Name, Problems: len(o.Rows), Notes: []string{}, Faults: []string{}}}
	if err := o.World.Canary(ctx); err != nil {
		c.fault("the canary is dead: %v", err)
		return c.out
	}
	defer func() {
		if hangs := context.Cause(ctx); errors.Is(hangs, errHangs) {
			c.out.Faults = append(c.out.Faults, hangs.Error())
		}
	}()
	c.openings()
	c.out.Guesses = c.mean("guesses", guesses)
	for _, a := range attacksOn(guesses, guesses) {
		mean := c.mean("the attack "+a.name, a.says)
		if c.out.Attacks = append(c.out.Attacks, Earned{a.name, mean}); mean == 1 && len(o.Rows) > 1 {
			c.fault("the attack %q wins every episode", a.name)
		}
	}
	switch {
	case ctx.Err() != nil:
	case o.Pure:
		c.repeats()
		c.copies()
	default:
		c.out.Notes = append(c.out.Notes, "it is not pure: episodes are not compared with each other")
	}
	return c.out
}

// errHangs is that a world does not answer.
var errHangs = errors.New("it hangs")

// clocked is a world whose answers are waited for as long as o says. The first that does not come stops the check,
// which would else wait as often as it asks.
type clocked struct {
	world.Checked
	o    *Other
	stop context.CancelCauseFunc
}

// within asks something that may take so long.
func within[T any](ctx context.Context, w clocked, what string, clock time.Duration, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := awake.WithTimeout(ctx, clock, fmt.Errorf("%w: no answer to %s for %v", errHangs, what, clock))
	defer cancel()
	out, err := ask(ctx)
	if late := context.Cause(ctx); err != nil && errors.Is(late, errHangs) {
		w.stop(late)
	}
	return out, err
}

// Canary implements [world.Checked].
func (w clocked) Canary(ctx context.Context) error {
	_, err := within(ctx, w, "the canary", w.o.Start+w.o.Clock, func(ctx context.Context) (none struct{}, err error) { return none, w.Checked.Canary(ctx) })
	return err
}

// Begin implements [world.World].
func (w clocked) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	type begun struct {
		episode world.Episode
		reply   world.Reply
	}
	b, err := within(ctx, w, "the beginning of an episode", w.o.Start+w.o.Clock, func(ctx context.Context) (b begun, err error) {
		b.episode, b.reply, err = w.Checked.Begin(ctx, row, dice)
		return b, err
	})
	if err != nil {
		return nil, b.reply, err
	}
	return clockedEpisode{b.episode, w}, b.reply, nil
}

// clockedEpisode is an episode of such a world.
type clockedEpisode struct {
	world.Episode
	in clocked
}

// Step implements [world.Episode].
func (e clockedEpisode) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	return within(ctx, e.in, "a turn", e.in.o.Clock, func(ctx context.Context) (world.Reply, error) { return e.Episode.Step(ctx, t) })
}

// Judge implements [world.Judge].
func (e clockedEpisode) Judge(ctx context.Context) (verify.Verdict, error) {
	return within(ctx, e.in, "the question for a verdict", e.in.o.Clock, func(ctx context.Context) (verify.Verdict, error) { return world.Ended(ctx, e.Episode) })
}

// Forks implements [forker].
func (e clockedEpisode) Forks() bool {
	f, can := e.Episode.(forker)
	return can && f.Forks()
}

// Fork implements [forker].
func (e clockedEpisode) Fork(ctx context.Context) (world.Episode, error) {
	copied, err := within(ctx, e.in, "the order to copy an episode", e.in.o.Clock, e.Episode.(forker).Fork)
	if err != nil {
		return nil, err
	}
	return clockedEpisode{copied, e.in}, nil
}

type others struct {
	Other
	ctx context.Context
	out *OtherReport
}

// fault notes something that the world does not keep; of many of a kind the first will do.
func (c *others) fault(format string, args ...any) {
	if len(c.out.Faults) < 10 {
		c.out.Faults = append(c.out.Faults, fmt.Sprintf(format, args...))
	}
}

// guesses says numbers and short words, and what it was told.
var guesses says = func(history []world.Message, dice *random.Rand) string {
	words := []string{"yes", "no", "left", "right", "up", "down", "a", "b", "look", "help", ""}
	if n := dice.Between(0, 40); n < len(words) {
		return words[n]
	}
	if dice.Between(0, 9) == 0 {
		return history[len(history)-1].Text
	}
	return strconv.Itoa(dice.Between(0, 40))
}

// sit begins an episode of a problem; seed is that of its dice and of the player's.
func (c *others) sit(seed uint64, i int) *sitting {
	return sitDown(c.ctx, c.World, c.Rows[i], c.Turns, random.At(seed, worldDice, uint64(i)), random.At(seed, playerDice, uint64(i)))
}

// mean is what a player earns.
func (c *others) mean(name string, p world.Player) float64 {
	sum := 0.0
	for i := range c.Rows {
		s := c.sit(0, i)
		s.play(p)
		switch {
		case c.ctx.Err() != nil:
			return 0
		case s.err != nil:
			c.fault("%s breaks the world in problem %q: %v", name, c.Rows[i].ID, s.err)
		case s.verdict.Verdict == verify.NotScored:
			c.fault("%s is not scored in problem %q: %s", name, c.Rows[i].ID, s.verdict.Reason)
		default:
			sum += s.verdict.Score
		}
	}
	return sum / float64(len(c.Rows))
}

// openings compares what is said before the first turn under different dice.
func (c *others) openings() {
	for i := range c.Rows {
		one, other := c.sit(0, i), c.sit(1, i)
		one.leave()
		other.leave()
		if one.err == nil && other.err == nil && !reflect.DeepEqual(one.history, other.history) {
			c.fault("problem %q begins with other words under another chance: they may depend on the problem alone, since its samples are compared with each other", c.Rows[i].ID)
			return
		}
	}
}

// repeats plays episodes one after the other, side by side, and with other dice.
func (c *others) repeats() {
	alone, differ := sideBySide(len(c.Rows), guesses, c.sit)
	for _, i := range differ {
		c.fault("an episode of problem %q differs when it is played beside others, or again", c.Rows[i].ID)
	}
	same := true
	for _, replies := range alone[1:] {
		same = same && reflect.DeepEqual(replies, alone[0])
	}
	switch {
	case same && len(alone) > 1:
		c.fault("all %d episodes are told the same", len(alone))
	case reflect.DeepEqual(alone, inTurn(len(c.Rows), guesses, func(i int) *sitting { return c.sit(1, i) })):
		c.out.Notes = append(c.out.Notes, "chance makes no difference")
	}
}

// forker is an episode that can be copied.
type forker interface {
	Forks() bool
	Fork(ctx context.Context) (world.Episode, error)
}

// copies plays on after a copy was made: the original, the copy, and an episode without one come to the same.
func (c *others) copies() {
	for i := range c.Rows {
		original, plain := c.sit(0, i), c.sit(0, i)
		f, can := original.episode.(forker)
		if !can || !f.Forks() {
			original.leave()
			plain.leave()
			c.out.Notes = append(c.out.Notes, "its episodes cannot be copied")
			return
		}
		original.step(guesses, false)
		plain.step(guesses, false)
		if !original.goesOn() {
			plain.leave()
			continue
		}
		episode, err := f.Fork(c.ctx)
		if err != nil {
			original.leave()
			plain.leave()
			c.fault("an episode of problem %q cannot be copied: %v", c.Rows[i].ID, err)
			return
		}
		copied := *original
		copied.episode, copied.history, copied.replies = episode, slices.Clone(original.history), slices.Clone(original.replies)
		for _, s := range []*sitting{&copied, original, plain} {
			s.dice = random.At(0, playerDice, uint64(len(c.Rows)+i))
			s.play(guesses)
		}
		if !reflect.DeepEqual(copied.replies, original.replies) || !reflect.DeepEqual(original.replies, plain.replies) {
			c.fault("a copy of an episode of problem %q goes on otherwise than the episode", c.Rows[i].ID)
		}
	}
}
