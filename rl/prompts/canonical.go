package prompts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/table"
)

// choicesKey is the column with the texts of a choice, in order.
const choicesKey = "choices"

// maxLetters is how many choices have a letter.
const maxLetters = 26

// canonical brings the forms in which data sets keep conversations and choices to the one
// that is read here.
func canonical(out table.Row) error {
	for _, key := range []string{messagesKey, "prompt", completionKey, chosenKey, rejectedKey} {
		raw, there := out[key]
		if !there {
			continue
		}
		turns, err := turnsOf(raw, out["system"])
		if err != nil {
			return fmt.Errorf("%q: %w", key, err)
		}
		if turns != nil {
			out[key] = turns
		}
	}
	return lettered(out)
}

// roles are the speakers of ShareGPT's conversations
// (https://github.com/lm-sys/FastChat/blob/main/docs/training.md) and of those that were made
// after them.
var roles = map[string]string{
	"human": chat.User, "user": chat.User,
	"gpt": chat.Assistant, "assistant": chat.Assistant, "chatgpt": chat.Assistant, "model": chat.Assistant, "bing": chat.Assistant, "bard": chat.Assistant,
	"system": chat.System,
	"tool":   "tool", "observation": "tool", "function_response": "tool",
}

// turnsOf are messages made of ShareGPT's turns, {"from":"human","value":"..."}, with the
// system message that a row may have beside them; nil where the value has no such turns.
func turnsOf(raw, system json.RawMessage) (json.RawMessage, error) {
	var turns []struct {
		From  *string
		Value *string
	}
	raw = opened(raw)
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &turns) != nil || len(turns) == 0 || turns[0].From == nil {
		return nil, nil
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	for i, t := range turns {
		if t.From == nil || t.Value == nil {
			return nil, fmt.Errorf(`turn %d has no "from" or no "value"`, i+1)
		}
		role, known := roles[strings.ToLower(*t.From)]
		if !known {
			return nil, fmt.Errorf("turn %d is from %q; accepted: %s", i+1, *t.From, strings.Join(slices.Sorted(maps.Keys(roles)), ", "))
		}
		messages = append(messages, message{role, *t.Value})
	}
	if text := textOf(system); text != "" && messages[0].Role != chat.System {
		messages = append([]message{{chat.System, text}}, messages...)
	}
	return marshal(messages)
}

// lettered takes the choices of a row as a list of texts. ARC has an object with the lists
// text and label, and its answer is a label: that becomes the letter of its place. MMLU's is
// the place itself, which verifiers read; one that is imitated becomes a letter.
func lettered(out table.Row) error {
	raw, there := out[choicesKey]
	if !there {
		return nil
	}
	var list []string
	var choices struct{ Text, Label []string }
	switch raw = opened(raw); {
	case len(raw) == 0:
	case raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		out[choicesKey] = raw
		i, err := strconv.Atoi(textOf(out[completionKey]))
		if err == nil && string(out[completionKey]) == string(out["answer"]) && 0 <= i && i < min(len(list), maxLetters) {
			return set(out, completionKey, letter(i))
		}
	case raw[0] == '{' && json.Unmarshal(raw, &choices) == nil && choices.Text != nil:
		var err error
		if out[choicesKey], err = marshal(choices.Text); err != nil {
			return err
		}
		for _, key := range []string{"answer", completionKey} {
			if i := slices.Index(choices.Label, textOf(out[key])); out[key] != nil && i >= 0 && i < maxLetters {
				if err := set(out, key, letter(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// letter is the letter of a choice, from 0.
func letter(i int) string { return string(rune('A' + i)) }

// shownList is a list of choices as it stands in a prompt: a line for each, with its letter;
// what is no list of texts is as [textOf] has it.
func shownList(raw json.RawMessage) string {
	one := table.Row{choicesKey: raw}
	var choices []string
	if lettered(one) != nil || json.Unmarshal(one[choicesKey], &choices) != nil || len(choices) == 0 || len(choices) > maxLetters {
		return textOf(raw)
	}
	for i := range choices {
		choices[i] = letter(i) + ". " + choices[i]
	}
	return strings.Join(choices, "\n")
}
