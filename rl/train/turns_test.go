package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// guessing is a small recipe of the task guess.
func guessing(t *testing.T, sets ...string) *recipe.Recipe {
	t.Helper()
	small := []string{"model.layers=2", "model.width=16", "model.heads=2", "model.head_dim=8", "model.mlp=24", "task.settings.size=7", "task.settings.turns=3", "task.settings.largest=80", "task.settings.recap=false",
		"stage.rl.prompts_per_step=4", "stage.rl.group_size=3", "stage.rl.eval_problems=2", "task.eval_problems=2"}
	r, err := recipe.Load("guess-tiny", slices.Concat(small, sets))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// guessingParts are those of a run of guess in plain Go, and the facts of its second stage.
func guessingParts(t *testing.T, r *recipe.Recipe) (Parts, *facts) {
	t.Helper()
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	c, err := cast.Open(r, "", dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	p := Parts{Recipe: r, Source: prompts.Of(r.Task.Settings), Cast: c, HeldOut: &HeldOut{recipe: r}, Record: NewRecord(r)}
	if p.Prompts, err = prompts.NewRenderer(c.Tokenizer(), c.Policy.Model.Config.EOS, prompts.Style{Form: prompts.Auto}); err != nil {
		t.Fatal(err)
	}
	f, err := newFacts(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

// babble is a world that says so many numbers at random to each turn, and ends at random. With forgets the context
// begins anew after some turns.
type babble struct {
	most    int
	forgets bool
}

type babbling struct {
	babble
	dice *random.Rand
}

func (b babble) Begin(_ context.Context, _ verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	return &babbling{b, dice}, world.Reply{}, nil
}

func (b *babbling) Step(_ context.Context, t world.Turn) (world.Reply, error) {
	r := world.Reply{Reward: b.dice.Unit()}
	if b.dice.Chance(0.2) {
		v := verify.Accept("", "", "")
		r.Verdict = &v
		return r, nil
	}
	var said []string
	for range b.dice.Between(0, b.most) {
		said = append(said, fmt.Sprint(b.dice.Between(0, 80)))
	}
	r.Messages = []world.Message{{Role: world.User, Text: strings.Join(said, " ")}}
	r.Fresh = b.forgets && b.dice.Chance(0.4)
	return r, nil
}

func (b *babbling) Close() error { return nil }

// TestEpisodesExact: of random episodes, drawn side by side in an engine of few sequences, each turn
// has the tokens, the log-probs and the entropies, to the bit, that an engine draws that reads this
// context alone, and that the trainer computes; also where contexts begin anew.
func TestEpisodesExact(t *testing.T) {
	for name, x := range map[string]struct {
		world babble
		sum   world.Summary
	}{
		"one context": {world: babble{most: 14}},
		"world":       {world: babble{14, true}},
		"summary":     {world: babble{14, true}, sum: world.Summary{At: 30, Ask: "7", Before: "8 9 "}},
	} {
		t.Run(name, func(t *testing.T) { exactEpisodes(t, x.world, x.sum) })
	}
}

func exactEpisodes(t *testing.T, w babble, sum world.Summary) {
	r := guessing(t, "task.episode.turns=6", "task.episode.tokens=90", "sampler_sequences=5", "stage.rl.sampling.max_completion_tokens=9", "model.init_std=0.4")
	p, _ := guessingParts(t, r)
	c, err := NewCollector(&resolve.Opened{Recipe: r, Source: p.Source}, p.Cast, p.Prompts, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Episodes.World, c.Episodes.Sum = w, sum
	problems := prompts.Step(p.Source, 1, 1, 0, 6)
	params := StepParams(&r.Stages[1])
	params.Temperature, params.TopP = 0.8, 0.95
	groups, err := c.Collect(t.Context(), problems, 4, params, random.Key{Purpose: random.Sample, Step: 2})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sample.NewEngine(p.Cast.Policy.Model, sample.Options{Sequences: 1, Context: 94})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	alone := &cast.Sampler{Engine: engine, Role: "policy", Seed: func(k random.Key) uint64 { return k.Seed(r.Seed) }}
	var views, apart []rollout.View
	turns, cut, anew, sums := 0, 0, 0, 0
	for i := range groups {
		for j := range groups[i].Paths {
			v := groups[i].View(j)
			v.Group = i + 1
			views, anew = append(views, v), anew+len(v.Fresh)
			own := groups[i].Turns(j)
			for _, context := range v.Contexts() {
				apart = append(apart, context)
				for _, span := range context.Spans {
					s := own[0]
					own = own[1:]
					turns++
					if s.Stop == rollout.Length {
						cut++
					}
					if s.Turn.Sums {
						sums++
					}
					again, err := alone.Sample(t.Context(), []rollout.Request{{Prompt: context.IDs[:span.From], N: 1, Params: s.Drawn.Params, Key: s.Drawn.Key}})
					if err != nil {
						t.Fatal(err)
					}
					if a := again[0][0]; !slices.Equal(a.IDs, s.IDs) || !equalBits(a.Logprob, s.Logprob) || !equalBits(a.Entropy, s.Entropy) || a.Stop != s.Stop {
						t.Fatalf("a turn of path %d of group %d: alone %v %v, in the episode %v %v", j, i, a.IDs, a.Logprob, s.IDs, s.Logprob)
					}
				}
			}
			if len(own) > 0 {
				t.Errorf("%d turns of path %d of group %d are in no context", len(own), j, i)
			}
		}
	}
	if turns < 60 || cut == 0 || cut == turns || w.forgets && anew < 10 || (sums > 4) != (sum.At > 0) {
		t.Fatalf("%d turns, %d of them cut off, %d contexts anew, %d summaries: the test says little", turns, cut, anew, sums)
	}
	stats, err := p.Cast.Policy.Forward(views)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range stats {
		if !equalBits(s.Logprob, views[i].Logprob) || !equalBits(s.Entropy, views[i].Entropy) {
			t.Errorf("view %d: the trainer computes %v, drawn %v", i, s.Logprob, views[i].Logprob)
		}
	}
	learnsApart(t, p.Cast.Policy, views, apart)
}

// learnsApart holds the gradient of views against that of their contexts, each a sequence of its own, with the same
// weight for each token.
func learnsApart(t *testing.T, policy *cast.Policy, views, apart []rollout.View) {
	t.Helper()
	weights := func(views []rollout.View) func(int, []seq.Stats) ([]learn.Weights, error) {
		n := 0
		return func(first int, stats []seq.Stats) ([]learn.Weights, error) {
			out := make([]learn.Weights, len(stats))
			for i := range stats {
				for range views[first+i].Tokens() {
					n++
					out[i].Logprob = append(out[i].Logprob, float64(n%7)-3)
				}
			}
			return out, nil
		}
	}
	var norms []float64
	for _, of := range [][]rollout.View{views, apart} {
		if err := policy.Accumulate(of, weights(of)); err != nil {
			t.Fatal(err)
		}
		norm, err := policy.Update(learn.Optimizer{}) // at the rate 0: both are of the same weights
		if err != nil {
			t.Fatal(err)
		}
		norms = append(norms, norm)
	}
	if norms[0] != norms[1] || norms[0] == 0 {
		t.Errorf("the gradient of the episodes has the norm %v, that of their contexts %v", norms[0], norms[1])
	}
}

func equalBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// TestTurnColumns: the columns of a step of episodes have a row for each token that the policy drew
// and none for a token that it read, a segment for each turn, and what the world told about it.
func TestTurnColumns(t *testing.T) {
	r := guessing(t, "stage.rl.algorithm.advantage=own*(turn_reward - same_mean(turn_reward, state) + turn.left/7 + last_turn) + turns + read_tokens + out_of_turns", "stage.rl.reward=task + 0.5*sum(turn_reward) - last(turn.left) + 0.01*turns")
	p, f := guessingParts(t, r)
	d := drawnBy(t, p, f)
	x := f.of(&d.Plan, d.Completions, atOnce(d.Completions))
	table, err := x.table(asked, f.reads)
	if err != nil {
		t.Fatal(err)
	}
	segments, tokens := 0, 0
	reward, _ := table.Column("turn_reward")
	left, _ := table.Column("turn.left")
	last, _ := table.Column("last_turn")
	old, _ := table.Column("old")
	for i := range d.Completions {
		c := &d.Completions[i]
		turns := c.From.Turns(c.Sample)
		sum, read := 0.0, 0
		for k, s := range turns {
			if reward.V[segments] != s.Turn.Reward || left.V[segments] != s.Turn.Facts["left"] || last.V[segments] != holds(k == len(turns)-1) {
				t.Errorf("turn %d of completion %d: %v, %v, %v; want %+v", k+1, i, reward.V[segments], left.V[segments], last.V[segments], s.Turn)
			}
			segments, tokens, sum = segments+1, tokens+len(s.IDs), sum+s.Turn.Reward
			for _, logprob := range s.Logprob {
				if old.V[0] != float64(logprob) {
					t.Fatalf("turn %d of completion %d: old is %v, want %v", k+1, i, old.V[0], logprob)
				}
				old.V = old.V[1:]
			}
		}
		for _, at := range c.From.Way(c.Sample)[1:] {
			if s := &c.From.Segments[at]; s.Author == rollout.Outside {
				read += len(s.IDs)
			}
		}
		want := c.Verdict().Score + 0.5*sum - turns[len(turns)-1].Turn.Facts["left"] + 0.01*float64(len(turns))
		if math.Abs(c.Score.Reward-want) > 1e-12*math.Abs(want)+1e-15 { // three roundings of float64
			t.Errorf("completion %d has the reward %v, want %v", i, c.Score.Reward, want)
		}
		if c.View.Read() != read || read == 0 && len(turns) > 1 || len(c.View.Spans) != len(turns) {
			t.Errorf("completion %d: %d tokens read, want %d", i, c.View.Read(), read)
		}
	}
	if len(old.V) > 0 || len(reward.V) != segments || table.Size(2) == 0 {
		t.Errorf("%d tokens too many; %d turns, want %d", len(old.V), len(reward.V), segments)
	}
	alike(t, d.Completions, table)
	row := rolloutMetrics(d.Completions, nil)
	if row["rollout/turns_mean"] != float64(segments)/float64(len(d.Completions)) || row["rollout/tokens"] != float64(tokens) {
		t.Errorf("metrics %v", row)
	}
}

// alike holds the number of turns that were taken in the situation of each turn, by the samples of its
// problem, against what is counted here: all first turns of a problem are taken in the same, which no
// other problem has.
func alike(t *testing.T, cs []Completion, table *formula.Table) {
	t.Helper()
	p, err := formula.Compile(formula.Text{Parts: map[string]string{"n": "same_count(state)"}}, slices.Concat(formula.Structure(), algo.TurnFacts()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.On(table).Column("n")
	if err != nil {
		t.Fatal(err)
	}
	type place struct {
		group int
		state string
	}
	var places []place
	counts := map[place]int{}
	for i := range cs {
		for k, s := range cs[i].From.Situations(cs[i].Sample) {
			if s.Why != "" || k == 0 && s.Text != cs[i].From.State || k > 0 && s.Text != cs[i].From.Turns(cs[i].Sample)[k-1].Turn.State {
				t.Errorf("turn %d of completion %d is taken in %+v", k+1, i, s)
			}
			places = append(places, place{cs[i].Group, s.Text})
			counts[places[len(places)-1]]++
		}
	}
	shared := 0
	for i, p := range places {
		if got.V[i] != float64(counts[p]) {
			t.Errorf("turn %d, in %+v, has %v like it, want %d", i, p, got.V[i], counts[p])
		}
		if counts[p] > 1 && !strings.HasPrefix(p.state, "3 ") {
			shared++
		}
	}
	if shared == 0 {
		t.Error("no later situation is shared: the test says little")
	}
}

// TestShownEpisodes: of an episode to imitate the turns are learned with their end tokens, and what
// the world says is read.
func TestShownEpisodes(t *testing.T) {
	r := guessing(t, "task.settings.aimed=1")
	p, _ := guessingParts(t, r)
	cs, err := demonstrations(r, slices.Repeat([]prompts.Source{p.Source}, 20), prompts.HeldOut{}.Refuse, nil, p.Prompts, &r.Stages[0], 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	lengths := map[int]int{}
	for i := range cs {
		v := cs[i].View
		lengths[len(v.Spans)]++
		for k, s := range v.Spans {
			if s.To-s.From != 2 || v.IDs[s.To-1] != 1 || k > 0 && s.From-v.Spans[k-1].To != 1 {
				t.Errorf("episode %d: turn %d in %v of %v", i, k+1, s, v.IDs)
			}
		}
		if last := v.Spans[len(v.Spans)-1]; last.To != len(v.IDs) {
			t.Errorf("episode %d goes on after its last turn: %v", i, v.IDs)
		}
	}
	if lengths[1]+lengths[2]+lengths[3] != 20 || lengths[3] == 0 {
		t.Errorf("turns of the episodes: %v", lengths)
	}
}

// TestEpisodesRefused: what does not go with episodes, or with one answer, is refused when the
// recipe is read.
func TestEpisodesRefused(t *testing.T) {
	for set, want := range map[string]string{
		"stage.rl.second_chance={when = \"group_max(reward) < 1\", rows = \"answer\"}": "stage.rl.second_chance.rows does not go with a task that is played in turns",
		"stage.rl.order=arrival":  `stage.rl.order = "arrival" does not go with a task that is played in turns`,
		"task.episode.turns=0":    "task.episode.turns = 0 is out of range",
		"task.episode.seconds=-1": "task.episode.seconds = -1 is out of range",
		"task.episode.minutes=3":  "task.episode.minutes",
		"task.episode=7":          "a table [task.episode]",
		"task.settings.size=32":   "at most 2^turns - 1 = 31",
		"stage.rl.algorithm={preset=\"grpo\", segments=\"lines\", advantage=\"own*turn_reward\"}": "does not cut completions into turns, but formulas read turn_reward",
	} {
		_, err := recipe.Load("guess-tiny", []string{set})
		if !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
	for set, want := range map[string]string{
		"task.episode.turns=3":               "[task.episode] is for tasks that are played in turns, but the problems of countdown have one answer; add [[task.tool]], or take a task in turns: ",
		"stage.rl.algorithm.advantage=turns": "turns that the policy took in the episode; with a task that is played in turns",
	} {
		_, err := recipe.Load("countdown-tiny", []string{set})
		if !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
	}
	if _, err := recipe.Load("guess-tiny", []string{"stage.rl.algorithm.segments=turns", "stage.rl.algorithm.advantage=own*turn_reward"}); err != nil {
		t.Error(err)
	}
}

// TestCallMetrics: calls of tools are counted over the turns of the episodes that were drawn, and worlds
// without tools have no such metric. The log-prob is that of the episodes that are right, by token.
func TestCallMetrics(t *testing.T) {
	turn := func(parent int, facts map[string]float64) rollout.Segment {
		return rollout.Segment{Parent: parent, Author: rollout.Policy, IDs: []int{1}, Logprob: []float32{-0.5 * float32(1+parent)}, Turn: &rollout.Turn{Facts: facts}}
	}
	called := func(calls, failed float64) map[string]float64 {
		return map[string]float64{world.FactCalls: calls, world.FactFailed: failed}
	}
	of := func(segments ...rollout.Segment) metrics.Row {
		g := &rollout.Group{Segments: append([]rollout.Segment{{Parent: -1, IDs: []int{0}}}, segments...)}
		leaf := map[int]bool{}
		for i, s := range g.Segments {
			leaf[i] = true
			delete(leaf, s.Parent)
		}
		var cs []Completion
		for i := range g.Segments {
			if leaf[i] {
				verdict := verify.Verdict{Verdict: verify.Right}
				switch len(g.Paths) {
				case 0:
				case 1:
					verdict.Verdict = verify.Wrong
				default:
					verdict = verify.Verdict{Verdict: verify.NotScored, Rule: rollout.ToolRule + "search"}
				}
				g.Paths = append(g.Paths, rollout.Path{Leaf: i, Verdicts: []verify.Verdict{verdict}})
				cs = append(cs, Completion{From: g, Sample: len(g.Paths) - 1, View: g.View(len(g.Paths) - 1)})
			}
		}
		row := metrics.Row{}
		turnMetrics(cs, row)
		return row
	}
	row := of(turn(0, called(3, 1)), rollout.Segment{Parent: 1, Author: rollout.Outside, IDs: []int{2}}, turn(2, called(0, 0)), turn(0, called(1, 0)))
	if row["rollout/calls_mean"] != 2.0 || row["rollout/calls_failed_share"] != 0.25 || row["rollout/turns_mean"] != 1.5 || row["rollout/prompt_tokens"] != 1.0 || row["rollout/right_logprob"] != -1.0 {
		t.Errorf("four calls in two episodes, one of them a mistake: %v", row)
	}
	if _, there := row["rollout/not_scored/search"]; there {
		t.Errorf("no tool failed: %v", row)
	}
	if row = of(turn(0, called(1, 0)), turn(0, called(1, 0)), turn(0, called(1, 0)), turn(0, called(1, 0))); row["rollout/not_scored/search"] != 2.0 {
		t.Errorf("a tool failed in two episodes: %v", row)
	}
	row = of(turn(0, called(0, 0)))
	if _, there := row["rollout/calls_failed_share"]; there || row["rollout/calls_mean"] != 0.0 {
		t.Errorf("no call: %v", row)
	}
	row = of(turn(0, map[string]float64{"left": 2}))
	if _, there := row["rollout/calls_mean"]; there || row["rollout/turns_mean"] != 1.0 {
		t.Errorf("no tools: %v", row)
	}
}
