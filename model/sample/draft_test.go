package sample_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/sample"
)

const draftContext = 160

// draftRequests are of every kind: greedy, filtered, one and several completions,
// prompts longer than a chunk, and limits that some completions reach before a stop
// token does.
func draftRequests() []sample.Request {
	kinds := []sample.Settings{
		{Temperature: 0.9}, {Temperature: 0.7, TopK: 20, TopP: 0.9}, {Temperature: 0}, {Temperature: 1.3, MinP: 0.05}, {Temperature: 1, TopP: 0.8},
	}
	var reqs []sample.Request
	for i, p := range modeltest.Prompts(9, 60) {
		reqs = append(reqs, sample.Request{Prompt: p, N: 1 + i%3, MaxTokens: 1 + 7*(i%4), Stream: uint32(10 * i), Sampling: kinds[i%len(kinds)]})
		reqs[i].Sampling.Seed = 11
		if i%2 == 0 {
			reqs[i].StopIDs = []int{3, 17, 40}
		}
	}
	reqs[5].Prompt = slices.Concat(modeltest.Prompts(3, 60)...)
	return reqs
}

// eachStorage runs a test with a small model on every device, in every tier and
// storage. Its device counts what is submitted. brief is true where the kernels are slow
// on a CPU: a test does there what kernels can change.
func eachStorage(t *testing.T, test func(t *testing.T, m *model.Model, submitted *int, brief bool)) {
	for _, s := range []struct{ dtype, kvDtype hf.Dtype }{{hf.F32, hf.F32}, {hf.BF16, hf.F32}, {hf.F32, hf.BF16}, {hf.BF16, hf.BF16}} {
		t.Run(fmt.Sprintf("%s, keys and values %s", s.dtype, s.kvDtype), func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				c := &modeltest.Counting{Device: dev}
				brief := gputest.Slow(dev)
				if brief && s.dtype != s.kvDtype {
					return // both in bf16 run the same kernels
				}
				test(t, modeltest.SmallAs(t, c, draftContext, s.dtype, s.kvDtype), &c.Submitted, brief)
			})
		})
	}
}

func check(t *testing.T, e *sample.Engine, reqs []sample.Request, claimed [][]sample.Completion) [][]sample.Completion {
	t.Helper()
	out, err := e.Check(t.Context(), reqs, claimed)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCheck: the check of honest completions gives the ids, log-probs, entropies and
// ends that Generate gave, to the bit, whatever the capacity of the engine; in one pass
// where all rows fit.
func TestCheck(t *testing.T) {
	eachStorage(t, func(t *testing.T, m *model.Model, submitted *int, brief bool) {
		reqs := draftRequests()
		if brief {
			reqs = reqs[2:6]
		}
		honest := modeltest.Generate(t, modeltest.EngineOf(t, m, sample.Options{Sequences: 5, Context: draftContext, StepRows: 64}), reqs)
		capacities := []sample.Options{
			{Sequences: 32, StepRows: 1024, Draws: 1024},
			{Sequences: 32, StepRows: 64, Draws: 40},
			{Sequences: 3, StepRows: 17},
		}
		if brief {
			capacities = capacities[:1]
		}
		for _, o := range capacities {
			o.Context = draftContext
			e := modeltest.EngineOf(t, m, o)
			before := *submitted
			modeltest.EqualAll(t, fmt.Sprintf("%d sequences, %d rows, %d draws", o.Sequences, o.StepRows, o.Draws), check(t, e, reqs, honest), honest)
			if n := *submitted - before; o.Draws == 1024 && n != 1 {
				t.Errorf("the check took %d passes, one is enough", n)
			}
		}
	})
}

// forgery is a claim that differs from the honest completion, and where.
type forgery struct {
	claim sample.Completion
	token int
	what  string
}

// forge changes one thing about a completion.
func forge(rng *rand.Rand, c sample.Completion, vocab int) forgery {
	c.IDs, c.Logprob, c.Entropy = slices.Clone(c.IDs), slices.Clone(c.Logprob), slices.Clone(c.Entropy)
	n := len(c.IDs)
	at := rng.IntN(n)
	flip := func(x float32) float32 { return math.Float32frombits(math.Float32bits(x) ^ 1<<rng.IntN(32)) }
	switch rng.IntN(9) {
	case 0, 1, 2:
		c.IDs[at] = (c.IDs[at] + 1 + rng.IntN(vocab-1)) % vocab
		return forgery{c, at, "id"}
	case 3:
		c.IDs[at] = []int{-1, vocab, math.MaxInt}[rng.IntN(3)]
		return forgery{c, at, "id"}
	case 4:
		c.Logprob[at] = flip(c.Logprob[at])
		return forgery{c, at, "logprob"}
	case 5:
		c.Entropy[at] = flip(c.Entropy[at])
		return forgery{c, at, "entropy"}
	case 6: // the end is missing
		return forgery{sample.Completion{c.IDs[:at], c.Logprob[:at], c.Entropy[:at], "length"}, at, "id"}
	case 7: // goes on after its end
		for range 1 + rng.IntN(40) {
			c.IDs, c.Logprob, c.Entropy = append(c.IDs, rng.IntN(vocab)), append(c.Logprob, -1), append(c.Entropy, 1)
		}
		return forgery{c, n, "id"}
	default:
		c.Stop = map[string]string{"length": "eos", "stop": "length"}[c.Stop]
		return forgery{c, n - 1, "stop"}
	}
}

// TestCheckForged: whatever is forged is found at its exact place, and the honest
// completion is returned instead.
func TestCheckForged(t *testing.T) {
	eachStorage(t, func(t *testing.T, m *model.Model, _ *int, brief bool) {
		e := modeltest.EngineOf(t, m, sample.Options{Sequences: 32, Context: draftContext, StepRows: 512, Draws: 512})
		reqs, rounds := draftRequests(), 5
		if brief {
			reqs, rounds = reqs[1:5], 1
		}
		honest := modeltest.Generate(t, e, reqs)
		rng := rand.New(rand.NewPCG(1, 1))
		for range rounds {
			claimed, forged := make([][]sample.Completion, len(reqs)), make([][]forgery, len(reqs))
			for i := range honest {
				for _, c := range honest[i] {
					f := forge(rng, c, m.Config.Vocab)
					claimed[i], forged[i] = append(claimed[i], f.claim), append(forged[i], f)
				}
			}
			right := check(t, e, reqs, claimed)
			modeltest.EqualAll(t, "forged", right, honest)
			for i := range forged {
				for j, f := range forged[i] {
					if at, what := f.claim.FirstDifference(right[i][j]); at != f.token || what != f.what {
						t.Errorf("request %d, completion %d: found %q at token %d, forged %q at token %d", i, j, what, at, f.what, f.token)
					}
				}
			}
		}
	})
}

// TestCheckRefuses: a wrong number of completions is an error of the caller.
func TestCheckRefuses(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		e := modeltest.EngineOf(t, modeltest.Small(t, dev, 32), sample.Options{Sequences: 4, Context: 32})
		reqs := []sample.Request{{Prompt: []int{1}, N: 2, MaxTokens: 3}}
		for _, claimed := range [][][]sample.Completion{nil, {{{}}}, {{{}, {}, {}}}} {
			if _, err := e.Check(t.Context(), reqs, claimed); err == nil {
				t.Errorf("%d requests with claims of %v are accepted", len(reqs), claimed)
			}
		}
		reqs[0].Draft = make([][]int, 3)
		if _, err := e.GenerateAll(t.Context(), reqs); err == nil {
			t.Error("drafts of three completions are accepted where two are asked for")
		}
	})
}

// TestFirstDifference: claims that lack parts, and bits that compare as equal numbers.
func TestFirstDifference(t *testing.T) {
	right := sample.Completion{IDs: []int{5, 6}, Logprob: []float32{-1, 0}, Entropy: []float32{1, 2}, Stop: "eos"}
	negativeZero := float32(math.Copysign(0, -1))
	for _, c := range []struct {
		claim sample.Completion
		token int
		what  string
	}{
		{right, 2, ""},
		{sample.Completion{}, 0, "id"},
		{sample.Completion{IDs: []int{5, 6}}, 0, "logprob"},
		{sample.Completion{IDs: []int{5, 6}, Logprob: []float32{-1, 0}, Entropy: []float32{1}}, 1, "entropy"},
		{sample.Completion{IDs: []int{5, 6}, Logprob: []float32{-1, negativeZero}, Entropy: []float32{1, 2}, Stop: "eos"}, 1, "logprob"},
		{sample.Completion{IDs: []int{5, 6}, Logprob: []float32{-1, 0, 0}, Entropy: []float32{1, 2}, Stop: "eos"}, 2, "logprob"},
		{sample.Completion{IDs: []int{5, 6}, Logprob: []float32{-1, 0}, Entropy: []float32{1, 2, 3}, Stop: "eos"}, 2, "entropy"},
		{sample.Completion{IDs: []int{5, 6}, Logprob: []float32{-1, 0}, Entropy: []float32{1, 2}, Stop: "length"}, 1, "stop"},
	} {
		if at, what := c.claim.FirstDifference(right); at != c.token || what != c.what {
			t.Errorf("%+v: %q at token %d, want %q at token %d", c.claim, what, at, c.what, c.token)
		}
	}
}
