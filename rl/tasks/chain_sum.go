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
		Name:    "chain_sum",
		Summary: "work out a chain of additions and subtractions",
		Doc: `chain_sum: work out a chain of + and -, with the working written as a running total.

    12+7-5-3:              12+7=19-5=14-3=11

Terms and signs are drawn with equal probability. A draw is discarded if a total is outside
0 to max_total. One problem in 16 is held out, chosen by the CRC-32 of its canonical form
"12+7-5-3".

Right: the completion ends, and its text ends in "=" and the right number. The working is
not checked.

Demonstrations: each sign is misread with probability careless (if the total stays in
range); the additions are correct. With probability brief the first steps are left out,
as in 14-3=11: every number of them that leaves a step is equally likely.

` + describeSettings(defaultChainSum()),
		New: func() Task { return defaultChainSum() },
	}, verify.Entry{
		Summary: "the task chain_sum: the right total",
		Doc: `task:chain_sum: right when the completion gives the chain's total.

Rows of rlzero's own task carry form = "running_total": right when the completion's text
ends in "=" and the row's answer. Other rows, such as reasoning-gym's chain_sum, are
judged by the verifier number with plain = true: one decimal number, no expression.

Option extract: as for the verifier number. A running total is always the whole completion.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			number, err := taskVerifier("number", options, map[string]any{"plain": true})
			return chainSumVerifier{number}, err
		},
	})
}

func defaultChainSum() *chainSum {
	return &chainSum{Terms: 4, MaxNumber: 20, MaxTotal: 40, Careless: 0.4}
}

// chainSum is the task "chain_sum".
type chainSum struct {
	Terms     int     `toml:"terms" range:"[2,8]" about:"number of terms"`
	MaxNumber int     `toml:"max_number" range:"[1,999]" about:"largest term"`
	MaxTotal  int     `toml:"max_total" range:"[1,9999]" about:"largest total; at least 2 max_number - 1"`
	Careless  float64 `toml:"careless" range:"[0,1]" about:"probability of misreading a sign in a demonstration"`
	Brief     float64 `toml:"brief" range:"[0,1]" about:"probability that a demonstration leaves out its first steps"`
}

var _ Demonstrator = (*chainSum)(nil)

// Name implements [Task].
func (c *chainSum) Name() string { return "chain_sum" }

// Validate implements [Task].
func (c *chainSum) Validate() error {
	if err := settings.Check(c); err != nil {
		return err
	}
	if least := 2*c.MaxNumber - 1; c.MaxTotal < least {
		return outOfRange("max_total", c.MaxTotal, fmt.Sprintf("at least 2 max_number - 1 = %d", least))
	}
	return probe(c.attempt)
}

// Difficulty implements [Task].
func (c *chainSum) Difficulty() string {
	return fmt.Sprintf("%d terms from 1 to %d, + and -, totals from 0 to %d; demonstrations misread %.4g %% of signs",
		c.Terms, c.MaxNumber, c.MaxTotal, 100*c.Careless)
}

// Draw implements [Task]. The row's answer is the total.
func (c *chainSum) Draw(r *random.Rand, split Split) verify.Problem { return draw(r, split, c.attempt) }

func (c *chainSum) attempt(r *random.Rand) (verify.Problem, bool) {
	total := r.Between(1, c.MaxNumber)
	terms := []int{total} // signed
	chain := strconv.Itoa(total)
	for range c.Terms - 1 {
		term := r.Between(1, c.MaxNumber)
		if r.Between(0, 1) == 1 {
			term = -term
		}
		if total += term; !c.inRange(total) {
			return verify.Problem{}, false
		}
		terms = append(terms, term)
		chain += fmt.Sprintf("%+d", term)
	}
	return c.problem(chain, terms, total), true
}

func (c *chainSum) problem(chain string, terms []int, total int) verify.Problem {
	return verify.Problem{
		ID:       chain,
		Question: chain + ":",
		Answer:   strconv.Itoa(total),
		Metadata: metadata(map[string]any{"form": verify.FormRunningTotal, "terms": terms}),
	}
}

func (c *chainSum) inRange(total int) bool { return 0 <= total && total <= c.MaxTotal }

// Demonstration implements [Demonstrator].
func (c *chainSum) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	terms, err := chainTerms(row)
	if err != nil {
		return "", err
	}
	total, out := terms[0], 0 // steps that are left out
	if c.Brief > 0 && len(terms) > 2 && r.Chance(c.Brief) {
		out = r.Between(1, len(terms)-2)
	}
	text := strconv.AppendInt(nil, int64(total), 10)
	for i, term := range terms[1:] {
		if c.inRange(total-term) && r.Chance(c.Careless) {
			term = -term
		}
		// After an earlier slip the right sign can lead out of range. Then the
		// other one does not: it would take total < term and total + term >
		// MaxTotal, which MaxTotal >= 2 MaxNumber - 1 rules out.
		if !c.inRange(total + term) {
			term = -term
		}
		op := byte('+')
		if term < 0 {
			op = '-'
		}
		total += term
		if i < out {
			text = strconv.AppendInt(text[:0], int64(total), 10)
		} else {
			text = appendStep(text, op, term, total)
		}
	}
	return string(text), nil
}

// chainTerms are the row's signed terms.
func chainTerms(row verify.Problem) ([]int, error) {
	var terms []int
	if found, err := row.Field("terms", &terms); !found || err != nil || len(terms) < 2 {
		return nil, fmt.Errorf("task chain_sum: row %q does not belong to this task: it has no terms", row.ID)
	}
	return terms, nil
}

// Verify implements [Task].
func (c *chainSum) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return Unended(completion)
	}
	return verify.JudgeLastTotal(completion, row.Answer)
}

// Valid implements [Demonstrator]: the terms stand in their order, with any signs. Where
// demonstrations leave out first steps, so may the completion.
func (c *chainSum) Valid(row verify.Problem, completion string, ended bool) bool {
	terms, err := chainTerms(row)
	if err != nil || !ended {
		return false
	}
	working, err := verify.ParseRunningTotal(completion)
	if err != nil || working.Check() != nil {
		return false
	}
	numbers := working.Numbers()
	if out := len(terms) - len(numbers); c.Brief > 0 && 0 < out && out < len(terms)-1 {
		numbers, terms = numbers[1:], terms[out+1:] // the first is a total
	}
	return slices.EqualFunc(numbers, terms, func(n int64, term int) bool { return n == int64(max(term, -term)) })
}

// Vocabulary implements [Demonstrator].
func (c *chainSum) Vocabulary() []string { return vocabulary(c.MaxTotal) }

// PromptTokens implements [Demonstrator].
func (c *chainSum) PromptTokens() int { return 2 * c.Terms }

// CompletionTokens implements [Demonstrator].
func (c *chainSum) CompletionTokens() int { return runningTotalTokens(c.Terms) }

// chainSumVerifier is "task:chain_sum".
type chainSumVerifier struct{ number verify.Verifier }

// Check implements [verify.Checker].
func (v chainSumVerifier) Check(row verify.Problem) error { return verify.Check(v.number, row) }

// Verify implements [verify.Verifier].
func (v chainSumVerifier) Verify(row verify.Problem, completion string) verify.Verdict {
	if err := v.Check(row); err != nil {
		return verify.Abstain("%v", err)
	}
	var form string
	if found, err := row.Field("form", &form); found && err == nil && form == verify.FormRunningTotal {
		return verify.JudgeLastTotal(strings.TrimSpace(completion), row.Answer)
	}
	return v.number.Verify(row, completion)
}
