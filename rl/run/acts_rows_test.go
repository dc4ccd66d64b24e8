package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/tasks"
)

// warmModel is the checkpoint of a tiny model that knows answers of several lengths, half of
// them right.
func warmModel(t *testing.T, dev gpu.Device) string {
	t.Helper()
	train := func(r *recipe.Recipe, err error) string {
		must(t, err)
		sum, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: t.TempDir(), Device: dev, Show: &bytes.Buffer{}})
		must(t, err)
		return sum.Checkpoint
	}
	words := train(recipe.Load("chain-sum-tiny", []string{easyTask, "model.layers=1", "model.width=24", "model.heads=1", "model.head_dim=24", "model.mlp=48",
		"stage.rl.skip=true", "stage.warm-up.batch_size=1", "stage.warm-up.hold_steps=1", "stage.warm-up.decay_steps=1", "stage.warm-up.checkpoint_every=0"}))
	easy, err := recipe.Load("chain-sum-tiny", []string{easyTask})
	must(t, err)
	family := easy.Task.Demonstrator()
	var rows strings.Builder
	draw := random.At(1, random.Stream(random.Draw, 0), 0)
	for range 512 {
		row := family.Draw(draw, tasks.Train)
		working, err := family.Demonstration(draw, row)
		must(t, err)
		working = working[4*draw.Between(0, 3):] // without the first steps
		line, err := json.Marshal(map[string]string{"question": row.Question, "completion": working})
		must(t, err)
		rows.Write(append(line, '\n'))
	}
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	return train(recipe.Parse("warm.toml", "[model]\npath = "+strconv.Quote(words)+"\n[task]\ndata = "+strconv.Quote(data)+`
[[stage]]
kind = "sft"
batch_size = 16
max_tokens = 40
hold_steps = 250
decay_steps = 20
test_every = 1000
checkpoint_every = 0
optimizer = {lr = 1e-2}
`, nil))
}

// warmWorld is the checkpoint of a tiny model that knows the form of a world's turns.
func warmWorld(t *testing.T, dev gpu.Device, from, task string) string {
	t.Helper()
	r, err := recipe.Load(from, []string{task, "model.layers=2", "model.width=32", "model.heads=2", "model.head_dim=16", "model.mlp=48", "model.context=160",
		"stage.rl.skip=true", "stage.warm-up.batch_size=16", "stage.warm-up.hold_steps=140", "stage.warm-up.decay_steps=20", "stage.warm-up.test_every=1000",
		"stage.warm-up.until_valid=0", "stage.warm-up.checkpoint_every=0", "stage.warm-up.optimizer.lr=1e-2"})
	must(t, err)
	sum, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: t.TempDir(), Device: dev, Show: &bytes.Buffer{}})
	must(t, err)
	return sum.Checkpoint
}

// rowsOfAll is a file of rows with what the recipes that learn from rows read.
func rowsOfAll(t *testing.T) string {
	t.Helper()
	var rows strings.Builder
	for i := range 32 {
		fmt.Fprintf(&rows, `{"prompt":"say %[1]d","completion":"%[4]s","chosen":"%[4]s","rejected":"no","reward":%[2]v,"value":0.5,"right":%[3]d}`+"\n", i, float64(i%5)/4, i%2, strings.Repeat("7", 1+i%4))
	}
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	return data
}

// easyRows is a file of all problems of easyTask, with the columns that recipes for data of one's
// own read besides.
func easyRows(t *testing.T) string {
	t.Helper()
	easy, err := recipe.Load("chain-sum-tiny", []string{easyTask})
	must(t, err)
	draw, seen := random.At(1, random.Stream(random.Draw, 0), 0), map[string]bool{}
	var rows strings.Builder
	for range 512 {
		p := easy.Task.Settings.Draw(draw, tasks.Train)
		if seen[p.ID] {
			continue
		}
		n := len(seen)
		seen[p.ID] = true
		row := map[string]any{"question": p.Question, "answer": p.Answer, "domain": []string{"math", "code"}[n%2], "direct": p.Question + p.Question, "trace": "=" + p.Answer,
			"pair": n / 2, "phrase": n % 2, "middle": min(1, n%4), "critique": n % 3 / 2, "opening": n % 3 / 2, "values": n % 3 / 2, "yes": "=1", "no": "=2"}
		for key, value := range p.Metadata {
			row[key] = value
		}
		line, err := json.Marshal(row)
		must(t, err)
		rows.Write(append(line, '\n'))
	}
	data := filepath.Join(t.TempDir(), "rows.jsonl")
	must(t, os.WriteFile(data, []byte(rows.String()), 0o644))
	return data
}
