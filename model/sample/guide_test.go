package sample_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
)

// thirds allows a third of the tokens, another one after each; none from an end on.
type thirds struct {
	sum, n int
	end    int // tokens that it allows; 0: any number
}

var errNothing = errors.New("nothing is allowed")

func (g thirds) Allow(bits []uint32) error {
	clear(bits)
	if g.end > 0 && g.n == g.end {
		return errNothing
	}
	for id := range 32 * len(bits) {
		if g.allows(id) {
			bits[id/32] |= 1 << (id % 32)
		}
	}
	return nil
}

func (g thirds) allows(id int) bool { return (id+g.sum)%3 == 0 }

func (g thirds) Next(id int) sample.Guide { return thirds{g.sum + id + 1, g.n + 1, g.end} }

// TestGuide: a guide is followed, whatever else the engine does; the bits of an answer
// depend on nothing else; and requests without a guide keep theirs.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: takes seconds for each device")
	}
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		m := modeltest.SmallAs(t, dev, draftContext, hf.F32, hf.F32)
		reqs := pageRequests()
		if gputest.Slow(dev) {
			reqs = reqs[:4]
		}
		plain := modeltest.Generate(t, modeltest.EngineOf(t, m, sample.Options{Sequences: 12, Context: draftContext}), reqs)
		for i := range reqs {
			if i%2 == 0 {
				reqs[i].Guide, reqs[i].StopIDs = thirds{}, nil
			}
		}
		free := sample.Options{Sequences: 12, Context: draftContext, Guides: true}
		var want [][]sample.Completion
		for _, r := range reqs {
			want = append(want, modeltest.Generate(t, modeltest.EngineOf(t, m, free), []sample.Request{r})...)
		}
		tight := free
		tight.CacheToken, tight.StepRows, tight.Draws, tight.Prefixes = scarce, 64, 64, 4
		for name, o := range map[string]sample.Options{"room": free, "set back": tight} {
			got := modeltest.Generate(t, modeltest.EngineOf(t, m, o), reqs)
			for i, r := range reqs {
				for j, c := range got[i] {
					if at, what := c.FirstDifference(want[i][j]); what != "" {
						t.Errorf("%s: request %d, completion %d: %s of token %d", name, i, j, what, at)
					}
					if at, what := c.FirstDifference(plain[i][j]); r.Guide == nil && what != "" {
						t.Errorf("%s: request %d has no guide, and another %s at %d", name, i, what, at)
					}
					g := sample.Guide(thirds{})
					for at, id := range c.IDs {
						if r.Guide != nil && !g.(thirds).allows(id) {
							t.Fatalf("%s: request %d: token %d is %d", name, i, at, id)
						}
						g = g.Next(id)
					}
				}
			}
		}
		e := modeltest.EngineOf(t, m, tight)
		for i, r := range reqs[:3] { // a claim, and one with a token that is not allowed
			for _, at := range []int{-1, 0, len(want[i][0].IDs) - 1} {
				claimed := make([]sample.Completion, len(want[i]))
				for j, c := range want[i] {
					claimed[j].IDs = slices.Clone(c.IDs)
				}
				if at >= 0 && at < len(claimed[0].IDs) {
					claimed[0].IDs[at] = (claimed[0].IDs[at] + 1) % 60
				}
				right, err := e.Check(t.Context(), []sample.Request{r}, [][]sample.Completion{claimed})
				if err != nil {
					t.Fatal(err)
				}
				for j, c := range right[0] {
					if at, what := c.FirstDifference(want[i][j]); what != "" {
						t.Errorf("checked: request %d: %s of token %d", i, what, at)
					}
				}
			}
		}
	})
}

// inGo is the device in plain Go.
func inGo(t *testing.T) gpu.Device {
	t.Helper()
	all := gputest.Devices(t)
	return all[slices.IndexFunc(all, func(d gpu.Device) bool { return d.Caps().Kind == gpu.Reference })]
}

// TestGuideFault: a guide that allows nothing ends its request alone, and gives all back.
func TestGuideFault(t *testing.T) {
	m := modeltest.SmallAs(t, inGo(t), draftContext, hf.F32, hf.F32)
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 4, Context: draftContext, Draws: 16, Guides: true})
	ok := sample.Request{Prompt: []int{1, 2}, MaxTokens: 12, Sampling: sample.Settings{Temperature: 1}, StopIDs: []int{}, Ends: []int{}}
	bad := ok
	bad.Guide, bad.N, bad.Draft = thirds{end: 5}, 2, [][]int{{3, 6, 9, 12, 15, 18, 21}}
	done := make(chan error, 1)
	go func() {
		_, err := e.Generate(t.Context(), bad)
		done <- err
	}()
	if out, err := e.Generate(t.Context(), ok); err != nil || len(out[0].IDs) != 12 {
		t.Errorf("%v, %v", out, err)
	}
	if err := <-done; !errors.Is(err, errNothing) {
		t.Errorf("%v", err)
	}
	free(t, e)
	if _, err := modeltest.EngineOf(t, m, sample.Options{Sequences: 2, Context: 8}).Generate(t.Context(), bad); err == nil || !strings.Contains(err.Error(), "without room for any") {
		t.Errorf("%v", err)
	}
}

// TestGuideLogprob: log-probs are those of the whole distribution, guide or not.
func TestGuideLogprob(t *testing.T) {
	m := modeltest.SmallAs(t, inGo(t), draftContext, hf.F32, hf.F32)
	e := modeltest.EngineOf(t, m, sample.Options{Sequences: 1, Context: draftContext, Guides: true})
	r := sample.Request{Prompt: []int{5, 6, 7}, MaxTokens: 6, Sampling: sample.Settings{Temperature: 0.8, TopP: 0.5}, Ends: []int{}, Guide: thirds{}}
	c := modeltest.Generate(t, e, []sample.Request{r})[0][0]
	var scored []float32
	r = sample.Request{Prompt: slices.Concat(r.Prompt, c.IDs), Sampling: r.Sampling, ScorePrompt: true,
		Each: func(_ int, k sample.Token) { scored = append(scored, k.Logprob) }}
	modeltest.Generate(t, e, []sample.Request{r})
	for i, x := range c.Logprob {
		if math.Float32bits(x) != math.Float32bits(scored[2+i]) {
			t.Errorf("token %d: %v, scored %v", i, x, scored[2+i])
		}
	}
}
