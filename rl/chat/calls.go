package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/model/text/template"
)

// Calls is how a model writes calls of tools: each is an object with the keys "name" and
// Arguments, in that order.
type Calls struct {
	Family    string
	Arguments string // the key of the arguments
	Begin     string // in front of the first object; "": calls are a whole answer
	Between   string // of two objects; "": there is one call at most
	End       string // after the last object
	list      bool   // the objects are those of a JSON list
}

// families are the ways to write calls that are known.
var families = []Calls{
	{"hermes", "arguments", "<tool_call>\n", "\n</tool_call>\n<tool_call>\n", "\n</tool_call>", false}, // Hermes, Qwen
	{"mistral", "arguments", "[TOOL_CALLS] [", ", ", "]", true},
	{"llama3", "parameters", "", "", "", false},
}

// Call is a call of a tool.
type Call struct {
	Name      string
	Arguments json.RawMessage // an object, as the model wrote it
}

// triedTools are those that a template is tried with.
var triedTools = Functions([]Function{{Name: "tried", About: "x", Args: json.RawMessage(`{"type":"object","properties":{"k":{"type":"string"}}}`)}})

// Function describes a tool to a template.
type Function struct {
	Name  string
	About string
	Args  json.RawMessage // a JSON schema of an object
}

// Functions are tools as templates read them.
func Functions(tools []Function) any {
	type function struct {
		Name       string          `json:"name"`
		About      string          `json:"description"`
		Parameters json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	list := make([]tool, len(tools))
	for i, t := range tools {
		list[i] = tool{"function", function{t.Name, t.About, t.Args}}
	}
	raw, err := json.Marshal(list)
	if err != nil {
		panic(err) // schemas are JSON
	}
	value, err := template.DecodeJSON(raw)
	if err != nil {
		panic(err)
	}
	return value
}

// Write is a call in the way of the template; args is a JSON object.
func (c Calls) Write(name, args string) string {
	return c.Begin + `{"name": "` + name + `", "` + c.Arguments + `": ` + args + "}" + c.End
}

// triedCall is a message with a call whose argument k is a value.
func triedCall(value string) string {
	return `{"role":"assistant","content":"","tool_calls":[{"id":"` + callID + `","type":"function","function":{"name":"tried","arguments":{"k":"` + value + `"}}}]}`
}

// Calls finds out how the template writes calls, by having it write one; false if it does
// so in no way that is known here.
func (f *Format) Calls() (Calls, bool) {
	messages, err := ReadMessages([]byte(`[{"role":"user","content":"` + tryFirst + `"},` + triedCall("v") + `]`))
	if err != nil {
		return Calls{}, false
	}
	r, err := f.render(Conversation{Messages: messages, Tools: triedTools}, false)
	if err != nil {
		return Calls{}, false
	}
	for _, c := range families {
		written := c.Begin + `{"name": "tried", "` + c.Arguments + `": {"k": "v"}`
		if at := strings.LastIndex(r.Text, written); at >= 0 && strings.Contains(r.Text[at:], "}"+c.End) {
			return c, true
		}
	}
	return Calls{}, false
}

// Starts is where calls may begin in a text that goes on, and whether they do. White space in
// front of them belongs to them. What follows may still turn out to be none.
func (c Calls) Starts(text string) (at int, begun bool) {
	if c.Begin == "" {
		rest := strings.TrimLeft(text, " \n")
		if rest != "" && rest[0] != '{' {
			return len(text), false
		}
		return 0, rest != ""
	}
	mark := c.mark()
	if at := strings.Index(text, mark); at >= 0 {
		return len(strings.TrimRight(text[:at], " \n")), true
	}
	for n := min(len(mark)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			text = text[:len(text)-n]
			break
		}
	}
	return len(strings.TrimRight(text, " \n")), false
}

// mark is the first word of Begin; "" where calls have none.
func (c Calls) mark() string {
	mark, _, _ := strings.Cut(c.Begin, " ")
	return strings.TrimSpace(mark)
}

// Read reads the calls of a text that begins with them. It is false for anything else, such
// as a call of a tool that is not named, and nothing is mended.
func (c Calls) Read(text string, names []string) ([]Call, bool) {
	calls, ok := c.Written(text)
	if !ok || slices.ContainsFunc(calls, func(call Call) bool { return !slices.Contains(names, call.Name) }) {
		return nil, false
	}
	return calls, true
}

// Written are the calls of a text that begins with them, whatever tools they name. It is false for
// anything else, and nothing is mended.
func (c Calls) Written(text string) ([]Call, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), c.mark())
	if !ok {
		return nil, false
	}
	var objects []json.RawMessage
	if c.list {
		if json.Unmarshal([]byte(rest), &objects) != nil {
			return nil, false
		}
	} else if objects, ok = c.objects(rest); !ok {
		return nil, false
	}
	var calls []Call
	for _, raw := range objects {
		call, ok := c.readOne(raw)
		if !ok {
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, len(calls) > 0
}

// objects are those of calls that each have a begin and an end; without those there is one.
func (c Calls) objects(rest string) (out []json.RawMessage, ok bool) {
	for {
		dec := json.NewDecoder(strings.NewReader(rest))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return nil, false
		}
		out = append(out, raw)
		if rest, ok = strings.CutPrefix(strings.TrimSpace(rest[dec.InputOffset():]), strings.TrimSpace(c.End)); !ok {
			return nil, false
		}
		if rest = strings.TrimSpace(rest); rest == "" {
			return out, true
		}
		if rest, ok = strings.CutPrefix(rest, c.mark()); !ok || c.Between == "" {
			return nil, false
		}
	}
}

// readOne reads an object of a call.
func (c Calls) readOne(raw json.RawMessage) (Call, bool) {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil {
		return Call{}, false
	}
	var call Call
	call.Arguments = o[c.Arguments]
	if json.Unmarshal(o["name"], &call.Name) != nil || !strings.HasPrefix(string(call.Arguments), "{") {
		return Call{}, false
	}
	delete(o, "name")
	delete(o, c.Arguments)
	delete(o, "id") // Mistral's models write one
	return call, len(o) == 0
}
