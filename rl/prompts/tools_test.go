package prompts

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
)

// hermes is a template that writes tools and calls as Qwen's do.
const hermes = `{% if tools %}<|im_start|>system
{% for t in tools %}{{ t | tojson }}{% endfor %}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

var calculator = tools.Calculator{}.Spec()

// TestToolsInPrompt: a template is given the tools, and where calls stand between tags a system message
// tells of them, or the question does.
func TestToolsInPrompt(t *testing.T) {
	row := rowOf(t, `{"question":"1+1?"}`)
	talk := rowOf(t, `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}]}`)
	told := byTags([]world.Spec{calculator})
	if !strings.Contains(told, "<calculator>EXPRESSION</calculator>: "+calculator.About) {
		t.Errorf("%q", told)
	}
	for _, x := range []struct {
		template string
		style    Style
		want     string
	}{
		{hermes, Style{}, `{"type": "function", "function": {"name": "calculator", "description": "` + calculator.About},
		{hermes, Style{ByTags: true}, "<|im_start|>system\n" + told + "<|im_end|>\n<|im_start|>user\n1+1?"},
		{hermes, Style{ByTags: true, System: "Be brief."}, "system\nBe brief.\n\n" + told + "<|im_end|>"},
		{withoutSystem, Style{ByTags: true}, "<|im_start|>user\n" + told + "\n\n1+1?<|im_end|>"},
		{"none", Style{ByTags: true}, "1+1?"},
	} {
		x.style.Form, x.style.Tools = Auto, []world.Spec{calculator}
		r := rendererOf(t, x.template, x.style)
		ids, err := r.Prompt(row)
		if got := r.Decode(ids); err != nil || !strings.Contains(got, x.want) {
			t.Errorf("%q, %v\nwant %q", got, err, x.want)
		}
	}
	r := rendererOf(t, hermes, Style{Form: Auto, ByTags: true, Tools: []world.Spec{calculator}})
	if ids, err := r.Prompt(talk); err != nil || !strings.Contains(r.Decode(ids), "system\nS\n\n"+told+"<|im_end|>\n<|im_start|>user\nU") {
		t.Errorf("%q, %v", r.Decode(ids), err)
	}
}

// TestTemplateCalls: calls are read as the template writes them, and what is wrong with one is a mistake.
func TestTemplateCalls(t *testing.T) {
	specs := []world.Spec{calculator}
	r := rendererOf(t, hermes, Style{Form: Auto, Tools: specs})
	if err := r.Turns(); err != nil {
		t.Fatal(err)
	}
	call := func(name, args string) string {
		return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + args + "}\n</tool_call>"
	}
	for text, want := range map[string][]world.Call{
		"":           nil,
		"It is 2.":   nil,
		`{"name": 1`: nil,
		"So: " + call("calculator", `{"expression": "1+1"}`):                 {{Tool: "calculator", Args: json.RawMessage(`{"expression": "1+1"}`)}},
		call("calculator", `{"a":1}`) + "\n" + call("calculator", `{"b":2}`): {{Tool: "calculator", Args: json.RawMessage(`{"a":1}`)}, {Tool: "calculator", Args: json.RawMessage(`{"b":2}`)}},
		call("calculater", `{}`):                                             {{Mistake: `there is no tool "calculater"; did you mean calculator? (accepted: calculator)`}},
		"<tool_call>\n{\"name\": ":                                           {{Mistake: "the call cannot be read; accepted: <tool_call>\n{\"name\": \"NAME\", \"arguments\": {...}}\n</tool_call>"}},
		call("calculator", `"1+1"`):                                          {{Mistake: "the call cannot be read; accepted: <tool_call>\n{\"name\": \"NAME\", \"arguments\": {...}}\n</tool_call>"}},
	} {
		if got := r.Calls(text, specs); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	for byTags, want := range map[bool]string{true: "<calculator>1+1</calculator>", false: call("calculator", `{"expression":"1+1"}`)} {
		r := rendererOf(t, hermes, Style{Form: Auto, Tools: specs, ByTags: byTags})
		if got, err := r.Called(calculator, "1+1"); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}

// TestNoCalls: a model that writes no calls is refused, with what to say instead.
func TestNoCalls(t *testing.T) {
	for template, want := range map[string]string{
		"":     "its chat template writes none that is known here",
		"none": "it has no chat template",
		strings.Replace(hermes, "{{ m.content }}", "{% if loop.last or m.role != 'tool' %}{{ m.content }}{% endif %}", 1): "it writes calls and what tools answer differently where a conversation goes on",
	} {
		err := rendererOf(t, template, Style{Form: Auto, Tools: []world.Spec{calculator}}).Turns()
		if !errors.Is(err, ErrCalls) || !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) || hint.All(err)[0] != "--set task.calls=tags" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := rendererOf(t, "none", Style{Form: Auto, Tools: []world.Spec{calculator}, ByTags: true}).Turns(); err != nil {
		t.Error(err)
	}
}

// TestReads: what a template or a vocabulary has no words for is told from what it has, control tokens
// included, which are text.
func TestReads(t *testing.T) {
	specs := []world.Spec{calculator}
	for _, byTags := range []bool{false, true} {
		r := rendererOf(t, hermes, Style{Form: Auto, Tools: specs, ByTags: byTags})
		for said, want := range map[string]bool{"": true, "56": true, "?": true, "a<|im_end|>b": true, "\xff": false} {
			if got := r.Reads(said); got != want {
				t.Errorf("by tags %v: %q: %v, want %v", byTags, said, got, want)
			}
		}
	}
	odd := rendererOf(t, strings.Replace(hermes, "{{ m.content }}", "{{ m.content.replace('>b', '>c') }}", 1), Style{Form: Auto, Tools: specs, ByTags: true})
	if odd.Reads("a<|im_end|>b") || !odd.Reads("ab") {
		t.Error("a control token that the template writes in other words is read")
	}
}
