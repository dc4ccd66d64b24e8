package verify

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// metricTolerance is that of fixtures/text_metrics: both sides are float64, and
// the order of their sums differs.
const metricTolerance = 1e-9

type rougeScores struct{ Precision, Recall, F float64 }

// metricPair is a case of fixtures/text_metrics.
type metricPair struct {
	Prediction, Reference  string
	SquadExact             float64 `json:"squad_exact"`
	SquadF1                float64 `json:"squad_f1"`
	SquadNormalized        string  `json:"squad_normalized"`
	Levenshtein            int
	LevenshteinSimilarity  float64 `json:"levenshtein_similarity"`
	IndelSimilarity        float64 `json:"indel_similarity"`
	LCS                    int     `json:"lcs"`
	Rouge1, Rouge2, RougeL rougeScores
	BleuExp                float64 `json:"bleu_exp"`
	BleuNone               float64 `json:"bleu_none"`
	BleuAddK               float64 `json:"bleu_add-k"`
	BleuFloor              float64 `json:"bleu_floor"`
	BleuEffective          float64 `json:"bleu_exp_effective"`
	BleuChar               float64 `json:"bleu_char"`
	Tokens13a              string  `json:"tokens_13a"`
	ChrF                   float64 `json:"chrf"`
}

type metricFixture struct {
	Pairs  []metricPair
	Corpus []struct {
		N    int
		Bleu float64
	}
	SeveralReferences []struct {
		Prediction string
		References []string
		BleuExp    float64 `json:"bleu_exp"`
	} `json:"several_references"`
}

type wantedScore struct {
	verifier string
	options  map[string]any
	score    float64
}

func (p metricPair) wanted() []wantedScore {
	all := []wantedScore{
		{"squad_exact", nil, p.SquadExact}, {"exact", map[string]any{"normalize": "squad"}, p.SquadExact}, {"f1", nil, p.SquadF1},
		{"edit_similarity", nil, p.LevenshteinSimilarity},
		{"edit_similarity", map[string]any{"distance": "indel"}, p.IndelSimilarity},
		{"bleu", nil, p.BleuExp / 100}, {"bleu", map[string]any{"smoothing": "none"}, p.BleuNone / 100},
		{"bleu", map[string]any{"smoothing": "add-k"}, p.BleuAddK / 100}, {"bleu", map[string]any{"smoothing": "floor"}, p.BleuFloor / 100},
		{"bleu", map[string]any{"effective_order": true}, p.BleuEffective / 100}, {"bleu", map[string]any{"tokens": "char"}, p.BleuChar / 100},
		{"chrf", nil, p.ChrF / 100},
	}
	for name, s := range map[string]rougeScores{"rouge_1": p.Rouge1, "rouge_2": p.Rouge2, "rouge_l": p.RougeL} {
		all = append(all, wantedScore{name, nil, s.F}, wantedScore{name, map[string]any{"score": "precision"}, s.Precision},
			wantedScore{name, map[string]any{"score": "recall"}, s.Recall})
	}
	return all
}

// scoreOf is the score that a verifier gives; references go into the row as the
// field of that name, so that an empty one is one too.
func scoreOf(t *testing.T, w wantedScore, prediction string, references ...string) float64 {
	t.Helper()
	v, err := New(w.verifier, w.options)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(references)
	if err != nil {
		t.Fatal(err)
	}
	got := v.Verify(Problem{Metadata: map[string]json.RawMessage{"references": raw}}, prediction)
	checkVerdict(t, got)
	return got.Score
}

func TestTextMetrics(t *testing.T) {
	fixtures.Each(t, "text_metrics", func(t *testing.T, dir string) {
		raw, err := os.ReadFile(filepath.Join(dir, "pairs.json"))
		if err != nil {
			t.Fatal(err)
		}
		var f metricFixture
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		matched, failed := 0, 0
		check := func(ok bool, format string, args ...any) {
			if ok {
				matched++
				return
			}
			failed++
			t.Errorf(format, args...)
		}
		for i, p := range f.Pairs {
			for _, w := range p.wanted() {
				got := scoreOf(t, w, p.Prediction, p.Reference)
				check(math.Abs(got-w.score) <= metricTolerance, "pair %d: %s %v is %.17g, not %.17g", i, w.verifier, w.options, got, w.score)
			}
			check(squadNormal(p.Prediction) == p.SquadNormalized, "pair %d: normalised %q, not %q", i, squadNormal(p.Prediction), p.SquadNormalized)
			tokens := strings.Join(tokens13a(strings.TrimRightFunc(p.Prediction, isPythonSpace)), " ")
			check(tokens == p.Tokens13a, "pair %d: tokens %q, not %q", i, tokens, p.Tokens13a)
			a, b := []rune(p.Prediction), []rune(p.Reference)
			check(levenshtein(a, b) == p.Levenshtein, "pair %d: distance %d, not %d", i, levenshtein(a, b), p.Levenshtein)
			check(lcs(a, b) == p.LCS, "pair %d: subsequence %d, not %d", i, lcs(a, b), p.LCS)
		}
		for i, s := range f.SeveralReferences {
			got := scoreOf(t, wantedScore{verifier: "bleu"}, s.Prediction, s.References...)
			check(math.Abs(got-s.BleuExp/100) <= metricTolerance, "references %d: bleu is %.17g, not %.17g", i, got, s.BleuExp/100)
		}
		o := bleuOptions{Tokens: "13a"}
		for _, c := range f.Corpus {
			check(isCorpusOfRun(o, f.Pairs, c.N, c.Bleu), "no %d pairs in a row have the corpus BLEU %.17g", c.N, c.Bleu)
		}
		fixtures.Report(t, "text_metrics", matched, failed, 0)
	})
}

// isCorpusOfRun: some n pairs in a row have this corpus BLEU; the set does not
// say where its corpora begin.
func isCorpusOfRun(o bleuOptions, pairs []metricPair, n int, want float64) bool {
	statistics := make([]bleuStatistics, len(pairs))
	for i, p := range pairs {
		statistics[i] = o.statistics(p.Prediction, []string{p.Reference})
	}
	for from := 0; from+n <= len(pairs); from++ {
		var all bleuStatistics
		for _, s := range statistics[from : from+n] {
			all.add(s)
		}
		if math.Abs(all.bleu("exp", false)-want) <= metricTolerance {
			return true
		}
	}
	return false
}

// add adds the statistics of a text to those of a corpus.
func (s *bleuStatistics) add(t bleuStatistics) {
	for n := range s.correct {
		s.correct[n] += t.correct[n]
		s.total[n] += t.total[n]
	}
	s.textLength += t.textLength
	s.referenceSize += t.referenceSize
}

// TestBlocks: scores of Python 3.11's difflib.SequenceMatcher(None, completion, reference, autojunk=False).ratio().
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		completion, reference string
		score                 float64
	}{
		{"", "", 1}, {"a", "", 0}, {"", "a", 0}, {"abcd", "abcd", 1}, {"abxcd", "abcd", 0.8888888888888888},
		{"qabxcd", "abycdf", 0.6666666666666666}, {"aaaa", "aa", 0.6666666666666666}, {"ab ab ab", "ba ba ba", 0.5},
		{"20-13=7+7=14-4=10", "20-13=7+4=11-7=4", 0.6666666666666666}, {"日本語の文", "日本の語文", 0.8}, {"a\u0301b", "\u00e1b", 0.4},
		{strings.Repeat("x", 250) + "y", "y" + strings.Repeat("x", 250), 0.9960159362549801}, // autojunk would leave the x out
		{"ab", "aaabaaaabaaaab", 0.25}, {"cacbc", "caacccabaccacacabccbbbcbbba", 0.3125},
		{"aabbbbbaabababbaabbbbba", "abbaabbbbbabbaabaabaabbbaab", 0.44}, {"babcbcbbcbaaaaaaca", "b", 0.10526315789473684},
		{"8666617+603137215901092815", "013962+4595711777741", 0.17391304347826086}, // by insertions and deletions 0.35
		{"33875-00=4743-957=-5513137", "5379907", 0.18181818181818182}, {"=+1+16=-=372", "=+51=-676-1-22", 0.5384615384615384},
		{"baacbbcccbcacaccab", "acaaaabccacabccccbacaaaba", 0.6046511627906976},
		{strings.Repeat("x", 4097), strings.Repeat("x", 4096), 0}, {strings.Repeat("ax", 2048), strings.Repeat("ay", 2048), 0}, // beyond the bound
	} {
		got := scoreOf(t, wantedScore{verifier: "edit_similarity", options: map[string]any{"distance": "blocks"}}, c.completion, c.reference)
		if math.Abs(got-c.score) > 0x1p-52 { // a quotient and a difference are rounded
			t.Errorf("%.40q and %.40q: %v in blocks, want %v", c.completion, c.reference, got, c.score)
		}
	}
}
