package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

func init() {
	Register(Entry{
		Name:    "tool_call",
		Summary: "function calls in JSON: names and arguments",
		Doc: fmt.Sprintf(`tool_call: right when the completion makes exactly the row's calls.

A call is {"name":..., "arguments":{...}}. "parameters" is accepted for "arguments",
{"function":{...}} and {"tool_calls":[...]} are unwrapped, and arguments may be a string
that holds JSON. Numbers are compared exactly (1 is 1.0), members of objects in any order. Calls are read from each <tool_call>…</tool_call>, else from the text
that the option extract says: one call or a list of them. At most %d calls are read.

Row: answer, or tool_calls: one call or a list of them; with [], text
without a call is right.

Options
ordered   true: calls have to be in the row's order. Default false.
partial   true: the score is the number of right calls divided by the length of the
          longer list. Default false: all or nothing.
`+jsonExtractDoc+`
Not scored when the row's calls cannot be read.
`, maxCalls),
		New: func(options json.RawMessage) (Verifier, error) {
			o := ToolCall{Extract: ExtractJSON}
			if err := DecodeOptions(options, &o); err != nil {
				return nil, err
			}
			return o, oneOf("extract", o.Extract, ExtractJSON, ExtractNone)
		},
	})
}

const maxCalls = 64

// ToolCall is the verifier "tool_call".
type ToolCall struct {
	Ordered bool   `toml:"ordered"`
	Partial bool   `toml:"partial"`
	Extract string `toml:"extract"` // ExtractJSON or ExtractNone
}

// toolCall is one call: arguments is a decoded JSON value.
type toolCall struct {
	name      string
	arguments any
}

var toolCallTag = regexp.MustCompile(`(?s)<tool_call>(.*?)</tool_call>`)

// Check implements [Checker].
func (v ToolCall) Check(row Problem) error {
	_, err := callsOf(row)
	return err
}

// callsOf are the calls that a row wants.
func callsOf(row Problem) ([]toolCall, error) {
	reference := row.Answer
	if raw, ok := row.Metadata["tool_calls"]; ok {
		reference = textOf(raw)
	}
	want, err := readCalls(reference)
	if err != nil {
		err = fmt.Errorf("the row's calls: %w", err)
	}
	return want, err
}

// Verify implements [Verifier].
func (v ToolCall) Verify(row Problem, completion string) Verdict {
	want, err := callsOf(row)
	if err != nil {
		return Abstain("%v", err)
	}
	text, rule, err := extractJSON(completion, v.Extract)
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	got, text, rule, err := v.calls(completion, text, rule)
	if err != nil && len(want) == 0 && !attemptsCall(text) {
		return Accept(text, rule, "no call is expected, and none is made")
	}
	if err != nil {
		return Reject(text, rule, "%v", err)
	}
	right := v.matching(got, want)
	switch {
	case right == len(want) && right == len(got):
		return Accept(text, rule, "%d of %d calls are right", right, right)
	case v.Partial && right > 0:
		return graded(float64(right)/float64(max(len(got), len(want))), text, rule, "%d of %d calls are right, %d were made", right, len(want), len(got))
	}
	return Reject(text, rule, "%s", difference(got, want))
}

// attemptsCall: the text is meant to be a call, if not a right one.
func attemptsCall(text string) bool {
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || strings.Contains(text, "<tool_call>")
}

// calls are those in tags, else those that the extracted text is; from is the text
// they were read from.
func (v ToolCall) calls(completion, text, rule string) (all []toolCall, from, how string, err error) {
	if v.Extract == ExtractJSON {
		if _, after, found := cutLast(completion, "</think>"); found {
			completion = after
		}
		if tagged := toolCallTag.FindAllStringSubmatch(completion, maxCalls+1); len(tagged) > 0 {
			for _, m := range tagged {
				calls, err := readCalls(m[1])
				if err != nil {
					return nil, m[0], "tool_call_tag", err
				}
				all = append(all, calls...)
			}
			if len(all) > maxCalls {
				return nil, tagged[0][0], "tool_call_tag", fmt.Errorf("more than %d calls", maxCalls)
			}
			return all, tagged[0][0], "tool_call_tag", nil
		}
	}
	all, err = readCalls(text)
	return all, text, rule, err
}

func readCalls(text string) ([]toolCall, error) {
	value, err := decodeJSON(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	if object, ok := value.(map[string]any); ok && object["tool_calls"] != nil {
		value = object["tool_calls"]
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	if len(list) > maxCalls {
		return nil, fmt.Errorf("more than %d calls", maxCalls)
	}
	var calls []toolCall
	for _, item := range list {
		c, err := readCall(item)
		if err != nil {
			return nil, err
		}
		calls = append(calls, c)
	}
	return calls, nil
}

func readCall(value any) (toolCall, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return toolCall{}, errors.New("a call has to be a JSON object")
	}
	if inner, ok := object["function"].(map[string]any); ok {
		object = inner
	}
	name, ok := object["name"].(string)
	if !ok || name == "" {
		return toolCall{}, errors.New(`a call has no "name"`)
	}
	arguments, ok := object["arguments"]
	if !ok {
		arguments = object["parameters"]
	}
	if text, ok := arguments.(string); ok {
		decoded, err := decodeJSON(text)
		if err != nil {
			return toolCall{}, fmt.Errorf("the arguments of %s: %w", quote(name), err)
		}
		arguments = decoded
	}
	if arguments == nil {
		arguments = map[string]any{}
	}
	return toolCall{name, arguments}, nil
}

func (c toolCall) equal(d toolCall) bool {
	return c.name == d.name && equalJSON(c.arguments, d.arguments)
}

// matching is the number of calls made that are wanted, each counted once.
func (v ToolCall) matching(got, want []toolCall) int {
	n := 0
	used := make([]bool, len(want))
	for i, c := range got {
		for j, w := range want {
			if !used[j] && (!v.Ordered || i == j) && c.equal(w) {
				used[j] = true
				n++
				break
			}
		}
	}
	return n
}

// difference is a sentence about the first call that is wrong.
func difference(got, want []toolCall) string {
	if len(got) != len(want) {
		return fmt.Sprintf("found %d calls, expected %d", len(got), len(want))
	}
	for i, c := range got {
		if c.name != want[i].name {
			return fmt.Sprintf("call %d is to %s, not %s", i+1, quote(c.name), quote(want[i].name))
		}
		if !equalJSON(c.arguments, want[i].arguments) {
			return fmt.Sprintf("call %d to %s has wrong arguments", i+1, quote(c.name))
		}
	}
	return "the calls are in the wrong order"
}
