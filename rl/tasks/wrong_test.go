package tasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// wrongAnswers is how many answers to each family's problems are tried; -short
// tries a tenth.
func wrongAnswers() int {
	if testing.Short() {
		return 1000
	}
	return 10_000
}

// TestWrongAnswers: of 10,000 answers to the problems of a family that are not
// right (those of other problems, the reference with an edit or in disorder, and
// random text) none is called right. Which of them are right is decided by other
// means than the family's own: by the reference's text and number, else by the
// oracle of the family.
func TestWrongAnswers(t *testing.T) {
	for _, f := range Families() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			task := validated(t, f.New())
			rows := make([]verify.Problem, 50)
			for i := range rows {
				rows[i] = task.Draw(random.At(21, 0, uint64(i)), Train)
			}
			options := map[string]any{"extract": "none"}
			if _, played := task.(Episodic); played {
				options = nil // its world judges turns: it looks for no answer in a text
			}
			judge, err := verify.New("task:"+f.Name, options)
			if err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i := 0; wrong < wrongAnswers(); i++ {
				if i == 10*wrongAnswers() {
					t.Fatalf("only %d of %d tries were wrong", wrong, i)
				}
				r := random.At(22, 0, uint64(i))
				row := rows[i%len(rows)]
				answer := somethingElse(r, row.Answer, rows[r.Between(0, len(rows)-1)].Answer)
				if sameWriting(row.Answer, answer) {
					continue
				}
				if f.Name == "chain_sum" { // whose answers end a working
					answer = "=" + answer
				}
				v := judge.Verify(row, answer)
				if v.Verdict == verify.Right && oracles[f.Name] != nil && oracles[f.Name](row, answer) {
					continue
				}
				if v.Verdict != verify.Wrong {
					t.Fatalf("%s\nthe answer is %q; %q: %+v", row.Question, row.Answer, answer, v)
				}
				wrong++
			}
		})
	}
}

// somethingElse is an answer that is hardly ever right.
func somethingElse(r *random.Rand, reference, other string) string {
	switch r.Between(0, 7) {
	case 0, 1:
		return other
	case 2:
		return randomText(r, "0123456789", r.Between(1, 6))
	case 3:
		return randomText(r, "abcXYZ 0123456789.,-+*/()[]=\"\n", r.Between(1, 20))
	case 4: // its words in disorder
		words := strings.Fields(reference)
		shuffle(r, words)
		return strings.Join(words, " ")
	case 5: // its characters in disorder
		letters := strings.Split(reference, "")
		shuffle(r, letters)
		return strings.Join(letters, "")
	case 6: // one character left out, or twice
		at := []rune(reference)
		if len(at) == 0 {
			return "0"
		}
		i := r.Between(0, len(at)-1)
		return string(slices.Concat(at[:i], slices.Repeat(at[i:i+1], 2*r.Between(0, 1)), at[i+1:]))
	}
	// One character for another that stands in it, or a digit.
	at := []rune(reference + "7")
	at[r.Between(0, len(at)-1)] = at[r.Between(0, len(at)-1)]
	return strings.TrimSuffix(string(at), "7")
}

func randomText(r *random.Rand, alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[r.Between(0, len(alphabet)-1)])
	}
	return b.String()
}

var unmarked = strings.NewReplacer(" ", "", "\n", "", "\t", "", "\r", "", ",", "", `"`, "", "'", "")

// sameWriting tells that two answers are the same but for case, white space,
// quotes and commas, or are one number.
func sameWriting(a, b string) bool {
	if strings.EqualFold(unmarked.Replace(a), unmarked.Replace(b)) {
		return true
	}
	x, errX := verify.ParseNumber(strings.TrimSpace(a), false)
	y, errY := verify.ParseNumber(strings.TrimSpace(b), false)
	return errX == nil && errY == nil && x.Cmp(y) == 0
}
