package run

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/cast"
	"github.com/rlzero/rlzero/rl/rollout"
	"github.com/rlzero/rlzero/rl/store"
)

// TestRides: a model that is another adapter over the folder of the policy, which learns one too, takes the memory of its
// adapter alone. It says the bits that it says with parameters of its own, and a run comes to the same rows.
func TestRides(t *testing.T) {
	dev := mostly(t)
	newest := func(dir string) string {
		found, err := store.FindModel(dir, "")
		must(t, err)
		return found.Dir
	}
	from, tuned := t.TempDir(), t.TempDir()
	trainOn(t, dev, from, false, append(slices.Clone(smallRun), "stage.rl.skip=true")...)
	base := copyRun(t, newest(from))
	learns := []string{"model.path=" + base, "model.lora.rank=3"}
	trainOn(t, dev, tuned, false, slices.Concat(smallRun, learns, []string{"stage.warm-up.skip=true", "stage.rl.steps=2"})...)
	adapter := newest(tuned)

	var views []rollout.View
	for _, cut := range []int{8, 5, 7} {
		views = append(views, rollout.View{IDs: []int{4, 7, 3, 9, 12, 5, 2, 8}[:cut], Spans: []rollout.Span{{From: 3, To: cut}}, Temperature: 1})
	}
	// What the model of a folder says, the bytes that a plan has, and the metrics of a short run.
	says := func(folder, policy, teacher string) (rows [][]float64, plan gpu.Plan, metrics []byte) {
		text := strings.Replace(fromFolder(folder), "path = ", "adapter = '"+adapter+"'\ndtype = \""+teacher+"\"\npath = ", 1)
		sets := append(slices.Clone(learns), "model.dtype="+policy, "stage.warm-up.skip=true", "stage.rl.steps=2", "stage.rl.eval_every=0")
		r, err := parsed(text, sets...)
		must(t, err)
		plan, err = cast.Plan(r, base, dev.Caps())
		must(t, err)
		c, err := cast.Open(r, base, dev)
		must(t, err)
		defer c.Close()
		must(t, c.Begin(r, 1))
		rows, err = c.Supply("teacher", views)
		must(t, err)
		dir := t.TempDir()
		must(t, trainText(t, dev, dir, text, false, sets...))
		metrics, err = os.ReadFile(filepath.Join(dir, "metrics.jsonl"))
		must(t, err)
		return rows, plan, metrics
	}
	elsewhere := copyRun(t, base)
	for _, dtype := range []string{"f32", "q8_0"} {
		rows, plan, metrics := says(base, dtype, dtype)
		own, apart, others := says(elsewhere, dtype, dtype)
		if !slices.EqualFunc(rows, own, slices.Equal) {
			t.Errorf("%s: %v over the policy's parameters, %v over its own", dtype, rows, own)
		}
		if !bytes.Equal(metrics, others) {
			t.Errorf("%s: a run over the policy's parameters\n%s\nand over its own\n%s", dtype, metrics, others)
		}
		saved := 0
		for _, item := range plan.Items {
			if item.Name == "parameters" || item.Name == "rope table" {
				saved += item.Bytes
			}
		}
		if saved == 0 || apart.Total()-plan.Total() != saved {
			t.Errorf("%s: %d bytes less are planned over the policy's parameters, which are %d\n%s\n%s", dtype, apart.Total()-plan.Total(), saved, plan, apart)
		}
	}
	_, plan, _ := says(base, "q8_0", "f32")
	if _, apart, _ := says(elsewhere, "q8_0", "f32"); plan.Total() != apart.Total() {
		t.Error("one in another storage is planned over the policy's parameters")
	}
}
