package rollout

import (
	"fmt"
	"math"
	"slices"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Author says who wrote a segment.
type Author uint8

// Authors.
const (
	Prompt  Author = iota // the problem: read and never learnt
	Policy                // the model that is trained
	Given                 // a file: the beginning of a completion, read and never learnt
	Foreign               // a file: a whole completion, learnt as if the policy had written it
	Outside               // a world, and what is written around its replies: read and never learnt
	Other                 // a model that is not trained here: read and never learnt
)

// Stop says why sampling ended.
type Stop string

// Reasons for an end.
const (
	EOS    Stop = "eos"    // the model ended its turn
	Length Stop = "length" // the limit of new tokens was reached
	Text   Stop = "stop"   // a stop string or stop token of the request
)

// Segment is a run of tokens by one author. It is never changed.
type Segment struct {
	Parent  int // index of the segment before it; -1 at the root
	Author  Author
	IDs     []int
	Logprob []float32 // [token] nats, as sampled; nil unless a model drew the tokens
	Entropy []float32 // [token] nats, of the distribution each was drawn from
	Drawn   Drawn     // zero unless a model drew the tokens; of Foreign ones, the temperature and the place in the run
	Stop    Stop      // "" unless a model drew the tokens
	Turn    *Turn     `json:",omitempty"` // what came of it in an episode; nil: it is a whole answer, or nobody's turn
	Fresh   bool      `json:",omitempty"` // the context begins anew with it: what stands before it is not read any more
}

// Turn is what a world made of a segment that the policy wrote.
type Turn struct {
	At     int                // its number in the episode, from 1
	Text   string             // what the world read: without the end token
	Sums   bool               `json:",omitempty"` // it is a summary after the turn of that number, with which the context begins anew; the world does not see it
	Reward float64            // finite
	State  string             `json:",omitempty"` // that it leads to: equal texts in a group are equal situations
	Facts  map[string]float64 `json:",omitempty"` // by name; finite
	Reply  []world.Message    `json:",omitempty"` // what the world said
	Calls  []world.Called     `json:",omitempty"` // of tools, that it made
}

// Limit is what ended an episode that the world did not end.
type Limit string

// Limits of an episode.
const (
	OutOfTurns  Limit = "turns"
	OutOfTokens Limit = "tokens"
)

// Drawn says how a segment was sampled: enough to repeat it, and to know how old
// it is.
type Drawn struct {
	Model   string // its role in the run, such as "policy"
	Version int    // updates of that model's weights since the run began
	Params  Params
	Key     random.Key // its random numbers
}

// Params say how tokens are drawn.
type Params struct {
	Temperature float64 // divides the logits; 0: the most likely token
	TopK        int     // the k most likely tokens and those as likely as the k-th; 0: off
	TopP        float64 // the most likely tokens with this probability together; 0 or 1: off
	MinP        float64 // tokens at least this share as likely as the likeliest; 0: off
	MaxTokens   int     // new tokens at most

	StopText []string // end the completion when its text contains one; the text is cut before it
	StopIDs  []int    // end the completion and belong to it, besides the model's end token

	Without []int `json:",omitempty"` // ids that it does not begin with; log-probs are those of draws that may begin with any
}

// Equal says whether two completions would be sampled alike.
func (p Params) Equal(q Params) bool {
	return p.Temperature == q.Temperature && p.TopK == q.TopK && p.TopP == q.TopP && p.MinP == q.MinP && p.MaxTokens == q.MaxTokens &&
		slices.Equal(p.StopText, q.StopText) && slices.Equal(p.StopIDs, q.StopIDs) && slices.Equal(p.Without, q.Without)
}

// learned says that the policy wrote the segment, or is to learn it as if it had.
func (s *Segment) learned() bool { return s.Author == Policy || s.Author == Foreign }

// Ended says that the model or a stop ended the segment, rather than the length limit.
func (s Segment) Ended() bool { return s.Stop == EOS || s.Stop == Text }

// Group is everything that was sampled for one problem.
type Group struct {
	Problem  verify.Problem
	Opening  []world.Message `json:",omitempty"` // what a world says before the first turn; a part of the prompt
	State    string          `json:",omitempty"` // in which the first turn is taken, as the world calls it
	Segments []Segment       // parents stand before their children
	Paths    []Path          // one for each sample, in the order of their numbers
}

// Path is one sample of a group.
type Path struct {
	Leaf     int              // its last segment
	Text     string           // what verifiers read, without the end token
	Verdicts []verify.Verdict // the task's, then those of the stage's own verifiers
	Limit    Limit            `json:",omitempty"` // that ended the episode; "": there is none, or the world ended it
	Sat      *Sat             `json:",omitempty"` // of an episode of several seats; nil: there is one
}

// Sat is what only the path of a seat has, in an episode that several play.
type Sat struct {
	Game  int    // number of the episode among those that were drawn with it, from 1: its seats have the same
	Asked string `json:",omitempty"` // in place of the question; "": the question
	State string `json:",omitempty"` // in which its first turn is taken, as the world calls it
	Heard []Said `json:",omitempty"` // turns of the other seats
}

// Said is a turn of another seat.
type Said struct {
	After      int // turns of its own that a seat took before
	Seat, Text string
}

// Cut says that a limit of tokens ended the path.
func (v View) Cut() bool { return v.Stop == Length || v.Limit == OutOfTokens }

// Verdict is the task's.
func (p Path) Verdict() verify.Verdict { return p.Verdicts[0] }

// Span is the range of places From to To-1 in a sequence of tokens.
type Span struct{ From, To int }

// View is a path laid out flat.
type View struct {
	IDs         []int     // from the root to the leaf: of all contexts, one after the other
	Fresh       []int     // places in IDs where the context begins anew, ascending; nil: there is one context
	Spans       []Span    // what the policy wrote, or is to learn as if it had: ascending, disjoint
	Logprob     []float32 // [token of the spans] nats, as sampled
	Entropy     []float32 // [token of the spans] nats, of the distribution each was drawn from
	Temperature float64   // of the last span
	Stop        Stop      // of the leaf
	Limit       Limit     // that ended the episode
	Group       int       // number of its group among those that are trained on together; 0: none
}

// Way are the segments of a path by their places, from the root to the leaf.
func (g *Group) Way(path int) []int {
	var way []int
	for at := g.Paths[path].Leaf; at >= 0; at = g.Segments[at].Parent {
		way = append(way, at)
	}
	slices.Reverse(way)
	return way
}

// Said are the segments of a path that verifiers read, by their places: what the policy wrote last, from its
// beginning on, which may be given.
func (g *Group) Said(path int) []int {
	at := g.Paths[path].Leaf
	said := []int{at}
	for ; g.continues(at) || g.Segments[g.Segments[at].Parent].Author == Given; at = g.Segments[at].Parent {
		said = append(said, g.Segments[at].Parent)
	}
	slices.Reverse(said)
	return said
}

// IDs are those of some segments, one after the other.
func (g *Group) IDs(places []int) []int {
	var ids []int
	for _, at := range places {
		ids = append(ids, g.Segments[at].IDs...)
	}
	return ids
}

// Learned are the places in the tokens of some segments of those that the policy wrote, or is to learn.
func (g *Group) Learned(places []int) []int {
	var learned []int
	n := 0
	for _, at := range places {
		for k := range g.Segments[at].IDs {
			if g.Segments[at].learned() {
				learned = append(learned, n+k)
			}
		}
		n += len(g.Segments[at].IDs)
	}
	return learned
}

// View lays out a path, by its index. Where the tree forks inside of what the policy wrote at once, a
// span goes on.
func (g *Group) View(path int) View {
	v := View{Stop: g.Segments[g.Paths[path].Leaf].Stop, Limit: g.Paths[path].Limit}
	for _, at := range g.Way(path) {
		s := &g.Segments[at]
		if s.learned() {
			if g.continues(at) {
				v.Spans[len(v.Spans)-1].To += len(s.IDs)
			} else {
				v.Spans = append(v.Spans, Span{len(v.IDs), len(v.IDs) + len(s.IDs)})
			}
			v.Logprob = append(v.Logprob, s.Logprob...)
			v.Entropy = append(v.Entropy, s.Entropy...)
			v.Temperature = s.Drawn.Params.Temperature
		}
		if s.Fresh {
			v.Fresh = append(v.Fresh, len(v.IDs))
		}
		v.IDs = append(v.IDs, s.IDs...)
	}
	return v
}

// Contexts are what a model reads, one after the other: a view of each context, with its part of the spans. Each has
// one, since a context begins anew before a turn.
func (v View) Contexts() []View {
	if v.Fresh == nil {
		return []View{v}
	}
	var out []View
	from, spans, logprob, entropy := 0, v.Spans, v.Logprob, v.Entropy
	for _, to := range append(slices.Clone(v.Fresh), len(v.IDs)) {
		one := v
		one.IDs, one.Fresh, one.Spans = v.IDs[from:to:to], nil, nil
		for len(spans) > 0 && spans[0].To <= to {
			one.Spans, spans = append(one.Spans, Span{spans[0].From - from, spans[0].To - from}), spans[1:]
		}
		if n := one.Tokens(); logprob != nil {
			one.Logprob, one.Entropy, logprob, entropy = logprob[:n:n], entropy[:n:n], logprob[n:], entropy[n:]
		}
		out, from = append(out, one), to
	}
	return out
}

// Last are the tokens of the last context.
func (v View) Last() []int {
	if v.Fresh == nil {
		return v.IDs
	}
	return v.IDs[v.Fresh[len(v.Fresh)-1]:]
}

// After is the view with another prompt before the first token that the policy wrote.
func (v View) After(prompt []int) View {
	from := v.Spans[0].From
	v.IDs = slices.Concat(prompt, v.IDs[from:])
	fresh := v.Fresh
	v.Fresh = nil
	for _, at := range fresh {
		v.Fresh = append(v.Fresh, at-from+len(prompt))
	}
	spans := make([]Span, len(v.Spans))
	for i, s := range v.Spans {
		spans[i] = Span{s.From - from + len(prompt), s.To - from + len(prompt)}
	}
	v.Spans = spans
	return v
}

// With is the group with paths of another one of the same problem in place of some of its
// own, by their numbers, and with those that they replace after its last.
func (g *Group) With(other *Group, numbers []int) Group {
	out := Group{Problem: g.Problem, Opening: g.Opening, State: g.State, Segments: slices.Clone(g.Segments), Paths: slices.Clone(g.Paths)}
	for _, s := range other.Segments {
		if s.Parent >= 0 {
			s.Parent += len(g.Segments)
		}
		out.Segments = append(out.Segments, s)
	}
	for i, n := range numbers {
		p := other.Paths[i]
		p.Leaf += len(g.Segments)
		out.Paths = append(out.Paths, out.Paths[n])
		out.Paths[n] = p
	}
	return out
}

// Turns are the segments of a path that the policy wrote, in their order.
func (g *Group) Turns(path int) []*Segment {
	var turns []*Segment
	for _, at := range g.Way(path) {
		if s := &g.Segments[at]; s.learned() {
			turns = append(turns, s)
		}
	}
	return turns
}

// Situation is that in which a turn is taken, or why it is not known.
type Situation struct{ Text, Why string }

// summing stands before the situation in which a summary is written: the turn after it is taken in the same one.
const summing = "summary\x00"

// Situations are those in which the turns of a path are taken: all first turns of a group are taken in
// the same. That of a summary is another one than that of the turn after it.
func (g *Group) Situations(path int) []Situation {
	var out []Situation
	at := Situation{Text: g.State}
	if sat := g.Paths[path].Sat; sat != nil {
		at.Text = sat.State
	}
	for _, s := range g.Turns(path) {
		taken := at
		if s.Turn != nil && s.Turn.Sums && taken.Why == "" {
			taken.Text = summing + taken.Text
		}
		out = append(out, taken)
		switch {
		case s.Turn == nil:
			at = Situation{Why: "the world broke in the turn before, or did not see it"}
		case s.Turn.State == "":
			at = Situation{Why: "the world does not call the situation after the turn before anything"}
		default:
			at = Situation{Text: s.Turn.State}
		}
	}
	return out
}

// Tokens is the number of tokens of a path that the policy wrote.
func (g *Group) Tokens(path int) int {
	n := 0
	for at := g.Paths[path].Leaf; at >= 0; at = g.Segments[at].Parent {
		if s := &g.Segments[at]; s.learned() {
			n += len(s.IDs)
		}
	}
	return n
}

// Read is the number of tokens that the policy read between those that it wrote.
func (v View) Read() int {
	n := 0
	for i, s := range v.Spans {
		if i > 0 {
			n += s.From - v.Spans[i-1].To
		}
	}
	return n
}

// Lengths are the numbers of tokens of the spans.
func (v View) Lengths() []int {
	var lengths []int
	for _, s := range v.Spans {
		lengths = append(lengths, s.To-s.From)
	}
	return lengths
}

// Number is what the world told about the turn by a name, or why there is none.
func (t *Turn) Number(name string) (x float64, why string) {
	x, there := t.Facts[name]
	switch {
	case t.Sums:
		return math.NaN(), fmt.Sprintf("the world did not see the summary after turn %d", t.At)
	case !there:
		return math.NaN(), fmt.Sprintf("the world tells no %s about turn %d", name, t.At)
	}
	return x, ""
}

// Tokens is the number of tokens that the policy wrote.
func (v View) Tokens() int {
	n := 0
	for _, s := range v.Spans {
		n += s.To - s.From
	}
	return n
}

// Prompt is the number of tokens before the first that the policy wrote.
func (v View) Prompt() int { return v.Spans[0].From }

// Drawn are the ids of the tokens that the policy wrote.
func (v View) Drawn() []int {
	var ids []int
	for _, s := range v.Spans {
		ids = append(ids, v.IDs[s.From:s.To]...)
	}
	return ids
}
