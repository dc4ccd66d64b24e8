package verify

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/verify/internal/mathans"
)

// How a mathematical answer is taken out of a completion: the values of the
// option "extract" of the verifier "math", beside ExtractNone.
const (
	// ExtractStrict takes the one \boxed{…} or the one <answer>…</answer>.
	ExtractStrict = "strict"
	// ExtractLenient takes what the completion most likely means, see mathDoc.
	ExtractLenient = "lenient"
)

const (
	maxBoxes     = 16  // looked at, from the last one back
	boxGap       = 10  // bytes between two boxes of one answer
	wordyBoxGap  = 70  // the same where "and", "or", a comma or a semicolon stands there
	phraseBytes  = 400 // read after "the answer is"
	maxSegments  = 4   // formulas tried, from the last one back
	segmentBytes = 2000
	tailBytes    = 1 << 14 // searched for an unannounced formula or number
)

// found is an answer with the text it was read from.
type found struct {
	answer mathans.Answer
	text   string
	rule   string
}

// unannounced: the text does not say that it is the answer.
func (f found) unannounced() bool { return f.rule == "formula" || f.rule == "number" }

// extractMath takes the answer out of a completion.
func extractMath(completion, how string) (found, error) {
	if len(completion) > maxCompletionBytes {
		return found{}, fmt.Errorf("the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	}
	text := completion
	if how != ExtractNone {
		if _, after, ok := cutLast(text, "</think>"); ok {
			text = after
		} else if strings.Contains(text, "<think>") {
			return found{}, errors.New("<think> is never closed")
		}
	}
	if strings.TrimSpace(text) == "" {
		return found{}, errors.New("the answer is empty")
	}
	switch how {
	case ExtractNone:
		return readWhole(text, "whole"), nil
	case ExtractStrict:
		return strictMath(text)
	}
	return lenientMath(text)
}

var finalAnswer = regexp.MustCompile(`(?i)^final\s+answer\W{0,4}(?:\s*(?:is|:|=)[\s:]*)`)

// lastFinalAnswer is where the text after the last "final answer is" begins.
func lastFinalAnswer(text string) int {
	const word = "final"
	tried := 0
	for i := len(text) - len(word); i >= 0 && tried < maxCandidates; i-- {
		if text[i]|0x20 != 'f' || !strings.EqualFold(text[i:i+len(word)], word) {
			continue
		}
		tried++
		if m := finalAnswer.FindStringIndex(text[i:min(len(text), i+phraseBytes)]); m != nil {
			return i + m[1]
		}
	}
	return -1
}

// lenientMath looks for, in this order: an <answer>; "final answer is" or boxes,
// whichever stands last; "answer is"; the whole text; the last formula; the last
// number.
func lenientMath(text string) (found, error) {
	rule := ""
	if before, _, ok := cutLast(text, "</answer>"); ok {
		if _, inside, ok := cutLast(before, "<answer>"); ok {
			text, rule = inside, "answer_tag"
		}
	}
	f, ok := lenientParts(text)
	if !ok {
		return found{}, errors.New("no announced answer, no formula and no number")
	}
	if rule == "" {
		return f, nil
	}
	if f.rule == "number" && len(plainNumber.FindAllString(text[max(0, len(text)-maxAnswerBytes):], 2)) > 1 {
		return found{}, errors.New("<answer> holds words with several numbers")
	}
	f.rule = rule
	return f, nil
}

func lenientParts(text string) (found, bool) {
	boxes, boxEnd := lastBoxes(text), -1
	if len(boxes) > 0 {
		boxEnd = boxes[0].end
	}
	if at := lastFinalAnswer(text); at > boxEnd {
		if f, ok := announced(text[at:], "final_answer"); ok {
			return f, true
		}
	}
	if len(boxes) > 0 {
		return readBoxes(text, boxes), true
	}
	if phrase, ok := lastPhrase(text); ok {
		if f, ok := announced(phrase, "phrase"); ok {
			return f, true
		}
	}
	if f, ok := readBare(text); ok {
		return f, true
	}
	if len(text) > tailBytes { // from a line's begin, so that no formula is cut
		text = text[len(text)-tailBytes:]
		_, text, _ = strings.Cut(text, "\n")
	}
	segments, plain := formulas(text)
	if f, ok := conclusion(text, segments); ok {
		return f, true
	}
	if f, ok := lastFormula(text, segments); ok {
		return f, true
	}
	return lastPlainNumber(plain)
}

// readWhole reads text as an answer, else what follows its last =, else as words.
func readWhole(text, rule string) found {
	text = strings.TrimSpace(text)
	answer, err := mathans.Parse(text)
	if err != nil {
		if i := strings.LastIndexByte(text, '='); i >= 0 && !strings.ContainsAny(text, ",;") {
			if right, err := mathans.Parse(text[i+1:]); err == nil {
				return found{right, strings.TrimSpace(text[i+1:]), rule}
			}
		}
		answer = mathans.Words(text)
	}
	return found{answer, text, rule}
}

// announced reads what follows "the answer is": a formula that follows at
// once, with those joined to it, or a phrase up to the end of the sentence.
func announced(text, rule string) (found, bool) {
	if len(text) > phraseBytes {
		text = text[:phraseBytes]
	}
	whole := text
	text = strings.TrimLeft(text, " \t\r\n*_:\"\\`")
	if before := whole[:len(whole)-len(text)]; strings.HasPrefix(text, "$") && strings.HasSuffix(before, `\`) {
		text = `\` + text // a sign of money, and no begin of a formula
	}
	if strings.HasPrefix(text, "[") || strings.HasPrefix(text, "(") {
		if i := strings.IndexAny(text, "\n$"); i > 0 && (strings.Contains(text[:i], `\]`) || strings.Contains(text[:i], `\)`)) {
			text = `\` + text // a display whose backslash was trimmed
		} else if i < 0 && (strings.Contains(text, `\]`) || strings.Contains(text, `\)`)) {
			text = `\` + text
		}
	}
	segments, _ := formulas(text)
	if len(segments) > 0 && segments[0].start < boxGap {
		last := 0
		for last+1 < len(segments) && joins(text[segments[last].end:segments[last+1].start]) {
			last++
		}
		if denied(text[:segments[0].start], text[segments[last].end:]) {
			return asWords(text, rule), true
		}
		if f, ok := readSegments(text, segments[:last+1]); ok {
			f.rule = rule
			return f, true
		}
	}
	sentence := text
	if m := sentenceEnd.FindStringIndex(text); m != nil {
		sentence = text[:m[0]]
	}
	if f, ok := readBare(sentence); ok {
		f.rule = rule
		return f, true
	}
	if bare := strings.ReplaceAll(sentence, `\$`, ""); strings.Count(bare, "$")%2 == 1 { // one of them is no delimiter: "6 * 8 = $48"
		if f, ok := readBare(strings.ReplaceAll(bare, "$", "")); ok {
			f.rule = rule
			return f, true
		}
	}
	f, ok := leading(sentence)
	if !ok {
		f, ok = stated(sentence)
	}
	f.rule = rule
	return f, ok
}

// leading is the number that a sentence begins with. A sentence that goes on with "or",
// "maybe" or the like is words.
func leading(sentence string) (found, bool) {
	m := leadingNumber.FindStringSubmatchIndex(sentence)
	if m == nil {
		return found{}, false
	}
	if after := sentence[m[3]:]; mathans.Hedged(after) || denied("", after) {
		return asWords(sentence, ""), true
	}
	percent := ""
	if m[4] >= 0 {
		percent = sentence[m[4]:m[5]]
	}
	return readProseNumber(sentence[m[2]:m[3]] + percent)
}

var isWord = regexp.MustCompile(`\s(?:is|are|equals|was|were)\s+(?:equal to\s+)?`)

// stated is the answer in an announced sentence in words: what follows its last
// "is", as in "the volume of $V$ is 120"; else its last formula; else its one number.
func stated(sentence string) (found, bool) {
	segments, plain := formulas(sentence)
	if all := isWord.FindAllStringIndex(sentence, -1); all != nil {
		end := all[len(all)-1][1]
		if i := slices.IndexFunc(segments, func(s segment) bool { return s.start >= end }); i >= 0 && segments[i].start < end+boxGap {
			return readSegments(sentence, segments[i:i+1])
		}
		if f, ok := readBare(sentence[end:]); ok {
			return f, true
		}
		if f, ok := leading(sentence[end:]); ok {
			return f, true
		}
	}
	if f, ok := lastFormula(sentence, segments); ok {
		return f, true
	}
	return onlyNumber(plain)
}

var concluding = regexp.MustCompile(`(?:^\s*|[.!?:]\s+|\n\s*)(?:Therefore|Thus|Hence|So|Consequently|In conclusion)\b`)

// conclusion is the one number of a last sentence that begins with "therefore" or
// the like, after every formula and before no other number.
func conclusion(text string, segments []segment) (found, bool) {
	if len(segments) > 0 {
		text = text[segments[len(segments)-1].end:]
	}
	all := concluding.FindAllStringIndex(text, -1)
	if all == nil {
		return found{}, false
	}
	return onlyNumber(text[all[len(all)-1][1]:])
}

// onlyNumber is the number of a text that has one.
func onlyNumber(text string) (found, bool) {
	if len(plainNumber.FindAllString(text, 2)) != 1 {
		return found{}, false
	}
	return lastPlainNumber(text)
}

var (
	sentenceEnd   = regexp.MustCompile(`[.!?](?:\s|$|\*|")|\n`)
	leadingNumber = regexp.MustCompile(`^[$€£¥]?\s?(-?[\d.,]*\d)(\s?(?:\\?%|percent\b|pct\b))?(?:\W|$)`)
	proseWord     = regexp.MustCompile(`(^|[^\\A-Za-z{])([A-Za-z]{2,})`)
	allLetters    = regexp.MustCompile(`^[\p{L}][\p{L}\s'-]*[.!]?$`)
)

// readBare reads a short text that is an answer and nothing else: "28 percent",
// "x = 5", "Evelyn". Words that mathematics does not know make it prose.
func readBare(text string) (found, bool) {
	text = strings.Trim(strings.TrimSpace(text), "*`\"")
	if text == "" || len(text) > maxAnswerBytes || strings.Contains(text, "\n") || strings.ContainsAny(strings.ReplaceAll(text, `\$`, ""), "$") && !strings.HasPrefix(text, "$") ||
		strings.Count(text, "$") > 1 || strings.Contains(text, `\[`) || strings.Contains(text, `\(`) {
		return found{}, false
	}
	if allLetters.MatchString(text) {
		answer, err := mathans.Parse(text)
		if err != nil || strings.Contains(text, " ") {
			answer = mathans.Words(strings.TrimRight(text, ".!"))
		}
		return found{answer, text, "whole"}, true
	}
	if !formulaLike(text) {
		return found{}, false
	}
	answer, err := mathans.Parse(text)
	if err != nil || answer.HasWords() && !answer.IsWords() && !textGroup.MatchString(text) {
		return found{}, false
	}
	return found{answer, text, "whole"}, true
}

var (
	textGroup   = regexp.MustCompile(`\\(?:text|mathrm|textbf|mbox|textrm|textnormal|operatorname)\s*\{[^{}]*\}`)
	operators   = regexp.MustCompile(`[-+*/^_=(\\]`)
	shortWords  = regexp.MustCompile(`^(?i:all|am|and|any|are|as|at|be|but|by|can|do|for|go|has|he|how|if|in|is|it|its|me|my|no|not|of|on|one|or|so|the|to|two|up|us|was|we|you|st|nd|rd|th)$`)
	operandPrev = regexp.MustCompile(`[\d^_+*/=|<>{\[-]\s*$|\\[A-Za-z]+\s*$|\b[A-Za-z]\s*$`)
	operandNext = regexp.MustCompile(`^\s*\)?\s*[-+^_*/=|<>]`)
)

// formulaLike: a text without words, but for those in \text{…} and those that
// mathematics knows. Two or three letters beside an operator are variables, "ab" in
// "a^2+2ab+b^2"; without operators, those in alphabetical order in "3ab" are.
func formulaLike(text string) bool {
	text = textGroup.ReplaceAllString(text, " ")
	for _, m := range proseWord.FindAllStringSubmatchIndex(text, -1) {
		word := text[m[4]:m[5]]
		if mathans.KnownWord(word) {
			continue
		}
		if len(word) > 3 || shortWords.MatchString(word) || !operandPrev.MatchString(text[:m[4]]) && !operandNext.MatchString(text[m[5]:]) {
			return false
		}
		if !operators.MatchString(text) && !strings.Contains("abcdef mnpq xyz uvw", word) {
			return false
		}
	}
	return true
}

// segment is a formula between dollar signs, \[ \] or \( \).
type segment struct {
	start, end int
	content    string
}

var openers = []struct {
	open, close string
	lines       bool // it may hold line ends
}{{"$$", "$$", true}, {`\[`, `\]`, true}, {`\(`, `\)`, false}, {"$", "$", false}}

// formulas are the formulas of a text in order, and the text without them. A
// pair of single dollars around a line end is no formula, and is left out of the
// text as well.
func formulas(text string) (all []segment, plain string) {
	var rest strings.Builder
	for at := 0; at < len(text); {
		step := 1
		if text[at] == '\\' && strings.HasPrefix(text[at:], `\$`) {
			step = 2
		} else if text[at] == '$' || text[at] == '\\' {
			if s, ok := formulaAt(text, at); ok {
				if s.content != "" {
					all = append(all, s)
				}
				rest.WriteByte(' ')
				at = s.end
				continue
			}
		}
		rest.WriteString(text[at:min(at+step, len(text))])
		at += step
	}
	return all, rest.String()
}

func formulaAt(text string, at int) (segment, bool) {
	for _, o := range openers {
		inside, ok := strings.CutPrefix(text[at:], o.open)
		if !ok {
			continue
		}
		window := inside[:min(len(inside), segmentBytes)]
		end := strings.Index(window, o.close)
		for end > 0 && o.close == "$" && window[end-1] == '\\' { // an escaped dollar
			next := strings.Index(window[end+1:], o.close)
			if next < 0 {
				end = -1
				break
			}
			end += 1 + next
		}
		if end < 0 {
			continue
		}
		s := segment{at, at + len(o.open) + end + len(o.close), window[:end]}
		if !o.lines && strings.Contains(s.content, "\n") {
			s.content = ""
		}
		return s, true
	}
	return segment{}, false
}

var joining = regexp.MustCompile(`^\s*[,;]?\s*(?:and|or|,|;)?\s*$`)

// joins: formulas with this between them are one list.
func joins(between string) bool { return len(between) < boxGap && joining.MatchString(between) }

// readSegments reads formulas as one answer, with a percent sign after them.
func readSegments(text string, segments []segment) (found, bool) {
	parts := make([]string, len(segments))
	for i, s := range segments {
		parts[i] = strings.TrimSpace(s.content)
	}
	joined := strings.Join(parts, ",")
	end := segments[len(segments)-1].end
	if percentBehind.MatchString(text[end:min(end+20, len(text))]) && !strings.Contains(joined, "%") {
		joined += `\%`
	}
	if answer, err := mathans.Parse(joined); err == nil {
		return found{answer, joined, "formula"}, true
	}
	if i := strings.LastIndexByte(joined, '='); i >= 0 && !strings.ContainsAny(joined, ",;") {
		if answer, err := mathans.Parse(joined[i+1:]); err == nil {
			return found{answer, joined[i+1:], "formula"}, true
		}
	}
	return found{}, false
}

// lastFormula is the last formula that can be read, with those joined to it.
func lastFormula(text string, segments []segment) (found, bool) {
	for last := len(segments) - 1; last >= max(0, len(segments)-maxSegments); last-- {
		first := last
		for first > 0 && joins(text[segments[first-1].end:segments[first].start]) {
			first--
		}
		if denied(text[:segments[first].start], text[segments[last].end:]) {
			return asWords(text, "formula"), true
		}
		if f, ok := readSegments(text, segments[first:last+1]); ok {
			return f, true
		}
	}
	return found{}, false
}

var (
	plainNumber = regexp.MustCompile(`(?:^|[^\w.,\\])([-−]?(?:\d{1,3}(?:[ ,]\d{3})+(?:\.\d+)?|\d+[.,]\d+|\.\d+|\d+))(\s?(?:\\?%|percent\b|pct\b|percentage\b))?`)
	ordinal     = regexp.MustCompile(`^(?:st|nd|rd|th)\b`)
	arithmetic  = regexp.MustCompile(`[-(]*\d[\d.]*\)?(?:(?::|\s*[-+*/^×÷]\s*)[-(]*\d[\d.]*\)*)+$`)
)

// lastPlainNumber is the last number of a text without formulas, or the
// arithmetic that ends in it.
func lastPlainNumber(text string) (found, bool) {
	text = text[max(0, len(text)-maxAnswerBytes):]
	all := plainNumber.FindAllStringSubmatchIndex(text, -1)
	for i := len(all) - 1; i >= 0; i-- {
		m := all[i]
		if ordinal.MatchString(text[m[3]:]) {
			continue
		}
		before := text[max(0, m[3]-phraseBytes):m[3]]
		if denied(text[:m[2]], text[m[1]:]) {
			return asWords(text, "number"), true
		}
		if m[4] < 0 {
			if sum := arithmetic.FindString(before); sum != "" {
				if answer, err := mathans.Parse(sum); err == nil {
					return found{answer, sum, "number"}, true
				}
			}
		}
		percent := ""
		if m[4] >= 0 {
			percent = text[m[4]:m[5]]
		}
		return readProseNumber(text[m[2]:m[3]] + percent)
	}
	return found{}, false
}

var decimalComma = regexp.MustCompile(`^([-−]?\d+),(\d{1,2}|\d{4,})(\D*)$`)

// readProseNumber reads one number in prose, where 2,74 is 2.74.
func readProseNumber(text string) (found, bool) {
	answer, err := mathans.Parse(decimalComma.ReplaceAllString(text, "$1.$2$3"))
	return found{answer, text, "number"}, err == nil
}
