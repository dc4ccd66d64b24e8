package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/verify"
)

// piece is a part of a prompt: text, or a field in braces.
type piece struct{ text, field string }

// template is a prompt with fields.
type template []piece

// rowField is what fields of the row's metadata begin with.
const rowField = "row."

// parse reads a prompt. The error names line and column of a brace, what was found and what is accepted.
func parse(file, text string, accepted []string) (template, error) {
	var out template
	plain := ""
	fail := func(at int, format string, args ...any) error {
		line := 1 + strings.Count(text[:at], "\n")
		column := 1 + at - (strings.LastIndexByte(text[:at], '\n') + 1)
		return fmt.Errorf("%w: %s:%d:%d: %s", lines.ErrInput, file, line, column, fmt.Sprintf(format, args...))
	}
	list := "{" + strings.Join(accepted, "}, {") + "}, {" + rowField + "NAME}, and {{ and }} for braces"
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c:
			plain += text[i : i+1]
			i++
		case c == '}':
			return nil, fail(i, "found } without {; accepted: %s", list)
		case c == '{':
			n := strings.IndexAny(text[i+1:], "{}\n")
			if n < 0 || text[i+1+n] != '}' {
				return nil, fail(i, "found { without }; accepted: %s", list)
			}
			field := text[i+1 : i+1+n]
			if !slices.Contains(accepted, field) && (!strings.HasPrefix(field, rowField) || len(field) == len(rowField)) {
				err := fail(i, "found {%s}; accepted: %s", field, list)
				if near := hint.Nearest(field, accepted); near != "" {
					err = hint.With(err, "did you mean {%s}?", near)
				}
				return nil, err
			}
			out = append(out, piece{text: plain}, piece{field: field})
			plain = ""
			i += n + 1
		default:
			plain += text[i : i+1]
		}
	}
	return append(out, piece{text: plain}), nil
}

// has says whether a prompt has a field.
func (t template) has(field string) bool {
	return slices.ContainsFunc(t, func(p piece) bool { return p.field == field })
}

// fill writes a prompt of a row. fields are those that are not the row's.
func (t template) fill(row verify.Problem, fields map[string]string) (string, error) {
	var b strings.Builder
	for _, p := range t {
		text, known := fields[p.field]
		switch {
		case p.field == "":
			text = p.text
		case known:
		case p.field == "question":
			text = row.Question
		case p.field == "answer":
			if text = row.Answer; text == "" {
				return "", fmt.Errorf("the prompt reads {answer}, and the row has none")
			}
		default:
			name := strings.TrimPrefix(p.field, rowField)
			raw, there := row.Metadata[name]
			if !there || string(raw) == "null" {
				return "", fmt.Errorf("the prompt reads {%s}, and beside question and answer the row has %s", p.field, verify.Columns(row.Metadata))
			}
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}
