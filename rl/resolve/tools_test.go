package resolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/prompts"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/world"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// calling is a recipe of the rows of rows.jsonl in a folder, with tools.
func calling(dir, tools string) (*recipe.Recipe, error) {
	return recipe.Parse(filepath.Join(dir, "r.toml"), `[model]
path = "start"
[task]
data = "rows.jsonl"
verifier = "exact"
held_out = 0.6
max_prompt_tokens = 99
eval_problems = 8
episode = {tokens = 64}
`+tools+`
[[stage]]
kind = "rl"
prompts_per_step = 8
sampling = {max_completion_tokens = 9}
`, nil)
}

// rowsWithTool is a recipe of rows with a search, in a folder with documents.
func rowsWithTool(t *testing.T, options string) (dir string, open func(more string) (*Opened, error)) {
	t.Helper()
	dir = t.TempDir()
	var rows strings.Builder
	for i := range 20 {
		fmt.Fprintf(&rows, `{"question":"row %d","answer":"1","notes":["the cat","a dog"]}`+"\n", i)
	}
	for name, text := range map[string]string{
		"rows.jsonl":      rows.String(),
		"docs/2.txt":      "the dog ran",
		"docs/1.md":       "the cat sat",
		"docs/other.png":  "\xff",
		"table/all.jsonl": `{"text":"one dog"}` + "\n" + `{"text":"two dogs"}` + "\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func(more string) (*Opened, error) {
		r, err := calling(dir, "[[task.tool]]\ntool = \"search\"\n"+more+"\noptions = {"+options+"}")
		if err != nil {
			return nil, err
		}
		return Open(r, nil)
	}
}

// TestToolDocuments: documents are those of a folder, of a column or of each row, and files that have
// changed since are refused.
func TestToolDocuments(t *testing.T) {
	for options, want := range map[string]string{
		`data = "docs"`:               "the dog ran",
		`data = "table", show = 1`:    "one dog",
		`row = "notes"`:               "a dog",
		`data = "none"`:               "none",
		`data = "table", column="x"`:  `there is no column "x"`,
		`row = "note"`:                "the row has no column \"note\" with its documents",
		`data = "docs", row="notes"`:  "accepted: one of them",
		`data = "rows.jsonl/nothing"`: "rows.jsonl",
	} {
		_, open := rowsWithTool(t, options)
		o, err := open("")
		if err != nil {
			if !errors.Is(err, recipe.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "r.toml:") {
				t.Errorf("%s: %v, want %s", options, err, want)
			}
			continue
		}
		train, heldOut := o.Source.Rows()
		found := ""
		for _, row := range append(train, heldOut...) {
			s, err := o.Tools[0].Open(t.Context(), row)
			if err != nil {
				t.Fatal(err)
			}
			a, err := s.Call(t.Context(), json.RawMessage(`{"query":"dog"}`))
			if err != nil {
				t.Fatal(err)
			}
			found += a.Text + "\n"
		}
		if !strings.Contains(found, want) {
			t.Errorf("%s: %q, want %q", options, found, want)
		}
	}
	dir, open := rowsWithTool(t, `data = "docs"`)
	o, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	sum := `sha256 = "` + o.Recipe.Task.Tools[0].SHA256 + `"`
	if _, err := open(sum); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "docs", "2.txt"), []byte("the dog slept"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open(sum); err == nil || !strings.Contains(err.Error(), "what tool search reads has changed") {
		t.Errorf("%v", err)
	}
}

// TestPages: pages have the names of their files, and are those of a folder alone.
func TestPages(t *testing.T) {
	dir, _ := rowsWithTool(t, "")
	pages := func(data string) (*Opened, error) {
		r, err := calling(dir, "[[task.tool]]\ntool = \"browse\"\noptions = {data = \""+data+"\"}")
		if err != nil {
			t.Fatal(err)
		}
		return Open(r, nil)
	}
	o, err := pages("docs")
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.Tools[0].Open(t.Context(), verify.Problem{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if a, err := s.Call(t.Context(), json.RawMessage(`{"to":"1.md"}`)); err != nil || a.Text != "the cat sat" || len(o.Recipe.Task.Tools[0].SHA256) != 64 {
		t.Errorf("%+v, %v", a, err)
	}
	for _, data := range []string{"table", "rows.jsonl", "none"} {
		if _, err := pages(data); err == nil || !strings.Contains(err.Error(), "is no folder with files .txt or .md") {
			t.Errorf("pages of %s: %v", data, err)
		}
	}
}

// FuzzToolTurns: whatever a policy of a small vocabulary says, it is told something that it can read, or its
// episode is over and scored.
func FuzzToolTurns(f *testing.F) {
	r, err := recipe.Load("calculator-tiny", nil)
	if err != nil {
		f.Fatal(err)
	}
	o, err := Open(r, nil)
	if err != nil {
		f.Fatal(err)
	}
	words, err := text.NewWords(r.Task.Vocabulary())
	if err != nil {
		f.Fatal(err)
	}
	renderer, err := prompts.NewRenderer(words, []int{1}, Style(r))
	if err != nil {
		f.Fatal(err)
	}
	if err := renderer.Turns(); err != nil {
		f.Fatal(err)
	}
	w := o.Episodes(renderer, 1, nil).World
	row := o.Source.Draw(random.At(1, 1, 1))
	for _, said := range []string{"7+1=8", "<calculator>7+1</calculator>", "<calculator>1/3</calculator>", "<calculator>99+9</calculator>", "<calculator>", "<calculator>{</calculator>", strings.Repeat("<calculator>1</calculator>", 20), "<calculator>\xff<eos></calculator>"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		e, _, err := w.Begin(t.Context(), row, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		reply, err := e.Step(t.Context(), world.Turn{Text: said})
		if err != nil || reply.Verdict != nil && reply.Verdict.Verdict == verify.NotScored || (reply.Verdict == nil) != (len(reply.Messages) > 0) {
			t.Fatalf("%q: %+v, %v", said, reply, err)
		}
		if _, err := renderer.Next(true, reply.Messages); err != nil {
			t.Errorf("%q is told %+v: %v", said, reply.Messages, err)
		}
	})
}

// scripted draws turns of a script, each with the end of a turn.
type scripted struct {
	turns []string
	words *text.Tokenizer
	end   int
	at    *int
}

// Sample implements [rollout.Sampler].
func (s scripted) Sample(_ context.Context, requests []rollout.Request) ([][]rollout.Segment, error) {
	ids, err := s.words.Encode(s.turns[*s.at])
	if err != nil || len(requests) != 1 {
		return nil, fmt.Errorf("%d requests, %w", len(requests), err)
	}
	*s.at++
	ids = append(ids, s.end)
	return [][]rollout.Segment{{{Author: rollout.Policy, IDs: ids, Logprob: make([]float32, len(ids)), Entropy: make([]float32, len(ids)), Drawn: requests[0].Drawn("policy", 0, 0), Stop: rollout.EOS}}}, nil
}

// TestToolEpisode: an episode with a chat template that writes calls has the ids of the whole conversation, the
// spans of the policy are its turns, and its answer is judged by the verifier of the rows.
func TestToolEpisode(t *testing.T) {
	const template = `{% if tools %}<|im_start|>system
{% for t in tools %}{{ t.function.name }}{% endfor %}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
	dir := t.TempDir()
	tokenizer, err := os.ReadFile(filepath.Join(fixtures.Selection(t, "chat"), "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"tokenizer.json": string(tokenizer), "chat_template.jinja": template} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	words, err := text.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ calls, system, call, role string }{
		{"template", "calculator", "So. <tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"7*8\"}}\n</tool_call>", "tool"},
		{"tags", "", "So. <calculator>7*8</calculator>", "user"},
	} {
		r, err := recipe.Parse(filepath.Join(dir, "r.toml"), `[model]
path = "start"
[task]
data = "rows.jsonl"
verifier = "number"
max_prompt_tokens = 999
calls = "`+x.calls+`"
episode = {tokens = 999}
tool = [{tool = "calculator"}]
[[stage]]
kind = "rl"
sampling = {max_completion_tokens = 99}
`, nil)
		if err != nil {
			t.Fatal(err)
		}
		renderer, err := prompts.NewRenderer(words, []int{258}, Style(r))
		if err != nil {
			t.Fatal(err)
		}
		if err := renderer.Turns(); err != nil {
			t.Fatal(err)
		}
		number, err := verify.New("number", nil)
		if err != nil {
			t.Fatal(err)
		}
		at, end := 0, renderer.Ends()[0]
		o := &Opened{Recipe: r, Source: judging{by: number}, Tools: []world.Tool{tools.Calculator{}}}
		c := &rollout.Collector{Sampler: scripted{[]string{x.call, "The answer is 56."}, words, end, &at}, Renderer: renderer, Task: o.Source.Verify, Episodes: o.Episodes(renderer, 1, nil)}
		groups, err := c.Collect(t.Context(), []verify.Problem{{Question: "7*8?", Answer: "56"}}, 1, rollout.Params{MaxTokens: 99}, random.Key{})
		if err != nil {
			t.Fatal(err)
		}
		v := groups[0].View(0)
		got := words.Decode(v.IDs)
		_, said, _ := strings.Cut(got, "<|im_start|>user\n7*8?")
		if want := "<|im_end|>\n<|im_start|>assistant\n" + x.call + "<|im_end|>\n<|im_start|>" + x.role + "\n56<|im_end|>\n<|im_start|>assistant\nThe answer is 56.<|im_end|>"; said != want || !strings.Contains(got, x.system) {
			t.Errorf("%s: %q, want %q", x.calls, got, want)
		}
		whole, err := words.Encode(got)
		if err != nil || !slices.Equal(whole, v.IDs) {
			t.Errorf("%s: ids %v, of the whole text %v, %v", x.calls, v.IDs, whole, err)
		}
		var own []string
		for _, s := range v.Spans {
			own = append(own, words.Decode(v.IDs[s.From:s.To]))
		}
		if !slices.Equal(own, []string{x.call + "<|im_end|>", "The answer is 56.<|im_end|>"}) || groups[0].Paths[0].Verdict().Verdict != verify.Right {
			t.Errorf("%s: the policy wrote %q, %+v", x.calls, own, groups[0].Paths[0].Verdict())
		}
	}
}

// judging is a source of which only the verifier is asked.
type judging struct {
	prompts.Source
	by verify.Verifier
}

func (j judging) Verify(row verify.Problem, completion string, _ bool) verify.Verdict {
	return j.by.Verify(row, completion)
}
