package tasks

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "guess",
		Summary: "find a hidden number in a few turns: each reply says whether it is greater or smaller",
		Doc: `guess: find a hidden number of a range in a few turns.

    40 - 70:   55   >   63   <   59   >   61

The prompt is a range of numbers. The hidden number is drawn for each sample, every number of the
range with equal probability, and is not part of the problem. A turn is one number. The reply is > if
the hidden number is greater, < if it is smaller, and ? if the turn is not a number. With recap it
also says which numbers are left, as the prompt does: > 56 - 70: for example. One range in 16 is held
out, chosen by the CRC-32 of its canonical form "40-70".

Right: a turn is the hidden number. Wrong: no turn is.

Halving the range always finds the number: with 5 turns, any of 31. Random guesses find it with
probability 1 - (1 - 1/size)^turns, which is 0.151. With fewer, the sizes of ranges differ: that is a little
easier, and there are more ranges to learn from.

Demonstrations: with probability aimed, a turn halves the range that is left. Otherwise it is any
number that the replies so far allow.

The reward of a turn is what it reveals, as a share of all there is to know. With b numbers left
before it and a after it, that is (b + 1)/(a + 1) in bits, divided by size + 1 in bits. A turn that
finds the number leaves none, so the turns of an episode add up to 1 exactly if it is found. Halving
reveals the most.

Facts of a turn: left, the number of numbers that it leaves; lost, by how much it lowers the chance of
the best player to find the number. A turn that halves the range loses nothing. What is lost does not
depend on the hidden number: it judges the guess and not its luck.

` + describeSettings(defaultGuess()),
		New: func() Task { return defaultGuess() },
	}, playedVerifier("guess", func(row verify.Problem) error {
		_, err := openOf(row)
		return err
	}))
}

func defaultGuess() *guess { return &guess{Size: 31, Largest: 127, Most: 5, Aimed: 0.3} }

// guess is the task "guess".
type guess struct {
	Size    int     `toml:"size" range:"[3,1023]" about:"how many numbers a range has; at most 2^turns - 1, so that halving can find each"`
	Fewer   int     `toml:"fewer" range:"[0,1020]" about:"by how many numbers, at most, a range may be smaller than size, all alike; at most size - 3"`
	Largest int     `toml:"largest" range:"[3,9999]" about:"the largest number in any range; at least size"`
	Most    int     `toml:"turns" range:"[2,10]" about:"guesses in an episode"`
	Recap   bool    `toml:"recap" about:"replies say which numbers are left"`
	Aimed   float64 `toml:"aimed" range:"[0,1]" about:"share of the turns in demonstrations that halve the range that is left"`
}

var _ interface {
	Episodic
	Demonstrator
} = (*guess)(nil)

// Name implements [Task].
func (g *guess) Name() string { return "guess" }

// Validate implements [Task].
func (g *guess) Validate() error {
	if err := settings.Check(g); err != nil {
		return err
	}
	if most := 1<<g.Most - 1; g.Size > most {
		return outOfRange("size", g.Size, fmt.Sprintf("at most 2^turns - 1 = %d", most))
	}
	if g.Fewer > g.Size-3 {
		return outOfRange("fewer", g.Fewer, fmt.Sprintf("at most size - 3 = %d", g.Size-3))
	}
	if g.Largest < g.Size {
		return outOfRange("largest", g.Largest, fmt.Sprintf("at least size = %d", g.Size))
	}
	return probe(g.attempt)
}

// Difficulty implements [Task].
func (g *guess) Difficulty() string {
	size := fmt.Sprint(g.Size)
	if g.Fewer > 0 {
		size = fmt.Sprintf("%d to %d", g.Size-g.Fewer, g.Size)
	}
	return fmt.Sprintf("%s numbers in a row from 0 to %d, %d guesses; %.4g %% of the turns in demonstrations halve the range", size, g.Largest, g.Most, 100*g.Aimed)
}

// Draw implements [Task].
func (g *guess) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, g.attempt) }

func (g *guess) attempt(r *random.Rand) (verify.Problem, bool) {
	size := g.Size
	if g.Fewer > 0 {
		size -= r.Between(0, g.Fewer)
	}
	low := r.Between(0, g.Largest-size+1)
	high := low + size - 1
	return verify.Problem{
		ID:       fmt.Sprintf("%d-%d", low, high),
		Question: open{low, high}.String(),
		Metadata: metadata(map[string]any{"low": low, "high": high}),
	}, true
}

// Verify implements [Task]: a world judges what is played in turns.
func (g *guess) Verify(row verify.Problem, completion string, _ bool) verify.Verdict {
	return played{}.Verify(row, completion)
}

// open are the numbers low to high, both included, that may be the hidden one.
type open struct{ low, high int }

// openOf are those of a problem.
func openOf(row verify.Problem) (o open, err error) {
	lowThere, lowErr := row.Field("low", &o.low)
	highThere, highErr := row.Field("high", &o.high)
	if !lowThere || !highThere || lowErr != nil || highErr != nil || o.low < 0 || o.low > o.high || o.high > math.MaxInt32 {
		return o, fmt.Errorf("task guess: row %q does not belong to this task: it has no range low to high", row.ID)
	}
	return o, nil
}

// String is how prompts and replies write them.
func (o open) String() string { return fmt.Sprintf("%d - %d:", o.low, o.high) }

func (o open) size() int { return o.high - o.low + 1 }

// after is what is left after a guess and the reply to it.
func (o open) after(n int, reply string) open {
	switch {
	case reply == greater && n >= o.low:
		o.low = n + 1
	case reply == smaller && n <= o.high:
		o.high = n - 1
	}
	return o
}

// Replies.
const (
	greater = ">" // the hidden number is greater
	smaller = "<"
)

// number is a guess as a number; false: it is none.
func number(text string) (int, bool) {
	if text == "" || len(text) > 9 || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// Begin implements [world.World]. It says nothing more than the question.
func (g *guess) Begin(_ context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	o, err := openOf(row)
	if err != nil {
		return nil, world.Reply{}, err
	}
	return &guessing{open: o, size: o.size(), recap: g.Recap, hidden: dice.Between(o.low, o.high), turns: g.Most}, world.Reply{State: fmt.Sprintf("%d %d-%d", g.Most, o.low, o.high)}, nil
}

// guessing is an episode of guess.
type guessing struct {
	open   open
	size   int // at the beginning
	recap  bool
	hidden int
	turns  int // that are left
}

// Step implements [world.Episode].
func (e *guessing) Step(_ context.Context, t world.Turn) (world.Reply, error) {
	n, isNumber := number(strings.TrimSpace(t.Text))
	lost := e.loses(n, isNumber && !t.Cut)
	e.turns--
	reply := unread
	switch {
	case !isNumber || t.Cut:
	case n == e.hidden:
		v := verify.Accept(t.Text, "guess", "%d is the number", n)
		return world.Reply{Reward: e.tells(0), Facts: map[string]float64{"left": 0, "lost": lost}, State: "found", Verdict: &v}, nil
	case n < e.hidden:
		reply = greater
	default:
		reply = smaller
	}
	after := e.open.after(n, reply)
	told := e.tells(after.size())
	e.open = after
	said := reply
	if e.recap {
		said += " " + e.open.String()
	}
	out := world.Reply{
		Messages: []world.Message{{Role: world.User, Text: said}},
		Reward:   told,
		Facts:    map[string]float64{"left": float64(e.open.size()), "lost": lost},
		State:    fmt.Sprintf("%d %d-%d", e.turns, e.open.low, e.open.high),
	}
	if e.turns == 0 {
		v, err := e.Judge(context.Background())
		out.Verdict = &v
		return out, err
	}
	return out, nil
}

// tells is what a turn tells that leaves so many numbers, as a share of all there is to know.
func (e *guessing) tells(left int) float64 {
	bits := func(n int) float64 { return math.Log2(float64(n + 1)) }
	return (bits(e.open.size()) - bits(left)) / bits(e.size)
}

// loses is by how much a turn lowers the chance of the best player: the share of the numbers that are
// left that can be found before it, and no longer after it.
func (e *guessing) loses(n int, isNumber bool) float64 {
	within := func(numbers, turns int) int { return min(numbers, 1<<turns-1) } // found by halving
	before, after := within(e.open.size(), e.turns), within(e.open.size(), e.turns-1)
	if isNumber && n >= e.open.low && n <= e.open.high {
		after = 1 + within(n-e.open.low, e.turns-1) + within(e.open.high-n, e.turns-1)
	}
	return float64(before-after) / float64(e.open.size())
}

// Judge implements [world.Judge].
func (e *guessing) Judge(context.Context) (verify.Verdict, error) {
	return verify.Reject("", "guess", "the number is %d, and was not found; %d numbers were left", e.hidden, e.open.size()), nil
}

// Close implements [world.Episode].
func (e *guessing) Close() error { return nil }

// Turns implements [Episodic].
func (g *guess) Turns() int { return g.Most }

// TurnFacts implements [Episodic]: how many numbers are still possible, and what the turn gave away.
func (g *guess) TurnFacts() []string { return []string{"left", "lost"} }

// EpisodeTokens implements [Episodic]: each turn but the last has a reply.
func (g *guess) EpisodeTokens() int {
	reply := 1
	if g.Recap {
		reply += g.PromptTokens()
	}
	return g.Most*g.CompletionTokens() + (g.Most-1)*reply
}

// guesser plays guess: it halves what is left with some probability, and else takes any number of
// what is left, or of the whole range.
type guesser struct {
	halves float64
	whole  bool
}

// Best implements [world.Players].
func (g *guess) Best() world.Player { return guesser{halves: 1} }

// Random implements [world.Players].
func (g *guess) Random() world.Player { return guesser{whole: true} }

// Chance implements [world.Players]: each guess finds the number with the same probability, whatever was
// guessed before.
func (g *guess) Chance(row verify.Problem) (float64, error) {
	o, err := openOf(row)
	return 1 - math.Pow(1-1/float64(o.size()), float64(g.Most)), err
}

// Shown implements [world.Players].
func (g *guess) Shown() world.Player { return guesser{halves: g.Aimed} }

// Play implements [world.Player]. It knows of the episode what was said.
func (p guesser) Play(history []world.Message, dice *random.Rand) string {
	var whole open
	if _, err := fmt.Sscanf(history[0].Text, "%d - %d:", &whole.low, &whole.high); err != nil {
		return "" // it is another world
	}
	left := whole
	for i := 1; i+1 < len(history); i += 2 {
		if n, ok := number(history[i].Text); ok {
			reply, _, _ := strings.Cut(history[i+1].Text, " ")
			left = left.after(n, reply)
		}
	}
	if p.whole || left.size() < 1 {
		left = whole
	}
	if dice.Chance(p.halves) {
		return strconv.Itoa((left.low + left.high) / 2)
	}
	return strconv.Itoa(dice.Between(left.low, left.high))
}

// Demonstration implements [Demonstrator]: the first turn of an episode, which is what a row alone
// can show. Episodes to imitate are played, by Shown.
func (g *guess) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	if _, err := openOf(row); err != nil {
		return "", err
	}
	return g.Shown().Play([]world.Message{{Role: world.User, Text: row.Question}}, r), nil
}

// Valid implements [Demonstrator]: a turn is a number, right or wrong.
func (g *guess) Valid(row verify.Problem, completion string, ended bool) bool {
	_, isNumber := number(completion)
	return ended && isNumber
}

// Vocabulary implements [Demonstrator].
func (g *guess) Vocabulary() []string {
	tokens := []string{"<pad>", "<eos>", "-", ":", greater, smaller, unread}
	for n := range g.Largest + 1 {
		tokens = append(tokens, strconv.Itoa(n))
	}
	return tokens
}

// PromptTokens implements [Demonstrator].
func (g *guess) PromptTokens() int { return 4 }

// CompletionTokens implements [Demonstrator]: of one turn.
func (g *guess) CompletionTokens() int { return 2 }

func (g *guess) instruction() string {
	return fmt.Sprintf(`Find a hidden number of a range in %d guesses. Each of your turns is one number and nothing else. `+
		`The reply is > if the hidden number is greater, < if it is smaller, and ? if your turn is no number.`, g.Most)
}
