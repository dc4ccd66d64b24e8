package world

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Tooled is the world of problems with one answer, before which a policy may call tools. A turn with
// calls is told what they answer, and what else it says is not read. A turn without calls is the answer:
// it is judged, and the episode is over. So is one that a limit of tokens cut off, none of whose calls are
// made.
//
// Facts of a turn are [FactCalls], the number of its calls, and [FactFailed], how many of them were mistakes; where
// a tool has a price, [FactPrice] too, that of the calls that were made.
// The reward of the answer is its score, and that of every other turn is 0. The situation of a turn is
// what was called before it and what came of it.
type Tooled struct {
	Tools []Tool // of different names
	Judge func(row verify.Problem, answer string, ended bool) verify.Verdict

	// Read reads the calls of a turn, in their order; nil: [Calls].
	Read func(text string, tools []Spec) []Call
	// Apart has each answer say by itself, in the role of a tool. Otherwise all are lines of one message
	// of the user.
	Apart bool
	Most  int // calls of a turn that are made; those after them are mistakes; 0: as many as Read reads
	Bytes int // of an answer, which is else cut in its middle; 0: as many as its tool says

	// Reads says whether a policy can read a text; nil: it reads all. An answer that it cannot read is a
	// mistake, of which it is told [Unread].
	Reads func(text string) bool

	// Mistake, unless it is "", is said in place of the reason why a call is a mistake, to a policy whose
	// vocabulary has no words for reasons.
	Mistake string

	journal Journal // nil: every call is made
}

// Facts of a turn in a world with tools.
const (
	FactCalls  = "calls"
	FactFailed = "calls_failed"
	FactPrice  = "price"
)

// CallFacts are those of a world with tools.
func CallFacts(tools ...Spec) []string {
	facts := []string{FactCalls, FactFailed}
	if slices.ContainsFunc(tools, func(s Spec) bool { return s.Price > 0 }) {
		facts = append(facts, FactPrice)
	}
	return facts
}

// facts are those of a turn.
func (e *tooledEpisode) facts(calls, failed int, price float64) map[string]float64 {
	all := map[string]float64{FactCalls: float64(calls), FactFailed: float64(failed), FactPrice: price}
	if !slices.Contains(CallFacts(e.specs...), FactPrice) {
		delete(all, FactPrice)
	}
	return all
}

// Specs are those of tools.
func Specs(tools []Tool) []Spec {
	specs := make([]Spec, len(tools))
	for i, t := range tools {
		specs[i] = t.Spec()
	}
	return specs
}

// maxState is how long a situation is written out, in bytes. A longer one is its SHA-256: logs have it for
// every turn.
const maxState = 1 << 12

// Canary implements [Checked]: all tools answer what they should.
func (w Tooled) Canary(ctx context.Context) error {
	tested := map[any]bool{}
	for _, t := range w.Tools {
		if s, has := t.(Sibling); has {
			if tested[s.Set()] {
				continue
			}
			tested[s.Set()] = true
		}
		if err := t.Test(ctx); err != nil {
			return ToolFailed(t.Spec().Name, err)
		}
	}
	return nil
}

// Refused implements [Checked]: all calls of the turn were mistakes.
func (w Tooled) Refused(t Turn) Reply {
	e := tooledEpisode{Tooled: w, specs: Specs(w.Tools)}
	calls := e.calls(t)
	said := make([]string, max(1, len(calls)))
	for i := range said {
		if said[i] = Unanswered; w.Reads != nil && !w.Reads(Unanswered) {
			said[i] = Unread
		}
	}
	made := make([]Called, len(calls))
	for i, c := range calls {
		made[i] = Called{c.Tool, c.Args, true}
	}
	return Reply{Messages: e.messages(said), Facts: e.facts(len(calls), len(calls), 0), Calls: made}
}

// Begin implements [World]. It says nothing more than the question.
func (w Tooled) Begin(ctx context.Context, row verify.Problem, _ *random.Rand) (Episode, Reply, error) {
	e := &tooledEpisode{Tooled: w, row: row, specs: Specs(w.Tools), state: "asked"}
	sets := map[any]Session{}
	for i, t := range w.Tools {
		name := e.specs[i].Name
		s, err := opened(ctx, t, row, sets)
		if err != nil {
			return nil, Reply{}, errors.Join(ToolFailed(name, err), e.Close())
		}
		e.sessions = append(e.sessions, s)
	}
	return e, Reply{State: e.state}, nil
}

// opened is the session of a tool in an episode of a problem; sets has those that its siblings are beside.
func opened(ctx context.Context, t Tool, row verify.Problem, sets map[any]Session) (Session, error) {
	sibling, has := t.(Sibling)
	if !has {
		return t.Open(ctx, row)
	}
	if first, there := sets[sibling.Set()]; there {
		return sibling.Beside(first), nil
	}
	s, err := t.Open(ctx, row)
	sets[sibling.Set()] = s
	return s, err
}

type tooledEpisode struct {
	Tooled
	row      verify.Problem
	specs    []Spec
	sessions []Session // of the tools, in their order
	state    string
}

// Through implements [Journaled].
func (w Tooled) Through(j Journal) World {
	w.journal = j
	return w
}

// Step implements [Episode].
func (e *tooledEpisode) Step(ctx context.Context, t Turn) (Reply, error) {
	calls := e.calls(t)
	if len(calls) == 0 {
		row, err := e.left()
		if err != nil {
			return Reply{}, err
		}
		v := verify.Guard(func() verify.Verdict { return e.Judge(row, t.Text, !t.Cut) })
		return Reply{Reward: v.Score, State: "answered", Facts: e.facts(0, 0, 0), Verdict: &v}, nil
	}
	var said []string
	var made []Called
	failed, price := 0, 0.0
	for n, c := range calls {
		a, err := e.answer(ctx, c, t.At, n+1)
		if err != nil {
			return Reply{}, err
		}
		if c.Mistake == "" {
			price += e.specs[e.tool(c.Tool)].Price
		}
		if a.Failed && e.Mistake != "" {
			a.Text = e.Mistake
		}
		if a.Text = shortened(a.Text, e.Bytes); e.Reads != nil && !e.Reads(a.Text) {
			a = Answer{Text: Unread, Failed: true}
		}
		if a.Failed {
			failed++
		}
		said, made = append(said, a.Text), append(made, Called{c.Tool, c.Args, a.Failed})
		e.state += "\n" + c.Tool + string(c.Args) + " = " + a.Text
	}
	if len(e.state) > maxState {
		e.state = fmt.Sprintf("%x", sha256.Sum256([]byte(e.state)))
	}
	return Reply{
		Messages: e.messages(said),
		State:    e.state,
		Facts:    e.facts(len(calls), failed, price),
		Calls:    made,
	}, nil
}

// CatchUp implements [Follower]: the sessions do so whose calls in a turn no journal answers.
func (e *tooledEpisode) CatchUp(ctx context.Context, t *Turn) error {
	if t == nil || !slices.ContainsFunc(e.sessions, func(s Session) bool { _, starts := s.(Starter); return starts }) {
		return nil
	}
	for n, c := range e.foreseen(*t) {
		i := e.tool(c.Tool)
		if i < 0 || c.Mistake != "" || e.kept(i) && e.journal.Knows(e.asked(i, c, t.At, n+1)) {
			continue
		}
		if s, starts := e.sessions[i].(Starter); starts {
			if err := s.CatchUp(ctx); err != nil {
				return ToolFailed(c.Tool, err)
			}
		}
	}
	return nil
}

// foreseen are the calls of a turn; none if reading them panics, which Step then does too: that is what the policy wrote,
// and no fault of catching up.
func (e *tooledEpisode) foreseen(t Turn) (calls []Call) {
	defer func() {
		if recover() != nil {
			calls = nil
		}
	}()
	return e.calls(t)
}

// tool is the place of the tool with a name; less than 0: there is none.
func (e *tooledEpisode) tool(name string) int {
	return slices.IndexFunc(e.specs, func(s Spec) bool { return s.Name == name })
}

// kept says that a journal keeps what a tool answers.
func (e *tooledEpisode) kept(tool int) bool { return e.journal != nil && !e.specs[tool].Pure }

// asked is a call of a tool as a journal knows it; turn and number are its place in the episode.
func (e *tooledEpisode) asked(tool int, c Call, turn, number int) Asked {
	return Asked{Turn: turn, Number: number, Tool: c.Tool, Args: c.Args, Effects: e.specs[tool].Effects}
}

// Unread is said in place of an answer that a policy has no words for.
const Unread = "?"

// left is the row with what the sessions leave.
func (e *tooledEpisode) left() (verify.Problem, error) {
	row := e.row
	for i, s := range e.sessions {
		l, leaves := s.(Leaver)
		if !leaves {
			continue
		}
		column, value, err := l.Left()
		if err != nil {
			return row, ToolFailed(e.specs[i].Name, err)
		}
		other := map[string]json.RawMessage{column: value}
		for name, raw := range row.Metadata {
			if name != column {
				other[name] = raw
			}
		}
		row.Metadata = other
	}
	return row, nil
}

// calls are those of a turn, with a mistake for the first that is one too many.
func (e *tooledEpisode) calls(t Turn) []Call {
	if t.Cut {
		return nil
	}
	read := e.Read
	if read == nil {
		read = Calls
	}
	calls := read(t.Text, e.specs)
	if e.Most > 0 && len(calls) > e.Most {
		calls[e.Most] = Call{Tool: calls[e.Most].Tool, Mistake: tooMany(e.Most)}
		calls = calls[:e.Most+1]
	}
	return calls
}

// messages say what the calls of a turn answer.
func (e *tooledEpisode) messages(said []string) []Message {
	if !e.Apart {
		return []Message{{User, strings.Join(said, "\n")}}
	}
	out := make([]Message, len(said))
	for i, text := range said {
		out[i] = Message{Answered, text}
	}
	return out
}

// answer is what the tool of a call says; turn and number are its place in the episode.
func (e *tooledEpisode) answer(ctx context.Context, c Call, turn, number int) (Answer, error) {
	if c.Mistake != "" {
		return Answer{Text: c.Mistake, Failed: true}, nil
	}
	i := e.tool(c.Tool)
	if i < 0 {
		return Answer{}, fmt.Errorf("there is no tool %q", c.Tool)
	}
	called := false
	call := func() (Answer, error) {
		called = true
		a, err := e.sessions[i].Call(ctx, c.Args)
		a.Text = shortened(strings.ToValidUTF8(a.Text, "�"), e.Bytes) // the journal keeps what is read
		return a, err
	}
	var a Answer
	var err error
	if e.kept(i) {
		a, err = e.journal.Answer(e.asked(i, c, turn, number), call)
	} else {
		a, err = call()
	}
	if err != nil {
		return a, ToolFailed(c.Tool, err)
	}
	if l, learns := e.sessions[i].(Learner); learns && !called {
		l.Told(c.Args, a)
	}
	return a, nil
}

// Close implements [Episode].
func (e *tooledEpisode) Close() error {
	var errs []error
	for _, s := range e.sessions {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// shortened is a text of at most so many bytes, with its beginning and its end; 0: as it is.
func shortened(text string, most int) string {
	if most == 0 || len(text) <= most {
		return text
	}
	left := fmt.Sprintf("\n[%d bytes are left out]\n", len(text)-most)
	keep := max(0, most-len(left))
	return strings.ToValidUTF8(text[:keep-keep/2], "") + left + strings.ToValidUTF8(text[len(text)-keep/2:], "")
}
