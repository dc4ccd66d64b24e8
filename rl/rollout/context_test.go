package rollout

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// forgetful has the context begin anew with its reply to every second turn.
type forgetful struct{ *counting }

type forgotten struct {
	world.Episode
	turn int
}

func (f forgetful) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	e, first, err := f.counting.Begin(ctx, row, dice)
	return &forgotten{Episode: e}, first, err
}

func (f *forgotten) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	r, err := f.Episode.Step(ctx, t)
	f.turn++
	r.Fresh = f.turn%2 == 0
	return r, err
}

// capitals is a renderer whose template writes the turns that were in capitals.
type capitals struct{ spell }

func (c capitals) Begin(p verify.Problem, said []world.Message) ([]int, error) {
	ids, err := c.Prompt(p)
	for _, m := range said {
		text := m.Text + "|"
		if m.Role == world.Assistant {
			text = strings.ToUpper(m.Text) + "\x00"
		}
		for _, b := range []byte(text) {
			ids = append(ids, int(b))
		}
	}
	return ids, err
}

// TestContexts: where the context begins anew, a turn is drawn after it alone, with random numbers of its own, and
// the views of the contexts have every token that the policy drew once, after what it was drawn after.
func TestContexts(t *testing.T) {
	for name, x := range map[string]struct {
		world world.World
		sum   world.Summary
		whole bool
		want  []string // of path 1: contexts; what is learned is in brackets
		turns int      // of the policy, summaries among them
	}{
		"world":    {world: forgetful{&counting{turns: 4}}, want: []string{"q[b.]B|[bb.]", "qBB|[bb.]BB|[bbb.]"}, turns: 4},
		"summary":  {world: &counting{turns: 4}, sum: world.Summary{At: 8, Ask: "sum", Before: "<"}, want: []string{"q[b.]B|[bb.]BB|sum|[bbbb.]", "q<bbbb|[bb.]BB|sum|[bbbb.]", "q<bbbb|[bb.]"}, turns: 6},
		"template": {world: &counting{turns: 3}, whole: true, want: []string{"q[b.]", "qB.B|[bb.]", "qB.B|BB.BB|[bbb.]"}, turns: 3},
	} {
		t.Run(name, func(t *testing.T) {
			var asked [][]Request
			var encoded []string
			c := playing(x.world, 9, 99, &asked, &encoded)
			c.Episodes.Sum, c.Episodes.Whole = x.sum, x.whole
			if x.whole {
				c.Episodes.Renderer = capitals{spell{encoded: &encoded}}
			}
			groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 2, Params{Temperature: 0.5, MaxTokens: 8}, random.Key{Purpose: random.Sample, Step: 4})
			if err != nil {
				t.Fatal(err)
			}
			g := &groups[0]
			if v := g.Paths[1].Verdict(); v.Verdict != verify.Right {
				t.Fatalf("%+v of %s", v, pathText(g, 1))
			}
			whole := g.View(1)
			var got []string
			var drawn, spent []int
			prompts := map[string]bool{}
			for _, rs := range asked {
				for _, r := range rs {
					prompts[letters{}.Decode(r.Prompt)] = true
				}
			}
			views := whole.Contexts()
			for _, v := range views {
				var b strings.Builder
				at := 0
				for _, s := range v.Spans {
					if !prompts[letters{}.Decode(v.IDs[:s.From])] {
						t.Errorf("nothing was drawn after %q", letters{}.Decode(v.IDs[:s.From]))
					}
					b.WriteString(letters{}.Decode(v.IDs[at:s.From]) + "[" + letters{}.Decode(v.IDs[s.From:s.To]) + "]")
					at = s.To
				}
				if v.Fresh != nil || at != len(v.IDs) || len(v.Logprob) != v.Tokens() || v.Stop != whole.Stop {
					t.Errorf("view %+v", v)
				}
				got, drawn, spent = append(got, strings.ReplaceAll(b.String(), "\x00", ".")), append(drawn, v.Drawn()...), append(spent, v.Lengths()...)
			}
			if !slices.Equal(got, x.want) {
				t.Errorf("contexts %q, want %q", got, x.want)
			}
			if !slices.Equal(drawn, whole.Drawn()) || !slices.Equal(spent, whole.Lengths()) || whole.Tokens() != g.Tokens(1) {
				t.Errorf("the views have %v, the whole %v", drawn, whole.Drawn())
			}
			if !slices.Equal(whole.Last(), views[len(views)-1].IDs) {
				t.Errorf("the last context is %v", whole.Last())
			}
			turns, keys, at := g.Turns(1), map[random.Key]int{}, 0
			for _, v := range views {
				for range v.Spans {
					keys[turns[at].Drawn.Key]++
					at++
				}
			}
			if len(turns) != x.turns || len(keys) != len(views) {
				t.Errorf("%d turns, want %d; keys %v", len(turns), x.turns, keys)
			}
			for k := range keys {
				if purpose, step := random.Restarts(k.Step); k.Stream != 1 || k.Purpose == random.Restart && (purpose != random.Sample || step != 4) {
					t.Errorf("the key %+v", k)
				}
			}
			situations := g.Situations(1)
			for i, s := range turns {
				if s.Turn.Sums && (situations[i].Why != "" || situations[i+1].Text != turns[i-1].Turn.State || situations[i+1] == situations[i]) {
					t.Errorf("the summary %d is written in %q, and the turn after it in %q", i, situations[i], situations[i+1])
				}
				if sum := x.sum.At > 0 && (i == 2 || i == 4); s.Turn.Sums != sum {
					t.Errorf("turn %d: %+v; it is a summary: %v", i, s.Turn, sum)
				}
			}
		})
	}
}

// TestContextLimits: a context that has no room for a summary, or with one none for a turn, ends the episode.
func TestContextLimits(t *testing.T) {
	for _, x := range []struct {
		tokens int
		want   string
	}{
		{14, "0:q 1:b. 4:B| 1:bb. "},
		{15, "0:q 1:b. 4:B| 1:bb. 4:BB|sum| 1:b "},
	} {
		var encoded []string
		c := playing(&counting{turns: 4}, 9, x.tokens, nil, &encoded)
		c.Episodes.Sum = world.Summary{At: 8, Ask: "sum", Before: strings.Repeat("<", 30)}
		groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 2, Params{Temperature: 0.5, MaxTokens: 8}, random.Key{Purpose: random.Sample})
		if err != nil {
			t.Fatal(err)
		}
		if got := pathText(&groups[0], 1); got != x.want || groups[0].Paths[1].Limit != OutOfTokens {
			t.Errorf("%d tokens: %s, limit %s; want %s", x.tokens, got, groups[0].Paths[1].Limit, x.want)
		}
	}
}
