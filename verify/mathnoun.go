package verify

import (
	"regexp"
	"strings"

	"github.com/rlzero/rlzero/verify/internal/mathans"
)

// A noun after a number says what is counted. Where the reference names one and the answer
// names another, the answer counts something else: 12 oranges do not answer 12 apples. An
// answer without a noun is judged by its number alone, and so is one beside a reference
// without. Units of measure are no nouns here: they are converted.

var (
	// nounAfter is a number with the words after it, up to the end or a mark.
	nounAfter = regexp.MustCompile(`^\W{0,4}[-−]?\d[\d.,]*((?:[ ~-]+[A-Za-z][A-Za-z'’-]*){1,4})\s*(?:$|[.,;:!?)*"](?:\s|$))`)
	// nounGroup is a number with words in a group of LaTeX after it, at the end.
	nounGroup = regexp.MustCompile(`^\W{0,4}[-−]?\d[\d.,]*[\s\\,~]*\\(?:text|mathrm|textbf|mbox|textrm|textnormal)\s*\{[\s~]*([A-Za-z][A-Za-z\s'’-]*?)[\s~.]*\}\W*$`)
	// noNoun begins words that do not say what is counted.
	noNoun = regexp.MustCompile(`^(?i:a|about|after|all|already|also|altogether|am|an|and|are|as|at|away|because|before|but|by|can|each|exactly|extra|for|from|had|has|have|here|if|in|into|is|it|its|left|less|longer|` +
		`more|now|of|off|older|on|only|or|out|over|overall|per|percent|pct|percentage|pm|remain|remaining|since|so|still|than|that|the|then|there|times|to|today|together|too|total|until|was|were|when|which|while|will|with|would|years? old|younger)\b`)
)

// odd are plurals that no rule of endings finds.
var odd = map[string]string{"people": "person", "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth", "mice": "mouse", "geese": "goose", "dice": "die", "leaves": "leaf", "knives": "knife", "wives": "wife", "halves": "half"}

// counted is what a short answer counts.
type counted struct {
	nouns map[string]bool // in the singular
	unit  bool            // it is measured: feet, dollars
}

// countedIn reads what stands after the number of a text; zero: nothing that says it.
func countedIn(text string) counted {
	text = strings.Trim(strings.TrimSpace(text), "$")
	m := nounGroup.FindStringSubmatch(text)
	if m == nil {
		m = nounAfter.FindStringSubmatch(text)
	}
	if m == nil {
		return counted{}
	}
	words := strings.Fields(strings.ReplaceAll(m[1], "~", " "))
	c := counted{nouns: map[string]bool{}, unit: mathans.IsUnit(strings.Join(words, " "))}
	for _, w := range words {
		switch {
		case c.unit, noNoun.MatchString(w):
			return c
		case mathans.IsUnit(w):
			c.unit = true
		case mathans.KnownWord(w):
			return counted{} // a formula
		case len(w) > 2: // shorter ones are variables
			c.nouns[singular(strings.ToLower(w))] = true
		}
	}
	return c
}

// singular cuts the ending of a plural off. It need not give the word itself, only the same
// for both of its forms.
func singular(word string) string {
	if one, ok := odd[word]; ok {
		return one
	}
	word = strings.TrimSuffix(strings.ReplaceAll(word, "’", "'"), "'s")
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return strings.TrimSuffix(word, "ies") + "y"
	case strings.HasSuffix(word, "ss"):
		return word
	case len(word) > 4 && strings.HasSuffix(word, "es") && strings.ContainsAny(word[len(word)-3:len(word)-2], "sxzo"), len(word) > 5 && (strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "shes")):
		return strings.TrimSuffix(word, "es")
	case len(word) > 2:
		return strings.TrimSuffix(word, "s")
	}
	return word
}

// countsOther says that an answer counts something else than the reference. One noun in common
// is enough: red apples are apples.
func countsOther(reference, answer string) bool {
	want, got := countedIn(reference), countedIn(answer)
	if want.nothing() || got.nothing() || want.unit && got.unit {
		return false
	}
	if want.unit != got.unit {
		return true
	}
	for noun := range got.nouns {
		if want.nouns[noun] {
			return false
		}
	}
	return true
}

func (c counted) nothing() bool { return !c.unit && len(c.nouns) == 0 }
