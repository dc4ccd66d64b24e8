package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Request asks for completions of one prompt. Completion i draws from the key's
// stream Stream+i, so it does not depend on what else is sampled.
type Request struct {
	Prompt []int
	N      int
	Params Params
	Key    random.Key

	// Draft, if not nil, is what the completions are expected to be, [completion][token].
	// It changes nothing about them, but the time that they take.
	Draft [][]int

	// Plays, if not nil, are the episodes that the completions begin, for whoever plays them ahead: one each.
	// It changes nothing about the completions.
	Plays *Plays
}

// Plays are episodes of a problem in a world that is the same wherever this program is.
type Plays struct {
	Problem verify.Problem
	Turns   int // of the policy, at most
	Tokens  int // own and read ones, the prompt apart, at most
}

// Drawn says how a completion of the request was drawn, by a model in this role and
// version.
func (r Request) Drawn(role string, version, completion int) Drawn {
	d := Drawn{Model: role, Version: version, Params: r.Params, Key: r.Key}
	d.Key.Stream += uint32(completion)
	return d
}

// Sampler draws completions. The segments of request i are those of its N
// completions, in order, each by the author Policy; their parents are not set.
type Sampler interface {
	Sample(ctx context.Context, requests []Request) ([][]Segment, error)
}

// Early is a Sampler that can begin before anybody waits for it, and need not wait for all that
// it is asked for.
type Early interface {
	Sampler
	// Begin hands out requests for which Sample is called next, by the weights of now. It
	// waits for nobody. Sample gives the same completions without it.
	Begin(ctx context.Context, requests []Request) error
	// Pick returns completions for at least count of the requests, among them all of the first
	// ones, and nil for the others. The others go on being drawn, and a later call asks for them
	// again. Their completions may then come from the weights of any call in between, but not from
	// those before version since: Drawn.Version says which.
	Pick(ctx context.Context, requests []Request, first, count, since int) ([][]Segment, error)
}

// Foreseeing is a Sampler that may have the turns of episodes before they are asked for, of requests that say [Request.Plays].
type Foreseeing interface {
	Sampler
	// Over says that all these episodes have ended: no turn of theirs is asked for any more.
	Over(ctx context.Context) error
}

// Renderer writes a problem as the token ids that a model reads, and tells the text of those
// that it writes.
type Renderer interface {
	Prompt(problem verify.Problem) ([]int, error)
	Decode(ids []int) string
}

// TurnRenderer is a Renderer for episodes. What it returns is appended to ids that are there: no
// id that the policy drew is made from text.
type TurnRenderer interface {
	Renderer
	// Begin is Prompt of a problem after which a world says something.
	Begin(problem verify.Problem, said []world.Message) ([]int, error)
	// Next is what the policy reads after a turn and before the next one: the end token, unless
	// ended says that the policy drew it, what said is, and what a turn begins with.
	Next(ended bool, said []world.Message) ([]int, error)
}

// Panel judges completions elsewhere.
type Panel interface {
	// Judge returns the verdicts of the questions, in their order. A nil verdict is left to the
	// caller. The others are those that the verifier reaches on any machine.
	Judge(ctx context.Context, questions []verify.Question) ([]*verify.Verdict, error)
}

// Judges gives the verdicts of verifiers that ask a model.
type Judges interface {
	// Judge returns those of a verifier about all paths of groups, [group][path].
	Judge(ctx context.Context, by verify.Asking, groups []Group) ([][]verify.Verdict, error)
	// Compares says whether a verifier shows a completion together with the others of its group.
	Compares(by verify.Asking) bool
}

// Collector samples completions and judges them.
type Collector struct {
	Sampler  Sampler
	Renderer Renderer

	// Task gives the first verdict of every completion, of its text without the end token;
	// ended says that the model ended it, rather than the length limit.
	Task  func(problem verify.Problem, text string, ended bool) verify.Verdict
	Asks  verify.Verifier // whose verdict Task gives where the model ended the completion; nil: the task is no data set
	Panel Panel           // is asked before verifiers that others can stand in for; nil: there is none

	Judges Judges // gives the verdicts of verifiers that ask a model; nil: nobody does

	Episodes *Episodes // whose worlds give the first verdicts in place of Task; nil: a problem has one answer
	Seats    []Seat    // of the episodes, whose world is a [world.Seated], in the order of its names; nil: there is one
}

// Collect samples n completions of each problem and judges them, by the task and then by
// the verifiers besides. The completions of problem i draw from the streams i·n to i·n+n-1
// of the key. With Episodes a completion is an episode.
func (c *Collector) Collect(ctx context.Context, problems []verify.Problem, n int, params Params, key random.Key, besides ...verify.Verifier) ([]Group, error) {
	starts, err := c.Starts(problems)
	if err != nil {
		return nil, err
	}
	return c.From(ctx, starts, n, params, key, besides...)
}

// Begin hands out what From samples, if the sampler can begin early.
func (c *Collector) Begin(ctx context.Context, starts []Start, n int, params Params, key random.Key) error {
	early, can := c.Sampler.(Early)
	if !can || c.Episodes != nil {
		return nil
	}
	return early.Begin(ctx, requestsOf(starts, n, params, key))
}

// Starts are what completions of problems follow.
func (c *Collector) Starts(problems []verify.Problem) ([]Start, error) {
	starts := make([]Start, len(problems))
	for i, p := range problems {
		ids, err := c.Renderer.Prompt(p)
		if err != nil {
			return nil, &PromptError{p.Question, err}
		}
		starts[i] = Start{Problem: p, Prompt: ids}
	}
	return starts, nil
}

// Start is what completions of a problem follow.
type Start struct {
	Problem verify.Problem
	Prompt  []int           // what the model reads of the problem
	Opening []world.Message // a part of Prompt: what a world says
	State   string          // what the world calls the situation before the first turn
	Given   []int           // the beginning of each completion, which counts as one of its tokens; nil: none
	N       int             // completions; 0: as many as all others have
}

func requestsOf(starts []Start, n int, params Params, key random.Key) []Request {
	requests := make([]Request, len(starts))
	for i, s := range starts {
		key.Stream = uint32(i * n)
		requests[i] = Request{Prompt: slices.Concat(s.Prompt, s.Given), N: cmp.Or(s.N, n), Params: params, Key: key}
		requests[i].Params.MaxTokens -= len(s.Given)
	}
	return requests
}

// Requests are what From asks the sampler for.
func (c *Collector) Requests(starts []Start, n int, params Params, key random.Key) []Request {
	return requestsOf(starts, n, params, key)
}

// From samples n completions after each start and judges them, as Collect does. One that has a number
// of its own, up to n, leaves the streams of the others as they are.
func (c *Collector) From(ctx context.Context, starts []Start, n int, params Params, key random.Key, besides ...verify.Verifier) ([]Group, error) {
	groups, err := c.Draw(ctx, starts, n, params, key)
	if err != nil {
		return nil, err
	}
	return groups, c.Judge(ctx, groups, besides...)
}

// Draw samples as From does, and leaves what was sampled to be judged.
func (c *Collector) Draw(ctx context.Context, starts []Start, n int, params Params, key random.Key) ([]Group, error) {
	if c.Seats != nil {
		return c.playSeats(ctx, starts, n, params, key)
	}
	if c.Episodes != nil {
		return c.play(ctx, starts, n, params, key)
	}
	drawn, err := c.Sampler.Sample(ctx, requestsOf(starts, n, params, key))
	if err != nil {
		return nil, err
	}
	return grouped(starts, drawn), nil
}

// Judged are the groups of completions that a sampler drew after starts, judged as Collect
// does.
func (c *Collector) Judged(ctx context.Context, starts []Start, drawn [][]Segment, besides ...verify.Verifier) ([]Group, error) {
	groups := grouped(starts, drawn)
	return groups, c.Judge(ctx, groups, besides...)
}

// grouped are the groups of completions that a sampler drew after starts.
func grouped(starts []Start, drawn [][]Segment) []Group {
	groups := make([]Group, len(starts))
	for i, start := range starts {
		g := rooted(start)
		parent := len(g.Segments) - 1
		for _, s := range drawn[i] {
			s.Parent = parent
			g.Paths = append(g.Paths, Path{Leaf: len(g.Segments)})
			g.Segments = append(g.Segments, s)
		}
		groups[i] = g
	}
	return groups
}

// rooted is a group with what its completions begin after.
func rooted(s Start) Group {
	g := Group{Problem: s.Problem, Opening: s.Opening, State: s.State, Segments: []Segment{{Parent: -1, Author: Prompt, IDs: s.Prompt}}}
	if s.Given != nil {
		g.Segments = append(g.Segments, Segment{Author: Given, IDs: s.Given})
	}
	return g
}

// PromptError is a prompt that the tokenizer cannot read. It is lines.ErrInput.
type PromptError struct {
	Prompt string
	Err    error
}

func (e *PromptError) Error() string {
	return fmt.Sprintf("prompt %s: %v", terminal.Quote(e.Prompt), e.Err)
}

// Unwrap is bad input, and the tokenizer's error.
func (e *PromptError) Unwrap() []error { return []error{lines.ErrInput, e.Err} }

// Text is what verifiers read of a segment that a model drew: without the end token, the
// stop token or the stop text that ended it.
func (s *Segment) Text(t Renderer) string {
	stops := s.Drawn.Params
	last := len(s.IDs) - 1
	if s.Stop == EOS || s.Stop == Text && slices.Contains(stops.StopIDs, s.IDs[last]) {
		return t.Decode(s.IDs[:last])
	}
	text := t.Decode(s.IDs)
	if s.Stop != Text {
		return text
	}
	cut := len(text)
	for _, stop := range stops.StopText {
		if i := strings.Index(text, stop); i >= 0 {
			cut = min(cut, i)
		}
	}
	return text[:cut]
}
