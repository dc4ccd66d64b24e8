package audit

import (
	"strings"
	"unicode"

	"github.com/rlzero/rlzero/verify"
)

// target is a row with what attacks on it need to know.
type target struct {
	row      verify.Problem
	language string // of a program
	// form is how the first grader takes the row's own reference; false where it
	// takes it in no form, as where the row has none.
	form    form
	answers bool
	right   string   // the reference, as stated says
	others  []string // other rows' answers that the first grader calls wrong here
	another string   // the next row's answer, right or wrong
	common  string   // the commonest answer of all rows
}

// form is a way to state an answer.
type form struct{ before, after string }

func (f form) of(answer string) string { return f.before + answer + f.after }

var forms = []form{
	{"<answer>", "</answer>"},
	{"", ""},
	{`\boxed{`, "}"},
	{"#### ", ""},
	{"=", ""},
	{"The answer is ", ""},
	{"```\n", "\n```"},
}

// mostOthers is how many wrong answers stand beside the reference.
const mostOthers = 6

// targets are the rows of a pair with what the first grader makes of them.
func targets(first grader, rows []verify.Problem) []target {
	_, language, _ := strings.Cut(first.likened, ":")
	common := commonest(rows)
	out := make([]target, len(rows))
	for i, row := range rows {
		t := target{row: row, language: language, common: common, right: stated(row.Answer)}
		if len(rows) > 1 {
			t.another = stated(rows[(i+1)%len(rows)].Answer)
		}
		if kindOf(first.likened) == answers && row.Answer != "" {
			t.findForm(first)
		}
		if t.answers {
			t.findOthers(first, rows, i)
		}
		out[i] = t
	}
	return out
}

func (t *target) findForm(first grader) {
	for _, f := range forms {
		if paid(first.Judge(t.row, f.of(t.right), true)) {
			t.form, t.answers = f, true
			return
		}
	}
}

// findOthers looks in the rows after row i for wrong answers. One that stands
// within the reference, or has it within, might make a list that is right.
func (t *target) findOthers(first grader, rows []verify.Problem, i int) {
	seen := map[string]bool{"": true}
	for k := 1; k < len(rows) && len(t.others) < mostOthers; k++ {
		other := stated(rows[(i+k)%len(rows)].Answer)
		if seen[other] || strings.Contains(t.right, other) || strings.Contains(other, t.right) {
			continue
		}
		seen[other] = true
		if first.Judge(t.row, t.form.of(other), true).Verdict == verify.Wrong {
			t.others = append(t.others, other)
		}
	}
}

// commonest is the answer that most rows have, of several the first.
func commonest(rows []verify.Problem) string {
	counts, best := map[string]int{}, ""
	for _, row := range rows {
		counts[stated(row.Answer)]++
	}
	for _, row := range rows {
		if answer := stated(row.Answer); best == "" || counts[answer] > counts[best] {
			best = answer
		}
	}
	return best
}

// stated is what a reference states: of a solution in the manner of GSM8K what
// stands after its last ####.
func stated(reference string) string {
	if i := strings.LastIndex(reference, "####"); i >= 0 {
		return strings.TrimSpace(reference[i+len("####"):])
	}
	return reference
}

// paid tells a full score: one of the verdict right, or a graded 1.
func paid(v verify.Verdict) bool {
	return v.Verdict == verify.Right || v.Verdict == verify.Graded && v.Score >= 1
}

// sameAnswer tells that a claim is the reference but for its writing: white
// space, case and punctuation, another way to write the number, a name of
// infinity.
func sameAnswer(claim, reference string) bool {
	claim, reference = plain(claim), plain(reference)
	if claim == reference || len(claim) > longClaim {
		return claim == reference
	}
	if a, b := letters(claim), letters(reference); a != "" && a == b {
		return true
	}
	a, errA := verify.ParseNumber(claim, false)
	b, errB := verify.ParseNumber(reference, false)
	return errA == nil && errB == nil && a.Cmp(b) == 0
}

var infinities = map[string]string{"inf": "∞", "+inf": "∞", "infinity": "∞", "+∞": "∞", `\infty`: "∞", "-inf": "-∞", "-infinity": "-∞", `-\infty`: "-∞"}

// longClaim is how many bytes of a claim are read as a number.
const longClaim = 10_000

// letters is a text without all but letters and digits.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

func plain(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	text = strings.Trim(text, "*`$\"'.,:; ")
	if name, known := infinities[text]; known {
		return name
	}
	return text
}
