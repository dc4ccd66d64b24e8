package tasks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/verify"
)

// Texts and words: binary_alternation, isomorphic_strings, ransom_note,
// palindrome_generation, palindrome_partitioning, letter_counting,
// spell_backward, caesar_cipher, word_sorting, word_sequence_reversal,
// group_anagrams, needle_haystack. Words are made up by [word].

const (
	trueOrFalse = "The answer is True or False."
	wordList    = "The answer is the words with commas between."
)

// yesNo is Python's text of a truth value.
func yesNo(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

func init() {
	type settings struct {
		MinN      int     `toml:"min_n" range:"[3,2000]" about:"minimum number of digits"`
		MaxN      int     `toml:"max_n" range:"[3,2000]" about:"maximum number of digits"`
		PSolvable float64 `toml:"p_solvable" range:"[0,1]" about:"share of problems that are made to have a solution"`
		Balanced  bool    `toml:"balanced" about:"leave one problem in 10 without a solution; false: p_solvable and chance decide"`
	}
	generate(family[settings]{
		name: "binary_alternation", summary: "count the swaps that make zeros and ones alternate",
		about:      "find the smallest number of swaps that makes a binary text alternate, or -1 if none does. Right: a number equal to it.",
		format:     "The answer is that number, or -1 if no swaps will do.",
		defaults:   settings{10, 30, 0.8, true},
		curriculum: []Attribute{{"n", []float64{30, 50, 500, 1000}, []string{"max_n"}}},
		check:      sameNumber,
		balance: halves("without a solution", "with a solution", func(p problem) bool { return p.answer == "-1" },
			func(s *settings) (float64, bool) { return rareKind, s.Balanced }),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinN, s.MaxN)
			ones := (n + r.Between(0, 1)) / 2
			if !r.Chance(s.PSolvable) {
				ones = r.Between(0, n)
			}
			text := []byte(strings.Repeat("1", ones) + strings.Repeat("0", n-ones))
			shuffle(r, text)
			// Each swap mends two places, one of either digit.
			best := -1
			for first := range byte(2) {
				places, wrong := [2]int{(n + 1) / 2, n / 2}, 0 // even and odd places
				for i, c := range text {
					if (c-'0')^byte(i%2) != first {
						wrong++
					}
				}
				if places[1-first] == ones && (best < 0 || wrong/2 < best) {
					best = wrong / 2
				}
			}
			return problem{
				question: fmt.Sprintf("A swap exchanges any two digits of a text, neighbours or not. How many swaps does it take at least until no two neighbours are equal in %s?", text),
				answer:   strconv.Itoa(best),
			}, true
		},
	})
}

// isomorphic tells whether letters of a can be renamed one to one to give b.
func isomorphic(a, b string) bool {
	to, from := map[byte]byte{}, map[byte]byte{}
	for i := range len(a) {
		x, seen := to[a[i]]
		y, taken := from[b[i]]
		if seen && x != b[i] || taken && y != a[i] {
			return false
		}
		to[a[i]], from[b[i]] = b[i], a[i]
	}
	return true
}

func init() {
	type settings struct {
		MinStringLength int     `toml:"min_string_length" range:"[2,1000]" about:"minimum number of letters"`
		MaxStringLength int     `toml:"max_string_length" range:"[2,1000]" about:"maximum number of letters"`
		PSolvable       float64 `toml:"p_solvable" range:"[0,1]" about:"share of pairs that are equal up to renaming letters"`
		Balanced        bool    `toml:"balanced" about:"keep to p_solvable exactly; false: other pairs may be solvable by chance"`
	}
	generate(family[settings]{
		name: "isomorphic_strings", summary: "decide whether renaming letters turns one text into another",
		about:      "decide whether a one-to-one renaming of letters turns one text into the other. Right: True or False, in any case.",
		format:     trueOrFalse,
		defaults:   settings{2, 10, 0.5, true},
		curriculum: []Attribute{{"string_length", []float64{10, 50, 100, 1000}, []string{"min_string_length", "max_string_length"}}},
		check:      sameFold,
		balance:    truthBalance(func(s *settings) (float64, bool) { return s.PSolvable, s.Balanced }),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinStringLength, s.MaxStringLength)
			a := letters(r, lowercase[:r.Between(2, min(26, max(2, n)))], n)
			renamed := []byte(lowercase)
			shuffle(r, renamed)
			b := []byte(a)
			for i := range b {
				b[i] = renamed[a[i]-'a']
			}
			if !r.Chance(s.PSolvable) {
				b[r.Between(0, n-1)] = lowercase[r.Between(0, 25)]
			}
			return problem{
				question: fmt.Sprintf("Every letter of %q is to be replaced, equal letters by equal ones and different letters by different ones. Can that give %q?", a, b),
				answer:   yesNo(isomorphic(a, string(b))),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinNoteLength     int     `toml:"min_note_length" range:"[1,1000]" about:"minimum number of letters of the note"`
		MaxNoteLength     int     `toml:"max_note_length" range:"[1,1000]" about:"maximum number of letters of the note"`
		MinMagazineLength int     `toml:"min_magazine_length" range:"[2,2000]" about:"minimum number of letters of the magazine"`
		MaxMagazineLength int     `toml:"max_magazine_length" range:"[2,2000]" about:"maximum number of letters of the magazine"`
		PSolvable         float64 `toml:"p_solvable" range:"[0,1]" about:"share of notes that can be written with the magazine's letters"`
		Balanced          bool    `toml:"balanced" about:"keep to p_solvable exactly; false: notes that cannot be written are rarer, because some lengths allow none"`
	}
	generate(family[settings]{
		name: "ransom_note", summary: "decide whether a text can be made of another's letters",
		about:    "decide whether the letters of a text are enough to write a note. Right: True or False, in any case.",
		format:   trueOrFalse,
		defaults: settings{1, 10, 2, 30, 0.5, true},
		curriculum: []Attribute{
			{"note_length", []float64{10, 50, 100, 500}, []string{"min_note_length", "max_note_length"}},
			{"magazine_length", []float64{50, 100, 500, 1000}, []string{"min_magazine_length", "max_magazine_length"}},
		},
		check: sameFold,
		valid: func(s *settings) error {
			if s.MaxMagazineLength <= s.MaxNoteLength {
				return outOfRange("max_magazine_length", s.MaxMagazineLength, "a whole number above max_note_length")
			}
			return nil
		},
		balance: truthBalance(func(s *settings) (float64, bool) { return s.PSolvable, s.Balanced }),
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinNoteLength, s.MaxNoteLength)
			magazine := []byte(letters(r, lowercase, r.Between(max(n, s.MinMagazineLength), s.MaxMagazineLength)))
			shuffle(r, magazine)
			note := slices.Clone(magazine[:n])
			enough := r.Chance(s.PSolvable)
			if !enough { // of one letter the note has more
				c := string(lowercase[r.Between(0, 25)])
				more := strings.Count(string(magazine), c) + 1
				if more > n {
					return problem{}, false
				}
				copy(note, strings.Repeat(c, more))
			}
			shuffle(r, note)
			shuffle(r, magazine)
			return problem{
				question: fmt.Sprintf("Letters are cut out of the text %q, each once. Are they enough to lay the text %q?", magazine, note),
				answer:   yesNo(enough),
			}, true
		},
	})
}

func reversed(text string) string {
	r := []rune(text)
	slices.Reverse(r)
	return string(r)
}

func init() {
	type settings struct {
		MinLength int `toml:"min_length" range:"[2,1000]" about:"minimum number of letters"`
		MaxLength int `toml:"max_length" range:"[2,1000]" about:"maximum number of letters"`
	}
	generate(family[settings]{
		name: "palindrome_generation", summary: "make a palindrome from given letters",
		about:      "put letters in an order that reads the same both ways. Right: every palindrome of exactly these letters, in any case.",
		format:     "The answer is one word of all these letters.",
		defaults:   settings{3, 10},
		curriculum: []Attribute{{"length", []float64{10, 50, 100, 500}, []string{"min_length", "max_length"}}},
		check: func(row verify.Problem, answer string) error {
			var given []string
			if err := needed(row, "letters", &given); err != nil {
				return err
			}
			answer = strings.ToLower(answer)
			a, b := []rune(answer), []rune(strings.ToLower(strings.Join(given, "")))
			slices.Sort(a)
			slices.Sort(b)
			switch {
			case answer != reversed(answer):
				return fmt.Errorf("it is not a palindrome")
			case !slices.Equal(a, b):
				return fmt.Errorf("its letters differ from those given")
			}
			return nil
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinLength, s.MaxLength)
			half := letters(r, lowercase, n/2)
			answer := half + letters(r, lowercase, n%2) + reversed(half)
			given := strings.Split(answer, "")
			slices.Sort(given)
			key := strings.Join(given, "")
			shuffle(r, given)
			return problem{
				key:      key,
				question: "Which order of these letters reads the same forwards and backwards? " + strings.Join(given, " "),
				answer:   answer, metadata: map[string]any{"letters": given},
			}, true
		},
	})
}

// maxPartitionLetters bounds the text: n letters have at most 2^(n-1)
// partitions.
const maxPartitionLetters = 15

// partitions lists all ways to cut text into palindromes.
func partitions(text string) [][]string {
	if text == "" {
		return [][]string{nil}
	}
	var all [][]string
	for i := 1; i <= len(text); i++ {
		if head := text[:i]; head == reversed(head) {
			for _, rest := range partitions(text[i:]) {
				all = append(all, append([]string{head}, rest...))
			}
		}
	}
	return all
}

// setOf writes lists of texts as a set: their JSON in order, each once.
func setOf(lists [][]string) []string {
	out := make([]string, len(lists))
	for i, list := range lists {
		out[i] = fmt.Sprintf("%q", list)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func jsonLists(lists [][]string) string {
	texts := make([]string, len(lists))
	for i, list := range lists {
		texts[i] = `["` + strings.Join(list, `", "`) + `"]`
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func init() {
	type settings struct {
		MinStringLen int `toml:"min_string_len" range:"[1,15]" about:"minimum number of letters"`
		MaxStringLen int `toml:"max_string_len" range:"[2,15]" about:"maximum number of letters"`
		MinPart      int `toml:"min_substring_palindrome_len" range:"[1,15]" about:"minimum number of letters of a planted palindrome"`
		MaxPart      int `toml:"max_substring_palindrome_len" range:"[1,15]" about:"maximum number of letters of a planted palindrome"`
	}
	generate(family[settings]{
		name: "palindrome_partitioning", summary: "find all ways to cut a text into palindromes",
		about:    "list every way to cut a text into palindromes. Right: a list of lists with all of them, in any order.",
		format:   `The answer is a list of lists in JSON, such as [["a","a","b"],["aa","b"]].`,
		defaults: settings{5, 15, 1, 5},
		curriculum: []Attribute{
			{"string_len", []float64{6, 8, 10, 15}, []string{"max_string_len"}},
			{"substring_palindrome_len", []float64{1, 3, 5, 7}, []string{"max_substring_palindrome_len"}},
		},
		check: func(row verify.Problem, answer string) error {
			var want, got [][]string
			if err := parseJSON(row.Answer, &want); err != nil || len(want) == 0 {
				return lacks("the row's answer is not a list of lists")
			}
			if text := strings.Join(want[0], ""); len(text) <= maxPartitionLetters {
				want = partitions(text)
			}
			if err := parseJSON(answer, &got); err != nil {
				return err
			}
			return judged(row, slices.Equal(setOf(got), setOf(want)))
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			n := r.Between(s.MinStringLen, s.MaxStringLen)
			text := ""
			for len(text) < n {
				part := r.Between(s.MinPart, s.MaxPart)
				half := letters(r, lowercase, part/2)
				text += half + letters(r, lowercase, part%2) + reversed(half)
			}
			text = text[:n]
			all := partitions(text)
			return problem{
				key:      text,
				question: fmt.Sprintf("In which ways can the text %q be cut into pieces that each read the same forwards and backwards? List all of them, pieces of one letter included.", text),
				answer:   jsonLists(all),
			}, len(all) <= 500
		},
	})
}

func init() {
	type settings struct {
		MinWords int `toml:"min_words" range:"[1,200]" about:"minimum number of words"`
		MaxWords int `toml:"max_words" range:"[1,200]" about:"maximum number of words"`
	}
	generate(family[settings]{
		name: "letter_counting", summary: "count a letter in made-up words",
		about:      "count how often a letter appears in a text of made-up words. Right: a number equal to the count.",
		format:     wholeNumber,
		defaults:   settings{5, 15},
		curriculum: []Attribute{{"words", []float64{5, 7, 9, 11, 13, 15, 17, 19}, []string{"min_words", "max_words"}}},
		check:      sameNumber,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			text := strings.Join(words(r, r.Between(s.MinWords, s.MaxWords), 3, 10), " ")
			letter := string(lowercase[r.Between(0, 25)])
			if r.Chance(0.9) {
				letter = string(strings.ReplaceAll(text, " ", "")[r.Between(0, 2)])
			}
			return problem{
				question: fmt.Sprintf("How often does the letter %q stand in %q?", letter, text),
				answer:   strconv.Itoa(strings.Count(text, letter)),
			}, true
		},
	})
	generate(family[settings]{
		name: "word_sequence_reversal", summary: "reverse a list of made-up words",
		about:      "write a list of made-up words in reverse order. Right: the words in that order.",
		format:     wordList,
		defaults:   settings{3, 8},
		curriculum: []Attribute{{"words", []float64{10, 25, 50, 100}, []string{"min_words", "max_words"}}},
		check:      sameWords,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			list := words(r, r.Between(s.MinWords, s.MaxWords), 3, 10)
			question := "Write these words in the opposite order: " + strings.Join(list, ", ")
			slices.Reverse(list)
			return problem{question: question, answer: strings.Join(list, ", ")}, len(list) > 1
		},
	})
}

// sameWords: the reference's words in its order, with commas between.
func sameWords(row verify.Problem, answer string) error {
	split := func(text string) []string {
		list := strings.Split(text, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list
	}
	return judged(row, slices.Equal(split(answer), split(row.Answer)))
}

func init() {
	type settings struct {
		MinWordLen int `toml:"min_word_len" range:"[3,30]" about:"minimum number of letters"`
		MaxWordLen int `toml:"max_word_len" range:"[3,30]" about:"maximum number of letters"`
	}
	generate(family[settings]{
		name: "spell_backward", summary: "spell a made-up word backwards",
		about:      "spell a made-up word backwards. Right: exactly that, in any case.",
		format:     "The answer is one word.",
		defaults:   settings{3, 10},
		curriculum: []Attribute{{"word_len", []float64{3, 5, 7, 9, 11}, []string{"min_word_len", "max_word_len"}}},
		check:      sameFold,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			w := word(r, r.Between(s.MinWordLen, s.MaxWordLen))
			return problem{key: w, question: "Spell " + w + " from its last letter to its first.", answer: reversed(w)}, w != reversed(w)
		},
	})
}

func init() {
	type settings struct {
		MinWords    int `toml:"min_words" range:"[1,100]" about:"minimum number of words"`
		MaxWords    int `toml:"max_words" range:"[1,100]" about:"maximum number of words"`
		MinRotation int `toml:"min_rotation" range:"[1,25]" about:"smallest shift"`
		MaxRotation int `toml:"max_rotation" range:"[1,25]" about:"largest shift"`
	}
	generate(family[settings]{
		name: "caesar_cipher", summary: "undo a shift of all letters",
		about: `undo a shift of all letters in a text of made-up words. The shift is given, because
made-up words do not reveal it. Right: the text; white space may differ.`,
		format:   "The answer is the text in capital letters.",
		defaults: settings{3, 20, 1, 25},
		curriculum: []Attribute{
			{"rotation", []float64{5, 15, 25}, []string{"min_rotation", "max_rotation"}},
			{"words", []float64{5, 15, 25, 50}, []string{"min_words", "max_words"}},
		},
		check: sameFields,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			text := strings.ToUpper(strings.Join(words(r, r.Between(s.MinWords, s.MaxWords), 3, 9), " "))
			shift := rune(r.Between(s.MinRotation, s.MaxRotation))
			cipher := strings.Map(func(c rune) rune {
				if c == ' ' {
					return c
				}
				return 'A' + (c-'A'+shift)%26
			}, text)
			return problem{
				question: fmt.Sprintf("Every letter of a text was moved %d places on in the alphabet, Z being followed by A. It became: %s\nWhat was the text?", shift, cipher),
				answer:   text,
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinWords      int `toml:"min_words" range:"[2,200]" about:"minimum number of words"`
		MaxWords      int `toml:"max_words" range:"[2,200]" about:"maximum number of words"`
		MinWordLength int `toml:"min_word_length" range:"[3,20]" about:"minimum number of letters of a word"`
		MaxWordLength int `toml:"max_word_length" range:"[4,20]" about:"maximum number of letters of a word"`
	}
	generate(family[settings]{
		name: "word_sorting", summary: "sort made-up words",
		about:    "sort made-up words, some with a capital letter, by their character codes. Right: exactly these words in that order.",
		format:   wordList,
		defaults: settings{3, 10, 3, 12},
		curriculum: []Attribute{
			{"num_words", []float64{5, 10, 25, 50, 100}, []string{"min_words", "max_words"}},
			{"word_length", []float64{4, 5, 10, 15}, []string{"min_word_length", "max_word_length"}},
		},
		check: sameWords,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			list := words(r, r.Between(s.MinWords, s.MaxWords), s.MinWordLength, s.MaxWordLength)
			for i, w := range list {
				if r.Chance(0.2) {
					list[i] = strings.ToUpper(w[:1]) + w[1:]
				}
			}
			question := ": " + strings.Join(list, ", ")
			slices.Sort(list)
			key, order := strings.Join(list, ","), "ascending"
			if r.Chance(0.5) {
				order = "descending"
				slices.Reverse(list)
			}
			return problem{
				key:      order + ":" + key,
				question: "Sort these words in " + order + " order of their ASCII codes, in which all capital letters come before all small ones" + question,
				answer:   strings.Join(list, ", "),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinAnagramGroups int `toml:"min_anagram_groups" range:"[2,50]" about:"minimum number of groups"`
		MaxAnagramGroups int `toml:"max_anagram_groups" range:"[2,50]" about:"maximum number of groups"`
		MaxWordsPerGroup int `toml:"max_words_per_group" range:"[2,6]" about:"words of a group at most; at least 2"`
	}
	groups := func(lists [][]string) []string {
		for _, list := range lists {
			slices.Sort(list)
		}
		return setOf(lists)
	}
	generate(family[settings]{
		name: "group_anagrams", summary: "group made-up words of the same letters",
		about: `group made-up words that have the same letters. Right: a list of lists with these
groups, in any order.`,
		format:   `The answer is a list of lists in JSON, such as [["tea","eat"],["on","no"]].`,
		defaults: settings{2, 10, 5},
		curriculum: []Attribute{
			{"anagram_groups", []float64{5, 10, 25, 50}, []string{"min_anagram_groups", "max_anagram_groups"}},
			{"words_per_group", []float64{2, 3, 4, 5}, []string{"max_words_per_group"}},
		},
		check: func(row verify.Problem, answer string) error {
			var want, got [][]string
			if err := parseJSON(row.Answer, &want); err != nil || len(want) == 0 {
				return lacks("the row's answer is not a list of lists")
			}
			if err := parseJSON(answer, &got); err != nil {
				return err
			}
			return judged(row, len(got) == len(want) && slices.Equal(groups(got), groups(want)))
		},
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			var lists [][]string
			var all []string
			for _, stem := range words(r, r.Between(s.MinAnagramGroups, s.MaxAnagramGroups), 4, 8) {
				seen := map[string]bool{}
				b := []byte(stem)
				var group []string
				for tries := r.Between(2, s.MaxWordsPerGroup) * 4; len(group) < tries/4 && tries > 0; tries-- {
					if shuffle(r, b); !seen[string(b)] {
						seen[string(b)] = true
						group = append(group, string(b))
					}
				}
				slices.Sort(b)
				lists, all = append(lists, group), append(all, group...)
				for _, other := range lists[:len(lists)-1] {
					o := []byte(other[0])
					if slices.Sort(o); string(o) == string(b) {
						return problem{}, false
					}
				}
			}
			groups(lists)
			key := strings.Join(slices.Sorted(slices.Values(all)), ",")
			shuffle(r, all)
			return problem{
				key:      key,
				question: `Which of these words have the same letters? Put every word into its group: ["` + strings.Join(all, `", "`) + `"]`,
				answer:   jsonLists(lists),
			}, true
		},
	})
}

func init() {
	type settings struct {
		MinNumStatements int `toml:"min_num_statements" range:"[2,1000]" about:"minimum number of sentences"`
		MaxNumStatements int `toml:"max_num_statements" range:"[2,1000]" about:"maximum number of sentences"`
	}
	verbs := []string{"likes", "loves", "dislikes", "fears", "praises", "studies", "avoids", "collects", "paints", "sells"}
	things := []string{"apples", "bridges", "canoes", "clouds", "comets", "dragons", "engines", "ferns", "fog", "gardens", "geometry", "gold", "harbours", "honey",
		"islands", "jazz", "kites", "lanterns", "maps", "mirrors", "moss", "mushrooms", "opera", "pears", "pepper", "poems", "rain", "rivers", "salt", "ships",
		"snow", "stamps", "tea", "tigers", "trains", "tulips", "violins", "walnuts", "windmills", "wool"}
	generate(family[settings]{
		name: "needle_haystack", summary: "find one sentence among many",
		about:      "find who is said to do something among many sentences about people with made-up names. Right: the name, in any case.",
		format:     "The answer is one name.",
		defaults:   settings{10, 100},
		curriculum: []Attribute{{"num_statements", []float64{10, 100, 500, 1000}, []string{"min_num_statements", "max_num_statements"}}},
		check:      sameFold,
		draw: func(s *settings, r *random.Rand) (problem, bool) {
			names := words(r, r.Between(s.MinNumStatements, s.MaxNumStatements), 4, 8)
			needle := r.Between(0, len(names)-1)
			fact := [2]string{pick(r, verbs), pick(r, things)}
			var text []string
			for i, name := range names {
				names[i] = strings.ToUpper(name[:1]) + name[1:]
				said := fact
				for i != needle && said == fact {
					said = [2]string{pick(r, verbs), pick(r, things)}
				}
				text = append(text, names[i]+" "+said[0]+" "+said[1]+".")
			}
			return problem{
				question: fmt.Sprintf("%s\nWho %s %s?", strings.Join(text, " "), fact[0], fact[1]),
				answer:   names[needle],
			}, true
		},
	})
}
