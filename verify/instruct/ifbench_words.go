package instruct

import (
	"fmt"
	"strings"
)

// The types of IFBench that count or look at words and characters.
var benchWordKinds = []kind{
	{"count:word_count_range", "the number of words is in the range",
		"min_words  whole number\nmax_words  whole number", "a word is a run of letters, digits and _", 0, wordCountRange},
	{"count:unique_word_count", "there is at least the given number of different words", "N  whole number",
		"a run of punctuation alone counts as one word, the empty one", 0, uniqueWordCount},
	{"ratio:stop_words", "stop words are at most the given percentage of all words", "percentage  number",
		"the stop words are NLTK's list of 2023; the parts of contractions are looked up", 0, stopWordShare},
	{"count:conjunctions", "there is at least the given number of different coordinating conjunctions", "small_n  whole number",
		"two spellings of one conjunction (\"and\", \"And,\") are different", 0, conjunctionCount},
	{"count:person_names", "there is at least the given number of different names from the instruction's list", "N  whole number",
		"", 0, personNames},
	{"ratio:overlap", "the overlap with the reference is the given percentage, plus or minus 2",
		"reference_text  string\npercentage      number", "trigrams of characters, not words, are compared", 0, overlap},
	{"count:numbers", "there is exactly the given number of numbers", "N  whole number",
		"punctuation is dropped first, so that 1,000 and 3.5 are one number each", 0, numberCount},
	{"words:alphabet", "each word begins with the letter after that of the word before, a after z", "", "",
		0, func(*kwargs) check { return alphabetLoop }},
	{"words:vowel", "the completion is one paragraph with at most three different vowels", "",
		"accented vowels are not vowels", 0, func(*kwargs) check { return threeVowels }},
	{"words:consonants", "every word has two consonants in a row", "", "y is a consonant", 0,
		func(*kwargs) check { return consonantClusters }},
	{"words:palindrome", "there are at least ten palindromes of five or more characters", "",
		"ten times the same one counts as ten", 0, func(*kwargs) check { return tenPalindromes }},
	{"words:prime_lengths", "every word's length is a prime number", "", "a text without any word passes; primes to 97",
		0, func(*kwargs) check { return primeLengths }},
	{"count:words_japanese", "every N-th word is Japanese", "N  whole number of 1 or more",
		"Chinese characters count as Japanese; digits and empty words are skipped; half-width katakana do not count",
		0, japaneseWords},
	{"words:start_verb", "the completion begins with a verb", "",
		"the tagger takes some imperatives for nouns", needsTokens | needsTagger, func(*kwargs) check { return startVerb }},
	{"words:repeats", "no word occurs more often than allowed", "small_n  whole number",
		"a text without any word passes", 0, limitedRepeats},
	{"count:pronouns", "there is at least the given number of pronouns", "N  whole number", "", needsTokens, pronounCount},
	{"words:odd_even_syllables", "words with odd and even numbers of syllables alternate", "", "",
		needsSyllables, func(*kwargs) check { return alternateSyllables }},
	{"words:paragraph_last_first", "each line ends with the word that it begins with", "", "",
		0, func(*kwargs) check { return paragraphLastFirst }},
	{"words:no_consecutive", "no two words in a row begin with the same letter", "", "a text without any word passes",
		0, func(*kwargs) check { return noConsecutive }},
	{"count:keywords_multiple", "the five keywords occur 1, 2, 3, 5 and 7 times",
		"keyword1 to keyword5  strings", "without regard to case, in parts of words too", 0, keywordsMultiple},
	{"words:words_position", "the second and the second to last word are the keyword", "keyword  string",
		"one mark at the end is not counted as a word", needsTokens, wordsPosition},
}

func wordCountRange(k *kwargs) check {
	low, high := k.integer("min_words", 0), k.integer("max_words", 0)
	return func(text string) finding {
		n := len(wordRuns(text))
		return result(low <= n && n <= high, "%s; expected %d to %d", count(n, "word"), low, high)
	}
}

func uniqueWordCount(k *kwargs) check {
	asked := k.integer("N", 0)
	return func(text string) finding {
		seen := map[string]bool{}
		for _, w := range split(lower(text)) {
			seen[stripPunct(w)] = true
		}
		return result(len(seen) >= asked, "%s; expected at least %d", count(len(seen), "different word"), asked)
	}
}

func stopWordShare(k *kwargs) check {
	most := k.percentage("percentage")
	return func(text string) finding {
		words, stops := wordRuns(text), 0
		for _, w := range words {
			if stopWords[lower(w)] {
				stops++
			}
		}
		if len(words) == 0 {
			return result(false, "there is no word")
		}
		share := float64(stops) / float64(len(words)) * 100
		return result(share <= most, "%.1f %% stop words; expected at most %g %%", share, most)
	}
}

func conjunctionCount(k *kwargs) check {
	asked := k.integer("small_n", 0)
	return func(text string) finding {
		seen := map[string]bool{}
		for _, w := range split(text) {
			if conjunctions[lower(stripPunct(w))] {
				seen[w] = true
			}
		}
		return result(len(seen) >= asked, "%s; expected at least %d", count(len(seen), "conjunction"), asked)
	}
}

func personNames(k *kwargs) check {
	asked := k.integer("N", 0)
	return func(text string) finding {
		n := 0
		for _, name := range benchNames {
			if strings.Contains(text, name) && hasWord(text, name, false) {
				n++
			}
		}
		return result(n >= asked, "%s; expected at least %d", count(n, "name"), asked)
	}
}

// trigrams are the different sequences of three characters.
func trigrams(s string) map[[3]rune]bool {
	set := map[[3]rune]bool{}
	var last [3]rune
	n := 0
	for _, r := range s {
		last = [3]rune{last[1], last[2], r}
		if n++; n >= 3 {
			set[last] = true
		}
	}
	return set
}

func overlap(k *kwargs) check {
	reference, asked := trigrams(k.text("reference_text")), k.percentage("percentage")
	return func(text string) finding {
		own := trigrams(text)
		if len(own) == 0 {
			return result(false, "the completion has fewer than three characters")
		}
		n := 0
		for t := range own {
			if reference[t] {
				n++
			}
		}
		share := float64(n) / float64(len(own)) * 100
		return result(asked-2 <= share && share <= asked+2, "%.1f %% overlap; expected %g %% ± 2", share, asked)
	}
}

func numberCount(k *kwargs) check {
	asked := k.integer("N", 0)
	return func(text string) finding {
		n := len(digitRuns(dropPunct(text)))
		return result(n == asked, "%s; expected %d", count(n, "number"), asked)
	}
}

func alphabetLoop(text string) finding {
	words := split(dropPunct(text))
	if len(words) == 0 {
		return result(false, "there is no word")
	}
	letter := lower(string(first(words[0])))
	if len(letter) != 1 || letter < "a" || letter > "z" {
		return result(false, "%s does not begin with a letter from a to z", quote(words[0]))
	}
	at := letter[0] - 'a'
	for _, w := range words[1:] {
		at = (at + 1) % 26
		if first(lower(w)) != rune('a'+at) {
			return result(false, "%s must begin with %c", quote(w), 'a'+at)
		}
	}
	return result(true, "%s in alphabetical order", count(len(words), "word"))
}

func threeVowels(text string) finding {
	text = strip(text)
	if n := strings.Count(text, "\n") + 1; n != 1 {
		return result(false, "%s; expected 1 paragraph", count(n, "line"))
	}
	n := 0
	text = lower(text)
	for _, v := range []string{"a", "e", "i", "o", "u"} {
		if strings.Contains(text, v) {
			n++
		}
	}
	return result(n <= 3, "%s; expected at most 3", count(n, "different vowel"))
}

func consonantClusters(text string) finding {
	for _, w := range split(lower(text)) {
		run := 0
		for _, r := range w {
			if run++; !strings.ContainsRune("bcdfghjklmnpqrstvwxyz", r) {
				run = 0
			}
			if run == 2 {
				break
			}
		}
		if run < 2 {
			return result(false, "%s has no two consonants in a row", quote(w))
		}
	}
	return result(true, "every word has two consonants in a row")
}

func tenPalindromes(text string) finding {
	n := 0
	for _, w := range split(lower(dropPunct(text))) {
		if length(w) >= 5 && w == reversed(w) {
			n++
		}
	}
	return result(n >= 10, "%s of five or more characters; expected at least 10", count(n, "palindrome"))
}

// isPrime is about the primes that the original lists: those to 97.
func isPrime(n int) bool {
	if n < 2 || n > 97 {
		return false
	}
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return true
}

func primeLengths(text string) finding {
	for _, w := range split(dropPunct(text)) {
		if n := length(w); !isPrime(n) {
			return result(false, "%s has %s", quote(w), count(n, "character"))
		}
	}
	return result(true, "every word's length is a prime number")
}

func japaneseWords(k *kwargs) check {
	every := k.integer("N", 1)
	return func(text string) finding {
		words := split(text)
		for i := every - 1; i < len(words); i += every {
			w := stripPunct(words[i])
			japanese := strings.ContainsFunc(w, func(r rune) bool {
				return r >= 0x3040 && r <= 0x30ff || r >= 0x4e00 && r <= 0x9fff
			})
			if w != "" && !isDigits(w) && !japanese {
				return result(false, "word %d, %s, is not Japanese", i+1, quote(w))
			}
		}
		return result(true, "every word that must be Japanese is")
	}
}

func startVerb(text string) finding {
	words := wordTokens(text)
	if len(words) == 0 {
		return result(false, "there is no word")
	}
	next := ""
	if len(words) > 1 {
		next = words[1]
	}
	return result(looksLikeVerb(words[0], next), "the first word is %s; expected a verb", quote(words[0]))
}

func limitedRepeats(k *kwargs) check {
	most := k.integer("small_n", 0)
	return func(text string) finding {
		seen := map[string]int{}
		for _, w := range split(dropPunct(lower(text))) {
			if seen[w]++; seen[w] > most {
				return result(false, "%s occurs more than %s", quote(w), count(most, "time"))
			}
		}
		return result(true, "no word occurs more than %s", count(most, "time"))
	}
}

func pronounCount(k *kwargs) check {
	asked := k.integer("N", 0)
	return func(text string) finding {
		n := 0
		for _, w := range wordTokens(strings.ReplaceAll(lower(text), "/", " ")) {
			if pronouns[w] {
				n++
			}
		}
		return result(n >= asked, "%s; expected at least %d", count(n, "pronoun"), asked)
	}
}

func alternateSyllables(text string) finding {
	words := split(lower(dropPunct(text)))
	for i := 1; i < len(words); i++ {
		a, b := syllables(words[i-1]), syllables(words[i])
		if a%2 == b%2 {
			return result(false, "%s and %s have %d and %d syllables", quote(words[i-1]), quote(words[i]), a, b)
		}
	}
	return result(true, "odd and even numbers of syllables alternate")
}

func paragraphLastFirst(text string) finding {
	for _, line := range strings.Split(text, "\n") {
		words := split(stripPunct(lower(strip(line))))
		if len(words) > 0 && words[0] != words[len(words)-1] {
			return result(false, "a line begins with %s and ends with %s", quote(words[0]), quote(words[len(words)-1]))
		}
	}
	return result(true, "each line ends with the word that it begins with")
}

func noConsecutive(text string) finding {
	words := split(dropPunct(lower(text)))
	for i := 1; i < len(words); i++ {
		if first(words[i-1]) == first(words[i]) {
			return result(false, "%s follows %s", quote(words[i]), quote(words[i-1]))
		}
	}
	return result(true, "no two words in a row begin with the same letter")
}

func keywordsMultiple(k *kwargs) check {
	asked := []int{1, 2, 3, 5, 7}
	keywords := make([]string, len(asked))
	for i := range keywords {
		keywords[i] = lower(k.word(fmt.Sprintf("keyword%d", i+1)))
	}
	return func(text string) finding {
		text = lower(text)
		for i, w := range keywords {
			if n := strings.Count(text, w); n != asked[i] {
				return result(false, "keyword %s is found %s; expected %d", quote(w), count(n, "time"), asked[i])
			}
		}
		return result(true, "each keyword occurs as often as expected")
	}
}

func wordsPosition(k *kwargs) check {
	keyword := lower(k.word("keyword"))
	return func(text string) finding {
		words := wordTokens(text)
		n := len(words)
		if n > 0 && strings.Contains(punctuation, words[n-1]) {
			n--
		}
		if n < 2 {
			return result(false, "%s; expected 2 or more", count(n, "word"))
		}
		a, b := words[1], words[n-2]
		return result(lower(a) == keyword && lower(b) == keyword,
			"the second word is %s, the second to last %s; expected %s", quote(a), quote(b), quote(keyword))
	}
}

// syllables estimates the syllables of an English word in lower case: runs of
// vowels, less a silent e at the end, and one at least.
func syllables(word string) int {
	n, vowel := 0, false
	for i := range len(word) {
		is := strings.IndexByte("aeiouy", word[i]) >= 0
		if is && !vowel {
			n++
		}
		vowel = is
	}
	last := len(word) - 1
	silent := last > 1 && word[last] == 'e' && strings.IndexByte("aeiouy", word[last-1]) < 0 &&
		!(word[last-1] == 'l' && strings.IndexByte("aeiouy", word[last-2]) < 0)
	if silent && n > 1 {
		n--
	}
	return max(n, 1)
}
