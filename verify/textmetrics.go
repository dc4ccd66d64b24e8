package verify

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Budgets of text metrics.
const (
	maxMetricRunes   = 1 << 14 // of either text: edit distances take time with their product
	maxReferences    = 32
	metricExtractDoc = `extract   "none": the whole completion is compared; "announced": the answer that it
          announces, as "rlzero verifiers show number" describes. Default "none".
`
	metricRowDoc = `Row: answer, or references (a list of texts): the best score counts.
`
)

// metric compares a completion with references: a score from 0 to 1.
type metric struct {
	extract string
	rule    string
	score   func(text string, references []string) float64
	// pairwise: score takes one reference, and the best one counts.
	pairwise bool
}

// Check implements [Checker].
func (m metric) Check(row Problem) error {
	_, err := rowReferences(row)
	return err
}

// Verify implements [Verifier].
func (m metric) Verify(row Problem, completion string) Verdict {
	references, err := rowReferences(row)
	if err != nil {
		return Abstain("%v", err)
	}
	text, rule := completion, m.rule
	if m.extract != ExtractNone {
		if text, rule, err = extractAnswer(completion, m.extract); err != nil {
			return Reject(text, rule, "%v", err)
		}
	}
	if len(text) > maxCompletionBytes {
		return Reject("", m.rule, "the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	}
	if n := runeCount(text); n > maxMetricRunes {
		return Reject(text, rule, "the text has %d characters: at most %d are compared", n, maxMetricRunes)
	}
	best, at := -1.0, 0
	if !m.pairwise {
		best = m.score(text, references)
	} else {
		for i, r := range references {
			if s := m.score(text, []string{r}); s > best {
				best, at = s, i
			}
		}
	}
	return graded(best, text, rule, "%s is %.6g against %s", m.rule, best, quote(references[at]))
}

// graded is the verdict for a score: right from 1 up, wrong at 0. Rounding may
// carry a score a little beyond 1.
func graded(score float64, extracted, rule, format string, args ...any) Verdict {
	switch reason := fmt.Sprintf(format, args...); {
	case score >= 1:
		return Accept(extracted, rule, "%s", reason)
	case score > 0:
		return Verdict{Score: score, Verdict: Graded, Reason: reason, Extracted: shown(extracted), Rule: rule}
	default:
		return Reject(extracted, rule, "%s", reason)
	}
}

// rowReferences are the row's references, else its answer.
func rowReferences(row Problem) ([]string, error) {
	var references []string
	found, err := row.Field("references", &references)
	switch {
	case err != nil:
		return nil, err
	case !found && row.Answer == "":
		return nil, fmt.Errorf("the row has no answer and no references")
	case !found:
		references = []string{row.Answer}
	case len(references) == 0 || len(references) > maxReferences:
		return nil, fmt.Errorf("the row has %d references; accepted: 1 to %d", len(references), maxReferences)
	}
	for _, r := range references {
		if runeCount(r) > maxMetricRunes {
			return nil, fmt.Errorf("a reference has %d characters; accepted: at most %d", runeCount(r), maxMetricRunes)
		}
	}
	return references, nil
}

func runeCount(text string) int { return len([]rune(text)) }

// lower is Python's str.lower: full Unicode lower case, with the final sigma.
func lower(text string) string { return cases.Lower(language.Und).String(text) }

// isPythonSpace: str.split and str.strip treat the character as white space.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

func pythonFields(text string) []string { return strings.FieldsFunc(text, isPythonSpace) }

// metricOptions are the options that all text metrics share.
type metricOptions struct {
	Extract string `toml:"extract"`
}

func (o metricOptions) validate() error {
	return oneOf("extract", o.Extract, ExtractNone, ExtractAnnounced)
}

// registerMetric adds a metric without options of its own.
func registerMetric(name, summary, doc string, score func(text, reference string) float64) {
	Register(Entry{
		Name:    name,
		Summary: summary,
		Doc:     doc + "\n" + metricRowDoc + "\nOptions\n" + metricExtractDoc + "\nNot scored when the row has neither answer nor references.\n",
		New: func(options json.RawMessage) (Verifier, error) {
			o := metricOptions{Extract: ExtractNone}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			pair := func(text string, references []string) float64 { return score(text, references[0]) }
			return metric{o.Extract, name, pair, true}, o.validate()
		},
	})
}
