package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/model/text/template"
)

// Options say how a template is used. The zero value is fine.
type Options struct {
	// Variables of the template, such as enable_thinking. Values are those of JSON.
	Variables map[string]any
	// AllowControl accepts control tokens in the text of messages.
	AllowControl bool
}

// Format writes the conversations of a model.
type Format struct {
	tok     *text.Tokenizer
	chat    *text.Chat
	vars    map[string]any
	control bool
	found
}

// reserved are variables that a conversation gives itself.
var reserved = []string{"messages", "add_generation_prompt"}

// New reads the chat template that came with a tokenizer and finds out what it appends.
// eos are the model's own end tokens. The error is text.ErrNoChat without a template,
// and lines.ErrInput where the template cannot write a question.
func New(tok *text.Tokenizer, eos []int, o Options) (*Format, error) {
	c, err := tok.Chat()
	if errors.Is(err, text.ErrNoChat) {
		err = hint.With(err, "a template is in chat_template.jinja or tokenizer_config.json, and base models often have none: use the model's instruct version, or write the prompts as text")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	f := &Format{tok: tok, chat: c, control: o.AllowControl}
	if f.vars, err = variables(o.Variables); err != nil {
		return nil, err
	}
	if f.found, err = f.probe(eos); err != nil {
		return nil, fmt.Errorf("%w: %w", lines.ErrInput, err)
	}
	return f, nil
}

// variables are values of Go as those of templates.
func variables(given map[string]any) (map[string]any, error) {
	for _, name := range reserved {
		if _, there := given[name]; there {
			return nil, fmt.Errorf("%w: the template variable %s cannot be set: each conversation has its own", lines.ErrInput, name)
		}
	}
	raw, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("%w: template variables: %w", lines.ErrInput, err)
	}
	value, err := template.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: template variables: %w", lines.ErrInput, err)
	}
	if value == nil {
		return nil, nil
	}
	return value.(*template.Dict).Vars(), nil
}

// render writes a conversation; prompt adds what the assistant's next turn begins with.
func (f *Format) render(c Conversation, prompt bool) (template.Result, error) {
	vars := map[string]any{}
	maps.Copy(vars, f.vars)
	maps.Copy(vars, c.Variables)
	messages := make([]any, len(c.Messages))
	for i, m := range c.Messages {
		messages[i] = m.fields
	}
	vars["messages"], vars["add_generation_prompt"] = template.List(messages...), prompt
	if c.Tools != nil {
		vars["tools"] = c.Tools
	}
	if c.Documents != nil {
		vars["documents"] = c.Documents
	}
	r, err := f.chat.Render(vars, template.Options{})
	var fault *template.Error
	if errors.As(err, &fault) && fault.Raised {
		return r, fmt.Errorf("the chat template refuses the conversation: %s", fault.Message)
	}
	if err != nil {
		return r, fmt.Errorf("the chat template fails: %w", err)
	}
	return r, nil
}

// text is the prompt of a conversation: its messages, and what the assistant's turn
// begins with. The last message may not be the assistant's.
func (f *Format) text(c Conversation) (string, error) {
	if len(c.Messages) == 0 {
		return "", errors.New("the conversation has no messages")
	}
	if c.Messages[len(c.Messages)-1].Role == Assistant {
		return "", errors.New("the last message is the assistant's: there is nothing to answer")
	}
	if err := f.check(c); err != nil {
		return "", err
	}
	r, err := f.render(c, true)
	return r.Text, err
}

// Prompt are the token ids of [Format.Text].
func (f *Format) Prompt(c Conversation) ([]int, error) {
	t, err := f.text(c)
	if err != nil {
		return nil, err
	}
	return f.encode(t)
}

func (f *Format) encode(t string) ([]int, error) {
	if t == "" { // a tokenizer may refuse it
		return nil, nil
	}
	return f.tok.Encode(t)
}

// Faults of a conversation that many rows of a file may share.
var (
	// ErrControl: a text of the conversation contains a control token: a message's content,
	// its role or what else it has, or a text of the tools or documents.
	ErrControl = errors.New("a text contains a control token")
	// ErrSystem: there is a system message, and the template does not read it.
	ErrSystem = errors.New("the chat template has no system role")
	// ErrNothing: no token of the conversation is learned.
	ErrNothing = errors.New("nothing is learned from the conversation")
)

// check refuses what a template would write all the same.
func (f *Format) check(c Conversation) error {
	for i, m := range c.Messages {
		if m.Role == System && f.system != nil {
			return fmt.Errorf("%s: %w: %w", c.name(i), ErrSystem, f.system)
		}
		if err := f.plain(m.fields, m.Text); err != nil {
			return fmt.Errorf("%s: %w", c.name(i), err)
		}
	}
	if err := f.plain(c.Tools, ""); err != nil {
		return fmt.Errorf("the tools: %w", err)
	}
	if err := f.plain(c.Documents, ""); err != nil {
		return fmt.Errorf("the documents: %w", err)
	}
	return nil
}

// plain refuses control tokens in the texts of a value: a template may write any of them. It
// also refuses content that the tokenizer cannot write; of the other texts, which may not
// be written, that is found when the whole is encoded.
func (f *Format) plain(value any, content string) error {
	if f.control {
		return nil
	}
	for t := range texts(value) {
		if t == "" { // a tokenizer may refuse it
			continue
		}
		ids, err := f.tok.Encode(t)
		if err != nil && t == content {
			return err
		}
		if at := slices.IndexFunc(ids, f.tok.Special); err == nil && at >= 0 {
			return fmt.Errorf("%w: %s", ErrControl, f.tok.Decode(ids[at:at+1]))
		}
	}
	return nil
}

// Reads says whether one of these values of a variable changes what the template writes.
func (f *Format) Reads(variable string, values ...string) bool {
	c := Conversation{Messages: []Message{Say(User, tryFirst)}}
	plain, err := f.render(c, true)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(values, func(value string) bool {
		c.Variables = map[string]any{variable: value}
		r, err := f.render(c, true)
		return err == nil && r.Text != plain.Text
	})
}

// End is the token that the template writes where a turn of the assistant ends; the
// model's first end token where it writes none.
func (f *Format) End() int { return f.ends[0] }

// Ends are the tokens that end a turn: End, and the model's own end tokens.
func (f *Format) Ends() []int { return slices.Clone(f.ends) }

// HasSystem says whether the template reads a system message.
func (f *Format) HasSystem() bool { return f.system == nil }

// Rewrites says what of earlier turns the template changes once more is said; "": it
// only appends.
func (f *Format) Rewrites() string { return f.rewrites }

// Summary says in a line what the template was found to do.
func (f *Format) Summary() string {
	facts := []string{f.tok.Decode(f.ends[:1]) + " ends a turn"}
	if f.system != nil {
		facts = append(facts, "no system role")
	}
	if f.rewrites != "" {
		facts = append(facts, f.rewrites)
	}
	return strings.Join(facts, "; ")
}
