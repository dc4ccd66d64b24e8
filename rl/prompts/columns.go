package prompts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/braces"
	"github.com/rlzero/rlzero/rl/table"
	"github.com/rlzero/rlzero/verify"
)

// Columns say what of a row is the problem. The zero value takes the columns question
// (or prompt), answer and id as they are; [Find] looks for others.
//
// A column is named as in the file. A dot leads into an object, or to a place of a list,
// from 0: reward_model.ground_truth, answers.text.0. Text that holds an object or a list is
// entered likewise. The texts of several columns are one below the other where they are
// joined, as in "context + question": empty ones are left out, and a list of choices gets
// letters.
type Columns struct {
	Prompt        string            // column of the prompt, text or a list of messages; or several that are joined
	Template      string            // text of the prompt with columns in braces, in place of Prompt
	Answer        string            // column of the answer
	AnswerPattern string            // regular expression (RE2): the answer follows its last match, or is its group
	Others        map[string]string // columns by the names that verifiers and chats read: completion, messages, tests
}

// compiled are columns that were checked.
type compiled struct {
	Columns
	template []braces.Piece
	pattern  *regexp.Regexp // nil for none
}

// compile checks columns without a row.
func (c Columns) compile() (*compiled, error) {
	out := &compiled{Columns: c}
	var err error
	if c.Template != "" {
		if c.Prompt != "" {
			return nil, fmt.Errorf("prompt and prompt_template are both given: remove one of them")
		}
		if out.template, err = braces.Parse(c.Template, "column"); err != nil {
			return nil, fmt.Errorf("prompt_template: %w", err)
		}
	}
	if c.AnswerPattern != "" {
		if out.pattern, err = regexp.Compile(c.AnswerPattern); err != nil {
			return nil, fmt.Errorf("answer_pattern: %w", err)
		}
		if n := out.pattern.NumSubexp(); n > 1 {
			return nil, fmt.Errorf("answer_pattern has %d groups; accepted: one, which is the answer, or none", n)
		}
	}
	return out, nil
}

// lookup finds a column of a row.
func lookup(row table.Row, column string) (json.RawMessage, error) {
	if raw, ok := row[column]; ok {
		return raw, nil
	}
	path := strings.Split(column, ".")
	raw, ok := row[path[0]]
	for _, name := range path[1:] {
		if !ok {
			break
		}
		raw, ok = member(raw, name)
	}
	if !ok {
		return nil, &missing{column, row}
	}
	return raw, nil
}

// missing is a column that a row does not have.
type missing struct {
	column string
	row    table.Row
}

// Error implements error.
func (m *missing) Error() string {
	return fmt.Sprintf("there is no column %q; the row has %s", m.column, verify.Columns(m.row))
}

// names are the columns of a row and the members of those that are objects.
func names(row table.Row) []string {
	var all []string
	for _, column := range slices.Sorted(maps.Keys(row)) {
		all = append(all, column)
		var object map[string]json.RawMessage
		if json.Unmarshal(opened(row[column]), &object) == nil {
			for _, key := range slices.Sorted(maps.Keys(object)) {
				all = append(all, column+"."+key)
			}
		}
	}
	return all
}

// joint stands between columns whose texts are one below the other.
const joint = " + "

// joined is the text of several columns.
func joined(row table.Row, columns string) (string, error) {
	var texts []string
	for _, column := range strings.Split(columns, joint) {
		raw, err := lookup(row, strings.TrimSpace(column))
		if err != nil {
			return "", err
		}
		if text := shownList(raw); strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// textOf is a value as it stands in a prompt: a string, nothing for null, the items of a
// list of strings as lines, and JSON for anything else.
func textOf(raw json.RawMessage) string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(raw, &text) == nil: // null too
		return text
	case json.Unmarshal(raw, &list) == nil:
		return strings.Join(list, "\n")
	}
	return string(raw)
}

// apply makes the JSON object that [readRow] reads of a row.
func (c *compiled) apply(row table.Row) ([]byte, error) {
	out := maps.Clone(row)
	if c.Template != "" {
		var b strings.Builder
		for _, p := range c.template {
			if !p.Braced {
				b.WriteString(p.Text)
				continue
			}
			raw, err := lookup(row, p.Text)
			if err != nil {
				return nil, fmt.Errorf("prompt_template: %w", err)
			}
			b.WriteString(textOf(raw))
		}
		if err := set(out, "prompt", b.String()); err != nil {
			return nil, err
		}
		delete(out, "question")
	}
	if err := c.prompt(row, out); err != nil {
		return nil, fmt.Errorf("prompt: %w", err)
	}
	if err := c.answer(row, out); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(c.Others)) {
		raw, err := lookup(row, c.Others[name])
		if err != nil && c.Others[name] == "answer" && out["answer"] != nil { // as the keys answer and answer_pattern have it
			raw, err = out["answer"], nil
		}
		if err != nil {
			return nil, fmt.Errorf("columns.%s: %w", name, err)
		}
		out[name] = raw
	}
	if err := canonical(out); err != nil {
		return nil, err
	}
	if err := described(out); err != nil {
		return nil, err
	}
	return marshal(out)
}

// metadataKey is the object that a row has for verifiers.
const metadataKey = "metadata"

// described makes the metadata of a row an object: LiveCodeBench and SYNTHETIC-1 have it as text.
// Anything else is a column like any other, of that name.
func described(out table.Row) (err error) {
	raw := opened(out[metadataKey])
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if out[metadataKey] = raw; raw[0] != '{' {
		out[metadataKey], err = marshal(table.Row{metadataKey: raw})
	}
	return err
}

// prompt takes the prompt out of a row.
func (c *compiled) prompt(row, out table.Row) error {
	if c.Prompt == "" {
		return nil
	}
	if _, whole := row[c.Prompt]; !whole && strings.Contains(c.Prompt, joint) {
		text, err := joined(row, c.Prompt)
		if err != nil {
			return err
		}
		delete(out, "question")
		return set(out, "prompt", text)
	}
	raw, err := lookup(row, c.Prompt)
	if err != nil {
		return err
	}
	delete(out, c.Prompt)
	delete(out, "question")
	out["prompt"] = raw
	return nil
}

// answer takes the answer out of a row.
func (c *compiled) answer(row, out table.Row) error {
	column := c.Answer
	if column == "" {
		if column = "answer"; row[column] == nil && c.pattern == nil {
			return nil
		}
	}
	raw, err := lookup(row, column)
	if err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if c.Answer != "" {
		delete(out, c.Answer)
	}
	out["answer"] = raw
	if c.pattern == nil {
		return nil
	}
	text := textOf(raw)
	found := c.pattern.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		return fmt.Errorf("answer_pattern %q is not in the column %s", c.AnswerPattern, column)
	}
	last := found[len(found)-1]
	answer := text[last[1]:]
	if len(last) > 2 {
		if answer = ""; last[2] >= 0 {
			answer = text[last[2]:last[3]]
		}
	}
	return set(out, "answer", strings.TrimSpace(answer))
}

func set(row table.Row, key, text string) (err error) {
	row[key], err = marshal(text)
	return err
}

// marshal is json.Marshal with <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
