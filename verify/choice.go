package verify

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func init() {
	Register(Entry{
		Name:    "multiple_choice",
		Summary: "the announced letter of a choice",
		Doc: `multiple_choice: right when the answer names the row's choice, and only that one.

The letter counts where the completion announces it: "The answer is (B)", "Answer: B",
\boxed{B}, <answer>B</answer>, or a completion that is "B", "(b)", "B." or "B) Paris".
Letters elsewhere in a sentence do not count. If the row has choices, the text of a choice
is also an answer. "A or B", "(A) (B)", "B) Paris or C) Rome" and the like are wrong.

Row: answer: a letter ("B"), a choice's text, or its index from 0 where the answer is a
number and choices are given. choices: the texts in order (optional).

Options
letters   the letters that choices have, in order. Default "ABCDEFGHIJ".
` + extractDoc + `
          "last_number" is not accepted. Default "announced".

Not scored when the row's answer names no choice.
`,
		New: func(options json.RawMessage) (Verifier, error) {
			o := MultipleChoice{Letters: "ABCDEFGHIJ", Extract: ExtractAnnounced}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, o.validate()
		},
	})
}

// MultipleChoice is the verifier "multiple_choice".
type MultipleChoice struct {
	Letters string `toml:"letters"` // capitals, in order
	Extract string `toml:"extract"` // ExtractAnnounced, ExtractLastLine or ExtractNone
}

func (m MultipleChoice) validate() error {
	for i, c := range m.Letters {
		if c < 'A' || c > 'Z' || strings.ContainsRune(m.Letters[:i], c) {
			return fmt.Errorf("option letters is %q; accepted: different capitals", m.Letters)
		}
	}
	if len(m.Letters) < 2 {
		return fmt.Errorf("option letters is %q; accepted: at least two letters", m.Letters)
	}
	return oneOf("extract", m.Extract, ExtractAnnounced, ExtractLastLine, ExtractNone)
}

// Check implements [Checker].
func (m MultipleChoice) Check(row Problem) error {
	_, _, _, err := m.read(row)
	return err
}

// read is the verifier with the letters of the row's choices, the choices, and the place
// of the right one.
func (m MultipleChoice) read(row Problem) (_ MultipleChoice, choices []string, gold int, err error) {
	if _, err := row.Field("choices", &choices); err != nil {
		return m, nil, 0, err
	}
	if len(choices) > len(m.Letters) {
		return m, nil, 0, fmt.Errorf("the row has %d choices, but there are only %d letters", len(choices), len(m.Letters))
	}
	if choices != nil {
		m.Letters = m.Letters[:len(choices)]
	}
	gold, err = m.pick(row.Answer, choices)
	if i, notIndex := strconv.Atoi(row.Answer); err != nil && notIndex == nil && 0 <= i && i < len(choices) {
		gold, err = i, nil
	}
	if err != nil {
		err = fmt.Errorf("the row's answer: %w", err)
	}
	return m, choices, gold, err
}

// Verify implements [Verifier].
func (m MultipleChoice) Verify(row Problem, completion string) Verdict {
	m, choices, gold, err := m.read(row)
	if err != nil {
		return Abstain("%v", err)
	}
	answer, rule, err := extractAnswer(completion, m.Extract)
	if err != nil {
		return Reject(answer, rule, "%v", err)
	}
	got, err := m.pick(answer, choices)
	switch {
	case err != nil:
		return Reject(answer, rule, "%v", err)
	case got != gold:
		return Reject(answer, rule, "%c is not %c", m.Letters[got], m.Letters[gold])
	}
	return Accept(answer, rule, "the choice is %c", m.Letters[gold])
}

var (
	choiceMark  = regexp.MustCompile(`^(?:` + choiceFont + `\{)?(?:(?i:(?:the\s+)?(?:(?:correct|right|best)\s+)?(?:option|choice|answer)\s+(?:is:?\s+)?))?([(\[]?)\s*([A-Za-z])\s*([)\]]?)\s*\}?(?:([.:)\]\-–—,])\s*(.*))?$`)
	bracketed   = regexp.MustCompile(`^((?:` + choiceFont + `\{)?\([A-Za-z]\))([\s~]*\}|\s)\s*(\S.*)$`)
	secondMark  = regexp.MustCompile(`^\s*(?:(?:and|or)\b|[/&,;])|[(\[][A-Za-z][)\]]|(?:\b(?:or|and)\b|[,;/&])\s*[A-Z]\)|\bor\s+[A-Z]\.(?:\s|$)|(?:\b(?:or|no)\b|[,;])\s*[A-Z]$`)
	letterAlone = regexp.MustCompile(`^[(\[]?[A-Za-z][)\].:]?$`)
	explanation = regexp.MustCompile(`(?i)[\s,;]+(?:because|since|as)\s.*$`)
	choiceMarks = strings.NewReplacer("**", "", "$", "", "`", "")
)

// choiceFont is a command that a letter may be set in.
const choiceFont = `\\(?:text|textbf|textrm|textit|textsf|mathrm|mathbf|mathsf)`

// pick is the index of the choice that an answer names.
func (m MultipleChoice) pick(answer string, choices []string) (int, error) {
	answer = strings.TrimSpace(choiceMarks.Replace(answer))
	for i, c := range choices {
		if squadNormal(c) != "" && squadNormal(c) == squadNormal(answer) {
			return i, nil
		}
	}
	answer = explanation.ReplaceAllString(answer, "")
	answer = bracketed.ReplaceAllString(answer, "$1: $3") // (B) Paris, \textbf{(B) }12
	p := choiceMark.FindStringSubmatch(answer)
	if p == nil {
		return 0, fmt.Errorf("%s names no choice", quote(answer))
	}
	open, letter, closing, mark, rest := p[1], p[2], p[3], p[4], p[5]
	if (open == "") != (closing == "") && !(open == "" && mark == "") {
		return 0, fmt.Errorf("%s names no choice", quote(answer))
	}
	i := strings.Index(m.Letters, strings.ToUpper(letter))
	if i < 0 {
		return 0, fmt.Errorf("%s is not one of the letters %s", quote(letter), m.Letters)
	}
	if rest != "" && len(choices) > 0 && squadNormal(rest) == squadNormal(choices[i]) {
		return i, nil // whatever is in the choice's own text: "vitamins A and C"
	}
	if mark == "," || secondMark.MatchString(rest) || letterAlone.MatchString(rest) {
		return 0, fmt.Errorf("%s may name several choices", quote(answer))
	}
	if rest != "" && len(choices) > 0 && slices.ContainsFunc(choices, func(c string) bool {
		return squadNormal(c) == squadNormal(rest) && squadNormal(c) != squadNormal(choices[i])
	}) {
		return 0, fmt.Errorf("the letter and the text of %s name different choices", quote(answer))
	}
	return i, nil
}
