package rollout

import (
	"slices"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// Context is what a policy reads in an episode, and what it wrote there: its next turn is drawn after it. As a rule
// it only grows. It begins anew where a world says so, with a summary, or, if it is Whole, where the template changes
// what stood there.
type Context struct {
	Renderer TurnRenderer
	Row      verify.Problem
	Whole    bool // before each turn the template writes the conversation as a whole

	IDs    []int           // of now
	Prompt int             // tokens of the first prompt
	Begun  int             // how often it began anew
	Said   []world.Message // after the problem, by both sides, and since a world began it anew; kept up only where it is Whole
}

// Append adds what was read or written.
func (c *Context) Append(s Segment) {
	if s.Fresh {
		c.IDs, c.Begun = nil, c.Begun+1
	}
	c.IDs = slices.Concat(c.IDs, s.IDs)
}

// Size is how many tokens there are with a segment, the prompt apart.
func (c *Context) Size(s Segment) int {
	if s.Fresh {
		return len(s.IDs) - c.Prompt
	}
	return len(c.IDs) + len(s.IDs) - c.Prompt
}

// Next is what the policy reads between a turn and the next one; ended says that it drew the end token.
func (c *Context) Next(turn string, ended bool, r world.Reply) (Segment, error) {
	if !r.Fresh && !c.Whole {
		ids, err := c.Renderer.Next(ended, r.Messages)
		return Segment{Author: Outside, IDs: ids}, err
	}
	said, own := r.Messages, -1
	if !r.Fresh {
		own = len(c.Said)
		said = slices.Concat(c.Said, []world.Message{{Role: world.Assistant, Text: turn}}, r.Messages)
	}
	ids, said, err := c.begins(said, own)
	if err != nil {
		return Segment{}, err
	}
	c.Said = said
	if n := len(c.IDs); !r.Fresh && n < len(ids) && slices.Equal(ids[:n], c.IDs) {
		return Segment{Author: Outside, IDs: ids[n:]}, nil
	}
	return Segment{Author: Outside, IDs: ids, Fresh: true}, nil
}

// Anew is what the policy reads where the context begins anew with the problem and a message with what it wrote.
func (c *Context) Anew(m world.Message) (Segment, error) {
	ids, _, err := c.begins([]world.Message{m}, 0)
	return Segment{Author: Outside, IDs: ids, Fresh: true}, err
}

// begins are the tokens of the problem and of what is said after it. Of the message that the policy wrote, by its
// place, nothing stays if it cannot be read: nothing that it writes is the world's fault.
func (c *Context) begins(said []world.Message, own int) ([]int, []world.Message, error) {
	ids, err := c.Renderer.Begin(c.Row, said)
	if err != nil && own >= 0 {
		said = slices.Clone(said)
		said[own].Text = ""
		ids, err = c.Renderer.Begin(c.Row, said)
	}
	return ids, said, err
}
