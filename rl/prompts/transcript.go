package prompts

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/verify"
)

// Marks of the turns of a conversation that is one text, as HH-RLHF writes it
// (https://huggingface.co/datasets/Anthropic/hh-rlhf).
const (
	humanMark     = "\n\nHuman:"
	assistantMark = "\n\nAssistant:"
)

// inTurns is a row whose chosen and rejected, after its question, are such texts: they become
// lists of messages. Any other row stays as it is. Only a renderer with a template asks for it:
// without one the text is what the model reads.
func inTurns(row verify.Problem) (verify.Problem, error) {
	lists := map[string]json.RawMessage{}
	for _, key := range []string{chosenKey, rejectedKey} {
		text, _, err := completionOf(row, key)
		if err != nil || text == nil {
			return row, nil
		}
		turns := transcript(row.Question + *text)
		if turns == nil {
			return row, nil
		}
		if lists[key], err = marshal(turns); err != nil {
			return row, err
		}
	}
	row.Metadata = maps.Clone(row.Metadata)
	maps.Copy(row.Metadata, lists)
	return row, nil
}

// turn is a message as a row has it.
type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// transcript is the turns of a text that begins with a person's and ends with the assistant's,
// without the space around each; turns of one role after another are one, with an empty line
// between them. nil: the text is something else.
func transcript(text string) []turn {
	if !strings.HasPrefix(text, humanMark) {
		return nil
	}
	var turns []turn
	for text != "" {
		role := chat.User
		rest, human := strings.CutPrefix(text, humanMark)
		if !human {
			role, rest = chat.Assistant, strings.TrimPrefix(text, assistantMark)
		}
		end := len(rest)
		for _, mark := range []string{humanMark, assistantMark} {
			if at := strings.Index(rest, mark); at >= 0 {
				end = min(end, at)
			}
		}
		said := strings.TrimSpace(rest[:end])
		text = rest[end:]
		if last := len(turns) - 1; last >= 0 && turns[last].Role == role {
			turns[last].Content = strings.TrimSpace(turns[last].Content + "\n\n" + said)
			continue
		}
		turns = append(turns, turn{role, said})
	}
	if turns[len(turns)-1].Role != chat.Assistant {
		return nil
	}
	return turns
}
