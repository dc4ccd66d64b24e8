package serve

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/chat"
)

// The format of /v1/responses, https://platform.openai.com/docs/api-reference/responses, without
// what a server would have to keep: a conversation is sent whole each time.
var responsesWire = &wire{read: readResponse, whole: wholeResponse, stream: newResponseEvents, refuse: refusal, prompt: "input", format: "text.format", name: "resp"}

// responseBody is a body of it.
type responseBody struct {
	query
	instructions *string
	top          int  // top_logprobs; -1: not given
	wants        bool // log-probs, by include
	most         *int // max_output_tokens; nil: not given
	said         map[string]json.RawMessage
}

func (b *responseBody) ofQuery() *query { return &b.query }

var responseKeys = slices.Concat(within(slices.Concat(drawing, ofClient), (*responseBody).ofQuery), keys[responseBody]{
	{"input", func(b *responseBody, name string, raw json.RawMessage) (err *fault) {
		b.turns, err = readItems(name, raw)
		return err
	}},
	{"instructions", func(b *responseBody, name string, raw json.RawMessage) *fault {
		b.instructions = new(string)
		return word(func(b *responseBody) *string { return b.instructions })(b, name, raw)
	}},
	{"max_output_tokens", func(b *responseBody, name string, raw json.RawMessage) (err *fault) {
		b.max, err = wholeIn(name, raw, 1, 1<<30)
		b.most = new(b.max)
		return err
	}},
	{"text", func(b *responseBody, name string, raw json.RawMessage) *fault {
		_, err := keys[responseBody]{
			{"format", func(b *responseBody, name string, raw json.RawMessage) *fault { return b.format.readFlat(name, raw) }},
			{"verbosity", only[responseBody]("rlzero serve --var sets what the chat template reads", `"medium"`)},
		}.read(name, raw, b, false)
		return err
	}},
	{"tools", func(b *responseBody, name string, raw json.RawMessage) *fault { return b.readFlatTools(name, raw) }},
	{"tool_choice", func(b *responseBody, name string, raw json.RawMessage) *fault { return b.choice.readFlat(name, raw) }},
	{"parallel_tool_calls", parallelCalls(func(b *responseBody) *bool { return &b.oneCall })},
	{"top_logprobs", whole(0, maxTop, func(b *responseBody) *int { return &b.top })},
	{"include", func(b *responseBody, name string, raw json.RawMessage) *fault {
		var list []string
		if json.Unmarshal(raw, &list) != nil {
			return invalidType(name, "%s is %s; accepted: a list of texts", name, kindOf(raw))
		}
		for i, what := range list {
			switch what {
			case "message.output_text.logprobs":
				b.wants = true
			case "reasoning.encrypted_content": // there is none
			default:
				return unsupported(element(name, i), `%s is %q; accepted: "message.output_text.logprobs"`, element(name, i), what[:min(len(what), maxShown)])
			}
		}
		return nil
	}},
	{"reasoning", func(b *responseBody, name string, raw json.RawMessage) *fault {
		_, err := keys[query]{
			{"effort", func(q *query, name string, raw json.RawMessage) *fault { return q.effort.read(name, raw) }},
			{"summary", only[query]("thoughts are text of the answer")},
			{"generate_summary", only[query]("thoughts are text of the answer")},
		}.read(name, raw, &b.query, false)
		return err
	}},
	{"stream_options", func(b *responseBody, name string, raw json.RawMessage) *fault {
		_, err := streamOptions.named("include_obfuscation").read(name, raw, &b.query, false)
		return err
	}},
	{"truncation", only[responseBody]("a conversation is read as it is", `"disabled"`)},
	{"store", only[responseBody](notStored, "false")},
	{"background", only[responseBody](notStored, "false")},
	{"previous_response_id", only[responseBody](notStored + ": send the whole conversation as input")},
	{"conversation", only[responseBody](notStored + ": send the whole conversation as input")},
	{"prompt", only[responseBody]("there are no stored prompts")},
	{"max_tool_calls", only[responseBody]("it is about tools that a server runs, and there are none")},
})

// echoes are keys whose values an answer repeats.
var echoes = []string{"metadata", "tools", "tool_choice", "text", "user", "safety_identifier", "prompt_cache_key"}

func readResponse(w *wire, data []byte, lenient bool) (*query, *fault) {
	b := &responseBody{query: *newQuery(w), top: -1, said: map[string]json.RawMessage{}}
	known := slices.Clone(responseKeys)
	for i, k := range known {
		if slices.Contains(echoes, k.name) {
			known[i].read = func(b *responseBody, name string, raw json.RawMessage) *fault {
				b.said[name] = raw
				return k.read(b, name, raw)
			}
		}
	}
	var err *fault
	q := &b.query
	if b.unnoticed, err = known.read("", data, b, lenient); err != nil {
		return nil, err
	}
	switch {
	case q.turns == nil:
		return nil, missing("input", `there is no "input"; accepted: a text, or a list of items such as {"role":"user","content":"..."}`)
	case b.top >= 0 && !b.wants:
		return nil, bad("top_logprobs", `top_logprobs goes with an include of "message.output_text.logprobs"`)
	case b.wants && len(q.tools) > 0:
		return nil, unsupported("include", "log-probs of an answer that may call tools are not told; accepted: one of them")
	}
	if b.instructions != nil {
		q.turns = slices.Insert(q.turns, 0, turn{Role: chat.System, Content: *b.instructions})
	}
	if b.wants {
		q.logprobs = max(b.top, 0)
	}
	q.kept = b
	return q, nil
}

// itemKind is the type of an item or a block.
func itemKind(name string, raw json.RawMessage, otherwise string) (string, *fault) {
	var o struct{ Type *string }
	if kindOf(raw) != "an object" || json.Unmarshal(raw, &o) != nil {
		return "", invalidType(name, "%s is %s; accepted: an object", name, kindOf(raw))
	}
	if o.Type == nil {
		return otherwise, nil
	}
	return *o.Type, nil
}

// ids and states of items that an answer had: they change nothing.
func itemKeys[T any](more ...key[T]) keys[T] {
	return append(keys[T]{{"type", passed[T]}, {"id", passed[T]}, {"status", passed[T]}}, more...)
}

var (
	messageKeys = itemKeys(turnKeys[0], key[turn]{"content", func(t *turn, name string, raw json.RawMessage) (err *fault) {
		t.Content, err = contentOf(name, raw, "input_text", "output_text", "text")
		return err
	}}, key[turn]{"phase", passed[turn]})
	itemCallKeys = slices.Concat(itemKeys(
		key[turnCall]{"call_id", word(func(c *turnCall) *string { return &c.ID })},
	), within(calledKeys, func(c *turnCall) *turnFunction { return &c.Function }))
	itemOutputKeys = itemKeys(
		key[turn]{"call_id", word(func(t *turn) *string { return &t.CallID })},
		key[turn]{"output", func(t *turn, name string, raw json.RawMessage) (err *fault) {
			t.Content, err = contentOf(name, raw, "input_text", "output_text", "text")
			return err
		}},
	)
)

// readItems reads input: calls stand in a turn of the assistant, beside what it said before them.
func readItems(name string, value json.RawMessage) ([]turn, *fault) {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []turn{{Role: chat.User, Content: one}}, nil
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil || len(items) == 0 {
		return nil, notList(value, name, `%s is %s; accepted: a text, or a list of items such as {"role":"user","content":"..."}`, name, kindOf(value))
	}
	var turns []turn
	for i, raw := range items {
		at, t := element(name, i), turn{}
		kind, err := itemKind(at, raw, "message")
		if err != nil {
			return nil, err
		}
		switch kind {
		case "message":
			if _, err = messageKeys.read(at, raw, &t, false); err == nil {
				err = t.said(at)
			}
		case "function_call":
			c := turnCall{Type: "function"}
			if _, err = itemCallKeys.read(at, raw, &c, false); err == nil {
				err = c.checked(at, "")
			}
			if n := len(turns) - 1; n >= 0 && turns[n].Role == chat.Assistant && err == nil {
				turns[n].Calls = append(turns[n].Calls, c)
				continue
			}
			t.Role, t.Calls = chat.Assistant, []turnCall{c}
		case "function_call_output":
			t.Role = toolRole
			if _, err = itemOutputKeys.read(at, raw, &t, false); err == nil && t.Content == nil {
				err = missing(at+".output", "%s has no output; accepted: a text", at)
			}
		default:
			err = unsupported(at+".type", `%s.type is %q; accepted: "message", "function_call", "function_call_output"`, at, kind[:min(len(kind), maxShown)])
		}
		if err != nil {
			return nil, err
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// said refuses a message without a role of a speaker, or without content.
func (t *turn) said(at string) *fault {
	switch {
	case t.Role == "" || t.Role == toolRole:
		return invalidValue(at+".role", `%s.role is %q; accepted: "system", "developer", "user", "assistant"`, at, t.Role)
	case t.Content == nil:
		return missing(at+".content", "%s has no content; accepted: a text", at)
	}
	return nil
}

// readFlatTools reads tools whose functions are no objects of their own.
func (q *query) readFlatTools(name string, value json.RawMessage) *fault {
	var list []templateTool
	err := q.eachTool(name, value, `{"type":"function","name":"...","parameters":{...}}`, func(at string, raw json.RawMessage) (t tool, err *fault) {
		kind, err := itemKind(at, raw, "")
		if err != nil {
			return t, err
		}
		if kind != "function" {
			return t, unsupported(at+".type", `%s.type is %q: the server runs no tools of its own; accepted: "function"`, at, kind[:min(len(kind), maxShown)])
		}
		var description *string
		t.at, t.schemaAt = at, at+".parameters"
		_, err = slices.Concat(functionKeys.named("name", "parameters", "strict"), keys[tool]{{"type", passed[tool]}, describing(&description)}).read(at, raw, &t, false)
		list = append(list, newTemplateTool(t, description))
		return t, err
	})
	q.toolList = encoded(list)
	return err
}

// templateTool is a tool as chat templates read it.
type templateTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description *string         `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

func newTemplateTool(t tool, description *string) (out templateTool) {
	out.Type = "function"
	out.Function.Name, out.Function.Description, out.Function.Parameters = t.name, description, t.parameters
	return out
}

// describing reads the description of a tool, which templates alone need.
func describing(into **string) key[tool] {
	return key[tool]{"description", func(_ *tool, name string, raw json.RawMessage) *fault {
		*into = new(string)
		return word(func(*tool) *string { return *into })(nil, name, raw)
	}}
}

// readFlat reads a tool_choice that has the name of a function beside its type.
func (c *toolChoice) readFlat(name string, raw json.RawMessage) *fault {
	const such = `{"type":"function","name":"..."}`
	c.at = name
	if json.Unmarshal(raw, &c.mode) == nil {
		return c.known(such)
	}
	kind, err := itemKind(name, raw, "")
	if err != nil {
		return err
	}
	if kind != "function" {
		return unsupported(name+".type", `%s.type is %q; accepted: %s`, name, kind[:min(len(kind), maxShown)], such)
	}
	var t tool
	if _, err := append(functionKeys.named("name"), key[tool]{"type", passed[tool]}).read(name, raw, &t, false); err != nil {
		return err
	}
	return c.require(t.name)
}

// response is an answer, whole or as far as it has come.
type response struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Created     int64           `json:"created_at"` // seconds since 1970
	Status      string          `json:"status"`     // "in_progress", "completed", "incomplete", "failed"
	Error       *responseError  `json:"error"`
	Incomplete  *incomplete     `json:"incomplete_details"`
	Model       string          `json:"model"`
	Output      []outputItem    `json:"output"`
	Usage       *responseUsage  `json:"usage"`
	Fingerprint string          `json:"system_fingerprint"`
	Seed        uint64          `json:"seed"`
	Instruction *string         `json:"instructions"`
	Max         *int            `json:"max_output_tokens"`
	Parallel    bool            `json:"parallel_tool_calls"`
	Previous    *string         `json:"previous_response_id"`
	Reasoning   responseEffort  `json:"reasoning"`
	Store       bool            `json:"store"`
	Temperature float64         `json:"temperature"`
	TopP        float64         `json:"top_p"`
	TopLogprobs int             `json:"top_logprobs"`
	Truncation  string          `json:"truncation"`
	Background  bool            `json:"background"`
	Metadata    json.RawMessage `json:"metadata"`
	Tools       json.RawMessage `json:"tools"`
	ToolChoice  json.RawMessage `json:"tool_choice"`
	Text        json.RawMessage `json:"text"`
	User        json.RawMessage `json:"user,omitempty"`
	Safety      json.RawMessage `json:"safety_identifier,omitempty"`
	CacheKey    json.RawMessage `json:"prompt_cache_key,omitempty"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"`
}

type responseEffort struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// responseUsage counts tokens. Which of a prompt were found in kept pages depends on what else the
// server does, so none are told.
type responseUsage struct {
	Input   int `json:"input_tokens"`
	Details struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// outputItem is a message, or a call of a function.
type outputItem struct {
	Type   string `json:"type"`
	ID     string `json:"id"`
	Status string `json:"status"`

	Role    string        `json:"role,omitempty"`
	Content *[]outputText `json:"content,omitempty"` // of a message

	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"` // of a call
}

type outputText struct {
	Type        string        `json:"type"`
	Text        string        `json:"text"`
	Annotations []string      `json:"annotations"` // there are none
	Logprobs    []chatLogprob `json:"logprobs"`
}

// newResponse is an answer of which nothing has come.
func newResponse(t *telling) response {
	b := t.q.kept.(*responseBody)
	or := func(key, otherwise string) json.RawMessage {
		if v, ok := b.said[key]; ok {
			return v
		}
		return json.RawMessage(otherwise)
	}
	r := response{ID: t.q.wire.name + "_" + t.sum, Object: "response", Created: t.created, Status: "in_progress", Model: t.q.on.name, Output: []outputItem{},
		Fingerprint: t.q.on.print, Seed: t.q.sampling.Seed, Instruction: b.instructions, Max: b.most, Parallel: !t.q.oneCall,
		Temperature: t.q.sampling.Temperature, TopP: t.q.sampling.TopP, TopLogprobs: max(b.top, 0), Truncation: "disabled",
		Metadata: or("metadata", "{}"), Tools: or("tools", "[]"), ToolChoice: or("tool_choice", `"auto"`), Text: or("text", `{"format":{"type":"text"}}`),
		User: b.said["user"], Safety: b.said["safety_identifier"], CacheKey: b.said["prompt_cache_key"]}
	if t.q.effort.level != "" {
		r.Reasoning.Effort = &t.q.effort.level
	}
	return r
}

// end says how an answer has ended.
func (r *response) end(t *telling, finish string) {
	r.Status, r.Usage = "completed", &responseUsage{}
	if finish == "length" {
		r.Status, r.Incomplete = "incomplete", &incomplete{"max_output_tokens"}
	}
	u := t.usage()
	r.Usage.Input, r.Usage.Output, r.Usage.Total = u.Prompt, u.Completion, u.Total
}

func (r *response) message(status string, content []outputText) outputItem {
	return outputItem{Type: "message", ID: "msg_" + strings.TrimPrefix(r.ID, "resp_"), Status: status, Role: chat.Assistant, Content: &content}
}

func newOutputText(text string, logprobs []chatLogprob) outputText {
	return outputText{"output_text", text, []string{}, append([]chatLogprob{}, logprobs...)}
}

func callItem(c toolCall, status, arguments string) outputItem {
	return outputItem{Type: "function_call", ID: "fc_" + c.ID, Status: status, CallID: c.ID, Name: c.Function.Name, Arguments: &arguments}
}

// responseLogprobs are those of tokens, where they are wanted.
func (t *telling) responseLogprobs(p part) []chatLogprob {
	if t.q.logprobs < 0 {
		return []chatLogprob{}
	}
	return t.s.names.chatLogprobs(p.tokens, t.q.logprobs).Content
}

func wholeResponse(t *telling, all []part) any {
	r, p := newResponse(t), all[0]
	r.end(t, p.finish)
	if p.text != "" || p.calls == nil && !t.q.mustCall() {
		r.Output = append(r.Output, r.message(r.Status, []outputText{newOutputText(p.text, t.responseLogprobs(p))}))
	}
	for _, c := range t.callsOf(0, p.calls) {
		r.Output = append(r.Output, callItem(c, "completed", c.Function.Arguments))
	}
	return r
}

// responseEvents are the events of a stream.
type responseEvents struct {
	*events
	t        *telling
	response response
	number   int // of events so far
	begun    bool
	speaks   bool // the message has begun
	text     strings.Builder
	logprobs []chatLogprob
	finish   string
}

// responseEvent is one of them, of any type.
type responseEvent struct {
	Type     string         `json:"type"`
	Number   int            `json:"sequence_number"`
	Response *response      `json:"response,omitempty"`
	Output   *int           `json:"output_index,omitempty"`
	ItemID   string         `json:"item_id,omitempty"`
	Content  *int           `json:"content_index,omitempty"`
	Item     *outputItem    `json:"item,omitempty"`
	Part     *outputText    `json:"part,omitempty"`
	Delta    *string        `json:"delta,omitempty"`
	Text     *string        `json:"text,omitempty"`
	Name     string         `json:"name,omitempty"`
	Args     *string        `json:"arguments,omitempty"`
	Logprobs *[]chatLogprob `json:"logprobs,omitempty"`
}

func newResponseEvents(t *telling, out *events) (encoder, error) {
	return &responseEvents{events: out, t: t, response: newResponse(t)}, nil
}

func (e *responseEvents) tell(kind string, v responseEvent) error {
	v.Type, v.Number = "response."+kind, e.number
	e.number++
	return e.add(v.Type, v)
}

// all tells events one after the other.
func (e *responseEvents) all(kinds []string, vs ...responseEvent) error {
	for i, v := range vs {
		if err := e.tell(kinds[i], v); err != nil {
			return err
		}
	}
	return nil
}

func (e *responseEvents) begin() error {
	if e.begun {
		return nil
	}
	e.begun = true
	return e.all([]string{"created", "in_progress"}, responseEvent{Response: &e.response}, responseEvent{Response: &e.response})
}

var zero = new(int)

func (e *responseEvents) part(p part) error {
	if err := e.begin(); err != nil {
		return err
	}
	if logprobs := e.t.responseLogprobs(p); p.text != "" || len(logprobs) > 0 {
		if err := e.say(p.text, logprobs); err != nil {
			return err
		}
	}
	if p.finish == "" {
		return nil
	}
	if e.finish = p.finish; !e.speaks && p.calls == nil && !e.t.q.mustCall() {
		if err := e.speak(); err != nil {
			return err
		}
	}
	if e.speaks {
		if err := e.spoken(); err != nil {
			return err
		}
	}
	for _, c := range e.t.callsOf(0, p.calls) {
		if err := e.call(c); err != nil {
			return err
		}
	}
	return nil
}

// speak begins the message.
func (e *responseEvents) speak() error {
	if e.speaks {
		return nil
	}
	e.speaks = true
	item, text := e.response.message("in_progress", []outputText{}), newOutputText("", nil)
	return e.all([]string{"output_item.added", "content_part.added"},
		responseEvent{Output: zero, Item: &item}, responseEvent{Output: zero, ItemID: item.ID, Content: zero, Part: &text})
}

// say adds to the message.
func (e *responseEvents) say(text string, logprobs []chatLogprob) error {
	if err := e.speak(); err != nil {
		return err
	}
	e.text.WriteString(text)
	e.logprobs = append(e.logprobs, logprobs...)
	return e.tell("output_text.delta", responseEvent{Output: zero, ItemID: e.response.message("", nil).ID, Content: zero, Delta: &text, Logprobs: &logprobs})
}

// spoken ends the message.
func (e *responseEvents) spoken() error {
	text, status := newOutputText(e.text.String(), e.logprobs), "completed"
	if e.finish == "length" {
		status = "incomplete"
	}
	item := e.response.message(status, []outputText{text})
	e.response.Output = append(e.response.Output, item)
	return e.all([]string{"output_text.done", "content_part.done", "output_item.done"},
		responseEvent{Output: zero, ItemID: item.ID, Content: zero, Text: &text.Text, Logprobs: &text.Logprobs},
		responseEvent{Output: zero, ItemID: item.ID, Content: zero, Part: &text},
		responseEvent{Output: zero, Item: &item})
}

// call tells a call of a function.
func (e *responseEvents) call(c toolCall) error {
	at, begun, done := len(e.response.Output), callItem(c, "in_progress", ""), callItem(c, "completed", c.Function.Arguments)
	e.response.Output = append(e.response.Output, done)
	return e.all([]string{"output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"},
		responseEvent{Output: &at, Item: &begun},
		responseEvent{Output: &at, ItemID: done.ID, Delta: done.Arguments},
		responseEvent{Output: &at, ItemID: done.ID, Name: done.Name, Args: done.Arguments},
		responseEvent{Output: &at, Item: &done})
}

func (e *responseEvents) fail(f *fault) {
	code := f.code
	if code == "" {
		code = f.kind
	}
	e.response.Status, e.response.Error = "failed", &responseError{code, f.message}
	_ = e.tell("failed", responseEvent{Response: &e.response}) // it is written to memory
}

func (e *responseEvents) close() error {
	e.response.end(e.t, e.finish)
	return e.tell(e.response.Status, responseEvent{Response: &e.response})
}
