package prompts

import (
	"fmt"
	"slices"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/rollout"
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
	switch {
	case r.format == nil && r.style.Whole:
		return fmt.Errorf("%w: task.episode.history = \"template\" needs a chat template, which the model does not have, or task.form leaves out", lines.ErrInput)
	case r.format == nil || r.style.Whole:
		return nil
	}
	if why := r.format.Appends(); why != "" {
		return hint.With(fmt.Errorf("%w: an episode has several turns, and the model's chat template does not only append: %s", lines.ErrInput, why),
			`--set task.episode.history=template draws each turn behind what the template makes of the turns before; or use a model whose template only appends`)
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
	return r.format.After(c.Asked(), messagesOf(said))
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
	c := rollout.Context{Renderer: r, Row: row, Whole: r.style.Whole, IDs: l.IDs, Prompt: len(l.IDs), Said: p.Opening}
	for i, turn := range p.Turns {
		fits := true
		if err == nil {
			fits, err = r.writes(&l, &c, turn.Text)
		}
		if err != nil || !fits || i+1 == len(p.Turns) {
			return l, err
		}
		if fits, err = r.reads(&l, &c, turn); !fits {
			return l, err
		}
		if asked != "" && l.Fresh != nil {
			return l, fmt.Errorf("the context begins anew, so the problem cannot be asked in another way")
		}
	}
	return l, err
}

// writes adds what is learned to a lesson and its context, with the end token. One that does not fit ends the lesson
// before it, as the limit of tokens ends an episode.
func (r *Renderer) writes(l *chat.Lesson, c *rollout.Context, said string) (fits bool, err error) {
	own, err := r.tok.Encode(said)
	if err != nil {
		return false, fmt.Errorf("turn %s: %w", terminal.Quote(said), err)
	}
	s := rollout.Segment{IDs: append(own, r.Ends()[0])}
	if n := len(l.Learned); n > 0 && r.style.Tokens > 0 && c.Size(s) > r.style.Tokens {
		l.IDs = l.IDs[:l.Learned[n-1].To]
		l.Fresh = slices.DeleteFunc(l.Fresh, func(at int) bool { return at >= len(l.IDs) })
		return false, nil
	}
	from := len(l.IDs)
	l.IDs = append(l.IDs, s.IDs...)
	l.Learned = append(l.Learned, chat.Span{From: from, To: len(l.IDs)})
	c.Append(s)
	return true, nil
}

// reads adds what is read after a turn and before the next one, with a summary where it is time for one and it fits.
func (r *Renderer) reads(l *chat.Lesson, c *rollout.Context, turn world.Exchange) (fits bool, err error) {
	add := func(s rollout.Segment, err error) (bool, error) {
		if s.Fresh {
			l.Fresh = append(l.Fresh, len(l.IDs))
		}
		l.IDs = append(l.IDs, s.IDs...)
		c.Append(s)
		return err == nil, err
	}
	sum, reply := r.style.Sum, turn.Reply
	next, err := c.Next(turn.Text, true, reply)
	if err != nil || turn.Sum == "" || sum.At == 0 || c.Size(next) < sum.At {
		return add(next, err)
	}
	reply.Messages = slices.Concat(reply.Messages, []world.Message{sum.Asked()})
	if _, err := add(c.Next(turn.Text, true, reply)); err != nil {
		return false, err
	}
	if fits, err := r.writes(l, c, turn.Sum); !fits {
		return false, err
	}
	return add(c.Anew(sum.Told(turn.Sum)))
}
