package instruct

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The rewriting rules of ruleSentences, in their order. <prd> stands for a full
// stop that ends no sentence, <stop> for the end of one.
const starters = `(Mr|Mrs|Ms|Dr|Prof|Capt|Cpt|Lt|(?:He|She|It|They|Their|Our|We|But|However|That|This)[` + spaceClass + `]|Wherever)`

var (
	multipleDots = regexp.MustCompile(`\.{2,}`)
	sentenceEnds = strings.NewReplacer(".", ".<stop>", "?", "?<stop>", "!", "!<stop>")

	rulesBeforeDots = []rewrite{
		{regexp.MustCompile(`(Mr|St|Mrs|Ms|Dr)\.`), "${1}<prd>"},
		{regexp.MustCompile(`\.(com|net|org|io|gov|edu|me)`), "<prd>${1}"},
		{regexp.MustCompile(`([0-9])\.([0-9])`), "${1}<prd>${2}"},
	}
	rulesAfterDots = []rewrite{
		{regexp.MustCompile(`[` + spaceClass + `]([A-Za-z])\. `), " ${1}<prd> "},
		{regexp.MustCompile(`([A-Z]\.[A-Z]\.(?:[A-Z]\.)?) ` + starters), "${1}<stop> ${2}"},
		{regexp.MustCompile(`([A-Za-z])\.([A-Za-z])\.([A-Za-z])\.`), "${1}<prd>${2}<prd>${3}<prd>"},
		{regexp.MustCompile(`([A-Za-z])\.([A-Za-z])\.`), "${1}<prd>${2}<prd>"},
		{regexp.MustCompile(` (Inc|Ltd|Jr|Sr|Co)\. ` + starters), " ${1}<stop> ${2}"},
		{regexp.MustCompile(` (Inc|Ltd|Jr|Sr|Co)\.`), " ${1}<prd>"},
		{regexp.MustCompile(` ([A-Za-z])\.`), " ${1}<prd>"},
	}
)

type rewrite struct {
	pattern *regexp.Regexp
	by      string
}

// ruleSentences splits as IF-RLVR's checkers do: by rewriting rules without a
// model (open-instruct, IFEvalG/instructions_util.py). The result is exact.
func ruleSentences(text string) []string {
	text = " " + strings.ReplaceAll(text, "\n", " ") + "  "
	for _, r := range rulesBeforeDots {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	text = multipleDots.ReplaceAllStringFunc(text, func(dots string) string {
		return strings.Repeat("<prd>", len(dots)) + "<stop>"
	})
	text = strings.ReplaceAll(text, "Ph.D.", "Ph<prd>D<prd>")
	for _, r := range rulesAfterDots {
		text = r.pattern.ReplaceAllString(text, r.by)
	}
	for _, closing := range []string{".”", `."`, `!"`, `?"`} {
		mark, quotation := closing[:1], closing[1:]
		text = strings.ReplaceAll(text, closing, quotation+mark)
	}
	text = strings.ReplaceAll(sentenceEnds.Replace(text), "<prd>", ".")
	sentences := strings.Split(text, "<stop>")
	for i, s := range sentences {
		sentences[i] = strip(s)
	}
	if last := len(sentences) - 1; sentences[last] == "" {
		sentences = sentences[:last]
	}
	return sentences
}

// punktSentences imitates nltk.sent_tokenize: the algorithm of Punkt (Kiss and
// Strunk, Unsupervised Multilingual Sentence Boundary Detection, 2006) with the
// abbreviations and sentence starters of words.go in place of its trained
// parameters.
//
// A candidate is one of . ? ! before white space and another token, or before a
// bracket or quote. Of several candidates in one run of characters without
// white space only the last counts.
func punktSentences(text string) []string {
	text = strings.TrimRightFunc(text, isSpace)
	var spans [][2]int
	start := 0
	cut := func(c candidate) {
		if !c.ends(text) {
			return
		}
		spans = append(spans, [2]int{start, c.at + 1})
		start = c.next
	}
	var last candidate
	have := false
	for at := 0; at < len(text); at++ {
		if !strings.ContainsRune(".?!", rune(text[at])) {
			continue
		}
		c, ok := newCandidate(text, at)
		if !ok {
			continue
		}
		from := 0
		if have {
			from = last.word
		}
		c.word = wordStart(text, from, last.at, at, have)
		if have && last.at <= c.word {
			cut(last)
		}
		last, have = c, true
	}
	if have {
		cut(last)
	}
	return realign(text, append(spans, [2]int{start, len(text)}))
}

// candidate is a possible end of a sentence.
type candidate struct {
	word  int // where the word before it starts
	at    int // where the mark is
	after int // where the context after it ends
	next  int // where a sentence after it would start
}

// closers are the characters that end a token whatever follows.
const closers = `)";}]*:@'({[!?`

// newCandidate reads what follows the mark at text[at].
func newCandidate(text string, at int) (candidate, bool) {
	rest := text[at+1:]
	if rest == "" {
		return candidate{}, false
	}
	if strings.IndexByte(closers, rest[0]) >= 0 {
		return candidate{at: at, after: at + 2, next: at + 1}, true
	}
	word := strings.TrimLeftFunc(rest, isSpace)
	if len(word) == len(rest) || word == "" {
		return candidate{}, false
	}
	next := len(text) - len(word)
	end := strings.IndexFunc(word, isSpace)
	if end < 0 {
		end = len(word)
	}
	return candidate{at: at, after: next + end, next: next}, true
}

// wordStart is where the word before the mark at to starts: after the last
// ASCII white space since the mark before, else where that mark's word starts.
func wordStart(text string, from, since, to int, have bool) int {
	if !have {
		since = 0
	}
	if i := strings.LastIndexAny(text[since:to], " \t\n\r\v\f"); i > 0 {
		return since + i + 1
	}
	return from
}

// ends says whether a sentence ends at the candidate.
func (c candidate) ends(text string) bool {
	tokens := punktTokens(text[c.word:c.after])
	for i := range tokens[:max(len(tokens)-1, 0)] {
		if endsSentence(tokens[i], tokens[i+1]) {
			return true
		}
	}
	return false
}

// punktTokens splits the text around a candidate: runs of dots or dashes,
// marks, and words with their full stop.
func punktTokens(text string) []string {
	var tokens []string
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case isSpace(r):
			text = text[size:]
			continue
		case markRun(text) > 0:
			size = markRun(text)
		case !strings.ContainsRune("(\"`{[:;&#*@)}]-,", r):
			size = punktWord(text, size)
		}
		tokens = append(tokens, text[:size])
		text = text[size:]
	}
	return tokens
}

// markRun is the length of the run of two or more dots or dashes at the start.
func markRun(text string) int {
	for _, mark := range []string{".", "-"} {
		if n := len(text) - len(strings.TrimLeft(text, mark)); n > 1 {
			return n
		}
	}
	return 0
}

// punktWord is the length of the word at the start of text, whose first
// character is size bytes long.
func punktWord(text string, size int) int {
	ended := func(rest string) bool {
		return rest == "" || isSpace(first(rest)) || strings.IndexByte(closers, rest[0]) >= 0 || markRun(rest) > 0
	}
	for i, r := range text[size:] {
		rest := text[size+i:]
		if ended(rest) || r == ',' && ended(rest[1:]) {
			return size + i
		}
	}
	return len(text)
}

// endsSentence says whether the sentence ends after token, next following it.
func endsSentence(token, next string) bool {
	switch {
	case token == "." || token == "?" || token == "!":
		return true
	case !strings.HasSuffix(token, "."):
		return false
	}
	start, _, _ := strings.Cut(next, "'") // of "Let's" or "It's" the word
	starts := sentenceStarters[start]
	if strings.HasSuffix(token, "..") {
		return starts
	}
	word := strings.TrimSuffix(token, ".")
	initial := length(word) == 1 && unicode.IsLetter(first(word))
	typ := strings.ToLower(word)
	abbreviated := abbreviations[typ] || abbreviations[typ[strings.LastIndexByte(typ, '-')+1:]]
	switch {
	case titles[typ], initial && nameInitials[typ]:
		return false
	case abbreviated:
		return starts
	case initial && unicode.IsUpper(first(next)): // a name follows, or one more initial
		return starts || length(strings.TrimRight(next, ".")) == 1
	case isNumber(word) && unicode.IsLower(first(next)):
		return false
	}
	return true
}

var numberShape = regexp.MustCompile(`^-?[.,]?[0-9][0-9,.-]*$`)

func isNumber(word string) bool { return numberShape.MatchString(word) }

// realign moves closing quotes and brackets from the start of a sentence to the
// end of the one before.
func realign(text string, spans [][2]int) []string {
	var sentences []string
	moved := 0
	for i, span := range spans {
		from, to := span[0]+moved, span[1]
		moved = 0
		if i+1 < len(spans) {
			next := text[spans[i+1][0]:spans[i+1][1]]
			if n := closing(next); n > 0 {
				to = spans[i+1][0] + len(strings.TrimRightFunc(next[:n], isSpace))
				moved = n
			}
		}
		if from < to {
			sentences = append(sentences, text[from:to])
		}
	}
	return sentences
}

// closing is the length of the closing quotes and brackets at the start of s
// with the white space after them, 0 if something else follows directly.
func closing(s string) int {
	marks := len(s) - len(strings.TrimLeft(s, `"')]}`))
	rest := s[marks:]
	spaces := len(rest) - len(strings.TrimLeftFunc(rest, isSpace))
	if marks == 0 || spaces == 0 && rest != "" && !strings.HasPrefix(rest, "--") {
		return 0
	}
	return marks + spaces
}
