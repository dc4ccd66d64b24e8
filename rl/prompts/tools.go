package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/world"
)

// ErrCalls: the model writes no calls of tools, or none that can be answered.
var ErrCalls = errors.New("the model writes no calls of tools")

// callable is an error if calls and answers cannot be written as the model's chat template does.
func (r *Renderer) callable() error {
	why := "it has no chat template"
	if r.format != nil {
		why = "its chat template writes none that is known here"
		if calls, known := r.format.Calls(); known {
			why = r.format.AppendsCalls(calls)
		}
	}
	if why == "" {
		return nil
	}
	return hint.With(fmt.Errorf("%w: %w: %s", lines.ErrInput, ErrCalls, why), "--set task.calls=tags")
}

// Calls reads the calls of a turn as the model's chat template writes them.
func (r *Renderer) Calls(text string, tools []world.Spec) []world.Call {
	form, known := r.format.Calls()
	if !known {
		return nil // Turns has said so
	}
	at, begun := form.Starts(text)
	if !begun {
		return nil
	}
	written, ok := form.Written(text[at:])
	if !ok {
		if form.Begin == "" { // an answer may begin with a brace too
			return nil
		}
		return []world.Call{{Mistake: "the call cannot be read; accepted: " + form.Write("NAME", "{...}")}}
	}
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	var calls []world.Call
	for _, c := range written {
		call := world.Call{Tool: c.Name, Args: c.Arguments}
		if !slices.Contains(names, c.Name) {
			call = world.Call{Mistake: fmt.Sprintf("there is no tool %.60q%s", c.Name, settings.DidYouMean(c.Name, names, "accepted: "+strings.Join(names, ", ")))}
		}
		calls = append(calls, call)
	}
	return calls
}

// Reads says whether the model can read an answer of a tool, in which a control token is text.
func (r *Renderer) Reads(said string) bool {
	role := world.Answered
	if r.style.ByTags {
		role = world.User
	}
	_, err := r.Next(true, []world.Message{{Role: role, Text: said}})
	return err == nil
}

// Called is a call as the policy writes it, of a tool that takes a text.
func (r *Renderer) Called(tool world.Spec, text string) (string, error) {
	if r.style.ByTags {
		return "<" + tool.Name + ">" + text + "</" + tool.Name + ">", nil
	}
	args, err := json.Marshal(map[string]string{tool.Text: text})
	if err != nil {
		return "", err
	}
	form, known := r.format.Calls()
	if !known {
		return "", ErrCalls
	}
	return form.Write(tool.Name, string(args)), nil
}

// withTools is a conversation whose model is told of its tools: by the template, or by a system message
// where calls stand between tags.
func (r *Renderer) withTools(c chat.Conversation) chat.Conversation {
	if len(r.style.Tools) == 0 {
		return c
	}
	if !r.style.ByTags {
		functions := make([]chat.Function, len(r.style.Tools))
		for i, t := range r.style.Tools {
			functions[i] = chat.Function{Name: t.Name, About: t.About, Args: t.Args}
		}
		c.Tools = chat.Functions(functions)
		return c
	}
	told := byTags(r.style.Tools)
	if !r.format.HasSystem() {
		c.Messages = slices.Clone(c.Messages)
		if i := slices.IndexFunc(c.Messages, func(m chat.Message) bool { return m.Role == chat.User }); i >= 0 {
			c.Messages[i] = chat.Say(chat.User, told+"\n\n"+c.Messages[i].Text)
		}
		return c
	}
	if first := c.Messages[0]; first.Role == chat.System {
		c.Messages = append([]chat.Message{chat.Say(chat.System, first.Text+"\n\n"+told)}, c.Messages[1:]...)
		return c
	}
	return c.Under(told)
}

// byTags says how tools are called between tags.
func byTags(tools []world.Spec) string {
	var b strings.Builder
	b.WriteString("You may call tools before you answer. A call stands between tags with the name of its tool, and you are then told what it says:\n")
	for _, t := range tools {
		argument := string(t.Args)
		if t.Text != "" {
			argument = strings.ToUpper(t.Text)
		}
		fmt.Fprintf(&b, "\n<%s>%s</%s>: %s", t.Name, argument, t.Name, t.About)
	}
	b.WriteString("\n\nA turn without a call is your answer.")
	return b.String()
}
