package rollout

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// spell writes letters as [letters] does, with 0 as the end token and "|" before each turn. It
// counts what it makes into ids.
type spell struct {
	letters
	encoded *[]string
}

var encoding sync.Mutex // episodes are played side by side

func (s spell) Begin(p verify.Problem, said []world.Message) ([]int, error) {
	ids, err := s.Prompt(p)
	more, other := s.Next(true, said)
	return slices.Concat(ids, more), errors.Join(err, other)
}

func (s spell) Next(ended bool, said []world.Message) ([]int, error) {
	var ids []int
	if !ended {
		ids = append(ids, 0)
	}
	for _, m := range said {
		if strings.Contains(m.Text, "§") {
			return nil, errors.New("no letter")
		}
		encoding.Lock()
		*s.encoded = append(*s.encoded, m.Text)
		encoding.Unlock()
		for _, b := range []byte(m.Text + "|") {
			ids = append(ids, int(b))
		}
	}
	return ids, nil
}

// says draws for each request what its stream says: the letter of the stream, as often as the
// prompt has turns, and an end token unless the limit is lower.
type says struct{ asked *[][]Request }

func (s says) Sample(ctx context.Context, requests []Request) ([][]Segment, error) {
	if s.asked != nil {
		*s.asked = append(*s.asked, requests)
	}
	out := make([][]Segment, len(requests))
	for i, r := range requests {
		turns := 1
		for _, id := range r.Prompt {
			if id == '|' {
				turns++
			}
		}
		for j := range r.N {
			d := r.Drawn("policy", 0, j)
			ids, stop := append(slices.Repeat([]int{'a' + int(d.Key.Stream)}, turns), 0), EOS
			if len(ids) > r.Params.MaxTokens {
				ids, stop = ids[:r.Params.MaxTokens], Length
			}
			out[i] = append(out[i], Segment{Author: Policy, IDs: ids, Logprob: make([]float32, len(ids)), Entropy: make([]float32, len(ids)), Drawn: d, Stop: stop})
		}
	}
	return out, ctx.Err()
}

// counting is a world that repeats each turn in capitals, and after so many turns is over: right if
// the last turn was whole. broken says what breaks in which turn of the sample with a die.
type counting struct {
	turns  int
	opens  string
	broken func(die uint64, turn int) error
	count  func(n int) // of worlds that are open; nil: nobody counts
}

type count struct {
	*counting
	die  uint64
	turn int
}

func (c *counting) Begin(_ context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	e := &count{counting: c, die: dice.Uint64()}
	var first world.Reply
	if c.opens != "" {
		first.Messages = []world.Message{{Role: world.User, Text: c.opens}}
	}
	e.opened(1)
	return e, first, c.breaks(e.die, 0)
}

func (c *counting) opened(n int) {
	if c.count != nil {
		c.count(n)
	}
}

func (c *counting) breaks(die uint64, turn int) error {
	if c.broken == nil {
		return nil
	}
	return c.broken(die, turn)
}

func (e *count) Step(_ context.Context, t world.Turn) (world.Reply, error) {
	e.turn++
	r := world.Reply{Messages: []world.Message{{Role: world.User, Text: strings.ToUpper(t.Text)}}, Reward: float64(e.turn), State: t.Text, Facts: map[string]float64{"long": float64(len(t.Text))}}
	if e.turn == e.turns {
		v := verify.Accept(t.Text, "", "%d turns", e.turn)
		r.Verdict = &v
	}
	return r, e.breaks(e.die, e.turn)
}

func (e *count) Close() error {
	e.opened(-1)
	return nil
}

// playing is a collector of episodes whose dice are the numbers of the samples.
func playing(w world.World, turns, tokens int, asked *[][]Request, encoded *[]string) *Collector {
	s := spell{encoded: encoded}
	dice := func(k random.Key, _ random.Purpose) *random.Rand { return random.At(0, 0, uint64(k.Stream)) }
	return &Collector{Sampler: says{asked}, Renderer: s, Episodes: &Episodes{World: w, Renderer: s, Turns: turns, Tokens: tokens, Dice: dice}}
}

func pathText(g *Group, path int) string {
	var b strings.Builder
	for _, at := range g.Way(path) {
		s := g.Segments[at]
		fmt.Fprintf(&b, "%d:%s ", s.Author, strings.ReplaceAll(letters{}.Decode(s.IDs), "\x00", "."))
	}
	return b.String()
}

// TestEpisodes: an episode is a path of turns and replies. A later turn is drawn after the ids of
// all before it, in the stream of its sample; what the policy drew is never made into ids again;
// the view has a span for each turn and none for a reply.
func TestEpisodes(t *testing.T) {
	var asked [][]Request
	var encoded []string
	c := playing(&counting{turns: 3}, 9, 99, &asked, &encoded)
	key := random.Key{Purpose: random.Sample, Stage: 1, Step: 4}
	groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}, {Question: "rr"}}, 2, Params{Temperature: 0.5, MaxTokens: 8}, key, rejecting{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"0:q 1:a. 4:A| 1:aa. 4:AA| 1:aaa. ", "0:q 1:b. 4:B| 1:bb. 4:BB| 1:bbb. "}, {"0:rr 1:c. 4:C| 1:cc. 4:CC| 1:ccc. ", "0:rr 1:d. 4:D| 1:dd. 4:DD| 1:ddd. "}}
	for i := range groups {
		g := &groups[i]
		for j, p := range g.Paths {
			if got := pathText(g, j); got != want[i][j] {
				t.Errorf("path %d of group %d is %q, want %q", j, i, got, want[i][j])
			}
			last := strings.Repeat(string(rune('a'+2*i+j)), 3)
			if p.Text != last || p.Verdict().Verdict != verify.Right || p.Verdict().Extracted != last || p.Limit != "" || p.Verdicts[1].Verdict != verify.Wrong {
				t.Errorf("path %d of group %d: %+v", j, i, p)
			}
			v, n := g.View(j), len(g.Problem.Question)
			if !slices.Equal(v.Spans, []Span{{n, n + 2}, {n + 4, n + 7}, {n + 10, n + 14}}) || v.Tokens() != 9 || v.Read() != 5 || len(v.Logprob) != 9 || !slices.Equal(v.Lengths(), []int{2, 3, 4}) {
				t.Errorf("view %d of group %d: %+v", j, i, v)
			}
			for k, s := range g.Turns(j) {
				if s.Turn.At != k+1 || s.Turn.Reward != float64(k+1) || s.Drawn.Key.Stream != uint32(2*i+j) || s.Drawn.Key.Step != 4 {
					t.Errorf("turn %d of path %d of group %d: %+v, drawn %+v", k+1, j, i, s.Turn, s.Drawn)
				}
			}
		}
	}
	if len(asked) != 3 || len(asked[0]) != 2 || asked[0][0].N != 2 || len(asked[1]) != 4 || asked[1][3].N != 1 {
		t.Fatalf("%d rounds of requests: %v", len(asked), asked)
	}
	v := groups[1].View(1)
	if r := asked[2][3]; !slices.Equal(r.Prompt, v.IDs[:v.Spans[2].From]) {
		t.Errorf("the last turn is drawn after %v, want %v", r.Prompt, v.IDs[:v.Spans[2].From])
	}
	for _, text := range encoded {
		if text != strings.ToUpper(text) {
			t.Errorf("a turn of the policy, %q, was made into ids", text)
		}
	}
}

// TestEpisodesAsOne: an episode of one turn draws what a completion draws that is no episode: the
// same requests, the same segments.
func TestEpisodesAsOne(t *testing.T) {
	var played, asked [][]Request
	var encoded []string
	c := playing(&counting{turns: 1}, 9, 99, &played, &encoded)
	one := judgedBy(func(text string) verify.Verdict { return verify.Accept(text, "", "") })
	one.Sampler = says{&asked}
	problems, params, key := []verify.Problem{{Question: "q"}, {Question: "rr"}}, Params{Temperature: 1, MaxTokens: 8}, random.Key{Purpose: random.HeldOut}
	episodes, err := c.Collect(t.Context(), problems, 3, params, key)
	answers, other := one.Collect(t.Context(), problems, 3, params, key)
	if err != nil || other != nil || fmt.Sprint(played) != fmt.Sprint(asked) || len(encoded) > 0 {
		t.Fatalf("%v, %v: %v, want %v; encoded %q", err, other, played, asked, encoded)
	}
	for i := range episodes {
		for k := range episodes[i].Segments {
			episodes[i].Segments[k].Turn = nil
		}
		for j := range episodes[i].Paths {
			episodes[i].Paths[j].Verdicts, answers[i].Paths[j].Verdicts = nil, nil
		}
	}
	if fmt.Sprintf("%+v", episodes) != fmt.Sprintf("%+v", answers) {
		t.Errorf("%+v\nwant\n%+v", episodes, answers)
	}
}

// TestLimits: turns, and tokens of the episode, end an episode, which is then wrong unless its world
// says more; a turn that is cut off goes on with an end token that the policy did not draw.
func TestLimits(t *testing.T) {
	for _, x := range []struct {
		turns, tokens, most int
		want                string
		limit               Limit
	}{
		{2, 99, 8, "0:q 1:a. 4:A| 1:aa. ", OutOfTurns},
		{9, 7, 8, "0:q 1:a. 4:A| 1:aa. ", OutOfTokens},
		{9, 8, 8, "0:q 1:a. 4:A| 1:aa. ", OutOfTokens}, // no room after the reply
		{9, 14, 8, "0:q 1:a. 4:A| 1:aa. 4:AA| 1:aaa. ", ""},
		{9, 99, 2, "0:q 1:a. 4:A| 1:aa 4:.AA| 1:aa ", ""},
		{9, 13, 8, "0:q 1:a. 4:A| 1:aa. 4:AA| 1:aaa ", ""},
	} {
		var encoded []string
		c := playing(&counting{turns: 3}, x.turns, x.tokens, nil, &encoded)
		groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: x.most}, random.Key{})
		if err != nil {
			t.Fatal(err)
		}
		p := groups[0].Paths[0]
		right := x.limit == ""
		if got := pathText(&groups[0], 0); got != x.want || p.Limit != x.limit || (p.Verdict().Verdict == verify.Right) != right || p.Verdict().Verdict == verify.NotScored {
			t.Errorf("%d turns, %d tokens, %d a turn: %q, %+v; want %q", x.turns, x.tokens, x.most, got, p, x.want)
		}
		if v := groups[0].View(0); len(v.IDs)-1 > x.tokens {
			t.Errorf("%d tokens: %v", x.tokens, v.IDs)
		}
	}
}

// TestBrokenWorlds: an episode whose world breaks is not scored, with the reason; the others of its
// group go on. Where all break before their first turn, and where they ask different things, there
// is no group.
func TestBrokenWorlds(t *testing.T) {
	second := random.At(0, 0, 1).Uint64() // the die of sample 1
	for name, x := range map[string]struct {
		broken func(die uint64, turn int) error
		want   string
		turns  int // of the broken episode
	}{
		"an error at the beginning": {func(die uint64, turn int) error {
			if die == second && turn == 0 {
				return errors.New("no board")
			}
			return nil
		}, "the world failed: no board", 1},
		"a panic in turn 2": {func(die uint64, turn int) error {
			if die == second && turn == 2 {
				panic("lost")
			}
			return nil
		}, "the world failed: it panics: lost", 2},
	} {
		var encoded []string
		c := playing(&counting{turns: 3, broken: x.broken}, 9, 99, nil, &encoded)
		groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 3, Params{MaxTokens: 8}, random.Key{}, rejecting{})
		if err != nil {
			t.Fatal(err)
		}
		for j, p := range groups[0].Paths {
			v, broken := p.Verdict(), j == 1
			if (v.Verdict == verify.NotScored) != broken || broken && (v.Reason != x.want || len(groups[0].Turns(j)) != x.turns) || !broken && v.Verdict != verify.Right {
				t.Errorf("%s: sample %d: %+v, %s", name, j, v, pathText(&groups[0], j))
			}
		}
	}
	var encoded []string
	all := playing(&counting{broken: func(uint64, int) error { return errors.New("no board") }}, 9, 99, nil, &encoded)
	if _, err := all.Collect(t.Context(), []verify.Problem{{ID: "7", Question: "q"}}, 2, Params{MaxTokens: 8}, random.Key{}); err == nil || err.Error() != "problem 7: no episode begins: the world failed: no board" {
		t.Errorf("all break: %v", err)
	}
	for name, r := range map[string]world.Reply{"a reward": {Reward: math.NaN()}, "a fact": {Facts: map[string]float64{"x": math.Inf(1)}}, "a reply that cannot be read": {Messages: []world.Message{{Text: "§"}}}} {
		c := playing(fixed{r}, 9, 99, nil, &encoded)
		groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{})
		if err != nil || groups[0].Paths[0].Verdict().Verdict != verify.NotScored {
			t.Errorf("%s: %+v, %v", name, groups, err)
		}
	}
	if _, err := playing(rolling{}, 9, 99, nil, &encoded).Collect(t.Context(), []verify.Problem{{ID: "7", Question: "q"}}, 2, Params{MaxTokens: 8}, random.Key{}); err == nil || !strings.Contains(err.Error(), "problem 7: the world says different things before the first turn of different samples") {
		t.Errorf("openings by dice: %v", err)
	}
}

// fixed answers each turn alike.
type fixed struct{ reply world.Reply }

func (f fixed) Begin(context.Context, verify.Problem, *random.Rand) (world.Episode, world.Reply, error) {
	return f, world.Reply{}, nil
}
func (f fixed) Step(context.Context, world.Turn) (world.Reply, error) { return f.reply, nil }
func (fixed) Close() error                                            { return nil }

// rolling says a random number first.
type rolling struct{ fixed }

func (f rolling) Begin(_ context.Context, _ verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	return f, world.Reply{Messages: []world.Message{{Text: fmt.Sprint(dice.Uint64())}}}, nil
}

// TestOpening: what a world says first is read before the first turn.
func TestOpening(t *testing.T) {
	var encoded []string
	groups, err := playing(&counting{turns: 1, opens: "HELLO"}, 9, 99, nil, &encoded).Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{})
	if err != nil || pathText(&groups[0], 0) != "0:qHELLO| 1:aa. " {
		t.Errorf("%v, %+v", err, groups)
	}
}

// TestFlow: an error of the sampler ends all episodes with it.
func TestFlow(t *testing.T) {
	var encoded []string
	c := playing(&counting{turns: 3}, 9, 99, nil, &encoded)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Collect(ctx, []verify.Problem{{Question: "q"}}, 2, Params{MaxTokens: 8}, random.Key{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c.Sampler = &failing{after: 1}
	if _, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 2, Params{MaxTokens: 8}, random.Key{}); err == nil || err.Error() != "lost" {
		t.Error(err)
	}
}

// failing is says until it has been asked so often.
type failing struct {
	says
	after int
}

func (f *failing) Sample(ctx context.Context, requests []Request) ([][]Segment, error) {
	if f.after--; f.after < 0 {
		return nil, errors.New("lost")
	}
	return f.says.Sample(ctx, requests)
}

// timed takes a time for each request, by its stream, and any number of requests at once.
type timed struct{ says }

func (s timed) takes(stream uint32) time.Duration {
	return time.Duration(20+stream%7) * time.Millisecond
}

func (s timed) Draw(ctx context.Context, r Request) ([]Segment, error) {
	time.Sleep(s.takes(r.Key.Stream))
	drawn, err := s.Sample(ctx, []Request{r})
	if err != nil {
		return nil, err
	}
	return drawn[0], nil
}

// slowly is a world that takes a time for each turn.
type slowly struct {
	counting
	takes time.Duration
}

type slow struct {
	world.Episode
	takes time.Duration
}

func (s *slowly) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	e, first, err := s.counting.Begin(ctx, row, dice)
	return slow{e, s.takes}, first, err
}

func (s slow) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	time.Sleep(s.takes)
	return s.Episode.Step(ctx, t)
}

// TestSlowWorlds: episodes whose worlds take their time wait for them side by side, and for nobody
// else's: all are over when the longest is that was ever drawn or answered without a pause.
func TestSlowWorlds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const turns, samples = 4, 4
		var encoded []string
		c := playing(&slowly{counting{turns: turns}, 200 * time.Millisecond}, 9, 99, nil, &encoded)
		c.Sampler = timed{}
		began := time.Now()
		problems := slices.Repeat([]verify.Problem{{Question: "q"}}, 16)
		groups, err := c.Collect(t.Context(), problems, samples, Params{MaxTokens: 8}, random.Key{})
		took := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		var longest time.Duration
		for i := range 16 * samples {
			first := timed{}.takes(uint32(i / samples * samples)) // one request for all samples of a problem
			longest = max(longest, first+turns*200*time.Millisecond+(turns-1)*timed{}.takes(uint32(i)))
		}
		if took != longest || len(groups) != 16 || len(groups[15].Turns(3)) != turns {
			t.Errorf("%d groups take %v, want %v", len(groups), took, longest)
		}
	})
}

// starting is a world that takes its time to begin.
type starting struct {
	counting
	takes time.Duration
}

func (s *starting) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	time.Sleep(s.takes)
	return s.counting.Begin(ctx, row, dice)
}

// TestStart: the time that a world takes to begin is not that of a turn.
func TestStart(t *testing.T) {
	for allowed, want := range map[time.Duration]string{time.Minute: verify.Right, 0: verify.NotScored} {
		synctest.Test(t, func(t *testing.T) {
			var encoded []string
			slow := &starting{counting{turns: 2}, 10 * time.Second}
			c := playing(slow, 9, 99, nil, &encoded)
			c.Episodes.Clock, c.Episodes.Start = time.Second, allowed
			if allowed == 0 { // one of them begins
				slow.takes = 0
				c.Episodes.World = &mixed{one: slow, other: &starting{counting{turns: 2}, 10 * time.Second}}
			}
			groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 2, Params{MaxTokens: 8}, random.Key{})
			if err != nil {
				t.Fatal(err)
			}
			if v := groups[0].Paths; v[0].Verdicts[0].Verdict != want && v[1].Verdicts[0].Verdict != want {
				t.Errorf("with %v: %+v", allowed, v)
			}
			time.Sleep(time.Minute) // what was given up comes back
		})
	}
}

// mixed begins every other episode in another world.
type mixed struct {
	one, other world.World
	begun      atomic.Int32
}

func (m *mixed) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	if m.begun.Add(1)%2 == 0 {
		return m.other.Begin(ctx, row, dice)
	}
	return m.one.Begin(ctx, row, dice)
}

// healthy is a world with a canary.
type healthy struct {
	*counting
	canary func() error
}

func (h healthy) Canary(context.Context) error { return h.canary() }

func (healthy) Refused(world.Turn) world.Reply {
	return world.Reply{Messages: []world.Message{{Role: world.User, Text: world.Unanswered}}}
}

// judging is a world whose episodes are judged where a limit ends them.
type judging struct {
	healthy
	judge func() error
}

type judgedEpisode struct {
	world.Episode
	judge func() error
}

func (j judging) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	e, first, err := j.healthy.Begin(ctx, row, dice)
	return judgedEpisode{e, j.judge}, first, err
}

func (j judgedEpisode) Judge(context.Context) (verify.Verdict, error) {
	return verify.Accept("", "", "judged"), j.judge()
}

// TestJudgeFault: a world that breaks as it judges an episode which a limit ends is asked again in a fresh one. A
// policy that breaks it every time is wrong, and a broken world leaves the episode not scored.
func TestJudgeFault(t *testing.T) {
	for _, x := range []struct {
		name    string
		canary  error
		breaks  int
		verdict string
		asked   int
	}{
		{name: "never", verdict: verify.Right, asked: 1},
		{name: "once", breaks: 1, verdict: verify.Right, asked: 2},
		{name: "always", breaks: 9, verdict: verify.Wrong, asked: 2},
		{name: "a dead canary", canary: errors.New("2 and 2 are 5"), breaks: 1, verdict: verify.NotScored, asked: 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			asked := 0
			w := judging{healthy{&counting{turns: 9}, func() error { return x.canary }}, func() error {
				if asked++; asked > x.breaks {
					return nil
				}
				return errors.New("lost")
			}}
			var encoded []string
			groups, err := playing(w, 2, 99, nil, &encoded).Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{})
			if err != nil {
				t.Fatal(err)
			}
			if v := groups[0].Paths[0].Verdict(); v.Verdict != x.verdict || asked != x.asked {
				t.Errorf("%+v after %d questions; want %s after %d", v, asked, x.verdict, x.asked)
			}
		})
	}
}

// TestWhoseFault: a world that breaks and is broken leaves the episode not scored. One that works is
// told the turns again; if it answers then, nothing is different, and if it breaks again, the policy
// reads that it is its own doing, and is scored. What comes too late is broken likewise, and is
// closed once it comes.
func TestWhoseFault(t *testing.T) {
	lives, dead := func() error { return nil }, func() error { return errors.New("2 and 2 are 5") }
	const whole = "0:q 1:a. 4:A| 1:aa. 4:AA| 1:aaa. "
	const provoked = "0:q 1:a. 4:A| 1:aa. 4:" + world.Unanswered + "| 1:aaa. 4:AAA| 1:aaaa. "
	for _, x := range []struct {
		name    string
		canary  func() error // nil: there is none
		breaks  int          // how often the second turn breaks the world
		late    bool         // by coming late, and else by an error
		panics  bool
		want    string
		verdict string
		reason  string
	}{
		{name: "an error without a canary", breaks: 1, want: "0:q 1:a. 4:A| 1:aa. ", verdict: verify.NotScored, reason: "the world failed: lost"},
		{name: "the canary is dead", canary: dead, breaks: 1, want: "0:q 1:a. 4:A| 1:aa. ", verdict: verify.NotScored, reason: "the world failed: lost; nor does it play what it should: 2 and 2 are 5"},
		{name: "once", canary: lives, breaks: 1, want: whole, verdict: verify.Right},
		{name: "once, late", canary: lives, breaks: 1, late: true, want: whole, verdict: verify.Right},
		{name: "always", canary: lives, breaks: 99, want: provoked, verdict: verify.Right},
		{name: "always, by a panic", canary: lives, breaks: 99, panics: true, want: provoked, verdict: verify.Right},
		{name: "always, late", canary: lives, breaks: 99, late: true, want: provoked, verdict: verify.Right},
		{name: "late without a canary", breaks: 1, late: true, want: "0:q 1:a. 4:A| 1:aa. ", verdict: verify.NotScored, reason: "the world failed: it takes too long: more than 2s"},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				broke, open := 0, 0
				c := &counting{turns: 3, count: func(n int) { mu.Lock(); open += n; mu.Unlock() }}
				c.broken = func(_ uint64, turn int) error {
					mu.Lock()
					defer mu.Unlock()
					if turn != 2 || broke == x.breaks {
						return nil
					}
					if broke++; x.breaks > 1 && broke == 2 {
						broke = x.breaks // it has been tried twice; later turns have this number too
					}
					switch {
					case x.late:
						mu.Unlock()
						time.Sleep(time.Hour)
						mu.Lock()
						return nil
					case x.panics:
						panic("lost")
					}
					return errors.New("lost")
				}
				var w world.World = c
				if x.canary != nil {
					w = healthy{c, x.canary}
				}
				var encoded []string
				p := playing(w, 9, 99, nil, &encoded)
				p.Episodes.Clock = 2 * time.Second
				groups, err := p.Collect(t.Context(), []verify.Problem{{Question: "q"}}, 1, Params{MaxTokens: 8}, random.Key{}, rejecting{})
				if err != nil {
					t.Fatal(err)
				}
				v := groups[0].Paths[0].Verdict()
				if got := pathText(&groups[0], 0); got != x.want || v.Verdict != x.verdict || x.reason != "" && v.Reason != x.reason {
					t.Errorf("%q, %+v; want %q, %s, %s", got, v, x.want, x.verdict, x.reason)
				}
				time.Sleep(2 * time.Hour)
				if synctest.Wait(); open != 0 {
					t.Errorf("%d worlds are open", open)
				}
			})
		})
	}
}
