package world

import (
	"context"
	"encoding/json"
)

// Tool is what a policy may call before it answers. It is immutable and safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Call is the answer to a call with arguments, a JSON object. Arguments that are wrong have an answer
	// that says so; an error says that the tool broke. A tool bounds how long its answers are.
	Call(ctx context.Context, args json.RawMessage) (Answer, error)
}

// Spec describes a tool.
type Spec struct {
	Name  string          // letters, digits and _
	About string          // what it does, for a policy: a sentence
	Args  json.RawMessage // the JSON schema of its arguments, of an object
	Text  string          // the argument that is given where a call is a text; "": none, so calls are objects
	Pure  bool            // equal calls have equal answers, and change nothing
}

// Answer is what a tool says.
type Answer struct {
	Text   string
	Failed bool // the call was a mistake, which the text explains
}
