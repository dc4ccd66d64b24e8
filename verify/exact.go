package verify

import (
	"encoding/json"
	"strings"
)

func init() {
	Register(Entry{
		Name:    "exact",
		Summary: "the same text, apart from white space at both ends",
		Doc: `exact: right when the answer is the same text as the row's answer.

` + metricRowDoc + `
Options
normalize "strip": ignore white space around both. "raw": change nothing. "squad": as the
          verifier squad_exact. Default "strip".
` + metricExtractDoc + `
Not scored when the row has neither answer nor references.
`,
		New: func(options json.RawMessage) (Verifier, error) { return newExact(options, "strip") },
	})
	Register(Entry{
		Name:    "squad_exact",
		Summary: "exact match after SQuAD's normalisation",
		Doc: `squad_exact: right when the answer is the row's answer as SQuAD compares them.

Both texts are lower-cased, ASCII punctuation and the words a, an, the are removed, and white
space counts once. So 08:06 is 0806, and 1.5 is 15: for numbers, times and codes use exact.
Source: huggingface/transformers, data/metrics/squad_metrics.py.

` + metricRowDoc + `
Options
` + metricExtractDoc + `
Not scored when the row has neither answer nor references.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := metricOptions{ExtractNone}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return exactMetric(o, "squad_exact", squadNormal)
		},
	})
}

// newExact makes the verifier "exact" with a default of normalize.
func newExact(options json.RawMessage, normalize string) (Verifier, error) {
	o := struct {
		metricOptions
		Normalize string `toml:"normalize"`
	}{metricOptions{ExtractNone}, normalize}
	if err := DecodeOptions(options, &o); err != nil {
		return nil, err
	}
	if err := oneOf("normalize", o.Normalize, "strip", "raw", "squad"); err != nil {
		return nil, err
	}
	normal := map[string]func(string) string{
		"squad": squadNormal, "strip": strings.TrimSpace, "raw": func(s string) string { return s },
	}[o.Normalize]
	return exactMetric(o.metricOptions, "exact", normal)
}

// exactMetric compares texts after a change of both.
func exactMetric(o metricOptions, name string, normal func(string) string) (Verifier, error) {
	same := func(text string, references []string) float64 {
		if normal(text) == normal(references[0]) {
			return 1
		}
		return 0
	}
	return metric{o.Extract, name, same, true}, o.validate()
}
