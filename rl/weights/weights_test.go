package weights

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/fixtures"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/store"
)

// tiny is a model whose embedding takes two blocks, and whose last block is not whole.
func tiny(t *testing.T, tied bool) hf.Config {
	t.Helper()
	c, err := hf.NewConfig("llama")
	if err != nil {
		t.Fatal(err)
	}
	c.Vocab, c.Width, c.Layers, c.Heads, c.MLP, c.TieEmbeddings = blockNumbers/8+5, 8, 1, 2, 12, tied
	if err := c.Complete(); err != nil {
		t.Fatal(err)
	}
	return c
}

// open writes a model of random numbers and opens it.
func open(t *testing.T, c hf.Config, name string, seed uint64) Model {
	t.Helper()
	small, err := hf.FolderFiles(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tensors []hf.NamedTensor
	for i, spec := range hf.Tensors(c) {
		n := 1
		for _, size := range spec.Shape {
			n *= size
		}
		tensors = append(tensors, hf.NamedTensor{Name: spec.Name, Shape: spec.Shape, Type: gguf.F32, Data: func() ([]float32, error) {
			dice, data := random.At(seed, uint64(i), 0), make([]float32, n)
			for j := range data {
				data[j] = float32(2*dice.Unit() - 1)
			}
			return data, nil
		}})
	}
	dir := filepath.Join(t.TempDir(), name)
	if err := store.WriteFolder(store.OS(), dir, hf.Contents(small, hf.WeightsFile, tensors)); err != nil {
		t.Fatal(err)
	}
	f, err := hf.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Tensors.Close() })
	return Model{name, f}
}

// blend computes all tensors of a formula.
func blend(t *testing.T, text string, models ...Model) map[string][]float32 {
	t.Helper()
	b, err := Compile(text, models)
	if err != nil {
		t.Fatal(err)
	}
	_, tensors, err := b.Files(gguf.F32, func(n, of int) {})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]float32{}
	for _, tensor := range tensors {
		if all[tensor.Name], err = tensor.Data(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func read(t *testing.T, m Model, tensor string) []float32 {
	t.Helper()
	data, err := m.Folder.Tensors.Read(tensor)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// plainTIES is the paper's algorithm 1 with lambda 1, by sorting.
func plainTIES(base []float32, share float64, models ...[]float32) []float32 {
	kept := make([][]float64, len(models))
	for i, m := range models {
		changes := make([]float64, len(base))
		for e := range base {
			changes[e] = float64(m[e]) - float64(base[e])
		}
		order := slices.Clone(changes)
		slices.SortFunc(order, func(a, b float64) int { return int(math.Copysign(1, math.Abs(b)-math.Abs(a))) })
		least := math.Abs(order[max(1, int(share*float64(len(base))))-1])
		for e, d := range changes {
			if math.Abs(d) < least {
				changes[e] = 0
			}
		}
		kept[i] = changes
	}
	out := make([]float32, len(base))
	for e := range base {
		var up, down float64
		var ups, downs int
		for _, c := range kept {
			if c[e] > 0 {
				up, ups = up+c[e], ups+1
			} else if c[e] < 0 {
				down, downs = down+c[e], downs+1
			}
		}
		merged := 0.0
		switch {
		case up >= -down && ups > 0:
			merged = up / float64(ups)
		case downs > 0:
			merged = down / float64(downs)
		}
		out[e] = float32(float64(base[e]) + merged)
	}
	return out
}

// TestPlain: every tensor of a tied and of an untied model has the values of the definitions.
func TestPlain(t *testing.T) {
	for _, tied := range []bool{true, false} {
		c := tiny(t, tied)
		base, a, b := open(t, c, "base", 1), open(t, c, "a", 2), open(t, c, "b", 3)
		models := []Model{base, a, b}
		linear := blend(t, "0.25*a + 0.75*b + 0*base", models...)
		task := blend(t, "base + 0.7*(a - b)", models...)
		ties := blend(t, "ties(base, 0.3, a, b)", models...)
		whole := blend(t, "ties(base, 1, a) + 0*b", models...)
		arc := blend(t, "slerp(a, b, 0.3)", a, b)
		if got, want := len(linear), len(hf.Tensors(c)); got != want {
			t.Fatalf("tied %v: %d tensors, want %d", tied, got, want)
		}
		for _, spec := range hf.Tensors(c) {
			x0, xa, xb := read(t, base, spec.Name), read(t, a, spec.Name), read(t, b, spec.Name)
			merged := plainTIES(x0, 0.3, xa, xb)
			var aa, bb, ab float64
			for e := len(xa) - 1; e >= 0; e-- { // another order
				aa, bb, ab = aa+float64(xa[e])*float64(xa[e]), bb+float64(xb[e])*float64(xb[e]), ab+float64(xa[e])*float64(xb[e])
			}
			theta := math.Acos(ab / math.Sqrt(aa*bb))
			for e := range x0 {
				p, q, r := float64(x0[e]), float64(xa[e]), float64(xb[e])
				same := func(what string, got float32, want float64) {
					if got != float32(want) {
						t.Fatalf("tied %v: %s: %s[%d] is %v, want %v", tied, what, spec.Name, e, got, float32(want))
					}
				}
				same("linear", linear[spec.Name][e], 0.25*q+0.75*r)
				same("task arithmetic", task[spec.Name][e], p+0.7*(q-r))
				same("ties", ties[spec.Name][e], float64(merged[e]))
				same("ties of one whole change", whole[spec.Name][e], p+(q-p))
				want := math.Sin(0.7*theta)/math.Sin(theta)*q + math.Sin(0.3*theta)/math.Sin(theta)*r
				// Sums of n products round n times, by at most 2^-53 of sums of absolute values, so the cosine
				// is off by 2n 2^-53, the angle by that over its sine, each factor by twice that over the
				// sine again; and then the result is rounded to float32.
				sine := math.Sin(theta)
				bound := 8*float64(len(x0)+8)*0x1p-53/(sine*sine)*(math.Abs(q)+math.Abs(r)) + 0x1p-24*math.Abs(want)
				if got := float64(arc[spec.Name][e]); !(math.Abs(got-want) <= bound) {
					t.Fatalf("tied %v: slerp: %s[%d] is %v, want %v within %g", tied, spec.Name, e, got, want, bound)
				}
			}
		}
	}
}

// TestArcEnds: an arc of no length is its model, its ends are the models, and there is none between
// opposite directions.
func TestArcEnds(t *testing.T) {
	c := tiny(t, true)
	a, b := open(t, c, "a", 2), open(t, c, "b", 3)
	again := Model{"again", a.Folder}
	for text, models := range map[string][]Model{"slerp(a, b, 0)": {a, b}, "slerp(b, a, 1)": {a, b}, "slerp(a, again, 0.5)": {a, again}} {
		for name, got := range blend(t, text, models...) {
			for e, want := range read(t, a, name) {
				if got[e] != want {
					t.Fatalf("%s: %s[%d] is %v, want %v", text, name, e, got[e], want)
				}
			}
		}
	}
	against := open(t, c, "against", 2)
	s := source{name: hf.EmbedName, rows: c.Vocab, cols: c.Width, sets: map[string]*hf.TensorSet{"a": a.Folder.Tensors, "b": against.Folder.Tensors}}
	if _, err := slerp(s, "a", "b", 0.5); err != nil {
		t.Error(err)
	}
	negative := blend(t, "-a", a)
	var buffer bytes.Buffer
	if err := hf.WriteSafetensors(&buffer, []hf.NamedTensor{{Name: s.name, Shape: []int{c.Vocab, c.Width}, Type: gguf.F32, Data: func() ([]float32, error) { return negative[s.name], nil }}}); err != nil {
		t.Fatal(err)
	}
	set, err := hf.ReadTensors("negative", bytes.NewReader(buffer.Bytes()), int64(buffer.Len()))
	if err != nil {
		t.Fatal(err)
	}
	s.sets["b"] = set
	if _, err := slerp(s, "a", "b", 0.5); err == nil || !strings.Contains(err.Error(), "opposite directions") {
		t.Errorf("between opposite directions: %v", err)
	}
}

// TestDARE: each number is that of base or has its whole change over 1 - p; how many are dropped is within
// what chance allows, and the same seed drops the same.
func TestDARE(t *testing.T) {
	c := tiny(t, true)
	base, a := open(t, c, "base", 1), open(t, c, "a", 2)
	first, again, other := blend(t, "dare(base, 0.75, 7, a)", base, a), blend(t, "dare(base, 0.75, 7, a)", a, base), blend(t, "dare(base, 0.75, 8, a)", base, a)
	dropped, n, differ := 0, 0, 0
	for name, got := range first {
		x0, xa := read(t, base, name), read(t, a, name)
		for e := range got {
			kept := float32(float64(x0[e]) + (float64(xa[e])-float64(x0[e]))/0.25)
			switch got[e] {
			case x0[e]:
				dropped++
			case kept:
			default:
				t.Fatalf("%s[%d] is %v, want %v or %v", name, e, got[e], x0[e], kept)
			}
			if again[name][e] != got[e] {
				t.Fatalf("%s[%d] is %v, and %v with the same seed", name, e, got[e], again[name][e])
			}
			if other[name][e] != got[e] {
				differ++
			}
			n++
		}
	}
	six := 6 * math.Sqrt(float64(n)*0.75*0.25) // six deviations of the binomial distribution
	if want := 0.75 * float64(n); math.Abs(float64(dropped)-want) > six {
		t.Errorf("%d of %d dropped, want %.0f within %.0f", dropped, n, want, six)
	}
	// Two independent masks differ at an element with chance 2 p (1 - p).
	if want, six := 0.375*float64(n), 6*math.Sqrt(float64(n)*0.375*0.625); math.Abs(float64(differ)-want) > six {
		t.Errorf("another seed changes %d of %d, want %.0f within %.0f", differ, n, want, six)
	}
}

// TestRandomLike: the change has the length of the model's in each tensor, and no direction in common with it
// or with that of another seed beyond what chance allows; a tensor that does not change stays.
func TestRandomLike(t *testing.T) {
	c := tiny(t, true)
	base, a := open(t, c, "base", 1), open(t, c, "a", 2)
	first, again, other := blend(t, "random_like(base, 7, a)", base, a), blend(t, "random_like(base, 7, a)", a, base), blend(t, "random_like(base, 8, a)", base, a)
	for name, got := range first {
		x0, xa := read(t, base, name), read(t, a, name)
		var changed, drawn, along, seeds, largest float64
		for e := range got {
			if again[name][e] != got[e] {
				t.Fatalf("%s[%d] is %v, and %v with the same seed", name, e, got[e], again[name][e])
			}
			d, g, o := float64(xa[e])-float64(x0[e]), float64(got[e])-float64(x0[e]), float64(other[name][e])-float64(x0[e])
			changed, drawn, along, seeds = changed+d*d, drawn+g*g, along+d*g, seeds+o*g
			largest = max(largest, math.Abs(float64(got[e])))
		}
		// Each number is rounded to float32 once, by at most 2^-24 of the largest.
		if d, bound := math.Abs(math.Sqrt(changed)-math.Sqrt(drawn)), math.Sqrt(float64(len(got)))*0x1p-24*largest+1e-12*math.Sqrt(changed); d > bound {
			t.Errorf("%s: the change is %v long, and that of the model %v", name, math.Sqrt(drawn), math.Sqrt(changed))
		}
		six := 6 / math.Sqrt(float64(len(got))) // six deviations of the cosine of independent directions
		for what, dot := range map[string]float64{"the model's change": along, "another seed's": seeds} {
			if cos := dot / changed; math.Abs(cos) > six {
				t.Errorf("%s: the cosine with %s is %v, want 0 within %v", name, what, cos, six)
			}
		}
	}
	for name, got := range blend(t, "random_like(base, 7, again)", base, Model{"again", base.Folder}) {
		for e, x := range read(t, base, name) {
			if got[e] != x {
				t.Fatalf("%s[%d] is %v, want %v", name, e, got[e], x)
			}
		}
	}
}

// TestRefused: what cannot be computed is named with what is accepted.
func TestRefused(t *testing.T) {
	c := tiny(t, true)
	a, b := open(t, c, "a", 2), open(t, c, "b", 3)
	wide, untied, warm := c, tiny(t, false), c
	wide.MLP, warm.RopeTheta = 16, 7
	chat, err := hf.ReadFolder(fixtures.ChatModel(t))
	if err != nil {
		t.Fatal(err)
	}
	defer chat.Tensors.Close()
	bare := *chat
	bare.Tokenizer = nil
	for _, r := range []struct {
		text   string
		models []Model
		want   string
	}{
		{"a + c", []Model{a, b}, "unknown name c"},
		{"a", []Model{a, b}, "does not read the model b"},
		{"a - mean(b)", []Model{a, b}, "mean is taken over several rows; accepted: arithmetic on each element, and slerp(a, b, t), ties(base, share, a, ...), dare(base, p, seed, a)"},
		{"a + b*position", []Model{a, b}, "position tells of completions, not of weights"},
		{"a > b", []Model{a, b}, "found a condition"},
		{"slerp(a, b, 2)", []Model{a, b}, "slerp(a, b, 2): found 2 for t, accepted: 0 to 1"},
		{"slerp(a, b, a)", []Model{a, b}, "takes a number, written out, as t"},
		{"ties(a, 0, b)", []Model{a, b}, "found 0 for share, accepted: above 0, to 1"},
		{"ties(a, 0.5)", []Model{a}, "ties has 2 arguments; accepted: ties(base, share, a, ...)"},
		{"dare(a, 1, 3, b)", []Model{a, b}, "found 1 for p, accepted: 0 to below 1"},
		{"dare(a, 0.5, 1.5, b)", []Model{a, b}, "found 1.5 for seed, accepted: a whole number from 0 to 2^53"},
		{"random_like(a, -1, b)", []Model{a, b}, "found -1 for seed, accepted: a whole number from 0 to 2^53"},
		{"mean + a", []Model{a, {"mean", b.Folder}}, "a model cannot be called mean, the name of a function"},
		{"a + b", []Model{a, open(t, wide, "b", 1)}, "config.json: intermediate_size: found 16 in model b, accepted: 12, as model a has"},
		{"a + b", []Model{a, open(t, untied, "b", 1)}, "config.json: tie_word_embeddings: found false in model b, accepted: true, as model a has"},
		{"a + b", []Model{a, open(t, warm, "b", 1)}, "config.json: rope_theta: found 7.0 in model b, accepted: 10000.0, as model a has"},
		{"a + b", []Model{{"a", chat}, {"b", &bare}}, "tokenizer.json of model b is missing"},
	} {
		if _, err := Compile(r.text, r.models); err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: %v, want %q", r.text, err, r.want)
		}
	}
	_, tensors, err := mustCompile(t, "a + 1e39*b", a, b).Files(gguf.F32, func(n, of int) {})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tensors[0].Data(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("tensor %s: found ", hf.EmbedName)) {
		t.Errorf("a number beyond float32: %v", err)
	}
}

func mustCompile(t *testing.T, text string, models ...Model) *Blend {
	t.Helper()
	b, err := Compile(text, models)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
