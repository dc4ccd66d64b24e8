package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/verify"
)

// Columns of a row that are a conversation or a part of one. They stand in the
// problem's Metadata.
const (
	messagesKey   = "messages"   // list of messages
	completionKey = "completion" // what is to be learned: text, or a list of messages that follow
	toolsKey      = "tools"      // for the template, as they are
	documentsKey  = "documents"
)

// Context are the columns of a row that its prompt is written from, besides the question;
// nil: it has none. With them in its Metadata, a problem of the same question has the
// same prompt.
func Context(row verify.Problem) map[string]json.RawMessage {
	var out map[string]json.RawMessage
	for _, key := range []string{messagesKey, toolsKey, documentsKey} {
		if raw, there := row.Metadata[key]; there && row.Metadata[messagesKey] != nil {
			if out == nil {
				out = map[string]json.RawMessage{}
			}
			out[key] = raw
		}
	}
	return out
}

// readMessages takes the messages of a row from its messages, or from a prompt that is
// a list, and its question from them if it has none.
func readMessages(row *verify.Problem, fields map[string]json.RawMessage) error {
	raw, there := fields[messagesKey]
	if there && string(raw) == "null" {
		delete(row.Metadata, messagesKey)
		there = false
	}
	if prompt := fields["prompt"]; len(prompt) > 0 && prompt[0] == '[' {
		if there {
			return errors.New(`the line has "messages", and a "prompt" that is a list of messages too: give one of them`)
		}
		raw, there = prompt, true
		row.Metadata[messagesKey] = prompt
		if _, asks := fields["question"]; !asks {
			row.Question = ""
		} else {
			delete(row.Metadata, "prompt")
		}
	}
	if !there {
		return nil
	}
	messages, err := chat.ReadMessages(raw)
	if err != nil {
		return fmt.Errorf("%q: %w", messagesKey, err)
	}
	if c := (chat.Conversation{Messages: messages}); row.Question == "" {
		if row.Question = c.Question(); row.Question == "" {
			return fmt.Errorf("%q has no text of the user", messagesKey)
		}
	}
	if row.ID == "" {
		row.ID = identity(*row)
	}
	return nil
}

// identity tells problems apart: the question, or all that is said before the answer. One that a world asks
// is its columns.
func identity(row verify.Problem) string {
	raw, there := row.Metadata[messagesKey]
	if !there && row.Question == "" {
		columns, err := json.Marshal(row.Metadata)
		if err != nil { // they were read from JSON
			panic(err)
		}
		return string(columns)
	}
	if !there {
		return row.Question
	}
	messages, err := chat.ReadMessages(raw)
	if err != nil {
		return row.Question
	}
	var b strings.Builder
	for _, m := range (chat.Conversation{Messages: messages}).Asked().Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
	}
	return b.String()
}
