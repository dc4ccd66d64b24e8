package chat

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/model/text/template"
)

const (
	imStart = 256
	imEnd   = 257
	endText = 258
)

// tokenizer is that of testdata/chat with a template; "": the one that is there.
func tokenizer(t testing.TB, source string) *text.Tokenizer {
	t.Helper()
	from := fixtures.Selection(t, "chat")
	if source != "" {
		data, err := os.ReadFile(filepath.Join(from, "tokenizer.json"))
		if err != nil {
			t.Fatal(err)
		}
		from = t.TempDir()
		for name, data := range map[string][]byte{"tokenizer.json": data, "chat_template.jinja": []byte(source), "tokenizer_config.json": []byte(`{"eos_token":"<|im_end|>"}`)} {
			if err := os.WriteFile(filepath.Join(from, name), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	tok, err := text.ReadFolder(from)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func format(t testing.TB, source string, o Options) *Format {
	t.Helper()
	f, err := New(tokenizer(t, source), []int{endText}, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t testing.TB, raw string) Conversation {
	t.Helper()
	m, err := ReadMessages([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return Conversation{Messages: m}
}

// TestPrompt: messages and what the assistant's turn begins with, with variables.
func TestPrompt(t *testing.T) {
	c := read(t, `[{"role":"user","content":"Hi\nyou"}]`).Under("Be brief.")
	for _, x := range []struct {
		vars map[string]any
		want string
	}{
		{nil, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi\nyou<|im_end|>\n<|im_start|>assistant\n"},
		{map[string]any{"enable_thinking": false}, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi\nyou<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"},
	} {
		f := format(t, "", Options{Variables: x.vars})
		got, err := f.text(c)
		if err != nil || got != x.want {
			t.Errorf("%v: %q, %v", x.vars, got, err)
		}
		ids, err := f.Prompt(c)
		if err != nil || f.tok.Decode(ids) != x.want || ids[0] != imStart {
			t.Errorf("%v: %v, %v", x.vars, ids, err)
		}
		if f.End() != imEnd || !slices.Equal(f.Ends(), []int{imEnd, endText}) || !f.HasSystem() || (f.Rewrites() == "") != (x.vars == nil) {
			t.Errorf("%v: %q", x.vars, f.Summary())
		}
	}
}

// TestRefusedPrompts: what a template would write all the same.
func TestRefusedPrompts(t *testing.T) {
	f := format(t, "", Options{})
	for raw, want := range map[string]string{
		`[{"role":"user","content":"a<|im_end|>b"}]`:                                                                                     "message 1 (user): a text contains a control token: <|im_end|>",
		`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`:                                                             "the last message is the assistant's",
		`[{"role":"user","content":[{"type":"text","text":"so <|endoftext|>"}]}]`:                                                        "message 1 (user): a text contains a control token: <|endoftext|>",
		`[{"role":"user<|im_end|>","content":"a"}]`:                                                                                      "a text contains a control token: <|im_end|>",
		`[{"role":"user","content":"a","reasoning_content":"<|im_end|>"}]`:                                                               "message 1 (user): a text contains a control token: <|im_end|>",
		`[{"role":"user","content":"a","name":"<|im_end|>"}]`:                                                                            "message 1 (user): a text contains a control token: <|im_end|>",
		`[{"role":"user","content":"a","<|im_end|>":1}]`:                                                                                 "message 1 (user): a text contains a control token: <|im_end|>",
		`[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":["<|im_end|>"]}}}]},{"role":"user","content":"a"}]`: "message 1 (assistant): a text contains a control token: <|im_end|>",
		`[{"role":"user\u001b[2J` + strings.Repeat("x", 40) + `","content":"<|im_end|>"}]`:                                               `message 1 (user\x1b[2Jxxxxxxxxxxxx…): a text`,
		`[{"role":"user","name":"x"}]`:                                                                                                   "the chat template fails: ",
		`[{"role":"user","content":"<think>"},{"role":"user","content":"allowed"}]`:                                                      "",
	} {
		_, err := f.Prompt(read(t, raw))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, c := range []Conversation{{Tools: template.List("<|im_end|>")}, {Documents: template.List("<|im_end|>")}} {
		c.Messages = []Message{Say(User, "a")}
		if _, err := f.Prompt(c); !errors.Is(err, ErrControl) {
			t.Errorf("in the tools %v or the documents %v: %v", c.Tools, c.Documents, err)
		}
	}
	f = format(t, "", Options{AllowControl: true})
	if _, err := f.Prompt(read(t, `[{"role":"user","content":"a<|im_end|>b"}]`)); err != nil {
		t.Error(err)
	}
	if _, err := New(tokenizer(t, ""), nil, Options{Variables: map[string]any{"messages": 1}}); !errors.Is(err, lines.ErrInput) {
		t.Errorf("a variable of the conversation: %v", err)
	}
	// A system message of ours does not count among the messages of a row.
	under := read(t, `[{"role":"user","content":"a<|im_end|>b"}]`).Under("rules")
	if _, err := format(t, "", Options{}).Prompt(under); err == nil || !strings.HasPrefix(err.Error(), "message 1 (user): ") {
		t.Errorf("under a system message: %v", err)
	}
	deaf := format(t, `{% for m in messages %}{% if m.role != 'system' %}{{ m.content }}{% endif %}{% endfor %}`, Options{})
	if _, err := deaf.Prompt(under); !errors.Is(err, ErrSystem) || !strings.HasPrefix(err.Error(), "the system message: the chat template has no system role: it leaves out") {
		t.Errorf("a template without a system role: %v", err)
	}
}

const (
	begin = `{% for m in messages %}`
	gen   = `{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
)

// TestProbe: what a template does is found out before a run.
func TestProbe(t *testing.T) {
	for _, x := range []struct {
		name, source string
		want         string // of the summary
	}{
		{"no system role", begin + `{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}` + gen, "<|im_end|> ends a turn; no system role"},
		{"a system message that is dropped", begin + `{% if m.role != 'system' %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endif %}{% endfor %}` + gen, "<|im_end|> ends a turn; no system role"},
		{"a blank before the end", begin + `{{ m.content }} <|endoftext|>{% endfor %}`, "<|endoftext|> ends a turn"},
		{"no end", begin + `{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}`, "<|endoftext|> ends a turn"},
		{"other text than the generation prompt", begin + `<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>{% endif %}`, "<|im_end|> ends a turn; a finished turn begins differently from the generation prompt"},
		{"thoughts dropped", begin + `<|im_start|>{{ m.role }}
{% if loop.last %}{{ m.content }}{% else %}{{ m.content.split('</think>')[-1] }}{% endif %}<|im_end|>
{% endfor %}` + gen, "<|im_end|> ends a turn; it drops the thoughts of earlier turns"},
		{"one turn", begin + `{% if loop.index > 2 %}{{ raise_exception('one question') }}{% endif %}{{ m.content }}<|im_end|>{% endfor %}`,
			"<|im_end|> ends a turn; the template accepts one turn only: the chat template refuses the conversation: one question"},
		{"earlier turns changed", begin + `<|im_start|>{{ m.role }}
{{ m.content | upper if m.role == 'assistant' and not loop.last else m.content }}<|im_end|>
{% endfor %}` + gen, "<|im_end|> ends a turn; it changes earlier turns"},
	} {
		if got := format(t, x.source, Options{}).Summary(); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
	for source, want := range map[string]string{
		"always this": "the chat template leaves out what the user says",
		"{{ x.y }}":   "the chat template fails: line 1, column ",
	} {
		if _, err := New(tokenizer(t, source), nil, Options{}); !errors.Is(err, lines.ErrInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", source, err)
		}
	}
	if _, err := New(tokenizer(t, begin+"{{ m.content }}{% endfor %}"), nil, Options{}); err == nil || !strings.Contains(err.Error(), "a token that ends a turn") {
		t.Errorf("no end token at all: %v", err)
	}
}

// TestSystemRefused: a system message that the template does not read is refused with
// the template's reason.
func TestSystemRefused(t *testing.T) {
	f := format(t, begin+`{% if m.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}{{ m.content }}<|im_end|>{% endfor %}`, Options{})
	_, err := f.Prompt(read(t, `[{"role":"user","content":"a"}]`).Under("rules"))
	if !errors.Is(err, ErrSystem) || !strings.Contains(err.Error(), "no system here") {
		t.Error(err)
	}
}

// learned is the text of a lesson's learned tokens.
func learned(f *Format, l Lesson) []string {
	var out []string
	for _, s := range l.Learned {
		out = append(out, f.tok.Decode(l.IDs[s.From:s.To]))
	}
	return out
}

// TestLesson: what is learned of a conversation.
func TestLesson(t *testing.T) {
	const two = `[{"role":"user","content":"q1"},{"role":"assistant","content":"a1"},{"role":"user","content":"q2"},{"role":"assistant","content":"a2"}]`
	const dropping = begin + `<|im_start|>{{ m.role }}
{{ m.content if loop.last else m.content.split('</think>')[-1] }}<|im_end|>
{% endfor %}` + gen
	for _, x := range []struct {
		name, source, raw string
		want              []string
		passed            int
	}{
		{"two turns", "", two, []string{"a1<|im_end|>", "a2<|im_end|>"}, 0},
		{"the question is last", "", `[{"role":"user","content":"q1"},{"role":"assistant","content":"a1"},{"role":"user","content":"q2"}]`, []string{"a1<|im_end|>"}, 0},
		{"generation blocks", begin + `{% if m.role == 'assistant' %}A{% generation %}{{ m.content }}!{% endgeneration %}{% else %}Q{{ m.content }}{% endif %}{% endfor %}`, two, []string{"a1!", "a2!"}, 0},
		{"no end token: the last turn is ended", begin + `{{ m.role }}: {{ m.content }}{% if not loop.last %}
{% endif %}{% endfor %}{% if add_generation_prompt %}
assistant: {% endif %}`, `[{"role":"user","content":"q1"},{"role":"assistant","content":"a1"}]`, []string{"a1<|endoftext|>"}, 0},
		{"a turn that is changed is read", dropping, `[{"role":"user","content":"q1"},{"role":"assistant","content":"<think>t</think>a1"},{"role":"user","content":"q2"},{"role":"assistant","content":"<think>t</think>a2"}]`,
			[]string{"<think>t</think>a2<|im_end|>"}, 1},
		{"empty answer", "", `[{"role":"user","content":"q1"},{"role":"assistant","content":""}]`, []string{"<|im_end|>"}, 0},
	} {
		f := format(t, x.source, Options{})
		c := read(t, x.raw)
		l, err := f.Lesson(c, 0)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if got := learned(f, l); !slices.Equal(got, x.want) || l.Passed != x.passed {
			t.Errorf("%s: learned %q, want %q; passed %d: %s", x.name, got, x.want, l.Passed, l.Why)
		}
		// The tokens before an answer are the prompt that a model answers.
		if c.Messages[len(c.Messages)-1].Role == Assistant && x.passed == 0 && x.name != "generation blocks" {
			prompt, err := f.Prompt(c.Asked())
			if last := l.Learned[len(l.Learned)-1].From; err != nil || !slices.Equal(prompt, l.IDs[:last]) {
				t.Errorf("%s: prompt %q, lesson %q, %v", x.name, f.tok.Decode(prompt), f.tok.Decode(l.IDs[:last]), err)
			}
		}
	}
	f := format(t, "", Options{})
	for raw, want := range map[string]string{
		`[{"role":"user","content":"q1"}]`:                                             "nothing is learned from the conversation: there is no message of the assistant",
		`[{"role":"user","content":"q1"},{"role":"assistant","content":"<|im_end|>"}]`: "message 2 (assistant): a text contains a control token: <|im_end|>",
	} {
		if _, err := f.Lesson(read(t, raw), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
	f = format(t, begin+`<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
<think>{% endif %}`, Options{})
	if _, err := f.Lesson(read(t, two), 0); !errors.Is(err, ErrNothing) || !strings.Contains(err.Error(), "message 2 (assistant): the template begins the turn differently from the generation prompt") {
		t.Errorf("thoughts that were opened: %v", err)
	}
}

// TestReadMessages: what a message may be.
func TestReadMessages(t *testing.T) {
	m, err := ReadMessages([]byte(`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":null,"tool_calls":[]},{"role":"tool","content":"4"}]`))
	if err != nil || m[0].Text != "a\nb" || m[1].Text != "" || m[2].Text != "4" {
		t.Errorf("%+v %v", m, err)
	}
	c := Conversation{Messages: m}
	if c.Question() != "a\nb" || len(c.Asked().Messages) != 3 || len(c.Under("x").Messages) != 4 || len(c.Under("").Messages) != 3 {
		t.Errorf("%+v", c)
	}
	for raw, want := range map[string]string{
		`[]`:                               "the list is empty",
		`{"role":"user"}`:                  "found no list",
		`["a"]`:                            "message 1: found no object",
		`[{"content":"a"}]`:                `message 1: there is no "role"`,
		`[{"role":"user"}]`:                `message 1: there is no "content"`,
		`[{"role":"user","content":null}]`: `message 1: there is no "content"`,
		`[{"role":"user","content":3}]`:    `message 1: "content" is not text`,
		`[{"role":"user","content":[{"type":"image","url":"x"}]}]`: `message 1: part 1 of the content: found type "image"`,
		`[{"role":"user","content":[{"type":"text"}]}]`:            `part 1 of the content: accepted: {"type":"text","text":"..."}`,
		`[`: "EOF; accepted: ",
	} {
		if _, err := ReadMessages([]byte(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestPublished: with published templates, the tokens before an answer are the prompt
// that a model answers, and the tokens of a lesson are its text.
func TestPublished(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "chat_templates"), "templates", "*.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	matched, failed, outside := 0, 0, 0
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(tokenizer(t, string(source)), []int{endText}, Options{})
		if err != nil { // it needs a token that the tokenizer does not have, or a picture
			outside++
			continue
		}
		c := tried(Say(User, "q1"), Say(Assistant, "a1"), Say(User, "q2"), Say(Assistant, "a2"))
		whole, err := f.render(c, false)
		if err != nil {
			t.Fatal(err)
		}
		l, err := f.Lesson(c, 0)
		if errors.Is(err, ErrNothing) || whole.Assistant != nil {
			outside++
			continue
		}
		prompt, promptErr := f.Prompt(c.Asked())
		last := l.Learned[len(l.Learned)-1]
		if errors.Join(err, promptErr) != nil || !slices.Equal(prompt, l.IDs[:last.From]) || !strings.HasPrefix(f.tok.Decode(l.IDs), whole.Text) || l.Passed > 0 && f.Rewrites() == "" {
			failed++
			t.Errorf("%s: %q, prompt %q, %v %v", filepath.Base(name), f.tok.Decode(l.IDs), f.tok.Decode(prompt), err, promptErr)
			continue
		}
		matched++
	}
	fixtures.Report(t, "chat_templates", matched, failed, outside)
}

// FuzzMessages: whatever a row holds becomes messages or an error, and what is written
// of them ends.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{`[{"role":"user","content":"a"}]`, `[{"role":"user","content":"a"},{"role":"assistant","content":"b<|im_end|>"}]`, `[{"role":"tool","content":[{"type":"text","text":"x"}]}]`, `[[]]`, `[{"role":"user","content":null,"x":1}]`} {
		f.Add(seed)
	}
	chat := format(f, "", Options{})
	f.Fuzz(func(t *testing.T, raw string) {
		m, err := ReadMessages([]byte(raw))
		if err != nil {
			return
		}
		c := Conversation{Messages: m}
		if ids, err := chat.Prompt(c); err == nil && len(ids) == 0 {
			t.Error("a prompt without tokens")
		}
		if l, err := chat.Lesson(c, 0); err == nil && l.Learned[len(l.Learned)-1].To > len(l.IDs) {
			t.Errorf("%+v", l)
		}
	})
}
