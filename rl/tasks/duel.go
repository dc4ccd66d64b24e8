package tasks

import (
	"context"
	"strings"

	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// duel is a game of two seats that take turns. The partner in after is one possible player of the
// other seat.
type duel[P comparable] interface {
	game[P]
	// taken is where a turn leads before it is answered, and won or even if the game is over then; not
	// allowed: it is no move there.
	taken(p P, turn string) (to P, end ending, allowed bool)
	// turned is a position as the other seat sees it, whose turn it then is.
	turned(p P) P
}

// Seated are the names of the tasks with several seats.
func Seated() []string {
	return namesOf(func(t Task) bool { w, can := t.(world.Seated); return can && len(w.Seats()) > 0 })
}

// table is a duel that is being played.
type table[P comparable] struct {
	game  duel[P]
	name  string
	seats []string
	turn  int  // of seats: whose turn it is
	begun bool // the other seat has been asked
	at    P    // as that one sees it
}

// Step implements [world.Table]. Whoever says what is no move there is asked again.
func (t *table[P]) Step(_ context.Context, said world.Turn) (world.Reply, error) {
	out := world.Reply{Facts: map[string]float64{"near": 0, "refused": 0}}
	to, end, allowed := t.at, goesOn, false
	if !said.Cut {
		to, end, allowed = t.game.taken(t.at, strings.TrimSpace(said.Text))
	}
	switch {
	case !allowed:
		out.Facts["refused"] = 1
		out.Seat, out.State = t.seats[t.turn], t.game.show(t.at)
		out.Messages = []world.Message{{Role: world.User, Text: unread + "\n" + out.State}}
		return out, nil
	case end == won:
		out.Reward, out.Facts["near"] = 1, 1
		out.Verdicts = t.over(t.turn)
		return out, nil
	case end == even:
		out.Verdicts = t.drawn()
		return out, nil
	}
	t.at, t.turn = t.game.turned(to), 1-t.turn
	out.Seat, out.State = t.seats[t.turn], t.game.show(t.at)
	if t.turn == 1 && !t.begun {
		t.begun, out.Question = true, out.State
		return out, nil
	}
	out.Messages = []world.Message{{Role: world.User, Text: out.State}}
	return out, nil
}

// over are the verdicts where a seat wins.
func (t *table[P]) over(winner int) map[string]verify.Verdict {
	return map[string]verify.Verdict{
		t.seats[winner]:   verify.Accept("", t.name, "the game is won"),
		t.seats[1-winner]: verify.Reject("", t.name, "the game is lost"),
	}
}

// drawn are the verdicts where nobody wins: each seat has half of a win, so that all have one together.
func (t *table[P]) drawn() map[string]verify.Verdict {
	out := map[string]verify.Verdict{}
	for _, seat := range t.seats {
		out[seat] = verify.Verdict{Score: 0.5, Verdict: verify.Graded, Rule: t.name, Reason: "nobody wins the game"}
	}
	return out
}

// Leave implements [world.Table]: whoever cannot go on loses.
func (t *table[P]) Leave(_ context.Context, seat string) (map[string]verify.Verdict, error) {
	for i, name := range t.seats {
		if name == seat {
			return t.over(1 - i), nil
		}
	}
	panic("no seat of the game is called " + seat)
}

// Close implements [world.Episode].
func (t *table[P]) Close() error { return nil }
