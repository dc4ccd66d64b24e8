package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/rlzero/rlzero/verify"
)

// Tool is what a policy may call before it answers. It is immutable and safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Test makes a call whose answer is known, in a session of its own. An error says that the tool is broken.
	Test(ctx context.Context) error
	// Open is what answers the calls of an episode of a problem. An error says that the tool is broken.
	Open(ctx context.Context, row verify.Problem) (Session, error)
}

// Session answers the calls of one episode, one after the other. It belongs to one goroutine.
type Session interface {
	// Call is the answer to a call with arguments, a JSON object. Arguments that are wrong have an answer
	// that says so; an error says that the tool broke. A tool bounds how long its answers are.
	Call(ctx context.Context, args json.RawMessage) (Answer, error)
	// Close gives back what the session holds. It is called once.
	Close() error
}

// Leaver is a Session that leaves something: the answer is judged with a row that has it as a column.
type Leaver interface {
	Session
	Left() (column string, value json.RawMessage, err error)
}

// Learner is a Session whose answers depend on the calls before them. Told is called in place of Call
// where a journal knows the answer, so that the session knows what it would know after that call.
type Learner interface {
	Session
	Told(args json.RawMessage, a Answer)
}

// Starter is a Session that has something to start, or to catch up with, before a call is made. CatchUp does that: it
// has a clock of its own, so that none of it counts as time of the turn. Call does what is left of it.
type Starter interface {
	Session
	CatchUp(ctx context.Context) error
}

// Sibling is a Tool that shares something with others, such as a program: those of an equal Set. One Test is that
// of all of them. An episode opens one, and the others have their sessions beside that.
type Sibling interface {
	Tool
	Set() any
	// Beside is the tool's session in an episode in which s is that of a sibling, which Open has opened. It is
	// closed after s.
	Beside(s Session) Session
}

// ToolName says whether a tool can be called so, in calls and in names of metrics: by letters, digits and _, at most 64,
// a letter or _ first.
func ToolName(name string) bool { return toolName.MatchString(name) }

var toolName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// Spec describes a tool.
type Spec struct {
	Name  string          // letters, digits and _
	About string          // what it does, for a policy: a sentence
	Args  json.RawMessage // the JSON schema of its arguments, of an object
	Text  string          // the argument that is given where a call is a text; "": none, so calls are objects
	Pure  bool            // equal calls of a session after equal ones have equal answers, and change nothing outside of it
	// Effects says that calls change something outside of the session, so that none is made twice.
	Effects bool
	Leaves  string  // the column of a row that its sessions leave, see [Leaver]; "": they leave nothing
	Price   float64 // of a call; 0: it costs nothing
}

// Journal remembers what tools that are not pure answered in an episode.
type Journal interface {
	// Answer is what is known of a call, or else what call says, which is known from then on. A call with
	// effects that was begun and whose answer is not known is [ErrOnce].
	Answer(c Asked, call func() (Answer, error)) (Answer, error)
	// Knows says that Answer comes to an answer or an error without a call.
	Knows(c Asked) bool
	// Fault says whether it is known that a turn had no reply, and why; nil: the policy was told what
	// [Checked] has for a turn that is refused.
	Fault(turn int) (why error, known bool)
	// Failed makes that known. What is answered to calls of the turn later is not.
	Failed(turn int, why error) error
}

// ToolError is why an episode has no reply where it is one of its tools that failed.
type ToolError struct {
	Tool string // its name
	error
}

// ToolFailed is that of a tool.
func ToolFailed(tool string, err error) error {
	return &ToolError{tool, fmt.Errorf("tool %s: %w", tool, err)}
}

// KnownFault is a fault that a journal keeps; tool "": it was none of the tools.
func KnownFault(tool, text string) error {
	if tool == "" {
		return errors.New(text)
	}
	return &ToolError{tool, errors.New(text)}
}

// Unwrap is for [errors.Is].
func (e *ToolError) Unwrap() error { return e.error }

// Asked is a call in an episode.
type Asked struct {
	Turn, Number int // from 1: of the episode, where 0 is what comes before its first turn, and of the calls of the turn
	Tool         string
	Args         json.RawMessage
	Effects      bool
}

// Journaled is a World with something that is not pure. The episode of its like that Through gives asks a
// journal before it calls that.
type Journaled interface {
	World
	Through(j Journal) World
}

// Faults of a world that no turn is to blame for, however often they come. The episode is not scored.
var (
	// ErrUnable: a tool cannot be run now, whatever it is asked: the machine is too busy, or lacks what it
	// needs.
	ErrUnable = errors.New("it cannot be run on this machine")
	// ErrSpoken: the program of others that a world or a tool is says what has no meaning.
	ErrSpoken = errors.New("what the program says is not accepted")
)

// Errors of a [Journal].
var (
	// ErrOnce: a call with effects may have been made, and is not made twice.
	ErrOnce = errors.New("the call may have been made before, and is not made twice as the tool has effects")
	// ErrJournal: the journal is another one, or cannot be written. The run ends.
	ErrJournal = errors.New("the journal of calls")
)

// Named is a tool by another name.
func Named(t Tool, name string) Tool {
	if t.Spec().Name == name {
		return t
	}
	return named{t, name}
}

// Changed is a tool with what do makes of it; one that was [Named] keeps its name.
func Changed(t Tool, do func(Tool) Tool) Tool {
	if n, is := t.(named); is {
		return named{do(n.Tool), n.name}
	}
	return do(t)
}

// Unnamed is a tool that may have been [Named], as it was made.
func Unnamed(t Tool) Tool {
	if n, is := t.(named); is {
		return n.Tool
	}
	return t
}

type named struct {
	Tool
	name string
}

// Spec implements [Tool].
func (n named) Spec() Spec {
	s := n.Tool.Spec()
	s.Name = n.name
	return s
}

// Answer is what a tool says.
type Answer struct {
	Text   string
	Failed bool // the call was a mistake, which the text explains
}
