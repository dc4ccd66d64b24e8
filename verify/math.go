package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/rlzero/rlzero/verify/internal/mathans"
)

const mathDoc = `math: right when the answer is mathematically equal to the row's answer.

LaTeX and plain text are parsed, never evaluated as code. They are compared so:
  numbers       exactly, as rationals; 1,234 and 1 234 and 1{,}234 are one number
  constants     roots, powers, complex numbers, factorials, binomials: to as many bits
                as a proof of equality needs; with π, e, logarithms, trigonometry: to
                512 bits or more
  expressions   at six points, rational and fixed by the reference answer
  percent       28% is 28/100, not 28
  lists         1, 2 and 3; x = 1 or x = 2; ±: in any order; sets as sets
  tuples        in order; intervals with their ends; unions and ℝ∖{…} as sets of numbers
  matrices      cell by cell, after sums and products
  relations     x < 3 and 3 > x and -2x > -6; equations up to a factor; |x - 1| < 2 and
                -1 < x < 3; x < 1 or x > 3 as a union; residues: 3 and 10 (mod 7)
  assignments   x = 5 answers 5, p = 5, q = 2 answers (5,2); a + b = 0 does not answer 0
  inequalities  an interval answers an inequality, but not the other way round
  words         Evelyn, \text{yes}, B: ignoring white space and case (except the case of a
                single letter)
A number needs no braces as an exponent or index: 2^10 is 1024, and a_10 has the index 10.
An equation that begins with a constant has to be true: 8 = 7 does not answer 7. Words with
"or", "maybe" or the like are alternatives, as is a word with a number after an answer:
7\text{ or anything} and 7\text{ rather 8} do not answer 7.
Units after a number are dropped unless both sides have one. Then they have to be of
the same kind and are converted (length, time, mass, volume, speed and other rates, money,
angles). A noun after the number counts as one: 12 answers 12 apples, and 12 oranges do not.
A reference that reads as a time, a date, a range or a version (08:06, 2024-01-05, 3-4, 1.2.3)
is compared part by part. A number that is denied or only a bound (not 42, at most 42) answers
nothing. Degrees are π/180 in sines and against an answer in π. Other words after a
number are dropped, except "not" and similar ones. A decimal agrees with an exact value when
both round to the same number (see precision). What cannot be proven equal within the budget
is wrong.

Row: answer (the reference: a formula, words, or a solution with \boxed{…}).
precision, strict and allow_set_relation_comp of the row take precedence over the options.

Options
extract   how the answer is taken out of the completion:
          "lenient"  the last <answer>…</answer>; else the last \boxed{…}, or what the
                     last "final answer is" announces if that comes later; else
                     what the last "answer is", "answer:" or "answer =" announces (in a
                     sentence: what follows its last "is", else its last formula or its
                     only number); else the whole text if it is nothing but an answer;
                     else the only number after a last "Therefore"; else the last
                     formula in $…$, $$…$$, \(…\) or \[…\]; else the last number. The
                     last two are not used if the completion ends with the question.
                     If there are words between the tags, the number counts if it is the
                     only one. Adjacent boxes and formulas ("… and …") form one list.
          "strict"   the one \boxed{…} or <answer>…</answer>, whatever else the text
                     says. The same answer may be repeated; two different ones are wrong
          "none"     the completion is the bare answer
          All but "none" read only what follows the last </think>. Default "lenient".
          For rewards, "strict" is safer.
precision decimal places (below 1: significant digits) to which a decimal has to agree
          with an exact value. Default 6.
percent   true: 28 is accepted for 28%. Default false.
strict    false: variables may have other names, and a tuple may replace a set.
          Default true.
allow_set_relation_comp
          true: an inequality answers an interval. Default false, because the question
          often states one.

Not scored when the row has no answer, or when it is a JSON list of texts or an object.
`

func init() {
	Register(Entry{
		Name:    "math",
		Summary: "mathematical equality of LaTeX or plain answers, exact",
		Doc:     mathDoc,
		New: func(options json.RawMessage) (Verifier, error) {
			o := Math{Extract: ExtractLenient, Precision: 6, Strict: true}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, o.validate()
		},
	})
}

// Math is the verifier "math". Its fields are its options; use [New] for their
// defaults.
type Math struct {
	Extract     string `toml:"extract"`   // ExtractLenient, ExtractStrict or ExtractNone
	Precision   int    `toml:"precision"` // decimals
	Percent     bool   `toml:"percent"`
	Strict      bool   `toml:"strict"`
	SetRelation bool   `toml:"allow_set_relation_comp"`
}

const maxMathPrecision = 100

func (v Math) validate() error {
	if v.Precision < 0 || v.Precision > maxMathPrecision {
		return fmt.Errorf("option precision is %d; accepted: 0 to %d", v.Precision, maxMathPrecision)
	}
	return oneOf("extract", v.Extract, ExtractLenient, ExtractStrict, ExtractNone)
}

// forRow applies the fields of a row that stand above the options.
func (v Math) forRow(row Problem) (Math, error) {
	for _, field := range []struct {
		name string
		dst  any
	}{{"precision", &v.Precision}, {"strict", &v.Strict}, {"allow_set_relation_comp", &v.SetRelation}} {
		if _, err := row.Field(field.name, field.dst); err != nil {
			return v, err
		}
	}
	return v, v.validate()
}

// Check implements [Checker].
func (v Math) Check(row Problem) error {
	_, _, err := v.read(row)
	return err
}

// read is the options and the reference of a row.
func (v Math) read(row Problem) (Math, found, error) {
	v, err := v.forRow(row)
	if err != nil {
		return v, found{}, err
	}
	if row.Answer == "" {
		return v, found{}, errors.New(`the row has no "answer", or an empty one`)
	}
	gold, err := goldAnswer(row.Answer)
	if err != nil {
		err = fmt.Errorf("the row's answer: %w", err)
	}
	return v, gold, err
}

// Verify implements [Verifier].
func (v Math) Verify(row Problem, completion string) Verdict {
	v, gold, err := v.read(row)
	if err != nil {
		return Abstain("%v", err)
	}
	if c := codeOf(row.Answer); c != nil {
		return v.judgeCode(c, row.Answer, completion)
	}
	answer, err := extractMath(completion, v.Extract)
	if err != nil {
		return Reject("", "", "%v", err)
	}
	if notMeant(answer.text, gold.text) {
		return Reject(answer.text, answer.rule, "not equal to %s: it reads as a %s", shown(gold.text), codeOf(answer.text).kind)
	}
	if answer.unannounced() && endsInQuestion(completion, row.Question) {
		return Reject(answer.text, answer.rule, "the question is repeated and nothing follows it")
	}
	rules := mathans.Rules{Precision: v.Precision, Percent: v.Percent, SetRelation: v.SetRelation, AnyNames: !v.Strict}
	result := mathans.Equal(gold.answer, answer.answer, rules)
	if letter, text, ok := choiceAnswer(answer.text); ok && !result.Equal {
		for _, part := range []string{letter, text} {
			if r := mathans.Equal(gold.answer, readWhole(part, "").answer, rules); r.Equal {
				result = r
			}
		}
	}
	if !result.Equal && gold.answer.IsWords() && v.Extract == ExtractLenient { // "June 20" is no number
		if words, rule, err := extractAnswer(completion, ExtractAnnounced); err == nil {
			if spelled := mathans.Equal(gold.answer, mathans.Words(words), rules); spelled.Equal {
				result, answer = spelled, found{text: words, rule: rule}
			}
		}
	}
	switch {
	case result.Equal && v.otherThing(row, completion, answer):
		return Reject(answer.text, answer.rule, "the number equals that of %s, but counts something else", shown(row.Answer))
	case result.Equal:
		return Accept(answer.text, answer.rule, "equal to %s (%s)", shown(gold.text), result.How)
	case result.Limit != nil:
		return Reject(answer.text, answer.rule, "not proven equal to %s: %v", shown(gold.text), result.Limit)
	}
	return Reject(answer.text, answer.rule, "not equal to %s", shown(gold.text))
}

// otherThing says that an answer whose number is right counts something else than the row's.
func (v Math) otherThing(row Problem, completion string, answer found) bool {
	reference, text := row.Answer, answer.text
	if inside, boxed := lastBoxed(reference); boxed {
		reference = inside
	}
	if v.Extract == ExtractLenient { // the words after a number are not in what was read of it
		if announced, _, err := extractAnswer(completion, ExtractAnnounced); err == nil {
			text = announced
		}
	}
	return countsOther(reference, text)
}

// goldAnswer reads a row's answer. Words with a number in them, and formulas that
// prose is never written in, are not taken for the number.
func goldAnswer(text string) (found, error) {
	if kind := jsonOfTexts(text); kind != "" {
		return found{}, fmt.Errorf(`%s: write it as a text, such as "1, 2"`, kind)
	}
	gold, err := extractMath(text, ExtractLenient)
	if err != nil {
		return extractMath(text, ExtractNone)
	}
	if gold.rule == "number" {
		whole, err := mathans.Parse(text)
		if err == nil && (whole.IsWords() || strings.Contains(text, `\`) && !whole.HasWords()) {
			return found{whole, strings.TrimSpace(text), "whole"}, nil
		}
	}
	return gold, nil
}

// jsonOfTexts names the kind of JSON value that a row has in place of a text. Without
// quotation marks [1, 2] is an interval, and {} a set.
func jsonOfTexts(text string) string {
	text = strings.TrimSpace(text)
	switch {
	case !strings.Contains(text, `"`) || !json.Valid([]byte(text)):
	case text[0] == '[':
		return "a JSON list"
	case text[0] == '{':
		return "a JSON object"
	}
	return ""
}

var choiceText = regexp.MustCompile(`^\\(?:text|textbf|textrm|mathrm|mathbf)\s*\{\s*\(([A-J])\)[\s~]*\}[\s\\,~]*(.+)$`)

// choiceAnswer parts \textbf{(C) } 12, an answer that is given twice.
func choiceAnswer(text string) (letter, answer string, ok bool) {
	m := choiceText.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// endsInQuestion tells that a completion says nothing after the question: an
// unannounced formula is then the question's own.
func endsInQuestion(completion, question string) bool {
	completion, question = strings.Join(strings.Fields(completion), " "), strings.Join(strings.Fields(question), " ")
	return question != "" && strings.HasSuffix(completion, question)
}
