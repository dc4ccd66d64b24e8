package train

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/verify"
)

// TestBlocksSort: a fresh pass is over the whole list, then over the problems of the next block; it sorts those alone,
// and those without a score come last. What fills no step is left out, and then the list begins anew. A pass that fails
// changes nothing.
func TestBlocksSort(t *testing.T) {
	l := plannerOf(t, "stage.rl.prompts_per_step=2", `stage.rl.curriculum={pool = 9, block = 2, order = "-probed"}`)
	place := map[string]int{}
	for i, one := range l.listed {
		place[one.Row.ID] = i
	}
	nan := math.NaN()
	scores := [][9]float64{
		{.9, .8, .7, .6, .5, .4, .3, .2, .1}, // the list stays as it is
		{0, 0, 0, 0, .1, nan, .3, .2, 0},     // of the second block, the last but one wins
		{.1, .2, .3, .4, .5, .6, .7, .8, .9}, // the list turns round
	}
	passes := 0
	var asked []int
	probe := func(_ context.Context, _ Position, st *recipe.Stage, problems []verify.Problem) (out []float64, tokens int, err error) {
		for _, p := range problems {
			out = append(out, scores[passes][place[p.ID]])
		}
		asked = append(asked, len(problems))
		passes++
		return out, 10 * len(problems), nil
	}
	for step, want := range [][2]int{{0, 1}, {2, 3}, {6, 7}, {4, 5}, {8, 7}, {6, 5}} {
		at := Position{Step: step}
		if l.blocks.Step != step+1 && step%4%2 == 0 {
			before := *l
			if err := l.pass(t.Context(), at, func(context.Context, Position, *recipe.Stage, []verify.Problem) ([]float64, int, error) {
				return nil, 0, errors.New("no")
			}); err == nil || !reflect.DeepEqual(before.blocks, l.blocks) || !reflect.DeepEqual(before.probed, l.probed) {
				t.Errorf("step %d: a failed pass: %v", step, err)
			}
		}
		for range 2 { // an interrupt may come after a pass, which is then not repeated
			if err := l.pass(t.Context(), at, probe); err != nil {
				t.Fatal(err)
			}
		}
		p, err := l.plan(at, 0, 0)
		if err != nil || place[p.Problems[0].ID] != want[0] || place[p.Problems[1].ID] != want[1] {
			t.Errorf("step %d: %v, problems %d and %d, want %v", step, err, place[p.Problems[0].ID], place[p.Problems[1].ID], want)
		}
		if _, there := p.Metrics["curriculum/moved"]; there != (step%2 == 0) || (p.Probed > 0) != there {
			t.Errorf("step %d: %d tokens, %v", step, p.Probed, p.Metrics)
		}
	}
	if !reflect.DeepEqual(asked, []int{9, 4, 9}) {
		t.Errorf("passes over %v problems", asked)
	}
	dir := t.TempDir()
	files, err := l.Save()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := files[blocksFile](&text); err != nil {
		t.Fatal(err)
	}
	write := func(data []byte) {
		file := filepath.Join(dir, filepath.FromSlash(blocksFile))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(text.Bytes())
	again := plannerOf(t, "stage.rl.prompts_per_step=2", `stage.rl.curriculum={pool = 9, block = 2, order = "-probed"}`)
	if err := again.Load(dir); err != nil || !reflect.DeepEqual(again.blocks, l.blocks) || !reflect.DeepEqual(again.probed, l.probed) {
		t.Errorf("read back as %+v, %v", again.blocks, err)
	}
	for _, bad := range []string{`[0,1,2]`, `[0,1,2,3,4,5,6,7,7]`, `[0,1,2,3,4,5,6,7,8,9]`} {
		write([]byte(`{"step":1,"order":` + bad + `}`))
		if err := again.Load(dir); err == nil {
			t.Errorf("order %s is accepted", bad)
		}
	}
}
