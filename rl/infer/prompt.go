package infer

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/rl/chat"
)

// ChatOptions say how conversations are written.
type ChatOptions struct {
	Always bool   // a prompt is a message of the user, too
	System string // system message of conversations that have none; "": none
	chat.Options
}

// reader reads lines as token ids. It makes the model's chat format where a line first
// needs it.
type reader struct {
	m      *model.Model
	o      ChatOptions
	format *chat.Format
}

// prompt reads {"prompt":"..."}, {"messages":[...]} or {"ids":[...]}.
func (r *reader) prompt(raw []byte) ([]int, error) {
	var line struct {
		IDs      []int           `json:"ids"`
		Prompt   *string         `json:"prompt"`
		Messages json.RawMessage `json:"messages"`
	}
	const accepted = `{"prompt":"..."}, {"messages":[...]} or {"ids":[1,2,3]}`
	if err := lines.Decode(raw, &line, accepted); err != nil {
		return nil, err
	}
	if err := oneOf(accepted, [3]given{{"ids", len(line.IDs) > 0}, {"prompt", line.Prompt != nil}, {"messages", line.Messages != nil}}); err != nil {
		return nil, err
	}
	switch {
	case line.Messages != nil:
		c, err := r.conversation(line.Messages)
		if err != nil {
			return nil, err
		}
		return r.ids(r.format.Prompt(c))
	case line.Prompt != nil && r.o.Always:
		if err := r.open(); err != nil {
			return nil, err
		}
		c := chat.Conversation{Messages: []chat.Message{chat.Say(chat.User, *line.Prompt)}}
		return r.ids(r.format.Prompt(c.Under(r.o.System)))
	case line.Prompt != nil:
		return encode(r.m, "prompt", *line.Prompt)
	}
	return line.IDs, checkIDs(r.m, line.IDs)
}

// sequence reads {"text":"..."}, {"messages":[...]} or {"ids":[...]}.
func (r *reader) sequence(raw []byte) ([]int, error) {
	var line struct {
		IDs      []int           `json:"ids"`
		Text     *string         `json:"text"`
		Messages json.RawMessage `json:"messages"`
	}
	const accepted = `{"ids":[1,2,3]}, {"text":"..."} or {"messages":[...]}`
	if err := lines.Decode(raw, &line, accepted); err != nil {
		return nil, err
	}
	if err := oneOf(accepted, [3]given{{"ids", len(line.IDs) > 0}, {"text", line.Text != nil}, {"messages", line.Messages != nil}}); err != nil {
		return nil, err
	}
	switch {
	case line.Messages != nil:
		c, err := r.conversation(line.Messages)
		if err != nil {
			return nil, err
		}
		if c.Messages[len(c.Messages)-1].Role != chat.Assistant {
			return r.ids(r.format.Prompt(c))
		}
		lesson, err := r.format.Lesson(c, 0)
		return r.ids(lesson.IDs, err)
	case line.Text != nil:
		return encode(r.m, "text", *line.Text)
	}
	return line.IDs, nil
}

// given is a key of a line.
type given struct {
	key   string
	there bool
}

// oneOf refuses a line that has none of the keys, or several.
func oneOf(accepted string, keys [3]given) error {
	found := ""
	for _, k := range keys {
		switch {
		case k.there && found != "":
			return fmt.Errorf("%w: both %q and %q are given: give one", lines.ErrInput, found, k.key)
		case k.there:
			found = k.key
		}
	}
	if found == "" {
		return fmt.Errorf("%w: found neither %q, %q nor %q; accepted: %s", lines.ErrInput, keys[0].key, keys[1].key, keys[2].key, accepted)
	}
	return nil
}

// conversation reads the messages of a line.
func (r *reader) conversation(raw json.RawMessage) (c chat.Conversation, err error) {
	if err := r.open(); err != nil {
		return c, err
	}
	if c.Messages, err = chat.ReadMessages(raw); err != nil {
		return c, fmt.Errorf(`%w: "messages": %w`, lines.ErrInput, err)
	}
	return c.Under(r.o.System), nil
}

// open makes the format. From then on the model ends its completions with the tokens
// that end a turn.
func (r *reader) open() error {
	if r.format != nil {
		return nil
	}
	if r.m.Tokenizer == nil {
		return fmt.Errorf("%w: a conversation needs a tokenizer, but the model's folder has no tokenizer.json", lines.ErrInput)
	}
	var err error
	if r.format, err = chat.New(r.m.Tokenizer, r.m.Config.EOS, r.o.Options); err != nil {
		return err
	}
	r.m.Config.EOS = r.format.Ends()
	return nil
}

// ids marks what is wrong with a conversation as bad input, and checks its ids.
func (r *reader) ids(ids []int, err error) ([]int, error) {
	if errors.Is(err, chat.ErrSystem) {
		err = hint.With(err, "put its text before the user's first message")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return ids, checkIDs(r.m, ids)
}
