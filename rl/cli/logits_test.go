package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestLogits: a sum of logits draws and is measured: of one model it is that model, to the bit, halves of one
// are a whole, and another sum is neither. What cannot be added is told with what is accepted.
func TestLogits(t *testing.T) {
	one, two := newTiny(t, 1), newTiny(t, 2)
	rows := filepath.Join(t.TempDir(), "rows.jsonl")
	if err := os.WriteFile(rows, []byte(`{"question":"1+1=","answer":"2"}`+"\n"+`{"question":"2+3=","answer":"5"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	drawn := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := rlzero(t, append([]string{"sample", "--prompt", "1+1=", "--n", "3", "--max-tokens", "6", "--json", "--device", "ref"}, args...)...)
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout
	}
	measured := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := rlzero(t, append([]string{"eval", "--data", rows, "--verifier", "number", "--n", "8", "--k", "1", "--max-tokens", "40", "--json", "--device", "ref"}, args...)...)
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout
	}
	both := []string{"--with", "b=" + two, one}
	sum := func(formula string, args []string) []string { return append([]string{"--logits", formula}, args...) }
	alone := [2]string{drawn(one), drawn(two)}
	if alone[0] == alone[1] {
		t.Fatal("the two models say the same")
	}
	if got := drawn(sum("b", both)...); got != alone[1] {
		t.Errorf("b draws\n%swant\n%s", got, alone[1])
	}
	if got := drawn(sum("(policy + a)/2", []string{"--with", "a=" + one, one})...); got != alone[0] {
		t.Errorf("two halves draw\n%swant\n%s", got, alone[0])
	}
	if got := drawn(sum("policy + b", both)...); got == alone[0] || got == alone[1] {
		t.Errorf("the sum draws what one says: %s", got)
	}
	if got, want := measured(sum("b", both)...), measured(two); got != strings.Replace(want, `,"n":`, `,"logits":"b","n":`, 1) || strings.Contains(want, "logits") || measured(one) == want {
		t.Errorf("measured %s, want %s with the formula", got, want)
	}
	run := newTiny(t, 3) // beside whose weights stands the recipe of a run
	r, err := recipe.Load("unir", nil)
	if err == nil {
		err = os.WriteFile(filepath.Join(run, recipe.File), []byte(r.Resolved()), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"sample --prompt 1 --max-tokens 1 --device ref " + run,
		"export --format hf --out " + filepath.Join(t.TempDir(), "out") + " " + run,
		"eval --data " + rows + " --verifier number --n 1 --device ref --against " + run + " " + one,
		"weights a a=" + run + " --out " + filepath.Join(t.TempDir(), "out"),
	} {
		if code, _, stderr := rlzero(t, strings.Fields(args)...); code != 0 || strings.Count(stderr, `the policy alone. It learned by the sum guided, logits = "frozen + policy"`) != 1 {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
	chat := fixtures.ChatModel(t)
	for _, c := range []struct{ args, want, hint string }{
		{"--with b=" + two, "--with names a model of --logits, which is not given", "--logits 'policy + 0.5*b'"},
		{"--logits policy+b", "logits:", "--with NAME=MODEL names another model"},
		{"--logits 3*policy", "--logits names no model but MODEL", "--temperature"},
		{"--logits policy*b --with b=" + two, "accepted: a sum of models with factors", ""},
		{"--logits policy --with b=" + two, "would do nothing: --logits does not name b", ""},
		{"--logits policy --with policy=" + two, "policy is MODEL; accepted: another name", ""},
		{"--logits policy+b --with b=" + chat, "--with b: it has logits of ", ""},
		{"--logits policy+b --with b=nowhere", "--with b: ", ""},
	} {
		code, _, stderr := rlzero(t, append([]string{"sample", "--prompt", "1", "--device", "ref", one}, strings.Fields(c.args)...)...)
		if code == 0 || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, c.hint) {
			t.Errorf("%s: %d %s\nwant %s and %s", c.args, code, stderr, c.want, c.hint)
		}
	}
}
