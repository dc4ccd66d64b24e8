package panel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/judge"
)

// diary is a journal that never forgets.
type diary struct {
	mu    sync.Mutex
	lines map[string]judge.Said
	by    []random.Key
}

func (d *diary) Said(model string, q Query, vote int, by random.Key, ask func() (judge.Said, error)) (judge.Said, error) {
	key := fmt.Sprint(model, q, vote)
	d.mu.Lock()
	known, there := d.lines[key]
	d.by = append(d.by, by)
	d.mu.Unlock()
	if there {
		return known, nil
	}
	said, err := ask()
	if err == nil && said.Fault == "" {
		d.mu.Lock()
		d.lines[key] = said
		d.mu.Unlock()
	}
	return said, err
}

// TestEndpoint: a judge behind an address reads a question as it is, with a seed for each vote; an answer that is
// missing is not scored with the reason, never 0, and asked again; what was answered is asked once. A question that is
// too long is wrong.
func TestEndpoint(t *testing.T) {
	var mu sync.Mutex
	asked, gone := map[Query]int{}, ""
	fails := func(err error) error { return Failing{err} }
	e := &Endpoint{Name: "m", Server: Server{Address: "127.0.0.1:1"}, Journal: &diary{lines: map[string]judge.Said{}}}
	e.Ask = func(_ context.Context, at Server, q Query) (judge.Said, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[q]++
		if gone != "" && strings.Contains(q.Text, gone) {
			return judge.Said{}, fails(errors.New("there is no answer after 60 s" + strings.Repeat(".", 1000)))
		}
		return judge.Said{Text: "Score: 7", Tokens: 3, Ended: true}, nil
	}
	panelOf := func() *Panel {
		return &Panel{Models: func(string) (Model, error) { return e, nil }, Seed: 7}
	}
	j := made(t, strings.Replace(rated, `"max_tokens":9`, `"max_tokens":9,"votes":3,"temperature":1,"context":80`, 1))
	long := strings.Repeat("ö", 20)
	gone = "two"
	p := panelOf()
	key := random.Key{Purpose: random.Sample, Stage: 1, Step: 5, Stream: 3}
	g := about("6*7?", "one", "two", long, "one")
	g.Segments = []rollout.Segment{{Parent: -1}, {Drawn: rollout.Drawn{Key: key}}, {Parent: 1, Drawn: rollout.Drawn{Key: key.Restarted(1)}}}
	for i := range g.Paths {
		g.Paths[i].Leaf = 1 + i%2 // of some the context began anew
	}
	out := verdictsOf(t, p, j, g)[0]
	if out[0].Score != 0.7 || out[0].Verdict != verify.Graded || out[3].Score != 0.7 {
		t.Errorf("%+v", out[0])
	}
	if v := out[1]; v.Verdict != verify.NotScored || !strings.Contains(v.Reason, "the answer of m is unreadable: there is no answer after 60 s") || len(v.Reason) > maxFault+100 {
		t.Errorf("a missing answer: %+v", v)
	}
	if v := out[2]; v.Verdict != verify.Wrong || !strings.Contains(v.Reason, "it cannot be shown to m: the question has ") || !strings.Contains(v.Reason, " bytes with its answer; the judge has room for 80") {
		t.Errorf("a long one: %+v", v)
	}
	seeds := map[uint64]bool{}
	for q, n := range asked {
		if seeds[q.Seed] = true; n != 1 || q.MaxTokens != 9 || q.Temperature != 1 || q.Seed >= 1<<31 || q.Text != "Rate one for 6*7?, such as Score: 10." && q.Text != "Rate two for 6*7?, such as Score: 10." {
			t.Errorf("%d times: %+v", n, q)
		}
	}
	if len(asked) != 6 || len(seeds) != 6 {
		t.Errorf("%d questions with %d seeds", len(asked), len(seeds))
	}
	for _, by := range e.Journal.(*diary).by {
		if by != key {
			t.Errorf("asked by %+v, want %+v", by, key)
		}
	}
	before := fmt.Sprint(out[0].Score)
	gone, asked = "", map[Query]int{}
	again := verdictsOf(t, panelOf(), j, about("6*7?", "one", "two"))[0] // of a run that is resumed: nothing but what was missing
	if len(asked) != 3 || fmt.Sprint(again[0].Score) != before || again[1].Score != 0.7 {
		t.Errorf("%d questions are asked again; %+v", len(asked), again)
	}
	asked = map[Query]int{}
	if verdictsOf(t, p, j, g); len(asked) != 0 {
		t.Errorf("%d questions are asked again that the journal has", len(asked))
	}

	e.Journal, gone, asked = nil, "x", map[Query]int{} // a server that hangs is not waited for by every question
	var texts []string
	for i := range 200 {
		texts = append(texts, fmt.Sprint("x", i))
	}
	unasked := 0
	for _, v := range verdictsOf(t, panelOf(), j, about("6*7?", texts...))[0] {
		if v.Verdict != verify.NotScored {
			t.Fatalf("%+v", v)
		}
		for _, o := range v.Opinions {
			if strings.Contains(o.Why, "too many of its answers before were missing") {
				unasked++
			}
		}
	}
	if n := len(asked); n < missed || n >= missed+inFlight || n+unasked != 600 {
		t.Errorf("%d questions are asked, %d are not", n, unasked)
	}

	fails, asked = func(err error) error { return err }, map[Query]int{} // one that refuses questions is asked the others
	if verdictsOf(t, panelOf(), j, about("6*7?", texts...)); len(asked) != 600 {
		t.Errorf("%d questions are asked of a server that refuses them", len(asked))
	}

	attacks := &diary{lines: map[string]judge.Said{}}
	e.Journal = attacks
	staged := panelOf()
	staged.Stage = 2
	if _, err := staged.Judge(t.Context(), j, []rollout.Group{about("6*7?", "an attack")}); err != nil || len(attacks.by) != 3 {
		t.Errorf("%d questions about an attack, %v", len(attacks.by), err)
	}
	for _, by := range attacks.by {
		if by != (random.Key{Purpose: random.Judge, Stage: 2}) {
			t.Errorf("an attack of stage 2 has the key %+v", by)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	e.Ask = func(context.Context, Server, Query) (judge.Said, error) {
		cancel()
		return judge.Said{}, errors.New("cancelled")
	}
	if _, err := panelOf().Judge(ctx, j, []rollout.Group{about("6*7?", "one")}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := panelOf().Judge(t.Context(), made(t, `{"model":"m","source":"{completion}","read":{"yes":1,"no":0}}`), []rollout.Group{about("6*7?", "one")}); err == nil || !strings.Contains(err.Error(), "the model m draws answers, and nothing else of it can be read") {
		t.Errorf("probabilities: %v", err)
	}
	e.Ask = nil
	if _, err := panelOf().Judge(t.Context(), j, []rollout.Group{about("6*7?", "one")}); err == nil || !strings.Contains(err.Error(), "the judge m is behind 127.0.0.1:1, and nobody here asks it") {
		t.Errorf("nobody asks: %v", err)
	}
}

// TestNothingAsked: with a prompt that has no text of its own a completion of which nothing is shown asks nothing, and is
// wrong, as is one that is too long; another one is scored.
func TestNothingAsked(t *testing.T) {
	e := &Endpoint{Name: "m", Server: Server{Address: "127.0.0.1:1"}, Ask: func(_ context.Context, _ Server, q Query) (judge.Said, error) {
		if q.Text == "" {
			t.Error("nothing is asked")
		}
		return judge.Said{Text: "5", Tokens: 1, Ended: true}, nil
	}}
	long := "</think>" + strings.Repeat("long ", 100)
	for options, texts := range map[string][]string{
		`"source":"{completion}"`:                                            {"", long, "</think>7"},
		`"source":"{completion}","part":"</think>"`:                          {"7", "", "</think>", long, "</think>7"},
		`"source":"{step}","shows":"steps","steps":"="`:                      {"", long, "7=7"},
		`"source":"{step}","shows":"steps","steps":"=","part":"</think>"`:    {"7", long, "</think>7=7"},
		`"source":"{a}{b}","shows":"pairs"`:                                  {"", long, "7", "8"},
		`"source":"{question}{completion}","shows":"each","part":"</think>"`: {long, "</think>7"},
	} {
		p := &Panel{Models: func(string) (Model, error) { return e, nil }, Seed: 7}
		j := made(t, `{"model":"m","context":400,"read":"[0-9]","between":[0,10],`+options+`}`)
		g := about("?", texts...)
		if strings.Contains(options, `"each"`) { // nor has the row any
			g.Problem.Question = ""
		}
		all := verdictsOf(t, p, j, g)[0]
		last := len(texts) - 1
		if strings.Contains(options, "pairs") {
			last--
		}
		for i, v := range all {
			if i < last && (v.Verdict != verify.Wrong || !strings.Contains(v.Reason, "it cannot be shown to m: the question has ") || v.Values == nil) || i >= last && v.Score != 0.5 {
				t.Errorf("%s: %q: %+v", options, texts[i], v)
			}
		}
	}
}

// TestRefused: a question that a server does not take leaves no completion out: that is wrong whose question is refused
// where the one about an empty completion is answered, and of several that are shown together the one that is refused
// alone. Where the empty one is refused too, or has no answer, nobody is known to be at fault, and nothing is scored.
func TestRefused(t *testing.T) {
	const each, pairs, group = `"source":"Rate <{completion}>.","read":"Score: ([0-9.]+)","between":[0,10]`, `"shows":"pairs","source":"<{a}|{b}>","read":"Score: ([0-9.]+)","between":[0,10]`, `"shows":"group","source":"<{list}>","read":"Order: (.*)"`
	bracket := strings.Replace(pairs, `"shows"`, `"against":"bracket","shows"`, 1)
	const bare = `"source":"{completion}","read":"Score: ([0-9.]+)","between":[0,10]`
	const wrong, unscored = "wrong", "not scored"
	for _, c := range []struct {
		about, options string
		refuses        []string // questions that have one of these in them
		missing        string   // the question that has no answer; "": all have one
		want           []string // of the completions good, bad and a long one
	}{
		{"all are taken", each, nil, "", []string{"0.7", "0.7", "0.7"}},
		{"one is refused", each, []string{"bad"}, "", []string{"0.7", wrong, "0.7"}},
		{"each is", each, []string{"Rate"}, "", []string{unscored, unscored, unscored}},
		{"the empty one has no answer", each, []string{"bad"}, "Rate <>.", []string{"0.7", unscored, "0.7"}},
		{"a prompt without text", bare, []string{"bad"}, "", []string{"0.7", wrong, "0.7"}},
		{"a prompt without text, and each is", bare, []string{""}, "", []string{unscored, unscored, unscored}},
		{"pairs", pairs, nil, "", []string{"0.5", "0.5", "0.5"}},
		{"pairs with one that is refused", pairs, []string{"bad"}, "", []string{"0.5", wrong, "0.5"}},
		{"a pair that is long", pairs, []string{"good|a long", "a long completion|good", "bad|a long", "a long completion|bad"}, "", []string{"0.5", "0.5", wrong}},
		{"all pairs", pairs, []string{"<"}, "", []string{unscored, unscored, unscored}},
		{"a tournament with one that is refused", bracket, []string{"bad"}, "", []string{"1", wrong, "0"}}, // in a tie the first one goes on
		{"a tournament whose second round is", bracket, []string{"bad|a long", "a long completion|bad"}, "", []string{"1", "0", wrong}},
		{"an order", group, nil, "", []string{"0", "0.5", "1"}},
		{"an order with one that is refused", group, []string{"bad"}, "", []string{"0", wrong, "1"}},
		{"an order that is long", group, []string{"[3]"}, "", []string{"0", "1", wrong}},
	} {
		asked := map[Query]int{}
		var mu sync.Mutex
		e := &Endpoint{Name: "m", Server: Server{Address: "127.0.0.1:1"}, Ask: func(_ context.Context, _ Server, q Query) (judge.Said, error) {
			mu.Lock()
			defer mu.Unlock()
			asked[q]++
			for _, text := range c.refuses {
				if strings.Contains(q.Text, text) {
					return judge.Said{}, Refused{errors.New("127.0.0.1:1 answers with status 400: no")}
				}
			}
			if q.Text == c.missing {
				return judge.Said{}, errors.New("there is no answer after 60 s")
			}
			order := "Order: 3 2 1"
			if !strings.Contains(q.Text, "[3]") {
				order = "Order: 2 1"
			}
			said := judge.Said{Text: "Score: 7. " + order, Tokens: 3, Ended: true}
			if strings.Contains(q.Text, "|") {
				said.Text = "Score: 5"
			}
			return said, nil
		}}
		p := &Panel{Models: func(string) (Model, error) { return e, nil }, Seed: 7}
		j := made(t, `{"model":"m","context":8000,`+c.options+`}`)
		for i, v := range verdictsOf(t, p, j, about("?", "good", "bad", "a long completion"))[0] {
			got := fmt.Sprint(v.Score)
			switch v.Verdict {
			case verify.Wrong:
				if v.Reason != "m says 0" {
					got = wrong
				}
			case verify.NotScored:
				got = unscored
			}
			if got != c.want[i] {
				t.Errorf("%s: completion %d is %s (%s), want %s", c.about, i, got, v.Reason, c.want[i])
			}
			if missing := slices.ContainsFunc(v.Opinions, func(o verify.Opinion) bool { return o.Missing && o.Question != "" }); missing != strings.Contains(v.Reason, "no answer after 60 s") {
				t.Errorf("%s: %s has the opinions %+v", c.about, v.Reason, v.Opinions)
			}
			if refused := strings.Contains(v.Reason, "status 400: no"); got == wrong && !refused {
				t.Errorf("%s: %s", c.about, v.Reason)
			}
		}
		for q, n := range asked {
			if n != 1 && c.missing == "" {
				t.Errorf("%s: %q is asked %d times", c.about, q.Text, n)
			}
		}
	}
}
