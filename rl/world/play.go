package world

import (
	"context"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Player takes a seat without a model. It is immutable and safe for concurrent use.
type Player interface {
	// Play is the next turn after what was said so far, the question of the problem first.
	Play(history []Message, dice *random.Rand) string
}

// Players are those that a world brings for its seat.
type Players interface {
	Best() Player   // earns the score 1 in every episode
	Random() Player // chooses among the turns that have a form, all alike
	Shown() Player  // is imitated

	// Chance is what Random earns on average in episodes of a problem: worked out, not measured. The
	// error is for a problem of another world.
	Chance(row verify.Problem) (float64, error)
}

// Summing is a Player that can write down what it needs to go on from.
type Summing interface {
	Player
	// Sum is that, after what was said so far, the question of the problem first.
	Sum(history []Message) string
}

// Summary says when a policy is asked to sum up its context, which begins anew then: with the problem and what it wrote.
type Summary struct {
	At     int    // tokens of the context, the prompt apart: from so many on, after a reply; 0: never
	Ask    string // what it is asked
	Before string // what stands before the summary in the new context
}

// Asked is the message by which it is asked.
func (s Summary) Asked() Message { return Message{User, s.Ask} }

// Told is the message with the summary, in the new context.
func (s Summary) Told(text string) Message { return Message{User, s.Before + text} }

// Played is an episode from its first turn to its end.
type Played struct {
	Opening []Message // what was said before the first turn, after the question
	Turns   []Exchange
	Verdict verify.Verdict
}

// Exchange is a turn and what the world answered.
type Exchange struct {
	Text  string
	Reply Reply
	Sum   string // what the player would write down after the reply; "": it does not
}

// Play plays an episode of a problem of at most so many turns. The dice are the world's; chance
// is the player's.
func Play(ctx context.Context, w World, p Player, row verify.Problem, turns int, dice, chance *random.Rand) (Played, error) {
	episode, first, err := w.Begin(ctx, row, dice)
	if err != nil {
		return Played{}, err
	}
	defer episode.Close()
	out := Played{Opening: first.Messages}
	history := append([]Message{{User, row.Question}}, first.Messages...)
	for range turns {
		text := p.Play(history, chance)
		reply, err := episode.Step(ctx, Turn{Text: text})
		if err != nil {
			return out, err
		}
		out.Turns = append(out.Turns, Exchange{Text: text, Reply: reply})
		if reply.Verdict != nil {
			out.Verdict = *reply.Verdict
			return out, nil
		}
		if reply.Fresh {
			history = history[:1:1]
		} else {
			history = append(history, Message{Assistant, text})
		}
		history = append(history, reply.Messages...)
		if s, can := p.(Summing); can {
			out.Turns[len(out.Turns)-1].Sum = s.Sum(history)
		}
	}
	out.Verdict, err = Ended(ctx, episode)
	return out, err
}

// Ended is the result of an episode that a limit ends.
func Ended(ctx context.Context, e Episode) (verify.Verdict, error) {
	if j, ok := e.(Judge); ok {
		return j.Judge(ctx)
	}
	return verify.Reject("", "episode", NotOver), nil
}
