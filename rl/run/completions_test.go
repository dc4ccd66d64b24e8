package run

import (
	"os"
	"strings"
	"testing"
)

// unequal shares the completions of a step among its prompts by chance and by what was right before.
const unequal = `
[[stage]]
name = "rl"
updates_per_rollout = 1
reward = "random"
[stage.curriculum]
completions = "prompt_chance*(2 - default(solved, 0))"
completions_most = 9
`

// TestUnequalGroups: groups of a step have the sizes that a formula shares out, which add up to those
// of the recipe; sampler and trainer agree to the bit, and a run that is killed, or whose work is cut
// otherwise, comes to the same bytes.
func TestUnequalGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: trains and resumes")
	}
	dev, dir := tester(t), t.TempDir()
	must(t, trainText(t, dev, dir, unequal, false))
	sizes := map[float64]map[float64]float64{} // completions by step and group
	for _, line := range linesOf(t, dir+"/completions.jsonl") {
		step, group := line["step"].(float64), line["group"].(float64)
		if sizes[step] == nil {
			sizes[step] = map[float64]float64{}
		}
		if line["sample"] != sizes[step][group] {
			t.Errorf("step %v, group %v: sample %v after %v others", step, group, line["sample"], sizes[step][group])
		}
		sizes[step][group]++
	}
	different := map[float64]bool{}
	for _, row := range metricRows(t, dir, "curriculum/most") {
		total, least, most := 0.0, 99.0, 0.0
		for _, n := range sizes[row["step"].(float64)] {
			total, least, most, different[n] = total+n, min(least, n), max(most, n), true
		}
		if total != 5*4 || least < 2 || most > 9 || row["curriculum/fewest"] != least || row["curriculum/most"] != most || row["policy/mismatch_kl"] != 0.0 {
			t.Errorf("step %v: %v completions, %v to %v of a prompt: %v", row["step"], total, least, most, row)
		}
	}
	if len(sizes) != 4 || len(different) < 4 {
		t.Errorf("%d steps, with groups of %v", len(sizes), different)
	}
	want := runFiles(t, dir)
	cut := t.TempDir()
	must(t, trainText(t, dev, cut, unequal, false, "sampler_sequences=9", "micro_batch_tokens=103"))
	if got := runFiles(t, cut); got["metrics.jsonl"] != want["metrics.jsonl"] || got["completions.jsonl"] != want["completions.jsonl"] {
		t.Error("a run whose work is cut otherwise has other metrics or completions")
	}
	parts := t.TempDir()
	must(t, trainText(t, dev, parts, unequal, false, "micro_batch_tokens=21", "stage.rl.steps=1")) // no batch holds two completions
	if got := runFiles(t, parts); !strings.HasPrefix(want["completions.jsonl"], got["completions.jsonl"]) || got["completions.jsonl"] == "" {
		t.Error("groups beyond a batch have other completions")
	}
	for _, row := range metricRows(t, parts, "curriculum/most") {
		if row["curriculum/most"].(float64) < 5 || row["policy/mismatch_kl"] != 0.0 || row["policy/compared"] != row["policy/equal"] {
			t.Errorf("groups beyond a batch: %v", row)
		}
	}
	all := checkpointDirs(t, dir)
	again := copyRun(t, dir)
	for _, c := range checkpointDirs(t, again)[len(all)-3:] {
		must(t, os.RemoveAll(c))
	}
	must(t, trainText(t, dev, again, unequal, true))
	sameRun(t, runFiles(t, again), want)
}
