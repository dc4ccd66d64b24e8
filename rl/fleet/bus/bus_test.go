package bus

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/fleet"
	"github.com/rlzero/rlzero/rl/rollout"
)

const vocab = 50

// paper is a model on paper: each token is a hash of the weights, of the tokens before it
// and of the random numbers.
type paper struct {
	weights string
	before  func() // is called before a Sample
}

func (p *paper) Close() {}

func (p *paper) MaxWeights() int { return 3 * partBytes }

func (p *paper) Load(weights []byte) error {
	p.weights = string(weights[:20])
	return nil
}

func (p *paper) Sample(_ context.Context, requests []rollout.Request, seed uint64) ([][]rollout.Segment, error) {
	if p.before != nil {
		p.before()
	}
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		for j := range r.N {
			s := rollout.Segment{Author: rollout.Policy, Stop: rollout.Length, Drawn: r.Drawn("policy", 0, j)}
			h := fnv.New64a()
			fmt.Fprint(h, p.weights, seed, r.Key.Stream+uint32(j), r.Prompt)
			for range r.Params.MaxTokens {
				h.Write([]byte{1})
				x := h.Sum64()
				s.IDs = append(s.IDs, int(x%vocab))
				s.Logprob, s.Entropy = append(s.Logprob, -float32(x>>40)), append(s.Entropy, float32(x>>50))
			}
			out[i] = append(out[i], s)
		}
	}
	return out, nil
}

func (*paper) Play(context.Context, []rollout.Request, uint64) ([][][]rollout.Segment, error) {
	return nil, errors.New("there is no world on paper")
}

// trainer is a run whose weights change with its version. They are sent in several parts.
type trainer struct {
	version int
	slow    time.Duration // of a call
}

func (tr *trainer) weights() ([]byte, error) {
	return append(fmt.Appendf(nil, "weights %12d", tr.version), make([]byte, 2*partBytes)...), nil
}

func (tr *trainer) Sample(ctx context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	time.Sleep(tr.slow)
	w, _ := tr.weights()
	p := &paper{}
	p.Load(w)
	out := make([][]rollout.Segment, len(requests))
	for i, r := range requests {
		one, _ := p.Sample(ctx, []rollout.Request{r}, r.Key.Seed(7))
		for j := range one[0] {
			one[0][j].Drawn.Version = tr.version
		}
		out[i] = one[0]
	}
	return out, nil
}

// requestsOf are those of a step. One result is sent in several parts.
func requestsOf(step int) []rollout.Request {
	out := make([]rollout.Request, 12)
	for i := range out {
		key := random.Key{Purpose: random.Sample, Step: step, Stream: uint32(4 * i)}
		out[i] = rollout.Request{Prompt: slices.Repeat([]int{i}, 1+i%3), N: 1 + i%4, Params: rollout.Params{Temperature: 0.9, MaxTokens: 12}, Key: key}
	}
	out[5].Params.MaxTokens, out[5].N = partBytes/12, 2
	return out
}

// site is a hub with its fleet.
type site struct {
	*Hub
	fleet *fleet.Fleet
	run   *trainer
}

var card = Card{Release: "1.0", System: "linux/amd64", Device: "paper", Arithmetic: "paper", Numerics: "2", Drafts: true}

// begin opens a hub and serves a run of it.
func begin(t *testing.T, o Options, mode fleet.Mode) *site {
	t.Helper()
	o.Card = card
	h, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	h.Serve([]byte("the spec"))
	return again(t, &site{Hub: h}, mode)
}

func trainerOf(tr *trainer) fleet.Trainer {
	return fleet.Trainer{Sampler: tr, Seed: func(k random.Key) uint64 { return k.Seed(7) }, Version: func() int { return tr.version }, Weights: tr.weights, Role: "policy", Vocab: vocab}
}

// again is another run at a hub.
func again(t *testing.T, s *site, mode fleet.Mode) *site {
	t.Helper()
	if s.fleet != nil {
		s.fleet.Close()
	}
	tr := &trainer{}
	if s.run != nil {
		tr.version = s.run.version + 1
	}
	f := fleet.New(s.Hub, trainerOf(tr),
		fleet.Options{Mode: mode, Audit: 0.3, Slots: s.Slots, Patience: 500 * time.Millisecond})
	t.Cleanup(f.Close)
	return &site{s.Hub, f, tr}
}

// step draws the completions of a step and compares them with those of one machine. Workers
// begin with every other step before it is waited for, as with a lag.
func (s *site) step(t *testing.T) {
	t.Helper()
	requests := requestsOf(s.run.version)
	if s.run.version%2 == 1 {
		if err := s.fleet.Begin(t.Context(), requests); err != nil {
			t.Fatal(err)
		}
	}
	want, _ := s.run.Sample(t.Context(), requests)
	got, err := s.fleet.Sample(t.Context(), requests)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("step %d has other completions than one machine", s.run.version)
	}
	s.run.version++
}

// patience bounds waiting on a busy machine. What is waited for takes milliseconds on an
// idle one, a second at most.
const patience = time.Minute

// settles polls until something holds, and says whether it came to hold. Between two looks
// it does what makes it hold, if anything does.
func settles(holds func() bool, do func()) bool {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		if holds() {
			return true
		}
		if do != nil {
			do()
		}
	}
	return holds()
}

// joins waits until so many workers are there.
func (s *site) joins(t *testing.T, n int) {
	t.Helper()
	if !settles(func() bool { return s.Slots() == n }, nil) {
		t.Fatalf("%d workers are there, want %d", s.Slots(), n)
	}
}

// answered draws steps until a worker has answered: on a busy machine a step may be drawn
// here before any does.
func (s *site) answered(t *testing.T) {
	t.Helper()
	if !settles(func() bool { return s.fleet.Counts().Answered > 0 }, func() { s.step(t) }) {
		t.Fatal("no worker answers")
	}
}

// works starts a worker. Its error arrives when it ends.
func works(t *testing.T, d Door, before func()) (ended <-chan error, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var running sync.WaitGroup
	w := Worker{Door: d, Card: card, Open: func(spec []byte) (Engine, error) {
		if string(spec) != "the spec" {
			t.Errorf("the spec is %q", spec)
		}
		return &paper{before: before}, nil
	}}
	running.Go(func() { done <- w.Work(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return done, cancel
}

func newKey(t *testing.T) Key {
	t.Helper()
	k, text, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseKey(text)
	if err != nil || again.Public() != k.Public() {
		t.Fatalf("%v, %s", err, again.Public())
	}
	return k
}

const anyPort = "127.0.0.1:0"

// TestEqual: workers draw what one machine draws, 1, 2 and 5 of them, in both modes, with
// keys and without; at the end of the run they leave.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		workers int
		mode    fleet.Mode
		keys    bool
	}{{1, fleet.Exact, false}, {2, fleet.Draft, true}, {5, fleet.Exact, true}} {
		o := Options{Listen: anyPort}
		var keys []Key
		if c.keys {
			o.Door.Key = newKey(t)
			var allowed []string
			for range c.workers {
				keys = append(keys, newKey(t))
				allowed = append(allowed, keys[len(keys)-1].Public())
			}
			o.Allowed = func() ([]string, error) { return allowed, nil }
		}
		s := begin(t, o, c.mode)
		var ended []<-chan error
		for i := range c.workers {
			d := Door{URL: s.URL()}
			if c.keys {
				d.Key = keys[i]
			}
			done, _ := works(t, d, nil)
			ended = append(ended, done)
		}
		s.joins(t, c.workers)
		for range 4 {
			s.step(t)
		}
		s.answered(t)
		if n := s.fleet.Counts(); n.Answered == 0 || n.Refused > 0 {
			t.Errorf("%+v: %+v", c, n)
		}
		who := Door{URL: s.URL(), Key: o.Door.Key}
		list, err := Who(t.Context(), who)
		done := 0
		same := 0
		for _, p := range list {
			done += p.Done
			mode := fleet.Draft // also of one that has not answered its canary yet
			if c.mode == fleet.Exact && p.Class == "same" {
				mode = fleet.Exact
			}
			if p.Class == "same" {
				same++
			} else if p.Class != "" {
				t.Errorf("%+v: class %q", c, p.Class)
			}
			if p.Mode != string(mode) || p.Version > s.run.version-1 || p.Done > 0 && p.Version < 0 {
				t.Errorf("%+v: %+v", c, p)
			}
		}
		if same == 0 {
			t.Errorf("%+v: no worker has a class: %+v", c, list)
		}
		if err != nil || len(list) != c.workers || done < s.fleet.Counts().Answered || !reflect.DeepEqual(list[0].Card, card) {
			t.Errorf("%+v: %+v, %v", c, list, err)
		}
		if err := s.End(); err != nil {
			t.Fatal(err)
		}
		for _, done := range ended {
			if err := <-done; err != nil {
				t.Errorf("%+v: a worker ends with %v", c, err)
			}
		}
	}
}

// TestVerifiesAlone: a worker that only verifies is told that a trainer with drafts alone has
// nothing for it.
func TestVerifiesAlone(t *testing.T) {
	t.Parallel()
	s := begin(t, Options{Listen: anyPort, Mode: fleet.Draft}, fleet.Draft)
	mute := card
	mute.Drafts, mute.Verifies = false, map[string]string{"code:paper": "paper 1"}
	w := Worker{Door: Door{URL: s.URL()}, Card: mute}
	if err := w.Work(t.Context()); err == nil || !strings.Contains(err.Error(), "--workers-mode exact") {
		t.Errorf("it ends with %v", err)
	}
}

// TestResumed: workers wait for a trainer that was killed, at any moment of a step, and work
// for the next one at its address; items of the first are of no harm.
func TestResumed(t *testing.T) {
	t.Parallel()
	cycles := 2
	if gputest.Long() {
		cycles = 100
	}
	s := begin(t, Options{Listen: anyPort}, fleet.Exact)
	d := Door{URL: s.URL()}
	works(t, d, nil)
	works(t, d, nil)
	rng, answered := rand.New(rand.NewPCG(3, 0)), 0
	for range cycles {
		s.joins(t, 2)
		s.step(t)
		answered += s.fleet.Counts().Answered
		ctx, kill := context.WithTimeout(t.Context(), time.Duration(rng.IntN(20))*time.Millisecond)
		_, _ = s.fleet.Sample(ctx, requestsOf(s.run.version)) // it may get to its end
		kill()
		s.fleet.Close()
		s.Close()
		s = begin(t, Options{Listen: strings.TrimPrefix(d.URL, "nats://")}, fleet.Exact)
	}
	s.joins(t, 2)
	s.step(t)
	s.step(t)
	if answered == 0 {
		s.answered(t)
	}
	if n := s.fleet.Counts(); answered+n.Answered == 0 || n.Refused > 0 {
		t.Errorf("%d items answered before; %+v", answered, n)
	}
}

// TestExternal: a server that is not the trainer's, which is killed and started again.
// Two trainers of one name are one too many.
func TestExternal(t *testing.T) {
	t.Parallel()
	server, err := embed(anyPort, defaultName, Key{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Door{URL: server.url()}
	s := begin(t, Options{Door: d}, fleet.Draft)
	works(t, d, nil)
	works(t, d, nil)
	s.joins(t, 2)
	s.step(t)
	if _, err := Open(Options{Door: d, Card: card}); err == nil || !strings.Contains(err.Error(), "another trainer") {
		t.Errorf("a second trainer: %v", err)
	}
	other := begin(t, Options{Door: Door{URL: d.URL + "/other"}}, fleet.Draft)
	other.step(t)
	server.Close()
	s.step(t)
	again, err := embed(strings.TrimPrefix(d.URL, "nats://"), defaultName, Key{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	s.joins(t, 2)
	before := s.fleet.Counts().Answered
	s.run.slow = 20 * time.Millisecond // a step that ends at once hears nobody
	if !settles(func() bool { return s.fleet.Counts().Answered > before }, func() { s.step(t) }) {
		t.Error("no worker came back") // the hub and a worker have to connect again
	}
}

// TestUnfit: workers that cannot take part are told why.
func TestUnfit(t *testing.T) {
	t.Parallel()
	s := begin(t, Options{Listen: anyPort}, fleet.Exact)
	for want, change := range map[string]func(*Card){
		"is rlzero 2.0, and the trainer is rlzero 1.0":                func(c *Card) { c.Release = "2.0" },
		"computes by numerics version 2-mma16, and the trainer by 2:": func(c *Card) { c.Numerics = "2-mma16" },
	} {
		other := card
		change(&other)
		err := Worker{Door: Door{URL: s.URL()}, Card: other}.Work(t.Context())
		if !errors.Is(err, fleet.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	failed := errors.New("too little memory")
	w := Worker{Door: Door{URL: s.URL()}, Card: card, Open: func([]byte) (Engine, error) { return nil, failed }}
	if err := w.Work(t.Context()); err != failed {
		t.Errorf("%v", err)
	}
}

// TestTooLong: that an item is longer than a message may be is told.
func TestTooLong(t *testing.T) {
	t.Parallel()
	told := make(chan string, 9)
	s := begin(t, Options{Listen: anyPort, Note: func(text string) {
		if strings.Contains(text, "cannot be sent: ") {
			select {
			case told <- text:
			default: // as often as it is offered
			}
		}
	}}, fleet.Exact)
	works(t, Door{URL: s.URL()}, nil)
	s.joins(t, 1)
	long := fleet.Item{Params: rollout.Params{Temperature: 1, MaxTokens: 1}, Prompts: []fleet.Prompt{{IDs: slices.Repeat([]int{40000}, 1<<20), N: 1}}}
	if err := s.Offer(t.Context(), long.Encode()); err != nil {
		t.Fatal(err)
	}
	select {
	case text := <-told:
		if !strings.HasSuffix(text, nats.ErrMaxPayload.Error()) {
			t.Error(text)
		}
	case <-time.After(patience):
		t.Error("nothing is told")
	}
}

func TestAddresses(t *testing.T) {
	key := newKey(t).Public()
	for text, want := range map[string]place{
		"nats://a:1":                   {"nats://a:1", "run", "", "a"},
		"nats://" + key + "@[::1]:4/x": {"nats://[::1]:4", "x", key, "::1"},
	} {
		if got, err := (Door{URL: text}).place(); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a:1", "http://a:1", "nats://", "nats://a:1/b.c", "nats://a:1/b/c", "nats://me@a:1", "nats://a:1?b", "nats://a:1#b"} {
		if got, err := (Door{URL: text}).place(); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
	if keys, err := ParseAllowed("# all\n" + key + " # mine\n\n"); err != nil || !slices.Equal(keys, []string{key}) {
		t.Errorf("%v, %v", keys, err)
	}
	if _, err := ParseAllowed("\n" + key[1:]); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
	if _, err := ParseKey([]byte(key)); err == nil {
		t.Error("a public key is taken for a secret one")
	}
}
