package verify

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
)

func init() {
	Register(Entry{
		Name:    "bleu",
		Summary: "sentence BLEU as in sacrebleu, from 0 to 1",
		Doc: `bleu: sentence BLEU up to 4-grams, divided by 100.

Scores equal those of sacrebleu 2.6.0 (sentence_bleu). All references are used together.

` + metricRowDoc + `
Options
smoothing count of an n-gram order without a match: "exp" halves it for each such order,
          "floor" uses 0.1, "add-k" adds 1 to all orders but the first, "none" makes the
          score 0.
          Default "exp".
tokens    "13a" (the tokenizer of mteval-v13a) or "char". Default "13a".
effective_order
          true: n-gram orders longer than the text are ignored. Default true.
` + metricExtractDoc + `
Not scored when the row has neither answer nor references.
`,
		New: newBLEU,
	})
	registerMetric("chrf", "chrF: overlap of character n-grams up to 6, as in sacrebleu",
		`chrf: F2 of character n-grams up to 6, without white space, divided by 100
(sacrebleu 2.6.0, sentence_chrf).
`, chrF)
}

type bleuOptions struct {
	metricOptions
	Smoothing      string `toml:"smoothing"`
	Tokens         string `toml:"tokens"`
	EffectiveOrder bool   `toml:"effective_order"`
}

func newBLEU(options json.RawMessage) (Verifier, error) {
	o := bleuOptions{metricOptions{ExtractNone}, "exp", "13a", true}
	if err := DecodeOptions(options, &o); err != nil {
		return nil, err
	}
	if err := oneOf("smoothing", o.Smoothing, "exp", "none", "add-k", "floor"); err != nil {
		return nil, err
	}
	if err := oneOf("tokens", o.Tokens, "13a", "char"); err != nil {
		return nil, err
	}
	score := func(text string, references []string) float64 {
		return o.statistics(text, references).bleu(o.Smoothing, o.EffectiveOrder) / 100
	}
	return metric{o.Extract, "bleu", score, false}, o.validate()
}

const bleuOrder = 4

// bleuStatistics of texts add up to those of a corpus.
type bleuStatistics struct {
	correct, total            [bleuOrder]float64
	textLength, referenceSize int
}

func (o bleuOptions) statistics(text string, references []string) bleuStatistics {
	got := o.tokenize(text)
	s := bleuStatistics{textLength: len(got)}
	best := map[string]int{}
	closest := math.MaxInt
	for _, r := range references {
		want := o.tokenize(r)
		distance := max(len(want)-len(got), len(got)-len(want))
		if distance < closest || distance == closest && len(want) < s.referenceSize {
			closest, s.referenceSize = distance, len(want)
		}
		for n := 1; n <= bleuOrder; n++ {
			for gram, k := range ngrams(want, n) {
				best[gram] = max(best[gram], k)
			}
		}
	}
	for n := 1; n <= bleuOrder; n++ {
		grams := ngrams(got, n)
		s.correct[n-1] = float64(overlap(grams, best))
		s.total[n-1] = float64(max(0, len(got)-n+1))
	}
	return s
}

// ngrams counts the runs of n tokens; tokens hold no spaces.
func ngrams(tokens []string, n int) map[string]int {
	counts := map[string]int{}
	for i := 0; i+n <= len(tokens); i++ {
		counts[strings.Join(tokens[i:i+n], " ")]++
	}
	return counts
}

// bleu is the score from 0 to 100 (Papineni et al., ACL 2002; smoothing as in
// sacrebleu's BLEU.compute_bleu).
func (s bleuStatistics) bleu(smoothing string, effectiveOrder bool) float64 {
	if s.correct == [bleuOrder]float64{} || s.textLength == 0 {
		return 0
	}
	const addK, floor = 1, 0.1 // sacrebleu's defaults
	logs, orders, missing := 0.0, bleuOrder, 1.0
	used := 0
	for n := range bleuOrder {
		if smoothing == "add-k" && n > 0 {
			s.correct[n] += addK
			s.total[n] += addK
		}
		if s.total[n] == 0 {
			break
		}
		used = n + 1
		precision := 100 * s.correct[n] / s.total[n]
		if s.correct[n] == 0 {
			switch smoothing {
			case "exp":
				missing *= 2
				precision = 100 / (missing * s.total[n])
			case "floor":
				precision = 100 * floor / s.total[n]
			}
		}
		logs += math.Log(precision) // log 0 = -∞ makes the score 0
	}
	if effectiveOrder {
		orders = used
	} else if used < orders {
		return 0
	}
	penalty := 1.0
	if s.textLength < s.referenceSize {
		penalty = math.Exp(1 - float64(s.referenceSize)/float64(s.textLength))
	}
	return penalty * math.Exp(logs/float64(orders))
}

func (o bleuOptions) tokenize(text string) []string {
	text = strings.TrimRightFunc(text, isPythonSpace)
	if o.Tokens == "13a" {
		return tokens13a(text)
	}
	var all []string
	for _, r := range text {
		if !isPythonSpace(r) {
			all = append(all, string(r))
		}
	}
	return all
}

var (
	entities13a = strings.NewReplacer("&quot;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&")
	symbols13a  = regexp.MustCompile("([\\{-\\~\\[-\\` -\\&\\(-\\+\\:-\\@\\/])")
	steps13a    = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{symbols13a, " $1 "},
		{regexp.MustCompile(`([^0-9])([.,])`), "$1 $2 "},
		{regexp.MustCompile(`([.,])([^0-9])`), " $1 $2"},
		{regexp.MustCompile(`([0-9])(-)`), "$1 $2 "},
	}
)

// tokens13a is the tokenizer of mteval-v13a.pl as sacrebleu has it
// (tokenizers/tokenizer_13a.py).
func tokens13a(text string) []string {
	text = strings.ReplaceAll(text, "<skipped>", "")
	text = strings.ReplaceAll(text, "-\n", "")
	text = strings.ReplaceAll(text, "\n", " ")
	if strings.Contains(text, "&") {
		text = entities13a.Replace(text)
	}
	text = " " + text + " "
	for _, s := range steps13a {
		text = s.pattern.ReplaceAllString(text, s.with)
	}
	return pythonFields(text)
}

// chrF is Popović's character F-score (WMT 2015) with β = 2, as sacrebleu's CHRF
// averages it: over the orders that both texts have.
func chrF(text, reference string) float64 {
	const order, beta2 = 6, 4.0
	got, want := charTokens(text), charTokens(reference)
	precision, recall, orders := 0.0, 0.0, 0
	for n := 1; n <= min(order, len(got), len(want)); n++ {
		same := float64(overlap(ngrams(got, n), ngrams(want, n)))
		precision += same / float64(len(got)-n+1)
		recall += same / float64(len(want)-n+1)
		orders++
	}
	if precision+recall == 0 {
		return 0
	}
	precision, recall = precision/float64(orders), recall/float64(orders)
	return (1 + beta2) * precision * recall / (beta2*precision + recall)
}

func charTokens(text string) []string {
	var all []string
	for _, r := range strings.Join(pythonFields(text), "") {
		all = append(all, string(r))
	}
	return all
}
