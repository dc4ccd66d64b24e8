package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	_ "github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/rl/recipe"
)

// goldenMetrics are the metrics that are pinned. The list is fixed, so that a new
// metric pins nothing anew.
var goldenMetrics = []string{
	"eval/length_mean", "eval/not_scored", "eval/pass@1", "eval/pass@4", "groups/uniform_share", "optim/lr",
	"policy/clip_fraction", "policy/entropy", "policy/grad_norm", "policy/kl_ref", "policy/loss", "policy/mismatch_kl", "policy/ratio_mean",
	"preference/accuracy", "preference/margin", "eval/preference_loss", "reward/mean", "reward/std", "rollout/length_mean", "rollout/tokens", "sft/loss",
}

// golden is what a run has to come to, as SHA-256.
type golden struct{ weights, ids, metrics string }

// TestGolden pins the bytes of short runs on the plain-Go device: every kind of
// stage, of which golden.toml has all but preference; a reference policy in the loss and in the reward; one batch an update and
// several, and groups that no batch holds; groups that are left out. A change that means to leave results alone
// keeps them. One that does not says why, and pins anew.
//
// The figures hold on amd64: Go may fuse multiplications and additions elsewhere.
func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct {
		name string
		set  []string
		want golden
	}{
		{"reference in the loss", nil, golden{
			"2b59b36ae6a94784353113be7372ca730f66392e98156727362f5df9afa08d2f",
			"4f8ba78fc5df84fbe652598a9b99dd48c1f341df2850e24fa29e917c5aa57ff4",
			"2949583926e35d2959d761f1f6fb21c2377e17e73d5f2457ac8653f628758348"}},
		{"reference in the reward", []string{"stage.rl.algorithm.penalty=0", "stage.rl.algorithm.advantage=standard(kl_reward)", "stage.rl.algorithm.kl_reward=reward - beta*sum(expm1(ref - old) + old - ref)",
			"stage.rl.algorithm.loss=token_mean(weight*policy + penalty) - 0.01*token_mean(entropy)", "stage.rl.updates_per_rollout=1", "micro_batch_tokens=40"}, golden{
			"cd27060c76c618ee31878679474670d754ea6ccadafb99da184f7d4d15c83638",
			"8113f026549f8a1bcd54d19618309430240fd350d8a552a55ddcf3a56d757d4a",
			"89f1c7baeb6a253acfc40093562d114797be4af47ccd8604ad5d4cdbae5cc377"}},
		{"groups left out", []string{"stage.rl.algorithm.preset=dapo", "stage.rl.algorithm.penalty=0", "stage.rl.group_size=2", "micro_batch_tokens=60"}, golden{
			"1b16bbe831e6ca11cfa355b36be090bf6659882f06cb0ece88ead6bf28a19de8",
			"0d5fceddba5a308a354118e606a0ad22ae544246a48a3480348def2870cda31b",
			"9f2c5e116f36492b78f8e8116c4582de313c7bd6a81255b56f2f552a7f18a575"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := goldenRun(t, goldenRecipe(t, c.set), seen); got != c.want {
				t.Errorf("the run has changed:\n got %+v\nwant %+v", got, c.want)
			}
		})
	}
	t.Run("pairs", func(t *testing.T) {
		want := golden{ // no ids: nothing is sampled
			"1077adfe0871eb5039b0e9e0d87e09c1e3c36d8cbc21ffe5dfcc5263e02037b2",
			hashed(nil),
			"14947aed4c258c9223de0069c0e8f08be0bce652622038b2404a82d875fb2ad9"}
		if got := goldenRun(t, goldenPairs(t), seen); got != want {
			t.Errorf("the run has changed:\n got %+v\nwant %+v", got, want)
		}
	})
	for _, name := range goldenMetrics {
		if !seen[name] {
			t.Errorf("no run has the metric %s", name)
		}
	}
}

func goldenRecipe(t *testing.T, overrides []string) *recipe.Recipe {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "golden.toml"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := recipe.Parse("golden.toml", string(text), overrides)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// goldenPairs is a stage of the kind that golden.toml lacks, as it needs rows of data.
func goldenPairs(t *testing.T) *recipe.Recipe {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, `{"prompt":"say %[1]d","right":"%[1]d","wrong":"no"}`+"\n", i)
	}
	must(t, os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte(rows.String()), 0o644))
	name := filepath.Join(dir, "recipe.toml")
	must(t, os.WriteFile(name, fmt.Appendf(nil, preferText, chatModel(t)), 0o644))
	r, err := recipe.Load(name, []string{"stage.preference.steps=4", "stage.preference.test_every=2"})
	must(t, err)
	return r
}

func goldenRun(t *testing.T, r *recipe.Recipe, seen map[string]bool) golden {
	t.Helper()
	dev, err := gpu.Open("ref")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	dir := filepath.Join(t.TempDir(), "run")
	sum, err := Train(t.Context(), Options{Opened: opened(t, r), Dir: dir, Device: dev, Show: &bytes.Buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.ReadFile(filepath.Join(sum.Checkpoint, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return golden{hashed(weights), hashed(goldenColumns(t, filepath.Join(dir, "completions.jsonl"), seen, "step", "prompt_id", "completion", "tokens", "stop")),
		hashed(goldenColumns(t, filepath.Join(dir, "metrics.jsonl"), seen, append([]string{"step", "stage"}, goldenMetrics...)...))}
}

// goldenColumns are some keys of each line, as they are written there. Those that
// some line has are added to seen.
func goldenColumns(t *testing.T, file string, seen map[string]bool, keys ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if raw, there := fields[key]; there {
				seen[key] = true
				fmt.Fprintf(&out, "%s=%s ", key, raw)
			}
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

func hashed(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
