package chat

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/text/template"
)

// Roles that have a meaning here. Templates know others.
const (
	System    = "system"
	User      = "user"
	Assistant = "assistant"
	Tool      = "tool"
)

// Message is a turn of a conversation.
type Message struct {
	Role   string
	Text   string         // of its content; "" where it has none
	fields *template.Dict // as the template sees it, with keys such as tool_calls
}

// Say is a message of text. That of a tool says which call it answers, as some templates ask for it.
func Say(role, text string) Message {
	fields := template.NewDict()
	fields.Set("role", role)
	fields.Set("content", text)
	if role == Tool {
		fields.Set("tool_call_id", callID)
	}
	return Message{role, text, fields}
}

// callID is an id of a call as Mistral's templates ask for it: nine letters and digits.
const callID = "call00001"

// Conversation is what a template writes.
type Conversation struct {
	Messages  []Message
	Tools     any            // value of the template package, a list of functions; nil: none
	Documents any            // likewise
	Variables map[string]any // of the template, in place of those of [Options]; values of the template package; nil: none

	added int // messages in front that Under added
}

// texts are the strings of a value of the template package, keys among them.
func texts(value any) iter.Seq[string] {
	return func(yield func(string) bool) {
		for todo := []any{value}; len(todo) > 0; {
			next := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			switch v := next.(type) {
			case string:
				if !yield(v) {
					return
				}
			case *template.Dict:
				vars := v.Vars()
				for _, key := range slices.Sorted(maps.Keys(vars)) {
					todo = append(todo, key, vars[key])
				}
			default:
				items, _ := template.Items(v)
				todo = append(todo, items...)
			}
		}
	}
}

// name is what an error calls message i: by its number among those that were given, and by
// its role, which is text of others.
func (c Conversation) name(i int) string {
	if i < c.added {
		return "the system message"
	}
	return fmt.Sprintf("message %d (%s)", i+1-c.added, terminal.Line(c.Messages[i].Role, 20))
}

// Question is the text of the last message of the user; "" without one.
func (c Conversation) Question() string {
	for _, m := range slices.Backward(c.Messages) {
		if m.Role == User {
			return m.Text
		}
	}
	return ""
}

// Asked is the conversation up to the last message that is not the assistant's: what a
// model answers. A reference answer at the end is left out.
func (c Conversation) Asked() Conversation {
	n := len(c.Messages)
	for n > 0 && c.Messages[n-1].Role == Assistant {
		n--
	}
	c.Messages = c.Messages[:n]
	return c
}

// Under is the conversation with a system message in front, unless it has one or text
// is empty.
func (c Conversation) Under(text string) Conversation {
	if text != "" && (len(c.Messages) == 0 || c.Messages[0].Role != System) {
		c.Messages = append([]Message{Say(System, text)}, c.Messages...)
		c.added++
	}
	return c
}

const accepted = `[{"role":"user","content":"..."}, ...]`

// ReadMessages reads a JSON list of messages. Each has a role, and a content that is a
// string, a list of {"type":"text","text":"..."} or, where a message has other keys,
// null. Other keys go to the template as they are.
func ReadMessages(raw []byte) ([]Message, error) {
	value, err := template.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%w; accepted: %s", err, accepted)
	}
	items, ok := template.Items(value)
	if !ok {
		return nil, fmt.Errorf("found no list; accepted: %s", accepted)
	}
	if len(items) == 0 {
		return nil, errors.New("the list is empty; accepted: one message or more")
	}
	messages := make([]Message, len(items))
	for i, item := range items {
		if messages[i], err = readMessage(item); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return messages, nil
}

func readMessage(item any) (m Message, err error) {
	fields, ok := item.(*template.Dict)
	if !ok {
		return m, fmt.Errorf(`found no object; accepted: {"role":"user","content":"..."}`)
	}
	role, _ := fields.Get("role")
	if m.Role, ok = role.(string); !ok || m.Role == "" {
		return m, errors.New(`there is no "role"; accepted: a string such as "user"`)
	}
	m.fields = fields
	content, there := fields.Get("content")
	if content == nil {
		if len(fields.Vars()) < 2 || there && len(fields.Vars()) == 2 {
			return m, errors.New(`there is no "content"; accepted: a string`)
		}
		return m, nil
	}
	if m.Text, ok = content.(string); ok {
		return m, nil
	}
	parts, ok := template.Items(content)
	if !ok {
		return m, errors.New(`"content" is not text; accepted: a string, or a list of {"type":"text","text":"..."}`)
	}
	var all []string
	for i, part := range parts {
		text, err := readPart(part)
		if err != nil {
			return m, fmt.Errorf("part %d of the content: %w", i+1, err)
		}
		all = append(all, text)
	}
	m.Text = strings.Join(all, "\n")
	return m, nil
}

// readPart is the text of {"type":"text","text":"..."}.
func readPart(part any) (string, error) {
	fields, ok := part.(*template.Dict)
	if ok {
		kind, _ := fields.Get("type")
		value, _ := fields.Get("text")
		if text, isText := value.(string); isText && kind == "text" {
			return text, nil
		}
		if name, isName := kind.(string); isName && name != "text" {
			return "", fmt.Errorf(`found type %q; accepted: "text", as models read text alone`, name)
		}
	}
	return "", errors.New(`accepted: {"type":"text","text":"..."}`)
}
