package serve

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/rlzero/rlzero/rl/chat"
)

// The format of /v1/messages, https://docs.anthropic.com/en/api/messages.
var messagesWire = &wire{read: readMessages, whole: wholeMessage, stream: newMessageEvents, refuse: messageRefusal, prompt: "messages", format: "output_config.format", name: "msg"}

// messagesBody is a body of it.
type messagesBody struct {
	query
	system any // as the content of a turn; nil: nothing is said
}

func (b *messagesBody) ofQuery() *query { return &b.query }

var messagesKeys = slices.Concat(within(drawing, (*messagesBody).ofQuery), keys[messagesBody]{
	{"messages", func(b *messagesBody, name string, raw json.RawMessage) (err *fault) {
		b.turns, err = readBlocks(name, raw)
		return err
	}},
	{"system", func(b *messagesBody, name string, raw json.RawMessage) (err *fault) {
		b.system, err = contentOf(name, raw, "text")
		return err
	}},
	{"max_tokens", whole(1, 1<<30, func(b *messagesBody) *int { return &b.max })},
	{"stop_sequences", stops(func(b *messagesBody) *[]string { return &b.stop })},
	{"tools", func(b *messagesBody, name string, raw json.RawMessage) *fault { return b.readSchemaTools(name, raw) }},
	{"tool_choice", func(b *messagesBody, name string, raw json.RawMessage) *fault { return b.readAnyChoice(name, raw) }},
	{"output_config", func(b *messagesBody, name string, raw json.RawMessage) *fault {
		_, err := keys[query]{
			{"format", func(q *query, name string, raw json.RawMessage) *fault { return q.format.readFlat(name, raw) }},
			{"effort", func(q *query, name string, raw json.RawMessage) *fault { return q.effort.read(name, raw) }},
		}.read(name, raw, &b.query, false)
		return err
	}},
	{"thinking", func(_ *messagesBody, name string, raw json.RawMessage) *fault {
		if kind, err := itemKind(name, raw, ""); err != nil || kind != "disabled" {
			return unsupported(name, `%s is not supported: thoughts are text of the answer; accepted: {"type":"disabled"}`, name)
		}
		return nil
	}},
	{"service_tier", only[messagesBody]("there is one tier", `"auto"`, `"standard_only"`)},
	{"cache_control", passed[messagesBody]}, // which prompts are kept changes no answer
	{"mcp_servers", only[messagesBody]("the server runs no tools of its own", "[]")},
	{"container", only[messagesBody]("the server runs no tools of its own")},
})

func readMessages(w *wire, data []byte, lenient bool) (_ *query, err *fault) {
	b := &messagesBody{query: *newQuery(w)}
	if b.unnoticed, err = messagesKeys.read("", data, b, lenient); err != nil {
		return nil, err
	}
	if b.turns == nil {
		return nil, missing("messages", `there is no "messages"; accepted: [{"role":"user","content":"..."}]`)
	}
	if b.system != nil {
		b.turns = slices.Insert(b.turns, 0, turn{Role: chat.System, Content: b.system})
	}
	return &b.query, nil
}

// spokenTurn is a message, whose content may be several turns of a template.
type spokenTurn struct {
	role    string
	content json.RawMessage
}

var spokenKeys = keys[spokenTurn]{
	{"role", func(t *spokenTurn, name string, raw json.RawMessage) *fault {
		if _ = json.Unmarshal(raw, &t.role); t.role != chat.User && t.role != chat.Assistant {
			return invalidValue(name, `%s is %s; accepted: "user", "assistant"`, name, kindOf(raw))
		}
		return nil
	}},
	{"content", raw(func(t *spokenTurn) *json.RawMessage { return &t.content })},
}

// readBlocks reads messages: what a tool answered is a turn of its own.
func readBlocks(name string, value json.RawMessage) ([]turn, *fault) {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil || len(all) == 0 {
		return nil, notList(value, name, `%s is %s; accepted: a list of messages such as {"role":"user","content":"..."}`, name, kindOf(value))
	}
	var turns []turn
	for i, raw := range all {
		at, m := element(name, i), spokenTurn{}
		if _, err := spokenKeys.read(at, raw, &m, false); err != nil {
			return nil, err
		}
		switch {
		case m.role == "":
			return nil, missing(at+".role", `%s has no role; accepted: "user", "assistant"`, at)
		case m.content == nil:
			return nil, missing(at+".content", "%s has no content; accepted: a text", at)
		}
		more, err := m.turns(at + ".content")
		if err != nil {
			return nil, err
		}
		turns = append(turns, more...)
	}
	return turns, nil
}

// blocks are those that are no text.
var (
	toolUseKeys = append(keys[turnCall]{{"id", word(func(c *turnCall) *string { return &c.ID })}}, itemKeys(
		key[turnCall]{"name", word(func(c *turnCall) *string { return &c.Function.Name })},
		key[turnCall]{"input", func(c *turnCall, name string, raw json.RawMessage) *fault {
			if raw[0] != '{' {
				return invalidType(name, "%s is %s; accepted: an object", name, kindOf(raw))
			}
			c.Function.Arguments = raw
			return nil
		}},
		key[turnCall]{"cache_control", passed[turnCall]},
		key[turnCall]{"caller", passed[turnCall]},
	)...)
	toolResultKeys = itemKeys(
		key[turn]{"tool_use_id", word(func(t *turn) *string { return &t.CallID })},
		key[turn]{"content", readContent},
		key[turn]{"is_error", passed[turn]}, // its content says so
		key[turn]{"cache_control", passed[turn]},
	)
)

// turns are those of a message.
func (m spokenTurn) turns(at string) ([]turn, *fault) {
	var blocks []json.RawMessage
	if json.Unmarshal(m.content, &blocks) != nil || len(blocks) == 0 { // a text, or to be refused
		text, err := contentOf(at, m.content, "text")
		return []turn{{Role: m.role, Content: text}}, err
	}
	said, results := turn{Role: m.role}, []turn{}
	var texts []textPart
	for i, raw := range blocks {
		at := element(at, i)
		kind, err := itemKind(at, raw, "")
		if err != nil {
			return nil, err
		}
		switch {
		case kind == "tool_use" && m.role == chat.Assistant:
			c := turnCall{Type: "function"}
			if _, err := toolUseKeys.read(at, raw, &c, false); err != nil {
				return nil, err
			}
			switch {
			case c.Function.Name == "":
				return nil, missing(at+".name", "%s has no name of a function", at)
			case c.Function.Arguments == nil:
				return nil, missing(at+".input", "%s has no input; accepted: an object", at)
			}
			said.Calls = append(said.Calls, c)
		case kind == "tool_result" && m.role == chat.User:
			r := turn{Role: toolRole, Content: ""}
			if _, err := toolResultKeys.read(at, raw, &r, false); err != nil {
				return nil, err
			}
			results = append(results, r)
		default:
			p, err := readPart(at, raw, "text")
			if err != nil {
				return nil, err
			}
			texts = append(texts, p)
		}
	}
	if texts != nil {
		said.Content = joined(texts)
	}
	if said.Content != nil || said.Calls != nil {
		results = append(results, said)
	}
	return results, nil
}

// readSchemaTools reads tools with their schemas under input_schema.
func (q *query) readSchemaTools(name string, value json.RawMessage) *fault {
	var list []templateTool
	err := q.eachTool(name, value, `{"name":"...","input_schema":{...}}`, func(at string, value json.RawMessage) (t tool, err *fault) {
		kind, err := itemKind(at, value, "custom")
		if err != nil {
			return t, err
		}
		if kind != "custom" {
			return t, unsupported(at+".type", `%s.type is %q: the server runs no tools of its own; accepted: "custom"`, at, kind[:min(len(kind), maxShown)])
		}
		var description *string
		t.at, t.schemaAt = at, at+".input_schema"
		_, err = slices.Concat(functionKeys.named("name", "strict"), keys[tool]{{"type", passed[tool]}, describing(&description), {"cache_control", passed[tool]},
			{"input_schema", raw(func(t *tool) *json.RawMessage { return &t.parameters })}}).read(at, value, &t, false)
		list = append(list, newTemplateTool(t, description))
		return t, err
	})
	q.toolList = encoded(list)
	return err
}

// readAnyChoice reads a tool_choice that is an object.
func (b *messagesBody) readAnyChoice(name string, raw json.RawMessage) *fault {
	kind, err := itemKind(name, raw, "")
	if err != nil {
		return err
	}
	c := &b.choice
	c.at = name
	var called string
	if _, err := (keys[messagesBody]{
		{"type", passed[messagesBody]},
		{"name", word(func(*messagesBody) *string { return &called })},
		{"disable_parallel_tool_use", truth(func(b *messagesBody) *bool { return &b.oneCall })},
	}).read(name, raw, b, false); err != nil {
		return err
	}
	switch kind {
	case "auto", "none":
		c.mode = kind
	case "any":
		c.mode = "required"
	case "tool":
		return c.require(called)
	default:
		return invalidValue(name+".type", `%s.type is %q; accepted: "auto", "any", "tool", "none"`, name, kind[:min(len(kind), maxShown)])
	}
	return nil
}

// messageRefusal is a fault in Anthropic's shape, https://docs.anthropic.com/en/api/errors.
func messageRefusal(f *fault) any {
	kind := map[int]string{http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
		http.StatusServiceUnavailable: "overloaded_error", http.StatusInternalServerError: "api_error"}[f.status]
	if kind == "" {
		kind = invalid
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": f.message}}
}

// messageAnswer is an answer, whole or as far as it has come.
type messageAnswer struct {
	ID          string       `json:"id"`
	Type        string       `json:"type"`
	Role        string       `json:"role"`
	Model       string       `json:"model"`
	Content     []block      `json:"content"`
	StopReason  *string      `json:"stop_reason"`
	StopText    *string      `json:"stop_sequence"`
	Usage       messageUsage `json:"usage"`
	Fingerprint string       `json:"system_fingerprint"`
	Seed        uint64       `json:"seed"`
}

// messageUsage counts tokens; see responseUsage about those that were kept.
type messageUsage struct {
	Input   int `json:"input_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Kept    int `json:"cache_read_input_tokens"`
	Output  int `json:"output_tokens"`
}

// block is a text, or a call of a tool.
type block struct {
	Type  string          `json:"type"`
	Text  *string         `json:"text,omitempty"`
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

func textBlock(t string) block { return block{Type: "text", Text: &t} }

func callBlock(c toolCall, input string) block {
	return block{Type: "tool_use", ID: c.ID, Name: c.Function.Name, Input: json.RawMessage(input)}
}

// newMessage is an answer of which nothing has come.
func newMessage(t *telling) messageAnswer {
	m := messageAnswer{ID: t.q.wire.name + "_" + t.sum, Type: "message", Role: chat.Assistant, Model: t.q.on.name, Content: []block{},
		Fingerprint: t.q.on.print, Seed: t.q.sampling.Seed}
	m.Usage.Input = t.usage().Prompt
	return m
}

// ended is why an answer ended, and the stop text that ended it.
func (p part) ended() (reason string, text *string) {
	switch {
	case p.finish == "length":
		return "max_tokens", nil
	case p.finish == "tool_calls":
		return "tool_use", nil
	case p.stopped != "":
		return "stop_sequence", &p.stopped
	}
	return "end_turn", nil
}

func wholeMessage(t *telling, all []part) any {
	m, p := newMessage(t), all[0]
	reason, text := p.ended()
	m.StopReason, m.StopText, m.Usage.Output = &reason, text, t.usage().Completion
	if p.text != "" {
		m.Content = append(m.Content, textBlock(p.text))
	}
	for _, c := range t.callsOf(0, p.calls) {
		m.Content = append(m.Content, callBlock(c, c.Function.Arguments))
	}
	return m
}

// messageEvents are the events of a stream.
type messageEvents struct {
	*events
	t      *telling
	begun  bool
	blocks int  // that have begun
	speaks bool // the last of them is text, and has not ended
}

func newMessageEvents(t *telling, out *events) (encoder, error) {
	return &messageEvents{events: out, t: t}, nil
}

// blockEvent is an event about a block.
type blockEvent struct {
	Type  string      `json:"type"`
	Index int         `json:"index"`
	Block *block      `json:"content_block,omitempty"`
	Delta *blockDelta `json:"delta,omitempty"`
}

type blockDelta struct {
	Type string  `json:"type"`
	Text *string `json:"text,omitempty"`
	JSON *string `json:"partial_json,omitempty"`
}

func (e *messageEvents) tell(kind string, block *block, delta *blockDelta) error {
	return e.add(kind, blockEvent{kind, e.blocks - 1, block, delta})
}

func (e *messageEvents) open(b block) error {
	e.blocks++
	return e.tell("content_block_start", &b, nil)
}

func (e *messageEvents) shut() error { return e.tell("content_block_stop", nil, nil) }

func (e *messageEvents) part(p part) error {
	if !e.begun {
		e.begun = true
		if err := e.add("message_start", map[string]any{"type": "message_start", "message": newMessage(e.t)}); err != nil {
			return err
		}
	}
	if p.text != "" {
		if err := e.say(p.text); err != nil {
			return err
		}
	}
	if p.finish == "" {
		return nil
	}
	if e.speaks {
		if err := e.shut(); err != nil {
			return err
		}
	}
	for _, c := range e.t.callsOf(0, p.calls) {
		if err := e.call(c); err != nil {
			return err
		}
	}
	reason, text := p.ended()
	return e.add("message_delta", map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": text},
		"usage": map[string]int{"output_tokens": e.t.usage().Completion}})
}

func (e *messageEvents) say(text string) error {
	if !e.speaks {
		e.speaks = true
		if err := e.open(textBlock("")); err != nil {
			return err
		}
	}
	return e.tell("content_block_delta", nil, &blockDelta{Type: "text_delta", Text: &text})
}

func (e *messageEvents) call(c toolCall) error {
	if err := e.open(callBlock(c, "{}")); err != nil {
		return err
	}
	if err := e.tell("content_block_delta", nil, &blockDelta{Type: "input_json_delta", JSON: &c.Function.Arguments}); err != nil {
		return err
	}
	return e.shut()
}

func (e *messageEvents) fail(f *fault) { e.write("error", encoded(messageRefusal(f))) }

func (e *messageEvents) close() error {
	return e.add("message_stop", map[string]string{"type": "message_stop"})
}
