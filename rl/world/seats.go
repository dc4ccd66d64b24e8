package world

import (
	"context"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Seated is a World with seats that anybody may take, in place of the partner that it brings.
type Seated interface {
	World
	// Seats are their names. The first takes the first turn, and is the one that World has the policy play. nil: nobody
	// can take another one.
	Seats() []string
	// Sit begins an episode that all seats play. The reply asks the seat that takes the first turn.
	Sit(ctx context.Context, row verify.Problem, dice *random.Rand) (Table, Reply, error)
}

// Table is an episode that seats play. Step is told the turn of the seat that the reply before named.
type Table interface {
	Episode
	// Leave is the result of all seats, by name, where a limit ends the episode for one whose turn it is.
	Leave(ctx context.Context, seat string) (map[string]verify.Verdict, error)
}
