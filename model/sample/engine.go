package sample

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/text"
)

// Settings says how the next token is drawn. Log-probs are always those of the
// whole distribution at the temperature: what the trainer computes
// (docs/why/model.md#why-do-log-probs-ignore-top-p-top-k-and-min-p).
type Settings struct {
	Temperature float64 // 0: the most likely token
	TopK        int     // 0: off
	TopP        float64 // 1 (or 0): off
	MinP        float64 // 0: off
	Seed        uint64
}

// truncated says whether a filter makes the sampled distribution differ from
// the one whose log-probs are reported.
func (s Settings) truncated() bool {
	return s.Temperature > 0 && (s.TopK > 0 || s.TopP > 0 && s.TopP < 1 || s.MinP > 0)
}

// Request asks for N completions of one prompt. Completion i draws its random
// numbers from stream Stream+i at the token's position in the sequence, so it
// is a function of the model, the prompt and (Seed, Stream+i) alone.
type Request struct {
	Prompt    []int
	N         int // 0 counts as 1
	MaxTokens int // new tokens at most
	Sampling  Settings
	Stream    uint32
	Ends      []int    // end the completion, and belong to it; nil: the model's EOS
	StopIDs   []int    // likewise, besides Ends
	StopText  []string // end the completion when its text contains one (needs a tokenizer)
	Guide     Guide    // what may be drawn; nil: any token
	Draft     [][]int  // [completion][token] what they are expected to be; changes no bit, see draft.go; nil: nothing is expected

	// Each, if it is set, is told of each token as soon as it is known: of the tokens of a
	// prompt that is scored, from the second on, as those of completion -1; then of what
	// is drawn. It is called from the engine's loop, which waits for it: it may not block.
	Each        func(completion int, t Token)
	Top         int  // most likely tokens that Each is told of beside each token
	Unscaled    bool // log-probs and entropies are those at temperature 1, whatever the temperature of the draws
	ScorePrompt bool // Each is told of the prompt's tokens; MaxTokens may then be 0

	// Hidden, if it is set, is told of the hidden state of each token of the prompt after the
	// final norm, [width], in their order. It is called as Each is; MaxTokens may then be 0.
	Hidden func(at int, state []float32)
}

// Guide says which tokens may come next in a completion, such as those of a grammar. It is
// a function of the tokens so far and does not change: after a token there is another one.
// Log-probs stay those of the whole distribution.
type Guide interface {
	// Allow sets the bits of the tokens that may come next, and clears the others: token id
	// has bit id%32 of word id/32. It is an error if there is none, and ends the request.
	Allow(bits []uint32) error
	// Next is the guide after a token of the vocabulary, which may be any.
	Next(id int) Guide
}

// Completion is what was sampled after a prompt.
type Completion struct {
	IDs     []int     // new tokens, the stop token included
	Logprob []float32 // nats, one for each of IDs
	Entropy []float32 // nats, of the distribution each was drawn from
	Stop    string    // "eos", "length" or "stop"
}

// Options are an engine's capacity.
type Options struct {
	Sequences  int  // in flight at once
	Context    int  // longest prompt with its completion, tokens
	CacheToken int  // token slots of the key/value cache; 0: Sequences*Context, rounded to pages, and as many again as fit a binding
	Prefixes   int  // runs of 32 tokens of prompts and completions kept for prompts that begin alike (prefix.go), at most; 0: none
	StepRows   int  // tokens computed in one step: decode rows and prompt chunks; 0: at least Sequences, 256
	PromptRows int  // prompt tokens in one step at most; 0: StepRows
	Draws      int  // tokens drawn in one step at most: what is more than Sequences serves drafts; 0: Sequences
	Guides     bool // requests may have a Guide, which takes memory

	// Phase is where the engine computes, and keeps keys and values; nil: in memory of its own. It is in use as long as
	// there is a request. What prompts have in common is read again after another phase.
	Phase *model.Phase

	// Others are models whose logits can be added to those of the model, see [Engine.Sum], or say what may be drawn, see
	// [Engine.FilterBy]. They have the same tokens.
	Others []*model.Model

	// Gather, if it is set, is called by the loop when there is work after there was none. It
	// may wait for requests that are about to come, which are then begun in the same step.
	Gather func()
	// Edit, if not nil, replaces the dispatches of a step before they are recorded.
	// It is there for the benchmark that measures what the one order of sums costs,
	// never for a run: kernels of another order give other log-probs than the
	// trainer's.
	Edit func([]gpu.Op) []gpu.Op
	// Finished, if it is set, is told of the completions of each request that has
	// ended, for a display. The engine calls it from one goroutine at a time.
	Finished func(completions int)
}

func (o Options) withDefaults() Options {
	if o.StepRows == 0 {
		o.StepRows = max(256, o.Sequences)
	}
	if o.PromptRows == 0 {
		o.PromptRows = o.StepRows
	}
	o.Draws = max(o.Draws, o.Sequences)
	return o
}

// slots are the token slots of the cache on a device. Keys of a layer are one binding, so
// what they have beyond the sequences' own may be less than twice: then groups are set back
// (pages.go), which changes no bit.
func (o Options) slots(d decoder.Dims, caps gpu.Caps) int {
	if o.CacheToken > 0 {
		return o.CacheToken
	}
	pages := o.Sequences * pagesFor(o.Context)
	return max(pages, min(2*pages, caps.MaxBinding/(4*d.KVWords(pageTokens)))) * pageTokens
}

// Engine samples from a model: all requests in flight advance together, one
// token a step each, and new ones join as soon as there is room.
type Engine struct {
	m      *model.Model
	d      *decoder.Decoder
	others []*decoder.Decoder
	by     int // which of them filters what is drawn; -1: the model itself
	opt    Options
	pool   *device.Pool
	ws     *decoder.Workspace
	cache  *kvCache
	progs  *device.Programs
	rowp   gpu.View // [rows][8] sampling parameters, see kernel sample_draw
	cut    gpu.View // [block][vocabp] filtered logits
	allow  gpu.View // [draws][ceil(vocab/32)] bits of the tokens that guides allow
	left   gpu.View // [block][vocabp] logits that guides leave

	mu      sync.Mutex
	waiting []*group
	running bool
	entered bool // the loop has its phase; before, it touches nothing
	state   State

	lost   uint64   // times that another phase was where the engine is
	count  State    // touched by the loop alone, as is what follows
	active []*group // the oldest first
}

// group is a request in flight.
type group struct {
	req    Request
	ctx    context.Context
	done   chan error
	prompt *slotList
	read   int // prompt tokens computed
	seqs   []*sequence

	branches []branch // completions in flight
	scored   int      // prompt tokens that Each was told of
	hidden   int      // prompt tokens that Hidden was told of
	fault    error    // why it cannot go on
}

// sequence is one completion in flight.
type sequence struct {
	Completion
	index  int
	list   *slotList
	finish bool
	draft  []int // what it is expected to be; nil once it is not
	told   int   // tokens that Each was told of
	guide  Guide // of the next token; nil: none

	stream *text.Stream // of a request with stop text
	tail   string       // the end of the text so far, in which a stop text may have begun
}

// NewEngine makes an engine. Its device memory is allocated here.
func NewEngine(m *model.Model, opt Options) (*Engine, error) {
	opt = opt.withDefaults()
	if opt.Context > m.Positions() {
		return nil, fmt.Errorf("the engine's context of %d tokens exceeds the %d positions that the model was opened for", opt.Context, m.Positions())
	}
	dev := m.Device()
	e := &Engine{m: m, d: m.Decoder(), by: -1, opt: opt, pool: device.NewPoolIn(opt.Phase, dev, "sampler"), progs: device.NewPrograms(dev, 128)}
	for _, other := range opt.Others {
		e.others = append(e.others, other.Decoder())
	}
	e.plan(e.d.Layout.Dims, dev.Caps())
	if e.pool.Err != nil {
		e.Close()
		return nil, e.pool.Err
	}
	opt.Phase.OnEnter(func() error { e.lost++; return nil })
	e.observe(0)
	return e, nil
}

// Space takes from a pool what an engine needs of a decoder's device, for package memory. others are those of
// [Options.Others].
func Space(p *device.Pool, l *decoder.Layout, o Options, caps gpu.Caps, others ...*decoder.Decoder) {
	e := &Engine{opt: o.withDefaults(), pool: p, others: others}
	e.plan(l.Dims, caps)
}

func (e *Engine) plan(d decoder.Dims, caps gpu.Caps) {
	p, rows, draws := e.pool, rounded(e.opt.StepRows), rounded(e.opt.Draws)
	lists := 2 * e.opt.Sequences
	e.cache = newCache(p, d, e.opt.slots(d, caps), lists, e.opt.Context)
	e.cache.prefixes.most = e.opt.Prefixes
	e.ws = decoder.NewCachedWorkspace(p, d, rows, draws, e.cache.layers, e.cache.kvidx, caps)
	if len(e.others) > 0 {
		var caches [][]decoder.KVLayer
		for _, other := range e.others {
			caches = append(caches, e.cache.beside(p, other.Layout.Dims))
		}
		e.ws.Mix(p, draws, e.others, caches)
	}
	e.rowp = p.Words("sampling parameters", 8*draws)
	e.cut = p.Words("filtered logits", e.ws.Head.Block*d.VocabPadded)
	if e.opt.Guides {
		e.allow = p.Words("allowed tokens", draws*maskWords(d.Vocab))
		e.left = p.Words("allowed logits", e.ws.Head.Block*d.VocabPadded)
	}
}

// Sum says by which factors logits are summed from now on, with no request in flight: the model's own, and those of the
// first others; one whose factor is 0 is not computed. nil: there are only the model's own, as in a new engine.
func (e *Engine) Sum(own float64, factors []float64) {
	e.d.Change() // of some prefixes the others have read nothing
	e.ws.Sum(own, factors)
}

// FilterBy says on whose distribution top-k, top-p and min-p act from now on, with no request in flight: on that of one
// of the others, given by its place, at the temperature of the draws. What it keeps is drawn by the model's own logits.
// -1: on the model's own, as in a new engine. Log-probs stay those of the model's whole distribution.
func (e *Engine) FilterBy(other int) {
	if other == e.by {
		return
	}
	e.d.Change()
	e.by = other
	e.ws.Read(other)
}

// changes is how often what logits are made of was changed, or keys and values were lost.
func (e *Engine) changes() uint64 {
	n := e.d.Changes() + e.lost
	for _, other := range e.others {
		n += other.Changes()
	}
	return n
}

// Generate samples the completions of one request. It may be called from many
// goroutines; all requests in flight share the device's steps.
func (e *Engine) Generate(ctx context.Context, req Request) ([]Completion, error) {
	g, err := e.admit(ctx, req)
	if err != nil {
		return nil, err
	}
	e.enqueue(g)
	if err := e.await(g); err != nil {
		return nil, err
	}
	return g.completions(), nil
}

// GenerateAll samples many requests and returns their completions in order.
func (e *Engine) GenerateAll(ctx context.Context, reqs []Request) ([][]Completion, error) {
	groups := make([]*group, len(reqs))
	for i, r := range reqs {
		var err error
		if groups[i], err = e.admit(ctx, r); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	e.enqueue(groups...)
	out := make([][]Completion, len(reqs))
	var errs []error
	for i, g := range groups {
		if err := e.await(g); err != nil {
			errs = append(errs, err)
			continue
		}
		out[i] = g.completions()
	}
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return out, nil
}

// Foresee reads tokens that many prompts begin with, before these are given: those in flight at once would each read
// them. It does nothing if the engine keeps no prefixes, or if they are fewer than a run.
func (e *Engine) Foresee(ctx context.Context, prompt []int) error {
	if e.cache.prefixes.most <= 0 || len(prompt) < pageTokens {
		return nil
	}
	_, err := e.Generate(ctx, Request{Prompt: prompt, MaxTokens: 1})
	return err
}

// await waits until a group has ended. If it is cancelled it does so at the next step, or at once while the loop waits
// for its phase.
func (e *Engine) await(g *group) error {
	select {
	case err := <-g.done:
		return err
	case <-g.ctx.Done():
	}
	e.mu.Lock()
	if !e.entered {
		e.dropGone()
	}
	e.mu.Unlock()
	return <-g.done
}

func (g *group) completions() []Completion {
	out := make([]Completion, len(g.seqs))
	for i, s := range g.seqs {
		out[i] = s.Completion
	}
	return out
}

// Admits is an error if the engine could never answer a request, and says why.
func (e *Engine) Admits(req Request) error {
	_, err := e.admit(context.Background(), req)
	return err
}

// admit checks a request.
func (e *Engine) admit(ctx context.Context, req Request) (*group, error) {
	req.N = max(req.N, 1)
	if len(req.Prompt) == 0 {
		return nil, errors.New("empty prompt: give at least one token")
	}
	if req.MaxTokens < 1 && !(req.MaxTokens == 0 && (req.ScorePrompt || req.Hidden != nil)) {
		return nil, fmt.Errorf("the request allows %d new tokens; it needs at least 1", req.MaxTokens)
	}
	if req.ScorePrompt && req.Each == nil {
		return nil, errors.New("a prompt is to be scored, and nobody is to be told")
	}
	if len(req.Draft) > req.N {
		return nil, fmt.Errorf("the request has drafts of %d completions; it asks for %d", len(req.Draft), req.N)
	}
	if req.Guide != nil && !e.opt.Guides {
		return nil, errors.New("the request has a guide, and the engine was made without room for any")
	}
	if len(req.StopText) > 0 && e.m.Tokenizer == nil {
		return nil, errors.New("a stop text needs a tokenizer, and the model has none")
	}
	if err := e.d.CheckIDs(req.Prompt); err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	if req.N > e.opt.Sequences {
		return nil, fmt.Errorf("%d completions of a prompt are more than the engine's %d sequences", req.N, e.opt.Sequences)
	}
	if err := e.cache.fits(len(req.Prompt), req.MaxTokens, req.N, 2*e.opt.Sequences); err != nil {
		return nil, err
	}
	if req.Ends == nil {
		req.Ends = e.m.Config.EOS
	}
	g := &group{req: req, ctx: ctx, done: make(chan error, 1)}
	for i := range req.N {
		s := &sequence{index: i, draft: e.draftOf(req, i), guide: req.Guide}
		if req.MaxTokens == 0 {
			s.Stop, s.finish = "length", true
		}
		g.seqs = append(g.seqs, s)
	}
	return g, nil
}

func (e *Engine) enqueue(groups ...*group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, groups...)
	if !e.running && len(e.waiting) > 0 {
		e.running, e.entered = true, false
		go e.loop()
	}
}

// loop advances all groups until none is left.
func (e *Engine) loop() {
	if e.opt.Gather != nil {
		e.opt.Gather()
	}
	if err := e.opt.Phase.Enter(); err != nil {
		e.fail(err)
		return
	}
	defer e.opt.Phase.Leave()
	e.mu.Lock()
	e.entered = true
	e.mu.Unlock()
	for {
		if ended := e.start(); ended {
			return
		}
		if len(e.active) == 0 {
			continue
		}
		e.d.Turn.Lock()
		err := e.step()
		e.d.Turn.Unlock()
		if err != nil {
			for _, g := range e.active {
				e.end(g, err)
			}
			e.active = nil
			continue
		}
		e.retire()
	}
}

// fail ends all waiting groups.
func (e *Engine) fail(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, g := range e.waiting {
		e.end(g, err)
	}
	e.waiting, e.running = nil, false
}

// start admits waiting groups, in order, as far as there is room. It reports whether
// the loop ends, as there is nothing to do.
func (e *Engine) start() (ended bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dropGone()
	e.cache.prefixes.forget(e.cache, e.changes())
	inFlight := 0
	for _, g := range e.active {
		inFlight += g.inFlight()
	}
	for len(e.waiting) > 0 {
		g := e.waiting[0]
		if inFlight+g.req.N > e.opt.Sequences {
			break
		}
		placed, err := e.place(g)
		if err == nil && !placed {
			break
		}
		e.waiting = e.waiting[1:]
		if err != nil {
			e.end(g, err)
			continue
		}
		inFlight += g.req.N
		e.active = append(e.active, g)
	}
	e.running = len(e.active)+len(e.waiting) > 0
	e.observe(inFlight)
	return !e.running
}

// dropGone ends waiting groups that were cancelled. Thousands may wait, with one context
// for all.
func (e *Engine) dropGone() {
	var asked context.Context
	var err error
	e.waiting = slices.DeleteFunc(e.waiting, func(g *group) bool {
		if g.ctx != asked {
			asked, err = g.ctx, g.ctx.Err()
		}
		if err != nil {
			e.end(g, err)
		}
		return err != nil
	})
}

// inFlight is the number of a group's completions that are not finished.
func (g *group) inFlight() int {
	n := 0
	for _, b := range g.branches {
		n += len(b)
	}
	return n
}

// retire takes out finished and cancelled groups. The state says so before those who asked are told.
func (e *Engine) retire() {
	var ended []*group
	var why []error
	kept, inFlight := e.active[:0], 0
	for _, g := range e.active {
		switch {
		case g.ctx.Err() != nil:
			ended, why = append(ended, g), append(why, g.ctx.Err())
		case g.fault != nil:
			ended, why = append(ended, g), append(why, g.fault)
		case g.read == len(g.req.Prompt) && len(g.branches) == 0:
			ended, why = append(ended, g), append(why, nil)
		default:
			kept, inFlight = append(kept, g), inFlight+g.inFlight()
		}
	}
	clear(e.active[len(kept):])
	if e.active = kept; ended == nil {
		return
	}
	for _, g := range ended {
		e.leave(g)
	}
	e.mu.Lock()
	e.observe(inFlight)
	e.mu.Unlock()
	for i, g := range ended {
		e.end(g, why[i])
	}
}

func (e *Engine) end(g *group, err error) {
	e.leave(g)
	if e.opt.Finished != nil {
		e.opt.Finished(g.req.N)
	}
	g.done <- err
}

// take adds a drawn token to a completion and decides whether it ends.
func (e *Engine) take(g *group, s *sequence, t Token) {
	id := t.ID
	s.IDs = append(s.IDs, id)
	s.Logprob = append(s.Logprob, t.Logprob)
	s.Entropy = append(s.Entropy, t.Entropy)
	e.count.Tokens++
	if s.guide != nil {
		s.guide = s.guide.Next(id)
	}
	switch {
	case slices.Contains(g.req.Ends, id):
		s.Stop = "eos"
	case slices.Contains(g.req.StopIDs, id) || e.stopText(g, s):
		s.Stop = "stop"
	case len(s.IDs) == g.req.MaxTokens:
		s.Stop = "length"
	}
	s.finish = s.Stop != ""
	if n := len(s.IDs); g.req.Each != nil && n > s.told {
		s.told, t.Stop = n, s.Stop
		g.req.Each(s.index, t)
	}
}

// stopText reports whether the text of a completion contains a stop text with its
// last token.
func (e *Engine) stopText(g *group, s *sequence) bool {
	if len(g.req.StopText) == 0 {
		return false
	}
	if s.stream == nil {
		s.stream = e.m.Tokenizer.NewStream()
	}
	s.tail += s.stream.Add(s.IDs[len(s.IDs)-1])
	longest, text := 0, s.tail+s.stream.Held()
	for _, stop := range g.req.StopText {
		if strings.Contains(text, stop) {
			return true
		}
		longest = max(longest, len(stop))
	}
	s.tail = s.tail[max(0, len(s.tail)-longest):]
	return false
}

// Sequences is how many completions the engine draws together.
func (e *Engine) Sequences() int { return e.opt.Sequences }

// Close frees the engine's device memory. No request may be in flight.
func (e *Engine) Close() {
	e.progs.Free()
	e.pool.Free()
}
