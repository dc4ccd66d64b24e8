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

// readPrompts turns the prompt or the messages of a query into token ids, and says how
// many new tokens there are at most.
func (s *Server) readPrompts(q *query) (err *fault) {
	if q.on, err = s.find(q.model); err != nil {
		return err
	}
	if err = s.readFormat(q); err != nil {
		return err
	}
	if q.chat {
		err = s.talk(q)
	} else {
		q.prompts, err = s.textPrompts(q.prompt)
		q.ends = s.m.Config.EOS
	}
	if err == nil {
		err = s.follow(q)
	}
	if err != nil {
		return err
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

// talk reads the messages and the tools of a chat.
func (s *Server) talk(q *query) *fault {
	if err := s.chats("messages"); err != nil {
		return err
	}
	q.ends = s.format.Ends()
	tools, err := s.readTools(q)
	if err != nil {
		return err
	}
	p, err := s.chatPrompt(q.messages, "messages", tools)
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
		f := bad("messages", "the context of this server has %d tokens; the prompt has %d, and %d new ones are asked for; accepted: at most %d in sum", context, longest, q.max, context)
		if f.code = "context_length_exceeded"; !q.chat {
			f.param = "prompt"
		}
		return f
	}
	return nil
}

// textPrompts reads a text, a list of texts, token ids, or a list of lists of them.
func (s *Server) textPrompts(value json.RawMessage) ([][]int, *fault) {
	var one string
	if json.Unmarshal(value, &one) == nil {
		p, err := s.encode("prompt", one)
		return [][]int{p}, err
	}
	var elements []json.RawMessage
	if json.Unmarshal(value, &elements) != nil || len(elements) == 0 {
		return nil, bad("prompt", "prompt is %s; accepted: a text, a list of texts, token ids, or a list of lists of token ids", kindOf(value))
	}
	if c := bytes.TrimSpace(elements[0])[0]; c != '"' && c != '[' {
		list, err := ids("prompt", value)
		if err == nil {
			err = s.promptIDs("prompt", list)
		}
		return [][]int{list}, err
	}
	var out [][]int
	for i, e := range elements {
		name := element("prompt", i)
		var p []int
		var err *fault
		if isNull(e) {
			return nil, bad(name, "%s is null; accepted: a text, or a list of token ids", name)
		} else if json.Unmarshal(e, &one) == nil {
			p, err = s.encode(name, one)
		} else if p, err = ids(name, e); err == nil {
			err = s.promptIDs(name, p)
		}
		if err != nil {
			return nil, err
		}
		if out = append(out, p); len(out) > maxChoices {
			return nil, bad("prompt", "there are more than %d prompts; accepted: at most that many in one request", maxChoices)
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
		f.code = "context_length_exceeded"
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

// chatPrompt writes messages with the model's template.
func (s *Server) chatPrompt(value json.RawMessage, name string, tools any) ([]int, *fault) {
	turns, f := readTurns(name, value)
	if f != nil {
		return nil, f
	}
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
	messages, err := chat.ReadMessages(clean)
	if err != nil {
		return nil, bad(name, "%s: %v", name, err)
	}
	ids, err := s.format.Prompt(chat.Conversation{Messages: messages, Tools: tools}.Under(s.o.System))
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
			return bad(name, "%s is %s; accepted: %s", name, kindOf(raw), roles)
		}
		return nil
	}},
	{"content", readContent},
	{"name", word(func(t *turn) *string { return &t.Name })},
	{"tool_calls", readCalls},
	{"tool_call_id", word(func(t *turn) *string { return &t.CallID })},
	{"function_call", only[turn]("tool_calls has taken its place")},
	{"refusal", only[turn]("models write text alone", `""`)},
	{"audio", only[turn]("models read text alone")},
	{"annotations", only[turn]("models read text alone", "[]")},
}

// readContent reads a text, or a list of texts; a list of one is that text.
func readContent(t *turn, name string, raw json.RawMessage) *fault {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		t.Content = one
		return nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return bad(name, `%s is %s; accepted: a text, or a list of {"type":"text","text":"..."}`, name, kindOf(raw))
	}
	list := make([]textPart, len(parts))
	for i, p := range parts {
		at := element(name, i)
		known := keys[textPart]{
			{"type", func(p *textPart, name string, raw json.RawMessage) *fault {
				if _ = json.Unmarshal(raw, &p.Type); p.Type != "text" {
					return unsupported(name, `%s is %s: models read text alone; accepted: "text"`, name, kindOf(raw))
				}
				return nil
			}},
			{"text", word(func(p *textPart) *string { return &p.Text })},
			{"image_url", only[textPart]("models read text alone")},
			{"input_audio", only[textPart]("models read text alone")},
			{"file", only[textPart]("models read text alone")},
		}
		if _, err := known.read(at, p, &list[i], false); err != nil {
			return err
		}
		if list[i].Type == "" {
			return bad(at, `%s has no "type"; accepted: {"type":"text","text":"..."}`, at)
		}
	}
	if t.Content = list; len(list) == 1 {
		t.Content = list[0].Text
	}
	return nil
}

// callKeys are those of a call of an earlier answer, whose arguments are JSON in a text.
var callKeys = keys[turnCall]{
	{"id", word(func(c *turnCall) *string { return &c.ID })},
	{"type", func(_ *turnCall, name string, raw json.RawMessage) *fault {
		var kind string
		if _ = json.Unmarshal(raw, &kind); kind != "function" {
			return bad(name, `%s is %s; accepted: "function"`, name, kindOf(raw))
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

// readCalls reads the calls of an earlier answer.
func readCalls(t *turn, name string, raw json.RawMessage) *fault {
	var calls []json.RawMessage
	if json.Unmarshal(raw, &calls) != nil {
		return bad(name, `%s is %s; accepted: a list of {"id":"...","type":"function","function":{"name":"...","arguments":"{...}"}}`, name, kindOf(raw))
	}
	for i, raw := range calls {
		at, c := element(name, i), turnCall{Type: "function"}
		if _, err := callKeys.read(at, raw, &c, false); err != nil {
			return err
		}
		switch {
		case c.Function.Name == "":
			return bad(at+".function.name", "%s has no name of a function", at)
		case c.Function.Arguments == nil:
			return bad(at+".function.arguments", "%s has no arguments; accepted: a JSON object written as a string", at)
		}
		t.Calls = append(t.Calls, c)
	}
	return nil
}

// readTurns checks messages.
func readTurns(name string, value json.RawMessage) ([]turn, *fault) {
	var all []json.RawMessage
	if json.Unmarshal(value, &all) != nil || len(all) == 0 {
		return nil, bad(name, `%s is %s; accepted: a list of messages such as {"role":"user","content":"..."}`, name, kindOf(value))
	}
	turns := make([]turn, len(all))
	for i, raw := range all {
		at := element(name, i)
		if _, err := turnKeys.read(at, raw, &turns[i], false); err != nil {
			return nil, err
		}
		switch {
		case turns[i].Role == "":
			return nil, bad(at+".role", "%s has no role; accepted: %s", at, roles)
		case turns[i].Calls != nil && turns[i].Role != chat.Assistant:
			return nil, unsupported(at+".tool_calls", "%s has calls, and its role is %q; accepted: %q", at, turns[i].Role, chat.Assistant)
		case turns[i].CallID != "" && turns[i].Role != toolRole:
			return nil, unsupported(at+".tool_call_id", "%s answers a call, and its role is %q; accepted: %q", at, turns[i].Role, toolRole)
		case turns[i].Name != "" && turns[i].Role != toolRole:
			return nil, unsupported(at+".name", `%s.name is a text: chat templates do not read it; accepted: ""`, at)
		case turns[i].Content == nil && turns[i].Calls == nil:
			return nil, bad(at+".content", "%s has no content; accepted: a text", at)
		}
	}
	return turns, nil
}
