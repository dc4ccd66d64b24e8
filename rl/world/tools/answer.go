package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// answer is what a call is told: a text, or what was wrong with the call.
func answer(text string, mistake error) world.Answer {
	if mistake != nil {
		return Mistaken(mistake.Error())
	}
	return world.Answer{Text: text}
}

// Mistaken is the answer to a call that is a mistake, with what was wrong.
func Mistaken(why string) world.Answer {
	return world.Answer{Text: "mistake: " + why, Failed: true}
}

// Tested is an error unless a tool answers a call as it should.
func Tested(ctx context.Context, t world.Tool, args, want string) error {
	s, err := t.Open(ctx, verify.Problem{})
	if err != nil {
		return err
	}
	a, err := s.Call(ctx, json.RawMessage(args))
	if err == nil && (a.Failed || a.Text != want) {
		err = fmt.Errorf("it answers %s with %q, not %q", args, a.Text, want)
	}
	return errors.Join(err, s.Close())
}
