package tasks

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// searches are settings of countdown_search by the marks that their demonstrations have.
func searches() map[string]*search {
	plain := search{Numbers: 3, MaxNumber: 30, MaxTotal: 60, Tries: 1}
	with := func(change func(*search)) *search {
		s := plain
		change(&s)
		return &s
	}
	return map[string]*search{
		"":       &plain,
		"ny":     with(func(s *search) { s.Verifies = true }),
		"|":      with(func(s *search) { s.Tries = 8 }),
		"[]":     with(func(s *search) { s.Subgoals = true }),
		"<":      with(func(s *search) { s.Backward = true }),
		"ny|[]<": with(func(s *search) { s.Numbers, s.Tries, s.Verifies, s.Subgoals, s.Backward = 4, 8, true, true, true }),
	}
}

// TestSearchDemonstrations: a demonstration has the marks of its habits and no others, right sums, and
// a walk that goes back to a total of the attempt before; its last attempt is its answer.
func TestSearchDemonstrations(t *testing.T) {
	for marks, task := range searches() {
		validated(t, task)
		known, seen := task.Vocabulary(), map[rune]bool{}
		for i := range 400 {
			r := random.At(1, 8, uint64(i))
			row := task.Draw(r, Split(i%2))
			text, err := task.Demonstration(r, row)
			if err != nil {
				t.Fatal(err)
			}
			tokens := token.FindAllString(text, -1)
			for _, c := range tokens {
				if !slices.Contains(known, c) {
					t.Errorf("%s: %q is not in the vocabulary", text, c)
				}
			}
			if n := task.CompletionTokens() - 1; len(tokens) > n || !task.Valid(row, text, true) || task.Valid(row, text, false) {
				t.Errorf("%s has %d tokens, at most %d are promised; or its form is not valid", text, len(tokens), n)
			}
			for _, c := range text {
				if strings.ContainsRune("ny|[]<", c) {
					seen[c] = true
				}
			}
			tried, answer, searched := strings.Cut(text, ":")
			if searched != (marks != "") {
				t.Fatalf("%q: %s", marks, text)
			}
			if searched {
				walked(t, row, tried, answer)
			}
		}
		for _, c := range "ny|[]<" {
			if seen[c] != strings.ContainsRune(marks, c) {
				t.Errorf("%q: the mark %c stands there: %v", marks, c, seen[c])
			}
		}
	}
}

// attempted is an attempt: what it works backward, its subgoals, its working and its mark.
var attempted = regexp.MustCompile(`^(?:<([^>]*)>)?((?:\[\d+\])*)([^ny]*)([ny]?)$`)

// walked checks what stands before an answer.
func walked(t *testing.T, row verify.Problem, tried, answer string) {
	t.Helper()
	var target int
	if _, err := row.Field("target", &target); err != nil {
		t.Fatal(err)
	}
	var path []string // the totals that lead to the end of the last attempt
	for i, text := range strings.Split(tried, "|") {
		part := attempted.FindStringSubmatch(text)
		if part == nil {
			t.Fatalf("%s: %s is no attempt", tried, text)
		}
		for _, working := range []string{part[1], part[3]} {
			total, err := verify.ParseRunningTotal(working)
			if err == nil {
				err = total.Check()
			}
			if working != "" && err != nil {
				t.Errorf("%s: %s: %v", tried, working, err)
			}
		}
		totals := regexp.MustCompile(`^\d+|=\d+`).FindAllString(part[3], -1)
		for k := range totals {
			totals[k] = strings.TrimPrefix(totals[k], "=")
		}
		if i > 0 {
			at := len(path) - len(totals)
			if at < 0 || path[at] != totals[0] {
				t.Fatalf("%s: %s goes back to no total of the attempt before", tried, text)
			}
			totals = slices.Concat(path[:at], totals)
		}
		path = totals
		if reached := strconv.Itoa(target) == path[len(path)-1]; part[4] != "" && (part[4] == "y") != reached {
			t.Errorf("%s: %s is marked %s, the target is %d", tried, text, part[4], target)
		}
		if begun, _, ok := strings.Cut(part[1], "+"); ok && begun != strconv.Itoa(target) {
			t.Errorf("%s works backward from %s, not from %d", tried, begun, target)
		}
		if goals := strings.FieldsFunc(part[2], func(c rune) bool { return c == '[' || c == ']' }); len(goals) > 0 && !slices.Equal(goals, path[len(path)-1-len(goals):len(path)-1]) {
			t.Errorf("%s: the subgoals %v, the totals %v", tried, goals, path)
		}
	}
	if !strings.HasSuffix(answer, "="+path[len(path)-1]) {
		t.Errorf("the answer to %s is %s", tried, answer)
	}
}

// TestSearchShares: without going back as many are right as chance has it, with a whole walk all are,
// and none of those with wrong answers are.
func TestSearchShares(t *testing.T) {
	const n = 2000
	for name, c := range map[string]struct {
		tries int
		wrong float64
	}{"one try": {1, 0}, "a whole walk": {8, 0}, "wrong": {8, 1}} {
		task := validated(t, &search{Numbers: 3, MaxNumber: 30, MaxTotal: 60, Tries: c.tries, Verifies: true, Wrong: c.wrong})
		right, want := 0, 0.0
		for i := range n {
			r := random.At(2, 9, uint64(i))
			row := task.Draw(r, Train)
			text, err := task.Demonstration(r, row)
			if err != nil {
				t.Fatal(err)
			}
			if task.Verify(row, text, true).Verdict == verify.Right {
				right++
			}
			var numbers []int
			var target int
			if _, err := row.Field("numbers", &numbers); err != nil {
				t.Fatal(err)
			}
			if _, err := row.Field("target", &target); err != nil {
				t.Fatal(err)
			}
			leaves := task.leaves(r, numbers)
			hits := 0.0
			for _, l := range leaves {
				if l.reaches() == target {
					hits++
				}
			}
			switch share := hits / float64(len(leaves)); {
			case c.wrong == 1 && share < 1: // some total is another one
			case c.tries > 1:
				want++
			default:
				want += firstOf(leaves, target)
			}
		}
		if got := float64(right) / n; math.Abs(got-want/n) > binomialBound(0.5, n) || c.tries > 1 && float64(right) != want {
			t.Errorf("%s: %g are right, want %g", name, got, want/n)
		}
	}
}

// firstOf is the probability that the first leaf of a walk reaches the target: each node takes either of
// its ways first, and a way that leaves the range does not count.
func firstOf(leaves []leaf, target int) float64 {
	var down func(some []leaf, depth int) float64
	down = func(some []leaf, depth int) float64 {
		if depth == len(some[0].signed) {
			return map[bool]float64{true: 1}[some[0].reaches() == target]
		}
		var ways [2][]leaf
		for _, l := range some {
			way := map[bool]int{true: 1}[l.signed[depth] > 0]
			ways[way] = append(ways[way], l)
		}
		sum, n := 0.0, 0.0
		for _, w := range ways {
			if len(w) > 0 {
				sum, n = sum+down(w, depth+1), n+1
			}
		}
		return sum / n
	}
	return down(leaves, 0)
}

// TestSearchVerdicts: what was tried earns nothing, and nothing before the last colon is read.
func TestSearchVerdicts(t *testing.T) {
	task := defaultSearch()
	row := verify.Problem{ID: "5,7,30>18", Question: "30 7 5 > 18:", Metadata: metadata(map[string]any{"form": verify.FormRunningTotal, "numbers": []int{30, 7, 5}, "target": 18})}
	for completion, want := range map[string]string{
		"30-7=23-5=18": verify.Right,
		"30+7=37+5=42n|30-7=23-5=18y:30-7=23-5=18": verify.Right,
		"nonsense:30-7=23-5=18":                    verify.Right,
		"30-7=23-5=18y":                            verify.Wrong,
		"30-7=23-5=18y:":                           verify.Wrong,
		"30-7=23-5=18:30+7=37+5=42":                verify.Wrong,
		"30-7=23-5=18:18":                          verify.Wrong,
		"30-7=23-5=18y:30+7=37+5=42|30-7=23-5=18":  verify.Wrong,
		"": verify.Wrong,
	} {
		if got := task.Verify(row, completion, true); got.Verdict != want {
			t.Errorf("%q is %s, want %s", completion, got.Verdict, want)
		}
	}
}

// TestFewer: with fewest, problems have fewer numbers too, all lengths alike, and are demonstrated and judged as the others.
func TestFewer(t *testing.T) {
	s := validated(t, &search{Numbers: 4, Fewest: 2, MaxNumber: 20, MaxTotal: 40, Tries: 2, Verifies: true})
	drawn := map[int]int{}
	const n = 900
	for i := range n {
		r := random.At(41, 0, uint64(i))
		row := s.Draw(r, Train)
		var numbers []int
		if _, err := row.Field("numbers", &numbers); err != nil {
			t.Fatal(err)
		}
		drawn[len(numbers)]++
		said, err := s.Demonstration(r, row)
		if err != nil || !s.Valid(row, said, true) || s.Verify(row, row.Answer, true).Verdict != verify.Right {
			t.Fatalf("%s %q: %v", row.Question, said, err)
		}
	}
	for k := 2; k <= 4; k++ {
		if got := float64(drawn[k]) / n; math.Abs(got-1.0/3) > binomialBound(1.0/3, n) {
			t.Errorf("%d numbers have the share %.3f", k, got)
		}
	}
	for want, fewest := range map[string]int{"0, or 2 to numbers = 4": 1, "from 0 to 4": 5} {
		if err := (&search{Numbers: 4, Fewest: fewest, MaxNumber: 20, MaxTotal: 40, Tries: 1}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("fewest = %d: %v, want %q", fewest, err, want)
		}
	}
	// Of the three problems with two numbers none is held out: a draw of one would never end.
	bare := search{Numbers: 4, Fewest: 2, MaxNumber: 2, MaxTotal: 8, Tries: 1}
	if err := bare.Validate(); err == nil || !strings.HasPrefix(err.Error(), "with 2 numbers: these settings leave no ") || len(hint.All(err)) != 1 {
		t.Errorf("%+v: %v", bare, err)
	}
}

// TestSearchAsked: the same problems in prompts that ask for a search and in those that do not; what is not asked
// for is not shown.
func TestSearchAsked(t *testing.T) {
	task := &search{Numbers: 3, MaxNumber: 30, MaxTotal: 60, Tries: 8, Verifies: true, Asked: 0.5}
	validated(t, task)
	asked, plain, went := 0, 0, 0
	for i := range 400 {
		r := random.At(1, 9, uint64(i))
		row := task.Draw(r, Train)
		text, err := task.Demonstration(r, row)
		if err != nil {
			t.Fatal(err)
		}
		switch back := strings.Contains(text, "|"); {
		case strings.HasSuffix(row.Question, "|"):
			if asked++; back {
				went++
			}
			if task.Verify(row, text, true).Verdict != verify.Right {
				t.Errorf("%s %s: the search does not end with what is right", row.Question, text)
			}
		case back:
			t.Errorf("%s %s goes back unasked", row.Question, text)
		default:
			plain++
		}
	}
	if asked < 150 || plain < 150 || went < asked/4 { // each side has 200 of 400 in the mean, with a deviation of 10
		t.Errorf("%d asked, of which %d went back; %d not", asked, went, plain)
	}
}
