package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/braces"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/model/text/template"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Forms of a prompt.
const (
	Auto = "auto" // Chat if the model has a chat template, else Text
	Chat = "chat" // a conversation, written with the model's chat template
	Text = "text" // the text of the problem as it is
)

// Style says how problems become prompts.
type Style struct {
	Form   string     // Auto, Chat or Text
	System string     // the system message; "": none, or that of the task
	Task   tasks.Task // of the problems; nil: they are rows of a file

	Tools  []world.Spec // that the model may call before it answers
	ByTags bool         // calls stand between tags, rather than as the template writes them

	Whole  bool          // before each turn of an episode the template writes the conversation as a whole
	Sum    world.Summary // when the context of an episode begins anew from a summary
	Tokens int           // of a context, the prompt apart, at most; 0: as many as there are
	chat.Options
}

// Renderer writes problems as the token ids that a model reads. Training, evaluations
// and their checks share it. It is immutable and safe for concurrent use.
type Renderer struct {
	tok    *text.Tokenizer
	format *chat.Format // nil: the form is text
	style  Style
	eos    []int
}

// NewRenderer makes the renderer of a model's tokenizer. eos are the model's end
// tokens, at least one. Errors are lines.ErrInput.
func NewRenderer(tok *text.Tokenizer, eos []int, s Style) (*Renderer, error) {
	r := &Renderer{tok: tok, style: s, eos: eos}
	if s.Form == Text {
		return r, nil
	}
	var err error
	r.format, err = chat.New(tok, eos, s.Options)
	if errors.Is(err, text.ErrNoChat) && s.Form == Auto {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if r.format == nil && s.System != "" {
		err := fmt.Errorf("%w: a system message needs a chat template, which the model does not have", lines.ErrInput)
		err = hint.With(err, "use a model with a chat template")
		return nil, hint.With(err, "or train without the message: --set task.system=")
	}
	return r, nil
}

// Ends are the token ids that end a completion, the one that demonstrations end with
// first.
func (r *Renderer) Ends() []int {
	if r.format != nil {
		return r.format.Ends()
	}
	return slices.Clone(r.eos)
}

// Chat says whether prompts are conversations.
func (r *Renderer) Chat() bool { return r.format != nil }

// Summary says in a line how prompts are written: what the chat template was found to do, or that
// they are text, and why.
func (r *Renderer) Summary() string {
	switch {
	case r.format != nil:
		return "chat template: " + r.format.Summary()
	case r.style.Form == Text:
		return "text: form = \"text\" uses no chat template, so the model reads each problem as it is"
	}
	return "text: the model has no chat template, so it reads each problem as it is and continues it"
}

// Decode is the text of token ids.
func (r *Renderer) Decode(ids []int) string { return r.tok.Decode(ids) }

// Pieces is the text that each token of a completion adds, so that together they are its
// text without the end token. A character of several tokens is the last one's.
func (r *Renderer) Pieces(ids []int) []string {
	out, stream, from := make([]string, len(ids)), r.tok.NewStream(), len(ids)
	if n := len(ids); n > 0 && slices.Contains(r.Ends(), ids[n-1]) {
		from--
	}
	for i, id := range ids[:from] {
		out[i] = stream.Add(id)
	}
	if from > 0 {
		out[from-1] += stream.Held()
	}
	return out
}

// unasked says that a problem has no question: a world asks it.
func unasked(row verify.Problem) bool {
	_, there := row.Metadata[messagesKey]
	return row.Question == "" && !there
}

// Prompt are the token ids of a problem, up to where the model goes on; none where a world asks it.
func (r *Renderer) Prompt(row verify.Problem) ([]int, error) {
	if unasked(row) {
		return nil, nil
	}
	if r.format == nil {
		if _, there := row.Metadata[messagesKey]; there && r.style.Form == Auto {
			return nil, errNoTemplate
		}
		return r.tok.Encode(row.Question)
	}
	c, err := r.conversation(row)
	if err != nil {
		return nil, err
	}
	return r.format.Prompt(c.Asked())
}

// Asked are the token ids of a problem whose question is put in another way: a text with
// members of its row in braces, {question} and {answer} among them. Of a conversation it takes
// the place of the user's last message. "" is the question as it is.
func (r *Renderer) Asked(row verify.Problem, text string) ([]int, error) {
	if text == "" {
		return r.Prompt(row)
	}
	var err error
	if row.Question, err = Filled(row, text); err != nil {
		return nil, err
	}
	if r.format == nil {
		return r.tok.Encode(row.Question)
	}
	c, err := r.conversation(row)
	if err != nil {
		return nil, err
	}
	c = c.Asked()
	for i := len(c.Messages) - 1; i >= 0 && row.Metadata[messagesKey] != nil; i-- {
		if c.Messages[i].Role == chat.User {
			c.Messages = slices.Clone(c.Messages)
			c.Messages[i] = chat.Say(chat.User, row.Question)
			break
		}
	}
	return r.format.Prompt(c)
}

// Filled is a text with members of a row in braces: {question}, {answer}, {id}, and those of its columns.
func Filled(row verify.Problem, text string) (string, error) {
	pieces, err := braces.Parse(text, "column")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range pieces {
		if !p.Braced {
			b.WriteString(p.Text)
			continue
		}
		if raw, there := row.Metadata[p.Text]; there {
			b.WriteString(textOf(raw))
			continue
		}
		if p.Text == "id" {
			b.WriteString(row.ID)
			continue
		}
		member, why := row.Text(p.Text)
		if why != "" {
			return "", errors.New(why)
		}
		b.WriteString(member)
	}
	return b.String(), nil
}

// Lists are the lists of a row that a text names in braces, as the texts of their entries: a text itself, of a table
// its member ask, and JSON of all others.
func Lists(row verify.Problem, text string) (map[string][]string, error) {
	pieces, err := braces.Parse(text, "column")
	if err != nil {
		return nil, err
	}
	lists := map[string][]string{}
	for _, p := range pieces {
		var entries []json.RawMessage
		if !p.Braced || json.Unmarshal(row.Metadata[p.Text], &entries) != nil {
			continue
		}
		lists[p.Text] = nil
		for _, raw := range entries {
			var asked struct{ Ask *string }
			if json.Unmarshal(raw, &asked) == nil && asked.Ask != nil {
				lists[p.Text] = append(lists[p.Text], *asked.Ask)
			} else {
				lists[p.Text] = append(lists[p.Text], textOf(raw))
			}
		}
	}
	return lists, nil
}

// Plain are the token ids of a text as a message of the user, or of the text alone, up to where the model
// goes on. Control tokens in it are text, whoever wrote them.
func (r *Renderer) Plain(asked string) ([]int, error) {
	if r.format == nil {
		return r.Answer(asked)
	}
	return r.format.Plain(chat.Conversation{Messages: []chat.Message{chat.Say(chat.User, asked)}})
}

// Answer are the token ids of a text that the model may write. Control tokens in it are text.
func (r *Renderer) Answer(answer string) ([]int, error) {
	return r.tok.EncodeBeside(answer, text.Range{To: len(answer)})
}

var errNoTemplate = hint.With(errors.New("the problem has messages, and the model has no chat template"), `use a model with a chat template; [task] form = "text" reads the question alone`)

// conversation is a problem as messages: those of its row, or those of the task, or its
// question as the user's.
func (r *Renderer) conversation(row verify.Problem) (c chat.Conversation, err error) {
	switch raw, there := row.Metadata[messagesKey]; {
	case there:
		if c.Messages, err = chat.ReadMessages(raw); err != nil {
			return c, fmt.Errorf("%q: %w", messagesKey, err)
		}
		if c.Tools, err = value(row, toolsKey); err == nil {
			c.Documents, err = value(row, documentsKey)
		}
		if err != nil {
			return c, err
		}
	case r.style.Task != nil:
		return r.withTools(r.posed(row)), nil
	case !unasked(row):
		c.Messages = []chat.Message{chat.Say(chat.User, row.Question)}
	}
	return r.withTools(c.Under(r.style.System)), nil
}

// posed is a problem of a procedural task. The task's system message says how to answer:
// where the template has no system role, it stands in front of the question, and where
// the recipe has a system message, the question's own text says it as far as it does.
func (r *Renderer) posed(row verify.Problem) chat.Conversation {
	if r.style.System != "" {
		c := chat.Conversation{Messages: []chat.Message{chat.Say(chat.User, row.Question)}}
		return c.Under(r.style.System)
	}
	var c chat.Conversation
	before := ""
	for _, m := range tasks.Chat(r.style.Task, row) {
		if m.Role == chat.System && !r.format.HasSystem() {
			before = m.Content + "\n\n"
			continue
		}
		c.Messages = append(c.Messages, chat.Say(m.Role, before+m.Content))
		before = ""
	}
	return c
}

// value is a column as the template sees it; nil: the row does not have it.
func value(row verify.Problem, key string) (any, error) {
	raw, there := row.Metadata[key]
	if !there {
		return nil, nil
	}
	v, err := template.DecodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	return v, nil
}

// ErrUnwritable: the model's tokenizer cannot write a completion, as one of whole words cannot write most
// texts.
var ErrUnwritable = errors.New("the tokenizer cannot write the completion")

// unwritable is ErrUnwritable, in the tokenizer's words.
type unwritable struct{ error }

func (e unwritable) Is(target error) bool { return target == ErrUnwritable }
func (e unwritable) Unwrap() error        { return e.error }

// Shown is a problem, asked as by [Renderer.Asked], with a completion to imitate: the prompt, and the completion's
// tokens with the end of the turn, which are learned.
func (r *Renderer) Shown(row verify.Problem, asked, completion string) (chat.Lesson, error) {
	prompt, err := r.Asked(row, asked)
	if err != nil {
		return chat.Lesson{}, err
	}
	answer, err := r.tok.Encode(completion)
	if err != nil {
		return chat.Lesson{}, unwritable{fmt.Errorf("completion %s: %w", terminal.Quote(completion), err)}
	}
	ids := slices.Concat(prompt, answer, r.Ends()[:1])
	return chat.Lesson{IDs: ids, Learned: []chat.Span{{From: len(prompt), To: len(ids)}}}, nil
}

// Lesson is a row of a file to imitate: its completion, or what the assistant says in
// its messages.
func (r *Renderer) Lesson(row verify.Problem) (chat.Lesson, error) {
	text, more, err := completionOf(row, completionKey)
	if err != nil {
		return chat.Lesson{}, err
	}
	if text != nil {
		return r.Shown(row, "", *text)
	}
	if _, there := row.Metadata[messagesKey]; !there {
		err := fmt.Errorf(`%w: it has no "messages" and no "completion"; %s`, errNoLesson, beside(row))
		if column := learnable(row); column != "" {
			err = hint.With(err, "name the column that is to be learned: --set task.columns.completion=%s", terminal.ShellWord(column))
		}
		return chat.Lesson{}, hint.With(err, "take these rows out, or leave out the stage that imitates them, if there are others: --set stage.NAME.skip=true")
	}
	if r.format == nil {
		return chat.Lesson{}, errNoTemplate
	}
	c, err := r.conversation(row)
	if err != nil {
		return chat.Lesson{}, err
	}
	c.Messages = append(c.Messages, more...)
	return r.format.Lesson(c, 0)
}

// errNoLesson: a row has nothing that could be imitated.
var errNoLesson = errors.New("nothing is learned from the row")

// learnable is the column of a row that a person would most likely want to be imitated: its
// answer, else its longest text. "" if it has no text.
func learnable(row verify.Problem) string {
	if row.Answer != "" {
		return "answer"
	}
	longest, most := "", 0
	for _, name := range slices.Sorted(maps.Keys(row.Metadata)) {
		var text string
		if json.Unmarshal(row.Metadata[name], &text) == nil && len(text) > most {
			longest, most = name, len(text)
		}
	}
	return longest
}

// beside says what a row has besides its prompt.
func beside(row verify.Problem) string {
	columns := map[string]json.RawMessage{}
	maps.Copy(columns, row.Metadata)
	if row.Answer != "" {
		columns["answer"] = json.RawMessage(row.Answer)
	}
	return "beside the prompt it has " + verify.Columns(columns)
}

// completionOf is a completion of a row, as text or as messages; none: both are nil.
func completionOf(row verify.Problem, key string) (text *string, messages []chat.Message, err error) {
	raw, there := row.Metadata[key]
	if !there || string(raw) == "null" {
		return nil, nil, nil
	}
	var number json.Number
	var truth bool
	switch {
	case raw[0] == '[':
		messages, err = chat.ReadMessages(raw)
	case json.Unmarshal(raw, &text) == nil:
	case json.Unmarshal(raw, &number) == nil: // an answer may be one
		text = (*string)(&number)
	case json.Unmarshal(raw, &truth) == nil:
		text = new(strconv.FormatBool(truth))
	default:
		text, err = nil, errors.New("accepted: text, a number, true, false, or a list of messages")
	}
	if err != nil {
		err = fmt.Errorf("%q: %w", key, err)
	}
	return text, messages, err
}
