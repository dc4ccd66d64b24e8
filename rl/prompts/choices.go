package prompts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/verify"
)

// Columns of a row that says which completions are better. Data sets have them in the
// forms of https://huggingface.co/docs/trl/dataset_formats (preference, unpaired
// preference): text or messages, after a prompt or with it.
const (
	chosenKey   = "chosen"   // the better completion
	rejectedKey = "rejected" // the worse one
	labelKey    = "label"    // whether the row's one completion is good
)

// Choice is a completion of a row, with its prompt.
type Choice struct {
	chat.Lesson
	Reward float64   // 1: the better one of two, or good; 0: the worse one, or bad
	Labels []float64 // [learned token] of the step that ends there; NaN: none does; nil: the row has no steps
}

// Faults of rows that many rows of a file may share.
var (
	errNoChoice = errors.New("nothing is preferred")
	errSame     = errors.New("chosen and rejected are the same")
)

// Choices are the completions of a row to learn a preference from: chosen and rejected,
// steps with labels, or one completion with its label.
func (r *Renderer) Choices(row verify.Problem) ([]Choice, error) {
	if r.format != nil {
		var err error
		if row, err = inTurns(row); err != nil {
			return nil, err
		}
	}
	var sides []Choice
	var missing []string
	for _, key := range []string{chosenKey, rejectedKey} {
		text, messages, err := completionOf(row, key)
		if err != nil {
			return nil, err
		}
		if text == nil && messages == nil {
			missing = append(missing, fmt.Sprintf("%q", key))
			continue
		}
		lesson, err := r.side(row, key, text, messages)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		sides = append(sides, Choice{Lesson: lesson, Reward: float64(1 - len(sides))})
	}
	switch {
	case len(missing) == 2:
		if steps, err := r.stepped(row); steps != nil || err != nil {
			return steps, err
		}
		return r.labelled(row)
	case len(missing) == 1:
		return nil, fmt.Errorf("%w: the row has no %s; %s", errNoChoice, missing[0], beside(row))
	case slices.Equal(sides[0].IDs, sides[1].IDs):
		return nil, errSame
	}
	return sides, nil
}

// labelled is the one completion of a row.
func (r *Renderer) labelled(row verify.Problem) ([]Choice, error) {
	good, there, err := Label(row)
	if err != nil {
		return nil, err
	}
	text, messages, err := completionOf(row, completionKey)
	if err != nil {
		return nil, err
	}
	if !there || text == nil && messages == nil {
		return nil, fmt.Errorf(`%w: the row has no "chosen" and "rejected", no "completion" with a "label", and no "steps" with "labels"; %s`, errNoChoice, beside(row))
	}
	lesson, err := r.side(row, completionKey, text, messages)
	c := Choice{Lesson: lesson}
	if good {
		c.Reward = 1
	}
	return []Choice{c}, err
}

// Label is the label of a row, if it has one: whether its completion is good.
func Label(row verify.Problem) (good, there bool, err error) {
	raw, there := row.Metadata[labelKey]
	var value any
	if err := json.Unmarshal(raw, &value); !there || err != nil || value == nil {
		return false, false, nil
	}
	switch strings.ToLower(fmt.Sprint(value)) {
	case "true", "1", verify.Right: // as completions.jsonl has them
		return true, true, nil
	case "false", "0", verify.Wrong:
		return false, true, nil
	}
	return false, false, fmt.Errorf(`"label" is %s; accepted: true, false, 1, 0, right, wrong`, raw)
}

// side is a completion after the prompt of its row. Messages that begin with what was
// asked are a conversation of their own, in place of the row's prompt; what the two of a
// row begin with is then the prompt.
func (r *Renderer) side(row verify.Problem, key string, text *string, messages []chat.Message) (chat.Lesson, error) {
	if text != nil {
		return r.Shown(row, "", *text)
	}
	if r.format == nil {
		return chat.Lesson{}, errNoTemplate
	}
	if !asks(messages) {
		c, err := r.conversation(row)
		if err != nil {
			return chat.Lesson{}, err
		}
		c = c.Asked()
		given := len(c.Messages)
		c.Messages = append(c.Messages, messages...)
		return r.format.Lesson(c, given)
	}
	own := row
	own.Metadata = maps.Clone(row.Metadata)
	own.Metadata[messagesKey] = row.Metadata[key]
	c, err := r.conversation(own)
	if err != nil {
		return chat.Lesson{}, err
	}
	given := len(messages) - 1
	if key != completionKey {
		given = sharedMessages(row.Metadata[chosenKey], row.Metadata[rejectedKey])
	}
	return r.format.Lesson(c, given+len(c.Messages)-len(messages))
}

// asks says whether messages are a conversation from its beginning.
func asks(messages []chat.Message) bool {
	return len(messages) > 0 && (messages[0].Role == chat.User || messages[0].Role == chat.System)
}

// sharedMessages is how many messages two lists begin with alike; the last of neither
// counts.
func sharedMessages(a, b json.RawMessage) int {
	var x, y []any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return 0
	}
	n := 0
	for n < min(len(x), len(y))-1 && reflect.DeepEqual(x[n], y[n]) {
		n++
	}
	return n
}

// sharedText is how many bytes two texts begin with alike, whole characters, without a
// space before the place where they part; the last character of neither counts.
func sharedText(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) {
		c, size := utf8.DecodeRuneInString(a[n:])
		d, _ := utf8.DecodeRuneInString(b[n:])
		if c != d || n+size >= min(len(a), len(b)) {
			break
		}
		n += size
	}
	if n > 0 && a[n-1] == ' ' {
		n--
	}
	return n
}

// readImplicit takes the prompt of a row that has none from what chosen and rejected
// begin with.
func readImplicit(row *verify.Problem, fields map[string]json.RawMessage) error {
	a, b := fields[chosenKey], fields[rejectedKey]
	for _, key := range []string{"question", "prompt", messagesKey} {
		if raw, there := fields[key]; there && string(raw) != "null" {
			return nil
		}
	}
	var chosen, rejected string
	if json.Unmarshal(a, &chosen) == nil && json.Unmarshal(b, &rejected) == nil {
		n := sharedText(chosen, rejected)
		row.Question = chosen[:n]
		if err := set(row.Metadata, chosenKey, chosen[n:]); err != nil {
			return err
		}
		return set(row.Metadata, rejectedKey, rejected[n:])
	}
	var messages []json.RawMessage
	n := sharedMessages(a, b)
	if n == 0 || json.Unmarshal(a, &messages) != nil {
		return nil
	}
	raw, err := marshal(messages[:n])
	if err != nil {
		return err
	}
	fields[messagesKey], row.Metadata[messagesKey] = raw, raw
	return nil
}
