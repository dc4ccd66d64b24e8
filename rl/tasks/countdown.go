package tasks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

func init() {
	register(Family{
		Name:    "countdown",
		Summary: "reach a target from given numbers with + and -",
		Doc: `countdown: reach a target from given numbers, each used once, with + and -.

    20 13 7 4 > 10:        20-13=7+7=14-4=10

The prompt lists the numbers, largest first, and the target. The answer is a running
total. The numbers are drawn and sorted; each but the first gets + or - with equal
probability. A draw is discarded if a total is outside 1 to max_total, or if the target is
one of the numbers. One problem in 16 is held out, chosen by the CRC-32 of its canonical
form "4,7,13,20>10" (numbers in ascending order).

Right: the completion ends, is a running total with right results, uses every number
once, in any order, and its last result is the target.

Demonstrations: with probability aimed, the working that made the target. Otherwise a
random working of the same numbers, which ignores the target and reaches it only by chance.

` + describeSettings(defaultCountdown()),
		New: func() Task { return defaultCountdown() },
	}, verify.Entry{
		Summary: "the task countdown: every number once, + - * / or a running total",
		Doc: `task:countdown: the verifier countdown with use_all = true. Rows of rlzero's own task
carry form = "running_total"; rows of reasoning-gym's countdown, with metadata.numbers
and metadata.target, are judged as expressions.

Option extract: as for the verifier countdown. A running total is always the whole completion.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			return taskVerifier("countdown", options, map[string]any{"use_all": true})
		},
	})
}

func defaultCountdown() *Countdown {
	return &Countdown{Numbers: 4, MaxNumber: 22, MaxTotal: 45, Aimed: 0.3}
}

// Countdown is the task "countdown".
type Countdown struct {
	Numbers   int     `toml:"numbers" range:"[2,8]" about:"number of given numbers"`
	MaxNumber int     `toml:"max_number" range:"[1,999]" about:"the largest of the given numbers"`
	MaxTotal  int     `toml:"max_total" range:"[1,9999]" about:"largest total and target; at least max_number"`
	Aimed     float64 `toml:"aimed" range:"[0,1]" about:"share of demonstrations that reach the target on purpose"`
}

var _ Demonstrator = (*Countdown)(nil)

// Name implements [Task].
func (c *Countdown) Name() string { return "countdown" }

// Validate implements [Task].
func (c *Countdown) Validate() error {
	if err := settings.Check(c); err != nil {
		return err
	}
	if c.MaxTotal < c.MaxNumber {
		return outOfRange("max_total", c.MaxTotal, fmt.Sprintf("at least max_number = %d", c.MaxNumber))
	}
	return probe(c.attempt)
}

// Difficulty implements [Task].
func (c *Countdown) Difficulty() string {
	return fmt.Sprintf("%d numbers from 1 to %d, + and -, totals and targets from 1 to %d; %.4g %% of demonstrations aim at the target",
		c.Numbers, c.MaxNumber, c.MaxTotal, 100*c.Aimed)
}

// Draw implements [Task]. The row's answer is the working that made the target.
func (c *Countdown) Draw(r *random.Rand, split Split) verify.Problem {
	return draw(r, split, c.attempt)
}

func (c *Countdown) attempt(r *random.Rand) (verify.Problem, bool) {
	numbers := make([]int, c.Numbers)
	for i := range numbers {
		numbers[i] = r.Between(1, c.MaxNumber)
	}
	slices.SortFunc(numbers, func(a, b int) int { return b - a })
	working, target, ok := c.derive(numbers, uint(r.Between(0, 1<<(c.Numbers-1)-1)))
	if !ok || slices.Contains(numbers, target) {
		return verify.Problem{}, false
	}
	return verify.Problem{
		ID:       countdownID(numbers, target),
		Question: join(numbers, " ") + " > " + strconv.Itoa(target) + ":",
		Answer:   working,
		Metadata: metadata(map[string]any{"form": verify.FormRunningTotal, "numbers": numbers, "target": target}),
	}, true
}

// countdownID is the canonical form: "4,7,13,20>10".
func countdownID(numbers []int, target int) string {
	return join(slices.Sorted(slices.Values(numbers)), ",") + ">" + strconv.Itoa(target)
}

// derive is the working that takes the numbers in their order; bit i of minus
// makes the sign before number i+1 a minus. ok is false when a total leaves
// 1 to MaxTotal.
func (c *Countdown) derive(numbers []int, minus uint) (working string, total int, ok bool) {
	total = numbers[0]
	text := strconv.AppendInt(nil, int64(total), 10)
	for i, n := range numbers[1:] {
		op := byte('+')
		if minus>>i&1 == 1 {
			op, n = '-', -n
		}
		if total += n; total < 1 || total > c.MaxTotal {
			return "", 0, false
		}
		text = appendStep(text, op, n, total)
	}
	return string(text), total, true
}

// Demonstration implements [Demonstrator].
func (c *Countdown) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	var numbers []int
	if found, err := row.Field("numbers", &numbers); !found || err != nil || len(numbers) != c.Numbers {
		return "", fmt.Errorf("task countdown: row %q does not belong to this task: it does not have %d numbers", row.ID, c.Numbers)
	}
	if r.Chance(c.Aimed) {
		return row.Answer, nil
	}
	// Each choice of signs that stays in range, with equal chance.
	var workings []string
	for minus := range uint(1) << (len(numbers) - 1) {
		if working, _, ok := c.derive(numbers, minus); ok {
			workings = append(workings, working)
		}
	}
	if len(workings) == 0 {
		return "", fmt.Errorf("task countdown: row %q does not belong to this task: no working stays between 1 and %d", row.ID, c.MaxTotal)
	}
	return workings[r.Between(0, len(workings)-1)], nil
}

// Verify implements [Task].
func (c *Countdown) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return Unended(completion)
	}
	return verify.Countdown{Form: verify.FormRunningTotal, UseAll: true, Extract: verify.ExtractNone}.Verify(row, completion)
}

// Valid implements [Demonstrator].
func (c *Countdown) Valid(row verify.Problem, completion string, ended bool) bool {
	var numbers []int64
	found, err := row.Field("numbers", &numbers)
	return ended && found && err == nil && verify.ValidRunningTotal(completion, numbers)
}

// Vocabulary implements [Demonstrator].
func (c *Countdown) Vocabulary() []string { return vocabulary(c.MaxTotal) }

// PromptTokens implements [Demonstrator].
func (c *Countdown) PromptTokens() int { return c.Numbers + 3 }

// CompletionTokens implements [Demonstrator].
func (c *Countdown) CompletionTokens() int { return runningTotalTokens(c.Numbers) }

// runningTotalTokens counts the tokens of a working over n numbers: the first,
// four for each other, <eos>.
func runningTotalTokens(n int) int { return 1 + 4*(n-1) + 1 }

// appendStep writes one step of a running total; n is signed, op its sign.
func appendStep(text []byte, op byte, n, total int) []byte {
	text = strconv.AppendInt(append(text, op), int64(max(n, -n)), 10)
	return strconv.AppendInt(append(text, '='), int64(total), 10)
}

func join(numbers []int, separator string) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, separator)
}
