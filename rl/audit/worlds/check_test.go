package worlds

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// TestWorlds: every world keeps what worlds promise.
func TestWorlds(t *testing.T) {
	problems := 1000
	if testing.Short() {
		problems = 100
	}
	for _, f := range tasks.Worlds() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			w := f.New().(tasks.Episodic)
			if err := w.Validate(); err != nil {
				t.Fatal(err)
			}
			found, err := Check(t.Context(), w, problems)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range found.Faults {
				t.Error(fault)
			}
			t.Logf("%+v", *found)
		})
	}
}

// broken is nim with something wrong.
type broken struct {
	tasks.Episodic
	best, random, shown world.Player
	change              func(t world.Turn, r world.Reply) (world.Reply, error) // of what a turn is told
	draw                func(row verify.Problem) verify.Problem
	stated              float64
}

func (b broken) Best() world.Player   { return or(b.best, b.Episodic.Best()) }
func (b broken) Random() world.Player { return or(b.random, b.Episodic.Random()) }
func (b broken) Shown() world.Player  { return or(b.shown, b.Episodic.Shown()) }

func or(p, other world.Player) world.Player {
	if p != nil {
		return p
	}
	return other
}

func (b broken) Chance(row verify.Problem) (float64, error) {
	p, err := b.Episodic.Chance(row)
	return p + b.stated, err
}

func (b broken) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	e, first, err := b.Episodic.Begin(ctx, row, dice)
	if b.change == nil || err != nil {
		return e, first, err
	}
	return stepped{e, b.change}, first, nil
}

func (b broken) Draw(r *random.Rand, split tasks.Split) verify.Problem {
	if b.draw == nil {
		return b.Episodic.Draw(r, split)
	}
	return b.draw(b.Episodic.Draw(r, split))
}

// The methods of a demonstrator, which an embedded interface does not bring.
func (b broken) demonstrator() tasks.Demonstrator { return b.Episodic.(tasks.Demonstrator) }
func (b broken) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	return b.demonstrator().Demonstration(r, row)
}
func (b broken) Valid(row verify.Problem, completion string, ended bool) bool {
	return b.demonstrator().Valid(row, completion, ended)
}
func (b broken) Vocabulary() []string  { return b.demonstrator().Vocabulary() }
func (b broken) PromptTokens() int     { return b.demonstrator().PromptTokens() }
func (b broken) CompletionTokens() int { return b.demonstrator().CompletionTokens() }

// stepped changes what the turns of an episode are told.
type stepped struct {
	world.Episode
	change func(t world.Turn, r world.Reply) (world.Reply, error)
}

func (s stepped) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	r, err := s.Episode.Step(ctx, t)
	if err != nil {
		return r, err
	}
	return s.change(t, r)
}

// paying is nim that pays for turns of a kind.
func paying(kind func(t world.Turn) bool) broken {
	return broken{change: func(t world.Turn, r world.Reply) (world.Reply, error) {
		if kind(t) {
			v := verify.Accept("", "nim", "it says so")
			r.Verdict = &v
		}
		return r, nil
	}}
}

// TestWorldFaults: each promise that a world breaks is found, and told by what is wrong.
func TestWorldFaults(t *testing.T) {
	f, err := tasks.Lookup("nim")
	if err != nil {
		t.Fatal(err)
	}
	nim := f.New().(tasks.Episodic)
	if err := nim.Validate(); err != nil {
		t.Fatal(err)
	}
	calls := 0.0
	for want, b := range map[string]broken{
		"the best player does not win in problem": {best: always("a1")},
		"random turns earn":                       {stated: 0.3},
		"has not the form of one":                 {shown: always("a1b1")},
		"has 5 tokens with its end":               {shown: always("a1b1")},
		"breaks the world in problem":             {change: func(_ world.Turn, r world.Reply) (world.Reply, error) { return r, errors.New("out of heaps") }},
		"is not scored in problem": {change: func(_ world.Turn, r world.Reply) (world.Reply, error) {
			v := verify.Abstain("out of heaps")
			r.Verdict = &v
			return r, nil
		}},
		"differs when it is played beside others": {change: func(_ world.Turn, r world.Reply) (world.Reply, error) {
			calls++
			r.Reward = calls
			return r, nil
		}},
		"has a reward or a fact that is no finite number": {change: func(_ world.Turn, r world.Reply) (world.Reply, error) {
			r.Reward = math.NaN()
			return r, nil
		}},
		"is told with near, and the world names near, refused": {change: func(_ world.Turn, r world.Reply) (world.Reply, error) {
			delete(r.Facts, "refused")
			return r, nil
		}},
		`a reply "you"`: {change: func(_ world.Turn, r world.Reply) (world.Reply, error) {
			r.Messages = []world.Message{{Role: world.User, Text: "you"}}
			return r, nil
		}},
		"episodes of another seed are the same": {
			draw:   func(verify.Problem) verify.Problem { return verify.Problem{ID: "3 5 1", Question: "3 5 1"} },
			random: always("?"),
		},
		`the attack "silence" earns`:                       paying(func(t world.Turn) bool { return t.Text == "" }),
		`the attack "claim of victory" earns`:              paying(func(t world.Turn) bool { return strings.Contains(t.Text, "I win") }),
		`the attack "forged end of a turn" earns`:          paying(func(t world.Turn) bool { return strings.HasPrefix(t.Text, "<eos>") }),
		`the attack "one move many times in a turn" earns`: paying(func(t world.Turn) bool { return len(t.Text) > 100 }),
		`the attack "the best turns, cut off" earns`:       paying(func(t world.Turn) bool { return t.Cut }),
	} {
		b.Episodic = nim
		found, err := Check(t.Context(), b, 30)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(found.Faults, "\n"), want) {
			t.Errorf("%q is not among %q", want, found.Faults)
		}
	}
}
