package verify

import (
	"strings"
	"unicode"
)

func init() {
	registerMetric("f1", "overlap of words after SQuAD's normalisation",
		`f1: harmonic mean of precision and recall of words, as SQuAD counts them.

Both texts are lower-cased, ASCII punctuation and the words a, an, the are removed, and
the rest is split at white space. If neither text has words the score is 1; if only one
has none it is 0. Source: huggingface/transformers, data/metrics/squad_metrics.py.
`, squadF1)
}

// asciiPunctuation is Python's string.punctuation.
const asciiPunctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// squadNormal is normalize_answer of squad_metrics.py.
func squadNormal(text string) string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune(asciiPunctuation, r) {
			return -1
		}
		return r
	}, lower(text))
	return strings.Join(pythonFields(withoutArticles(text)), " ")
}

// withoutArticles replaces what Python's regular expression \b(a|an|the)\b
// matches by a space. \b parts letters and digits of any script from the rest.
func withoutArticles(text string) string {
	var out, word strings.Builder
	flush := func() {
		switch w := word.String(); w {
		case "a", "an", "the":
			out.WriteByte(' ')
		default:
			out.WriteString(w)
		}
		word.Reset()
	}
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' {
			word.WriteRune(r)
			continue
		}
		flush()
		out.WriteRune(r)
	}
	flush()
	return out.String()
}

// squadF1 is compute_f1 of squad_metrics.py.
func squadF1(text, reference string) float64 {
	got, want := strings.Fields(squadNormal(text)), strings.Fields(squadNormal(reference))
	if len(got) == 0 || len(want) == 0 {
		if len(got) == len(want) {
			return 1
		}
		return 0
	}
	same := overlap(countOf(got), countOf(want))
	if same == 0 {
		return 0
	}
	precision, recall := float64(same)/float64(len(got)), float64(same)/float64(len(want))
	return 2 * precision * recall / (precision + recall)
}

func countOf(tokens []string) map[string]int {
	n := map[string]int{}
	for _, t := range tokens {
		n[t]++
	}
	return n
}

// overlap is the size of the intersection of two multisets.
func overlap(a, b map[string]int) int {
	n := 0
	for t, k := range a {
		n += min(k, b[t])
	}
	return n
}
