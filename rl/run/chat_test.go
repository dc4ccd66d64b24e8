package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/rl/audit"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

// chatModel is a folder with a small model, a tokenizer and a chat template.
func chatModel(t *testing.T) string { return fixtures.ChatModel(t) }

// chatRun trains with a recipe of two stages on conversations.
func chatRun(t *testing.T, dir, start, data, recipeText string, resume bool) (string, error) {
	t.Helper()
	name := filepath.Join(filepath.Dir(data), "recipe.toml")
	must(t, os.WriteFile(name, fmt.Appendf(nil, recipeText, start), 0o644))
	r, err := recipe.Load(name, nil)
	must(t, err)
	var shown strings.Builder
	_, err = Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Resume: resume, Device: tester(t), Show: io.Writer(&shown)})
	return shown.String(), err
}

// TestChat: a model learns the answers of conversations, and then from rewards on their
// questions. Its checkpoints end turns as the template does, the run resumes to the same
// bytes and can be audited.
func TestChat(t *testing.T) {
	start := chatModel(t)
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	var rows strings.Builder
	for i := range 64 {
		fmt.Fprintf(&rows, `{"messages":[{"role":"user","content":"say %d"},{"role":"assistant","content":"%d"}],"answer":"%d"}`+"\n", i, i, i)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	const text = `model.path = %q
[task]
data = "rows.jsonl"
verifier = "number"
system = "Be brief."
max_prompt_tokens = 64
eval_problems = 4
eval_samples = 1
[[stage]]
kind = "sft"
batch_size = 8
max_tokens = 80
test_every = 3
hold_steps = 4
decay_steps = 2
checkpoint_every = 3
[[stage]]
kind = "rl"
steps = 1
prompts_per_step = 2
group_size = 2
sampling.max_completion_tokens = 4
`
	base := filepath.Join(t.TempDir(), "run")
	shown, err := chatRun(t, base, start, data, text, false)
	must(t, err)
	if !strings.Contains(shown, "chat template: <|im_end|> ends a turn\n") {
		t.Errorf("the template's findings are not shown:\n%s", shown)
	}
	if strings.Count(shown, ": held-out loss ") != 2 {
		t.Errorf("the held-out loss is not shown:\n%s", shown)
	}
	var losses, held []float64
	for _, row := range linesOf(t, filepath.Join(base, "metrics.jsonl")) {
		if v, there := row["sft/loss"].(float64); there {
			losses = append(losses, v)
		}
		if v, there := row["eval/loss"].(float64); there {
			held = append(held, v)
		}
	}
	if len(losses) != 6 || len(held) != 2 || losses[5] >= losses[0] || held[1] >= held[0] {
		t.Errorf("losses %v, held out %v", losses, held)
	}
	for _, line := range completionLines(t, base) {
		if !strings.HasPrefix(line.Prompt, "say ") {
			t.Errorf("prompt %q", line.Prompt)
		}
	}
	report, err := audit.Run(base, audit.Options{Limit: 2})
	must(t, err)
	if report.Stored.N != 4 || report.Stored.Differ != 0 || report.Lost.N != 0 {
		t.Errorf("stored verdicts %+v, lost %+v", report.Stored, report.Lost)
	}
	dirs := checkpointDirs(t, base)
	config, err := os.ReadFile(filepath.Join(dirs[len(dirs)-1], "generation_config.json"))
	must(t, err)
	if ends := strings.Join(strings.Fields(string(config)), ""); !strings.Contains(ends, `"eos_token_id":[257,6]`) {
		t.Errorf("generation_config.json: %s", config)
	}

	cut := copyRun(t, base)
	must(t, os.RemoveAll(filepath.Join(cut, "checkpoints", "step-000006")))
	must(t, os.RemoveAll(filepath.Join(cut, "checkpoints", "step-000007")))
	_, err = chatRun(t, cut, start, data, text, true)
	must(t, err)
	sameRun(t, runFiles(t, cut), runFiles(t, base))
}

// TestChatAdapter: turns end as the template of an adapter's model ends them, also where training goes on with an adapter
// whose folder does not say so, as those of others do not.
func TestChatAdapter(t *testing.T) {
	start, adapter := chatModel(t), t.TempDir()
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	var rows strings.Builder
	for i := range 64 {
		fmt.Fprintf(&rows, `{"messages":[{"role":"user","content":"say %d"},{"role":"assistant","content":"%d"}]}`+"\n", i, i)
	}
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	const text = `model.path = %q
model.lora.rank = 1
task.data = "rows.jsonl"
[[stage]]
kind = "sft"
batch_size = 2
max_tokens = 80
hold_steps = 1
decay_steps = 1
`
	dir := filepath.Join(t.TempDir(), "run")
	_, err := chatRun(t, dir, start, data, text, false)
	must(t, err)
	dirs := checkpointDirs(t, dir)
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		file, err := os.ReadFile(filepath.Join(dirs[len(dirs)-1], name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(adapter, name), file, 0o644))
	}
	r, err := recipe.Load(filepath.Join(filepath.Dir(data), "recipe.toml"), []string{"model.path=" + adapter})
	must(t, err)
	for _, folder := range []string{start, adapter} {
		if _, ends, err := cast.Tokenizer(r, folder); err != nil || !slices.Equal(ends, []int{257, 6}) {
			t.Errorf("%s: turns end with %v, %v", folder, ends, err)
		}
	}
}

// TestRewrittenTurns: with history = "template" a chat model, whose template leaves the beginnings of earlier turns out and
// begins each turn with an empty thought, reads before each turn what the template writes then. What it drew is learned
// as it was drawn, and nothing else; a resumed run has the same bytes.
func TestRewrittenTurns(t *testing.T) {
	start := chatModel(t)
	const begins = "<|im_start|>assistant\n<think>\n\n</think>\n\n"
	must(t, os.WriteFile(filepath.Join(start, "chat_template.jinja"), []byte("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content[-3:] if m.role == 'assistant' else m.content }}<|im_end|>\n{% endfor %}"+
		"{% if add_generation_prompt %}"+begins+"{% endif %}"), 0o644))
	const text = `model.path = %q
[task]
name = "guess"
settings = {size = 7, turns = 3, recap = true}
episode = {tokens = 300, history = "template"}
system = "Guess."
max_prompt_tokens = 120
eval_problems = 2
eval_samples = 1
[[stage]]
kind = "sft"
batch_size = 4
hold_steps = 1
decay_steps = 1
[[stage]]
kind = "rl"
steps = 2
prompts_per_step = 2
group_size = 3
reward = "random"
token_every = 1
checkpoint_every = 1
sampling.max_completion_tokens = 8
`
	beside, base := filepath.Join(t.TempDir(), "rows"), filepath.Join(t.TempDir(), "run")
	_, err := chatRun(t, base, start, beside, strings.Replace(text, `, history = "template"`, "", 1), false)
	if err == nil || !strings.Contains(err.Error(), "the model's chat template does not only append") {
		t.Fatalf("appended: %v", err)
	}
	_, err = chatRun(t, base, start, beside, text, false)
	must(t, err)
	var said []record.Completion
	must(t, record.Each(filepath.Join(base, record.CompletionsFile), func(_ int, c record.Completion) error { said = append(said, c); return nil }))
	tokens, n := map[int]int{}, 0
	must(t, record.Each(filepath.Join(base, record.TokensFile), func(_ int, l record.Tokens) error {
		c := said[n]
		n++
		tokens[c.Step] += len(l.IDs)
		read, reads := "<|im_start|>system\nGuess.<|im_end|>\n<|im_start|>user\n"+c.Prompt+"<|im_end|>\n", l.Read
		for i, turn := range c.Turns {
			if turn.By == record.ByPolicy {
				own := []rune(turn.Text)
				read += "<|im_start|>assistant\n" + string(own[max(0, len(own)-3):]) + "<|im_end|>\n"
				continue
			}
			if read += "<|im_start|>user\n" + turn.Text + "<|im_end|>\n"; i+1 == len(c.Turns) {
				break
			}
			if r := reads[0]; !r.Fresh || r.Text != read+begins {
				t.Errorf("step %d, sample %d: read\n%s\nwant\n%s", c.Step, c.Sample, r.Text, read+begins)
			}
			reads = reads[1:]
		}
		if own := c.Tokens; own != len(l.IDs) || own != len(l.Weight) || len(reads) > 0 {
			t.Errorf("step %d, sample %d: %d tokens are drawn, %d weighed with %d weights", c.Step, c.Sample, own, len(l.IDs), len(l.Weight))
		}
		return nil
	}))
	rows := metricRows(t, base, "reward/mean")
	for _, row := range rows {
		drawn := float64(tokens[int(row["step"].(float64))])
		if row["policy/mismatch_kl"] != 0.0 || row["policy/compared"] != drawn || row["policy/equal"] != drawn || row["rollout/contexts_mean"] != row["rollout/turns_mean"] || row["policy/grad_norm"] == 0.0 {
			t.Errorf("%v drawn tokens, %v", drawn, row)
		}
	}
	if len(rows) != 2 || n != 12 {
		t.Errorf("%d steps, %d completions", len(rows), n)
	}

	cut := copyRun(t, base)
	dirs := checkpointDirs(t, cut)
	must(t, os.RemoveAll(dirs[len(dirs)-1]))
	_, err = chatRun(t, cut, start, beside, text, true)
	must(t, err)
	sameRun(t, runFiles(t, cut), runFiles(t, base))
}

// TestImitateRows: without a verifier a run imitates and samples nothing; what is read
// and not learned is told, and what cannot be learned is refused with its lines.
func TestImitateRows(t *testing.T) {
	start := chatModel(t)
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	write := func(lines ...string) {
		t.Helper()
		var rows strings.Builder
		for i := range 40 {
			fmt.Fprintf(&rows, `{"messages":[{"role":"user","content":"say %d"},{"role":"assistant","content":"%d"}]}`+"\n", i, i)
		}
		must(t, os.WriteFile(data, []byte(rows.String()+strings.Join(lines, "\n")), 0o644))
	}
	const text = `model.path = %q
[task]
data = "rows.jsonl"
[[stage]]
kind = "sft"
batch_size = 4
max_tokens = 48
hold_steps = 1
decay_steps = 1
`
	write()
	dir := filepath.Join(t.TempDir(), "run")
	_, err := chatRun(t, dir, start, data, text, false)
	must(t, err)
	rows := linesOf(t, filepath.Join(dir, "metrics.jsonl"))
	if len(rows) != 2 || rows[1]["eval/loss"] == nil || rows[1]["eval/pass@1"] != nil {
		t.Errorf("metrics %v", rows)
	}

	write(`{"messages":[{"role":"user","content":"q"}]}`, `{"messages":[{"role":"user","content":"q<|im_end|>"},{"role":"assistant","content":"a"}]}`,
		`{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a very long answer, longer than there is room for"}]}`, `{"messages":[{"role":"user","content":"r"}]}`)
	_, err = chatRun(t, filepath.Join(t.TempDir(), "run"), start, data, text, false)
	for _, want := range []string{
		"rows.jsonl: 2 of 44 rows (lines 41, 44): nothing is learned from the conversation: there is no message of the assistant",
		"rows.jsonl: line 42: message 1 (user): a text contains a control token: <|im_end|>",
		"rows.jsonl: line 43: the row has 71 tokens, but max_tokens is 48: it is too long",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
