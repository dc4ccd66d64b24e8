package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/recipe"
)

// TestModelUses: each use is a recipe of the preset in which the stage asks what the use says, and the first asks
// nobody.
func TestModelUses(t *testing.T) {
	for _, preset := range []string{"countdown-tiny", "chain-sum-tiny"} {
		p, err := recipe.Load(preset, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, u := range modelUses() {
			r, err := u.recipe(p, "rl", nil)
			if err != nil {
				t.Errorf("%s, %s: %v", preset, u.name, err)
				continue
			}
			st := &r.Stages[slices.IndexFunc(r.Stages, func(st recipe.Stage) bool { return st.Name == "rl" })]
			reads := slices.ContainsFunc(st.Facts(), func(fact string) bool { return fact == "influence(reward)" })
			if asks := st.Asks("other"); (asks || reads) != (i > 0) || st.PromptsPerStep != p.Stages[len(p.Stages)-1].PromptsPerStep || st.Skip || (u.judge != "") != (len(r.Judges()) == 1) {
				t.Errorf("%s, %s: it asks another model: %t", preset, u.name, asks)
			}
		}
	}
}

// TestInTurnsWith: a ratio is the median of those of the turns, and not that of the medians.
func TestInTurnsWith(t *testing.T) {
	var r Result
	r.inTurnsWith("without", []float64{1, 4, 9}, []float64{1, 2, 3})
	if r.Ratio != 2 || r.RatioLow > 2 || r.RatioHigh < 2 || r.Turns != 3 || r.BaselineValue != 2 || r.Baseline != "without" {
		t.Errorf("%+v", r)
	}
}

// TestModels: each use is measured in turns with a step without it, and so are questions of a judge, alone too where
// nothing else is asked for.
func TestModels(t *testing.T) {
	var got []Result
	b := Bench{Device: device(t), Emit: func(r Result) { got = append(got, r) }}
	err := Models(t.Context(), b, "countdown-tiny", "", "model.layers=1", "model.width=32", "model.heads=1", "model.mlp=32", "stage.rl.prompts_per_step=2", "stage.rl.group_size=2")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(modelUses()) {
		t.Errorf("%d results: %+v", len(got), got)
	}
	for _, r := range got {
		turns := modelTurns
		if strings.HasSuffix(r.Case, "a teacher that leaves") && r.Skipped == "what leaves comes back from a folder: give one with --from" {
			continue
		}
		if together := strings.HasSuffix(r.Case, "questions together"); together {
			if turns /= 2; r.Detail != "4 questions about ones and twos, as random weights write no text" {
				t.Errorf("%+v", r)
			}
		}
		if !strings.HasPrefix(r.Case, "countdown-tiny, 2 x 2, ") || r.Skipped != "" || r.Turns < turns || !(r.Value > 0) || r.RatioLow > r.Ratio || r.Ratio > r.RatioHigh {
			t.Errorf("%+v", r)
		}
	}
	got, b.Only = nil, "questions together"
	if err := Models(t.Context(), b, "countdown-tiny", "", "model.layers=1", "model.width=32", "model.heads=1", "model.mlp=32", "stage.rl.prompts_per_step=2", "stage.rl.group_size=2"); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.HasSuffix(got[0].Case, "questions together") || got[0].Skipped != "" {
		t.Errorf("alone: %+v", got)
	}
}

// TestLeaving: a teacher of a folder that leaves the device is measured beside one that stays.
func TestLeaving(t *testing.T) {
	var got []Result
	b := Bench{Device: device(t), Only: "that leaves", Emit: func(r Result) { got = append(got, r) }}
	if err := Models(t.Context(), b, "countdown-tiny", startFolder(t), "stage.rl.prompts_per_step=2", "stage.rl.group_size=2"); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Skipped != "" || got[0].Turns < modelTurns || got[0].Baseline != "where it stays" || !strings.HasPrefix(got[0].Detail, "it comes back in ") {
		t.Errorf("%+v", got)
	}
}

// TestModelsDtype: a step is measured in the storage that is asked for, and says so; one that cannot be trained is skipped.
func TestModelsDtype(t *testing.T) {
	for dtype, skipped := range map[hf.Dtype]bool{hf.BF16: false, "q8_0": true} {
		var got []Result
		b := Bench{Device: device(t), Dtype: dtype, Only: "influences", Emit: func(r Result) { got = append(got, r) }}
		err := Models(t.Context(), b, "countdown-tiny", "", "model.layers=1", "model.width=32", "model.heads=1", "model.mlp=32", "stage.rl.prompts_per_step=2", "stage.rl.group_size=2")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || !strings.HasPrefix(got[0].Case, "countdown-tiny, "+string(dtype)+", 2 x 2, ") || (got[0].Skipped != "") != skipped {
			t.Errorf("%s: %+v", dtype, got)
		}
		_, set, _, err := b.loaded("countdown-tiny", "")
		if err != nil || slices.Contains(set, "model.dtype="+string(dtype)) == skipped {
			t.Errorf("%s: the step is of %q, %v", dtype, set, err)
		}
	}
}
