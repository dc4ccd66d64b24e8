package rollout

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// walk draws each token from what stands before it, its stream and its place, as an engine does, and
// ends a completion by a newline, two equal letters (a stop text) or its length.
type walk struct{ asked *[]Request }

func (w walk) Sample(_ context.Context, requests []Request) ([][]Segment, error) {
	out := make([][]Segment, len(requests))
	for i, r := range requests {
		if w.asked != nil {
			*w.asked = append(*w.asked, r)
		}
		for j := range r.N {
			s := Segment{Author: Policy, Drawn: r.Drawn("policy", 7, j), Stop: Length}
			for len(s.IDs) < r.Params.MaxTokens && s.Stop == Length {
				ids := slices.Concat(r.Prompt, s.IDs)
				h := fnv.New64a()
				fmt.Fprint(h, ids, s.Drawn.Key)
				x := h.Sum64()
				at := int(x % 5)
				if x>>8%9 == 0 {
					at = 5
				}
				for len(s.IDs) == 0 && slices.Contains(r.Params.Without, int("abcde\n"[at])) {
					at = (at + 1) % 6
				}
				id := int("abcde\n"[at])
				if id == '\n' {
					s.Stop = EOS
				}
				s.IDs, s.Logprob, s.Entropy = append(s.IDs, id), append(s.Logprob, -float32(x%97)), append(s.Entropy, float32(x%89))
				for _, stop := range r.Params.StopText {
					if strings.Contains(letters{}.Decode(s.IDs), stop) {
						s.Stop = Text
					}
				}
			}
			out[i] = append(out[i], s)
		}
	}
	return out, nil
}

// TestBranch: trees that grow by chance, with stop texts that lie across forks: each path is what a
// completion is that is drawn in one piece after what it goes on from, and whatever other groups do.
func TestBranch(t *testing.T) {
	across, inside, before := 0, 0, 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := &Collector{Sampler: walk{}, Renderer: letters{}, Task: func(_ verify.Problem, text string, _ bool) verify.Verdict { return verify.Accept(text, "", "") }}
		params := Params{Temperature: 0.5, MaxTokens: 12}
		if seed%2 == 0 {
			params.StopText = []string{"aa", "bcd"}
		}
		roots, most, width := 1+r.IntN(3), 1+r.IntN(2), 1+r.IntN(3)
		groups, err := c.Draw(t.Context(), []Start{{Prompt: []int{'x'}}, {Prompt: []int{'y', 'z'}}}, roots, params, random.Key{Purpose: random.Sample})
		if err != nil {
			t.Fatal(err)
		}
		plain := views(groups)
		for round := range 3 {
			at := make([][]Fork, len(groups))
			for i := range groups {
				for range r.IntN(most + 1) {
					nodes := groups[i].Nodes(r.IntN(len(groups[i].Paths)))
					node := nodes[r.IntN(len(nodes))]
					f := Fork{node, r.IntN(len(groups[i].Segments[node].IDs))}
					if !slices.Contains(at[i], f) {
						at[i] = append(at[i], f)
					}
				}
				for _, f := range at[i] {
					if inside++; f.Token == 0 {
						inside--
						before++
					}
				}
			}
			key := random.Key{Purpose: random.Branch, Stream: uint32(round * 100)}
			grown, err := c.Branch(t.Context(), groups, Forks{At: at, Most: most, Width: width}, params, key)
			if err != nil {
				t.Fatal(err)
			}
			alone, err := c.Branch(t.Context(), groups, Forks{At: [][]Fork{nil, at[1]}, Most: most, Width: width}, params, key)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(alone[1]), fmt.Sprint(grown[1]); got != want {
				t.Fatalf("seed %d: without forks of the first group the second is %s, want %s", seed, got, want)
			}
			for i := range groups {
				if n := len(groups[i].Paths); len(grown[i].Paths) != n+width*len(at[i]) {
					t.Fatalf("seed %d: %d paths became %d with %d forks", seed, n, len(grown[i].Paths), len(at[i]))
				}
			}
			groups = grown
		}
		if err := c.Judge(t.Context(), groups); err != nil {
			t.Fatal(err)
		}
		for i, g := range groups {
			for j := range g.Paths {
				v := g.View(j)
				leaf := g.Segments[g.Paths[j].Leaf]
				own, said := len(g.Segments[0].IDs), len(v.IDs)
				for _, at := range g.Nodes(j) {
					if g.Segments[at].Drawn.Key != leaf.Drawn.Key {
						own += len(g.Segments[at].IDs)
					}
				}
				rest := leaf.Drawn.Params
				rest.MaxTokens = params.MaxTokens - (own - len(g.Segments[0].IDs))
				out, _ := walk{}.Sample(t.Context(), []Request{{Prompt: v.IDs[:own], N: 1, Params: rest, Key: leaf.Drawn.Key}})
				whole := Stopped(letters{}, v.IDs[len(g.Segments[0].IDs):own], out[0][0])
				if len(whole.IDs) < len(out[0][0].IDs) {
					across++
				}
				if !slices.Equal(whole.IDs, v.IDs[own:said]) || !slices.Equal(whole.Logprob, v.Logprob[own-len(g.Segments[0].IDs):]) ||
					!slices.Equal(whole.Entropy, v.Entropy[own-len(g.Segments[0].IDs):]) || whole.Stop != v.Stop || len(v.Spans) != 1 || v.Temperature != 0.5 {
					t.Fatalf("seed %d, path %d of group %d: %+v, in one piece %+v", seed, j, i, v, whole)
				}
				if j < roots && fmt.Sprint(v) != fmt.Sprint(plain[i][j]) {
					t.Fatalf("seed %d: root %d of group %d is %+v, before it was forked %+v", seed, j, i, v, plain[i][j])
				}
				text, stop := letters{}.Decode(v.Drawn()), -1
				for _, s := range params.StopText {
					if at := strings.Index(text, s); at >= 0 && (stop < 0 || at < stop) {
						stop = at
					}
				}
				if want := strings.TrimSuffix(text, "\n"); stop < 0 && g.Paths[j].Text != want || stop >= 0 && g.Paths[j].Text != text[:stop] {
					t.Fatalf("seed %d, path %d of group %d: %q is judged, of %q", seed, j, i, g.Paths[j].Text, text)
				}
			}
			for at, s := range g.Segments {
				if s.Parent >= at {
					t.Fatalf("seed %d: segment %d stands before its parent %d", seed, at, s.Parent)
				}
				if children := g.Children()[at]; s.Author == Policy && children == 1 {
					t.Fatalf("seed %d: segment %d of group %d is cut where nothing forks", seed, at, i)
				}
			}
		}
	}
	if across == 0 || inside == 0 || before == 0 {
		t.Errorf("%d stop texts across a fork, %d forks inside and %d before segments: the test shows nothing", across, inside, before)
	}
}

// TestBranchDistinct: completions that go on from a node begin with different tokens, also than the one that is
// there already; each is drawn in one piece, without what those before it begin with.
func TestBranchDistinct(t *testing.T) {
	moved := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := &Collector{Sampler: walk{}, Renderer: letters{}}
		params := Params{Temperature: 0.5, MaxTokens: 12}
		groups, err := c.Draw(t.Context(), []Start{{Prompt: []int{'x'}}, {Prompt: []int{'y', int(seed)}}}, 1, params, random.Key{Purpose: random.Sample, Step: int(seed)})
		if err != nil {
			t.Fatal(err)
		}
		width := 1 + r.IntN(5)
		at := make([][]Fork, len(groups))
		for i := range groups {
			node := groups[i].Nodes(0)[0]
			n := len(groups[i].Segments[node].IDs)
			at[i] = []Fork{{node, r.IntN(n)}}
			if other := (Fork{node, r.IntN(n)}); i == 0 && other != at[i][0] {
				at[i] = append(at[i], other)
			}
		}
		key := random.Key{Purpose: random.Branch, Step: int(seed)}
		grown, err := c.Branch(t.Context(), groups, Forks{At: at, Most: 2, Width: width, Distinct: true}, params, key)
		if err != nil {
			t.Fatal(err)
		}
		free, err := c.Branch(t.Context(), groups, Forks{At: at, Most: 2, Width: width}, params, key)
		if err != nil {
			t.Fatal(err)
		}
		for i := range grown {
			g := &grown[i]
			if len(g.Paths) != 1+width*len(at[i]) {
				t.Fatalf("seed %d: %d paths", seed, len(g.Paths))
			}
			begin := map[int][]int{} // [segment before] in the order in which they were drawn
			for at, s := range g.Segments {
				if s.Author != Policy {
					continue
				}
				if slices.Contains(begin[s.Parent], s.IDs[0]) {
					t.Errorf("seed %d: after segment %d of group %d two begin with %d", seed, s.Parent, i, s.IDs[0])
				}
				if s.Drawn.Key.Purpose == random.Branch {
					if !slices.Equal(s.Drawn.Params.Without, begin[s.Parent]) {
						t.Errorf("seed %d: segment %d was drawn without %v; before it there are %v", seed, at, s.Drawn.Params.Without, begin[s.Parent])
					}
					ids, own := g.upTo(s.Parent)
					ask := Request{Prompt: ids, N: 1, Params: s.Drawn.Params, Key: s.Drawn.Key}
					if ask.Params.MaxTokens != params.MaxTokens-own {
						t.Errorf("seed %d: segment %d may have %d tokens after %d", seed, at, ask.Params.MaxTokens, own)
					}
					if alone, _ := (walk{}).Sample(t.Context(), []Request{ask}); !slices.Equal(alone[0][0].IDs, s.IDs) || alone[0][0].Stop != s.Stop {
						t.Errorf("seed %d: segment %d is %v, alone %v", seed, at, s.IDs, alone[0][0].IDs)
					}
					if s.IDs[0] != free[i].Segments[at].IDs[0] {
						moved++
					}
				}
				begin[s.Parent] = append(begin[s.Parent], s.IDs[0])
			}
		}
	}
	if moved < 40 {
		t.Errorf("%d completions begin otherwise than with equal beginnings: the test shows little", moved)
	}
}

func views(groups []Group) [][]View {
	out := make([][]View, len(groups))
	for i := range groups {
		for j := range groups[i].Paths {
			out[i] = append(out[i], groups[i].View(j))
		}
	}
	return out
}

// TestBranchTwice: what was judged before a tree grew is judged once, and a round without forks asks
// for nothing and changes nothing.
func TestBranchTwice(t *testing.T) {
	var asked []Request
	judged := map[string]int{}
	c := &Collector{Sampler: walk{&asked}, Renderer: letters{}, Task: func(_ verify.Problem, text string, _ bool) verify.Verdict {
		return verify.Accept(text, "", "")
	}}
	counting := counts{judged}
	groups, err := c.From(t.Context(), []Start{{Prompt: []int{'x'}}}, 2, Params{Temperature: 1, MaxTokens: 9}, random.Key{}, counting)
	if err != nil {
		t.Fatal(err)
	}
	same, err := c.Branch(t.Context(), groups, Forks{At: make([][]Fork, 1), Most: 1, Width: 3}, Params{MaxTokens: 9}, random.Key{})
	if err != nil || len(asked) != 1 || fmt.Sprint(same) != fmt.Sprint(groups) {
		t.Fatalf("%v: a round without forks makes %+v of %+v, asking %d times", err, same, groups, len(asked))
	}
	grown, err := c.Branch(t.Context(), groups, Forks{At: [][]Fork{{{1, 1}}}, Most: 1, Width: 2}, Params{Temperature: 1, MaxTokens: 9}, random.Key{Purpose: random.Branch})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Judge(t.Context(), grown, counting); err != nil {
		t.Fatal(err)
	}
	for _, p := range grown[0].Paths {
		if judged[p.Text] != 1 || len(p.Verdicts) != 2 {
			t.Errorf("%q was judged %d times: %+v", p.Text, judged[p.Text], p)
		}
	}
	if len(groups[0].Paths) != 2 || len(groups[0].Segments) != 3 || asked[1].Params.MaxTokens != 8 || len(asked[1].Prompt) != 2 {
		t.Errorf("the group that grew is now %+v, and %+v was asked for", groups[0], asked[1])
	}
	for _, f := range []Fork{{0, 0}, {1, 9}, {7, 0}, {1, -1}} {
		if _, err := c.Branch(t.Context(), groups, Forks{At: [][]Fork{{f}}, Most: 1, Width: 1}, Params{MaxTokens: 9}, random.Key{}); err == nil {
			t.Errorf("%+v is no place of the group, and is accepted", f)
		}
	}
}

var countLock sync.Mutex

// counts is a verifier that counts what it judges.
type counts struct{ of map[string]int }

func (c counts) Verify(_ verify.Problem, text string) verify.Verdict {
	countLock.Lock()
	defer countLock.Unlock()
	c.of[text]++
	return verify.Accept(text, "", "")
}

// fated is a world whose replies depend on its dice and on all turns so far; drifting: and on how often
// it has begun.
type fated struct{ drifts, begun *int }

type fate struct {
	drift int
	said  string
	r     *random.Rand
	turn  int
}

func (f fated) Begin(_ context.Context, _ verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	countLock.Lock()
	defer countLock.Unlock()
	*f.begun++
	return &fate{drift: *f.begun * *f.drifts, r: dice}, world.Reply{}, nil
}

func (e *fate) Step(_ context.Context, t world.Turn) (world.Reply, error) {
	e.turn++
	e.said += t.Text
	text := fmt.Sprint(e.said, e.r.Between(0, 999), e.drift)
	reply := world.Reply{Messages: []world.Message{{Role: world.User, Text: text}}, State: text, Reward: float64(e.turn)}
	if e.turn == 4 {
		v := verify.Accept(text, "", "")
		reply.Verdict = &v
	}
	return reply, nil
}

func (*fate) Close() error { return nil }

// TestBranchTurns: an episode that goes on from a fork is that of a world with the dice of the one that
// it goes on from, which was told the turns before: each path is an episode that could have been played
// alone. A world that does not repeat itself is refused.
func TestBranchTurns(t *testing.T) {
	params := Params{Temperature: 1, MaxTokens: 20}
	key := random.Key{Purpose: random.Sample}
	drifts, begun := 0, 0
	var asked [][]Request
	c := playing(fated{&drifts, &begun}, 6, 4000, &asked, &[]string{})
	start := []Start{{Problem: verify.Problem{ID: "p"}, Prompt: []int{'x'}}, {Problem: verify.Problem{ID: "q"}, Prompt: []int{'y'}}}
	groups, err := c.Draw(t.Context(), start, 2, params, key)
	if err != nil {
		t.Fatal(err)
	}
	forks := Forks{At: [][]Fork{{{groups[0].Nodes(1)[2], 0}, {groups[0].Nodes(0)[1], 0}}, {{groups[1].Nodes(0)[3], 0}}}, Most: 2, Width: 2}
	branch := random.Key{Purpose: random.Branch}
	grown, err := c.Branch(t.Context(), groups, forks, params, branch)
	if err != nil {
		t.Fatal(err)
	}
	if len(grown[0].Paths) != 6 || len(grown[1].Paths) != 4 || len(groups[0].Paths) != 2 {
		t.Fatalf("%d and %d paths", len(grown[0].Paths), len(grown[1].Paths))
	}
	for i, want := range []struct{ shared, stream, dice int }{{0, 0, 0}, {0, 1, 1}, {2, 0, 1}, {2, 1, 1}, {1, 2, 0}, {1, 3, 0}} {
		g := &grown[0]
		turns := g.Turns(i)
		if len(turns) != 4 || g.Paths[i].Verdict().Score != 1 {
			t.Fatalf("path %d has %d turns: %+v", i, len(turns), g.Paths[i])
		}
		alone := &fate{r: c.Episodes.Dice(random.Key{Stream: uint32(want.dice)}, random.World)}
		for k, s := range turns {
			reply, _ := alone.Step(t.Context(), world.Turn{Text: s.Turn.Text})
			if s.Turn.State != reply.State || s.Turn.At != k+1 || s.Turn.Reward != float64(k+1) {
				t.Errorf("path %d, turn %d: the world says %q, alone %q", i, k+1, s.Turn.State, reply.State)
			}
			if own := k >= want.shared && i > 1; own != (s.Drawn.Key.Purpose == random.Branch) || own && int(s.Drawn.Key.Stream) != want.stream {
				t.Errorf("path %d, turn %d was drawn by %+v", i, k+1, s.Drawn.Key)
			}
		}
		if v := g.View(i); len(v.Spans) != 4 {
			t.Errorf("path %d has the spans %v", i, v.Spans)
		}
	}
	forks.Distinct = true
	apart, err := c.Branch(t.Context(), groups, forks, params, branch)
	if err != nil {
		t.Fatal(err)
	}
	for i := range apart {
		g := &apart[i]
		begin := map[int][]int{}
		for at, s := range g.Segments {
			if s.Author != Policy {
				continue
			}
			if first := s.Drawn.Key.Purpose == random.Branch && g.Children()[s.Parent] > 1; first && !slices.Equal(s.Drawn.Params.Without, begin[s.Parent]) || !first && s.Drawn.Params.Without != nil {
				t.Errorf("turn %d of group %d was drawn without %v; beside it are %v", at, i, s.Drawn.Params.Without, begin[s.Parent])
			}
			begin[s.Parent] = append(begin[s.Parent], s.IDs[0])
		}
	}
	if err := c.Judge(t.Context(), grown); err != nil || grown[0].Paths[5].Text == "" {
		t.Errorf("%v: %+v", err, grown[0].Paths[5])
	}
	if _, err := c.Branch(t.Context(), groups, Forks{At: [][]Fork{{{1, 1}}, nil}, Most: 1, Width: 1}, params, branch); err == nil || !strings.Contains(err.Error(), "a fork inside of a turn") {
		t.Errorf("a fork inside of a turn: %v", err)
	}
	drifts = 1
	if _, err := c.Branch(t.Context(), groups, forks, params, branch); err == nil || !strings.Contains(err.Error(), "the world says something else when the same turns are played again") {
		t.Errorf("a world that does not repeat itself: %v", err)
	}
}

// TestBranchSideBySide: the turns before a fork are played again for all branches at once.
func TestBranchSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked [][]Request
		c := playing(&counting{turns: 4, broken: func(uint64, int) error { time.Sleep(time.Second); return nil }}, 6, 4000, &asked, &[]string{})
		groups, err := c.Draw(t.Context(), []Start{{Problem: verify.Problem{ID: "p"}, Prompt: []int{'x'}}}, 2, Params{MaxTokens: 20}, random.Key{Purpose: random.Sample})
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		forks := Forks{At: [][]Fork{{{groups[0].Nodes(0)[2], 0}}}, Most: 1, Width: 3}
		if _, err := c.Branch(t.Context(), groups, forks, Params{MaxTokens: 20}, random.Key{Purpose: random.Branch}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(before); took != 5*time.Second { // a beginning, two turns again, and two more
			t.Errorf("three branches take %v; want as long as one, 5s", took)
		}
	})
}
