package decoder_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/decoder"
	"github.com/rlzero/rlzero/model/internal/modeltest"
	"github.com/rlzero/rlzero/model/internal/tensors"
)

// TestLayoutHasFiles: a layout places the tensors that the files have, in their order and with
// their shapes, and an adapter those of PEFT's files.
func TestLayoutHasFiles(t *testing.T) {
	for _, q := range modeltest.QuirkModels() {
		l := decoder.NewLayout(q.Config, math.MaxInt)
		if got, want := specsOf(l.Set), fmt.Sprint(hf.Tensors(q.Config)); got != want {
			t.Errorf("%s: the layout has %s, the files %s", q.Name, got, want)
		}
		if n := l.Count(); n != q.Config.Parameters() {
			t.Errorf("%s: the layout has %d parameters, the config %d", q.Name, n, q.Config.Parameters())
		}
		if q.Adapter == nil {
			continue
		}
		a, err := decoder.NewAdapter(*q.Adapter, q.Config, l)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := specsOf(a.Set), fmt.Sprint(a.Files); got != want {
			t.Errorf("%s: the adapter has %s, its files %s", q.Name, got, want)
		}
	}
}

func specsOf(l tensors.Set) string {
	var specs []hf.TensorSpec
	for _, p := range l.Pieces {
		specs = append(specs, hf.TensorSpec{Name: p.Name, Shape: p.Shape})
	}
	return fmt.Sprint(specs)
}

// TestFits: matrices in few bits share chunks within a binding, and one that is larger than a
// binding is refused with its size in each storage.
func TestFits(t *testing.T) {
	qwen := func(width, layers, heads, kv, mlp, vocab int, dtype hf.Dtype) hf.Config {
		return hf.Config{Family: "qwen2", Vocab: vocab, Width: width, Layers: layers, Heads: heads, KVHeads: kv, HeadDim: width / heads, MLP: mlp, Dtype: dtype}
	}
	const binding = 128 << 20
	for _, c := range []hf.Config{qwen(896, 24, 14, 2, 4864, 151936, hf.Q8), qwen(2048, 36, 16, 2, 11008, 151936, hf.Q8), qwen(3584, 28, 28, 4, 18944, 152064, hf.Q4)} {
		for i, chunk := range decoder.NewLayout(c, binding).Chunks {
			bytes := chunk.Size
			if chunk.Storage.Blocked() {
				bytes = chunk.Packed()
			}
			if bytes > binding {
				t.Errorf("width %d: chunk %d has %d bytes, more than a binding", c.Width, i, bytes)
			}
		}
	}
	for _, c := range []struct {
		dtype  hf.Dtype
		frozen bool
		want   string
	}{{hf.F32, true, "172 MiB in f32"}, {hf.BF16, false, "172 MiB in f32"}, {hf.BF16, true, "86 MiB in bf16"}, {hf.Q8, true, "48 MiB in q8_0"}, {hf.Q4, true, "26 MiB in q4_0"}} {
		config := qwen(2044, 1, 16, 2, 11007, 64, c.dtype) // which are padded to 2048 and 11008
		config.HeadDim = 128
		err := decoder.NewLayout(config, 16<<20).Fits(c.frozen)
		if err == nil || !strings.Contains(err.Error(), "one matrix of 22014 x 2044 numbers, "+c.want) {
			t.Errorf("gate and up in bindings of 16 MiB: %v, want %s", err, c.want)
		}
	}
}
