package tasks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

// Countdown with its search written out: the habits of Cognitive Behaviors that Enable
// Self-Improving Reasoners, arXiv 2503.01307, and the walks through a tree of ASTRO, arXiv 2507.00417.
func init() {
	register(Family{
		Name:    "countdown_search",
		Summary: "countdown, with what was tried written before the answer",
		Doc: `countdown_search: countdown, with what was tried written before the answer.

    30 7 5 > 18:           30+7=37+5=42n|37-5=32n|30-7=23-5=18y:30-7=23-5=18

The problems are those of countdown. An answer may begin with attempts, which are running
totals; the answer itself stands after the last ":", or is the whole completion if there is
none. Demonstrations have the habits that the settings give them:

    n, y         verification: the attempt does not, or does, reach the target
    |            going back: the next attempt begins at the total where it departs from the
                 last one. Attempts are the leaves of a walk through the tree of all signs, depth
                 first, in a random order
    [23]         a subgoal: the total that the next step is to reach
    <18+5=23>    working backward: what the total before the last step has to be

A prompt can ask for a search by a | at its end, as in 30 7 5 > 18|, which asked says.

A demonstration ends with the attempt that reaches the target, or with the last of its tries.
Those with wrong answers have the same habits: they take another total that the numbers reach for
the target, and nothing in them reaches the target. Without any habit a demonstration is a
working alone, which ignores the target.

Right: the completion ends, and its answer is right for countdown. What stands before the answer
is not checked.

` + describeSettings(defaultSearch()),
		New: func() Task { return defaultSearch() },
	}, verify.Entry{
		Summary: "the task countdown_search: what follows the last colon is right for countdown",
		Doc: `task:countdown_search: the verifier task:countdown on what follows the last ":", or on the
whole completion if it has none. What was tried before is not checked.

Option extract: as for task:countdown.
`,
		New: func(options json.RawMessage) (verify.Verifier, error) {
			answer, err := taskVerifier("countdown", options, map[string]any{"use_all": true})
			return searchVerifier{answer}, err
		},
	})
}

func defaultSearch() *search {
	return &search{Numbers: 3, MaxNumber: 30, MaxTotal: 60, Tries: 2, Verifies: true}
}

// search is the task "countdown_search".
type search struct {
	Numbers   int     `toml:"numbers" range:"[2,4]" about:"number of given numbers"`
	Fewest    int     `toml:"fewest" range:"[0,4]" about:"problems with fewer given numbers are drawn too, down to this many; 0: none"`
	MaxNumber int     `toml:"max_number" range:"[1,999]" about:"the largest of the given numbers"`
	MaxTotal  int     `toml:"max_total" range:"[1,9999]" about:"largest total and target; at least max_number"`
	Tries     int     `toml:"tries" range:"[1,8]" about:"attempts of a demonstration at most; 1: none goes back"`
	Verifies  bool    `toml:"verifies" about:"demonstrations verify each attempt"`
	Subgoals  bool    `toml:"subgoals" about:"demonstrations set subgoals"`
	Backward  bool    `toml:"backward" about:"demonstrations work backward from the target"`
	Wrong     float64 `toml:"wrong" range:"[0,1]" about:"share of demonstrations with a wrong answer"`
	Asked     float64 `toml:"asked" range:"[0,1]" about:"share of prompts that ask for a search, with | at their end; demonstrations of the others then make one attempt; 0: none asks, and all demonstrations search"`
}

var _ Demonstrator = (*search)(nil)

// Name implements [Task].
func (s *search) Name() string { return "countdown_search" }

// base is countdown with the problems of so many numbers.
func (s *search) base(numbers int) *Countdown {
	return &Countdown{Numbers: numbers, MaxNumber: s.MaxNumber, MaxTotal: s.MaxTotal}
}

// fewest is the smallest number of given numbers.
func (s *search) fewest() int { return cmp.Or(s.Fewest, s.Numbers) }

// Validate implements [Task].
func (s *search) Validate() error {
	if err := settings.Check(s); err != nil {
		return err
	}
	if s.Fewest == 1 || s.Fewest > s.Numbers {
		return outOfRange("fewest", s.Fewest, fmt.Sprintf("0, or 2 to numbers = %d", s.Numbers))
	}
	if err := s.base(s.Numbers).Validate(); err != nil {
		return err
	}
	for numbers := s.fewest(); numbers < s.Numbers; numbers++ {
		if err := probe(s.base(numbers).attempt); err != nil {
			return fmt.Errorf("with %d numbers: %w", numbers, err)
		}
	}
	return nil
}

// Difficulty implements [Task].
func (s *search) Difficulty() string {
	var habits []string
	for _, h := range []struct {
		has  bool
		name string
	}{{s.Tries > 1, fmt.Sprintf("up to %d tries", s.Tries)}, {s.Verifies, "verification"}, {s.Subgoals, "subgoals"}, {s.Backward, "working backward"}} {
		if h.has {
			habits = append(habits, h.name)
		}
	}
	if habits == nil {
		habits = []string{"no habits"}
	}
	numbers := strconv.Itoa(s.Numbers)
	if s.Fewest > 0 {
		numbers = fmt.Sprintf("%d to %d", s.Fewest, s.Numbers)
	}
	return fmt.Sprintf("%s numbers from 1 to %d, + and -, totals and targets from 1 to %d; demonstrations have %s, %.4g %% a wrong answer",
		numbers, s.MaxNumber, s.MaxTotal, strings.Join(habits, ", "), 100*s.Wrong)
}

// Draw implements [Task]. The row's answer is the working that made the target.
func (s *search) Draw(r *random.Rand, split Split) verify.Problem {
	numbers := s.Numbers
	if s.Fewest > 0 {
		numbers = r.Between(s.Fewest, s.Numbers)
	}
	row := s.base(numbers).Draw(r, split)
	if s.Asked > 0 && r.Chance(s.Asked) {
		row.Question = strings.TrimSuffix(row.Question, ":") + asksForSearch
	}
	return row
}

// asksForSearch ends the prompts that ask for a search, in place of the colon.
const asksForSearch = "|"

// habits tells whether anything stands before the answer of a demonstration.
func (s *search) habits() bool { return s.Tries > 1 || s.Verifies || s.Subgoals || s.Backward }

// leaf is a working: the signed numbers and the total after each.
type leaf struct{ signed, totals []int }

// leaves are the workings of numbers whose totals stay in range, as a walk through the tree of their
// signs meets them that takes the two ways of each node in a random order.
func (s *search) leaves(r *random.Rand, numbers []int) []leaf {
	var found []leaf
	var walk func(l leaf)
	walk = func(l leaf) {
		n := len(l.signed)
		if n == len(numbers) {
			found = append(found, leaf{slices.Clone(l.signed), slices.Clone(l.totals)})
			return
		}
		sign := 1
		if r.Chance(0.5) {
			sign = -1
		}
		for _, x := range []int{sign * numbers[n], -sign * numbers[n]} {
			if total := l.totals[n-1] + x; total >= 1 && total <= s.MaxTotal {
				walk(leaf{append(l.signed[:n:n], x), append(l.totals[:n:n], total)})
			}
		}
	}
	walk(leaf{numbers[:1], numbers[:1]})
	return found
}

// reaches is the last total.
func (l leaf) reaches() int { return l.totals[len(l.totals)-1] }

// Demonstration implements [Demonstrator].
func (s *search) Demonstration(r *random.Rand, row verify.Problem) (string, error) {
	var numbers []int
	var target int
	found, err := row.Field("numbers", &numbers)
	other, err2 := row.Field("target", &target)
	if !found || !other || err != nil || err2 != nil || len(numbers) > s.Numbers || len(numbers) < s.fewest() {
		return "", fmt.Errorf("task countdown_search: row %q does not belong to this task: it does not have %d to %d numbers and a target", row.ID, s.fewest(), s.Numbers)
	}
	tries := s.Tries
	if s.Asked > 0 && !strings.HasSuffix(row.Question, asksForSearch) {
		tries = 1
	}
	leaves := s.leaves(r, numbers)
	if r.Chance(s.Wrong) {
		if missing := slices.DeleteFunc(slices.Clone(leaves), func(l leaf) bool { return l.reaches() == target }); len(missing) > 0 {
			leaves, target = missing, missing[r.Between(0, len(missing)-1)].reaches()
		}
	}
	if len(leaves) == 0 {
		return "", fmt.Errorf("task countdown_search: row %q does not belong to this task: no working stays between 1 and %d", row.ID, s.MaxTotal)
	}
	var text []byte
	for i, l := range leaves {
		from := 0 // the step at which it departs from the last attempt
		if i > 0 {
			text = append(text, '|')
			for from < len(l.signed) && l.signed[from] == leaves[i-1].signed[from] {
				from++
			}
		}
		text = s.attempt(text, l, max(0, from-1), target)
		if l.reaches() == target || i+1 == tries || i+1 == len(leaves) {
			if s.habits() {
				text = l.steps(append(text, ':'), 0)
			}
			break
		}
	}
	return string(text), nil
}

// attempt writes a working from the total after its step from on.
func (s *search) attempt(text []byte, l leaf, from, target int) []byte {
	last := len(l.signed) - 1
	if before := target - l.signed[last]; s.Backward && before >= 1 && before <= s.MaxTotal {
		text = strconv.AppendInt(append(text, '<'), int64(target), 10)
		op := byte('+')
		if l.signed[last] > 0 {
			op = '-'
		}
		text = append(appendStep(text, op, l.signed[last], before), '>')
	}
	if s.Subgoals && from+1 < last {
		for _, total := range l.totals[from+1 : last] {
			text = append(strconv.AppendInt(append(text, '['), int64(total), 10), ']')
		}
	}
	text = l.steps(text, from)
	if s.Verifies {
		mark := byte('n')
		if l.reaches() == target {
			mark = 'y'
		}
		text = append(text, mark)
	}
	return text
}

// steps writes a working from the total after its step from on.
func (l leaf) steps(text []byte, from int) []byte {
	text = strconv.AppendInt(text, int64(l.totals[from]), 10)
	for i := from + 1; i < len(l.signed); i++ {
		op := byte('+')
		if l.signed[i] < 0 {
			op = '-'
		}
		text = appendStep(text, op, l.signed[i], l.totals[i])
	}
	return text
}

// answerOf is what follows the last colon of a completion, or all of it.
func answerOf(completion string) string {
	return completion[strings.LastIndex(completion, ":")+1:]
}

// Verify implements [Task].
func (s *search) Verify(row verify.Problem, completion string, ended bool) verify.Verdict {
	if !ended {
		return Unended(completion)
	}
	return s.base(s.Numbers).Verify(row, answerOf(completion), true)
}

// Valid implements [Demonstrator]: the answer is a running total.
func (s *search) Valid(row verify.Problem, completion string, ended bool) bool {
	return s.base(s.Numbers).Valid(row, answerOf(completion), ended)
}

// Vocabulary implements [Demonstrator].
func (s *search) Vocabulary() []string {
	return append(vocabulary(s.MaxTotal), "n", "y", "|", "[", "]", "<")
}

// PromptTokens implements [Demonstrator].
func (s *search) PromptTokens() int { return s.base(s.Numbers).PromptTokens() }

// CompletionTokens implements [Demonstrator]: those of an answer after a walk through the whole tree, or
// after one attempt if none goes back.
func (s *search) CompletionTokens() int {
	answer := runningTotalTokens(s.Numbers)
	if !s.habits() {
		return answer
	}
	attempt, attempts := answer-1, 1 // without <eos>
	if s.Tries > 1 {
		attempt, attempts = attempt+1, 1<<(s.Numbers-1)
	}
	if s.Verifies {
		attempt++
	}
	if s.Subgoals {
		attempt += 3 * (s.Numbers - 2)
	}
	if s.Backward {
		attempt += 7
	}
	return attempts*attempt + 1 + answer
}

// searchVerifier is "task:countdown_search".
type searchVerifier struct{ answer verify.Verifier }

// Check implements [verify.Checker].
func (v searchVerifier) Check(row verify.Problem) error { return verify.Check(v.answer, row) }

// Verify implements [verify.Verifier].
func (v searchVerifier) Verify(row verify.Problem, completion string) verify.Verdict {
	return v.answer.Verify(row, answerOf(completion))
}
