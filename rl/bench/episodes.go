package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/outside"
	_ "github.com/rlzero/rlzero/rl/world/programs" // python
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// A world that is slow, and how often a step with it and one without are done in turns, at least.
const (
	slowWorld = 200 * time.Millisecond
	slowTurns = 4
	// slowShare is how much longer a step may take than the larger of one whose worlds take no time and the worlds
	// of its longest episode.
	slowShare = 1.15
)

// answering is something that answers a turn, or a call of a tool. more answers once more.
type answering struct {
	name  string
	bound float64 // microseconds that an answer should take at most
	calls int
	open  func(ctx context.Context, b Bench) (more func() error, closed func() error, err error)
}

// answerers are those whose times Episodes measures.
func answerers() []answering {
	return []answering{
		{"calculator, a call", 5, 20_000, func(ctx context.Context, _ Bench) (func() error, func() error, error) {
			return calling(ctx, tools.Calculator{}, `{"expression":"2.5*(7-1/3)"}`)
		}},
		{"guess, a turn", 5, 20_000, func(ctx context.Context, _ Bench) (func() error, func() error, error) {
			w, err := tasks.New("guess")
			if err != nil {
				return nil, nil, err
			}
			return playing(ctx, w.(world.World), w.Draw(random.At(1, 0, 0), tasks.Train), "1")
		}},
		{"a program in Python, a turn", 100, 2000, func(ctx context.Context, b Bench) (func() error, func() error, error) {
			return playing(ctx, outside.New(outside.Command{Words: []string{"python3", "-u", "-c", echoes}, Told: b.Told}, nil), verify.Problem{ID: "1", Question: "?"}, "1")
		}},
		{"python, a cell", 20_000, 10, func(ctx context.Context, _ Bench) (func() error, func() error, error) {
			e, _ := tools.Lookup("python")
			t, _, err := e.Options().Make(nil)
			if err != nil {
				return nil, nil, err
			}
			return calling(ctx, t, `{"code":"print(6*7)"}`)
		}},
	}
}

// echoes is a world of others that goes on for ever.
const echoes = `
import json, sys
print(json.dumps({"protocol": 1, "name": "echo", "pure": True, "at_once": 64}), flush=True)
for line in sys.stdin:
    o = json.loads(line)
    print(json.dumps({"id": o["id"], "messages": [{"text": o.get("text", "?")}]} if o["op"] in ("begin", "step") else {"id": o["id"]}), flush=True)
`

// calling calls a tool, in one session for each call.
func calling(ctx context.Context, t world.Tool, args string) (more, closed func() error, err error) {
	return func() error {
		s, err := t.Open(ctx, verify.Problem{})
		if err != nil {
			return err
		}
		a, err := s.Call(ctx, json.RawMessage(args))
		if err == nil && a.Failed {
			err = fmt.Errorf("%s", a.Text)
		}
		s.Close()
		return err
	}, func() error { return nil }, nil
}

// playing plays a world, which begins anew where an episode is over.
func playing(ctx context.Context, w world.World, row verify.Problem, text string) (more, closed func() error, err error) {
	e, _, err := w.Begin(ctx, row, random.At(1, 0, 0))
	if err != nil {
		return nil, nil, err
	}
	return func() error {
		r, err := e.Step(ctx, world.Turn{Text: text})
		if err == nil && r.Verdict != nil {
			e.Close()
			e, _, err = w.Begin(ctx, row, random.At(1, 0, 0))
		}
		return err
	}, func() error { return e.Close() }, nil
}

// Episodes measures what turns cost: an answer of a tool and of a world, beside what it should take at most, and a
// step whose worlds take their time, in turns with one whose worlds take none. Every key of set changes the preset,
// PATH=VALUE, which is played in turns.
func Episodes(ctx context.Context, b Bench, preset string, set ...string) error {
	for _, a := range answerers() {
		if b.leaves(a.name) {
			continue
		}
		if err := a.measure(ctx, b); err != nil {
			return err
		}
	}
	return slowEpisodes(ctx, b, preset, slowWorld, set)
}

// measure tells how long an answer takes, of the fastest of some rounds.
func (a answering) measure(ctx context.Context, b Bench) error {
	more, closed, err := a.open(ctx, b)
	if err == nil {
		err = more() // what starts is no part of it
	}
	if err != nil {
		b.skip("episodes", a.name, err.Error())
		return nil
	}
	const rounds = 5
	shortest, err := best(rounds, func() error {
		for range max(1, a.calls/rounds) {
			if err := more(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r := result(b.Device, "episodes", a.name, 1e6*shortest/float64(max(1, a.calls/rounds)), "us")
	r.Baseline, r.BaselineValue, r.Ratio = "what it should take at most", a.bound, r.Value/a.bound
	b.Emit(r)
	return closed()
}

// slowed is a task in turns whose world takes its time.
type slowed struct {
	episodic
	takes time.Duration // for each turn
}

// episodic is a task in turns with demonstrations.
type episodic interface {
	tasks.Episodic
	tasks.Demonstrator
}

// Begin implements [world.World].
func (t slowed) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	e, r, err := t.episodic.Begin(ctx, row, dice)
	return late{e, t.takes}, r, err
}

// late is an episode of such a world.
type late struct {
	world.Episode
	takes time.Duration
}

// Step implements [world.Episode].
func (l late) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	time.Sleep(l.takes)
	return l.Episode.Step(ctx, t)
}

// slowEpisodes measures steps of episodes whose worlds take their time for a turn.
func slowEpisodes(ctx context.Context, b Bench, preset string, takes time.Duration, set []string) error {
	set = append([]string{"task.episode.turns=4", "stage.rl.prompts_per_step=8", "stage.rl.group_size=8", "stage.rl.eval_every=0", "stage.rl.reward=random"}, set...)
	r, err := recipe.Load(preset, set)
	if err != nil {
		return err
	}
	index := slices.IndexFunc(r.Stages, func(st recipe.Stage) bool { return st.Name == "rl" })
	played, can := r.Task.Settings.(episodic)
	if index < 0 || !can {
		return fmt.Errorf("%w: recipe %s has no stage rl, or no task in turns that random weights learn; accepted: guess-tiny, and others of rlzero worlds", lines.ErrInput, preset)
	}
	st := &r.Stages[index]
	st.RL.Steps = math.MaxInt32
	what := fmt.Sprintf("%s, %d x %d, worlds of %v", preset, st.PromptsPerStep, st.GroupSize, takes)
	if b.leaves(what) {
		return nil
	}
	var loops []*loop
	for _, d := range []time.Duration{0, takes} {
		opened, err := resolve.Open(r, b.Told)
		if err != nil {
			return err
		}
		defer opened.Close()
		opened.Recipe.Task.Settings = slowed{played, d}
		l, err := openLoop(b, opened, index)
		if err != nil {
			return err
		}
		defer l.close()
		if _, err := l.step(ctx); err != nil { // to warm up
			return err
		}
		loops = append(loops, l)
	}
	longest := 0 // turns of an episode in the slow steps
	step := func(i int) func() error {
		return func() error {
			e, err := loops[i].step(ctx)
			for k := 0; err == nil && i == 1 && k < len(e.Completions); k++ {
				longest = max(longest, len(e.Completions[k].View.Spans))
			}
			return err
		}
	}
	times, err := inTurns(slowTurns, 0, step(0), step(1))
	if err != nil {
		return err
	}
	waits := float64(longest) * takes.Seconds()
	with := make([]float64, len(times[0]))
	for i, t := range times[0] {
		with[i] = max(t, waits)
	}
	out := result(b.Device, "episodes", what, median(times[1]), "s")
	out.inTurnsWith("the larger of a step whose worlds take no time and the longest episode's worlds", times[1], with)
	out.Phases = map[string]float64{"without": median(times[0]), "worlds": waits}
	out.Detail = fmt.Sprintf("at most %v and the drawing of the last turn", slowShare)
	b.Emit(out)
	return nil
}
