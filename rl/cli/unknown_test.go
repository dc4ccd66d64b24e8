package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/bench"
)

// TestUnknown: a run, a name or a choice that is not there is answered alike by every
// command: what it is, and the nearest of those that are.
func TestUnknown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const noFolder = "rlzero: error: run nosuch: there is no such folder\n"
	const recipe = "rlzero: hint: sft-chat is a recipe: rlzero recipes show sft-chat\n"
	for _, c := range []struct {
		args string
		want string
	}{
		{"show nosuch", noFolder}, {"watch nosuch", noFolder}, {"report nosuch", noFolder}, {"receipt nosuch", noFolder},
		{"page nosuch", noFolder}, {"train --resume --run nosuch", noFolder}, {"export nosuch --format csv --out x", noFolder},
		{"show sft-chat", recipe}, {"watch sft-chat", recipe}, {"rows sft-chat", recipe}, {"doctor --draws sft-chat", recipe}, {"audit sft-chat", recipe},
		{"eval sft-chat", recipe}, {"sample sft-chat", recipe}, {"chat sft-chat", recipe}, {"fit sft-chat", recipe}, {"serve sft-chat", recipe}, {"inspect template --model sft-chat", recipe},
		{"watch chain_sum", "rlzero: hint: chain_sum is a task: rlzero tasks show chain_sum\n"},
		{"show grpo", "rlzero: hint: grpo is an algorithm: rlzero algorithms show grpo\n"},
		{"audit nosuch", "rlzero: error: nosuch: there is no such run or file\n"},
		{"train countdown-tiny --dry-run --run " + file, "run " + file + " is a file\nrlzero: hint: give the folder of the run\n"},
		{"export m --format hff --out x", "--format is \"hff\"; accepted: hf, peft, gguf, csv, tfevents\nrlzero: hint: did you mean hf?\n"},
		{"tasks draw countdown --split held-aut", "accepted: train, held-out\nrlzero: hint: did you mean held-out?\n"},
		{"bench decde", "unknown benchmark \"decde\"\nrlzero: hint: did you mean decode? rlzero bench --help lists them all\n"},
		{"algorithms show nsr", "there is no preset nsr: write w_reinforce with right_weight = 0\n"},
		{"algorithms show kl_k1", "kl_k1 is a named formula, which methods use: kl_k1 = beta*k1\nrlzero: hint: rlzero formulas show kl_k1\n"},
		{"formulas show kl_k4", "unknown name of formulas \"kl_k4\"\nrlzero: hint: did you mean kl_k1? rlzero formulas lists them all\n"},
		{"bench matmul --device ref --only 25M", "--only is \"25M\", which no case of bench matmul contains\nrlzero: hint: the cases are: 512x512x512 f32 NT; 1024x1024x1024 f32 NT\n"},
		{"train cuontdown-tiny", "unknown recipe \"cuontdown-tiny\"\nrlzero: hint: did you mean countdown-tiny? rlzero recipes lists them all\n"},
	} {
		if code, _, stderr := rlzero(t, strings.Fields(c.args)...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q", c.args, code, stderr)
		}
	}
}

// TestFewTurns: a ratio of a few turns says that it tells little.
func TestFewTurns(t *testing.T) {
	for turns, want := range map[int]string{2: "over 2 turns: too few to tell a difference", 5: "over 5 turns"} {
		if got := beside(bench.Result{Baseline: "exact", Ratio: 1, Turns: turns}); !strings.HasSuffix(got, want) {
			t.Errorf("%d turns: %q", turns, got)
		}
	}
}
