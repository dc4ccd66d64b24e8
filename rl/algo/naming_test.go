package algo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/formula"
)

// writer writes random formulas twice: in one piece, and with random pieces of them under names.
type writer struct {
	*rand.Rand
	parts map[string]string // the named pieces
}

// twice is a formula in one piece, and the same with names.
type twice struct{ whole, named string }

// patterns are operations by the level of their result. R, G, C and T stand for a value of the
// level or a coarser one, K for one of a token of the step, which has no value of an update.
var patterns = map[byte][]string{
	'T': {"logp", "old", "A", "reward", "T + T", "T*T", "tanh(T)", "if(T > 0, T, T)", "stop(T)", "update(T)", "after(0.1*T + 0*old)", "C", "G", "R"},
	'C': {"reward", "tokens", "mean(T + 0*old)", "sum(0.1*T + 0*old)", "highest(T + 0*old)", "quantile(stop(T) + 0*old, 0.5)", "group_zscore(C + 0*reward)", "group_rank(C + 0*reward)", "update_zscore(C + 0*reward)", "step_zscore(reward)", "update_rank(C + 0*reward)", "C - C", "G", "R"},
	'G': {"group_size", "group_mean(C + 0*reward)", "group_std(C + 0*reward)", "group_max(update(reward))", "group_count(right(reward))", "G*G", "R"},
	'R': {"0.5", "step_mean(reward)", "step_std(tokens)", "step_token_mean(K)", "step_token_quantile(K, 0.7)", "update_mean(C + 0*reward)", "update_std(C + 0*reward)", "update_token_mean(T)", "update_token_nth(stop(T), 2)", "update_token_count(T > 0)",
		"prompts_mean(G + 0*group_size)", "token_mean(T)", "seq_mean(T)", "prompt_mean(T)", "R + R", "tanh(R)"},
	'K': {"old", "reward", "A", "K*K", "mean(K + 0*old)", "group_mean(mean(K + 0*old))", "step_mean(reward)", "step_token_std(K)"},
}

// write makes a formula of a level.
func (w *writer) write(level byte, depth int) twice {
	var out twice
	form := patterns[level][w.IntN(len(patterns[level]))]
	if depth <= 0 {
		form = map[byte]string{'T': "logp", 'C': "reward", 'G': "group_size", 'R': "step_mean(reward)", 'K': "old"}[level]
	}
	for i := range len(form) {
		alone := (i == 0 || strings.IndexByte("( -+*,", form[i-1]) >= 0) && (i+1 == len(form) || strings.IndexByte(") -+*,", form[i+1]) >= 0)
		if alone && strings.IndexByte("RGCTK", form[i]) >= 0 {
			in := w.write(form[i], depth-1)
			out.whole += "(" + in.whole + ")"
			out.named += "(" + in.named + ")"
			continue
		}
		out.whole += form[i : i+1]
		out.named += form[i : i+1]
	}
	name := fmt.Sprintf("piece_%d", len(w.parts))
	switch w.IntN(4) {
	case 0:
		w.parts[name] = out.named
		out.named = name
	case 1:
		w.parts[name+"(x)"] = "x"
		out.named = name + "(" + out.named + ")"
	}
	return out
}

// keeps leave out groups, completions, and tokens.
var keeps = []string{"true", "group_std(reward) > 0", "reward > 0", "tokens > 2", "old > -1.2", "prompt_tokens > 2 and old > -1.5"}

// TestNamesChangeNothing: a formula has the same loss and the same derivatives, to the bit, whether
// it is written in one piece or random pieces of it have names.
func TestNamesChangeNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 1))
	learned, partly := 0, 0
	for range 300 {
		w := &writer{Rand: rng, parts: map[string]string{}}
		text := w.write('R', 5)
		keep := keeps[rng.IntN(len(keeps))]
		whole := map[string]string{"keep": keep, "advantage": "reward - group_mean(reward)", "loss": "token_mean(-A*logp) + (" + text.whole + ")"}
		named := maps.Clone(w.parts)
		maps.Copy(named, map[string]string{"keep": keep, "advantage": whole["advantage"], "loss": "token_mean(-A*logp) + (" + text.named + ")"})
		one, slopes, some := lossOf(t, whole)
		other, otherSlopes, _ := lossOf(t, named)
		same := func(a, b float64) bool { return a == b || a != a && b != b }
		if !same(one, other) || !maps.EqualFunc(slopes, otherSlopes, func(a, b formula.Column) bool { return slices.EqualFunc(a.V, b.V, same) }) {
			t.Fatalf("keep %s: in one piece %v, with names %v\n%s\n%v", keep, one, other, whole["loss"], named)
		}
		if len(w.parts) > 0 && len(slopes) > 0 {
			learned++
		}
		if some {
			partly++
		}
	}
	if learned < 150 || partly < 150 {
		t.Errorf("only %d formulas have names and a derivative, and %d an update without some of the step", learned, partly)
	}
}

// lossOf is the loss of a method over a random step, its derivatives, and whether the update is
// less than the step. A loss without a value has none.
func lossOf(t *testing.T, formulas map[string]string) (loss float64, slopes map[string]formula.Column, some bool) {
	t.Helper()
	table, facts := randomStep(t, []int{0, 1, 2, 3})
	a, err := Method{Formulas: formulas}.Compile(facts)
	if err != nil {
		t.Fatalf("%v\n%v", err, formulas)
	}
	u := whole(t, a, table)
	loss, slopes, err = u.Loss()
	if err != nil {
		t.Fatalf("%v\n%v", err, formulas)
	}
	return loss, slopes, u.Table.Size(formula.Completion) < table.Size(formula.Completion) || slices.Contains(u.step.KeepToken, false)
}
