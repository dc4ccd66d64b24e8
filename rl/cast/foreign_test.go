package cast

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/panel"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
	"github.com/rlzero/rlzero/rl/world/tools"
	"github.com/rlzero/rlzero/verify"
)

// foreignRun has models of folders that are read in every way, and one that makes rows.
const foreignRun = `base = "chain-sum-tiny"
[models.plain]
path = 'PLAIN'
[models.headed]
path = 'HEADED'
head = true
[models.scribe]
path = 'PLAIN'
[[stage]]
name = "warm-up"
[[stage]]
name = "rl"
reward = "conversation + prompt + choices + written"
truth = "task"
[[stage.make]]
rows = "said"
each = "group"
by = "scribe"
say = "{question}"
max_tokens = 4
row = {prompt = "{question}", completion = "{said}"}
[[stage.verifier]]
name = "conversation"
verifier = "judge"
options = {model = "headed", read = "head", context = 40}
[[stage.verifier]]
name = "prompt"
verifier = "judge"
options = {model = "headed", source = "{question}{completion}", read = "head", context = 40}
[[stage.verifier]]
name = "choices"
verifier = "judge"
options = {model = "plain", source = "{question}{completion}", read = {1 = 1, 2 = 0}, context = 40}
[[stage.verifier]]
name = "written"
verifier = "judge"
options = {model = "plain", source = "{question}{completion}", read = "[0-9]", between = [0, 9], max_tokens = 4, context = 40}
`

// TestForeignTokens: a model of a folder whose tokenizer has two ids exchanged is asked in its own tokens, whatever is
// read of it, and so is one that writes rows or that a tool asks: no id of the policy reaches it. One with the policy's
// tokens is shown those that were drawn.
func TestForeignTokens(t *testing.T) {
	small := []string{"model.layers=1", "model.width=16", "model.heads=1", "model.head_dim=16", "model.mlp=16"}
	opened := func(text string) (*recipe.Recipe, *Cast) {
		t.Helper()
		r, err := recipe.Parse("mine.toml", text, small)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Open(r, "", refdev.New())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return r, c
	}
	_, source := opened("base = \"chain-sum-tiny\"\n")
	policy := source.Tokenizer()
	encode := func(tok *text.Tokenizer, texts ...string) (ids []int) {
		t.Helper()
		for _, s := range texts {
			more, err := tok.Encode(s)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, more...)
		}
		return ids
	}
	const question, completion = "5-1=", "4+2"
	end := source.Policy.Model.Config.EOS[0]
	drawn := append(encode(policy, question, "7-7"), end) // which the text of the completion does not tell
	for name, foreign := range map[string]bool{"the policy's": false, "exchanged": true} {
		plain, headed := folders(t, source, foreign)
		tok, err := text.ReadFolder(plain)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(encode(tok, question, completion), encode(policy, question, completion)) == foreign {
			t.Fatalf("%s tokens: %v, and of the policy %v", name, encode(tok, question, completion), encode(policy, question, completion))
		}
		want := map[string][][]int{
			"conversation": {append(encode(tok, question, completion), end)},
			"prompt":       {append(encode(tok, question+completion), end)},
			"choices":      {encode(tok, question+completion, "1"), encode(tok, question+completion, "2")},
			"written":      {encode(tok, question+completion)},
			"a question":   {encode(tok, question)},
		}
		if !foreign {
			want["conversation"] = [][]int{drawn}
		}
		r, c := opened(strings.NewReplacer("PLAIN", plain, "HEADED", headed).Replace(foreignRun))
		g := rollout.Group{Problem: verify.Problem{Question: question},
			Segments: []rollout.Segment{{Parent: -1, IDs: drawn[:4], Author: rollout.Prompt}, {IDs: drawn[4:], Author: rollout.Policy}},
			Paths:    []rollout.Path{{Leaf: 1, Text: completion}}}
		asked := func(about, model string, ask func(m panel.Member) error) {
			t.Helper()
			m, err := c.Writer(model)
			if err != nil {
				t.Fatal(err)
			}
			reads := &reads{Member: m}
			if err := ask(reads); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(reads.asked, want[about], slices.Equal) {
				t.Errorf("%s tokens, %s: %v reach %s, want %v", name, about, reads.asked, model, want[about])
			}
		}
		for _, j := range r.Judges() {
			asked(j.Name, j.Model, func(m panel.Member) error {
				p := &panel.Panel{Models: func(string) (panel.Model, error) { return m, nil }}
				_, err := p.Judge(t.Context(), j.Judge, []rollout.Group{g})
				return err
			})
		}
		asked("a question", "scribe", func(m panel.Member) error { // as rows are asked for, and by a tool
			_, mistake, err := panel.Answerer(m, tools.Whom{Context: m.Room(), MaxTokens: 1, Answers: 1}, 1)(t.Context(), question)
			if mistake != nil {
				return mistake
			}
			return err
		})
	}
}

// folders are one of a policy and one of it with a head, with its tokens or with two of their ids exchanged.
func folders(t *testing.T, c *Cast, exchanged bool) (plain, headed string) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	m, dir := c.Policy.Model, t.TempDir()
	small, err := hf.FolderFiles(m.Config, m.Tokenizer)
	ok(err)
	if exchanged {
		const file = "tokenizer.json"
		was := small[file]
		small[file] = []byte(strings.NewReplacer(`"+":`, `"-":`, `"-":`, `"+":`).Replace(string(was)))
		if bytes.Equal(small[file], was) {
			t.Fatalf("%s is as it was", file)
		}
	}
	plain, headed = filepath.Join(dir, "plain"), filepath.Join(dir, "headed")
	ok(store.WriteFolder(store.OS(), plain, hf.Contents(small, hf.WeightsFile, m.Tensors())))
	f, err := hf.ReadFolder(plain)
	ok(err)
	defer f.Tensors.Close()
	f.Head = hf.NewHead(make([]float32, f.Config.Width), 1)
	small, tensors, err := f.Files(gguf.F32)
	ok(err)
	ok(store.WriteFolder(store.OS(), headed, hf.Contents(small, hf.WeightsFile, tensors)))
	return plain, headed
}
