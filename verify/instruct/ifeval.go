package instruct

import (
	"regexp"
	"strings"
)

// The 25 types of IFEval.
var ifevalKinds = []kind{
	{"keywords:existence", "every keyword is found",
		"keywords  list of strings",
		`a keyword is a regular expression without regard to case, so parts of words count: "rivers" contains "river"`,
		0, keywordExistence},
	{"keywords:frequency", "the keyword occurs at least, or less than, the given number of times",
		"keyword    string\nfrequency  whole number\nrelation   \"at least\" or \"less than\"",
		"the keyword is a regular expression without regard to case, found in parts of words",
		0, keywordFrequency},
	{"keywords:forbidden_words", "none of the words occurs",
		"forbidden_words  list of strings",
		"each word is a regular expression between two word borders, without regard to case",
		0, forbiddenWords},
	{"keywords:letter_frequency", "the letter occurs at least, or less than, the given number of times",
		"letter        one letter\nlet_frequency whole number\nlet_relation  \"at least\" or \"less than\"",
		"the original replaces a letter outside a to z by a random one; here it becomes a, as in the reference verdicts",
		0, letterFrequency},
	{"language:response_language", "the completion is in the language",
		"language  code such as \"de\"",
		"text without letters counts as being in every language",
		needsLanguage, responseLanguage},
	{"length_constraints:number_sentences", "the number of sentences is at least, or less than, the given one",
		"num_sentences  whole number\nrelation       \"at least\" or \"less than\"", "",
		needsSentences, numberSentences},
	{"length_constraints:number_paragraphs", "there is the given number of paragraphs between *** dividers",
		"num_paragraphs  whole number", "", 0,
		func(k *kwargs) check { return starParagraphs(k.integer("num_paragraphs", 0)) }},
	{"length_constraints:number_words", "the number of words is at least, or less than, the given one",
		"num_words  whole number\nrelation   \"at least\" or \"less than\"",
		"a word is a run of letters, digits and _", 0, numberWords},
	{"length_constraints:nth_paragraph_first_word", "there is the given number of paragraphs and the given one begins with the word",
		"num_paragraphs  whole number\nnth_paragraph   from 1 to num_paragraphs\nfirst_word      string",
		"blank paragraphs are not counted but still shift the index; the original draws an nth_paragraph that is out of range at random; here it is 1", 0, nthParagraphFirstWord},
	{"detectable_content:number_placeholders", "there is at least the given number of [placeholders]",
		"num_placeholders  whole number", "", 0,
		func(k *kwargs) check {
			return matchesAtLeast(placeholder, "placeholder", k.integer("num_placeholders", 0))
		}},
	{"detectable_content:postscript", "there is a postscript",
		"postscript_marker  string",
		"the marker, a regular expression unless it is P.S. or P.P.S, may be anywhere", 0, postscript},
	{"detectable_format:number_bullet_lists", "there is exactly the given number of bullet points",
		"num_bullets  whole number", "lines that begin with * or - are bullet points", 0, bulletLists},
	{"detectable_format:constrained_response", `the completion says "My answer is yes.", "My answer is no." or "My answer is maybe."`,
		"", "the phrase may be surrounded by any text", 0,
		func(*kwargs) check {
			return containsOne("My answer is yes.", "My answer is no.", "My answer is maybe.")
		}},
	{"detectable_format:number_highlighted_sections", "there is at least the given number of *highlighted* sections",
		"num_highlights  whole number",
		"single and double stars are searched separately and added; bullet stars on one line pair up", 0, highlights},
	{"detectable_format:multiple_sections", "there is at least the given number of sections with numbered headings",
		"section_spliter  string\nnum_sections     whole number",
		"section_spliter is a regular expression", 0, multipleSections},
	{"detectable_format:json_format", "the whole completion is JSON, with or without a markdown fence", "",
		"NaN, Infinity, duplicate keys, bare numbers and strings are accepted; where nesting is so deep that the original raises, this parser decides",
		0, jsonFormat},
	{"detectable_format:title", "there is a <<title>>", "", "", 0, func(*kwargs) check { return title }},
	{"combination:two_responses", "two different responses are separated by ******", "",
		"seven stars separate too; more than two parts are wrong", 0, func(*kwargs) check { return twoResponses }},
	{"combination:repeat_prompt", "the completion begins with the request",
		"prompt_to_repeat  string", "case does not count", 0, repeatPrompt},
	{"startend:end_checker", "the completion ends with the phrase",
		"end_phrase  string", "case does not count; quotation marks after the phrase are dropped, a full stop is not",
		0, endPhrase},
	{"change_case:capital_word_frequency", "the number of words in capitals is at least, or less than, the given one",
		"capital_frequency  whole number\ncapital_relation   \"at least\" or \"less than\"", "",
		needsSentences | needsTokens, capitalWords},
	{"change_case:english_capital", "the completion is English in capitals", "",
		"signs and digits pass; short English is often taken for another language",
		needsLanguage, func(*kwargs) check { return englishIn("capitals", isUpper) }},
	{"change_case:english_lowercase", "the completion is English in lower case", "",
		"signs and digits pass; short English is often taken for another language",
		needsLanguage, func(*kwargs) check { return englishIn("lower case", isLower) }},
	{"punctuation:no_comma", "there is no comma", "", "", 0, func(*kwargs) check { return without(",") }},
	{"startend:quotation", "the completion is in double quotation marks", "", "", 0,
		func(*kwargs) check { return quotation }},
}

func keywordExistence(k *kwargs) check {
	keywords := k.texts("keywords")
	patterns := make([]*pattern, len(keywords))
	for i, w := range keywords {
		patterns[i] = k.pattern("keywords", w, true)
	}
	return func(text string) finding {
		for i, p := range patterns {
			ok, err := p.found(text)
			if err != nil {
				return result(false, "%v", err)
			}
			if !ok {
				return result(false, "keyword %s is not found", quote(keywords[i]))
			}
		}
		return result(true, "%s found", count(len(keywords), "keyword"))
	}
}

func keywordFrequency(k *kwargs) check {
	keyword := k.word("keyword")
	p := k.pattern("keyword", keyword, true)
	asked, relation := k.integer("frequency", 0), k.relation("relation")
	return func(text string) finding {
		n, err := p.count(text)
		if err != nil {
			return result(false, "%v", err)
		}
		return result(relation.holds(n, asked), "keyword %s is found %s; expected %s %d", quote(keyword), count(n, "time"), relation, asked)
	}
}

func forbiddenWords(k *kwargs) check {
	words := k.texts("forbidden_words")
	// A word without special characters is searched as it is: \b is costly.
	patterns := make([]*pattern, len(words))
	for i, w := range words {
		if regexp.QuoteMeta(w) != w {
			patterns[i] = k.pattern("forbidden_words", `\b`+w+`\b`, true)
		}
	}
	return func(text string) finding {
		for i, w := range words {
			var found bool
			var err error
			if p := patterns[i]; p != nil {
				found, err = p.found(text)
			} else {
				found = hasWord(text, w, true)
			}
			if err != nil {
				return result(false, "%v", err)
			}
			if found {
				return result(false, "forbidden word %s is found", quote(w))
			}
		}
		return result(true, "no forbidden word is found")
	}
}

func letterFrequency(k *kwargs) check {
	letter := lower(k.text("letter"))
	if len(letter) != 1 || letter < "a" || letter > "z" {
		letter = "a"
	}
	asked, relation := k.integer("let_frequency", 0), k.relation("let_relation")
	return func(text string) finding {
		n := strings.Count(lower(text), letter)
		return result(relation.holds(n, asked), "letter %q occurs %s; expected %s %d", letter, count(n, "time"), relation, asked)
	}
}

func numberSentences(k *kwargs) check {
	asked, relation := k.integer("num_sentences", 0), k.relation("relation")
	return func(text string) finding {
		n := len(punktSentences(text))
		return result(relation.holds(n, asked), "%s; expected %s %d", count(n, "sentence"), relation, asked)
	}
}

func numberWords(k *kwargs) check {
	asked, relation := k.integer("num_words", 0), k.relation("relation")
	return func(text string) finding {
		n := len(wordRuns(text))
		return result(relation.holds(n, asked), "%s; expected %s %d", count(n, "word"), relation, asked)
	}
}

var starDivider = regexp.MustCompile(`[` + spaceClass + `]?\*\*\*[` + spaceClass + `]?`)

// splitAt is re.split by a pattern without groups that matches no empty text.
func splitAt(divider *regexp.Regexp, text string) []string {
	var parts []string
	from := 0
	for _, m := range divider.FindAllStringIndex(text, -1) {
		parts = append(parts, text[from:m[0]])
		from = m[1]
	}
	return append(parts, text[from:])
}

func starParagraphs(asked int) check {
	return func(text string) finding { return countParagraphs(splitAt(starDivider, text), asked) }
}

// countParagraphs counts parts; blank ones are allowed first and last only.
func countParagraphs(parts []string, asked int) finding {
	n := len(parts)
	for i, p := range parts {
		if strip(p) != "" {
			continue
		}
		if i != 0 && i != len(parts)-1 {
			return result(false, "paragraph %d is blank", i+1)
		}
		n--
	}
	return result(n == asked, "%s; expected %d", count(n, "paragraph"), asked)
}

func nthParagraphFirstWord(k *kwargs) check {
	asked := k.integer("num_paragraphs", 1)
	nth := k.integer("nth_paragraph", anyInteger)
	word := lower(k.text("first_word"))
	if nth < 1 || nth > asked {
		nth = 1
	}
	return func(text string) finding {
		paragraphs := strings.Split(text, "\n\n")
		n := 0
		for _, p := range paragraphs {
			if strip(p) != "" {
				n++
			}
		}
		if nth > n || strip(paragraphs[nth-1]) == "" {
			return result(false, "%s: there is no paragraph %d", count(n, "paragraph"), nth)
		}
		found := strings.TrimLeft(strings.TrimLeft(split(paragraphs[nth-1])[0], "'"), `"`)
		if end := strings.IndexAny(found, `.,?!'"`); end >= 0 {
			found = found[:end]
		}
		found = lowerLetters(found)
		return result(n == asked && found == word, "%s, the first word of number %d is %s; expected %d and %s",
			count(n, "paragraph"), nth, quote(found), asked, quote(word))
	}
}

// lowerLetters lowers each letter alone, so that no sigma is a final one.
func lowerLetters(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(lower(string(r)))
	}
	return b.String()
}

var placeholder = regexp.MustCompile(`\[[^\n]*?\]`)

// matchesAtLeast counts matches.
func matchesAtLeast(p *regexp.Regexp, unit string, asked int) check {
	return func(text string) finding {
		n := len(p.FindAllStringIndex(text, -1))
		return result(n >= asked, "%s; expected at least %d", count(n, unit), asked)
	}
}

func postscript(k *kwargs) check {
	marker := k.word("postscript_marker")
	expr := lower(marker)
	switch marker {
	case "P.P.S":
		expr = `p\.\s?p\.\s?s`
	case "P.S.":
		expr = `p\.\s?s\.`
	}
	p := k.pattern("postscript_marker", expr, false)
	return func(text string) finding {
		ok, err := p.found(lower(text))
		if err != nil {
			return result(false, "%v", err)
		}
		return result(ok, "looked for the postscript marker %s", quote(marker))
	}
}

var (
	starBullet = regexp.MustCompile(`(?m)^[` + spaceClass + `]*\*[^*].*$`)
	dashBullet = regexp.MustCompile(`(?m)^[` + spaceClass + `]*-.*$`)
)

func bulletLists(k *kwargs) check {
	asked := k.integer("num_bullets", 0)
	return func(text string) finding {
		n := len(starBullet.FindAllStringIndex(text, -1)) + len(dashBullet.FindAllStringIndex(text, -1))
		return result(n == asked, "%s; expected %d", count(n, "bullet point"), asked)
	}
}

// containsOne asks for one of the phrases.
func containsOne(phrases ...string) check {
	return func(text string) finding {
		for _, p := range phrases {
			if strings.Contains(text, p) {
				return result(true, "%s is found", quote(p))
			}
		}
		return result(false, "none of the expected phrases is found")
	}
}

var (
	singleStars = regexp.MustCompile(`\*[^\n*]*\*`)
	doubleStars = regexp.MustCompile(`\*\*[^\n*]*\*\*`)
)

func highlights(k *kwargs) check {
	asked := k.integer("num_highlights", 0)
	return func(text string) finding {
		n := 0
		for _, stars := range []*regexp.Regexp{singleStars, doubleStars} {
			for _, m := range stars.FindAllString(text, -1) {
				if strip(strings.Trim(m, "*")) != "" {
					n++
				}
			}
		}
		return result(n >= asked, "%s; expected at least %d", count(n, "highlighted section"), asked)
	}
}

func multipleSections(k *kwargs) check {
	splitter := k.word("section_spliter")
	p := k.pattern("section_spliter", `\s?`+splitter+`\s?\d+\s?`, false)
	asked := k.integer("num_sections", 0)
	return func(text string) finding {
		n, err := p.count(text)
		if err != nil {
			return result(false, "%v", err)
		}
		n *= 1 + p.program.groups // re.split gives the groups back as parts
		return result(n >= asked, "%s; expected at least %d", count(n, "section"), asked)
	}
}

func jsonFormat(*kwargs) check {
	return func(text string) finding {
		text = strip(text)
		for _, ticks := range []string{"```json", "```Json", "```JSON", "```"} {
			text = strings.TrimPrefix(text, ticks)
		}
		ok, why := pythonJSON(strip(strings.TrimSuffix(text, "```")))
		return finding{followed: ok, reason: why}
	}
}

var titleShape = regexp.MustCompile(`<<[^\n]+>>`)

func title(text string) finding {
	for _, m := range titleShape.FindAllString(text, -1) {
		if strip(strings.TrimRight(strings.TrimLeft(m, "<"), ">")) != "" {
			return result(true, "title %s", quote(m))
		}
	}
	return result(false, "no <<title>> is found")
}

func twoResponses(text string) finding {
	parts := strings.Split(text, "******")
	var responses []string
	for i, p := range parts {
		if p = strip(p); p != "" {
			responses = append(responses, p)
		} else if i != 0 && i != len(parts)-1 {
			return result(false, "part %d between ****** is blank", i+1)
		}
	}
	if len(responses) != 2 {
		return result(false, "%s; expected 2", count(len(responses), "response"))
	}
	return result(responses[0] != responses[1], "the two responses must differ")
}

func repeatPrompt(k *kwargs) check {
	prompt := lower(k.word("prompt_to_repeat"))
	return func(text string) finding {
		return result(strings.HasPrefix(lower(strip(text)), prompt), "the completion must begin with the request")
	}
}

func endPhrase(k *kwargs) check {
	phrase := lower(k.word("end_phrase"))
	return func(text string) finding {
		end := lower(strings.Trim(strip(text), `"`))
		return result(strings.HasSuffix(end, phrase), "the completion must end with %s", quote(phrase))
	}
}

func capitalWords(k *kwargs) check {
	asked, relation := k.integer("capital_frequency", 0), k.relation("capital_relation")
	return func(text string) finding {
		n := 0
		for _, w := range wordTokens(text) {
			if isUpper(w) {
				n++
			}
		}
		return result(relation.holds(n, asked), "%s in capitals; expected %s %d", count(n, "word"), relation, asked)
	}
}

// without forbids one sign.
func without(sign string) check {
	return func(text string) finding {
		n := strings.Count(text, sign)
		return result(n == 0, "%q occurs %s: none allowed", sign, count(n, "time"))
	}
}

func quotation(text string) finding {
	text = strip(text)
	ok := len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"'
	return result(ok, "the first and the last character must be quotation marks")
}
