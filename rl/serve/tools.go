package serve

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model/grammar"
	"github.com/rlzero/rlzero/model/text/template"
	"github.com/rlzero/rlzero/rl/chat"
)

// tool is a function that an answer may call.
type tool struct {
	kind       string
	function   json.RawMessage
	name       string
	parameters json.RawMessage // a JSON schema of an object; nil: there are none
	strict     bool
}

var toolKeys = keys[tool]{
	{"type", word(func(t *tool) *string { return &t.kind })},
	{"function", raw(func(t *tool) *json.RawMessage { return &t.function })},
}

var functionKeys = keys[tool]{
	{"name", word(func(t *tool) *string { return &t.name })},
	{"description", word(func(*tool) *string { return new(string) })},
	{"parameters", raw(func(t *tool) *json.RawMessage { return &t.parameters })},
	{"strict", truth(func(t *tool) *bool { return &t.strict })},
}

// toolName is that of OpenAI's API, https://platform.openai.com/docs/api-reference/chat.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

const maxTools = 128

// toolChoice is tool_choice.
type toolChoice struct {
	mode string // "none", "auto" or "required"
	name string // of the function that is required; "": any
}

// callable are the calls that an answer may have.
type callable struct {
	chat.Calls
	names []string
}

const noCalls = "the model's chat template writes no calls of tools in a form that is known here: those of Qwen and Hermes, Llama 3 and Mistral"

// readTools reads what an answer may call, or has to, and returns the tools as the
// template reads them.
func (s *Server) readTools(q *query) (forTemplate any, err *fault) {
	tools, err := readToolList(q.tools)
	if err != nil {
		return nil, err
	}
	choice, err := readToolChoice(q.toolChoice, tools)
	if err != nil || len(tools) == 0 || choice.mode == "none" {
		return nil, err
	}
	if s.calls == nil {
		return nil, unsupported("tools", "%s", noCalls)
	}
	if q.form != nil && choice.mode == "required" {
		return nil, unsupported("response_format", `response_format is about text, and tool_choice asks for a call; accepted: one of them, or tool_choice "auto"`)
	}
	q.callable = &callable{Calls: *s.calls}
	for _, t := range tools {
		if choice.name == "" || choice.name == t.name {
			q.callable.names = append(q.callable.names, t.name)
		}
	}
	switch {
	case choice.mode == "required":
		q.form = s.callForm(q, tools)
	case q.form != nil: // a call, or text of the form
		if s.calls.Begin == "" { // what tells the two apart is the text alone, and both forms admit some
			if err := q.unheld(tools); err != nil {
				return nil, err
			}
		}
		text, calls := *q.form, *s.callForm(q, tools)
		q.form = &form{grammar.OneOf(calls.Form, text.Form), "tools", calls.key + " or " + text.key, []form{text, calls}}
	default:
		if err := q.unheld(tools); err != nil {
			return nil, err
		}
	}
	value, wrong := template.DecodeJSON(q.tools)
	if wrong != nil {
		return nil, bad("tools", "tools: %v", wrong)
	}
	return value, nil
}

func readToolList(raw json.RawMessage) ([]tool, *fault) {
	if raw == nil {
		return nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) > maxTools {
		return nil, bad("tools", `tools is %s; accepted: a list of at most %d tools such as {"type":"function","function":{"name":"...","parameters":{...}}}`, kindOf(raw), maxTools)
	}
	tools := make([]tool, len(list))
	for i, raw := range list {
		t, at := &tools[i], element("tools", i)
		if _, err := toolKeys.read(at, raw, t, false); err != nil {
			return nil, err
		}
		if t.kind != "function" || t.function == nil {
			return nil, bad(at+".type", `%s is no function; accepted: {"type":"function","function":{...}}`, at)
		}
		at += ".function"
		if _, err := functionKeys.read(at, t.function, t, false); err != nil {
			return nil, err
		}
		if !toolName.MatchString(t.name) {
			return nil, bad(at+".name", "%s.name is %q; accepted: 1 to 64 letters, digits, _ and -", at, t.name[:min(len(t.name), maxShown)])
		}
		if slices.ContainsFunc(tools[:i], func(o tool) bool { return o.name == t.name }) {
			return nil, bad(at+".name", "there are two functions %q", t.name)
		}
	}
	return tools, nil
}

func readToolChoice(raw json.RawMessage, tools []tool) (toolChoice, *fault) {
	const name = "tool_choice"
	c := toolChoice{mode: "auto"}
	if raw == nil {
		return c, nil
	}
	var one tool
	if json.Unmarshal(raw, &c.mode) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, c.mode) {
			return c, bad(name, `%s is %q; accepted: "none", "auto", "required", or {"type":"function","function":{"name":"..."}}`, name, c.mode[:min(len(c.mode), maxShown)])
		}
	} else {
		c.mode = "required"
		if _, err := toolKeys.read(name, raw, &one, false); err != nil {
			return c, err
		}
		if one.function != nil {
			if _, err := functionKeys[:1].read(name+".function", one.function, &one, false); err != nil {
				return c, err
			}
		}
		if c.name = one.name; !slices.ContainsFunc(tools, func(t tool) bool { return t.name == c.name }) {
			return c, bad(name, "%s names the function %q, and no tool has that name", name, c.name[:min(len(c.name), maxShown)])
		}
	}
	if c.mode == "required" && len(tools) == 0 {
		return c, bad(name, "%s asks for a call, and there are no tools", name)
	}
	return c, nil
}

// unheld refuses what only a grammar can promise, where the model may answer as it likes.
func (q *query) unheld(tools []tool) *fault {
	with := `a tool_choice of "required" or of a function`
	if q.callable.Begin != "" {
		with += ", or with a response_format"
	}
	for i, t := range tools {
		if t.strict {
			return unsupported(element("tools", i)+".function.strict", "strict goes with %s; accepted otherwise: false", with)
		}
	}
	if q.oneCall && q.callable.Between != "" {
		return unsupported("parallel_tool_calls", "parallel_tool_calls false goes with %s; accepted otherwise: true", with)
	}
	return nil
}

// callForm is that of calls, with arguments that follow their schemas.
func (s *Server) callForm(q *query, tools []tool) *form {
	c := q.callable
	var forms []grammar.Form
	var parts []form
	for i, t := range tools {
		if t.parameters == nil {
			t.parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
		}
		arguments := grammar.JSON(t.parameters)
		parts = append(parts, form{arguments, element("tools", i) + ".function.parameters", "", nil})
		if slices.Contains(c.names, t.name) {
			forms = append(forms, grammar.Sequence(grammar.Text(fmt.Sprintf(`{"name": %q, %q: `, t.name, c.Arguments)), arguments, grammar.Text("}")))
		}
	}
	calls := grammar.OneOf(forms...)
	if c.Between != "" && !q.oneCall {
		calls = grammar.List(calls, grammar.Text(s.marked(c.Between)))
	}
	whole := grammar.Sequence(grammar.Text(s.marked(c.Begin)), calls, grammar.Text(s.marked(c.End)))
	return &form{whole, "tools", fmt.Sprintf("calls %v %v %s", c.names, q.oneCall, q.tools), parts}
}

// marked writes the words of a text that are control tokens as grammars know them.
func (s *Server) marked(t string) string {
	for _, w := range strings.Fields(t) {
		if id, ok := s.m.Tokenizer.ID(w); ok && s.m.Tokenizer.Special(id) {
			t = strings.ReplaceAll(t, w, string(grammar.TokenBytes(id)))
		}
	}
	return t
}

// toolCall is a call in an answer.
type toolCall struct {
	Index    *int         `json:"index,omitempty"` // in a stream
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function calledByName `json:"function"`
}

type calledByName struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// callsOf are the calls of a choice. Their ids are a function of the answer, and have the
// nine letters and digits that Mistral's templates ask for.
func (t *telling) callsOf(choice int, calls []chat.Call) (out []toolCall) {
	for i, c := range calls {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", t.head.ID, choice, i))
		out = append(out, toolCall{ID: fmt.Sprintf("%x", sum[:5])[:9], Type: "function", Function: calledByName{c.Name, string(c.Arguments)}})
	}
	return out
}

// caller finds calls in the text of a completion. From where they may begin it holds the
// text back: what turns out to be none is text.
type caller struct {
	*callable
	held  string
	begun bool
	given bool // text was passed on
}

func (c *caller) add(t string) string {
	if c.given && c.Begin == "" { // calls would have been the whole answer
		return t
	}
	c.held += t
	if c.begun {
		return ""
	}
	var at int
	at, c.begun = c.Starts(c.held)
	t, c.held = c.held[:at], c.held[at:]
	c.given = c.given || t != ""
	return t
}

// end returns the calls, or the rest of the text.
func (c *caller) end() (t string, calls []chat.Call) {
	if c.begun {
		if calls, ok := c.Read(c.held, c.names); ok {
			return "", calls
		}
	}
	return c.held, nil
}
