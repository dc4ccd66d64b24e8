package sample_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/learn"
	"github.com/rlzero/rlzero/model/sample"
	"github.com/rlzero/rlzero/model/seq"
	"github.com/rlzero/rlzero/model/text"
)

const (
	turnTokens = 26 // of a turn at most
	readTokens = 40 // between two turns at most
)

// trees are conversations that branch, all in flight in one engine.
type trees struct {
	t      *testing.T
	engine *sample.Engine
	seed   uint64
	turns  int // of a path at most
	work   sync.WaitGroup

	mu    sync.Mutex
	asked []asked
	paths []path

	forks, restarts, inside int // inside: stop texts that begin or end inside a token
}

// asked is a request for one completion, and what came of it.
type asked struct {
	request sample.Request
	got     sample.Completion
}

// path is a conversation so far: what was read, and what was drawn as the engine told it.
type path struct {
	tree        int
	temperature float64 // of log-probs
	ids         []int
	own         []bool // [token] drawn
	logprob     []float32
	entropy     []float32
}

// add is the path with tokens after it; drawn is nil of those that are only read.
func (p path) add(ids []int, drawn *sample.Completion) path {
	p.ids = slices.Concat(p.ids, ids)
	p.own = slices.Concat(p.own, slices.Repeat([]bool{drawn != nil}, len(ids)))
	if drawn == nil {
		none := make([]float32, len(ids))
		p.logprob, p.entropy = slices.Concat(p.logprob, none), slices.Concat(p.entropy, none)
	} else {
		p.logprob, p.entropy = slices.Concat(p.logprob, drawn.Logprob[:len(ids)]), slices.Concat(p.entropy, drawn.Entropy[:len(ids)])
	}
	return p
}

// upTo is the path as it was after so many tokens.
func (p path) upTo(n int) path {
	p.ids, p.own, p.logprob, p.entropy = p.ids[:n], p.own[:n], p.logprob[:n], p.entropy[:n]
	return p
}

// read are some tokens that nobody draws.
func read(rng *rand.Rand, most int) []int {
	ids := make([]int, rng.IntN(most+1))
	for i := range ids {
		ids[i] = 2 + rng.IntN(59)
	}
	return ids
}

// grow goes on with a path whose next turn is drawn from a stream: turn by turn, with branches in
// the middle of turns and beginnings anew, each of which goes on side by side.
func (w *trees) grow(p path, stream uint32, turn int, settings sample.Settings) {
	rng := rand.New(rand.NewPCG(w.seed, uint64(stream)))
	for ; turn < w.turns && len(p.ids)+turnTokens <= draftContext; turn++ {
		r := sample.Request{Prompt: p.ids, MaxTokens: 1 + rng.IntN(turnTokens), Stream: stream, Sampling: settings, StopIDs: []int{5, 23}}
		if rng.IntN(2) == 0 {
			r.StopText = []string{"12", "345"}
		}
		before := len(p.ids)
		out, err := w.engine.Generate(w.t.Context(), r)
		if err != nil {
			w.t.Error(err)
			return
		}
		p = p.add(out[0].IDs, &out[0])
		w.note(r, out[0])
		switch rng.IntN(5) {
		case 0: // another end of the turn, from its middle or its beginning on
			branch := p.upTo(before + rng.IntN(len(out[0].IDs)+1))
			w.count(&w.forks)
			next, after := 10*stream+uint32(turn)+1, turn+1
			w.work.Go(func() { w.grow(branch, next, after, settings) })
		case 1: // what was said is forgotten, but for a beginning
			w.end(p)
			w.count(&w.restarts)
			p = p.upTo(min(40, before)).add(read(rng, readTokens), nil)
		}
		p = p.add(read(rng, readTokens), nil)
	}
	w.end(p)
}

func (w *trees) count(n *int) {
	w.mu.Lock()
	*n++
	w.mu.Unlock()
}

func (w *trees) end(p path) {
	w.mu.Lock()
	w.paths = append(w.paths, p.upTo(min(len(p.ids), draftContext)))
	w.mu.Unlock()
}

func (w *trees) note(r sample.Request, c sample.Completion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, asked{r, c})
	if c.Stop == "stop" && len(r.StopText) > 0 && !slices.Contains(r.StopIDs, c.IDs[len(c.IDs)-1]) {
		if last := words()[c.IDs[len(c.IDs)-1]]; !strings.HasSuffix(last, "12") && !strings.HasSuffix(last, "345") {
			w.inside++
		}
	}
}

// words are the texts of the tokens: stop texts may lie in two of them.
func words() []string {
	vocab := []string{"<pad>", "<eos>"}
	for n := 10; len(vocab) < 61; n++ {
		vocab = append(vocab, fmt.Sprint(n))
	}
	return vocab
}

// round grows a tree from each of some prompts, which begin alike or not. The first turns of a tree
// are one request, the others one each; beside them requests of one turn are drawn again.
func (w *trees) round(prompts int) {
	head := modeltest.Prompts(40, 60)[7]
	for i, p := range modeltest.Prompts(prompts, 60) {
		if i%2 == 0 {
			p = slices.Concat(head, p)
		}
		settings := sample.Settings{Temperature: []float64{0.8, 0, 1.2}[i%3], TopP: []float64{0, 0.9}[i%2], Seed: 17}
		first := sample.Request{Prompt: p, N: 1 + i%3, MaxTokens: turnTokens, Stream: uint32(1000 * (i + 1)), Sampling: settings}
		root := path{tree: i + 1, temperature: settings.Temperature}.add(p, nil)
		if root.temperature == 0 {
			root.temperature = 1
		}
		w.work.Go(func() {
			out, err := w.engine.Generate(w.t.Context(), first)
			if err != nil {
				w.t.Error(err)
				return
			}
			for j, c := range out {
				one := first
				one.N, one.Stream = 1, first.Stream+uint32(j)
				w.note(one, c)
				rng := rand.New(rand.NewPCG(w.seed, uint64(one.Stream)))
				w.work.Go(func() { w.grow(root.add(c.IDs, &c).add(read(rng, readTokens), nil), one.Stream, 1, settings) })
			}
			if got, err := w.engine.Check(w.t.Context(), []sample.Request{first}, [][]sample.Completion{out}); err != nil {
				w.t.Error(err)
			} else {
				modeltest.EqualAll(w.t, "drawn again", got, [][]sample.Completion{out})
			}
		})
	}
	w.work.Wait()
}

// alone holds what was drawn against an engine that keeps nothing and reads one prompt at a time.
func (w *trees) alone(fresh *sample.Engine) {
	for _, a := range w.asked {
		out := modeltest.Generate(w.t, fresh, []sample.Request{a.request})[0]
		if at, what := a.got.FirstDifference(out[0]); what != "" {
			w.t.Fatalf("after %v: %s of token %d differs: %+v, alone %+v", a.request.Prompt, what, at, a.got, out[0])
		}
	}
}

// trained holds log-probs and entropies against the forward pass of a trainer over whole trees: the
// ratio of the two is exactly 1.
func (w *trees) trained(m *model.Model) {
	slices.SortStableFunc(w.paths, func(a, b path) int { return a.tree - b.tree })
	var seqs []seq.Sequence
	for _, p := range w.paths {
		s := seq.Sequence{IDs: p.ids, Temperature: p.temperature, Group: p.tree}
		for i, own := range p.own {
			switch last := len(s.Spans) - 1; {
			case !own:
			case last >= 0 && s.Spans[last].To == i:
				s.Spans[last].To++
			default:
				s.Spans = append(s.Spans, seq.Span{From: i, To: i + 1})
			}
		}
		seqs = append(seqs, s)
	}
	trainer := modeltest.TrainerOf(w.t, m, 4*draftContext)
	stats, err := trainer.Forward(seqs)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, p := range w.paths {
		n := 0
		for at, own := range p.own {
			if !own {
				continue
			}
			if s := stats[i]; math.Float32bits(s.Logprob[n]) != math.Float32bits(p.logprob[at]) || math.Float32bits(s.Entropy[n]) != math.Float32bits(p.entropy[at]) {
				w.t.Fatalf("path %d of tree %d, token %d: the trainer computes %v and %v, drawn were %v and %v", i, p.tree, at, s.Logprob[n], s.Entropy[n], p.logprob[at], p.entropy[at])
			}
			n++
		}
	}
}

// TestTurns: turns of random trees of conversations, in flight in one engine whose cache holds a part
// of them, have the ids, log-probs, entropies and ends that each has alone in a fresh engine, to
// the bit, and that the trainer computes; also after the weights were changed.
func TestTurns(t *testing.T) {
	tok, err := text.NewWords(words())
	if err != nil {
		t.Fatal(err)
	}
	eachStorage(t, func(t *testing.T, m *model.Model, _ *int, brief bool) {
		m.Tokenizer = tok
		prompts, turns, seeds := 5, 5, 1
		switch {
		case gputest.Long():
			prompts, turns, seeds = 9, 6, 4
		case brief || testing.Short():
			prompts, turns, brief = 1, 3, true
		}
		e := modeltest.EngineOf(t, m, sample.Options{Sequences: 5, Context: draftContext, CacheToken: 15 * sample.PageTokens, StepRows: 64, Draws: 24, Prefixes: sample.EveryPage})
		fresh := modeltest.EngineOf(t, m, sample.Options{Sequences: 1, Context: draftContext})
		all := trees{}
		for round := range 2 * seeds {
			if round > 0 {
				tr := modeltest.TrainerOf(t, m, draftContext)
				modeltest.OnePass(t, tr, modeltest.GradientSequences(m.Device())[:3])
				if _, err := tr.Step(learn.Optimizer{Rule: learn.AdamW, LR: 0.05, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}); err != nil {
					t.Fatal(err)
				}
			}
			w := &trees{t: t, engine: e, seed: uint64(round / 2), turns: turns}
			w.round(prompts)
			if t.Failed() {
				return
			}
			w.alone(fresh)
			w.trained(m)
			all.asked, all.forks, all.restarts, all.inside = append(all.asked, w.asked...), all.forks+w.forks, all.restarts+w.restarts, all.inside+w.inside
		}
		free(t, e)
		s := e.State()
		if s.FromCache == 0 || !brief && (s.SetBack == 0 || all.forks == 0 || all.restarts == 0 || all.inside == 0) {
			t.Errorf("%d turns, %d forks, %d restarts, %d stop texts inside tokens, %+v: the test says little", len(all.asked), all.forks, all.restarts, all.inside, s)
		}
		t.Logf("%d turns, %d forks, %d restarts, %d stop texts inside tokens, %+v", len(all.asked), all.forks, all.restarts, all.inside, s)
	})
}

// TestReadOnce: of a turn an engine computes what was read since the turn before, and at most the
// run of tokens that was not whole then.
func TestReadOnce(t *testing.T) {
	dev := gputest.Devices(t)
	e := modeltest.EngineOf(t, modeltest.Small(t, dev[len(dev)-1], 1024), sample.Options{Sequences: 8, Context: 1024, Prefixes: sample.EveryPage})
	var work sync.WaitGroup
	var mu sync.Mutex
	tokens, turns := 0, 0
	for i := range 8 {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			ids := append(read(rng, 90), 7)
			mu.Lock()
			tokens += len(ids)
			mu.Unlock()
			for range 8 {
				out, err := e.Generate(t.Context(), sample.Request{Prompt: ids, MaxTokens: 1 + rng.IntN(70), Stream: uint32(i), Sampling: sample.Settings{Temperature: 1, Seed: 3}})
				if err != nil {
					t.Error(err)
					return
				}
				next := slices.Concat(out[0].IDs, read(rng, 20))
				ids = append(ids, next...)
				mu.Lock()
				tokens, turns = tokens+len(next), turns+1
				mu.Unlock()
			}
		})
	}
	work.Wait()
	s := e.State()
	if computed := s.Prompt + s.Tokens; computed > tokens+2*sample.PageTokens*turns || s.FromCache == 0 {
		t.Errorf("%d tokens computed of episodes of %d tokens in %d turns; %d from the cache", computed, tokens, turns, s.FromCache)
	}
}

// TestForget: whatever changes the weights of a model, of an adapter or of an average, an engine that
// keeps what it read draws as a fresh one does.
func TestForget(t *testing.T) {
	devices := gputest.Devices(t)
	dev := devices[len(devices)-1]
	step := func(t *testing.T, m *model.Model) error {
		tr := modeltest.TrainerOf(t, m, 64)
		modeltest.OnePass(t, tr, []seq.Sequence{seq.Predict([]int{1, 2, 3, 4}, 1, 1)})
		_, err := tr.Step(learn.Optimizer{Rule: learn.AdamW, LR: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
		return err
	}
	adapted := func(t *testing.T, seed uint64) *model.Model {
		m := modeltest.ModelOn(t, dev, modeltest.SmallConfig(hf.F32, hf.F32))
		modeltest.Adapt(t, m, hf.AdapterConfig{Rank: 2, Alpha: 1})
		if seed > 0 {
			if err := step(t, m); err != nil {
				t.Fatal(err)
			}
		}
		return m
	}
	averaged := func(t *testing.T, m *model.Model) *learn.Average {
		a, err := learn.NewAverage(m)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		return a
	}
	plain := func(t *testing.T) *model.Model {
		return modeltest.ModelOn(t, dev, modeltest.SmallConfig(hf.F32, hf.F32))
	}
	for name, open := range map[string]func(t *testing.T) (m *model.Model, change func() error){
		"a step": func(t *testing.T) (*model.Model, func() error) {
			m := plain(t)
			return m, func() error { return step(t, m) }
		},
		"a step of an adapter": func(t *testing.T) (*model.Model, func() error) {
			m := adapted(t, 0)
			return m, func() error { return step(t, m) }
		},
		"random numbers": func(t *testing.T) (*model.Model, func() error) {
			m := plain(t)
			return m, func() error { return m.Initialize(8) }
		},
		"tensors": func(t *testing.T) (*model.Model, func() error) {
			m, other := plain(t), plain(t)
			return m, func() error {
				err := other.Initialize(8)
				modeltest.ThroughFile(t, other.Tensors(), m.SetTensors)
				return err
			}
		},
		"tensors of an adapter": func(t *testing.T) (*model.Model, func() error) {
			m, other := adapted(t, 0), adapted(t, 1)
			return m, func() error {
				modeltest.ThroughFile(t, other.AdapterTensors(), m.SetAdapterTensors)
				return nil
			}
		},
		"a copy": func(t *testing.T) (*model.Model, func() error) {
			m, other := plain(t), plain(t)
			return m, func() error {
				if err := other.Initialize(8); err != nil {
					return err
				}
				return m.CopyFrom(other)
			}
		},
		"an average that follows": func(t *testing.T) (*model.Model, func() error) {
			m := plain(t)
			a := averaged(t, m)
			return a.Model, func() error {
				if err := m.Initialize(8); err != nil {
					return err
				}
				return a.Follow(0.5)
			}
		},
		"an average of an adapter that begins anew": func(t *testing.T) (*model.Model, func() error) {
			m := adapted(t, 0)
			a := averaged(t, m)
			return a.Model, func() error {
				if err := step(t, m); err != nil {
					return err
				}
				return a.Reset()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, change := open(t)
			e := modeltest.EngineOf(t, m, sample.Options{Sequences: 1, Context: 64, Prefixes: sample.EveryPage})
			reqs := []sample.Request{{Prompt: slices.Repeat([]int{3, 9, 27}, 15), MaxTokens: 15, Sampling: sample.Settings{Temperature: 1, Seed: 3}}}
			before := modeltest.Generate(t, e, reqs)
			modeltest.EqualAll(t, "again", modeltest.Generate(t, e, reqs), before)
			if e.State().FromCache != sample.PageTokens {
				t.Errorf("%d tokens are from the cache", e.State().FromCache)
			}
			if err := change(); err != nil {
				t.Fatal(err)
			}
			want := modeltest.Generate(t, modeltest.EngineOf(t, m, sample.Options{Sequences: 1, Context: 64}), reqs)
			if _, what := want[0][0].FirstDifference(before[0][0]); what == "" {
				t.Fatal("nothing has changed")
			}
			modeltest.EqualAll(t, "changed", modeltest.Generate(t, e, reqs), want)
			free(t, e)
		})
	}
}
