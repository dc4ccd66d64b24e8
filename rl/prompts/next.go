package prompts

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Turns is an error if the model's chat template does not only append where a conversation goes
// on: turns that were drawn could then not stay as they are. It is lines.ErrInput, and [ErrCalls] where
// the model has tools and no way to call them.
func (r *Renderer) Turns() error {
	if len(r.style.Tools) > 0 && !r.Reads(world.Unread) {
		return fmt.Errorf("%w: the model's tokenizer cannot write %q, which is said of what it cannot read", lines.ErrInput, world.Unread)
	}
	if len(r.style.Tools) > 0 && !r.style.ByTags {
		return r.callable()
	}
	if r.format == nil {
		return nil
	}
	if why := r.format.Appends(); why != "" {
		return hint.With(fmt.Errorf("%w: an episode has several turns, and the model's chat template does not only append: %s", lines.ErrInput, why),
			`use a model whose template only appends; [task] form = "text" reads texts without a template`)
	}
	return nil
}

// Begin are the token ids of a problem after whose question a world says something.
func (r *Renderer) Begin(row verify.Problem, said []world.Message) ([]int, error) {
	if len(said) == 0 {
		return r.Prompt(row)
	}
	if r.format == nil {
		prompt, err := r.Prompt(row)
		if err != nil {
			return nil, err
		}
		more, err := r.plainly(said)
		return slices.Concat(prompt, more), err
	}
	c, err := r.conversation(row)
	if err != nil {
		return nil, err
	}
	c = c.Asked()
	c.Messages = slices.Concat(c.Messages, messagesOf(said))
	return r.format.Prompt(c)
}

// Next are the token ids between two turns: the end token, unless the policy drew it, what others
// say, and what the next turn begins with. Nothing of the turns is made into ids again.
func (r *Renderer) Next(ended bool, said []world.Message) ([]int, error) {
	if r.format != nil {
		return r.format.Next(ended, messagesOf(said))
	}
	var ids []int
	if !ended {
		ids = r.Ends()[:1]
	}
	more, err := r.plainly(said)
	return slices.Concat(ids, more), err
}

// plainly are the ids of what is said, one message after the other. A control token in it is text.
func (r *Renderer) plainly(said []world.Message) ([]int, error) {
	var all []int
	for _, m := range said {
		if m.Text == "" { // a tokenizer may refuse it
			continue
		}
		ids, err := r.tok.EncodeBeside(m.Text, text.Range{From: 0, To: len(m.Text)})
		if err != nil {
			return nil, fmt.Errorf("reply %s: %w", terminal.Quote(m.Text), err)
		}
		all = append(all, ids...)
	}
	return all, nil
}

func messagesOf(said []world.Message) []chat.Message {
	messages := make([]chat.Message, len(said))
	for i, m := range said {
		messages[i] = chat.Say(m.Role, m.Text)
	}
	return messages
}

// Played is a problem with an episode to imitate: the turns, with their end tokens, are learned,
// and what the world says between them is read. The problem is asked in another way unless that is "", see
// [Renderer.Asked]; the error is also for a world that says something before the first turn.
func (r *Renderer) Played(row verify.Problem, asked string, p world.Played) (chat.Lesson, error) {
	var l chat.Lesson
	var err error
	switch {
	case asked == "":
		l.IDs, err = r.Begin(row, p.Opening)
	case len(p.Opening) > 0:
		return l, fmt.Errorf("the world says something before the first turn, so the problem cannot be asked in another way")
	default:
		l.IDs, err = r.Asked(row, asked)
	}
	for i, turn := range p.Turns {
		if err != nil {
			return l, err
		}
		var own, next []int
		if own, err = r.tok.Encode(turn.Text); err != nil {
			return l, fmt.Errorf("turn %s: %w", terminal.Quote(turn.Text), err)
		}
		from := len(l.IDs)
		l.IDs = slices.Concat(l.IDs, own, r.Ends()[:1])
		l.Learned = append(l.Learned, chat.Span{From: from, To: len(l.IDs)})
		if i+1 < len(p.Turns) {
			next, err = r.Next(true, turn.Reply.Messages)
			l.IDs = append(l.IDs, next...)
		}
	}
	return l, err
}
