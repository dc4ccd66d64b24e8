package instruct

import (
	"math"
	"regexp"
	"strings"
)

const anyInteger = math.MinInt32

// The 29 types that the training set of IF-RLVR has besides IFEval's.
var ifrlvrKinds = []kind{
	{"copy:repeat_phrase", "the phrase occurs the given number of times, each time with exactly one word changed",
		"phrase   string of two or more words\nsmall_n  whole number of 1 or more",
		"the phrase's first and last word are regular expressions with any text on the same line between them",
		0, repeatPhrase},
	{"copy:copy", "the completion is the request",
		"prompt_to_repeat  string", "case does not count", 0, copyRequest},
	{"new:copy_span_idx", "the completion is the request's characters from n_start to n_end",
		"prompt_to_repeat  string\nn_start           whole number, not 0\nn_end             whole number, not 0",
		"n_end itself is left out although the instruction says \"including\"; case does not count", 0, copySpanIdx},
	{"detectable_format:sentence_hyphens", "the sentences are joined by hyphens", "",
		"a text without hyphens passes as long as it is one sentence", 0, func(*kwargs) check { return sentenceHyphens }},
	{"keywords:no_adjacent_consecutive", "no word begins with the letter after that of the word before", "", "",
		0, func(*kwargs) check { return noAdjacentConsecutive }},
	{"detectable_format:square_brackets", "every word is in [square brackets]", "", "",
		0, func(*kwargs) check { return squareBrackets }},
	{"keywords:word_once", "the keyword occurs exactly once", "keyword  string",
		"the keyword is a regular expression without regard to case, found in parts of words", 0, wordOnce},
	{"keywords:word_count_different_numbers", "the keyword occurs at least, or less than, the given number of times",
		"keyword    string\nfrequency  whole number\nrelation   \"at least\" or \"less than\"",
		"the instruction says \"should appear N times\", the check is at least or less than; the keyword is a regular expression",
		0, keywordFrequency},
	{"keywords:exclude_word_harder", "the keyword does not occur", "keyword  string",
		"it is searched for with a space on both sides, so it is not found at either end or before a comma", 0, excludeWord},
	{"paragraphs:paragraphs", "there are two paragraphs between *** dividers", "", "", 0,
		func(*kwargs) check { return starParagraphs(2) }},
	{"paragraphs:paragraphs2", "there are two paragraphs between blank lines", "", "", 0,
		func(*kwargs) check {
			return func(text string) finding { return countParagraphs(strings.Split(text, "\n\n"), 2) }
		}},
	{"first_word:first_word_sent", "every sentence begins with the word", "first_word  string",
		"a word with a comma after it differs; sentences are found by rules, not by a model", 0, firstWordSentences},
	{"first_word:first_word_answer", "the completion begins with the word", "first_word  string",
		"a word with a comma after it differs", 0, firstWordAnswer},
	{"last_word:last_word_sent", "every sentence ends with the word", "last_word  string",
		"sentences are found by rules, not by a model", 0, lastWordSentences},
	{"last_word:last_word_answer", "the completion ends with the word", "last_word  string", "", 0, lastWordAnswer},
	{"detectable_format:bigram_wrapping", "every two words are in <<double angular brackets>>", "",
		"an odd last word is never checked", 0, func(*kwargs) check { return bigramWrapping }},
	{"copy:copying_simple", "the completion is the request",
		"prompt_to_repeat  string", "case does not count", 0, copyRequest},
	{"copy:copying_multiple", "the completion is the request, repeated the given number of times between ******",
		"prompt_to_repeat  string\nN                 whole number of 1 or more", "case does not count", 0, copyMultiple},
	{"punctuation:punctuation_dot", "there is no full stop", "", "", 0, func(*kwargs) check { return without(".") }},
	{"punctuation:punctuation_exclamation", "there is no exclamation mark", "", "", 0,
		func(*kwargs) check { return without("!") }},
	{"count:lowercase_counting", "there is at most the given number of words in lower case",
		"N  whole number of 1 or more", "a word has the letters a to z only", 0, lowercaseCounting},
	{"letters:letter_counting", "the number of letters is at least, or less than, the given one",
		"N         whole number of 1 or more\nrelation  \"at least\" or \"less than\"", "letters are a to z", 0, letterCounting},
	{"letters:letter_counting2", "the letter occurs at least, or less than, the given number of times",
		"letter        one letter\nlet_frequency whole number\nlet_relation  \"at least\" or \"less than\"",
		"the original replaces a letter outside a to z by a random one; here it becomes a, as in the reference verdicts",
		0, letterFrequency},
	{"count:counting_composition", "there are three paragraphs with the given numbers of sentences and of words in each sentence",
		"n_sent   whole number of 1 or more\nn_words  whole number of 1 or more",
		"the instruction shows * * *, the check wants ***; a divider at either end is wrong; marks count as words",
		needsTokens, countingComposition},
	{"count:count_unique", "no word is repeated", "", "marks count as words", needsTokens,
		func(*kwargs) check { return countUnique }},
	{"count:count_increment_word", "one keyword occurs once, the other twice",
		"keyword1  string\nkeyword2  string",
		"keywords are regular expressions without regard to case, found in parts of words", 0, countIncrementWord},
	{"keywords:palindrome", "there is a palindrome", "",
		"any word of one letter is a palindrome; case and punctuation count", 0, func(*kwargs) check { return palindrome }},
	{"keywords:keyword_specific_position", "the keyword is the m-th word of the n-th sentence",
		"keyword  string\nn        whole number of 1 or more\nm        whole number of 1 or more",
		"case counts, and marks are words", needsTokens, keywordPosition},
	{"keywords:start_end", "the completion begins and ends with the same word", "", "marks count as words",
		needsTokens, func(*kwargs) check { return startEnd }},
}

func repeatPhrase(k *kwargs) check {
	phrase := split(k.text("phrase"))
	asked := k.integer("small_n", 1)
	if len(phrase) == 0 {
		k.fail("kwargs: phrase has no word")
		return nil
	}
	p := k.pattern("phrase", phrase[0]+" .*? "+phrase[len(phrase)-1], false)
	if p != nil && p.program.groups > 1 {
		k.fail("kwargs: phrase is used as a regular expression and has %d groups: at most 1 is accepted", p.program.groups)
	}
	return func(text string) finding {
		all, err := p.findAll(text)
		if err != nil {
			return result(false, "%v", err)
		}
		if len(all) != asked {
			return result(false, "the phrase is found %s; expected %d", count(len(all), "time"), asked)
		}
		for _, m := range all {
			words := split(m)
			if len(words) != len(phrase) {
				return result(false, "%s has %s; expected %d", quote(m), count(len(words), "word"), len(phrase))
			}
			changed := 0
			for i := range words {
				if words[i] != phrase[i] {
					changed++
				}
			}
			if changed != 1 {
				return result(false, "%s has %s changed; expected 1", quote(m), count(changed, "word"))
			}
		}
		return result(true, "the phrase is found %s with one word changed", count(asked, "time"))
	}
}

// sameAs compares without case and without white space at the ends.
func sameAs(want, what string) check {
	want = lower(strip(want))
	return func(text string) finding {
		return result(lower(strip(text)) == want, "the completion must be %s: %s", what, quote(want))
	}
}

func copyRequest(k *kwargs) check { return sameAs(k.text("prompt_to_repeat"), "the request") }

func copySpanIdx(k *kwargs) check {
	prompt := k.text("prompt_to_repeat")
	from, to := k.integer("n_start", anyInteger), k.integer("n_end", anyInteger)
	if from == 0 || to == 0 {
		k.fail("kwargs: n_start is %d and n_end %d; accepted: whole numbers other than 0", from, to)
	}
	return sameAs(slice(prompt, from, to), "the requested part of the prompt")
}

func copyMultiple(k *kwargs) check {
	prompt, asked := lower(k.word("prompt_to_repeat")), k.integer("N", 1)
	return func(text string) finding {
		parts := strings.Split(text, "******")
		if len(parts) != asked {
			return result(false, "%s between ******; expected %d", count(len(parts), "part"), asked)
		}
		for i, p := range parts {
			if lower(strip(p)) != prompt {
				return result(false, "part %d is not the request", i+1)
			}
		}
		return result(true, "the request %s", count(asked, "time"))
	}
}

func sentenceHyphens(text string) finding {
	sentences := ruleSentences(strings.ReplaceAll(text, "-", " "))
	parts := strings.Split(text, "-")
	for i := range min(len(parts), len(sentences)) {
		if strip(parts[i]) != parts[i] || parts[i] != sentences[i] {
			return result(false, "part %d between hyphens is not sentence %[1]d", i+1)
		}
	}
	return result(true, "each part between hyphens is a sentence")
}

func noAdjacentConsecutive(text string) finding {
	words := split(text)
	for i := 1; i < len(words); i++ {
		a, b := []rune(lower(string(first(words[i-1])))), []rune(lower(string(first(words[i]))))
		if len(a) != 1 || len(b) != 1 || b[0]-a[0] == 1 {
			return result(false, "%s follows %s", quote(words[i]), quote(words[i-1]))
		}
	}
	return result(true, "no word begins with the letter after that of the word before")
}

func squareBrackets(text string) finding {
	for _, w := range split(text) {
		if w[0] != '[' || w[len(w)-1] != ']' {
			return result(false, "%s is not in square brackets", quote(w))
		}
	}
	return result(true, "every word is in square brackets")
}

func wordOnce(k *kwargs) check {
	keyword := k.word("keyword")
	return exactCounts(k, []string{keyword}, []int{1})
}

func countIncrementWord(k *kwargs) check {
	return exactCounts(k, []string{k.word("keyword1"), k.word("keyword2")}, []int{1, 2})
}

// exactCounts asks how often each keyword, a regular expression, occurs.
func exactCounts(k *kwargs, keywords []string, asked []int) check {
	patterns := make([]*pattern, len(keywords))
	for i, w := range keywords {
		patterns[i] = k.pattern("keyword", w, true)
	}
	return func(text string) finding {
		for i, p := range patterns {
			n, err := p.count(text)
			if err != nil {
				return result(false, "%v", err)
			}
			if n != asked[i] {
				return result(false, "keyword %s is found %s; expected %d", quote(keywords[i]), count(n, "time"), asked[i])
			}
		}
		return result(true, "%s found as often as expected", count(len(keywords), "keyword"))
	}
}

func excludeWord(k *kwargs) check {
	keyword := k.word("keyword")
	return func(text string) finding {
		return result(!strings.Contains(text, " "+keyword+" "), "%s must not be between spaces", quote(keyword))
	}
}

// eachSentence looks at one word of every sentence.
func eachSentence(want string, pick func(words []string) string) check {
	want = lower(want)
	return func(text string) finding {
		for i, s := range ruleSentences(text) {
			words := split(s)
			if len(words) == 0 {
				return result(false, "sentence %d is blank", i+1)
			}
			if w := pick(words); lower(w) != want {
				return result(false, "sentence %d has %s; expected %s", i+1, quote(w), quote(want))
			}
		}
		return result(true, "every sentence has %s", quote(want))
	}
}

var noWord = regexp.MustCompile(`[^` + wordClass + spaceClass + `]`)

func firstOf(words []string) string { return words[0] }

// lastOf is the last word without its marks.
func lastOf(words []string) string { return noWord.ReplaceAllString(words[len(words)-1], "") }

func firstWordSentences(k *kwargs) check { return eachSentence(k.firstWord("first_word"), firstOf) }
func lastWordSentences(k *kwargs) check  { return eachSentence(k.firstWord("last_word"), lastOf) }

func firstWordAnswer(k *kwargs) check { return oneWord(k.word("first_word"), "first", firstOf) }
func lastWordAnswer(k *kwargs) check  { return oneWord(k.word("last_word"), "last", lastOf) }

// oneWord looks at one word of the completion.
func oneWord(want, which string, pick func(words []string) string) check {
	want = lower(want)
	return func(text string) finding {
		w := pick(split(text))
		return result(lower(w) == want, "the %s word is %s; expected %s", which, quote(w), quote(want))
	}
}

func bigramWrapping(text string) finding {
	words := split(text)
	for i := 0; i+1 < len(words); i += 2 {
		if !strings.HasPrefix(words[i], "<<") || !strings.HasSuffix(words[i+1], ">>") {
			return result(false, "%s is not in << >>", quote(words[i]+" "+words[i+1]))
		}
	}
	return result(true, "every two words are in << >>")
}

func lowercaseCounting(k *kwargs) check {
	asked := k.integer("N", 1)
	return func(text string) finding {
		n := 0
		for _, w := range wordRuns(text) {
			if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == "" {
				n++
			}
		}
		return result(n <= asked, "%s in lower case; expected at most %d", count(n, "word"), asked)
	}
}

func letterCounting(k *kwargs) check {
	asked, relation := k.integer("N", 1), k.relation("relation")
	return func(text string) finding {
		n := 0
		for i := range len(text) {
			if c := text[i] | 0x20; c >= 'a' && c <= 'z' {
				n++
			}
		}
		return result(relation.holds(n, asked), "%s; expected %s %d", count(n, "letter"), relation, asked)
	}
}

func countingComposition(k *kwargs) check {
	sentences, words := k.integer("n_sent", 1), k.integer("n_words", 1)
	return func(text string) finding {
		paragraphs := splitAt(starDivider, text)
		for i, p := range paragraphs {
			all := ruleSentences(p)
			if len(all) != sentences {
				return result(false, "paragraph %d has %s; expected %d", i+1, count(len(all), "sentence"), sentences)
			}
			for j, s := range all {
				if n := len(wordTokens(s)); n != words {
					return result(false, "sentence %d of paragraph %d has %s; expected %d", j+1, i+1, count(n, "word"), words)
				}
			}
		}
		return result(len(paragraphs) == 3, "%s; expected 3", count(len(paragraphs), "paragraph"))
	}
}

func countUnique(text string) finding {
	seen := map[string]bool{}
	for _, w := range wordTokens(text) {
		if seen[w] {
			return result(false, "%s is repeated", quote(w))
		}
		seen[w] = true
	}
	return result(true, "%s, all different", count(len(seen), "word"))
}

func palindrome(text string) finding {
	for _, w := range split(text) {
		if w == reversed(w) {
			return result(true, "%s is a palindrome", quote(w))
		}
	}
	return result(false, "no word is a palindrome")
}

func keywordPosition(k *kwargs) check {
	keyword := k.firstWord("keyword")
	n, m := k.integer("n", 1), k.integer("m", 1)
	return func(text string) finding {
		sentences := ruleSentences(text)
		if len(sentences) < n {
			return result(false, "%s: there is no sentence %d", count(len(sentences), "sentence"), n)
		}
		return wordAt(wordTokens(sentences[n-1]), n, m, keyword)
	}
}

// wordAt asks for a word at place m of the words of sentence n.
func wordAt(words []string, n, m int, keyword string) finding {
	if len(words) < m {
		return result(false, "sentence %d has %s: there is no word %d", n, count(len(words), "word"), m)
	}
	return result(words[m-1] == keyword, "word %d of sentence %d is %s; expected %s", m, n, quote(words[m-1]), quote(keyword))
}

func startEnd(text string) finding {
	words := wordTokens(text)
	if len(words) < 2 {
		return result(false, "%s; expected 2 or more", count(len(words), "word"))
	}
	a, b := words[0], words[len(words)-1]
	return result(lower(a) == lower(b), "the first word is %s, the last %s", quote(a), quote(b))
}
