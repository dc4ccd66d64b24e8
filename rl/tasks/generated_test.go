package tasks

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/verify"
)

// slow are the families whose problems take milliseconds to make or judge:
// their tests draw a tenth as many.
var slow = []string{"sudoku", "mini_sudoku", "futoshiki", "zebra_puzzles", "jugs", "quantum_lock", "tower_of_hanoi", "game_of_life_halting",
	"palindrome_partitioning", "polynomial_multiplication", "rectangle_count", "survo", "propositional_logic", "needle_haystack", "count_primes", "rotten_oranges",
	"pool_matrix", "number_sorting"}

// generatedFamilies are the families without demonstrations, by name.
func generatedFamilies() []Family {
	return slices.DeleteFunc(Families(), func(f Family) bool {
		_, teaches := f.New().(Demonstrator)
		return teaches
	})
}

// byItsVerifier judges a bare answer with the family's registered verifier.
func byItsVerifier(t *testing.T, name string, row verify.Problem, answer string) verify.Verdict {
	t.Helper()
	v, err := verify.New("task:"+name, map[string]any{"extract": "none"})
	if err != nil {
		t.Fatal(err)
	}
	return v.Verify(row, answer)
}

// TestGenerated: every problem of every family keeps to its split, is a function
// of its key, and its own solution is right: bare, between tags after some
// words, and on a row that went through JSON. Ten wrong answers to each are not. The long form has
// a thousand of most.
func TestGenerated(t *testing.T) {
	for _, f := range generatedFamilies() {
		t.Run(f.Name, func(t *testing.T) {
			task := validated(t, f.New())
			problems := 400
			if gputest.Long() {
				problems = 1000
			}
			if slices.Contains(slow, f.Name) {
				problems /= 10
			}
			if testing.Short() {
				problems /= 4
			}
			answers := map[string]int{}
			for i := range problems {
				split := Split(i % 16 / 15) // most of the time Train
				row := task.Draw(random.At(11, uint64(split), uint64(i)), split)
				if SplitOf(row.ID) != split || !strings.HasPrefix(row.ID, f.Name+":") {
					t.Fatalf("%q was drawn for split %d", row.ID, split)
				}
				if i < 20 {
					if again := task.Draw(random.At(11, uint64(split), uint64(i)), split); !reflect.DeepEqual(row, again) {
						t.Fatalf("draw %d differs from itself", i)
					}
				}
				answers[row.Answer]++
				raw, err := json.Marshal(row)
				if err != nil {
					t.Fatal(err)
				}
				var read verify.Problem
				if err := json.Unmarshal(raw, &read); err != nil {
					t.Fatal(err)
				}
				if v := byItsVerifier(t, f.Name, read, row.Answer); v.Verdict != verify.Right {
					t.Fatalf("%s\nits own solution %q: %+v", row.Question, row.Answer, v)
				}
				tagged := "Let me see: 1, 2, A.\n<answer>" + row.Answer + "</answer>"
				if v := task.Verify(row, tagged, true); v.Verdict != verify.Right {
					t.Fatalf("%s\n%q: %+v", row.Question, tagged, v)
				}
				if v := task.Verify(row, tagged, false); v.Verdict != verify.Wrong {
					t.Fatalf("a completion that does not end: %+v", v)
				}
				r := random.At(12, 0, uint64(i))
				for range 10 {
					if bad, ok := spoiled(r, f.Name, row); ok {
						if v := byItsVerifier(t, f.Name, row, bad); v.Verdict != verify.Wrong {
							t.Fatalf("%s\nanswer %q, spoiled to %q: %+v", row.Question, row.Answer, bad, v)
						}
					}
				}
			}
			for answer, n := range answers {
				if n > problems*9/10 {
					t.Errorf("%q is the answer to %d of %d problems", answer, n, problems)
				}
			}
		})
	}
}

// spoiled is a wrong answer made from the right one; false where chance made it
// right again.
func spoiled(r *random.Rand, name string, row verify.Problem) (string, bool) {
	answer := row.Answer
	switch name {
	case "graph_color": // both ends of an edge get one colour
		var p colouring
		if _, err := row.Field("puzzle", &p); err != nil {
			panic(err)
		}
		e := pick(r, p.Edges)
		return regexp.MustCompile(fmt.Sprintf(`"(%d|%d)": \d+`, e[0], e[1])).ReplaceAllString(answer, `"$1": 1`), true
	case "quantum_lock": // one press too many
		return answer + " → " + pick(r, []string{"A", "B", "C"}), true
	case "jugs": // no part of a shortest way gets there
		var moves []string
		if err := json.Unmarshal([]byte(answer), &moves); err != nil {
			panic(err)
		}
		raw, err := json.Marshal(moves[:r.Between(0, len(moves)-1)])
		if err != nil {
			panic(err)
		}
		return string(raw), true
	case "propositional_logic": // of what follows the contrary does not
		return "¬(" + answer + ")", true
	case "cryptarithm": // the first letter gets the digit of the last
		return answer[:2] + answer[len(answer)-1:] + answer[3:], true
	case "polynomial_equations":
		if answer == "none" {
			return fmt.Sprint(r.Between(-9, 9)), true
		}
	}
	// Another digit or letter at one place. Where a tolerance holds, the first.
	places := regexp.MustCompile(`[0-9A-Za-z]`).FindAllStringIndex(answer, -1)
	if places == nil {
		return "[1]", true // for []
	}
	at := pick(r, places)[0]
	if slices.Contains([]string{"coin_flip", "dice", "decimal_arithmetic", "power_function", "pool_matrix"}, name) {
		at = places[0][0]
	}
	c := string(answer[at])
	other := pick(r, strings.Split("123456789", ""))
	if !strings.Contains("0123456789", c) {
		other = pick(r, strings.Split("abcdefghijklmnopqrstuvwxyz", ""))
	}
	if strings.EqualFold(c, other) {
		return "", false
	}
	bad := answer[:at] + other + answer[at+1:]
	return bad, name != "complex_arithmetic" || c != "i" // j is i too
}

// TestLevels: every level of every curriculum is accepted, and its problems'
// solutions are right.
func TestLevels(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: draws from every level of every family")
	}
	for _, f := range generatedFamilies() {
		levels := 1
		for _, a := range f.Curriculum {
			levels = max(levels, len(a.Levels))
		}
		for level := range levels {
			task := f.Level(level)
			if err := task.Validate(); err != nil {
				t.Errorf("%s, level %d: %s: %v", f.Name, level, task.Difficulty(), err)
				continue
			}
			row := task.Draw(random.At(13, 0, uint64(level)), Train)
			if v := byItsVerifier(t, f.Name, row, row.Answer); v.Verdict != verify.Right {
				t.Errorf("%s, level %d: %.200s: %+v", f.Name, level, row.Answer, v)
			}
		}
		if len(f.Curriculum) > 0 && reflect.DeepEqual(f.Level(0), f.Level(levels-1)) {
			t.Errorf("%s: the last level is the first", f.Name)
		}
	}
}

// TestSettingsOfGenerated: what is out of range is named.
func TestSettingsOfGenerated(t *testing.T) {
	for _, f := range generatedFamilies() {
		task := f.New()
		for i, s := range settings.Fields(task) {
			if isNumber := strings.HasSuffix(s.Type(), "number"); s.About() == "" || isNumber != (s.Range != "") {
				t.Errorf("%s: setting %s has no text or range", f.Name, s.Key)
			}
			if s.Range == "" {
				continue
			}
			_, end, _ := strings.Cut(strings.Trim(s.Range, "[]"), ",")
			high, err := strconv.ParseFloat(end, 64)
			if err != nil {
				t.Fatal(err)
			}
			above := f.New()
			settings.Fields(above)[i].SetNumber(high + 1)
			if err := above.Validate(); err == nil || !strings.Contains(err.Error(), s.Key+" = "+settings.Fields(above)[i].Text()+" is out of range") {
				t.Errorf("%s: %s above its range: %v", f.Name, s.Key, err)
			}
		}
	}
}

// TestHostileAnswers: no text makes a verifier fail, hang or pay. The texts are
// long, deep or huge numbers; the work of each verdict is bounded by its budgets.
func TestHostileAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: gives every verifier texts of a megabyte")
	}
	deep := strings.Repeat("(", 50_000)
	texts := []string{
		deep, strings.Repeat("[", 100_000), strings.Repeat("¬", 4000), strings.Repeat("(1+", 20_000) + "1", strings.Repeat("-", 60_000) + "1",
		"9^9^9^9^9", "9**999999999", strings.Repeat("(x+y+z)*", 5_000) + "1", "(x+1)^1000", strings.Repeat("(9^9)^9*", 3_000) + "9",
		strings.Repeat("1+", 200_000) + "1", strings.Repeat("9", 500_000), "1e999999999", strings.Repeat("1,", 200_000), strings.Repeat("a b ", 100_000),
		strings.Repeat("Move disk 1 from Peg 1 to Peg 2\n", 15_000), strings.Repeat("A=1,", 100_000), strings.Repeat("up down ", 60_000),
		`{"0":` + strings.Repeat(`{"0":`, 50_000), strings.Repeat("\xff", 10_000), "\x00", "nan", "inf", "-", ".", "=", "/", "1/0", "%", "i", "{}", "[]", "null",
		"open('x','w')", "__import__('os')", "Integral(f, x)", strings.Repeat("P∧", 1_000) + "P", strings.Repeat("2×", 100_000),
	}
	for _, f := range generatedFamilies() {
		row := f.New().Draw(random.At(14, 0, 0), Train)
		texts := append(slices.Clone(texts), row.Question, row.Answer+"\n"+row.Answer+"0", "<answer>"+row.Answer+"</answer><answer></answer>")
		for _, text := range texts {
			if strings.TrimSpace(text) == row.Answer {
				continue
			}
			if v := byItsVerifier(t, f.Name, row, text); v.Verdict != verify.Wrong {
				t.Errorf("%s: %s on %.300s (%.100s): %+v", f.Name, short(text), row.Question, row.Answer, v)
			}
			if v := byItsVerifier(t, f.Name, verify.Problem{}, text); v.Verdict == verify.Right || v.Verdict == verify.Graded {
				t.Errorf("%s: %s on an empty row: %+v", f.Name, short(text), v)
			}
		}
	}
}
