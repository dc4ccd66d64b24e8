package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// game is a problem of a world of positions. The policy reads a position, its turn is a move, and
// the move leads to another position. P is a position: equal ones are the same situation. A game is
// immutable and safe for concurrent use.
type game[P comparable] interface {
	start() P
	// show is what the policy reads of a position before its turn.
	show(p P) string
	// after is where a turn leads; nil: it is no move that is allowed there. What depends on chance
	// has several ways.
	after(p P, turn string) []way[P]
	// near says how near the win is: 0 at the start and where the best player no longer wins for
	// sure, and the nearer to 1 the fewer turns it needs. Further away than the start it is below 0.
	near(p P) float64
}

// way is one that a move can take.
type way[P comparable] struct {
	chance float64 // the ways of a move add up to 1
	to     P
	end    ending
}

// ending says whether a game is over.
type ending uint8

const (
	goesOn ending = iota
	won
	lost
	even // of a duel: nobody wins
)

// rules describe a world of positions over the settings S.
type rules[S any, P comparable] struct {
	name, summary string
	about         string // the game, its problems, and what Random earns; for people
	asked         string // the system message of a chat
	defaults      S
	valid         func(s *S) error // settings that do not go together; may be nil

	draw func(s *S, r *random.Rand) (row verify.Problem, ok bool) // one try; its question is the first position as it is shown
	open func(s *S, row verify.Problem) (game[P], error)          // the error is for a row of another task

	seats []string // of a game that is a duel, the one that begins first; nil: it is none
	turns func(s *S) int
	aimed func(s *S) float64  // share of the turns in demonstrations that are the best player's
	forms func(s *S) []string // every text that has the form of a turn, allowed or not
	words func(s *S) []string // tokens of positions and turns
	shown func(s *S) int      // tokens of a position, always as many
	moved func(s *S) int      // tokens of a turn, at most, without the end token

	// think is what the best player says after what was said so far, and all turns that are allowed
	// then. Without a position in what was said, it says "".
	think func(history []world.Message) (best string, allowed []string)
}

// play registers a world of positions. Called from init.
func play[S any, P comparable](r rules[S, P]) {
	about := strings.TrimSpace(r.about)
	register(Family{
		Name: r.name, Summary: r.summary,
		Doc: r.name + ": " + about + `

A turn that is no move, or none that is allowed, is told ? and the position as it was; it counts as a
turn. Right: the game is won. Wrong: it is lost, or the turns are used up.

The reward of a turn is how much nearer it brings the win: what the position after it is worth, less
what the one before it was. The start and every position in which the best player does not win for
sure are worth 0. Between the start and the win, which is worth 1, a position is worth the share of
the way that is done. So the turns of an episode that is won add up to 1. Facts of a turn: near, what
the position after it is worth, and refused, 1 where it was no move that is allowed.

` + describeSettings(&r.defaults),
		New: func() Task { return &positions[S, P]{Settings: r.defaults, rules: &r} },
	}, playedVerifier(r.name, func(row verify.Problem) error {
		_, err := r.open(&r.defaults, row)
		return err
	}))
}

// aboutSeats says how a game of seats is played; "": there are none.
func aboutSeats(seats []string) string {
	if seats == nil {
		return ""
	}
	return fmt.Sprintf(`
With [stage.seats] the seats %s play each other. Each sees the position as if it were its own turn in the
game above; the second is first asked the position that the first one leaves. Whoever says what is no move, or none
that is allowed, is told ? and asked again; it counts as a turn, and whoever has used up its turns or tokens
loses. If nobody wins, each has the score 0.5. The turn that wins has the reward 1 and near 1, every other 0.
`, strings.Join(seats, " and "))
}

// playedVerifier is the verifier of a task whose problems are judged while they are played. belongs is
// an error for a row of another task.
func playedVerifier(name string, belongs func(row verify.Problem) error) verify.Entry {
	return verify.Entry{
		Summary: "the task " + name + ", which is played in turns: a completion alone is wrong",
		Doc: fmt.Sprintf(`task:%s: a problem of the task %s is an episode of several turns, which its world judges as
they are played. A completion alone is wrong, whatever it says.
`, name, name),
		New: func(options json.RawMessage) (verify.Verifier, error) {
			var none struct{}
			if err := verify.DecodeOptions(options, &none); err != nil {
				return nil, err
			}
			return played{belongs}, nil
		},
	}
}

// played is the verifier of problems that are judged while they are played.
type played struct {
	belongs func(row verify.Problem) error
}

// Verify implements [verify.Verifier].
func (played) Verify(verify.Problem, string) verify.Verdict {
	return verify.Reject("", "episode", "the problem is an episode of several turns, which its world judges as they are played: a completion alone earns nothing")
}

// Check implements [verify.Checker].
func (p played) Check(row verify.Problem) error { return p.belongs(row) }

// unread is what a turn is told that has not the form of one.
const unread = "?"

// positions is a task of positions.
type positions[S any, P comparable] struct {
	Settings S `toml:",inline"`
	rules    *rules[S, P]
}

// Name implements [Task].
func (g *positions[S, P]) Name() string { return g.rules.name }

// Validate implements [Task].
func (g *positions[S, P]) Validate() error {
	if err := settings.Check(g); err != nil {
		return err
	}
	if g.rules.valid != nil {
		if err := g.rules.valid(&g.Settings); err != nil {
			return err
		}
	}
	return probe(g.attempt)
}

func (g *positions[S, P]) attempt(r *random.Rand) (verify.Problem, bool) {
	return g.rules.draw(&g.Settings, r)
}

// Difficulty implements [Task].
func (g *positions[S, P]) Difficulty() string {
	return fmt.Sprintf("%s; %d turns", settingsText(g), g.Turns())
}

// Draw implements [Task].
func (g *positions[S, P]) Draw(r *random.Rand, split Split) verify.Problem {
	return draw(r, split, g.attempt)
}

// Verify implements [Task]: a world judges what is played in turns.
func (g *positions[S, P]) Verify(row verify.Problem, completion string, _ bool) verify.Verdict {
	return played{}.Verify(row, completion)
}

func (g *positions[S, P]) instruction() string { return g.rules.asked }

// Begin implements [world.World]. It says nothing more than the question.
func (g *positions[S, P]) Begin(_ context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	opened, err := g.rules.open(&g.Settings, row)
	if err != nil {
		return nil, world.Reply{}, err
	}
	e := &position[P]{game: opened, name: g.rules.name, dice: dice, turns: g.Turns(), at: opened.start()}
	return e, world.Reply{State: opened.show(e.at)}, nil
}

// position is an episode.
type position[P comparable] struct {
	game  game[P]
	name  string
	dice  *random.Rand
	turns int // that are left
	at    P
}

// Step implements [world.Episode].
func (e *position[P]) Step(ctx context.Context, t world.Turn) (world.Reply, error) {
	e.turns--
	var ways []way[P]
	if !t.Cut {
		ways = e.game.after(e.at, strings.TrimSpace(t.Text))
	}
	before, near, end := e.game.near(e.at), 0.0, goesOn
	if ways != nil {
		taken := ways[len(ways)-1]
		for x, i := e.dice.Unit(), 0; i < len(ways)-1; i++ {
			if x -= ways[i].chance; x < 0 {
				taken = ways[i]
				break
			}
		}
		e.at, end = taken.to, taken.end
	}
	said := e.game.show(e.at)
	switch end {
	case won:
		near = 1
	case goesOn:
		near = e.game.near(e.at)
	}
	out := world.Reply{Reward: near - before, State: said, Facts: map[string]float64{"near": near, "refused": 0}}
	if ways == nil {
		out.Facts["refused"] = 1
		said = unread + "\n" + said
	}
	switch {
	case end == won:
		v := verify.Accept(t.Text, e.name, "the game is won")
		out.Verdict = &v
	case end == lost:
		v := verify.Reject(t.Text, e.name, "the game is lost")
		out.Verdict = &v
	case e.turns == 0:
		v, err := e.Judge(ctx)
		out.Verdict = &v
		return out, err
	}
	if out.Verdict == nil {
		out.Messages = []world.Message{{Role: world.User, Text: said}}
	}
	return out, nil
}

// Judge implements [world.Judge].
func (e *position[P]) Judge(context.Context) (verify.Verdict, error) {
	return verify.Reject("", e.name, "the game was not won before a limit was reached"), nil
}

// Close implements [world.Episode].
func (e *position[P]) Close() error { return nil }

// Seats implements [world.Seated].
func (g *positions[S, P]) Seats() []string { return g.rules.seats }

// Sit implements [world.Seated].
func (g *positions[S, P]) Sit(_ context.Context, row verify.Problem, _ *random.Rand) (world.Table, world.Reply, error) {
	opened, err := g.rules.open(&g.Settings, row)
	if err != nil {
		return nil, world.Reply{}, err
	}
	t := &table[P]{game: opened.(duel[P]), name: g.rules.name, seats: g.rules.seats, at: opened.start()}
	return t, world.Reply{Seat: t.seats[0], State: t.game.show(t.at)}, nil
}

// Turns implements [Episodic].
func (g *positions[S, P]) Turns() int { return g.rules.turns(&g.Settings) }

// TurnFacts implements [Episodic]: how near the win is, and whether the turn was no move.
func (g *positions[S, P]) TurnFacts() []string { return []string{"near", "refused"} }

// EpisodeTokens implements [Episodic]: each turn but the last has a reply, a position with ? before it
// at most.
func (g *positions[S, P]) EpisodeTokens() int {
	return g.Turns()*g.CompletionTokens() + (g.Turns()-1)*(1+g.PromptTokens())
}

// Chance implements [world.Players].
func (g *positions[S, P]) Chance(row verify.Problem) (float64, error) {
	opened, err := g.rules.open(&g.Settings, row)
	if err != nil {
		return 0, err
	}
	c := chances[P]{opened, g.rules.forms(&g.Settings), map[standing[P]]float64{}}
	return c.of(standing[P]{opened.start(), g.Turns()}), nil
}

// chances are those of a player who says every form of a turn alike, by the number of turns that are
// left: the chance of a position is the mean over the forms of the chances of where they lead.
type chances[P comparable] struct {
	game  game[P]
	forms []string
	known map[standing[P]]float64
}

type standing[P comparable] struct {
	at    P
	turns int
}

func (c *chances[P]) of(s standing[P]) float64 {
	if s.turns == 0 {
		return 0
	}
	if p, known := c.known[s]; known {
		return p
	}
	sum, stays := 0.0, 0.0
	for _, form := range c.forms {
		ways := c.game.after(s.at, form)
		if ways == nil {
			stays++
		}
		for _, w := range ways {
			switch w.end {
			case won:
				sum += w.chance
			case goesOn:
				sum += w.chance * c.of(standing[P]{w.to, s.turns - 1})
			}
		}
	}
	if stays > 0 {
		sum += stays * c.of(standing[P]{s.at, s.turns - 1})
	}
	p := sum / float64(len(c.forms))
	c.known[s] = p
	return p
}

// mover plays a world of positions: with probability aimed it says what the best player says, and else any
// of some turns, all alike.
type mover[S any, P comparable] struct {
	task  *positions[S, P]
	aimed float64
	forms []string // nil: those that are allowed
}

// Best implements [world.Players].
func (g *positions[S, P]) Best() world.Player { return mover[S, P]{task: g, aimed: 1} }

// Random implements [world.Players].
func (g *positions[S, P]) Random() world.Player {
	return mover[S, P]{task: g, forms: g.rules.forms(&g.Settings)}
}

// Shown implements [world.Players].
func (g *positions[S, P]) Shown() world.Player {
	return mover[S, P]{task: g, aimed: g.rules.aimed(&g.Settings)}
}

// Play implements [world.Player].
func (m mover[S, P]) Play(history []world.Message, dice *random.Rand) string {
	turns, best := m.forms, ""
	if turns == nil {
		best, turns = m.task.rules.think(history)
	}
	if best != "" && dice.Chance(m.aimed) || len(turns) == 0 {
		return best
	}
	return pick(dice, turns)
}

// numbersTo are the whole numbers from 1 to n.
func numbersTo(n int) []string {
	var numbers []string
	for i := range n {
		numbers = append(numbers, strconv.Itoa(i+1))
	}
	return numbers
}

// seen is the position in what is said last, as it is shown.
func seen(history []world.Message) string {
	text, _ := strings.CutPrefix(history[len(history)-1].Text, unread+"\n")
	return text
}

// Demonstration implements [Demonstrator]: the first turn of an episode, which is what a row alone
// can show. Episodes to imitate are played, by Shown.
func (g *positions[S, P]) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	if _, err := g.rules.open(&g.Settings, row); err != nil {
		return "", err
	}
	return g.Shown().Play([]world.Message{{Role: world.User, Text: row.Question}}, r), nil
}

// Valid implements [Demonstrator]: a turn has the form of one, whether it is allowed or not.
func (g *positions[S, P]) Valid(_ verify.Problem, completion string, ended bool) bool {
	return ended && slices.Contains(g.rules.forms(&g.Settings), completion)
}

// Vocabulary implements [Demonstrator].
func (g *positions[S, P]) Vocabulary() []string {
	return append([]string{"<pad>", "<eos>", unread}, g.rules.words(&g.Settings)...)
}

// PromptTokens implements [Demonstrator].
func (g *positions[S, P]) PromptTokens() int { return g.rules.shown(&g.Settings) }

// CompletionTokens implements [Demonstrator]: of one turn.
func (g *positions[S, P]) CompletionTokens() int { return g.rules.moved(&g.Settings) + 1 }
