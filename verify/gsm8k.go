package verify

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"strings"
)

// The values of the option "extract" of the verifier "gsm8k".
const (
	ExtractHashes   = "hashes"   // the number after the last ####
	ExtractFlexible = "flexible" // the same, else the last number of the text
)

func init() {
	Register(Entry{
		Name:    "gsm8k",
		Summary: "the number after ####, compared exactly",
		Doc: `gsm8k: right when the number after #### is exactly the reference.

18, 18.0, $18, \$18 and 18.00. are equal; 1,234 is 1234. Text after the number on the same
line is ignored, but a second number there makes the answer wrong.

Row: answer: a number, or a solution that ends in "#### number" (as in the data set).

Options
extract   "hashes": the number after the last ####; without one there is no answer.
          "flexible": the same, but without #### the announced number, else the last one.
          Only what follows the last </think> is read. Default "hashes".

Not scored when the row's answer is not a number.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := GSM8K{Extract: ExtractHashes}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, oneOf("extract", o.Extract, ExtractHashes, ExtractFlexible)
		},
	})
}

// GSM8K is the verifier "gsm8k".
type GSM8K struct {
	Extract string `toml:"extract"` // ExtractHashes or ExtractFlexible
}

// Check implements [Checker].
func (v GSM8K) Check(row Problem) error {
	_, err := v.reference(row)
	return err
}

// reference is the number of a row's solution, or its answer as a number.
func (v GSM8K) reference(row Problem) (*big.Rat, error) {
	if reference, _, err := afterHashes(row.Answer); err == nil {
		return reference, nil
	}
	return numberOf(row)
}

// Verify implements [Verifier].
func (v GSM8K) Verify(row Problem, completion string) Verdict {
	reference, err := v.reference(row)
	if err != nil {
		return Abstain("%v", err)
	}
	if len(completion) > maxCompletionBytes {
		return Reject("", "", "the completion has %d bytes: at most %d are read", len(completion), maxCompletionBytes)
	}
	text := completion
	if _, after, found := cutLast(text, "</think>"); found {
		text = after
	} else if strings.Contains(text, "<think>") {
		return Reject("", "", "<think> is never closed")
	}
	rule := "hashes"
	value, shown, err := afterHashes(text)
	if errors.Is(err, errNoHashes) && v.Extract == ExtractFlexible {
		if shown, rule, err = extractAnswer(text, ExtractLastNumber); err == nil {
			value, err = parseNumber(strings.TrimLeft(shown, "$€£ "), false)
		}
	}
	if err != nil {
		return Reject(shown, rule, "%v", err)
	}
	if value.Cmp(reference) != 0 {
		return Reject(shown, rule, "%s is not %s", exact(value), exact(reference))
	}
	return Accept(shown, rule, "equal to %s", exact(reference))
}

var (
	errNoHashes  = errors.New("there is no number after ####")
	hashesNumber = regexp.MustCompile(`^[\s*$€£\\]*([-+−]?\\?[$€£]?[\d.,]*\d(?:/\d+)?)(\D*)$`)
)

// afterHashes is the one number on the line after the last ####.
func afterHashes(text string) (value *big.Rat, written string, err error) {
	_, after, found := cutLast(text, "####")
	if !found {
		return nil, "", errNoHashes
	}
	line, _, _ := strings.Cut(strings.TrimLeft(after, " \t"), "\n")
	if len(line) > maxAnswerBytes {
		line = line[:maxAnswerBytes]
	}
	m := hashesNumber.FindStringSubmatch(line)
	if m == nil {
		return nil, line, errors.New("#### is not followed by exactly one number")
	}
	value, err = parseNumber(strings.NewReplacer(`\`, "", "$", "", "€", "", "£", "").Replace(m[1]), false)
	return value, m[1], err
}
