package tasks

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Checks and readers that families share. Each reads its text once; recursion
// is nowhere but in parsers with a depth limit.

// sameText: the reference, character by character.
func sameText(row verify.Problem, answer string) error {
	return judged(row, answer == strings.TrimSpace(row.Answer))
}

// sameFold: the reference in any case.
func sameFold(row verify.Problem, answer string) error {
	return judged(row, strings.EqualFold(answer, strings.TrimSpace(row.Answer)))
}

// sameFields: the reference's words, whatever white space parts them.
func sameFields(row verify.Problem, answer string) error {
	return judged(row, slices.Equal(strings.Fields(answer), strings.Fields(row.Answer)))
}

// sameGrid: the reference's words line by line; blank lines do not count.
func sameGrid(row verify.Problem, answer string) error {
	return judged(row, slices.EqualFunc(gridOf(answer), gridOf(row.Answer), slices.Equal[[]string]))
}

// sameNumber: a decimal number equal to the reference.
var sameNumber = within(new(big.Rat))

// within: a decimal number no further from the reference than tolerance.
func within(tolerance *big.Rat) check {
	return func(row verify.Problem, answer string) error {
		want, err := referenceNumber(row)
		if err != nil {
			return err
		}
		got, err := verify.ParseNumber(answer, true)
		if err != nil {
			return err
		}
		if distance(got, want).Cmp(tolerance) > 0 {
			return fmt.Errorf("%s is not %s", short(answer), row.Answer)
		}
		return nil
	}
}

// judged is the verdict on an answer that was compared with the row's.
func judged(row verify.Problem, same bool) error {
	switch {
	case strings.TrimSpace(row.Answer) == "":
		return lacks("the row has no answer")
	case !same:
		return errDiffers
	}
	return nil
}

// referenceNumber is the row's answer as a number.
func referenceNumber(row verify.Problem) (*big.Rat, error) {
	x, err := verify.ParseNumber(row.Answer, false)
	if err != nil {
		return nil, lacks("the row's answer: %v", err)
	}
	return x, nil
}

// needed decodes a field of the row that the check cannot do without.
func needed(row verify.Problem, name string, dst any) error {
	found, err := row.Field(name, dst)
	switch {
	case err != nil:
		return &rowError{err}
	case !found:
		return lacks("the row has no %q", name)
	}
	return nil
}

// gridOf splits text into the words of its lines, without blank lines.
func gridOf(text string) [][]string {
	var grid [][]string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			grid = append(grid, words)
		}
	}
	return grid
}

// gridText writes rows of words.
func gridText[T any](grid [][]T) string {
	var b strings.Builder
	for i, row := range grid {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(spaced(row))
	}
	return b.String()
}

// spaced writes values with single spaces between.
func spaced[T any](values []T) string { return joined(values, " ") }

func joined[T any](values []T, separator string) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(separator)
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}

// digits is a run of digits with an optional minus and fraction, as listOf
// takes them without quotes.
var bareItem = regexp.MustCompile(`^[^\[\]{}"',]*$`)

// listOf reads a flat list: items between commas, in brackets or not, each
// plain or in single or double quotes. No escapes.
func listOf(text string) ([]string, error) {
	text = strings.TrimSpace(text)
	if inside, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inside, "]"); !ok {
			return nil, fmt.Errorf("the list is not closed")
		}
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	items := strings.Split(text, ",")
	for i, item := range items {
		item = strings.TrimSpace(item)
		for _, quote := range []string{`"`, `'`} {
			if len(item) >= 2 && strings.HasPrefix(item, quote) && strings.HasSuffix(item, quote) {
				item = item[1 : len(item)-1]
				break
			}
		}
		if !bareItem.MatchString(item) {
			return nil, fmt.Errorf("%s is not an item of a flat list", short(item))
		}
		items[i] = item
	}
	return items, nil
}

// parseJSON reads a JSON value into dst. Go's decoder nests at most 10,000 deep
// and reads in linear time.
func parseJSON(answer string, dst any) error {
	if err := json.Unmarshal([]byte(answer), dst); err != nil {
		return fmt.Errorf("it is not the expected JSON: %w", err)
	}
	return nil
}

// short is text for a reason.
func short(text string) string {
	const limit = 60
	if r := []rune(text[:min(len(text), 4*limit)]); len(r) > limit {
		return fmt.Sprintf("%q…", string(r[:limit]))
	}
	return fmt.Sprintf("%q", text)
}

// pick is a random element.
func pick[T any](r *random.Rand, from []T) T { return from[r.Between(0, len(from)-1)] }

// shuffle puts the elements into random order (Fisher and Yates).
func shuffle[T any](r *random.Rand, a []T) {
	for i := len(a) - 1; i > 0; i-- {
		j := r.Between(0, i)
		a[i], a[j] = a[j], a[i]
	}
}

// sample is n different elements in random order.
func sample[T any](r *random.Rand, from []T, n int) []T {
	a := slices.Clone(from)
	shuffle(r, a)
	return a[:n]
}

// countTo is 0 to n-1.
func countTo(n int) []int {
	a := make([]int, n)
	for i := range a {
		a[i] = i
	}
	return a
}

// digitGrid is rows x cols random digits 0 to high.
func digitGrid(r *random.Rand, rows, cols, high int) [][]int {
	grid := make([][]int, rows)
	for i := range grid {
		grid[i] = make([]int, cols)
		for j := range grid[i] {
			grid[i][j] = r.Between(0, high)
		}
	}
	return grid
}

// letters is a random text over an alphabet.
func letters(r *random.Rand, alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.Between(0, len(alphabet)-1)]
	}
	return string(b)
}

const lowercase = "abcdefghijklmnopqrstuvwxyz"

// word is a made-up word that can be said, of n letters.
func word(r *random.Rand, n int) string {
	const vowels, consonants = "aeiou", "bcdfghjklmnprstvwz"
	b := make([]byte, n)
	vowel := r.Chance(0.3)
	for i := range b {
		if vowel {
			b[i] = vowels[r.Between(0, len(vowels)-1)]
		} else {
			b[i] = consonants[r.Between(0, len(consonants)-1)]
		}
		vowel = !vowel
	}
	return string(b)
}

// words is n different made-up words of low to high letters; high is at least 4.
func words(r *random.Rand, n, low, high int) []string {
	seen := map[string]bool{}
	var out []string
	for len(out) < n {
		if w := word(r, r.Between(low, high)); !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}
