package prompts

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/tasks"
	"github.com/rlzero/rlzero/verify"
)

// Control tokens of testdata/chat.
const imEnd, endText = 257, 258

// tokenizerOf is that of testdata/chat, with another template unless it is "".
func tokenizerOf(t *testing.T, template string) *text.Tokenizer {
	t.Helper()
	dir := fixtures.Selection(t, "chat")
	if template != "" {
		own := t.TempDir()
		data, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
		if err == nil {
			err = os.WriteFile(filepath.Join(own, "tokenizer.json"), data, 0o644)
		}
		if err == nil && template != "none" {
			err = os.WriteFile(filepath.Join(own, "chat_template.jinja"), []byte(template), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		dir = own
	}
	tok, err := text.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func rendererOf(t *testing.T, template string, s Style) *Renderer {
	t.Helper()
	r, err := NewRenderer(tokenizerOf(t, template), []int{endText}, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rowOf is a row of a file.
func rowOf(t *testing.T, line string) verify.Problem {
	t.Helper()
	row, err := readRow([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

const withoutSystem = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// TestPrompt: what a model reads of a row, by form, system message and template.
func TestPrompt(t *testing.T) {
	const (
		plain    = `{"question":"1+1?"}`
		talk     = `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"},{"role":"assistant","content":"A"}]}`
		listed   = `{"prompt":[{"role":"user","content":"U"}],"answer":"2"}`
		opening  = "<|im_start|>assistant\n"
		question = "<|im_start|>user\n1+1?<|im_end|>\n" + opening
	)
	for _, x := range []struct {
		name, template, row string
		style               Style
		want                string
		ends                []int
	}{
		{"auto with a template", "", plain, Style{Form: Auto}, question, []int{imEnd, endText}},
		{"auto without", "none", plain, Style{Form: Auto}, "1+1?", []int{endText}},
		{"text with a template", "", plain, Style{Form: Text}, "1+1?", []int{endText}},
		{"system message", "", plain, Style{Form: Chat, System: "Be brief."}, "<|im_start|>system\nBe brief.<|im_end|>\n" + question, []int{imEnd, endText}},
		{"the row's own system message, without its answer", "", talk, Style{Form: Auto, System: "other"}, "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n" + opening, []int{imEnd, endText}},
		{"a prompt that is a list", "", listed, Style{Form: Auto}, "<|im_start|>user\nU<|im_end|>\n" + opening, []int{imEnd, endText}},
		{"the question of messages", "", talk, Style{Form: Text}, "U", []int{endText}},
		{"a variable", "", plain, Style{Form: Auto, Options: chat.Options{Variables: map[string]any{"enable_thinking": false}}}, question + "<think>\n\n</think>\n\n", []int{imEnd, endText}},
	} {
		r := rendererOf(t, x.template, x.style)
		ids, err := r.Prompt(rowOf(t, x.row))
		if err != nil || r.Decode(ids) != x.want || !slices.Equal(r.Ends(), x.ends) {
			t.Errorf("%s: %q, %v, ends %v; want %q", x.name, r.Decode(ids), err, r.Ends(), x.want)
		}
	}
	if _, err := rendererOf(t, "none", Style{Form: Auto}).Prompt(rowOf(t, talk)); err == nil || !strings.Contains(err.Error(), "the model has no chat template") {
		t.Errorf("messages without a template: %v", err)
	}
	for name, s := range map[string]Style{"chat": {Form: Chat}, "system": {Form: Auto, System: "x"}} {
		if _, err := NewRenderer(tokenizerOf(t, "none"), []int{endText}, s); !errors.Is(err, lines.ErrInput) {
			t.Errorf("%s without a template: %v", name, err)
		}
	}
}

// TestPosed: a procedural task says how to answer in its system message, or in front of
// the question where there is no system role, and a recipe's message stands in its place.
func TestPosed(t *testing.T) {
	for _, name := range []string{"countdown", "gcd"} {
		task, err := tasks.New(name)
		if err != nil {
			t.Fatal(err)
		}
		row := task.Draw(random.At(1, 0, 0), tasks.Train)
		posed := tasks.Chat(task, row)
		system, question := posed[0].Content, posed[1].Content
		for want, r := range map[string]*Renderer{
			"<|im_start|>system\n" + system + "<|im_end|>\n<|im_start|>user\n" + question + "<|im_end|>\n": rendererOf(t, "", Style{Form: Auto, Task: task}),
			"<|im_start|>user\n" + system + "\n\n" + question + "<|im_end|>\n":                             rendererOf(t, withoutSystem, Style{Form: Auto, Task: task}),
			"<|im_start|>system\nmine<|im_end|>\n<|im_start|>user\n" + row.Question + "<|im_end|>\n":       rendererOf(t, "", Style{Form: Auto, Task: task, System: "mine"}),
			row.Question: rendererOf(t, "", Style{Form: Text, Task: task}),
		} {
			ids, err := r.Prompt(row)
			if got := strings.TrimSuffix(r.Decode(ids), "<|im_start|>assistant\n"); err != nil || got != want {
				t.Errorf("%s: %q, %v; want %q", name, got, err, want)
			}
		}
	}
}

// TestLesson: what is learned of a row.
func TestLesson(t *testing.T) {
	for _, x := range []struct {
		template, row, read, learned string
	}{
		{"", `{"messages":[{"role":"user","content":"U"},{"role":"assistant","content":"A"}]}`, "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n", "A<|im_end|>"},
		{"", `{"prompt":[{"role":"user","content":"U"}],"completion":[{"role":"assistant","content":"A"}]}`, "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n", "A<|im_end|>"},
		{"", `{"prompt":"U","completion":"A"}`, "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n", "A<|im_end|>"},
		{"", `{"prompt":"U","completion":3}`, "<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n", "3<|im_end|>"},
		{"none", `{"prompt":"U","completion":" A"}`, "U", " A<|endoftext|>"},
	} {
		r := rendererOf(t, x.template, Style{Form: Auto})
		l, err := r.Lesson(rowOf(t, x.row))
		if err != nil || len(l.Learned) != 1 {
			t.Errorf("%s: %+v %v", x.row, l, err)
			continue
		}
		s := l.Learned[0]
		if r.Decode(l.IDs[:s.From]) != x.read || r.Decode(l.IDs[s.From:s.To]) != x.learned {
			t.Errorf("%s: read %q, learned %q", x.row, r.Decode(l.IDs[:s.From]), r.Decode(l.IDs[s.From:s.To]))
		}
	}
	for _, x := range []struct{ row, want, hints string }{
		{`{"prompt":"U"}`, `nothing is learned from the row: it has no "messages" and no "completion"; beside the prompt it has no column`, "take these rows out, or leave out the stage that imitates them, if there are others: --set stage.NAME.skip=true"},
		{`{"prompt":"U","completion":null}`, `nothing is learned from the row: it has no "messages" and no "completion"; beside the prompt it has completion (empty)`, "take these rows out, or leave out the stage that imitates them, if there are others: --set stage.NAME.skip=true"},
		{`{"prompt":"U","answer":"A"}`, `nothing is learned from the row: it has no "messages" and no "completion"; beside the prompt it has answer`,
			"name the column that is to be learned: --set task.columns.completion=answer; take these rows out, or leave out the stage that imitates them, if there are others: --set stage.NAME.skip=true"},
		{`{"prompt":"U","note":"n","full text":"a longer one","n":7}`, `nothing is learned from the row: it has no "messages" and no "completion"; beside the prompt it has full text, n, note`,
			"name the column that is to be learned: --set task.columns.completion='full text'; take these rows out, or leave out the stage that imitates them, if there are others: --set stage.NAME.skip=true"},
		{`{"prompt":"U","completion":{}}`, `"completion": accepted: text, a number, true, false, or a list of messages`, ""},
	} {
		_, err := rendererOf(t, "", Style{Form: Auto}).Lesson(rowOf(t, x.row))
		if err == nil || err.Error() != x.want || strings.Join(hint.All(err), "; ") != x.hints {
			t.Errorf("%s: %v, hints %q", x.row, err, hint.All(err))
		}
	}
}

// TestSummary: a model that reads text is told as one that reads conversations is.
func TestSummary(t *testing.T) {
	for _, x := range []struct{ template, form, want string }{
		{"", Auto, "chat template: <|im_end|> ends a turn"},
		{"none", Auto, "text: the model has no chat template, "},
		{"", Text, `text: form = "text" uses no chat template, `},
	} {
		r := rendererOf(t, x.template, Style{Form: x.form})
		if got := r.Summary(); !strings.HasPrefix(got, x.want) || r.Chat() != strings.HasPrefix(got, "chat") {
			t.Errorf("template %q, form %s: %q, chat %v; want %q", x.template, x.form, got, r.Chat(), x.want)
		}
	}
}

// TestCheck: every fault of the rows is told at once, with its lines and their number.
func TestCheck(t *testing.T) {
	file := writtenFile(t,
		`{"question":"fine","answer":"1"}`,
		`{"question":"so <|im_end|>","answer":"1"}`,
		`{"question":"long long long","answer":"1"}`,
		`{"question":"<|im_start|>","answer":"1"}`,
		`{"messages":[{"role":"user","name":"no content"}],"question":"broken","answer":"1"}`)
	var rows []verify.Problem
	err := ReadRows(Part{Data: file}, func(row verify.Problem) error { rows = append(rows, row); return nil })
	if err != nil {
		t.Fatal(err)
	}
	r := rendererOf(t, "", Style{Form: Auto})
	room, err := r.Prompt(rowOf(t, `{"question":"fine"}`))
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(rows) // faults are in the order of lines, whatever that of the rows
	_, err = r.Check("f.jsonl", rows, Limits{Prompt: len(room)})
	want := []string{
		file + ": 2 of 5 rows (lines 2, 4): message 1 (user): a text contains a control token: <|im_end|>",
		file + `: line 3: prompt "long long long" has 33 tokens, but [task] max_prompt_tokens is 23: it is too long`,
		file + `: line 5: prompt "broken": the chat template fails: `,
	}
	if !errors.Is(err, lines.ErrInput) {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimPrefix(err.Error(), "bad input: "), "\n") {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if hints := hint.All(err); !slices.Contains(hints, "change the text; in a recipe, [task] allow_control_tokens = true reads them as the tokens that they name") {
		t.Errorf("hints %q", hints)
	}
	for name, row := range map[string]verify.Problem{"take such rows out, or --set task.max_prompt_tokens=64": rows[2], "--set task.max_prompt_tokens=64": {Question: "long long long"}} {
		if _, err := r.Check("a task", []verify.Problem{row}, Limits{Prompt: len(room)}); !slices.Equal(hint.All(err), []string{name}) { // no file has the rows of a family
			t.Errorf("%v, hints %q, want %q", err, hint.All(err), name)
		}
	}
	if _, err := r.Check("f.jsonl", rows[4:], Limits{Prompt: len(room)}); err != nil {
		t.Error(err)
	}

	lessons := []verify.Problem{
		{Line: 7, Metadata: map[string]json.RawMessage{"messages": json.RawMessage(`[{"role":"user","content":"U"}]`)}},
		{Line: 8, Metadata: map[string]json.RawMessage{"messages": json.RawMessage(`[{"role":"user","content":"U"},{"role":"assistant","content":"A"}]`)}},
	}
	if _, err := r.Check("f.jsonl", lessons, Limits{Lesson: 100}); err == nil || !strings.Contains(err.Error(), "f.jsonl: line 7: nothing is learned from the conversation: there is no message of the assistant") {
		t.Error(err)
	}
	if _, err := r.Check("f.jsonl", lessons[1:], Limits{Lesson: 5}); err == nil || !strings.Contains(err.Error(), "f.jsonl: line 8: the row has 23 tokens, but max_tokens is 5: it is too long") {
		t.Error(err)
	}
	rewriting := rendererOf(t, `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content if loop.last or m.role != 'assistant' else 'dropped' }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`, Style{Form: Auto})
	two := []verify.Problem{{Line: 9, Metadata: map[string]json.RawMessage{"messages": json.RawMessage(`[{"role":"user","content":"U"},{"role":"assistant","content":"A"},{"role":"user","content":"U"},{"role":"assistant","content":"A"}]`)}}}
	notes, err := rewriting.Check("f.jsonl", two, Limits{Lesson: 100})
	if note := "f.jsonl: line 9: 1 turn of the assistant read and not learned: message 2 (assistant): the template changes the turn when the conversation goes on"; err != nil || !slices.Equal(notes, []string{note}) {
		t.Errorf("%q %v", notes, err)
	}
}

// TestSystemHint: where a template has no system role, the advice is one that the recipe
// accepts.
func TestSystemHint(t *testing.T) {
	_, err := NewRenderer(tokenizerOf(t, "none"), []int{endText}, Style{Form: Auto, System: "Be brief."})
	if want := []string{"use a model with a chat template", "or train without the message: --set task.system="}; err == nil || !slices.Equal(hint.All(err), want) {
		t.Errorf("no template: %v, hints %q, want %q", err, hint.All(err), want)
	}
	gcd, err := tasks.New("gcd")
	if err != nil {
		t.Fatal(err)
	}
	plain, told := rowOf(t, `{"question":"U"}`), rowOf(t, `{"messages":[{"role":"user","content":"U"}]}`)
	for want, x := range map[string]struct {
		style Style
		row   verify.Problem
	}{
		"remove [task] system: what the task says":              {Style{Form: Auto, System: "S", Task: gcd}, gcd.Draw(random.At(1, 0, 0), tasks.Train)},
		"into the first message of the user, in the rows":       {Style{Form: Auto, System: "S"}, told},
		"in the rows, write its text into the first message of": {Style{Form: Auto}, rowOf(t, `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"U"}]}`)},
		"into prompt_template of the task, or of each":          {Style{Form: Auto, System: "S"}, plain},
	} {
		_, err := rendererOf(t, withoutSystem, x.style).Check("rows", []verify.Problem{x.row}, Limits{Prompt: 100})
		if hints := hint.All(err); !errors.Is(err, chat.ErrSystem) || len(hints) != 1 || !strings.Contains(hints[0], want) {
			t.Errorf("%v: hints %q, want %q", err, hints, want)
		}
	}
}

// FuzzRows: whatever a line holds becomes a problem or an error, and a problem a prompt,
// a lesson or an error.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{
		`{"question":"1+1?","answer":"2"}`, `{"messages":[{"role":"user","content":"U"},{"role":"assistant","content":"A"}],"tools":[{"name":"t"}]}`,
		`{"prompt":[{"role":"user","content":"U"}],"completion":[{"role":"assistant","content":"A"}]}`, `{"prompt":"U","completion":"A"}`, `{"messages":null,"prompt":null}`,
		`{"chosen":"U A","rejected":"U B"}`, `{"chosen":[{"role":"user","content":"U"},{"role":"assistant","content":"A"}],"rejected":[{"role":"user","content":"U"},{"role":"assistant","content":"B"}]}`,
		`{"prompt":"U","completion":"A","label":true}`,
	} {
		f.Add(seed)
	}
	tok, err := text.ReadFolder(fixtures.Selection(f, "chat"))
	if err != nil {
		f.Fatal(err)
	}
	r, err := NewRenderer(tok, []int{endText}, Style{Form: Auto, System: "S"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		row, err := readRow([]byte(line))
		if err != nil {
			return
		}
		if strings.TrimSpace(row.Question) == "" {
			t.Errorf("a problem without a question: %+v", row)
		}
		if ids, err := r.Prompt(row); err == nil && len(ids) == 0 {
			t.Error("a prompt without tokens")
		}
		if l, err := r.Lesson(row); err == nil && (len(l.Learned) == 0 || l.Learned[len(l.Learned)-1].To > len(l.IDs)) {
			t.Errorf("%+v", l)
		}
		if choices, err := r.Choices(row); err == nil {
			for _, c := range choices {
				if len(c.Learned) == 0 || c.Learned[len(c.Learned)-1].To > len(c.IDs) {
					t.Errorf("%+v", c)
				}
			}
		}
		same := verify.Problem{Question: row.Question, Metadata: Context(row)}
		one, oneErr := r.Prompt(row)
		other, otherErr := r.Prompt(same)
		if (oneErr == nil) != (otherErr == nil) || !slices.Equal(one, other) {
			t.Errorf("the context is not enough: %v and %v", one, other)
		}
	})
}
