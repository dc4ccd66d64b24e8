package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
)

// prepare finds the model of a query, turns its prompt or its messages into token ids, and says
// how many new tokens there are at most.
func (s *Server) prepare(q *query) (err *fault) {
	if q.on, err = s.find(q.model); err != nil {
		return err
	}
	if q.form, err = s.formOf(q.format); err != nil {
		return err
	}
	if q.chat {
		err = s.talk(q)
	} else {
		q.prompts, err = s.textPrompts(q.wire.prompt, q.prompt)
		q.ends = s.m.Config.EOS
	}
	if err == nil {
		err = s.follow(q)
	}
	if err != nil {
		return err
	}
	if q.ignoreEnds && q.form != nil {
		return unsupported("ignore_eos", "the answer follows %s, and ends with it; accepted: ignore_eos false", q.form.name)
	}
	if len(q.prompts)*q.n > maxChoices {
		return bad("n", "%d prompts with n = %d are %d completions; accepted: at most %d in one request", len(q.prompts), q.n, len(q.prompts)*q.n, maxChoices)
	}
	if len(q.stop) > 0 && s.m.Tokenizer == nil {
		return bad("stop", "stop needs a tokenizer, and the model has none: stop_token_ids takes token ids")
	}
	if err := s.inVocabulary("stop_token_ids", q.stopIDs); err != nil {
		return err
	}
	slices.Sort(q.stopIDs)
	if q.stopIDs = slices.Compact(q.stopIDs); len(q.stopIDs) > maxStops {
		return bad("stop_token_ids", "there are %d ids; accepted: at most %d", len(q.stopIDs), maxStops)
	}
	if err := s.room(q); err != nil || !q.scoresPrompt() {
		return err
	}
	told := 0
	for _, p := range q.prompts {
		told += len(p)
	}
	if told *= q.n * (1 + q.most()); told > maxTold {
		return bad("n", "the answer would have %d log-probs of prompts; accepted: at most %d", told, maxTold)
	}
	return nil
}

// talk writes the conversation of a chat, and finds what its answer may call.
func (s *Server) talk(q *query) *fault {
	if err := s.chats(q.wire.prompt); err != nil {
		return err
	}
	q.ends = s.format.Ends()
	tools, err := s.allowTools(q)
	if err != nil {
		return err
	}
	var vars map[string]any
	if q.effort.level != "" {
		if !s.knowsEffort {
			return unsupported(q.effort.at, "the model's chat template does not read %s; rlzero serve --var sets what it reads", effortVariable)
		}
		vars = map[string]any{effortVariable: q.effort.level}
	}
	p, err := s.chatPrompt(q.turns, q.wire.prompt, chat.Conversation{Tools: tools, Variables: vars})
	q.prompts = [][]int{p}
	return err
}

// defaultMax is how many new tokens a completion has at most where nothing says so, as
// in OpenAI's API; a chat goes on to the end of the context.
const defaultMax = 16

// room checks that prompts and completions fit, and sets the default of new tokens.
func (s *Server) room(q *query) *fault {
	longest := 0
	for _, p := range q.prompts {
		longest = max(longest, len(p))
	}
	context := s.o.Engine.Context
	given := q.max >= 0
	switch {
	case given:
	case q.chat:
		q.max = max(1, context-longest)
	default:
		q.max = min(defaultMax, max(1, context-longest))
	}
	if longest+q.max > context {
		f := bad(q.wire.prompt, "the context of this server has %d tokens; the prompt has %d, and %d new ones are asked for; accepted: at most %d in sum", context, longest, q.max, context)
		f.code = codeTooLong
		return f
	}
	return nil
}

// textPrompts reads a text, a list of texts, token ids, or a list of lists of them.
func (s *Server) textPrompts(key string, value json.RawMessage) ([][]int, *fault) {
	var one string
	if json.Unmarshal(value, &one) == nil {
		p, err := s.encode(key, one)
		return [][]int{p}, err
	}
	var elements []json.RawMessage
	if json.Unmarshal(value, &elements) != nil || len(elements) == 0 {
		return nil, notList(value, key, "%s is %s; accepted: a text, a list of texts, token ids, or a list of lists of token ids", key, kindOf(value))
	}
	if c := bytes.TrimSpace(elements[0])[0]; c != '"' && c != '[' {
		list, err := ids(key, value)
		if err == nil {
			err = s.promptIDs(key, list)
		}
		return [][]int{list}, err
	}
	var out [][]int
	for i, e := range elements {
		name := element(key, i)
		var p []int
		var err *fault
		if isNull(e) {
			return nil, invalidType(name, "%s is null; accepted: a text, or a list of token ids", name)
		} else if json.Unmarshal(e, &one) == nil {
			p, err = s.encode(name, one)
		} else if p, err = ids(name, e); err == nil {
			err = s.promptIDs(name, p)
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, p); len(out) > maxChoices {
			return nil, bad(key, "%s has more than %d prompts; accepted: at most that many in one request", key, maxChoices)
		}
	}
	return out, nil
}

// encode reads text as token ids, at least one.
func (s *Server) encode(name, t string) ([]int, *fault) {
	if s.m.Tokenizer == nil {
		return nil, bad(name, "%s is text, and the model has no tokenizer; accepted: token ids", name)
	}
	if f := s.readable(name, len(t)); f != nil {
		return nil, f
	}
	ids, err := s.m.Tokenizer.Encode(t)
	if err != nil {
		return nil, bad(name, "%s: %v", name, err)
	}
	return ids, s.promptIDs(name, ids)
}

// bytesPerToken is how much text a prompt may have for each token of the context. Text in
// words has 1 to 10 bytes a token; only long runs of one character have more.
const bytesPerToken = 64

// readable refuses text that would not fit the context before it is tokenized, which takes
// far more memory and time than to measure it.
func (s *Server) readable(name string, bytes int) *fault {
	if most := bytesPerToken * s.o.Engine.Context; bytes > most {
		f := bad(name, "the text of %s has %d bytes, and the context of this server has %d tokens; accepted: at most %d bytes, %d for each token", name, bytes, s.o.Engine.Context, most, bytesPerToken)
		f.code = codeTooLong
		return f
	}
	return nil
}

// bytes is the length of what a template writes of a turn.
func (t *turn) bytes() int {
	n := len(t.Name)
	switch content := t.Content.(type) {
	case string:
		n += len(content)
	case []textPart:
		for _, p := range content {
			n += len(p.Text)
		}
	}
	for _, c := range t.Calls {
		n += len(c.Function.Name) + len(c.Function.Arguments)
	}
	return n
}

func (s *Server) promptIDs(name string, ids []int) *fault {
	if len(ids) == 0 {
		return bad(name, "%s has no tokens; accepted: at least one", name)
	}
	return s.inVocabulary(name, ids)
}

func (s *Server) inVocabulary(name string, ids []int) *fault {
	for i, id := range ids {
		if id < 0 || id >= s.m.Config.Vocab {
			return bad(name, "%s is %d, which is not in the model's vocabulary; accepted: 0 to %d", element(name, i), id, s.m.Config.Vocab-1)
		}
	}
	return nil
}

// chats refuses messages where the model answers none.
func (s *Server) chats(name string) *fault {
	if s.format != nil {
		return nil
	}
	why := strings.TrimPrefix(s.noChat.Error(), lines.ErrInput.Error()+": ")
	f := bad(name, "the model answers no messages: %s; /v1/completions continues text", why)
	if errors.Is(s.noChat, text.ErrNoChat) {
		f.code = "no_chat_template"
	}
	return f
}

// effortVariable is what templates that know it call the effort of a request.
const effortVariable = "reasoning_effort"

// chatPrompt writes messages with the model's template, in a conversation that has none; name is
// the key that they stood under.
func (s *Server) chatPrompt(turns []turn, name string, c chat.Conversation) ([]int, *fault) {
	size := 0
	for i, t := range turns {
		size += t.bytes()
		if s.calls == nil && (t.Role == toolRole || t.Calls != nil) {
			return nil, unsupported(element(name, i)+".role", "%s", noCalls)
		}
	}
	if f := s.readable(name, size); f != nil {
		return nil, f
	}
	clean, err := json.Marshal(turns)
	if err != nil {
		return nil, bad(name, "%v", err)
	}
	if c.Messages, err = chat.ReadMessages(clean); err != nil {
		return nil, bad(name, "%s: %v", name, err)
	}
	ids, err := s.format.Prompt(c.Under(s.o.System))
	if err != nil {
		return nil, bad(name, "%s: %v", name, err)
	}
	return ids, s.promptIDs(name, ids)
}

// turn is a message of a request.
type turn struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a text, or []textPart; nil beside calls

	Calls  []turnCall `json:"tool_calls,omitempty"`
	CallID string     `json:"tool_call_id,omitempty"`
	Name   string     `json:"name,omitempty"` // of a tool
}

// turnCall is a call of an earlier answer. Templates read its arguments as an object.
type turnCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function turnFunction `json:"function"`
}

type turnFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

const (
	toolRole = "tool" // what a tool answered
	roles    = `"system", "developer", "user", "assistant", "tool"`
)

var turnKeys = keys[turn]{
	{"role", func(t *turn, name string, raw json.RawMessage) *fault {
		_ = json.Unmarshal(raw, &t.Role) // what is no text is no role
		switch t.Role {
		case chat.System, chat.User, chat.Assistant, toolRole:
		case "developer": // OpenAI's newer name of the system
			t.Role = chat.System
		case "function":
			return unsupported(name, `%s is "function", which "tool" has taken the place of; accepted: %s`, name, roles)
		default:
			return invalidValue(name, "%s is %s; accepted: %s", name, kindOf(raw), roles)
		}
		return nil
	}},
	{"content", readContent},
	{"name", word(func(t *turn) *string { return &t.Name })},
	{"tool_calls", readCalls},
	{"tool_call_id", word(func(t *turn) *string { return &t.CallID })},
	{"function_call", only[turn]("tool_calls has taken its place")},
	{"refusal", only[turn]("models write text alone", `""`)},
	{"audio", only[turn](textAlone)},
	{"annotations", only[turn](textAlone, "[]")},
}

// readContent reads a text, or a list of texts; a list of one is that text.
func readContent(t *turn, name string, raw json.RawMessage) (err *fault) {
	t.Content, err = contentOf(name, raw, "text")
	return err
}

// contentOf reads a text, or a list of parts of these types, which are all texts; a list of one is
// that text. The first type is the usual one.
func contentOf(name string, raw json.RawMessage, types ...string) (any, *fault) {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one, nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return nil, notList(raw, name, `%s is %s; accepted: a text, or a list of {"type":%q,"text":"..."}`, name, kindOf(raw), types[0])
	}
	list := make([]textPart, len(parts))
	for i, p := range parts {
		var err *fault
		if list[i], err = readPart(element(name, i), p, types...); err != nil {
			return nil, err
		}
	}
	return joined(list), nil
}

// joined is what parts of a message are together.
func joined(parts []textPart) any {
	if len(parts) == 1 {
		return parts[0].Text
	}
	return parts
}

// readPart reads a part of a message, which has one of these types.
func readPart(at string, raw json.RawMessage, types ...string) (p textPart, err *fault) {
	known := slices.Concat(keys[textPart]{{"type", func(p *textPart, name string, raw json.RawMessage) *fault {
		if _ = json.Unmarshal(raw, &p.Type); !slices.Contains(types, p.Type) {
			return unsupported(name, `%s is %s: models read text alone; accepted: %q`, name, kindOf(raw), types[0])
		}
		return nil
	}}}, partKeys)
	if _, err := known.read(at, raw, &p, false); err != nil {
		return p, err
	}
	if p.Type == "" {
		return p, missing(at, `%s has no "type"; accepted: {"type":%q,"text":"..."}`, at, types[0])
	}
	p.Type = "text" // as templates read it
	return p, nil
}

// partKeys are those of a part of a message, but for its type.
var partKeys = keys[textPart]{
	{"text", word(func(p *textPart) *string { return &p.Text })},
	{"image_url", only[textPart](textAlone)},
	{"input_audio", only[textPart](textAlone)},
	{"file", only[textPart](textAlone)},
	{"annotations", only[textPart](textAlone, "[]")}, // of an earlier answer
	{"logprobs", passed[textPart]},
	{"cache_control", passed[textPart]}, // which prompts are kept changes no answer
	{"citations", only[textPart](textAlone, "[]")},
}

const textAlone = "models read text alone"

// callKeys are those of a call of an earlier answer, whose arguments are JSON in a text.
var callKeys = keys[turnCall]{
	{"id", word(func(c *turnCall) *string { return &c.ID })},
	{"type", func(_ *turnCall, name string, raw json.RawMessage) *fault {
		var kind string
		if _ = json.Unmarshal(raw, &kind); kind != "function" {
			return invalidValue(name, `%s is %s; accepted: "function"`, name, kindOf(raw))
		}
		return nil
	}},
	{"function", func(c *turnCall, name string, raw json.RawMessage) *fault {
		_, err := calledKeys.read(name, raw, &c.Function, false)
		return err
	}},
	{"index", passed[turnCall]}, // of the stream that it came in
}

var calledKeys = keys[turnFunction]{
	{"name", word(func(f *turnFunction) *string { return &f.Name })},
	{"arguments", func(f *turnFunction, name string, raw json.RawMessage) *fault {
		var text string
		if _ = json.Unmarshal(raw, &text); !json.Valid([]byte(text)) || strings.TrimSpace(text)[0] != '{' {
			return bad(name, "%s is not a JSON object written as a string", name)
		}
		f.Arguments = json.RawMessage(text)
		return nil
	}},
}

// checked refuses a call that lacks a part; at is where it stands, and of what its keys are in.
func (c turnCall) checked(at, of string) *fault {
	switch {
	case c.Function.Name == "":
		return missing(at+of+".name", "%s has no name of a function", at)
	case c.Function.Arguments == nil:
		return missing(at+of+".arguments", "%s has no arguments; accepted: a JSON object written as a string", at)
	}
	return nil
}

// readCalls reads the calls of an earlier answer.
func readCalls(t *turn, name string, raw json.RawMessage) *fault {
	var calls []json.RawMessage
	if json.Unmarshal(raw, &calls) != nil {
		return invalidType(name, `%s is %s; accepted: a list of {"id":"...","type":"function","function":{"name":"...","arguments":"{...}"}}`, name, kindOf(raw))
	}
	for i, raw := range calls {
		at, c := element(name, i), turnCall{Type: "function"}
		if _, err := callKeys.read(at, raw, &c, false); err != nil {
			return err
		}
		if err := c.checked(at, ".function"); err != nil {
			return err
		}
		t.Calls = append(t.Calls, c)
	}
	return nil
}

// readTurns checks messages.
func readTurns(name string, value json.RawMessage) ([]turn, *fault) {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil || len(all) == 0 {
		return nil, notList(value, name, `%s is %s; accepted: a list of messages such as {"role":"user","content":"..."}`, name, kindOf(value))
	}
	turns := make([]turn, len(all))
	for i, raw := range all {
		at := element(name, i)
		if _, err := turnKeys.read(at, raw, &turns[i], false); err != nil {
			return nil, err
		}
		switch {
		case turns[i].Role == "":
			return nil, missing(at+".role", "%s has no role; accepted: %s", at, roles)
		case turns[i].Calls != nil && turns[i].Role != chat.Assistant:
			return nil, unsupported(at+".tool_calls", "%s has calls, and its role is %q; accepted: %q", at, turns[i].Role, chat.Assistant)
		case turns[i].CallID != "" && turns[i].Role != toolRole:
			return nil, unsupported(at+".tool_call_id", "%s answers a call, and its role is %q; accepted: %q", at, turns[i].Role, toolRole)
		case turns[i].Name != "" && turns[i].Role != toolRole:
			return nil, unsupported(at+".name", `%s.name is a text: chat templates do not read it; accepted: ""`, at)
		case turns[i].Content == nil && turns[i].Calls == nil:
			return nil, missing(at+".content", "%s has no content; accepted: a text", at)
		}
	}
	return turns, nil
}
