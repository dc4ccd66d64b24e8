package tasks

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// problems enumerates every problem of c: all numbers, largest first, all
// signs. visit gets the numbers, how many ordered draws give them, the signs'
// target, and all totals that valid workings of the numbers reach.
func (c *Countdown) problems(visit func(numbers []int, draws float64, target int, totals []int)) {
	numbers := make([]int, c.Numbers)
	var fill func(at, most int)
	fill = func(at, most int) {
		if at < len(numbers) {
			for n := most; n >= 1; n-- {
				numbers[at] = n
				fill(at+1, n)
			}
			return
		}
		var totals []int
		for minus := range uint(1) << (c.Numbers - 1) {
			if _, total, ok := c.derive(numbers, minus); ok {
				totals = append(totals, total)
			}
		}
		for _, total := range totals {
			if !slices.Contains(numbers, total) {
				visit(numbers, orders(numbers), total, totals)
			}
		}
	}
	fill(0, c.MaxNumber)
}

// orders counts the different orders of numbers, which are sorted.
func orders(numbers []int) float64 {
	n, run := 1.0, 0
	for i := range numbers {
		if i > 0 && numbers[i] != numbers[i-1] {
			run = 0
		}
		run++
		n *= float64(i+1) / float64(run)
	}
	return n
}

// TestCountdownProblems counts the demo's problems exhaustively.
func TestCountdownProblems(t *testing.T) {
	for _, c := range []struct {
		task          *Countdown
		all, heldOut  int
		vocabulary    int
		prompt, reply int // tokens
	}{
		{countdownTiny(), 53_548, 3_311, 53, 7, 14},
		{countdownBlind(), 14_280, 911, 68, 6, 10},
	} {
		ids := map[string]bool{}
		heldOut := 0
		c.task.problems(func(numbers []int, _ float64, target int, _ []int) {
			if id := countdownID(numbers, target); !ids[id] {
				ids[id] = true
				if SplitOf(id) == HeldOut {
					heldOut++
				}
			}
		})
		if len(ids) != c.all || heldOut != c.heldOut {
			t.Errorf("%+v: %d problems, %d held out; want %d and %d", c.task, len(ids), heldOut, c.all, c.heldOut)
		}
		if got := [3]int{len(c.task.Vocabulary()), c.task.PromptTokens(), c.task.CompletionTokens()}; got != [3]int{c.vocabulary, c.prompt, c.reply} {
			t.Errorf("%+v: vocabulary, prompt and completion have %v tokens", c.task, got)
		}
		for i := range 2000 {
			if row := c.task.Draw(random.At(4, 0, uint64(i)), Split(i%2)); !ids[row.ID] {
				t.Errorf("%+v draws %q, which is none of its problems", c.task, row.ID)
			}
		}
	}
}

// TestCountdownShareRight: demonstrations are right as often as the exact share
// that follows from the settings, and solutions always are.
func TestCountdownShareRight(t *testing.T) {
	const n = 20_000
	for _, c := range []struct {
		task  *Countdown
		share float64 // percent, rounded
	}{
		{countdownTiny(), 45},
		// The mean over all sets of three numbers is 35 %, but sets with equal
		// numbers, which are easier to hit, are drawn less often.
		{countdownBlind(), 31},
		{&Countdown{Numbers: 4, MaxNumber: 22, MaxTotal: 45, Aimed: 1}, 100},
	} {
		// Chance that a random working hits: over all training problems, each
		// as likely as it is drawn.
		var weights, hits float64
		c.task.problems(func(numbers []int, draws float64, target int, totals []int) {
			if SplitOf(countdownID(numbers, target)) != Train {
				return
			}
			same := 0
			for _, total := range totals {
				if total == target {
					same++
				}
			}
			weights += draws
			hits += draws * float64(same) / float64(len(totals))
		})
		p := c.task.Aimed + (1-c.task.Aimed)*hits/weights
		right := 0
		for i := range n {
			r := random.At(6, 0, uint64(i))
			row := c.task.Draw(r, Train)
			if v := c.task.Verify(row, row.Answer, true); v.Verdict != verify.Right {
				t.Fatalf("the reference %q of %q: %+v", row.Answer, row.Question, v)
			}
			demonstration, err := c.task.Demonstration(r, row)
			if err != nil {
				t.Fatal(err)
			}
			if c.task.Verify(row, demonstration, true).Verdict == verify.Right {
				right++
			}
		}
		got := float64(right) / n
		if math.Abs(got-p) > binomialBound(p, n) {
			t.Errorf("%+v: share of right demonstrations %.4f, exactly %.4f", c.task, got, p)
		}
		if math.Round(100*p) != c.share {
			t.Errorf("%+v: exact share %.4f, want %g %%", c.task, p, c.share)
		}
	}
}

// TestCountdownWrong: 10,000 random workings are right exactly when they end in
// the target, and no spoilt solution is.
func TestCountdownWrong(t *testing.T) {
	task := countdownTiny()
	r := random.At(8, 0, 0)
	for wrong := 0; wrong < 10_000; {
		row := task.Draw(r, Train)
		var numbers []int
		if _, err := row.Field("numbers", &numbers); err != nil {
			t.Fatal(err)
		}
		working, total, ok := task.derive(numbers, uint(r.Between(0, 7)))
		if !ok {
			continue
		}
		hit := strings.HasSuffix(row.Question, fmt.Sprintf(" > %d:", total))
		if got := task.Verify(row, working, true); (got.Verdict == verify.Right) != hit {
			t.Fatalf("%s %s: %+v", row.Question, working, got)
		} else if hit {
			continue
		}
		wrong++
		for _, spoilt := range []string{
			row.Answer + "+0=" + fmt.Sprint(total), row.Answer + "=", row.Answer[:len(row.Answer)-1], row.Question + row.Answer,
			"1" + row.Answer, strings.Replace(row.Answer, "=", "==", 1), strings.Replace(row.Answer, "=", "=1", 1), "", fmt.Sprint(total),
		} {
			if task.Verify(row, spoilt, true).Verdict != verify.Wrong || task.Valid(row, spoilt, true) {
				t.Fatalf("%s %s was accepted", row.Question, spoilt)
			}
		}
	}
}

// The order of the numbers is free.
func TestCountdownAnyOrder(t *testing.T) {
	task := countdownTiny()
	r := random.At(9, 0, 0)
	for range 1000 {
		row := task.Draw(r, Train)
		var numbers []int
		if _, err := row.Field("numbers", &numbers); err != nil {
			t.Fatal(err)
		}
		i := r.Between(0, 2)
		numbers[i], numbers[i+1] = numbers[i+1], numbers[i]
		if working, total, ok := task.derive(numbers, uint(r.Between(0, 7))); ok {
			if !task.Valid(row, working, true) {
				t.Errorf("%s %s is not valid", row.Question, working)
			}
			if hit := strings.HasSuffix(row.Question, fmt.Sprintf(" > %d:", total)); hit != (task.Verify(row, working, true).Verdict == verify.Right) {
				t.Errorf("%s %s: judged against its total %d", row.Question, working, total)
			}
		}
	}
}
