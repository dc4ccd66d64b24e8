package verify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The values of Verdict.Verdict.
const (
	Right     = "right"      // score 1
	Wrong     = "wrong"      // score 0
	Graded    = "graded"     // a score between 0 and 1
	NotScored = "not_scored" // no score: the row lacks something; leave the completion out
)

// Verdict is what a verifier says about one completion.
type Verdict struct {
	Score     float64            // 0 to 1; NaN when Verdict is NotScored
	Verdict   string             // Right, Wrong, Graded or NotScored
	Reason    string             // one short sentence
	Extracted string             // the answer found in the completion, cut to 200 bytes; "" when none was found
	Rule      string             // how the answer was found or judged, such as "answer_tag"
	Values    map[string]float64 // named numbers beside the score, which rewards know as NAME.value; nil: none
	Opinions  []Opinion          // that a model gave, of a verifier that asks one; nil: none
}

// Opinion is what a model said to a question about a completion.
type Opinion struct {
	Question string   `json:"question"`          // hash of the ids that it was shown
	Asked    string   `json:"asked,omitempty"`   // the text of the question, in a run of the first group of a step; "": none was written
	About    string   `json:"about,omitempty"`   // the item, or the two of a pair; "": there is only one question
	Text     string   `json:"text,omitempty"`    // what it wrote; "": nothing was drawn
	Reading  *float64 `json:"reading"`           // 0 to 1; null: it cannot be read
	Why      string   `json:"why,omitempty"`     // why it cannot be read
	Missing  bool     `json:"missing,omitempty"` // there is no answer, of a model behind an address
	Tokens   int      `json:"tokens,omitempty"`  // that were drawn
	Raw      *float64 `json:"raw,omitempty"`     // of a head: its number
	Mass     *float64 `json:"mass,omitempty"`    // of probabilities: what they sum to
}

// MarshalJSON writes the keys score, verdict, reason, extracted, rule, values and opinions. The
// score of a verdict that is not scored is null.
func (v Verdict) MarshalJSON() ([]byte, error) {
	out := struct {
		Score     *float64           `json:"score"`
		Verdict   string             `json:"verdict"`
		Reason    string             `json:"reason"`
		Extracted string             `json:"extracted"`
		Rule      string             `json:"rule,omitempty"`
		Values    map[string]float64 `json:"values,omitempty"`
		Opinions  []Opinion          `json:"opinions,omitempty"`
	}{nil, v.Verdict, v.Reason, v.Extracted, v.Rule, v.Values, v.Opinions}
	if v.Verdict != NotScored {
		out.Score = &v.Score
	}
	return marshal(out)
}

// marshal is json.Marshal with <, > and & left readable. An encoder around it
// that escapes them does so again.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

// Guard is the verdict of judge, or not scored where that panics. A fault of a verifier
// is no reason to lose a run of days: it is counted and reported.
func Guard(judge func() Verdict) (v Verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = Abstain("the verifier failed, which is a bug in rlzero: %v", p)
		}
	}()
	return judge()
}

// Verifier judges completions. Implementations are immutable after their
// construction and safe for concurrent use.
type Verifier interface {
	Verify(row Problem, completion string) Verdict
}

// Checker is a [Verifier] that needs something of a row.
type Checker interface {
	Verifier
	// Check is the reason why Verify does not score completions of this row, whatever
	// they say; nil where it does. Tests of programs are read and not run, so a row that
	// passes may still have a setup that fails.
	Check(row Problem) error
}

// Asking is a [Verifier] that asks a model. Only who has the model can give its verdicts: Verify, which
// has none, scores nothing.
type Asking interface {
	Verifier
	// Asks is the name of the model.
	Asks() string
}

// Doubter is a [Verifier] that may read a row in another way than its author meant.
type Doubter interface {
	Verifier
	// Doubt says how the row is read where that may surprise; "": nothing does.
	Doubt(row Problem) string
}

// Check tells whether a verifier can judge completions of a row: rows are checked when a
// data file is read, so that a run does not find out one by one.
func Check(v Verifier, row Problem) error {
	if c, ok := v.(Checker); ok {
		return c.Check(row)
	}
	return nil
}

// Problem is one task: what was asked and what a verifier needs to judge an answer.
type Problem struct {
	ID       string // the problem in canonical form: equal problems have equal IDs; may be empty
	Question string // the prompt's text
	Answer   string // the reference answer; a JSON value that is no string stands here as its JSON text
	// Metadata holds everything else, each value as JSON: the members of the
	// row's "metadata" object and the row's own unknown fields, which win where
	// both have one name.
	Metadata map[string]json.RawMessage
	File     string // or folder that it was read from; "": none. No part of its JSON, like Line
	Line     int    // there, from 1; of a table without lines the row
}

// UnmarshalJSON reads an object with the optional keys id, question (or
// prompt), answer and metadata; other keys go to Metadata, and so does prompt beside
// question.
func (r *Problem) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("a task row is a JSON object: %w", err)
	}
	*r = Problem{Metadata: map[string]json.RawMessage{}}
	if raw, ok := fields["metadata"]; ok {
		if err := json.Unmarshal(raw, &r.Metadata); err != nil {
			return fmt.Errorf("\"metadata\" of a task row is a JSON object: %w", err)
		}
		if r.Metadata == nil { // "metadata": null
			r.Metadata = map[string]json.RawMessage{}
		}
	}
	question := "question"
	if _, ok := fields[question]; !ok {
		question = "prompt"
	}
	for key, raw := range fields {
		switch key {
		case "metadata":
		case "id":
			r.ID = textOf(raw)
		case question:
			r.Question = textOf(raw)
		case "answer":
			r.Answer = textOf(raw)
		default:
			r.Metadata[key] = raw
		}
	}
	return nil
}

// MarshalJSON writes id, question, answer and metadata.
func (r Problem) MarshalJSON() ([]byte, error) {
	return marshal(struct {
		ID       string                     `json:"id,omitempty"`
		Question string                     `json:"question"`
		Answer   string                     `json:"answer"`
		Metadata map[string]json.RawMessage `json:"metadata,omitempty"`
	}{r.ID, r.Question, r.Answer, r.Metadata})
}

// Field decodes Metadata[name] into dst, a pointer. found is false when the row
// has no such value or it is null; err says what is wrong with it.
func (r Problem) Field(name string, dst any) (found bool, err error) {
	raw, ok := r.Metadata[name]
	if !ok || string(raw) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(raw, dst); err != nil {
		return false, fmt.Errorf("%q of the row is %s: %w", name, quote(string(raw)), err)
	}
	return true, nil
}

// Columns says which columns a row of a file has, sorted, and which of them are empty: null,
// an empty list or object, or text without a character. Beside what a row lacks it tells
// whether that is the column or the value.
func Columns(row map[string]json.RawMessage) string {
	if len(row) == 0 {
		return "no column"
	}
	names := slices.Sorted(maps.Keys(row))
	for i, name := range names {
		switch strings.TrimSpace(textOf(row[name])) {
		case "", "[]", "{}":
			names[i] += " (empty)"
		}
	}
	return strings.Join(names, ", ")
}

// Text is a text of the problem, as formulas know it by row.NAME: of its metadata, or else
// its question or answer. why says that there is none.
func (r Problem) Text(name string) (text, why string) {
	switch found, err := r.Field(name, &text); {
	case err != nil:
		return "", fmt.Sprintf("row.%s: %v; a text is needed", name, err)
	case found:
		return text, ""
	case name == "answer" && r.Answer != "":
		return r.Answer, ""
	case name == "question" && r.Question != "":
		return r.Question, ""
	}
	return "", fmt.Sprintf("row.%s: the row has no such value", name)
}

// Number is a number of the problem, as formulas know it by row.NAME: of its metadata, or
// else its answer where that is a number. why says that there is none.
func (r Problem) Number(name string) (x float64, why string) {
	switch found, err := r.Field(name, &x); {
	case err != nil:
		return 0, fmt.Sprintf("row.%s: %v; a number is needed", name, err)
	case found:
		return x, ""
	case name == "answer" && r.Answer != "":
		if x, err := strconv.ParseFloat(r.Answer, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
			return x, ""
		}
		return 0, "row.answer: the answer is not a number"
	}
	return 0, fmt.Sprintf("row.%s: the row has no such value", name)
}

// Number is a named number of the verdict, which formulas know as TERM.NAME, term being
// the verifier's name there. why says that there is none.
func (v Verdict) Number(term, name string) (x float64, why string) {
	x, there := v.Values[name]
	switch {
	case v.Verdict == NotScored:
		return math.NaN(), term + ": " + v.Reason
	case there:
		return x, ""
	case len(v.Values) == 0:
		return math.NaN(), fmt.Sprintf("%s.%s: the verdict has no such number", term, name)
	}
	return math.NaN(), fmt.Sprintf("%s.%s: the verdict has no such number, only %s", term, name, strings.Join(slices.Sorted(maps.Keys(v.Values)), ", "))
}

// textOf is the string in raw, "" for null, and the JSON text of anything else.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Accept is the verdict "right". It shows at most 200 bytes of extracted.
func Accept(extracted, rule, format string, args ...any) Verdict {
	return Verdict{Score: 1, Verdict: Right, Reason: fmt.Sprintf(format, args...), Extracted: shown(extracted), Rule: rule}
}

// Reject is the verdict "wrong". It shows at most 200 bytes of extracted.
func Reject(extracted, rule, format string, args ...any) Verdict {
	return Verdict{Score: 0, Verdict: Wrong, Reason: fmt.Sprintf(format, args...), Extracted: shown(extracted), Rule: rule}
}

// Abstain is the verdict "not_scored"; the reason says what the row lacks.
func Abstain(format string, args ...any) Verdict {
	return Verdict{Score: math.NaN(), Verdict: NotScored, Reason: fmt.Sprintf(format, args...)}
}

// shown cuts text to maxShownBytes, at a character.
func shown(text string) string {
	if len(text) <= maxShownBytes {
		return text
	}
	cut := maxShownBytes
	for cut > maxShownBytes-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// quote is shown text in quotation marks, for reasons and errors.
func quote(text string) string { return fmt.Sprintf("%q", shown(text)) }
