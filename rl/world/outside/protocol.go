//go:build !js

package outside

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/settings"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/verify"
)

// version is that of the protocol.
const version = 1

// Bounds of an answer.
const (
	maxAtOnce   = 1 << 16
	maxMessages = 64
	maxFacts    = 64
	maxState    = 1 << 12 // bytes
	maxReason   = 1 << 12 // bytes
	maxDepth    = 32      // of objects and lists in a row
)

// Hello is the first line of a program: what it says of itself.
type Hello struct {
	Protocol int    `json:"protocol"`
	Name     string `json:"name"`
	Pure     bool   `json:"pure"`
	Forks    bool   `json:"forks"`
	AtOnce   int    `json:"at_once"`
	Rows     bool   `json:"rows"`
	Judges   bool   `json:"judges"`
}

const helloForm = `accepted: {"protocol": 1, "name": "guess", "pure": true, "at_once": 64}`

// programName is a name that a program may give itself.
var programName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// parseHello reads the first line of a program.
func parseHello(line []byte) (h Hello, err error) {
	told, err := decode(line, &h, "protocol", "name", "pure", "forks", "at_once", "rows", "judges")
	switch {
	case err != nil:
		return h, fmt.Errorf("its first line is %s: %w; %s", terminal.Quote(string(line)), err, helloForm)
	case h.Protocol != version:
		return h, fmt.Errorf("its first line has protocol %d; accepted: %d", h.Protocol, version)
	}
	for _, key := range []string{"name", "pure", "at_once"} {
		if told[key] == nil {
			return h, fmt.Errorf("its first line has no %q; %s", key, helloForm)
		}
	}
	switch {
	case !programName.MatchString(h.Name):
		return h, fmt.Errorf("its first line has the name %s; accepted: letters, digits, _, - and ., at most 64", terminal.Quote(h.Name))
	case h.AtOnce < 1 || h.AtOnce > maxAtOnce:
		return h, fmt.Errorf("its first line has at_once %d; accepted: 1 to %d", h.AtOnce, maxAtOnce)
	}
	return h, nil
}

// request is a line to a program.
type request struct {
	ID     string          `json:"id,omitempty"`
	Op     string          `json:"op"`
	Row    json.RawMessage `json:"row,omitempty"`
	Chance string          `json:"chance,omitempty"`
	Text   *string         `json:"text,omitempty"`
	Cut    bool            `json:"cut,omitempty"`
	To     string          `json:"to,omitempty"`
	From   *int            `json:"from,omitempty"`
}

// line is a request as it is sent.
func (r request) line() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil { // rows were decoded from JSON
		panic(err)
	}
	return b.Bytes()
}

// answer is what a program says to a request.
type answer struct {
	ID       string             `json:"id,omitempty"`
	Messages []said             `json:"messages,omitempty"`
	Fresh    bool               `json:"fresh,omitempty"` // nothing that was said before is read any more
	Reward   float64            `json:"reward,omitempty"`
	State    string             `json:"state,omitempty"`
	Facts    map[string]float64 `json:"facts,omitempty"`
	Verdict  *verdict           `json:"verdict,omitempty"`
	Error    string             `json:"error,omitempty"`
	Rows     []json.RawMessage  `json:"rows,omitempty"`
}

// answerKeys are the keys of an answer.
var answerKeys = []string{"id", "messages", "fresh", "reward", "state", "facts", "verdict", "error", "rows"}

// said is a message of a program.
type said struct {
	Role string `json:"role,omitempty"`
	Text string `json:"text"`
}

// verdict is how a program says that an episode ended.
type verdict struct {
	Score   float64 `json:"score"`
	Verdict string  `json:"verdict,omitempty"`
	Reason  string  `json:"reason,omitempty"`
}

// parseAnswer reads a line of a program. An answer with an id comes also with an error that says what is wrong
// with it.
func parseAnswer(line []byte) (a answer, err error) {
	if _, err = decode(line, &a, answerKeys...); err != nil {
		var only struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(line, &only) != nil {
			only.ID = ""
		}
		return answer{ID: only.ID}, fmt.Errorf("%s: %w", terminal.Quote(string(line)), err)
	}
	return a, nil
}

// decode reads one JSON object with keys, which come back with their values.
func decode(line []byte, into any, keys ...string) (told map[string]json.RawMessage, err error) {
	switch {
	case !utf8.Valid(line):
		return nil, errors.New("it is not UTF-8 text")
	case json.Unmarshal(line, &told) != nil || told == nil:
		return nil, errors.New("it is not one JSON object")
	}
	if err := lines.Once(line); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(told)) {
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("unknown key %q%s", key, settings.DidYouMean(key, keys, ""))
		}
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return told, nil
}

// broken is what the program says went wrong with its world; nil: nothing.
func (a answer) broken() error {
	if a.Error == "" {
		return nil
	}
	return fmt.Errorf("it says: %s", terminal.Line(a.Error, maxReason))
}

// reply is an answer to begin, which is the first, or to step. facts are the names of those of the world.
func (a answer) reply(first bool, facts []string) (world.Reply, error) {
	r := world.Reply{Reward: a.Reward, State: a.State, Facts: a.Facts}
	wrong := func(format string, args ...any) (world.Reply, error) {
		return world.Reply{}, fmt.Errorf("%w: "+format, append([]any{world.ErrSpoken}, args...)...)
	}
	switch {
	case a.Rows != nil:
		return wrong("rows answer begin or step; accepted: messages, reward, state, facts, verdict, error")
	case len(a.Messages) > maxMessages:
		return wrong("an answer has %d messages; accepted: at most %d", len(a.Messages), maxMessages)
	case len(a.Messages) == 0 && a.Verdict == nil && !first:
		return wrong("an answer to step has no messages and no verdict; accepted: one of them")
	case a.Fresh && first:
		return wrong("an answer to begin has fresh; accepted: in an answer to step, where something was said before")
	case len(a.State) > maxState:
		return wrong("a state has %d bytes; accepted: at most %d", len(a.State), maxState)
	case math.IsInf(a.Reward, 0) || math.IsNaN(a.Reward):
		return wrong("a reward is %v; accepted: a finite number", a.Reward)
	case len(a.Facts) > 0 && (first || !slices.Equal(slices.Sorted(maps.Keys(a.Facts)), slices.Sorted(slices.Values(facts)))):
		return wrong("an answer has the facts %s; accepted: none, or in an answer to step all that facts of [task.world] names: %s",
			strings.Join(slices.Sorted(maps.Keys(a.Facts)), ", "), strings.Join(facts, ", "))
	}
	for _, m := range a.Messages {
		if m.Role == "" {
			m.Role = world.User
		}
		if m.Role != world.User && m.Role != world.Answered {
			return wrong("a message has the role %s; accepted: %s, %s", terminal.Quote(m.Role), world.User, world.Answered)
		}
		r.Messages = append(r.Messages, world.Message{Role: m.Role, Text: m.Text})
	}
	r.Fresh = a.Fresh
	if a.Verdict != nil {
		v, err := a.Verdict.verdict()
		if err != nil {
			return wrong("%w", err)
		}
		r.Verdict = &v
	}
	return r, nil
}

// ruled is the rule of verdicts by which a program of others judged.
const ruled = "world"

// verdict is what a program says of an episode that is over. What it calls the verdict follows from the score, but
// for one that is not scored.
func (v verdict) verdict() (verify.Verdict, error) {
	out := verify.Verdict{Score: v.Score, Verdict: verify.Graded, Reason: terminal.Line(v.Reason, maxReason), Rule: ruled}
	switch {
	case v.Verdict == verify.NotScored:
		abstained := verify.Abstain("%s", out.Reason)
		abstained.Rule = ruled
		return abstained, nil
	case !(v.Score >= 0 && v.Score <= 1):
		return out, fmt.Errorf("a verdict has the score %v; accepted: 0 to 1", v.Score)
	case v.Score == 1:
		out.Verdict = verify.Right
	case v.Score == 0:
		out.Verdict = verify.Wrong
	}
	if v.Verdict != "" && v.Verdict != out.Verdict {
		return out, fmt.Errorf("the verdict %s goes with the score %v; accepted: %s, or no word", terminal.Quote(v.Verdict), v.Score, out.Verdict)
	}
	if out.Reason == "" {
		out.Reason = "the world says so"
	}
	return out, nil
}

// rowOf is a problem as a program reads it: its columns, with its id, question and answer.
func rowOf(p verify.Problem) (json.RawMessage, error) {
	row := maps.Clone(p.Metadata)
	if row == nil {
		row = map[string]json.RawMessage{}
	}
	for key, text := range map[string]string{"id": p.ID, "question": p.Question, "answer": p.Answer} {
		if text == "" {
			continue
		}
		raw, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		row[key] = raw
	}
	raw, err := json.Marshal(row)
	if err == nil && len(raw) > MaxLine/2 {
		err = fmt.Errorf("the row has %d bytes; accepted for a world of others: at most %d", len(raw), MaxLine/2)
	}
	return raw, err
}

// deep is how deep objects and lists are nested in JSON.
func deep(raw []byte) int {
	depth, most, text := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}
