package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
)

// templates write calls as the families do, and little else. That of Hermes is
// testdata/clients/chat_template.jinja.
var templates = map[string]string{
	"llama3": `{%- for t in tools or [] %}{{ t.function.name }} {% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}{"name": "{{ c.function.name }}", "parameters": {{ c.function.arguments | tojson }}}{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`,
	"mistral": `{%- for t in tools or [] %}{{ t.function.name }} {% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content or '' }}{% for c in m.tool_calls or [] %}[TOOL_CALLS] [{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}]{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`,
}

const hermes = "hermes"

// calling is a server of the tiny model with a template of a family.
func calling(t testing.TB, family string, change func(*Options)) *Server {
	t.Helper()
	s := serving(t, withTemplate(t, tiny(t, refdev.New()), family), change)
	if s.calls == nil || s.calls.Family != family {
		t.Fatalf("%s is %v", family, s.calls)
	}
	return s
}

// withTemplate gives a model a chat template.
func withTemplate(t testing.TB, m *model.Model, name string) *model.Model {
	t.Helper()
	dir := t.TempDir()
	template := []byte(templates[name])
	if name == hermes {
		var err error
		if template, err = os.ReadFile(filepath.Join("testdata", "clients", "chat_template.jinja")); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{"chat_template.jinja": template, "tokenizer_config.json": []byte(`{"eos_token":"<|im_end|>"}`), "tokenizer.json": nil} {
		if data == nil {
			var err error
			if data, err = os.ReadFile(filepath.Join(fixtures.Selection(t, "chat"), name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if m.Tokenizer, err = text.ReadFolder(dir); err != nil {
		t.Fatal(err)
	}
	return m
}

const someTools = `"tools":[{"type":"function","function":{"name":"add","description":"adds","parameters":{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":9},"b":{"enum":["x","y"]}},"required":["a","b"],"additionalProperties":false}}},{"type":"function","function":{"name":"now"}}]`

type withCalls struct {
	Choices []struct {
		Message, Delta struct {
			Content *string
			Calls   []struct {
				Index    int
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Finish *string `json:"finish_reason"`
	}
}

// TestToolsRequired: an untrained model calls what it has to, with arguments of the schema, and
// the events of a stream add up to the same calls.
func TestToolsRequired(t *testing.T) {
	for _, family := range []string{hermes, "llama3", "mistral"} {
		s, whole := calling(t, family, nil), 0
		for seed := range 4 {
			for choice, names := range map[string]string{`"required"`: "add now", `{"type":"function","function":{"name":"add"}}`: "add"} {
				body := fmt.Sprintf(`{"messages":[{"role":"user","content":"go"}],"max_tokens":160,"seed":%d,"parallel_tool_calls":%v,%s,"tool_choice":%s`, seed, seed%2 == 0, someTools, choice)
				c := got[withCalls](t, s, "/v1/chat/completions", body+"}").Choices[0]
				if *c.Finish == "length" { // more calls than there is room for
					continue
				}
				whole++
				if len(c.Message.Calls) == 0 || *c.Finish != "tool_calls" || c.Message.Content != nil {
					t.Fatalf("%s, seed %d: %+v, %s", family, seed, c.Message, *c.Finish)
				}
				for _, k := range c.Message.Calls {
					var a struct {
						A *int
						B string
					}
					if err := json.Unmarshal([]byte(k.Function.Arguments), &a); err != nil || !strings.Contains(names, k.Function.Name) || k.Function.Name == "add" && (a.A == nil || *a.A > 9 || a.B != "x" && a.B != "y") {
						t.Errorf("%s: %+v, %v", family, k, err)
					}
				}
				if seed%2 == 1 && len(c.Message.Calls) > 1 {
					t.Errorf("%s: %d calls, one is asked for", family, len(c.Message.Calls))
				}
				streamed := map[int]string{}
				_, events := ask(t, s, "/v1/chat/completions", body+`,"stream":true}`)
				for _, e := range eventsOf(t, events) {
					var p withCalls
					if e == "[DONE]" {
						continue
					}
					if err := json.Unmarshal([]byte(e), &p); err != nil {
						t.Fatal(err)
					}
					for _, k := range p.Choices[0].Delta.Calls {
						streamed[k.Index] += k.Function.Name + k.Function.Arguments
					}
				}
				for i, k := range c.Message.Calls {
					if streamed[i] != k.Function.Name+k.Function.Arguments {
						t.Errorf("%s: streamed %q, whole %+v", family, streamed[i], k)
					}
				}
			}
		}
		if whole < 3 {
			t.Errorf("%s: %d answers came to an end", family, whole)
		}
	}
}

// TestToolsAuto: without being made to, a model that was not trained calls nothing, and its
// text is whole.
func TestToolsAuto(t *testing.T) {
	s := calling(t, hermes, nil)
	body := `{"messages":[{"role":"user","content":"go"}],"max_tokens":30,"seed":3,` + someTools + `}`
	c := got[withCalls](t, s, "/v1/chat/completions", body).Choices[0]
	if c.Message.Calls != nil || c.Message.Content == nil || *c.Message.Content == "" {
		t.Errorf("%+v", c)
	}
	none := got[spoken](t, s, "/v1/chat/completions", strings.Replace(body, `"tools"`, `"tool_choice":"none","tools"`, 1))
	plain := got[spoken](t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"go"}],"max_tokens":30,"seed":3}`)
	if none.Choices[0].Message.Content != plain.Choices[0].Message.Content {
		t.Error(`with tool_choice "none" the prompt has tools`)
	}
}

// TestCaller: text and calls come apart, however the text is cut.
func TestCaller(t *testing.T) {
	s := calling(t, hermes, nil)
	for text, want := range map[string]string{
		"well\n<tool_call>\n{\"name\": \"add\", \"arguments\": {}}\n</tool_call>": "well|add",
		"a <tool_cal and <tool_call> x":                                           "a <tool_cal and <tool_call> x|",
		"no call \n":                                                              "no call \n|",
	} {
		for size := 1; size < 9; size++ {
			c := caller{callable: &callable{Calls: *s.calls, names: []string{"add"}}}
			out := ""
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				out, rest = out+c.add(rest[:n]), rest[n:]
			}
			rest, calls := c.end()
			out += rest + "|"
			for _, k := range calls {
				out += k.Name
			}
			if out != want {
				t.Errorf("in pieces of %d: %q, want %q", size, out, want)
			}
		}
	}
}

// TestToolsTold: calls and answers of earlier turns reach the template.
func TestToolsTold(t *testing.T) {
	s := calling(t, hermes, nil)
	turns, f := readTurns("messages", json.RawMessage(`[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\": 1}"}}]},{"role":"tool","tool_call_id":"c1","content":"2"}]`))
	if f != nil {
		t.Fatal(f)
	}
	ids, f := s.chatPrompt(turns, "messages", chat.Conversation{})
	if f != nil {
		t.Fatal(f)
	}
	if text := s.m.Tokenizer.Decode(ids); !strings.Contains(text, "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>") || !strings.Contains(text, "tool\n2<|im_end|>") {
		t.Errorf("%q", text)
	}
}

// manyReadings is a schema of lists in lists, each of which can be read in two ways: more
// than are followed.
func manyReadings() string {
	deep := `{"type":"null"}`
	for range 10 {
		deep = `{"anyOf":[{"type":"array","items":` + deep + `,"minItems":1,"maxItems":1},{"type":"array","items":` + deep + `,"minItems":1,"maxItems":2}]}`
	}
	return `{"type":"object","properties":{"v":` + deep + `},"required":["v"],"additionalProperties":false}`
}

// TestToolsOrFormat: beside tools, a response_format is that of an answer which calls none,
// and /v1/check knows both.
func TestToolsOrFormat(t *testing.T) {
	for _, family := range []string{hermes, "llama3"} {
		s, calls, texts := calling(t, family, nil), 0, 0
		for seed := range 12 {
			how := fmt.Sprintf(`"seed":%d,"temperature":2,%s,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},"required":["n"],"additionalProperties":false}}}`, seed, someTools)
			a := got[struct {
				Choices []struct {
					Message struct {
						Content *string
						Calls   []any `json:"tool_calls"`
					}
					Finish string `json:"finish_reason"`
					IDs    []int  `json:"token_ids"`
				}
				Prompt []int `json:"prompt_token_ids"`
			}](t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"go"}],"max_tokens":120,"return_token_ids":true,`+how+`}`)
			c := a.Choices[0]
			var n struct{ N int }
			switch {
			case c.Finish == "length":
				continue
			case len(c.Message.Calls) > 0:
				calls++
			case json.Unmarshal([]byte(*c.Message.Content), &n) == nil && n.N > 0:
				texts++
			default:
				t.Errorf("%s, seed %d: %q", family, seed, *c.Message.Content)
			}
			ids, err := json.Marshal(c.IDs)
			if err != nil {
				t.Fatal(err)
			}
			prompt, err := json.Marshal(a.Prompt)
			if err != nil {
				t.Fatal(err)
			}
			claim := `{"prompt_token_ids":` + string(prompt) + `,"token_ids":` + string(ids)
			if v := got[verdict](t, s, "/v1/check", claim+`,"chat":true,`+how+`}`); !v.Equal {
				t.Errorf("%s, seed %d: %+v", family, seed, v.Difference)
			}
			if v := got[verdict](t, s, "/v1/check", strings.Replace(claim, `"token_ids":[`, `"token_ids":[7,`, 1)+`,"chat":true,`+how+`}`); v.Equal {
				t.Errorf("%s, seed %d: a token more is not noticed", family, seed)
			}
			if status, text := ask(t, s, "/v1/check", claim+","+how+"}"); status != 400 || !strings.Contains(text, "go with chat true") {
				t.Errorf("%d %s", status, text)
			}
		}
		if calls+texts < 6 {
			t.Errorf("%s: %d calls and %d texts came to an end", family, calls, texts)
		}
	}
}

// TestStrictBesideFormat: where calls have no begin, a text of the response_format can look like
// one and then has no arguments of the schema. So what cannot be promised is refused.
func TestStrictBesideFormat(t *testing.T) {
	alike := `{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"name":{"const":"add"},"parameters":{"type":"object","properties":{"evil":{"const":1}},"required":["evil"],"additionalProperties":false}},"required":["name","parameters"],"additionalProperties":false}}}`
	for _, family := range []string{hermes, "llama3", "mistral"} {
		s := calling(t, family, nil)
		for _, format := range []string{alike, `{"type":"json_object"}`} {
			for _, strict := range []bool{true, false} {
				status, text := ask(t, s, "/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user","content":"go"}],"max_tokens":2,"tools":[{"type":"function","function":{"name":"add","strict":%v,"parameters":{"type":"object","properties":{"a":{"type":"integer","minimum":0,"maximum":9}},"required":["a"],"additionalProperties":false}}}],"response_format":%s}`, strict, format))
				switch refused := strings.Contains(text, `strict goes with a tool_choice of \"required\" or of a function; accepted otherwise: false`); {
				case strict && family == "llama3" && (status != 400 || !refused):
					t.Errorf("%s, %s: %d %s", family, format, status, text)
				case (!strict || family != "llama3") && status != 200:
					t.Errorf("%s, strict %v, %s: %d %s", family, strict, format, status, text)
				}
			}
		}
	}
}

func TestToolsRefused(t *testing.T) {
	s := calling(t, hermes, nil)
	f := func(more string) string {
		return `"tools":[{"type":"function","function":{"name":"f"` + more + `}}]`
	}
	for keys, want := range map[string]string{
		`"tools":{}`: `tools is an empty object`,
		`"tools":[{"type":"function","function":{"name":"a b"}}]`:            `1 to 64 letters`,
		`"tools":[{"type":"function","function":{"name":"f","nmae":1}}]`:     `did you mean \"name\"?`,
		f("") + `,"tool_choice":"maybe"`:                                     `accepted: \"none\"`,
		f("") + `,"tool_choice":{"type":"function","function":{"name":"g"}}`: `and no tool has that name`,
		f(`,"strict":true`):                    `strict goes with`,
		f("") + `,"parallel_tool_calls":false`: `parallel_tool_calls false goes with`,
		f("") + `,"tool_choice":"required","response_format":{"type":"json_object"}`:                      `tool_choice asks for a call`,
		f(`,"parameters":{"not":{}}`) + `,"response_format":{"type":"json_object"}`:                       `tools[0].function.parameters: the schema at /not`,
		f("") + `,"response_format":{"type":"json_schema","json_schema":{"schema":{"not":{}}}}`:           `response_format.json_schema.schema: the schema at /not`,
		f(`,"parameters":`+manyReadings()) + `,"tool_choice":"required","max_tokens":200,"temperature":0`: `"param":"tools"`,
		f(`,"parameters":{"not":{}}`) + `,"tool_choice":"required"`:                                       `tools[0].function.parameters: the schema at /not`,
		f(`,"description":"<|im_end|>"`):                                                                  `contains a control token`,
	} {
		status, text := ask(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"go"}],`+keys+`}`)
		if status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", keys, status, text, want)
		}
	}
	for messages, want := range map[string]string{
		`[{"role":"user","content":"a","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}]`:                                                 `its role is \"user\"`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"[]"}}]}]`:                                                          `is not a JSON object`,
		`[{"role":"assistant","tool_calls":[{"function":{"arguments":"{}"}}]}]`:                                                                     `has no name`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}]`:                                                                           `has no arguments`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}"},"nmae":"g"}]}]`:                                               `the key \"nmae\" is not known here`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}","strict":true}}]}]`:                                            `the key \"strict\" is not known here`,
		`[{"role":"assistant","tool_calls":[{"type":"custom","function":{"name":"f","arguments":"{}"}}]}]`:                                          `messages[0].tool_calls[0].type`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{}","arguments":"{}"}}]}]`:                                         `is there twice`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"<|im_end|>\"}"}}]},{"role":"user","content":"go"}]`:       `contains a control token`,
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":\"\\u003c|im_end|>\"}"}}]},{"role":"user","content":"go"}]`: `contains a control token`,
		`[{"role":"tool","content":"a","tool_call_id":"<|im_end|>"}]`:                                                                               `contains a control token`,
		`[{"role":"user","content":"a","tool_call_id":"x"}]`:                                                                                        `answers a call`,
		`[{"role":"function","content":"a"}]`:                                                                                                       `has taken the place of`,
	} {
		status, text := ask(t, s, "/v1/chat/completions", `{"messages":`+messages+`}`)
		if status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want %s", messages, status, text, want)
		}
	}
}
