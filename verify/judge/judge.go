package judge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/verify"
)

// Question is what a judge is asked.
type Question struct {
	About  string  // what of a completion: the number of an item or step, or of the other completion of a pair and which of the two is first; "": it is the one question
	Text   string  // that is shown; "": the conversation
	Points float64 // weight of an item; else 1
}

// Asks implements [verify.Asking].
func (j *Judge) Asks() string { return j.Model }

// Verify implements [verify.Verifier]: without the model nothing is scored.
func (j *Judge) Verify(verify.Problem, string) verify.Verdict {
	return verify.Abstain("the model %s is not at hand: a run and its evaluations ask it, and rlzero judge", j.Model)
}

// Draws says whether the model writes an answer.
func (j *Judge) Draws() bool { return j.pattern != nil || j.reader != nil }

// Head says whether its head is read.
func (j *Judge) Head() bool { return j.head }

// Choices are the answers whose probabilities are read; nil: others are read.
func (j *Judge) Choices() []string { return j.choices }

// Conversation says whether the conversation itself is shown, in place of a prompt.
func (j *Judge) Conversation() bool { return j.prompt == nil }

// Reads says how answers are read.
func (j *Judge) Reads() string { return j.reads }

// PromptBytes is the length of what the prompt says beside its fields.
func (j *Judge) PromptBytes() int {
	n := 0
	for _, p := range j.prompt {
		n += len(p.text)
	}
	return n
}

// Shown is how many completions a prompt shows, some perhaps several times, of a question that is about n.
func (j *Judge) Shown(n int) int {
	if j.Conversation() {
		return 1
	}
	shown := 0
	for _, p := range j.prompt {
		switch p.field {
		case "completion", "step", "before", "a", "b":
			shown++
		case "list":
			shown += n
		}
	}
	return shown
}

// Marks is the length of what stands between n completions of a list, in bytes.
func (j *Judge) Marks(n int) int {
	marks := 0
	for _, p := range j.prompt {
		if p.field == "list" {
			for i := range n {
				marks += len(mark(i)) + len("\n")
			}
		}
	}
	return marks
}

// Check implements [verify.Checker]: the row has what the prompt names, and the list.
func (j *Judge) Check(row verify.Problem) error {
	if j.Shows == Items {
		if _, err := j.items(row); err != nil {
			return err
		}
	}
	if j.prompt == nil {
		return nil
	}
	_, err := j.prompt.fill(row, map[string]string{"completion": "", "item": "", "step": "", "before": "", "a": "", "b": "", "list": ""})
	return err
}

// Ask are the questions about a completion, with shows each, items or steps.
func (j *Judge) Ask(row verify.Problem, completion string) ([]Question, error) {
	if j.prompt == nil {
		return []Question{{Points: 1}}, nil
	}
	fields := map[string]string{"completion": j.shown(completion)}
	if j.Shows == Steps {
		return j.steps(row, completion, fields)
	}
	if j.Shows != Items {
		text, err := j.prompt.fill(row, fields)
		return []Question{{Text: text, Points: 1}}, err
	}
	items, err := j.items(row)
	if err != nil {
		return nil, err
	}
	out := make([]Question, len(items))
	for i, item := range items {
		fields["item"] = item.Ask
		text, err := j.prompt.fill(row, fields)
		if err != nil {
			return nil, err
		}
		out[i] = Question{About: strconv.Itoa(i + 1), Text: text, Points: item.Points}
	}
	return out, nil
}

// Compare is the question which of two completions of a row is better.
func (j *Judge) Compare(row verify.Problem, a, b string) (Question, error) {
	text, err := j.prompt.fill(row, map[string]string{"a": j.shown(a), "b": j.shown(b)})
	return Question{Text: text, Points: 1}, err
}

// List is the question in which order completions of a row are good.
func (j *Judge) List(row verify.Problem, completions []string) (Question, error) {
	var list strings.Builder
	for i, c := range completions {
		list.WriteString(mark(i) + j.shown(c) + "\n")
	}
	text, err := j.prompt.fill(row, map[string]string{"list": list.String()})
	return Question{Text: text, Points: 1}, err
}

// mark stands before completion i of a list.
func mark(i int) string { return fmt.Sprintf("[%d]\n", i+1) }

// shown is what the judge sees of a completion.
func (j *Judge) shown(completion string) string {
	if j.Part == "" {
		return completion
	}
	if at := strings.LastIndex(completion, j.Part); at >= 0 {
		return completion[at+len(j.Part):]
	}
	return ""
}

// maxSteps bounds the steps of a completion.
const maxSteps = 64

// Cut are the places at which the steps of a completion begin, ascending, in bytes; nil: completions are not
// judged by steps. There is always one. What stands before the part that is shown belongs to none.
func (j *Judge) Cut(completion string) []int {
	if j.begins == nil {
		return nil
	}
	shown := j.shown(completion)
	from := len(completion) - len(shown)
	starts := []int{from}
	for _, match := range j.begins.FindAllStringIndex(shown, -1) {
		at, last := from+match[0], starts[len(starts)-1]
		if strings.TrimSpace(completion[last:at]) != "" && strings.TrimSpace(completion[at:]) != "" && len(starts) < maxSteps {
			starts = append(starts, at)
		}
	}
	return starts
}

// steps are the questions about the steps of a completion.
func (j *Judge) steps(row verify.Problem, completion string, fields map[string]string) ([]Question, error) {
	starts := j.Cut(completion)
	out := make([]Question, len(starts))
	for i, at := range starts {
		to := len(completion)
		if i+1 < len(starts) {
			to = starts[i+1]
		}
		fields["before"], fields["step"] = completion[starts[0]:at], completion[at:to]
		text, err := j.prompt.fill(row, fields)
		if err != nil {
			return nil, err
		}
		out[i] = Question{About: strconv.Itoa(i + 1), Text: text, Points: 1}
	}
	return out, nil
}

// item is an entry of a row's list.
type item struct {
	Ask    string
	Points float64
}

// maxItems bounds the list of a row.
const maxItems = 64

// items are those of a row.
func (j *Judge) items(row verify.Problem) ([]item, error) {
	raw, there := row.Metadata[j.Items]
	if !there {
		return nil, fmt.Errorf("the row has no %s, whose entries are judged; beside question and answer it has %s", j.Items, verify.Columns(row.Metadata))
	}
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil || len(entries) == 0 || len(entries) > maxItems {
		return nil, fmt.Errorf("%s of the row is %s; accepted: a list of 1 to %d texts, or of objects with ask and points", j.Items, short(raw), maxItems)
	}
	out := make([]item, len(entries))
	for i, raw := range entries {
		one := item{Points: 1}
		if json.Unmarshal(raw, &one.Ask) != nil {
			var members map[string]json.RawMessage
			if json.Unmarshal(raw, &members) != nil || json.Unmarshal(raw, &one) != nil {
				return nil, fmt.Errorf("entry %d of %s is %s; accepted: a text, or an object such as {\"ask\": \"names a year\", \"points\": 3}", i+1, j.Items, short(raw))
			}
			for _, name := range slices.Sorted(maps.Keys(members)) {
				if known := []string{"ask", "points"}; !slices.Contains(known, name) {
					return nil, fmt.Errorf("entry %d of %s: %w", i+1, j.Items, hint.Unknown("member", name, known, ""))
				}
			}
		}
		if strings.TrimSpace(one.Ask) == "" || !(one.Points > 0 && one.Points <= 1e9) {
			return nil, fmt.Errorf("entry %d of %s is %s; accepted: a text that is not empty, and points above 0, up to 1e9", i+1, j.Items, short(raw))
		}
		out[i] = one
	}
	return out, nil
}

// short is JSON as a message shows it.
func short(raw json.RawMessage) string {
	const most = 60
	if len(raw) <= most {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw[:most]), "") + "..."
}
