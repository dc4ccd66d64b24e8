package chat

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/model/text"
)

// TestCallsFamilies: templates of others are found to write calls as they do.
func TestCallsFamilies(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, "chat_templates"), "templates")
	for name, want := range map[string]string{
		"hf__qwen3": "hermes", "trl__qwen2_5": "hermes", "trl__qwen3": "hermes",
		"RAST__tool_chat_template_mistral": "mistral", "RAST__tool_chat_template_mistral_parallel": "mistral",
		"RAST__tool_chat_template_llama3.1_json": "llama3", "trl__llama3_1": "llama3",
		"trl__glm4moe": "", "trl__qwen3_6": "", "trl__gemma": "", "RAST__template_chatml": "",
	} {
		source, err := os.ReadFile(filepath.Join(dir, name+".jinja"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := text.NewChat(string(source))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := (&Format{chat: c}).Calls(); got.Family != want {
			t.Errorf("%s: %q, want %q", name, got.Family, want)
		}
	}
}

func TestReadCalls(t *testing.T) {
	for _, c := range []struct{ family, text, want string }{
		{"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>", `[{f {"a": 1}}]`},
		{"hermes", "<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>\n<tool_call>\n{\"arguments\":{},\"name\":\"g\"}\n</tool_call>\n", `[{f {}} {g {}}]`},
		{"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}", ""},
		{"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call> and more", ""},
		{"hermes", "<tool_call>\n{\"name\": \"h\", \"arguments\": {}}\n</tool_call>", ""},
		{"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": \"{}\"}\n</tool_call>", ""},
		{"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": {}, \"x\": 1}\n</tool_call>", ""},
		{"mistral", `[TOOL_CALLS] [{"name": "f", "arguments": {"a": [1]}, "id": "123456789"}, {"name": "g", "arguments": {}}]`, `[{f {"a": [1]}} {g {}}]`},
		{"mistral", `[TOOL_CALLS] []`, ""},
		{"mistral", `[TOOL_CALLS] [{"name": "f", "arguments": {}}] x`, ""},
		{"llama3", ` {"name": "f", "parameters": {"a": "b"}}`, `[{f {"a": "b"}}]`},
		{"llama3", `{"name": "f", "parameters": {}} {"name": "f", "parameters": {}}`, ""},
		{"llama3", `{"name": "f"}`, ""},
		{"llama3", `{"f": 1}`, ""},
	} {
		calls, ok := family(c.family).Read(c.text, []string{"f", "g"})
		got := ""
		if ok {
			got = "["
			for i, k := range calls {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprintf("{%s %s}", k.Name, k.Arguments)
			}
			got += "]"
		}
		if got != c.want {
			t.Errorf("%s: %q: %s, want %s", c.family, c.text, got, c.want)
		}
	}
}

func family(name string) Calls {
	for _, c := range families {
		if c.Family == name {
			return c
		}
	}
	panic(name)
}

func TestStarts(t *testing.T) {
	for _, c := range []struct {
		family, text string
		at           int
		begun        bool
	}{
		{"hermes", "well", 4, false},
		{"hermes", "well \n", 4, false},
		{"hermes", "well <tool", 4, false},
		{"hermes", "a < b", 5, false},
		{"hermes", "well\n<tool_call>\n{", 4, true},
		{"hermes", "<tool_call>", 0, true},
		{"llama3", " {", 0, true},
		{"llama3", "a {", 3, false},
		{"llama3", "  ", 0, false},
		{"mistral", "[TOOL", 0, false},
		{"mistral", "[TOOL_CALLS] [", 0, true},
	} {
		if at, begun := family(c.family).Starts(c.text); at != c.at || begun != c.begun {
			t.Errorf("%s: %q: %d, %v, want %d, %v", c.family, c.text, at, begun, c.at, c.begun)
		}
	}
}
