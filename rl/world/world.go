package world

import (
	"context"
	"encoding/json"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// World begins episodes.
type World interface {
	// Begin is an episode of a problem. What the reply says, the policy reads after the question
	// of the problem; most worlds say nothing more than that. The dice are the episode's own.
	Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (Episode, Reply, error)
}

// Episode is one that is being played.
type Episode interface {
	// Step is what the world makes of a turn.
	Step(ctx context.Context, t Turn) (Reply, error)
	// Close gives back what the episode holds. It is called once.
	Close() error
}

// Judge is an Episode that can give its result when a limit ends it early. An episode of another
// kind that a limit ends is wrong.
type Judge interface {
	Episode
	Judge(ctx context.Context) (verify.Verdict, error)
}

// Follower is an Episode that may be behind, since a journal answered turns that it was not told of, or has something
// to start. CatchUp makes up for that where it is needed to answer a turn, or to judge where t is nil. It is called
// before each, with a clock of its own, so that none of it counts as time of the turn.
type Follower interface {
	Episode
	CatchUp(ctx context.Context, t *Turn) error
}

// Checked is a World that can tell whether it works, and whose episodes can be played again: the same
// turns after the same dice are the same episode. Where a turn breaks one, whoever plays it asks the
// canary. A world that fails at it is broken, and the episode is not scored; one that works is tried
// with the same turns again, and if the turn breaks that episode too, the turn was wrong.
type Checked interface {
	World
	// Canary plays something whose outcome is known, in an episode of its own. An error says that
	// the world is broken.
	Canary(ctx context.Context) error
	// Refused is what the policy reads after a turn that breaks a world that works.
	Refused(t Turn) Reply
}

// Shared is a Checked whose episodes share something that a turn of one may break for the others, such as
// a process.
type Shared interface {
	Checked
	// Alone is the world with episodes that share nothing: what breaks one is its own doing.
	Alone() World
}

// NotOver is why an episode is wrong that a limit ended before its world did.
const NotOver = "the episode was not over when its limit was reached"

// Unanswered is what most worlds say in Refused.
const Unanswered = "There is no answer to this turn: it cannot be played."

// Turn is what a seat did.
type Turn struct {
	Text string // without the end token
	Cut  bool   // a limit of tokens cut it off
	At   int    // its number in the episode, from 1; 0: nobody counts
}

// Reply is what a world answers to a turn.
type Reply struct {
	Messages []Message
	Fresh    bool               // the context begins anew: the policy reads the problem and Messages, and nothing that was said before; not in a Table
	Reward   float64            // of the turn; finite
	State    string             // equal texts are equal situations of a problem; "": the world does not say
	Facts    map[string]float64 // numbers about the turn, by name; all finite
	Verdict  *verify.Verdict    // the episode is over; nil: it goes on
	Calls    []Called           // of tools, that the turn made, in their order

	// Of a Table alone. Reward and Facts are of the turn that was taken; the messages and the state are
	// for the next one.
	Seat     string                    // that reads the messages and takes the next turn
	Question string                    // that the seat is asked in place of the problem's, before its first turn; "": the problem's own
	Verdicts map[string]verify.Verdict // of all seats: the episode is over; nil: it goes on
}

// Called is a call of a tool in a turn.
type Called struct {
	Tool   string
	Args   json.RawMessage `json:",omitempty"` // a JSON object; nil: they cannot be read
	Failed bool            `json:",omitempty"` // it was a mistake, which its answer explains
}

// Roles of messages.
const (
	User      = "user"
	Assistant = "assistant"
	Answered  = "tool" // a tool, which answers a call
)

// Message is a text and who says it.
type Message struct {
	Role string
	Text string
}
