package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Numbers with marks between them are not always arithmetic. 08:06 is no quotient, 3-4 no
// difference, 2024-01-05 not 2018 and 1.2.3 not 1.2. A reference answer that reads as a time, a
// date, a range or a version is compared part by part. A ratio in lowest terms such as 7:32
// stays one.

// code is such a reading.
type code struct {
	kind  string
	parts []int
	half  string // "am", "pm" or "" of a time
}

var (
	codeTime    = regexp.MustCompile(`^(\d{1,2}):(\d{2})(?::(\d{2}))?(?:\s*([AaPp])\.?[Mm]\.?)?$`)
	codeDate    = regexp.MustCompile(`^(\d{4})([-/.])(\d{1,2})([-/.])(\d{1,2})$|^(\d{1,2})([-/.])(\d{1,2})([-/.])(\d{4}|\d{2})$`)
	codeVersion = regexp.MustCompile(`^\d+(?:\.\d+){2,}$`)
	codeRange   = regexp.MustCompile(`^\d+(?:\s?[-–—]\s?\d+)+$`)
	codeMark    = regexp.MustCompile(`\s?[-–—]\s?`)
	thousands   = regexp.MustCompile(`^\d{1,3}(?:\.\d{3})+$`)
)

// codeOf reads a text as a code; nil: it is none.
func codeOf(text string) *code {
	text = strings.Trim(strings.TrimSpace(text), "*`\"$")
	text = strings.TrimRight(text, ",;!?")
	if !strings.HasSuffix(text, ".m.") && !strings.HasSuffix(text, ".M.") {
		text = strings.TrimRight(text, ".")
	}
	if m := codeTime.FindStringSubmatch(text); m != nil {
		c := &code{kind: "time", parts: numbersOf(m[1], m[2], m[3])}
		if m[4] != "" {
			c.half = strings.ToLower(m[4]) + "m"
		}
		if c.isTime(m[1], m[2]) {
			if c.half == "" && m[1][0] == '0' { // of a clock of 24 hours
				c.half = "am"
			}
			return c
		}
		return nil
	}
	if m := codeDate.FindStringSubmatch(text); m != nil && m[2] == m[4] && m[7] == m[9] {
		return &code{kind: "date", parts: numbersOf(m[1], m[3], m[5], m[6], m[8], m[10])}
	}
	if codeVersion.MatchString(text) && !thousands.MatchString(text) {
		return &code{kind: "version", parts: numbersOf(strings.Split(text, ".")...)}
	}
	if codeRange.MatchString(text) {
		return &code{kind: "range", parts: numbersOf(codeMark.Split(text, -1)...)}
	}
	return nil
}

// numbersOf are the numbers that texts spell; empty ones are left out.
func numbersOf(texts ...string) []int {
	var out []int
	for _, t := range texts {
		if t == "" {
			continue
		}
		n, err := strconv.Atoi(t)
		if err != nil { // more digits than any part has: no two are equal
			n = -1
		}
		out = append(out, n)
	}
	return out
}

// isTime tells a time from a ratio: hours and minutes in their range, and something that no
// ratio of lowest terms has: seconds, am or pm, a leading zero, a common divisor.
func (c *code) isTime(hours, minutes string) bool {
	if c.parts[0] > 24 || c.parts[1] > 59 || len(c.parts) > 2 && c.parts[2] > 59 {
		return false
	}
	a, b := c.parts[0], c.parts[1]
	for b != 0 {
		a, b = b, a%b
	}
	return len(c.parts) > 2 || c.half != "" || hours[0] == '0' || minutes[0] == '0' || a != 1
}

// equal compares two readings. A time without am or pm may be of either half of the day beside
// one that says which.
func (c *code) equal(d *code) bool {
	switch {
	case d == nil || c.kind != d.kind || slices.Contains(c.parts, -1):
		return false
	case c.kind != "time" || c.half == "" && d.half == "":
		return slices.Equal(c.parts, d.parts)
	}
	return slices.Equal(c.parts[1:], d.parts[1:]) && slices.ContainsFunc(c.hours(), func(h int) bool { return slices.Contains(d.hours(), h) })
}

// hours are the hours of the day, of 24, that a time may mean.
func (c *code) hours() []int {
	h := c.parts[0]
	switch {
	case c.half == "am":
		return []int{h % 12}
	case c.half == "pm":
		return []int{h%12 + 12}
	case h > 12:
		return []int{h % 24}
	}
	return []int{h % 12, h%12 + 12}
}

// codeLike finds what may be a code in prose.
var codeLike = regexp.MustCompile(`\d+(?:\s?[-–—]\s?\d+|[:/.]\d+)+(?:\s*[AaPp]\.?[Mm]\b\.?)?`)

// codeIn is the one code of an announced answer: "at 08:06 in the morning". nil: there is none,
// there are several, or it is denied.
func codeIn(text string) *code {
	text = text[:min(len(text), phraseBytes)]
	all := codeLike.FindAllStringIndex(text, 2)
	if len(all) != 1 || denied(text[:all[0][0]], text[all[0][1]:]) {
		return nil
	}
	return codeOf(text[all[0][0]:all[0][1]])
}

// judgeCode judges an answer beside a reference that is a code.
func (v Math) judgeCode(gold *code, reference, completion string) Verdict {
	how := ExtractLastLine
	if v.Extract != ExtractLenient {
		how = v.Extract
	}
	var text, rule string
	var err error
	if how == ExtractStrict {
		var f found
		f, err = extractMath(completion, how)
		text, rule = f.text, f.rule
	} else {
		text, rule, err = extractAnswer(completion, how)
	}
	if err != nil {
		return Reject("", "", "%v", err)
	}
	answer := codeOf(text)
	if answer == nil && how == ExtractLastLine {
		answer = codeIn(text)
	}
	if gold.equal(answer) {
		return Accept(text, rule, "equal to %s, a %s", shown(reference), gold.kind)
	}
	return Reject(text, rule, "not equal to %s, which reads as a %s", shown(reference), gold.kind)
}

// Doubt implements [Doubter].
func (v Math) Doubt(row Problem) string {
	if c := codeOf(row.Answer); c != nil {
		return fmt.Sprintf("the answer %s reads as a %s: it is compared part by part, not as arithmetic", shown(row.Answer), c.kind)
	}
	return ""
}

// notMeant says that an answer is a date, a version, or a time such as 08:06 where the reference
// has no colon: no arithmetic. 10:20 may be a ratio.
func notMeant(answer, reference string) bool {
	c := codeOf(answer)
	switch {
	case c == nil || c.kind == "range":
		return false
	case c.kind == "time":
		return c.half != "" && !strings.Contains(reference, ":")
	}
	return true
}
