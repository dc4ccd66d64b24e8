package run

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestScoreOf: a reward may be what models think of a text. At the start of a stage
// the policy is the reference, to the last bit; then it moves. Runs are equal, and a
// run that is cut comes to the same bytes.
func TestScoreOf(t *testing.T) {
	set := append(slices.Clone(smallRun), "stage.rl.algorithm.penalty=0*beta",
		`stage.rl.reward=a = score_of("7", prompt, policy); b = score_of("7", prompt, ref); c = score_of("7", completion, policy); d = self_certainty; e = -low_entropy; f = score_of("+7", completion, policy); g = mean_score_of("+7", completion, policy); h = mean_probability_of("+7", completion, policy); i = telling_score_of("+7", completion, policy); j = score_alone(policy); k = score_alone(ref); m = mean(old); a - b + 0.01*c + d`)
	dir := t.TempDir()
	trainIn(t, dir, false, set...)
	first, moved := 0, 0
	for _, line := range linesOf(t, filepath.Join(dir, "completions.jsonl")) {
		terms, ok := line["terms"].(map[string]any)
		if !ok || terms["a"] == nil || terms["b"] == nil || terms["c"] == nil {
			t.Fatalf("no terms in %v", line)
		}
		a, b, c := terms["a"].(float64), terms["b"].(float64), terms["c"].(float64)
		// The KL of the uniform distribution to one is above 0, and a distribution that is not
		// uniform has an entropy below log of the vocabulary.
		if d, e := terms["d"].(float64), terms["e"].(float64); !(d > 0 && e > 0) {
			t.Errorf("self-certainty %v, entropy %v", d, e)
		}
		if f, g := terms["f"], terms["g"]; f == nil || g == nil || f.(float64) != 2*g.(float64) || !(f.(float64) < g.(float64)) {
			t.Errorf("two tokens have the log-prob %v and the mean %v", f, g)
		}
		// Probabilities below 1 have a mean above the root of their product.
		if h, g := terms["h"], terms["g"]; h == nil || !(h.(float64) >= math.Exp(g.(float64)) && h.(float64) < 1) {
			t.Errorf("two tokens have the mean probability %v, and the mean log-prob %v", h, g)
		}
		// What tells of two tokens is between them, whose log-probs have the sum f.
		if i, f := terms["i"], terms["f"]; i == nil || !(i.(float64) < 0 && i.(float64) >= f.(float64)) {
			t.Errorf("two tokens have the log-prob %v, and what tells of them %v", f, i)
		}
		j, k, m := terms["j"], terms["k"], terms["m"]
		if j == nil || k == nil || j == m || line["step"] == float64(smallRunSteps-3) && j != k {
			t.Errorf("log-prob %v with the prompt, %v without, %v by the reference", m, j, k)
		}
		switch {
		case !(a < 0 && b < 0 && c < 0):
			t.Errorf("log-probs %v, %v, %v", a, b, c)
		case line["step"] == float64(smallRunSteps-3):
			if first++; a != b {
				t.Errorf("step 1: %v by the policy, %v by the reference", a, b)
			}
		case a != b:
			moved++
		}
	}
	if first != 20 || moved == 0 {
		t.Errorf("%d completions in the first step, %d scores that moved later", first, moved)
	}
	want := runFiles(t, dir)
	cut := copyRun(t, dir)
	dirs := checkpointDirs(t, cut)
	for _, c := range dirs[len(dirs)-2:] {
		if err := os.RemoveAll(c); err != nil {
			t.Fatal(err)
		}
	}
	trainIn(t, cut, true, set...)
	sameRun(t, runFiles(t, cut), want)
}
