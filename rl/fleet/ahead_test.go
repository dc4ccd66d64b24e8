package fleet

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// seeded is a paper model as a sampler.
type seeded struct {
	*paper
	seed uint64
}

func (s seeded) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	return s.paper.Sample(ctx, requests, s.seed)
}

// plain writes a text as one id for each byte, and ids as their numbers.
type plain struct{}

func (plain) Prompt(p verify.Problem) ([]int, error) {
	return plain{}.Next(true, []world.Message{{Text: p.Question}})
}
func (plain) Decode(ids []int) string { return fmt.Sprint(ids) }
func (plain) Begin(p verify.Problem, said []world.Message) ([]int, error) {
	return plain{}.Prompt(p)
}

func (plain) Next(ended bool, said []world.Message) (ids []int, err error) {
	if !ended {
		ids = append(ids, 0)
	}
	for _, b := range []byte(said[0].Text) {
		ids = append(ids, int(b)%vocab)
	}
	return ids, nil
}

// hashing is a world on paper: what it says, what it pays and when it is over is a hash of its dice and of all turns.
type hashing struct{ said string }

func (hashing) Begin(_ context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	return &hashing{fmt.Sprint(row.Question, dice.Uint64())}, world.Reply{}, nil
}

func (e *hashing) Step(_ context.Context, t world.Turn) (world.Reply, error) {
	e.said += t.Text
	h := fnv.New64a()
	fmt.Fprint(h, e.said)
	x := h.Sum64()
	if x%5 == 0 {
		v := verify.Verdict{Verdict: verify.Graded, Score: float64(x%7) / 7}
		return world.Reply{Verdict: &v, Reward: 1}, nil
	}
	return world.Reply{Messages: []world.Message{{Role: world.User, Text: fmt.Sprint(x % 1000)}}, Reward: float64(x % 3), State: fmt.Sprint(x % 11)}, nil
}

func (*hashing) Close() error { return nil }

func onPaper(dice func(random.Key, random.Purpose) *random.Rand) *rollout.Episodes {
	return &rollout.Episodes{World: hashing{}, Renderer: plain{}, Anywhere: true, Turns: 6, Tokens: 60, Dice: dice}
}

// playedBy are the episodes of a step.
func playedBy(t *testing.T, s rollout.Sampler, step int) []rollout.Group {
	t.Helper()
	dice := func(k random.Key, of random.Purpose) *random.Rand { return k.Dice(7, of) }
	c := rollout.Collector{Sampler: s, Renderer: plain{}, Episodes: onPaper(dice)}
	problems := []verify.Problem{{ID: "1", Question: "one"}, {ID: "2", Question: "two"}, {ID: "3", Question: "three"}}
	groups, err := c.Collect(t.Context(), problems, 4, rollout.Params{Temperature: 0.9, MaxTokens: 9}, random.Key{Purpose: random.Sample, Stage: 2, Step: step})
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// TestAhead: episodes that 1, 2 or 5 workers play ahead are those of one machine, and no turn of them is asked for that a
// worker with the same bits drew.
func TestAhead(t *testing.T) {
	for _, mode := range []Mode{Exact, Draft} {
		for _, workers := range []int{1, 2, 5} {
			synctest.Test(t, func(t *testing.T) {
				m, tr := NewMemory(), &trainer{}
				defer m.Close()
				f := New(m, tr.asTrainer(), Options{Mode: mode, Audit: 0.3, Slots: fixed(workers)})
				defer f.Close()
				for n := range workers {
					go Work(t.Context(), m, fmt.Sprint(n), &paper{})
				}
				turns := 0
				for step := range 3 {
					tr.version = step
					want, got := playedBy(t, tr, step), playedBy(t, f, step)
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s, %d workers: step %d has other episodes than one machine", mode, workers, step)
					}
					for _, g := range got {
						turns += (len(g.Segments) - 1 - len(g.Paths)) / 2 // after the first
					}
				}
				if n := f.Counts(); n.Refused > 0 || n.Here > 0 || n.Ahead != turns || turns < 20 {
					t.Errorf("%s, %d workers, %d turns after the first: %+v", mode, workers, turns, n)
				}
			})
		}
	}
}

// cheat plays as paper does, and changes what it played.
type cheat struct {
	paper
	change func(episode []rollout.Segment) []rollout.Segment
}

func (c *cheat) Play(ctx context.Context, requests []rollout.Request, seed uint64) ([][][]rollout.Segment, error) {
	out, err := c.paper.Play(ctx, requests, seed)
	for _, group := range out {
		for i, e := range group {
			if len(e) >= 5 { // of three turns or more
				group[i] = c.change(e)
			}
		}
	}
	return out, err
}

// TestForgedEpisodes: what a worker changes in an episode that it plays is found, and it is refused. The run has the
// episodes of one machine.
func TestForgedEpisodes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e []rollout.Segment) []rollout.Segment
		audit  float64 // found without a check at 0
		why    string
	}{
		"a reply": {func(e []rollout.Segment) []rollout.Segment {
			last := &e[1].IDs[len(e[1].IDs)-1]
			*last = (*last + 1) % vocab
			return e
		}, 0, "of what was read after turn 1 is another"},
		"a shorter reply": {func(e []rollout.Segment) []rollout.Segment {
			e[3].IDs = e[3].IDs[:len(e[3].IDs)-1]
			return e
		}, 0, "of what was read after turn 2 is another"},
		"an episode that ends too early": {func(e []rollout.Segment) []rollout.Segment { return e[:3] }, 0, "the episode ends after turn 2, and goes on"},
		"one that has one turn":          {func(e []rollout.Segment) []rollout.Segment { return e[:1] }, 0, "the episode ends after turn 1, and goes on"},
		"a missing turn":                 {func(e []rollout.Segment) []rollout.Segment { return append(e[:1:1], e[3:]...) }, 0, "of what was read after turn 1 is another"},
		"a turn that is too long": {func(e []rollout.Segment) []rollout.Segment {
			s := &e[2]
			for len(s.IDs) < 10 {
				s.IDs, s.Logprob, s.Entropy = append(s.IDs, 1), append(s.Logprob, 0), append(s.Entropy, 0)
			}
			return e[:3]
		}, 0, "turn 2 has more tokens than it may have"},
		"an id":          {func(e []rollout.Segment) []rollout.Segment { wrongToken(&e[4]); return e }, 1, "differs from what is drawn here"},
		"a log-prob":     {func(e []rollout.Segment) []rollout.Segment { wrongLogprob(&e[2]); return e }, 1, "differs from what is drawn here"},
		"an entropy":     {func(e []rollout.Segment) []rollout.Segment { wrongEntropy(&e[4]); return e }, 1, "differs from what is drawn here"},
		"the first turn": {func(e []rollout.Segment) []rollout.Segment { wrongToken(&e[0]); return e }, 1, "differs from what is drawn here"},
		"a turn after the end": {func(e []rollout.Segment) []rollout.Segment {
			tokens := 0
			for _, s := range e {
				tokens += len(s.IDs)
			}
			if len(e) > 9 || tokens > 58 { // no other turn could be there
				return e
			}
			return append(e, rollout.Segment{Author: rollout.Outside, IDs: []int{1}}, rollout.Segment{IDs: []int{1}, Logprob: []float32{0}, Entropy: []float32{0}, Stop: rollout.EOS})
		}, 0, "the episode is over after turn"},
		"too many turns":  {func(e []rollout.Segment) []rollout.Segment { return append(e, e[1:]...) }, 0, "malformed"},
		"an unknown id":   {func(e []rollout.Segment) []rollout.Segment { e[1].IDs[0] = vocab; return e }, 0, "malformed"},
		"no turn at all":  {func(e []rollout.Segment) []rollout.Segment { e[2] = rollout.Segment{Stop: rollout.EOS}; return e }, 0, "malformed"},
		"turns exchanged": {func(e []rollout.Segment) []rollout.Segment { e[2], e[4] = e[4], e[2]; return e }, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, tr := NewMemory(), &trainer{}
				defer m.Close()
				var disputes []Dispute
				f := New(m, tr.asTrainer(), Options{Mode: Exact, Audit: c.audit, Slots: fixed(1), Disputed: func(d Dispute) error { disputes = append(disputes, d); return nil }})
				defer f.Close()
				go Work(t.Context(), m, "cheat", &cheat{change: c.change})
				for step := range 3 {
					tr.version = step
					want, got := playedBy(t, tr, step), playedBy(t, f, step)
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("step %d has other episodes than one machine", step)
					}
				}
				if f.Counts().Refused != 1 || len(disputes) != 1 || !strings.Contains(disputes[0].Why, c.why) {
					t.Fatalf("%+v, disputes %+v", f.Counts(), disputes)
				}
				d := disputes[0]
				p := &paper{}
				_ = p.Load(d.Weights)
				right, err := Draw(t.Context(), d.Item, p)
				if err != nil {
					t.Fatal(err)
				}
				if said, err := d.Item.Decode(d.Answer, vocab); err == nil && said.Differs(right) == "" {
					t.Errorf("who draws the item again, finds no fault: %s", d.Why)
				}
			})
		})
	}
}

// TestForgedReplies: of episodes with one forged token in what was read, each is refused at its token.
func TestForgedReplies(t *testing.T) {
	const many = 200
	for n := range many {
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		want := ""
		forge := func(e []rollout.Segment) []rollout.Segment {
			if want != "" { // one is enough
				return e
			}
			turn := 1 + rng.IntN(len(e)/2)
			read := e[2*turn-1].IDs
			at := rng.IntN(len(read))
			read[at] = (read[at] + 1 + rng.IntN(vocab-1)) % vocab
			want = fmt.Sprintf(": token %d of what was read after turn %d is another", at+1, turn)
			return e
		}
		synctest.Test(t, func(t *testing.T) {
			m, tr := NewMemory(), &trainer{}
			defer m.Close()
			why := ""
			f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1), Note: func(text string) { why += text }})
			defer f.Close()
			go Work(t.Context(), m, "forger", &cheat{change: forge})
			if right, got := playedBy(t, tr, 0), playedBy(t, f, 0); !reflect.DeepEqual(got, right) {
				t.Fatal("the run has other episodes than one machine")
			}
			if want == "" || !strings.Contains(why, want) {
				t.Errorf("forged is%s: %s", want, why)
			}
		})
	}
}

// hung answers one item, and hangs with the next.
type hung struct {
	paper
	played bool
}

func (h *hung) Play(ctx context.Context, requests []rollout.Request, seed uint64) ([][][]rollout.Segment, error) {
	if h.played {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	h.played = true
	return h.paper.Play(ctx, requests, seed)
}

func (h *hung) Sample(ctx context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	if h.played {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.paper.Sample(ctx, requests, seed)
}

// TestDeafAhead: a worker that hangs is waited for once, though it has played episodes on before.
func TestDeafAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, tr := NewMemory(), &trainer{}
		defer m.Close()
		f := New(m, tr.asTrainer(), Options{Mode: Exact, Slots: fixed(1)})
		defer f.Close()
		go Work(t.Context(), m, "w", &hung{})
		began := time.Now()
		playedBy(t, f, 0)
		if took := time.Since(began); took != 4*patience || f.Counts().Ahead < 2 {
			t.Errorf("the step takes %v: %+v", took, f.Counts())
		}
	})
}

// TestRowsFit: items that play are messages that a carrier takes, however long the rows are.
func TestRowsFit(t *testing.T) {
	l := newLedger(func(random.Key) uint64 { return 0 }, Exact)
	requests := requestsOf(0, 400)
	for i := range requests {
		requests[i].Plays = &rollout.Plays{Problem: verify.Problem{Question: strings.Repeat("long ", 700)}, Turns: 2, Tokens: 9}
	}
	all := l.cut(requests, len(requests))
	for _, j := range all.jobs {
		if len(j.data) > 1<<20 {
			t.Errorf("an item of %d problems has %d bytes", len(j.requests), len(j.data))
		}
	}
	if len(all.jobs) > 4 {
		t.Errorf("%d items", len(all.jobs))
	}
}
