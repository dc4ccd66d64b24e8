package algo

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
)

// notFormulas is the one list of golden cases that no formula of a preset
// reproduces, with the condition and the reason. A case that no row covers must
// match.
var notFormulas = []struct {
	file, family string // family "": every one
	when         func(f *goldenFile, g *golden) bool
	reason       string
}{
	{"preference", "dpo", func(_ *goldenFile, g *golden) bool {
		return strings.Contains(fmt.Sprint(g.Hyper["loss_types"]), "aot")
	}, "AOT sorts the margins of the batch, which the language has no function for"},
	{"other_advantages", "prime_grpo_length", nil, "prime-rl's length shaping has terms for output, input and turns, which belong to the reward here"},
	{"other_losses", "openrlhf", func(_ *goldenFile, g *golden) bool {
		return g.Hyper.has("enable_vllm_is_correction") && g.Hyper.str("policy_loss_type") == "gspo"
	}, "OpenRLHF's GSPO with a sampler correction is neither its own correction of tokens nor that of sequences"},
	{"verl_advantages", "tir_optimal_token_baseline", toolTurns, "verl counts places without the tools' tokens here; group_place_ counts them"},
}

// formulasOf runs the golden cases of a file that formulas cover.
func formulasOf(t *testing.T, file string, check func(t *testing.T, f *goldenFile, g *golden)) {
	runBut(t, file, func(f *goldenFile, g *golden) string {
		for _, row := range notFormulas {
			if row.file == file && (row.family == "" || row.family == g.family()) && (row.when == nil || row.when(f, g)) {
				return row.reason
			}
		}
		return ""
	}, check)
}

// toolTurns tells whether a completion goes on behind tokens that a tool wrote.
func toolTurns(f *goldenFile, g *golden) bool {
	for _, r := range jsonMatrix(f.inputs(g)["mask"]) {
		first, last, sum := slices.Index(r, 1), len(r)-1, 0.0
		for ; last >= 0 && r[last] == 0; last-- {
		}
		for _, m := range r {
			sum += m
		}
		if first >= 0 && float64(last+1) != sum {
			return true
		}
	}
	return false
}

func jsonMatrix(raw json.RawMessage) (out [][]float64) {
	var rows []row
	if json.Unmarshal(raw, &rows) != nil {
		return nil
	}
	for _, r := range rows {
		out = append(out, r)
	}
	return out
}

// Every file of the fixture set is read by a test here or by package gpu.
func TestEveryFixtureFileIsAccountedFor(t *testing.T) {
	read := []string{"trl_losses", "trl_sequence_losses", "trl_advantages", "trl_masks", "verl_policy_losses", "verl_advantages", "verl_rollout_correction", "verl_misc",
		"other_losses", "other_advantages", "preference", "schedules", "statistics"}
	elsewhere := []string{"optimizers", "sampling_filters", "logits"} // by package gpu, on every device
	paths, err := filepath.Glob(filepath.Join(fixtures.Dir(t, "losses"), "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixture files: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if !slices.Contains(slices.Concat(read, elsewhere), name) {
			t.Errorf("no test reads %s: read it, or say why not", filepath.Base(path))
		}
	}
}
