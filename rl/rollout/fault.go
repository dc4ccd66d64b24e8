package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/awake"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// A world that errs, panics or is over its clock is broken, or what the policy wrote has broken it. Where the world
// has a canary it is asked which: a broken world leaves the episode not scored, and a policy that
// breaks one that works reads about it and is scored as usual, so that nothing talks itself out of a
// score.

// ToolRule begins the rule of the verdict on an episode one of whose tools failed; the name of the tool follows.
const ToolRule = "tool:"

// broke is the verdict on an episode whose world broke.
func broke(err error) verify.Verdict {
	v := verify.Abstain("the world failed: %v", err)
	if tool := (*world.ToolError)(nil); errors.As(err, &tool) {
		v.Rule = ToolRule + tool.Tool
	}
	return v
}

// fresh begins the episode in a world of its own, in place of the one that it has.
func (e *episode) fresh(ctx context.Context) (world.Reply, error) {
	e.leave()
	type began struct {
		world world.Episode
		reply world.Reply
	}
	dice, w := e.Dice(e.dice, random.World), e.World
	if s, can := w.(world.Shared); can && e.alone {
		w = s.Alone()
	}
	if j, can := w.(world.Journaled); can && e.journal != nil {
		w = j.Through(e.journal)
	}
	b, err := within(ctx, e.starting(), func(ctx context.Context) (b began, err error) {
		b.world, b.reply, err = w.Begin(ctx, e.problem, dice)
		return b, err
	}, func(b began) {
		if b.world != nil {
			b.world.Close()
		}
	})
	e.world = b.world
	return b.reply, err
}

// started begins the episode in its first world. A fault of one that shares something with others may be
// their doing: it is tried alone then. A journal keeps why there was none.
func (e *episode) started(ctx context.Context) (world.Reply, error) {
	if e.journal != nil {
		if why, known := e.journal.Fault(0); known {
			return world.Reply{}, why
		}
	}
	first, broken := e.fresh(ctx)
	if _, shared := e.World.(world.Shared); broken != nil && shared && !nobodys(broken) {
		e.alone = true
		first, broken = e.fresh(ctx)
	}
	if broken == nil && first.Verdict != nil {
		broken = errors.New("the episode is over before the first turn")
	}
	if broken == nil || e.journal == nil || ctx.Err() != nil || errors.Is(broken, world.ErrJournal) {
		return first, broken
	}
	return first, cmp.Or(e.journal.Failed(0, broken), broken)
}

// starting is how long a world may take to begin; 0: as long as it likes.
func (e *episode) starting() time.Duration {
	if e.Clock == 0 {
		return 0
	}
	return e.Clock + e.Start
}

// leave closes the world of the episode, if it has one.
func (e *episode) leave() {
	if e.world != nil {
		e.world.Close()
		e.world = nil
	}
}

// tell tells the world of a turn and returns its reply, or why there is none: the world is broken.
func (e *episode) tell(ctx context.Context, t world.Turn) (world.Reply, error) {
	return settled(ctx, e, t.At, func(ctx context.Context) (world.Reply, error) { return e.ask(ctx, t) },
		func(c world.Checked) world.Reply { return c.Refused(t) })
}

// end is the verdict on an episode that a limit ends after the turn of that number, or why there is none: the
// world is broken. It has the number after it in the journal, as there is no such turn.
func (e *episode) end(ctx context.Context, number int) (verify.Verdict, error) {
	return settled(ctx, e, number+1, func(ctx context.Context) (verify.Verdict, error) {
		if err := e.ready(ctx, nil); err != nil {
			return verify.Verdict{}, err
		}
		return asked(ctx, e, e.Clock, world.Ended)
	},
		func(world.Checked) verify.Verdict {
			return verify.Reject("", "episode", "what the policy did breaks the world that judges it, which works otherwise")
		})
}

// settled is the answer of the world to a question that has a number, or refused where the question breaks a
// world that works. A journal keeps that there was none, so that a run that is repeated comes to the same without
// its tools.
func settled[T any](ctx context.Context, e *episode, number int, ask func(context.Context) (T, error), refused func(world.Checked) T) (T, error) {
	var none T
	c, can := e.World.(world.Checked)
	if e.journal != nil {
		switch why, known := e.journal.Fault(number); {
		case known && why == nil && can:
			return refused(c), nil
		case known:
			return none, why
		}
	}
	answer, broken := ask(ctx)
	breaks := false
	if broken != nil && can && !nobodys(broken) {
		answer, breaks, broken = again(ctx, e, c, ask, broken)
	}
	if breaks {
		answer = refused(c)
	}
	if e.journal == nil || ctx.Err() != nil || errors.Is(broken, world.ErrJournal) {
		return answer, broken
	}
	var err error
	switch {
	case broken != nil:
		err = e.journal.Failed(number, broken)
	case breaks:
		err = e.journal.Failed(number, nil)
	}
	if err != nil {
		return none, err
	}
	return answer, broken
}

// again asks a fresh episode what broke one: after the turns before it, if the canary lives. breaks says that it
// breaks that one too. A question that was not asked, since the episode did not catch up, breaks none.
func again[T any](ctx context.Context, e *episode, c world.Checked, ask func(context.Context) (T, error), broken error) (answer T, breaks bool, err error) {
	_, dead := within(ctx, e.starting(), func(ctx context.Context) (none struct{}, err error) { return none, c.Canary(ctx) }, func(struct{}) {})
	if dead != nil {
		return answer, false, fmt.Errorf("%w; nor does it play what it should: %w", broken, dead)
	}
	e.alone = true
	if err := e.replay(ctx); err != nil {
		return answer, false, err
	}
	answer, second := ask(ctx)
	if second == nil || nobodys(second) || errors.Is(second, errBehind) {
		return answer, false, second
	}
	return answer, true, e.replay(ctx)
}

// nobodys says that an error is not the policy's doing, however often it comes: a tool cannot be run, a call cannot
// be made twice, a program says what has no meaning, or the journal fails.
func nobodys(err error) bool {
	return errors.Is(err, world.ErrUnable) || errors.Is(err, world.ErrSpoken) || errors.Is(err, world.ErrOnce) || errors.Is(err, world.ErrJournal)
}

// replay plays the turns again that the world has answered, in a fresh episode.
func (e *episode) replay(ctx context.Context) error {
	_, err := e.fresh(ctx)
	told := e.told
	e.told = nil
	for _, t := range told {
		if err == nil {
			_, err = e.ask(ctx, t)
		}
	}
	return err
}

// errBehind is that an episode could not start, or be told of what it was told before.
var errBehind = errors.New("it does not catch up")

// ready has the world of an episode catch up before a turn, or before it judges where t is nil. That has the time of a
// beginning and of all turns that were played, and the turn has its own.
func (e *episode) ready(ctx context.Context, t *world.Turn) error {
	if _, follows := e.world.(world.Follower); !follows {
		return nil
	}
	_, err := asked(ctx, e, e.starting()+e.Clock*time.Duration(len(e.told)), func(ctx context.Context, w world.Episode) (none struct{}, err error) {
		return none, w.(world.Follower).CatchUp(ctx, t)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errBehind, err)
	}
	return nil
}

// ask tells the world of a turn.
func (e *episode) ask(ctx context.Context, t world.Turn) (world.Reply, error) {
	if err := e.ready(ctx, &t); err != nil {
		return world.Reply{}, err
	}
	reply, err := asked(ctx, e, e.Clock, func(ctx context.Context, w world.Episode) (world.Reply, error) { return w.Step(ctx, t) })
	if err == nil {
		err = sound(reply)
	}
	if err == nil {
		e.told = append(e.told, t)
	}
	return reply, err
}

// asked is what the world of an episode makes of a question in a time. One that does not come back is closed once
// it does, and the episode has none then.
func asked[T any](ctx context.Context, e *episode, clock time.Duration, question func(context.Context, world.Episode) (T, error)) (T, error) {
	w := e.world
	if w == nil {
		var none T
		return none, errors.New("it has not begun")
	}
	out, err := within(ctx, clock, func(ctx context.Context) (T, error) { return question(ctx, w) }, func(T) { w.Close() })
	if errors.Is(err, errLate) {
		e.world = nil
	}
	return out, err
}

// errLate is that a world does not come back in time.
var errLate = errors.New("it takes too long")

// within does something with a world in the time that there is, and makes an error of its panic.
// What does not come back in time is left to itself; late gets what it comes to then.
func within[T any](ctx context.Context, clock time.Duration, do func(context.Context) (T, error), late func(T)) (T, error) {
	guarded := func(ctx context.Context) (out T, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("it panics: %v", p)
			}
		}()
		return do(ctx)
	}
	if clock <= 0 {
		return guarded(ctx)
	}
	ctx, cancel := awake.WithTimeout(ctx, clock, fmt.Errorf("%w: more than %v", errLate, clock))
	var out T
	var err error
	ended := make(chan struct{})
	go func() {
		defer cancel()
		defer close(ended)
		out, err = guarded(ctx)
	}()
	select {
	case <-ended:
		return out, err
	case <-ctx.Done():
		select {
		case <-ended: // it came in time, and was the reason
			return out, err
		default:
		}
		var none T
		go func() {
			<-ended
			late(out)
		}()
		return none, context.Cause(ctx)
	}
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
