package instruct

import (
	"strings"
	"unicode/utf8"
)

// wordTokens imitates nltk.word_tokenize: sentences after punktSentences, cut
// into words, marks and the parts of English contractions as the Penn Treebank
// does (Marcus, Santorini and Marcinkiewicz, Building a Large Annotated Corpus
// of English, 1993). Opening double quotes become ““”, closing ones “”””.
func wordTokens(text string) []string {
	var tokens []string
	for _, sentence := range punktSentences(text) {
		chunks := split(sentence)
		for i, chunk := range chunks {
			c := cutter{chunk: chunk, last: i == len(chunks)-1, tokens: tokens}
			c.cut()
			tokens = c.tokens
		}
	}
	return tokens
}

// cutter cuts one run of characters without white space.
type cutter struct {
	chunk  string
	last   bool // of its sentence: a final full stop is a token
	closed bool // a quotation mark at its start closes a quotation
	from   int  // start of the word that is being read
	tokens []string
}

func (c *cutter) cut() {
	end := len(c.chunk)
	if c.last {
		end = finalStop(c.chunk)
	}
	for i := 0; i < end; {
		token, size := c.mark(i, end)
		if size == 0 {
			_, n := utf8.DecodeRuneInString(c.chunk[i:])
			i += n
			continue
		}
		c.word(i)
		c.tokens = append(c.tokens, token)
		i += size
		c.from = i
	}
	c.word(end)
	if end < len(c.chunk) {
		c.tokens = append(c.tokens, ".")
		rest := cutter{chunk: c.chunk[end+1:], closed: true, tokens: c.tokens}
		rest.cut()
		c.tokens = rest.tokens
	}
}

// finalStop is the place of the full stop that ends the sentence, quotes and
// brackets after it aside, or the length of chunk.
func finalStop(chunk string) int {
	body := strings.TrimRight(chunk, "])}>\"'»”’")
	if strings.HasSuffix(body, ".") && !strings.HasSuffix(body, "..") && len(body) > 1 {
		return len(body) - 1
	}
	return len(chunk)
}

// mark reads a token that stands alone at chunk[i:end]; size 0 means that the
// character belongs to a word.
func (c *cutter) mark(i, end int) (token string, size int) {
	rest := c.chunk[i:end]
	r, n := utf8.DecodeRuneInString(rest)
	switch {
	case strings.ContainsRune("«“‘„»”’;@#$%&?!*[](){}<>", r):
		return rest[:n], n
	case r == '"':
		if i == 0 && !c.closed || i > 0 && strings.IndexByte("([{<", c.chunk[i-1]) >= 0 {
			return "``", 1
		}
		return "''", 1
	case strings.HasPrefix(rest, "''"):
		return "''", 2
	case r == '`':
		if strings.HasPrefix(rest, "``") {
			n = 2
		}
		return rest[:n], n
	case strings.HasPrefix(rest, "--"):
		return "--", 2
	case strings.HasPrefix(rest, ".."):
		n := len(rest) - len(strings.TrimLeft(rest, "."))
		return rest[:n], n
	case (r == ':' || r == ',') && !(len(rest) > 1 && isDecimal(first(rest[1:]))):
		return rest[:1], 1
	}
	return "", 0
}

// contractions are words of two parts, by the length of the first.
var contractions = map[string]int{
	"cannot": 3, "d'ye": 1, "gimme": 3, "gonna": 3, "gotta": 3, "lemme": 3,
	"more'n": 4, "wanna": 3, "'tis": 2, "'twas": 2,
}

// suffixes are the endings that are tokens of their own.
var suffixes = []string{"n't", "'ll", "'re", "'ve", "'s", "'m", "'d", "'"}

// word adds the word chunk[from:to], cut at a contraction.
func (c *cutter) word(to int) {
	w := c.chunk[c.from:to]
	if w == "" {
		return
	}
	low := strings.ToLower(w)
	if at := contractions[low]; at > 0 {
		c.tokens = append(c.tokens, w[:at], w[at:])
		return
	}
	for _, s := range suffixes {
		if len(low) == len(w) && len(w) > len(s) && strings.HasSuffix(low, s) && w[len(w)-len(s)-1] != '\'' {
			c.tokens = append(c.tokens, w[:len(w)-len(s)], w[len(w)-len(s):])
			return
		}
	}
	c.tokens = append(c.tokens, w)
}
