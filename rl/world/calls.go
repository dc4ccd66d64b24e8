package world

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds on the calls of a turn.
const (
	maxCalls     = 16      // what follows is not read; max_calls in rl/recipe has the same bound
	maxCallBytes = 1 << 16 // between the tags of a call
)

// Call is a call of a tool, as a policy wrote it.
type Call struct {
	Tool    string          // its name
	Args    json.RawMessage // an object; nil if there is a mistake
	Mistake string          // why the call cannot be made; "": it can
}

// Calls are the calls in a text, in their order. A call stands between the tags of its tool:
//
//	<calculator>7*8</calculator>
//	<calculator>{"expression": "7*8"}</calculator>
//
// A JSON object between them has the arguments; any other text is the argument that the tool takes
// as a text. A tag within a call is a part of it. Names in tags that no tool has are text, as is an end
// without a beginning. A call without an end, one that is too long, and one after the sixteenth are
// mistakes, after which nothing is read. The work is linear in the text.
func Calls(text string, tools []Spec) []Call {
	var calls []Call
	for {
		tool, rest := nextCall(text, tools)
		if tool == nil {
			return calls
		}
		inner, after, ended := strings.Cut(rest, "</"+tool.Name+">")
		mistake := ""
		switch {
		case len(calls) == maxCalls:
			mistake = tooMany(maxCalls)
		case !ended:
			mistake = fmt.Sprintf("the call has no end; accepted: </%s>", tool.Name)
		case len(inner) > maxCallBytes:
			mistake = fmt.Sprintf("the call has %d bytes; accepted: at most %d", len(inner), maxCallBytes)
		}
		if mistake != "" {
			return append(calls, Call{Tool: tool.Name, Mistake: mistake})
		}
		calls = append(calls, tool.call(strings.TrimSpace(inner)))
		text = after
	}
}

// nextCall is the tool of the first call in a text, and what follows its tag; nil: there is none.
func nextCall(text string, tools []Spec) (*Spec, string) {
	for {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			return nil, ""
		}
		text = text[at+1:]
		for i := range tools {
			if rest, begins := strings.CutPrefix(text, tools[i].Name+">"); begins {
				return &tools[i], rest
			}
		}
	}
}

// call is a call with what stands between the tags.
func (s *Spec) call(inner string) Call {
	switch {
	case strings.HasPrefix(inner, "{"):
		if !json.Valid([]byte(inner)) {
			return Call{Tool: s.Name, Mistake: "the arguments are not one JSON object"}
		}
		return Call{Tool: s.Name, Args: json.RawMessage(inner)}
	case s.Text == "":
		return Call{Tool: s.Name, Mistake: "the arguments are no JSON object"}
	}
	args, err := json.Marshal(map[string]string{s.Text: inner})
	if err != nil {
		panic(err) // a text is JSON
	}
	return Call{Tool: s.Name, Args: args}
}

// tooMany is the mistake of a turn with more calls than that.
func tooMany(most int) string {
	return fmt.Sprintf("a turn may have at most %d calls; those after them were not made", most)
}
