package instruct

import (
	"strings"
)

// The types of IFBench that look at sentences.
var benchSentenceKinds = []kind{
	{"ratio:sentence_type", "there are twice as many sentences ending in . as in ?", "",
		"a text without either kind passes", needsSentences, func(*kwargs) check { return sentenceTypeRatio }},
	{"ratio:sentence_balance", "as many sentences end in . as in ? and in !", "",
		"a text without any of these kinds passes", needsSentences, func(*kwargs) check { return sentenceBalance }},
	{"sentence:alliteration_increment", "each sentence has more alliterative words than the one before", "", "",
		needsSentences, func(*kwargs) check { return alliterationIncrement }},
	{"format:emoji", "every sentence ends with an emoji", "",
		"or the next sentence begins with one", needsSentences | needsEmoji, func(*kwargs) check { return emojiSentences }},
	{"ratio:sentence_words", "there are three sentences of the same length", "",
		"that all words differ is not tested", needsSentences, func(*kwargs) check { return threeSentences }},
	{"sentence:keyword", "the N-th sentence has the word", "word  string\nN     whole number",
		"N = 0 is the last sentence", needsSentences, sentenceKeyword},
	{"words:last_first", "the last word of each sentence is the first of the next", "", "",
		needsSentences, func(*kwargs) check { return lastFirst }},
	{"sentence:increment", "each sentence has the given number of words more than the one before", "small_n  whole number", "",
		needsSentences, wordIncrement},
	{"words:keywords_specific_position", "the keyword is the m-th word of the n-th sentence",
		"keyword  string\nn        whole number of 1 or more\nm        whole number of 1 or more",
		"case does not count, and marks are not words", needsSentences | needsTokens, benchKeywordPosition},
	{"custom:sentence_alphabet", "26 sentences begin with the letters of the alphabet in order", "", "",
		needsSentences, func(*kwargs) check { return sentenceAlphabet }},
}

// endings counts the sentences that end with each of the marks.
func endings(text string) map[byte]int {
	counts := map[byte]int{}
	for _, s := range punktSentences(text) {
		counts[s[len(s)-1]]++
	}
	return counts
}

func sentenceTypeRatio(text string) finding {
	n := endings(text)
	return result(n['.'] == 2*n['?'], "%d sentences end in . and %d in ?; expected 2 to 1", n['.'], n['?'])
}

func sentenceBalance(text string) finding {
	n := endings(text)
	return result(n['.'] == n['?'] && n['?'] == n['!'],
		"%d sentences end in ., %d in ?, %d in !; expected as many of each", n['.'], n['?'], n['!'])
}

func alliterationIncrement(text string) finding {
	before := -1
	for i, s := range punktSentences(text) {
		var words []string
		for _, w := range split(lower(s)) {
			if w = strings.TrimLeft(w, punctuation+" "); w != "" {
				words = append(words, w)
			}
		}
		n, running := 0, false
		for j := 1; j < len(words); j++ {
			same := first(words[j-1]) == first(words[j])
			if same && !running {
				n++ // the word before counts, too
			}
			if same {
				n++
			}
			running = same
		}
		if n <= before {
			return result(false, "sentence %d has %s, the one before %d", i+1, count(n, "alliterative word"), before)
		}
		before = n
	}
	return result(true, "each sentence has more alliterative words than the one before")
}

func emojiSentences(text string) finding {
	sentences := punktSentences(text)
	bare := make([][]rune, len(sentences))
	for i, s := range sentences {
		bare[i] = []rune(strip(dropPunct(s)))
	}
	for i, s := range bare {
		n := len(s)
		if n == 0 {
			return result(false, "sentence %d has nothing but punctuation", i+1)
		}
		if isEmoji(s[n-1]) || n > 1 && isEmoji(s[n-2]) {
			continue
		}
		if i+1 == len(bare) || len(bare[i+1]) == 0 || !isEmoji(bare[i+1][0]) {
			return result(false, "sentence %d does not end with an emoji", i+1)
		}
	}
	return result(true, "%s, each with an emoji", count(len(sentences), "sentence"))
}

func threeSentences(text string) finding {
	sentences := punktSentences(text)
	if len(sentences) != 3 {
		return result(false, "%s; expected 3", count(len(sentences), "sentence"))
	}
	a, b, c := length(strip(sentences[0])), length(strip(sentences[1])), length(strip(sentences[2]))
	return result(a == b && b == c, "the sentences have %d, %d and %d characters", a, b, c)
}

func sentenceKeyword(k *kwargs) check {
	word, n := k.text("word"), k.integer("N", 0)
	return func(text string) finding {
		sentences := punktSentences(text)
		if len(sentences) < n {
			return result(false, "%s: there is no sentence %d", count(len(sentences), "sentence"), n)
		}
		at := n - 1
		if n == 0 {
			at = len(sentences) - 1
		}
		return result(hasWord(sentences[at], word, true), "looked for %s in sentence %d", quote(word), at+1)
	}
}

func lastFirst(text string) finding {
	sentences := punktSentences(text)
	for i := 1; i < len(sentences); i++ {
		before := split(strings.TrimRight(sentences[i-1], punctuation+" "))
		after := split(strings.TrimLeft(sentences[i], punctuation+" "))
		if len(before) == 0 || len(after) == 0 {
			return result(false, "sentence %d or %d has no word", i, i+1)
		}
		if a, b := before[len(before)-1], after[0]; lower(a) != lower(b) {
			return result(false, "sentence %d ends with %s, the next begins with %s", i, quote(a), quote(b))
		}
	}
	return result(true, "the last word of each sentence is the first of the next")
}

func wordIncrement(k *kwargs) check {
	more := k.integer("small_n", 0)
	return func(text string) finding {
		before := 0
		for i, s := range punktSentences(text) {
			n := len(split(dropPunct(s)))
			if i > 0 && n != before+more {
				return result(false, "sentence %d has %s, the one before %d; expected %d more", i+1, count(n, "word"), before, more)
			}
			before = n
		}
		return result(true, "each sentence has %s more than the one before", count(more, "word"))
	}
}

func benchKeywordPosition(k *kwargs) check {
	keyword := lower(k.word("keyword"))
	n, m := k.integer("n", 1), k.integer("m", 1)
	return func(text string) finding {
		sentences := punktSentences(text)
		if len(sentences) < n {
			return result(false, "%s: there is no sentence %d", count(len(sentences), "sentence"), n)
		}
		var words []string
		for _, w := range wordTokens(sentences[n-1]) {
			if strings.ContainsFunc(w, isAlnum) {
				words = append(words, lower(w))
			}
		}
		return wordAt(words, n, m, keyword)
	}
}

func sentenceAlphabet(text string) finding {
	sentences := punktSentences(text)
	if len(sentences) != 26 {
		return result(false, "%s; expected 26", count(len(sentences), "sentence"))
	}
	for i, s := range sentences {
		words := split(s)
		if len(words) == 0 || first(lower(words[0])) != rune('a'+i) {
			return result(false, "sentence %d must begin with %c", i+1, 'a'+i)
		}
	}
	return result(true, "26 sentences begin with the letters of the alphabet")
}
