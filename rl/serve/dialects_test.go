package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// named is an event of a stream whose events have names.
type named struct {
	name string
	data string
}

// namedEvents are those of a stream; each says its name in its data too.
func namedEvents(t testing.TB, body string) (out []named) {
	t.Helper()
	for _, e := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(e, "\ndata: ")
		name, isNamed := strings.CutPrefix(name, "event: ")
		var v struct{ Type string }
		if err := json.Unmarshal([]byte(data), &v); !ok || !isNamed || err != nil || v.Type != name {
			t.Fatalf("event %q: %v", e, err)
		}
		out = append(out, named{name, data})
	}
	return out
}

// heard is an answer of any format as a client hears it.
type heard struct {
	text  string
	calls []string // name and arguments
	end   string   // why it ended, in the words of the format
	usage [2]int   // tokens of the prompt, and those that were drawn
}

// dialects are the formats of conversations. Each asks the same in its own words.
var dialects = []struct {
	name, path string
	// body asks for so many tokens, with tools or not, of which one may have to be called.
	body  func(system, user string, most int, more string, tools, must bool) string
	whole func(t *testing.T, text string) heard
	// stream hears a stream, and checks the order of its events.
	stream func(t *testing.T, text string) heard
}{
	{"chat", talk, func(system, user string, most int, more string, tools, must bool) string {
		b := fmt.Sprintf(`{"messages":[{"role":"system","content":%q},{"role":"user","content":%q}],"max_tokens":%d%s`, system, user, most, more)
		if tools {
			b += `,"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":` + oneDigit + `}}]`
		}
		if must {
			b += `,"tool_choice":"required","parallel_tool_calls":false`
		}
		return b + "}"
	}, hearChat, hearChunks},
	{"responses", "/v1/responses", func(system, user string, most int, more string, tools, must bool) string {
		b := fmt.Sprintf(`{"instructions":%q,"input":%q,"max_output_tokens":%d%s`, system, user, most, more)
		if tools {
			b += `,"tools":[{"type":"function","name":"add","description":"adds","parameters":` + oneDigit + `}]`
		}
		if must {
			b += `,"tool_choice":"required","parallel_tool_calls":false`
		}
		return b + "}"
	}, hearResponse, hearResponseEvents},
	{"messages", "/v1/messages", func(system, user string, most int, more string, tools, must bool) string {
		b := fmt.Sprintf(`{"system":%q,"messages":[{"role":"user","content":%q}],"max_tokens":%d%s`, system, user, most, more)
		if tools {
			b += `,"tools":[{"name":"add","description":"adds","input_schema":` + oneDigit + `}]`
		}
		if must {
			b += `,"tool_choice":{"type":"any","disable_parallel_tool_use":true}`
		}
		return b + "}"
	}, hearMessage, hearMessageEvents},
}

const oneDigit = `{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},"required":["n"],"additionalProperties":false}`

func reads[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

type chatHeard struct {
	Choices []struct {
		Message, Delta struct {
			Content *string
			Calls   []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt int `json:"prompt_tokens"`
		Drawn  int `json:"completion_tokens"`
	}
}

func hearChat(t *testing.T, text string) (h heard) {
	v := reads[chatHeard](t, text)
	c := v.Choices[0]
	if c.Message.Content != nil {
		h.text = *c.Message.Content
	}
	for _, k := range c.Message.Calls {
		h.calls = append(h.calls, k.Function.Name+k.Function.Arguments)
	}
	h.end, h.usage = *c.Finish, [2]int{v.Usage.Prompt, v.Usage.Drawn}
	return h
}

func hearChunks(t *testing.T, text string) (h heard) {
	for _, e := range eventsOf(t, text) {
		if e == "[DONE]" {
			break
		}
		v := reads[chatHeard](t, e)
		if v.Usage != nil {
			h.usage = [2]int{v.Usage.Prompt, v.Usage.Drawn}
			continue
		}
		d := v.Choices[0].Delta
		if d.Content != nil {
			h.text += *d.Content
		}
		for _, k := range d.Calls {
			if k.ID != "" {
				h.calls = append(h.calls, "")
			}
			h.calls[len(h.calls)-1] += k.Function.Name + k.Function.Arguments
		}
		if f := v.Choices[0].Finish; f != nil {
			h.end = *f
		}
	}
	return h
}

type responseHeard struct {
	Type     string
	Number   int `json:"sequence_number"`
	Status   string
	Response *responseHeard
	Output   json.RawMessage // of an answer: items
	Item     *itemHeard
	Index    int `json:"output_index"`
	Delta    string
	Text     any
	Args     string                   `json:"arguments"`
	Details  *struct{ Reason string } `json:"incomplete_details"`
	Usage    *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
}

type itemHeard struct {
	Type, ID, Status, Name, Arguments string
	Content                           []struct{ Type, Text string }
}

func (r responseHeard) heard(t *testing.T) (h heard) {
	h.end = "stop"
	for _, item := range reads[[]itemHeard](t, string(r.Output)) {
		switch item.Type {
		case "message":
			for _, c := range item.Content {
				h.text += c.Text
			}
		case "function_call":
			h.calls, h.end = append(h.calls, item.Name+item.Arguments), "tool_calls"
		}
	}
	if r.Details != nil {
		if r.Status != "incomplete" || r.Details.Reason != "max_output_tokens" {
			t.Errorf("status %q, details %+v", r.Status, r.Details)
		}
		h.end = "length"
	}
	h.usage = [2]int{r.Usage.Input, r.Usage.Output}
	return h
}

func hearResponse(t *testing.T, text string) heard { return reads[responseHeard](t, text).heard(t) }

// hearResponseEvents joins the deltas, and compares them with what the last event has.
func hearResponseEvents(t *testing.T, text string) (h heard) {
	var calls []string
	joined, open := "", -1 // the item that has begun
	events := namedEvents(t, text)
	for i, e := range events {
		v := reads[responseHeard](t, e.data)
		if v.Number != i {
			t.Errorf("event %d has the number %d", i, v.Number)
		}
		switch kind := strings.TrimPrefix(e.name, "response."); kind {
		case "created", "in_progress":
			if i > 1 || v.Response.Status != "in_progress" {
				t.Errorf("event %d: %s", i, e.data)
			}
		case "output_item.added":
			if open >= 0 || v.Item.Status != "in_progress" {
				t.Errorf("event %d: %s", i, e.data)
			}
			if open = v.Index; v.Item.Type == "function_call" {
				calls = append(calls, v.Item.Name)
			}
		case "output_text.delta":
			joined += v.Delta
		case "function_call_arguments.delta":
			calls[len(calls)-1] += v.Delta
		case "output_item.done":
			if v.Index != open {
				t.Errorf("event %d: item %d ends, and %d has begun", i, v.Index, open)
			}
			open = -1
		case "completed", "incomplete":
			if h = v.Response.heard(t); i != len(events)-1 || v.Response.Status != kind {
				t.Errorf("event %d: %s", i, e.data)
			}
		}
	}
	if h.text != joined || !slices.Equal(h.calls, calls) {
		t.Errorf("the events add up to %q %q, and the last one has %q %q", joined, calls, h.text, h.calls)
	}
	return h
}

type messageHeard struct {
	Type    string
	Message *messageHeard
	Content []blockHeard
	Block   *blockHeard `json:"content_block"`
	Index   int
	Delta   struct {
		Type, Text string
		JSON       string  `json:"partial_json"`
		Reason     *string `json:"stop_reason"`
	}
	Reason *string `json:"stop_reason"`
	Usage  struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
}

type blockHeard struct {
	Type, Text, Name string
	Input            json.RawMessage
}

// messageEnds are the reasons of Anthropic's API in the words of a chat.
var messageEnds = map[string]string{"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls"}

func hearMessage(t *testing.T, text string) (h heard) {
	v := reads[messageHeard](t, text)
	for _, b := range v.Content {
		if h.text += b.Text; b.Type == "tool_use" {
			h.calls = append(h.calls, b.Name+string(b.Input))
		}
	}
	h.end, h.usage = messageEnds[*v.Reason], [2]int{v.Usage.Input, v.Usage.Output}
	return h
}

func hearMessageEvents(t *testing.T, text string) (h heard) {
	events, open := namedEvents(t, text), false
	for i, e := range events {
		v := reads[messageHeard](t, e.data)
		if (e.name == "message_start") != (i == 0) || (e.name == "message_stop") != (i == len(events)-1) {
			t.Errorf("event %d is %s", i, e.name)
		}
		switch e.name {
		case "message_start":
			h.usage[0] = v.Message.Usage.Input
		case "content_block_start":
			if open {
				t.Errorf("event %d begins a block in another", i)
			}
			if open = true; v.Block.Type == "tool_use" {
				h.calls = append(h.calls, v.Block.Name)
			}
		case "content_block_delta":
			if h.text += v.Delta.Text; v.Delta.JSON != "" {
				h.calls[len(h.calls)-1] += v.Delta.JSON
			}
		case "content_block_stop":
			open = false
		case "message_delta":
			h.end, h.usage[1] = messageEnds[*v.Delta.Reason], v.Usage.Output
		}
	}
	return h
}

// TestDialects: the same question has the same answer in all formats, whole and streamed: a text,
// one that is cut off, a call, and one that is cut off.
func TestDialects(t *testing.T) {
	s := calling(t, hermes, nil)
	ends := map[string]int{}
	for seed := range 4 {
		for _, c := range []struct {
			most        int
			more        string
			tools, must bool
		}{{60, "", false, false}, {60, `,"temperature":0.5`, true, false}, {100, "", true, true}, {30, "", true, true}} {
			var want heard
			for i, d := range dialects {
				more := fmt.Sprintf(`%s,"seed":%d`, c.more, seed)
				body := d.body("Be brief.", "hello \"you\"", c.most, more, c.tools, c.must)
				status, text := ask(t, s, d.path, body)
				if status != http.StatusOK {
					t.Fatalf("%s %s: %d %s", d.name, body, status, text)
				}
				got := d.whole(t, text)
				if i == 0 {
					want = got
					ends[got.end]++
				}
				if !equalHeard(got, want) {
					t.Errorf("%s %s:\n%+v, and as a chat\n%+v", d.name, body, got, want)
				}
				if c.must && got.text != "" {
					t.Errorf("%s %s: the text %q beside calls alone", d.name, body, got.text)
				}
				streamed := strings.TrimSuffix(body, "}") + `,"stream":true`
				if d.name == "chat" {
					streamed += `,"stream_options":{"include_usage":true}`
				}
				if _, text = ask(t, s, d.path, streamed+"}"); !equalHeard(d.stream(t, text), want) {
					t.Errorf("%s %s streamed:\n%+v, and as a chat\n%+v", d.name, body, d.stream(t, text), want)
				}
			}
		}
	}
	if ends["length"] == 0 || ends["stop"] == 0 || ends["tool_calls"] == 0 {
		t.Errorf("the answers end in %v: nothing is shown of the others", ends)
	}
}

// equalHeard compares answers. White space in arguments, which Anthropic's format has as JSON and not
// as text, does not count.
func equalHeard(a, b heard) bool {
	close := func(a, b string) bool {
		return strings.Join(strings.Fields(a), "") == strings.Join(strings.Fields(b), "")
	}
	return a.text == b.text && slices.EqualFunc(a.calls, b.calls, close) && a.end == b.end && a.usage == b.usage
}

// TestDialectLimits: the bounds of a prompt hold in each format, in tokens and in bytes, under the
// key that is too long.
func TestDialectLimits(t *testing.T) {
	s := calling(t, hermes, nil)
	for _, d := range dialects {
		for n, says := range map[int]string{300: "the context of this server has 256 tokens", 64*256 + 1: "bytes"} {
			status, text := ask(t, s, d.path, d.body("a", strings.Repeat("b", n), 60, "", false, false))
			var r refused
			if err := json.Unmarshal([]byte(text), &r); status != http.StatusBadRequest || err != nil || !strings.Contains(r.Error.Message, says) {
				t.Errorf("%s with %d bytes: %d %s", d.name, n, status, text)
			}
		}
	}
}
