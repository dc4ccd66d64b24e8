package verify

import (
	"encoding/json"
	"strings"
)

func init() {
	registerROUGE("rouge_1", "single words", func(a, b []string) int { return overlap(ngrams(a, 1), ngrams(b, 1)) }, 1)
	registerROUGE("rouge_2", "pairs of words", func(a, b []string) int { return overlap(ngrams(a, 2), ngrams(b, 2)) }, 2)
	registerROUGE("rouge_l", "the longest common subsequence of words", lcs[string], 1)
}

// registerROUGE adds a ROUGE score over runs of n tokens that counts what two
// texts have in common by common.
func registerROUGE(name, over string, common func(a, b []string) int, n int) {
	Register(Entry{
		Name:    name,
		Summary: "ROUGE over " + over + ", as in rouge-score",
		Doc: name + `: precision, recall or F1 of ` + over + `.

Words are runs of a-z and 0-9 after lower-casing; other characters are dropped. There is
no stemming. Scores equal those of rouge-score 0.1.2.

` + metricRowDoc + `
Options
score     "f", "precision" or "recall". Default "f".
` + metricExtractDoc + `
Not scored when the row has neither answer nor references.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := struct {
				metricOptions
				Score string `toml:"score"`
			}{metricOptions{ExtractNone}, "f"}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			if err := oneOf("score", o.Score, "f", "precision", "recall"); err != nil {
				return nil, err
			}
			score := func(text string, references []string) float64 {
				got, want := rougeTokens(text), rougeTokens(references[0])
				same := float64(common(got, want))
				precision := same / float64(max(1, len(got)-n+1))
				recall := same / float64(max(1, len(want)-n+1))
				switch {
				case o.Score == "precision":
					return precision
				case o.Score == "recall":
					return recall
				case precision+recall == 0:
					return 0
				}
				return 2 * precision * recall / (precision + recall)
			}
			return metric{o.Extract, name, score, true}, o.validate()
		},
	})
}

// rougeTokens is rouge_score's tokenizer without stemming.
func rougeTokens(text string) []string {
	return strings.FieldsFunc(lower(text), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') })
}
