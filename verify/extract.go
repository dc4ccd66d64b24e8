package verify

import (
	"fmt"
	"regexp"
	"strings"
)

// How an answer is taken out of a completion: the values of the option
// "extract". In each but "none", only what follows the last </think> is read,
// and a completion that opens <think> and never closes it has no answer.
const (
	// ExtractAnnounced takes, in this order: the content of the last
	// <answer>…</answer>; the content of the last \boxed{…}; what the last
	// "answer is", "answer:" or "answer =" announces on its line or below. Text
	// that announces nothing is the answer as a whole when it is a single line.
	ExtractAnnounced = "announced"
	// ExtractLastLine is ExtractAnnounced, else the last line that is not blank.
	ExtractLastLine = "last_line"
	// ExtractLastNumber is ExtractAnnounced, else the last number in the text.
	ExtractLastNumber = "last_number"
	// ExtractNone: the whole completion is the bare answer.
	ExtractNone = "none"
)

const extractDoc = `extract   how the answer is taken out of the completion:
          "announced"    the last <answer>…</answer>; else the last \boxed{…}; else the
                         line that the last "answer is", "answer:" or "answer =" begins;
                         else the whole text if it is a single line
          "last_line"    as announced, else the last line that is not blank
          "last_number"  as announced, else the last number in the text
          "none"         the completion is the bare answer
          All but "none" read only what follows the last </think>. They drop ** $ \( \)
          \[ \], backquotes and a \boxed{…} around the answer, and a full stop after it.`

// extractAnswer takes the answer out of a completion. rule names what matched:
// "answer_tag", "boxed", "phrase", "whole", "last_line" or "last_number". The
// error says why there is no answer.
func extractAnswer(completion, how string) (answer, rule string, err error) {
	return Answer(completion, how, maxAnswerBytes)
}

func findAnswer(text, how string) (answer, rule string, err error) {
	if _, after, found := cutLast(text, "</think>"); found {
		text = after
	} else if strings.Contains(text, "<think>") {
		return "", "", fmt.Errorf("<think> is never closed")
	}
	if before, _, found := cutLast(text, "</answer>"); found {
		if _, inside, found := cutLast(before, "<answer>"); found {
			return unmark(inside), "answer_tag", nil
		}
	}
	if inside, found := lastBoxed(text); found {
		return unmark(inside), "boxed", nil
	}
	if announced, found := lastPhrase(text); found {
		return unmark(announced), "phrase", nil
	}
	text = strings.TrimSpace(text)
	switch {
	case how == ExtractLastNumber:
		if number, found := lastNumber(text); found {
			return number, "last_number", nil
		}
		return "", "", fmt.Errorf("no announced answer and no number")
	case how == ExtractLastLine:
		return unmark(text[strings.LastIndexByte(text, '\n')+1:]), "last_line", nil
	case !strings.Contains(text, "\n"):
		return unmark(text), "whole", nil
	}
	return "", "", fmt.Errorf("no announced answer")
}

// unmark removes white space, Markdown and TeX marks and a box around an answer, and
// full stops after it.
func unmark(answer string) string {
	const marks = " \t\r\n*`$"
	for {
		answer = strings.TrimRight(strings.TrimLeft(answer, marks), marks+".")
		inside, ok := unwrapped(answer)
		if !ok {
			return answer
		}
		answer = inside
	}
}

// unwrapped takes \(…\), \[…\] and \boxed{…} off a text that is nothing else.
func unwrapped(text string) (string, bool) {
	for _, w := range [][2]string{{`\(`, `\)`}, {`\[`, `\]`}, {`\boxed{`, "}"}} {
		inside, opened := strings.CutPrefix(text, w[0])
		inside, closed := strings.CutSuffix(inside, w[1])
		if opened && closed && !strings.Contains(inside, w[0]) && (w[1] != "}" || balanced(inside)) {
			return inside, true
		}
	}
	return text, false
}

// balanced: every brace of the text has its partner.
func balanced(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
		}
	}
	return depth == 0
}

// cutLast is strings.Cut at the last occurrence of sep.
func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// lastBoxed is the content of the last \boxed{…} whose braces match.
func lastBoxed(text string) (string, bool) {
	_, after, found := cutLast(text, `\boxed{`)
	if !found {
		return "", false
	}
	depth := 1
	for i := 0; i < len(after); i++ {
		switch after[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return after[:i], true
			}
		}
	}
	return "", false
}

// lastPhrase is what the last "answer is", "answer:" or "answer =" announces:
// the rest of its line or, if that is blank, the next line that is not.
func lastPhrase(text string) (string, bool) {
	const word = "answer"
	for i := len(text) - len(word); i >= 0; i-- {
		if text[i]|0x20 != 'a' || !strings.EqualFold(text[i:i+len(word)], word) || endsInWord(text[:i]) {
			continue
		}
		rest := strings.TrimLeft(text[i+len(word):], "*_ \t")
		if len(rest) >= 2 && strings.EqualFold(rest[:2], "is") && !startsInWord(rest[2:]) {
			rest = rest[2:]
		} else if rest != "" && (rest[0] == ':' || rest[0] == '=') {
			rest = rest[1:]
		} else {
			continue
		}
		line, _, _ := strings.Cut(strings.TrimLeft(rest, "*_: \t\r\n"), "\n")
		return line, true
	}
	return "", false
}

var anyNumber = regexp.MustCompile(`[-+−]?(?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?:/\d+)?`)

// lastNumber is the last number that is no part of a word ("x2", "2nd"), among
// the last maxCandidates runs of digits and the signs around them.
func lastNumber(text string) (string, bool) {
	end := len(text)
	for range maxCandidates {
		end = strings.LastIndexAny(text[:end], "0123456789") + 1
		from := end
		for from > 0 && end-from < maxAnswerBytes && strings.IndexByte("0123456789.,_eE/+-\xe2\x88\x92", text[from-1]) >= 0 {
			from--
		}
		if from == end {
			return "", false
		}
		all := anyNumber.FindAllStringIndex(text[from:end], -1)
		for i := len(all) - 1; i >= 0; i-- {
			if number, found := wholeNumber(text, from+all[i][0], from+all[i][1]); found {
				return number, true
			}
		}
		end = from
	}
	return "", false
}

// wholeNumber is text[from:to] unless it is part of a word. A sign straight
// after a number, a word or a bracket is an operator and is left out.
func wholeNumber(text string, from, to int) (string, bool) {
	number := strings.TrimRight(text[from:to], ",_")
	before := text[:from]
	if endsInWord(before) || strings.HasSuffix(before, ")") || strings.HasSuffix(before, ".") {
		unsigned := strings.TrimLeft(number, "+-−")
		return unsigned, unsigned != number
	}
	return number, !startsInWord(text[from+len(number):])
}

func endsInWord(text string) bool {
	if text == "" {
		return false
	}
	c := text[len(text)-1]
	return c == '_' || isLetter(c) || isDigit(c)
}

func startsInWord(text string) bool { return text != "" && (text[0] == '_' || isLetter(text[0])) }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
