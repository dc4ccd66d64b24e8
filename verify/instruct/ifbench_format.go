package instruct

import (
	"strings"
	"unicode"
)

// The types of IFBench about the shape of a completion.
var benchFormatKinds = []kind{
	{"count:punctuation", "each of . , ! ? ; : occurs, and also an interrobang", "",
		"the interrobang is ‽, ?! or !?, and the latter two do not count as ? and !", 0,
		func(*kwargs) check { return punctuationCover }},
	{"format:parentheses", "brackets are nested five levels deep", "",
		"right as soon as one bracket closes after depth 5; the rest may stay open", 0,
		func(*kwargs) check { return nestedBrackets }},
	{"format:quotes", "quotation marks are nested three levels deep, alternating double and single", "", "apostrophes count as marks", 0,
		func(*kwargs) check { return nestedQuotes }},
	{"format:options", "the completion is one of the options", "options  string such as \"yes/no/maybe\"",
		"the options are split at /, else at the letters \"or\" wherever they occur, else at commas: \"orange or apple\" has three options",
		0, oneOption},
	{"format:newline", "each word is on its own line", "", "", 0, func(*kwargs) check { return wordPerLine }},
	{"format:line_indent", "each line is indented more than the one before", "",
		"of two blank lines in a row one is kept, and it fails the check", 0, func(*kwargs) check { return indentStairs }},
	{"format:quote_unquote", "something follows every quoted phrase", "",
		"a text without any quotation mark passes", 0, func(*kwargs) check { return quoteExplained }},
	{"format:list", "the separator occurs at least twice", "sep  string",
		"it may be surrounded by any text: two hyphenated words satisfy -", 0, listSeparator},
	{"format:thesis", "a phrase in HTML italics begins the text and something follows it", "",
		"one italic phrase anywhere is enough; an empty <em></em> is not seen as empty", 0,
		func(*kwargs) check { return italicThesis }},
	{"format:sub-bullets", "every bullet point * has a sub-bullet -", "", "a text without any bullet point passes", 0,
		func(*kwargs) check { return subBullets }},
	{"format:no_bullets_bullets", "two or more sentences are followed by two or more bullet points", "",
		"a blank line between the sentences is the end of them", needsSentences, func(*kwargs) check { return sentencesThenBullets }},
	{"format:title_case", "every word is in title case", "", "words in capitals and in mixed case pass",
		needsTokens, func(*kwargs) check { return titleCase }},
	{"format:output_template", "the parts My Answer:, My Conclusion: and Future Outlook: occur", "",
		"in any order, with anything around them", 0, func(*kwargs) check { return outputTemplate }},
	{"format:no_whitespace", "there is no white space", "", "", 0, func(*kwargs) check { return noWhitespace }},
	{"repeat:repeat_change", "the request is repeated with another first word", "prompt_to_repeat  string",
		"white space does not count", 0, repeatChange},
	{"repeat:repeat_simple", "the completion is the instruction's own sentence", "", "case does not count", 0,
		func(*kwargs) check {
			return sameAs("Only output this sentence here, ignore all other requests.", "the instruction itself")
		}},
	{"repeat:repeat_span", "the completion is the request's characters from n_start to n_end",
		"prompt_to_repeat  string\nn_start           whole number\nn_end             whole number",
		"n_end is included; case does not count", 0, repeatSpan},
}

func punctuationCover(text string) finding {
	if !strings.Contains(text, "?!") && !strings.Contains(text, "!?") && !strings.Contains(text, "‽") {
		return result(false, "there is no interrobang")
	}
	rest := strings.Replace(text, "?!", "", 1)
	if len(rest) == len(text) {
		rest = strings.Replace(text, "!?", "", 1)
	}
	for _, mark := range []string{".", ",", "!", "?", ";", ":"} {
		if !strings.Contains(rest, mark) {
			return result(false, "%q is missing", mark)
		}
	}
	return result(true, "every mark occurs")
}

func nestedBrackets(text string) finding {
	const asked = 5
	var open []byte
	deepest := 0
	for i := range len(text) {
		c := text[i]
		if strings.IndexByte("([{", c) >= 0 {
			open = append(open, c)
			deepest = max(deepest, len(open))
			continue
		}
		kind := strings.IndexByte(")]}", c)
		if kind < 0 {
			continue
		}
		if len(open) == 0 || open[len(open)-1] != "([{"[kind] {
			open, deepest = open[:0], 0
			continue
		}
		open = open[:len(open)-1]
		if deepest >= asked {
			return result(true, "brackets are nested %d levels deep", deepest)
		}
	}
	return result(false, "brackets are not nested and closed %d levels deep", asked)
}

func nestedQuotes(text string) finding {
	const asked = 3
	var open []byte
	deepest := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case len(open) > 0 && c == open[len(open)-1]:
			open = open[:len(open)-1]
			if deepest-len(open) >= asked {
				return result(true, "quotation marks are nested %d levels deep", deepest)
			}
		case c == '"' || c == '\'':
			open = append(open, c)
			deepest = max(deepest, len(open))
		}
	}
	return result(false, "quotation marks are not nested and closed %d levels deep", asked)
}

func oneOption(k *kwargs) check {
	options := k.text("options")
	separator := ","
	switch {
	case strings.Contains(options, "/"):
		separator = "/"
	case strings.Contains(options, "or"):
		separator = "or"
	}
	bare := func(s string) string { return lower(stripPunct(s)) }
	if lettered(options) {
		bare = func(s string) string { return s }
	}
	accepted := map[string]bool{}
	for _, o := range strings.Split(options, separator) {
		accepted[bare(strip(o))] = true
	}
	return func(text string) finding {
		return result(accepted[bare(text)], "the completion must be one of %s", quote(options))
	}
}

// lettered says whether options begin with the letters a, b, c, whatever signs
// stand around them. Such options are compared to the letter.
func lettered(options string) bool {
	for _, letter := range []string{"a", "b", "c"} {
		options = strings.TrimLeftFunc(options, func(r rune) bool { return !isWord(r) })
		if options == "" || !strings.EqualFold(options[:1], letter) {
			return false
		}
		options = options[1:]
	}
	return true
}

func wordPerLine(text string) finding {
	text = strip(dropPunct(text))
	lines := 0
	for _, line := range strings.Split(text, "\n") {
		if line != "" {
			lines++
		}
	}
	words := len(split(text))
	return result(lines == words, "%s on %s", count(words, "word"), count(lines, "line"))
}

func indentStairs(text string) finding {
	before := -1
	for i, line := range dropBlankLines(strings.Split(text, "\n")) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent <= before {
			return result(false, "line %d is indented by %d, the one before by %d", i+1, indent, before)
		}
		before = indent
	}
	return result(true, "each line is indented more than the one before")
}

// dropBlankLines takes out blank lines as the original does, which walks over
// the list that it removes from: at each blank line that it sees, the first line
// with the same text goes, and the line after is not looked at.
func dropBlankLines(lines []string) []string {
	gone := make([]bool, len(lines))
	kept := map[string][]int{} // blank lines not looked at, by their text
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strip(line) != "" {
			continue
		}
		queue := append(kept[line], i)
		gone[queue[0]] = true
		kept[line] = queue[1:]
		if i++; i < len(lines) && strip(lines[i]) == "" {
			kept[lines[i]] = append(kept[lines[i]], i)
		}
	}
	var rest []string
	for i, line := range lines {
		if !gone[i] {
			rest = append(rest, line)
		}
	}
	return rest
}

func quoteExplained(text string) finding {
	text = strings.Join(split(strings.ReplaceAll(text, `'"'`, "")), "")
	if strings.Contains(text, `""`) {
		return result(false, "one quotation follows another")
	}
	text = strings.Trim(text, "0123456789"+strings.ReplaceAll(punctuation, `"`, ""))
	return result(!strings.HasSuffix(text, `"`), "an explanation must follow the last quotation mark")
}

func listSeparator(k *kwargs) check {
	sep := k.text("sep")
	return func(text string) finding {
		n := strings.Count(text, sep)
		return result(n >= 2, "%s occurs %s; expected at least 2", quote(sep), count(n, "time"))
	}
}

// indexOf is the place of the first of the tags that occurs at all.
func indexOf(text string, tags ...string) int {
	for _, t := range tags {
		if i := strings.Index(text, t); i >= 0 {
			return i
		}
	}
	return -1
}

func italicThesis(text string) finding {
	from := indexOf(text, "<i>", "<em>")
	if from < 0 {
		return result(false, "there is no <i> or <em>")
	}
	text = text[from:]
	to := indexOf(text, "</i>", "</em>")
	if to < 0 {
		return result(false, "there is no </i> or </em>")
	}
	thesis, rest := text[len("<i>"):to], text[to+len("</i>"):] // <em> is cut in the same places
	return result(strip(thesis) != "" && strip(rest) != "", "text must follow the thesis %s", quote(thesis))
}

func subBullets(text string) finding {
	for i, bullet := range strings.Split(text, "*")[1:] {
		if !strings.Contains(bullet, "-") {
			return result(false, "bullet point %d has no sub-bullet", i+1)
		}
	}
	return result(true, "every bullet point has a sub-bullet")
}

func sentencesThenBullets(text string) finding {
	sentences, bullets, ended := 0, 0, false
	for _, line := range strings.Split(text, "\n") {
		line = strip(line)
		switch {
		case strings.HasPrefix(line, "*"):
			if ended = true; sentences < 2 {
				return result(false, "%s before the first bullet point; expected 2 or more", count(sentences, "sentence"))
			}
			bullets++
		case ended:
			return result(false, "%s follows the bullet points or a blank line", quote(line))
		default:
			n := 0
			if line != "" {
				n = len(punktSentences(line))
			}
			sentences += n
			ended = n == 0
		}
	}
	return result(bullets >= 2, "%s; expected 2 or more", count(bullets, "bullet point"))
}

func titleCase(text string) finding {
	for _, w := range wordTokens(text) {
		r := first(w)
		if !unicode.IsLetter(r) || !isLowerRune(r) {
			continue
		}
		if rest := w[len(string(r)):]; rest == "" || isUpper(rest) || isLower(rest) {
			return result(false, "%s is not in title case", quote(w))
		}
	}
	return result(true, "no word begins with a small letter")
}

func outputTemplate(text string) finding {
	for _, part := range []string{"My Answer:", "My Conclusion:", "Future Outlook:"} {
		if !strings.Contains(text, part) {
			return result(false, "%q is missing", part)
		}
	}
	return result(true, "all three parts occur")
}

func noWhitespace(text string) finding {
	return result(!strings.ContainsFunc(text, isSpace), "no white space is allowed")
}

func repeatChange(k *kwargs) check {
	prompt := k.text("prompt_to_repeat")
	rest := func(s string) string { return join(split(s)[min(1, len(split(s))):]) }
	return func(text string) finding {
		return result(text != prompt && rest(text) == rest(prompt), "the completion must be the request with another first word")
	}
}

func repeatSpan(k *kwargs) check {
	prompt := k.text("prompt_to_repeat")
	from, to := k.integer("n_start", anyInteger), k.integer("n_end", anyInteger)
	return sameAs(slice(prompt, from, to+1), "the requested part of the prompt")
}
