package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "sums",
		Summary: "work out a sum, for which there is a calculator",
		Doc: `sums: work out a sum, by heart or with a calculator.

    47+38-12:   <calculator>47+38-12</calculator>   73   73

A turn with <calculator>EXPRESSION</calculator> is told the exact result, as a whole number, a decimal
number or a fraction, or ? if the calculator cannot read the expression or the result has more than
digits digits. Other words of such a turn are not read. A turn without a call is the answer, and ends
the episode. Terms are drawn with equal probability, and so are signs. A draw is discarded if its
result is below 0 or has more than digits digits. One problem in 16 is held out, chosen by the CRC-32
of its canonical form "47+38-12".

Right: the answer is one number equal to the result, as the verifier number says with plain = true.
Wrong: another answer, one that is cut off, or none.

The calculator always finds the result: best play is a call of the whole sum, then what it says.
Random turns are numbers of up to digits digits, all alike, which is right with probability
1/10^digits: 0.01.

Demonstrations: with probability called, a call of the whole sum and then its result. Otherwise the
first term, which is right only by chance.

The reward of the answer is its score, and that of a call is 0. Facts of a turn: calls, the number of
its calls, and calls_failed, how many of them were told ?.

` + describeSettings(defaultSums()),
		New: func() Task { return defaultSums() },
	}, verify.Entry{
		Summary: "the task sums: the right result",
		Doc: `task:sums: right when the completion gives the result of the sum, without a calculator: a completion
alone calls nothing. It is judged by the verifier number with plain = true: one decimal number, no
expression.

Option extract: as for the verifier number.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			return taskVerifier("number", options, map[string]any{"plain": true})
		},
	})
}

func defaultSums() *sums { return &sums{Terms: 3, Digits: 2, Most: 3, Called: 0.3} }

// sums is the task "sums".
type sums struct {
	Terms  int     `toml:"terms" range:"[2,8]" about:"number of terms"`
	Digits int     `toml:"digits" range:"[1,3]" about:"digits of a term and of a result, at most"`
	Most   int     `toml:"turns" range:"[2,10]" about:"turns in an episode, the answer among them"`
	Called float64 `toml:"called" range:"[0,1]" about:"share of the demonstrations that use the calculator"`
}

var _ interface {
	Episodic
	Demonstrator
} = (*sums)(nil)

// Name implements [Task].
func (s *sums) Name() string { return "sums" }

// Validate implements [Task].
func (s *sums) Validate() error {
	if err := settings.Check(s); err != nil {
		return err
	}
	return probe(s.attempt)
}

// Difficulty implements [Task].
func (s *sums) Difficulty() string {
	return fmt.Sprintf("%d terms from 0 to %d, + and -, results from 0 to %d, %d turns; %.4g %% of demonstrations use the calculator",
		s.Terms, s.largest(), s.largest(), s.Most, 100*s.Called)
}

// largest is the largest number of so many digits.
func (s *sums) largest() int { return int(math.Pow10(s.Digits)) - 1 }

// Draw implements [Task]. The row's answer is the result.
func (s *sums) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, s.attempt) }

func (s *sums) attempt(r *random.Rand) (verify.Problem, bool) {
	result := r.Between(0, s.largest())
	sum := strconv.Itoa(result)
	for range s.Terms - 1 {
		term, sign := r.Between(0, s.largest()), "+"
		if r.Between(0, 1) == 1 {
			sign = "-"
			result -= term
		} else {
			result += term
		}
		sum += sign + strconv.Itoa(term)
	}
	return verify.Problem{
		ID:       sum,
		Question: sum + ":",
		Answer:   strconv.Itoa(result),
		Metadata: metadata(map[string]any{"sum": sum}),
	}, 0 <= result && result <= s.largest()
}

// Verify implements [Task]: the answer of a turn without calls.
func (s *sums) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	return oneNumber(row, completion, ended)
}

// oneNumber is the verdict on a completion that is to be one number.
func oneNumber(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return Unended(completion)
	}
	return verify.Number{Extract: verify.ExtractAnnounced, Tolerance: "0", Plain: true}.Verify(row, completion)
}

// Begin implements [world.World].
func (s *sums) Begin(ctx context.Context, row verify.Problem, dice *random.Rand) (world.Episode, world.Reply, error) {
	if _, err := sumOf(row); err != nil {
		return nil, world.Reply{}, err
	}
	return world.Tooled{Tools: []world.Tool{tools.Calculator{Digits: s.Digits}}, Judge: s.Verify, Mistake: unread}.Begin(ctx, row, dice)
}

// sumOf is the sum of a problem.
func sumOf(row verify.Problem) (sum string, err error) {
	if there, err := row.Field("sum", &sum); !there || err != nil {
		return "", fmt.Errorf("task sums: row %q does not belong to this task: it has no sum", row.ID)
	}
	return sum, nil
}

// Turns implements [Episodic].
func (s *sums) Turns() int { return s.Most }

// TurnFacts implements [Episodic].
func (s *sums) TurnFacts() []string { return world.CallFacts() }

// EpisodeTokens implements [Episodic]: all turns but the last are calls, whose results may be negative,
// have a point or be a fraction.
func (s *sums) EpisodeTokens() int {
	return (s.Most-1)*(s.CompletionTokens()+4) + 2
}

// reckoner plays sums: it uses the calculator with some probability, and else says some number.
type reckoner struct {
	calls float64
	guess func(sum string, dice *random.Rand) string // the number; nil: it always calls
}

// Best implements [world.Players].
func (s *sums) Best() world.Player { return reckoner{calls: 1} }

// Random implements [world.Players].
func (s *sums) Random() world.Player {
	return reckoner{0, func(_ string, dice *random.Rand) string { return strconv.Itoa(dice.Between(0, s.largest())) }}
}

// Chance implements [world.Players]: the result is one of the numbers that are said, all alike.
func (s *sums) Chance(row verify.Problem) (float64, error) {
	_, err := sumOf(row)
	return 1 / float64(s.largest()+1), err
}

// Shown implements [world.Players].
func (s *sums) Shown() world.Player {
	return reckoner{s.Called, func(sum string, _ *random.Rand) string { return sum[:strings.IndexAny(sum+"+", "+-")] }}
}

// Play implements [world.Player]. It says what the calculator said last.
func (p reckoner) Play(history []world.Message, dice *random.Rand) string {
	if last := history[len(history)-1]; len(history) > 1 {
		return last.Text
	}
	sum := strings.TrimSuffix(history[0].Text, ":")
	if dice.Chance(p.calls) {
		return calling(sum)
	}
	return p.guess(sum, dice)
}

// calling is a call of the calculator.
func calling(expression string) string { return "<calculator>" + expression + "</calculator>" }

// Demonstration implements [Demonstrator]: a call, which is the first turn of an episode that uses the
// calculator. Episodes to imitate are played, by Shown.
func (s *sums) Demonstration(_ *random.Rand, row verify.Problem) (string, error) {
	sum, err := sumOf(row)
	return calling(sum), err
}

// Valid implements [Demonstrator]: a turn is a number or one call, right or wrong.
func (s *sums) Valid(_ verify.Problem, completion string, ended bool) bool {
	return ended && numberOrCall(completion, "calculator")
}

// Vocabulary implements [Demonstrator]: all digits in a row that the calculator can show are tokens.
func (s *sums) Vocabulary() []string {
	tokens := append([]string{"<pad>", "<eos>"}, strings.Split("+-*/().:<>aclortu"+unread, "")...)
	for digits := 1; digits <= s.Digits; digits++ {
		for n := range int(math.Pow10(digits)) {
			tokens = append(tokens, fmt.Sprintf("%0*d", digits, n))
		}
	}
	return tokens
}

// PromptTokens implements [Demonstrator].
func (s *sums) PromptTokens() int { return 2 * s.Terms }

// CompletionTokens implements [Demonstrator]: of a call.
func (s *sums) CompletionTokens() int { return len("<calculator></calculator>") + 2*s.Terms - 1 + 1 }

func (s *sums) instruction() string {
	return fmt.Sprintf(`Work out a sum. You may use a calculator: write an expression as in <calculator>12+34</calculator> and nothing else, `+
		`and you are told its result, or ? if it has no result of at most %d digits. You have %d turns. `+
		`To answer, write the result as a number and no call.`, s.Digits, s.Most)
}
