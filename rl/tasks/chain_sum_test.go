package tasks

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// chains enumerates every problem of c.
func (c *chainSum) chains(visit func(chain string, terms []int)) {
	terms := make([]int, 0, c.Terms)
	var grow func(chain string, total int)
	grow = func(chain string, total int) {
		if len(terms) == c.Terms {
			visit(chain, terms)
			return
		}
		for term := -c.MaxNumber; term <= c.MaxNumber; term++ {
			if term != 0 && c.inRange(total+term) && (len(terms) > 0 || term > 0) {
				text := strconv.Itoa(term)
				if len(terms) > 0 && term > 0 {
					text = "+" + text
				}
				terms = append(terms, term)
				grow(chain+text, total+term)
				terms = terms[:len(terms)-1]
			}
		}
	}
	grow("", 0)
}

// rightShare is the exact chance that a demonstration of terms ends in total.
func (c *chainSum) rightShare(terms []int, total int) float64 {
	var walk func(i, reached int) float64
	walk = func(i, reached int) float64 {
		if i == len(terms) {
			if reached == total {
				return 1
			}
			return 0
		}
		right, slip := reached+terms[i], reached-terms[i]
		switch {
		case !c.inRange(right):
			return walk(i+1, slip)
		case !c.inRange(slip):
			return walk(i+1, right)
		}
		return c.Careless*walk(i+1, slip) + (1-c.Careless)*walk(i+1, right)
	}
	return walk(1, terms[0])
}

// TestChainSumProblems counts the demo's problems exhaustively and checks the
// share of right demonstrations against its exact value.
func TestChainSumProblems(t *testing.T) {
	const n = 20_000
	task := chainSumTiny()
	all, heldOut := 0, 0
	var train, p float64
	task.chains(func(chain string, terms []int) {
		all++
		if SplitOf(chain) == HeldOut {
			heldOut++
			return
		}
		total := 0
		for _, term := range terms {
			total += term
		}
		train++
		p += task.rightShare(terms, total)
	})
	p /= train
	if all != 581_575 || heldOut != 36_357 {
		t.Errorf("%d problems, %d held out; want 581575 and 36357", all, heldOut)
	}
	if got := [3]int{len(task.Vocabulary()), task.PromptTokens(), task.CompletionTokens()}; got != [3]int{48, 8, 14} {
		t.Errorf("vocabulary, prompt and completion have %v tokens", got)
	}
	right := 0
	for i := range n {
		r := random.At(6, 0, uint64(i))
		row := task.Draw(r, Train)
		demonstration, err := task.Demonstration(r, row)
		if err != nil {
			t.Fatal(err)
		}
		if task.Verify(row, demonstration, true).Verdict == verify.Right {
			right++
		}
	}
	if got := float64(right) / n; math.Abs(got-p) > binomialBound(p, n) {
		t.Errorf("share of right demonstrations %.4f, exactly %.4f", got, p)
	}
	if math.Round(100*p) != 39 {
		t.Errorf("exact share of right demonstrations %.4f, want 39 %%", p)
	}
}

// TestChainSumVerify: the careful worker's answer is right, 10,000 others that
// end elsewhere are not.
func TestChainSumVerify(t *testing.T) {
	careful := &chainSum{Terms: 4, MaxNumber: 20, MaxTotal: 40}
	r := random.At(8, 0, 0)
	for range 10_000 {
		row := careful.Draw(r, Train)
		solution, err := careful.Demonstration(r, row)
		if err != nil {
			t.Fatal(err)
		}
		if v := careful.Verify(row, solution, true); v.Verdict != verify.Right || !careful.Valid(row, solution, true) {
			t.Fatalf("%s %s: %+v", row.Question, solution, v)
		}
		off, err := strconv.Atoi(row.Answer)
		if err != nil {
			t.Fatal(err)
		}
		if off += r.Between(1, 9); r.Chance(0.5) {
			off = -off
		}
		stem := solution[:strings.LastIndex(solution, "=")+1]
		wrong := stem + strconv.Itoa(off)
		if v := careful.Verify(row, wrong, true); v.Verdict != verify.Wrong || careful.Valid(row, wrong, true) {
			t.Fatalf("%s %s: %+v", row.Question, wrong, v)
		}
	}
	row := verify.Problem{ID: "12+7-5-3", Answer: "11", Metadata: metadata(map[string]any{"terms": []int{12, 7, -5, -3}})}
	for _, c := range []struct {
		completion   string
		right, valid bool
	}{
		{"12+7=19-5=14-3=11", true, true},
		{"=11", true, false}, // the working is not checked
		{"12+7=20-5=14-3=11", true, false},
		{"12-7=5-5=0+3=3", false, true},
		{"7+12=19-5=14-3=11", true, false}, // the terms keep their order
		{"12+7=19-5=14-3=011", false, true},
		{"12+7=19-5=14-3=11=", false, false},
		{"12+7=19-5=14-3=111", false, false},
		{"11", false, false},
		{"12+7-5-3:", false, false},
		{"", false, false},
	} {
		v := careful.Verify(row, c.completion, true)
		if (v.Verdict == verify.Right) != c.right || careful.Valid(row, c.completion, true) != c.valid {
			t.Errorf("%q: %+v, valid %t; want right %t, valid %t", c.completion, v, careful.Valid(row, c.completion, true), c.right, c.valid)
		}
	}
}

// TestBriefDemonstrations: half of them leave out one step or two of three, and end as the
// whole working does; the form is accepted, and by a task that has none such it is not.
func TestBriefDemonstrations(t *testing.T) {
	const n = 4000
	brief, whole := &chainSum{Terms: 4, MaxNumber: 20, MaxTotal: 40, Brief: 0.5}, chainSumTiny()
	steps := map[int]int{}
	for i := range uint64(n) {
		r := random.At(7, 0, i)
		row := brief.Draw(r, Train)
		text, err := brief.Demonstration(r, row)
		if err != nil {
			t.Fatal(err)
		}
		k := strings.Count(text, "=")
		steps[k]++
		if v := brief.Verify(row, text, true); v.Verdict != verify.Right || !brief.Valid(row, text, true) || whole.Valid(row, text, true) != (k == 3) {
			t.Fatalf("%s %s: %+v", row.Question, text, v)
		}
		if brief.Valid(row, "1+"+text, true) || brief.Valid(row, row.Answer, true) {
			t.Fatalf("%s: a sum that is not true, or no step at all, has the form", row.Question)
		}
	}
	for k, share := range map[int]float64{3: 0.5, 2: 0.25, 1: 0.25} {
		// Five standard deviations of a binomial share.
		if got := float64(steps[k]) / n; math.Abs(got-share) > 5*math.Sqrt(share*(1-share)/n) {
			t.Errorf("%d steps: a share of %v, want %v", k, got, share)
		}
	}
}
