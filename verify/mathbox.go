package verify

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// strictMath accepts one answer, boxed or between tags, which may stand there several
// times: of two different ones it cannot know which is meant, and says so.
func strictMath(text string) (found, error) {
	before, tagged, opened := strings.Cut(text, "<answer>")
	inside, after, closed := strings.Cut(tagged, "</answer>")
	if strings.Count(text, "<answer>") > 1 || opened != closed || strings.Contains(before+after, "</answer>") {
		return found{}, errors.New("<answer> and </answer> do not appear exactly once each")
	}
	if strings.Count(text, `\boxed`)+strings.Count(text, `\fbox`) > maxBoxes {
		return found{}, fmt.Errorf("more than %d answers are boxed", maxBoxes)
	}
	var all, rules []string
	if opened && len(lastBoxes(inside)) == 0 {
		all, rules = append(all, strings.Trim(inside, " \t\r\n*`$")), append(rules, "answer_tag")
	}
	for _, b := range outermost(lastBoxes(text)) {
		if !b.closed {
			return found{}, errors.New("the braces of the boxed answer do not match")
		}
		all, rules = append(all, b.content+b.percent), append(rules, "boxed")
	}
	if len(all) == 0 {
		return found{}, errors.New("there is no boxed or tagged answer")
	}
	for _, answer := range all[1:] {
		if answer != all[0] {
			return found{}, fmt.Errorf("%s and %s are both given as the answer", quote(answer), quote(all[0]))
		}
	}
	return readWhole(all[0], rules[0]), nil
}

// outermost are the boxes, the last one first, that do not stand in another.
func outermost(boxes []box) []box {
	return slices.DeleteFunc(slices.Clone(boxes), func(inner box) bool {
		return slices.ContainsFunc(boxes, func(b box) bool { return b.start < inner.start && inner.end < b.end })
	})
}

// box is a \boxed{…} or \fbox{…} in a text.
type box struct {
	start, end int // of the whole command
	content    string
	percent    string // "\%" where a percent sign or word follows the box
	closed     bool
}

var percentBehind = regexp.MustCompile(`^[\s$}]*(?:\\?%|percent\b|percentage\b|pct\b)`)

// lastBoxes are the boxes of a text, the last one first.
func lastBoxes(text string) []box {
	var all []box
	for end := len(text); len(all) < maxBoxes; {
		at := max(strings.LastIndex(text[:end], `\boxed`), strings.LastIndex(text[:end], `\fbox`))
		if at < 0 {
			break
		}
		end = at
		b := box{start: at}
		rest := strings.TrimLeft(strings.TrimLeft(text[at+1:], "boxedf"), " ")
		from := len(text) - len(rest)
		if !strings.HasPrefix(rest, "{") { // \boxed 5
			b.content, _, _ = strings.Cut(rest, " ")
			b.content = strings.TrimRight(b.content, ".$\n")
			b.end = from + len(b.content)
		} else {
			b.content, b.closed = braced(rest)
			b.end = min(from+len(b.content)+2, len(text))
			if percentBehind.MatchString(text[b.end:min(b.end+20, len(text))]) && !strings.Contains(b.content, "%") {
				b.percent = `\%`
			}
		}
		b.content = strings.TrimSpace(b.content)
		all = append(all, b)
	}
	return all
}

// braced is the content of the group that text begins with; without its closing
// brace, the rest of the text.
func braced(text string) (content string, closed bool) {
	depth := 0
	for i := range min(len(text), maxAnswerBytes) {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[1:i], true
			}
		}
	}
	return text[1:min(len(text), maxAnswerBytes)], false
}

var listWords = regexp.MustCompile(`\b(?:and|or)\b|[,;]`)

// readBoxes joins the last box with those before it that belong to one answer.
func readBoxes(text string, boxes []box) found {
	last := boxes[0]
	parts, start := []string{last.content + last.percent}, last.start
	for _, b := range boxes[1:] {
		if b.end > start { // it holds the other one
			continue
		}
		gap := text[b.end:start]
		if len(gap) >= boxGap && (len(gap) >= wordyBoxGap || !listWords.MatchString(gap)) {
			break
		}
		if content := b.content + b.percent; content != parts[0] {
			parts = append([]string{content}, parts...)
		}
		start = b.start
	}
	return readWhole(strings.Join(parts, ","), "boxed")
}
