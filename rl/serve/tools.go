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
	name       string
	parameters json.RawMessage // a JSON schema of an object; nil: there are none
	strict     bool
	at         string // where it stands in the request
	schemaAt   string // and its parameters
}

// toolBody is one of tools.
type toolBody struct {
	tool
	kind     string
	function json.RawMessage
}

var toolKeys = keys[toolBody]{
	{"type", word(func(t *toolBody) *string { return &t.kind })},
	{"function", raw(func(t *toolBody) *json.RawMessage { return &t.function })},
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

// toolChoice says whether an answer has to call.
type toolChoice struct {
	mode string // "none", "auto", "required"; "": nothing is said
	name string // of the function that is required; "": any
	at   string // where it stands in the request
}

// callable are the calls that an answer may have.
type callable struct {
	chat.Calls
	names []string
	must  bool // nothing but calls
}

// mustCall says whether nothing but calls is to be written.
func (q *query) mustCall() bool { return q.callable != nil && q.callable.must }

const noCalls = "the model's chat template writes no calls of tools in a form that is known here: those of Qwen and Hermes, Llama 3 and Mistral"

// allowTools finds what an answer may call, or has to, and returns the tools as the template
// reads them.
func (s *Server) allowTools(q *query) (forTemplate any, err *fault) {
	if err := q.choice.among(q.tools); err != nil || len(q.tools) == 0 || q.choice.mode == "none" {
		return nil, err
	}
	if s.calls == nil {
		return nil, unsupported("tools", "%s", noCalls)
	}
	must := q.choice.mode == "required"
	if q.form != nil && must {
		return nil, unsupported(q.wire.format, `%s is about text, and %s asks for a call; accepted: one of them, or %[2]s "auto"`, q.wire.format, q.choice.at)
	}
	q.callable = &callable{Calls: *s.calls, must: must}
	for _, t := range q.tools {
		if q.choice.name == "" || q.choice.name == t.name {
			q.callable.names = append(q.callable.names, t.name)
		}
	}
	switch {
	case must:
		q.form = s.callForm(q)
	case q.form != nil: // a call, or text of the form
		if s.calls.Begin == "" { // what tells the two apart is the text alone, and both forms admit some
			if err := q.unheld(); err != nil {
				return nil, err
			}
		}
		text, calls := *q.form, *s.callForm(q)
		q.form = &form{grammar.OneOf(calls.Form, text.Form), "tools", calls.key + " or " + text.key, []form{text, calls}}
	default:
		if err := q.unheld(); err != nil {
			return nil, err
		}
	}
	value, wrong := template.DecodeJSON(q.toolList)
	if wrong != nil {
		return nil, bad("tools", "tools: %v", wrong)
	}
	return value, nil
}

// readToolList reads tools, which templates read as they are.
func (q *query) readToolList(name string, value json.RawMessage) *fault {
	q.toolList = value
	return q.eachTool(name, value, `{"type":"function","function":{"name":"...","parameters":{...}}}`, func(at string, raw json.RawMessage) (t tool, err *fault) {
		var b toolBody
		if _, err := toolKeys.read(at, raw, &b, false); err != nil {
			return t, err
		}
		if b.kind != "function" || b.function == nil {
			return t, invalidValue(at+".type", `%s is no function; accepted: {"type":"function","function":{...}}`, at)
		}
		t.at, t.schemaAt = at+".function", at+".function.parameters"
		_, err = functionKeys.read(t.at, b.function, &t, false)
		return t, err
	})
}

// eachTool reads a list of tools.
func (q *query) eachTool(name string, value json.RawMessage, such string, read func(at string, raw json.RawMessage) (tool, *fault)) *fault {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil || len(list) > maxTools {
		return invalidType(name, `%s is %s; accepted: a list of at most %d tools such as %s`, name, kindOf(value), maxTools, such)
	}
	for i, raw := range list {
		t, err := read(element(name, i), raw)
		switch {
		case err != nil:
			return err
		case !toolName.MatchString(t.name):
			return invalidValue(t.at+".name", "%s.name is %q; accepted: 1 to 64 letters, digits, _ and -", t.at, t.name[:min(len(t.name), maxShown)])
		case slices.ContainsFunc(q.tools, func(o tool) bool { return o.name == t.name }):
			return bad(t.at+".name", "there are two functions %q", t.name)
		}
		q.tools = append(q.tools, t)
	}
	return nil
}

// read reads tool_choice.
func (c *toolChoice) read(name string, raw json.RawMessage) *fault {
	c.at = name
	if json.Unmarshal(raw, &c.mode) == nil {
		return c.known(`{"type":"function","function":{"name":"..."}}`)
	}
	var b toolBody
	if _, err := toolKeys.read(name, raw, &b, false); err != nil {
		return err
	}
	if b.function != nil {
		if _, err := functionKeys.named("name").read(name+".function", b.function, &b.tool, false); err != nil {
			return err
		}
	}
	return c.require(b.name)
}

// known refuses another mode.
func (c *toolChoice) known(orSuch string) *fault {
	if slices.Contains([]string{"none", "auto", "required"}, c.mode) {
		return nil
	}
	return invalidValue(c.at, `%s is %q; accepted: "none", "auto", "required", or %s`, c.at, c.mode[:min(len(c.mode), maxShown)], orSuch)
}

// require asks for a call of a function.
func (c *toolChoice) require(name string) *fault {
	c.mode, c.name = "required", name
	if name == "" {
		return missing(c.at, "%s names no function", c.at)
	}
	return nil
}

// among refuses a call that no tool answers.
func (c *toolChoice) among(tools []tool) *fault {
	switch {
	case c.name != "" && !slices.ContainsFunc(tools, func(t tool) bool { return t.name == c.name }):
		return bad(c.at, "%s names the function %q, and no tool has that name", c.at, c.name[:min(len(c.name), maxShown)])
	case c.mode == "required" && len(tools) == 0:
		return bad(c.at, "%s asks for a call, and there are no tools", c.at)
	}
	return nil
}

// unheld refuses what only a grammar can promise, where the model may answer as it likes.
func (q *query) unheld() *fault {
	with := `a tool_choice of "required" or of a function`
	if q.callable.Begin != "" {
		with += ", or with a response_format"
	}
	for _, t := range q.tools {
		if t.strict {
			return unsupported(t.at+".strict", "strict goes with %s; accepted otherwise: false", with)
		}
	}
	if q.oneCall && q.callable.Between != "" {
		return unsupported("parallel_tool_calls", "parallel_tool_calls false goes with %s; accepted otherwise: true", with)
	}
	return nil
}

// callForm is that of calls, with arguments that follow their schemas.
func (s *Server) callForm(q *query) *form {
	c := q.callable
	var forms []grammar.Form
	var parts []form
	for _, t := range q.tools {
		if t.parameters == nil {
			t.parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
		}
		arguments := grammar.JSON(t.parameters)
		parts = append(parts, form{arguments, t.schemaAt, "", nil})
		if slices.Contains(c.names, t.name) {
			forms = append(forms, grammar.Sequence(grammar.Text(fmt.Sprintf(`{"name": %q, %q: `, t.name, c.Arguments)), arguments, grammar.Text("}")))
		}
	}
	calls := grammar.OneOf(forms...)
	if c.Between != "" && !q.oneCall {
		calls = grammar.List(calls, grammar.Text(s.marked(c.Between)))
	}
	whole := grammar.Sequence(grammar.Text(s.marked(c.Begin)), calls, grammar.Text(s.marked(c.End)))
	return &form{whole, "tools", fmt.Sprintf("calls %v %v %s", c.names, q.oneCall, q.toolList), parts}
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
		sum := sha256.Sum256(fmt.Appendf(nil, "%s-%s %d %d", t.q.wire.name, t.sum, choice, i))
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
	if c.must {
		c.held, c.begun = c.held+t, true
		return ""
	}
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

// end returns the calls, or the rest of the text. Where nothing but calls was to be written,
// what is left of one that was cut off is no text.
func (c *caller) end() (t string, calls []chat.Call) {
	if c.begun {
		if calls, ok := c.Read(c.held, c.names); ok {
			return "", calls
		}
	}
	if c.must {
		return "", nil
	}
	return c.held, nil
}
