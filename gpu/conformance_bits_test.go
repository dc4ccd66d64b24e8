package gpu_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/shaders"
)

// The tests of this file need no bound: within one device, the bits of a
// result must not depend on how the work was batched (rule R1: a variant may
// change who computes an output, never the order inside it).

// TestRepeatable runs every case twice.
func TestRepeatable(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: runs every case twice")
	}
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, k := range shaders.Kernels() {
			for _, c := range oracle.Cases(k.Name) {
				once, again := gputest.Run(t, dev, c), gputest.Run(t, dev, c)
				for i := range once {
					if oracle.Hash(once[i]) != oracle.Hash(again[i]) {
						t.Errorf("%s %s: %s differs between two runs", c.Kernel, c.Name, k.Bindings[i].Name)
					}
				}
			}
		}
	})
}

// rowwise tells how the bindings of a kernel split by rows: the number of
// elements in a row of each, 0 where all rows share a binding. A shared binding
// that is written goes from one part to the next, as gradients of weights do.
// Parameter 0 is the number of rows unless count says otherwise.
type rowwise struct {
	kernel string
	count  int
	widths func(p []int) []int // p: the parameters
}

var rowwiseKernels = []rowwise{
	{"embed", 0, func(p []int) []int { return []int{1, 0, p[1]} }},
	{"matmul_nt", 0, func(p []int) []int { return []int{p[3], 0, p[5]} }},
	{"matmul_nt_residual", 0, func(p []int) []int { return []int{p[3], 0, p[5], p[5]} }},
	{"matmul_nn", 0, func(p []int) []int { return []int{p[3], 0, p[5]} }},
	{"matmul_nn_acc", 0, func(p []int) []int { return []int{p[3], 0, p[5]} }},
	{"matmul_tn_acc", 2, func(p []int) []int { return []int{p[3], p[4], 0} }},
	{"matmul_free", 0, func(p []int) []int { return []int{p[3], 0, p[5]} }},
	{"matmul_free_residual", 0, func(p []int) []int { return []int{p[3], 0, p[5], p[5]} }},
	{"matmul_naive", 0, func(p []int) []int { return []int{p[3], 0, p[5]} }},
	{"rmsnorm", 0, func(p []int) []int { return []int{p[2], 0, p[2], 1} }},
	{"rmsnorm_residual", 0, func(p []int) []int { return []int{p[2], 0, p[2], p[2], 1} }},
	{"rmsnorm_backward_dx", 0, func(p []int) []int { return []int{p[2], p[2], 0, 1, p[2]} }},
	{"rmsnorm_backward_dw", 0, func(p []int) []int { return []int{p[1], p[1], 1, 0} }},
	{"qk_rope", 0, func(p []int) []int {
		h, kv, hd := p[1], p[2], p[3]
		return []int{(h + 2*kv) * hd, 0, 0, 2, h * hd, 0, 0, h + kv}
	}},
	{"qk_rope_backward", 0, func(p []int) []int {
		h, kv, hd := p[1], p[2], p[3]
		return []int{(h + 2*kv) * hd, 0, 0, 2, h * hd, kv * hd, kv * hd, (h + 2*kv) * hd}
	}},
	{"qk_norm_backward_dw", 0, func(p []int) []int { return []int{p[1] * p[2], p[3], p[5], 0} }},
	{"attention", 0, func(p []int) []int {
		h, hd := p[1], p[3]
		return []int{h * hd, 0, 0, 0, 2, h * hd, 2 * h}
	}},
	{"attention_delta", 0, func(p []int) []int { return []int{p[1] * p[2], p[1] * p[2], 2 * p[1]} }},
	{"attention_backward_dq", 0, func(p []int) []int {
		h, hd := p[1], p[3]
		return []int{h * hd, 0, 0, h * hd, 2 * h, 0, 2, h * hd}
	}},
	{"swiglu", 0, func(p []int) []int { return []int{2 * p[1], p[1]} }},
	{"swiglu_backward", 0, func(p []int) []int { return []int{2 * p[1], p[1], 2 * p[1]} }},
	{"geglu", 0, func(p []int) []int { return []int{2 * p[1], p[1]} }},
	{"geglu_backward", 0, func(p []int) []int { return []int{2 * p[1], p[1], 2 * p[1]} }},
	{"add_bias", 0, func(p []int) []int { return []int{p[1], 0} }},
	{"bias_backward", 0, func(p []int) []int { return []int{p[1], 0} }},
	{"add_columns", 0, func(p []int) []int { return []int{p[2], p[1]} }},
	{"take_columns", 0, func(p []int) []int { return []int{p[2], p[1]} }},
	{"gather_rows", 0, func(p []int) []int { return []int{0, 1, p[1]} }},
	{"scatter_rows", 0, func(p []int) []int { return []int{0, 1, p[1]} }},
	{"vocab_stats", 0, func(p []int) []int { return []int{p[2], 1, 1, 4} }},
	{"vocab_backward", 0, func(p []int) []int { return []int{p[2], 1, 1, 4, 4} }},
	{"sample_mask", 0, func(p []int) []int { return []int{p[2], (p[1] + 31) / 32, p[2]} }},
	{"sample_within", 0, func(p []int) []int { return []int{p[2], p[2], p[2]} }},
	{"sample_filter", 0, func(p []int) []int { return []int{p[2], 8, p[2]} }},
	{"sample_draw", 0, func(p []int) []int { return []int{p[2], 8, 1} }},
}

// TestRowsDoNotDependOnBatch cuts every case into single rows, halves and
// uneven parts, with -short into halves alone, and wants the bits of the whole.
func TestRowsDoNotDependOnBatch(t *testing.T) {
	for _, k := range rowwiseKernels {
		t.Run(k.kernel, func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				for _, c := range slices.Concat(oracle.Cases(k.kernel), oracle.Cases(k.kernel+"_bf16"), oracle.Cases(k.kernel+"_q8_0"), oracle.Cases(k.kernel+"_q4_0")) {
					rows := int(c.Params[k.count])
					want := gputest.Run(t, dev, c)
					parts := []int{(rows + 1) / 2, 1, 3, 8, 17}
					switch {
					case testing.Short():
						parts = parts[:1]
					case gputest.Again(dev):
						parts = []int{(rows + 1) / 2, 17}
					}
					for _, part := range parts {
						if part < rows {
							k.compareParts(t, dev, c, part, want)
						}
					}
				}
			})
		})
	}
}

// compareParts runs a case in parts of so many rows.
func (k rowwise) compareParts(t *testing.T, dev gpu.Device, c oracle.Case, part int, want []any) {
	t.Helper()
	p := make([]int, len(c.Params))
	for i, v := range c.Params {
		p[i] = int(v)
	}
	widths := k.widths(p)
	contract, _ := shaders.Lookup(c.Kernel)
	if len(widths) < len(contract.Bindings) { // the factors of b, which all rows share
		widths = slices.Insert(widths, 2, 0)
	}
	got := make([]any, len(c.Bind))
	shared := slices.Clone(c.Bind)
	rows := p[k.count]
	for lo := 0; lo < rows; lo += part {
		hi := min(lo+part, rows)
		sub := oracle.Case{Kernel: c.Kernel, Name: fmt.Sprintf("%s rows %d to %d", c.Name, lo, hi), Params: slices.Clone(c.Params)}
		sub.Params[k.count] = uint32(hi - lo)
		for i, w := range widths {
			if w == 0 {
				sub.Bind = append(sub.Bind, shared[i])
			} else {
				more := 0
				if strings.HasPrefix(contract.Bindings[i].Shape, "[T+1]") {
					more = 1
				}
				sub.Bind = append(sub.Bind, slice(c.Bind[i], lo*w, hi*w+more))
			}
		}
		for i, after := range gputest.Run(t, dev, sub) {
			if widths[i] == 0 {
				shared[i], got[i] = after, after
			} else {
				got[i] = join(got[i], after)
			}
		}
	}
	for i := range got {
		if contract.Bindings[i].Access != shaders.Read && oracle.Hash(got[i]) != oracle.Hash(want[i]) {
			t.Errorf("%s in parts of %d rows: %s differs from the whole", c.Name, part, contract.Bindings[i].Name)
		}
	}
}

// slice is x[lo:hi] of a []float32 or []uint32.
func slice(x any, lo, hi int) any { return reflect.ValueOf(x).Slice(lo, hi).Interface() }

// join appends device data; the first may be nil.
func join(a, b any) any {
	if a == nil {
		return b
	}
	return reflect.AppendSlice(reflect.ValueOf(a), reflect.ValueOf(b)).Interface()
}

// TestColumnsDoNotDependOnSlab: the logits of a vocabulary cut into slabs are
// those of the whole.
func TestColumnsDoNotDependOnSlab(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, c := range oracle.Cases("matmul_nt") {
			m, n, ldb, ldc := int(c.Params[0]), int(c.Params[1]), int(c.Params[4]), int(c.Params[5])
			want := gputest.Run(t, dev, c)[2].([]float32)
			for lo := 0; lo < n; lo += 24 {
				hi := min(lo+24, n)
				sub := c
				sub.Params = slices.Clone(c.Params)
				sub.Params[1] = uint32(hi - lo)
				sub.Bind = slices.Clone(c.Bind)
				sub.Bind[1] = slice(c.Bind[1], lo*ldb, hi*ldb)
				got := gputest.Run(t, dev, sub)[2].([]float32)
				for i := range m {
					if oracle.Hash(got[i*ldc:][:hi-lo]) != oracle.Hash(want[i*ldc+lo:][:hi-lo]) {
						t.Fatalf("%s: columns %d to %d of row %d differ", c.Name, lo, hi, i)
					}
				}
			}
		}
	})
}

// TestSumsDoNotDependOnPanels: a product whose operands are cut along the sum, and
// whose chain goes on from part to part, is that of the whole.
func TestSumsDoNotDependOnPanels(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, suffix := range []string{"", "_bf16"} {
			for _, c := range oracle.Cases("matmul_nn" + suffix) {
				k := int(c.Params[2])
				want := gputest.Run(t, dev, c)[2]
				part := c
				part.Bind = slices.Clone(c.Bind)
				for lo := 0; lo < k; lo += 24 {
					hi := min(lo+24, k)
					part.Params = slices.Clone(c.Params)
					part.Params[2] = uint32(hi - lo)
					part.Bind[0] = slice(c.Bind[0], lo, reflect.ValueOf(c.Bind[0]).Len())
					words := reflect.ValueOf(c.Bind[1]).Len() / k // in a row
					part.Bind[1] = slice(c.Bind[1], lo*words, hi*words)
					part.Bind[2] = gputest.Run(t, dev, part)[2]
					part.Kernel = "matmul_nn_acc" + suffix
				}
				if oracle.Hash(part.Bind[2]) != oracle.Hash(want) {
					t.Errorf("%s: cut into parts of 24 products the sums differ", c.Name)
				}
			}
		}
	})
}

// TestSumsDoNotDependOnCuts: gradients of weights are one chain over rows wherever they are
// cut, also between the rows that a shader takes at once.
func TestSumsDoNotDependOnCuts(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, c := range oracle.Cases("matmul_tn_acc") {
			k := int(c.Params[2])
			want := gputest.Run(t, dev, c)[2]
			for _, rows := range []int{3, 11} {
				part := c
				part.Bind = slices.Clone(c.Bind)
				for lo := 0; lo < k; lo += rows {
					hi := min(lo+rows, k)
					part.Params = slices.Clone(c.Params)
					part.Params[2] = uint32(hi - lo)
					for i := range 2 {
						words := reflect.ValueOf(c.Bind[i]).Len() / k // in a row
						part.Bind[i] = slice(c.Bind[i], lo*words, hi*words)
					}
					part.Bind[2] = gputest.Run(t, dev, part)[2]
				}
				if oracle.Hash(part.Bind[2]) != oracle.Hash(want) {
					t.Errorf("%s: cut into parts of %d rows the sums differ", c.Name, rows)
				}
			}
		}
	})
}

// TestSumsReachTheirLimit: a sum that is as long as a shader's limit lets it be is whole: the
// last rows are those that a device would leave out that ends loops after so many turns.
func TestSumsReachTheirLimit(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, v := range shaders.Variants("matmul_tn_acc", string(dev.Caps().Tier)) {
			for _, l := range v.Limits {
				ones := slices.Repeat([]float32{1}, 8*l.Max)
				for k := l.Max - 7; k <= l.Max; k++ { // whatever is left of the rows that are taken at once
					c := oracle.Case{Kernel: "matmul_tn_acc", Name: fmt.Sprintf("K=%d", k), Params: []uint32{8, 8, uint32(k), 8, 8, 8},
						Bind: []any{ones[:8*k], ones[:8*k], make([]float32, 64)}}
					if sums := gputest.Run(t, dev, c)[2].([]float32); slices.Min(sums) != float32(k) || slices.Max(sums) != float32(k) {
						t.Errorf("%s: sums of %d ones are %v to %v", v.ID, k, slices.Min(sums), slices.Max(sums))
					}
				}
			}
		}
	})
}

// TestSameChain: the naive product is defined by the same chain as the tiled
// one.
func TestSameChain(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, c := range oracle.Cases("matmul_nt") {
			tiled := gputest.Run(t, dev, c)
			c.Kernel = "matmul_naive"
			naive := gputest.Run(t, dev, c)
			if oracle.Hash(tiled[2]) != oracle.Hash(naive[2]) {
				t.Errorf("%s: matmul_nt and matmul_naive differ", c.Name)
			}
		}
	})
}

// TestAnotherChain: the products that the benchmark compares with have another
// order of sums, or it would measure nothing.
func TestAnotherChain(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		differ := false
		for _, c := range oracle.Cases("matmul_nt") {
			chain := gputest.Run(t, dev, c)
			c.Kernel = "matmul_free"
			free := gputest.Run(t, dev, c)
			differ = differ || oracle.Hash(chain[2]) != oracle.Hash(free[2])
		}
		if !differ {
			t.Error("matmul_nt and matmul_free give equal bits")
		}
	})
}

// TestSlotsDoNotMatter: where the keys lie in the store is invisible.
func TestSlotsDoNotMatter(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, c := range oracle.Cases("attention") {
			want := gputest.Run(t, dev, c)
			kv, hd := int(c.Params[2]), int(c.Params[3])
			moved := c
			moved.Bind = slices.Clone(c.Bind)
			// Every slot s becomes last-s.
			last := uint32(len(c.Bind[1].([]float32))/(kv*hd) - 1)
			index := slices.Clone(c.Bind[3].([]uint32))
			for i := range index {
				index[i] = last - index[i]
			}
			moved.Bind[1], moved.Bind[2], moved.Bind[3] = reversed(c.Bind[1].([]float32), kv*hd), reversed(c.Bind[2].([]float32), kv*hd), index
			got := gputest.Run(t, dev, moved)
			if oracle.Hash(got[5]) != oracle.Hash(want[5]) || oracle.Hash(got[6]) != oracle.Hash(want[6]) {
				t.Errorf("%s: moving the keys changed the result", c.Name)
			}
		}
	})
}

// reversed has the rows of x in reverse.
func reversed(x []float32, width int) []float32 {
	var out []float32
	for row := range slices.Backward(slices.Collect(slices.Chunk(x, width))) {
		out = append(out, x[row*width:][:width]...)
	}
	return out
}

// TestPackingDoesNotMatter: the gradient of a sequence's keys and values is
// the same alone and in a batch.
func TestPackingDoesNotMatter(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, c := range oracle.Cases("attention_backward_dkv") {
			want := gputest.Run(t, dev, c)
			h, kv, hd := int(c.Params[1]), int(c.Params[2]), int(c.Params[3])
			widths := []int{h * hd, kv * hd, kv * hd, h * hd, 2 * h, 1, kv * hd, kv * hd}
			ends := c.Bind[5].([]uint32)
			for first := 0; first < len(ends); first = int(ends[first]) {
				end := int(ends[first])
				alone := oracle.Case{Kernel: c.Kernel, Name: c.Name, Params: slices.Clone(c.Params)}
				alone.Params[0] = uint32(end - first)
				for i, w := range widths {
					alone.Bind = append(alone.Bind, slice(c.Bind[i], first*w, end*w))
				}
				own := slices.Clone(ends[first:end])
				for i := range own {
					own[i] -= uint32(first)
				}
				alone.Bind[5] = own
				got := gputest.Run(t, dev, alone)
				for i := 6; i < 8; i++ {
					if oracle.Hash(got[i]) != oracle.Hash(slice(want[i], first*widths[i], end*widths[i])) {
						t.Errorf("%s: rows %d to %d differ when they are alone", c.Name, first, end)
					}
				}
			}
		}
	})
}

// TestFlatArraysMayBeCut: the optimizer and the sums of squares treat a slab as
// they treat the whole.
func TestFlatArraysMayBeCut(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for _, c := range oracle.Cases("adamw") {
			cut := rowwise{"adamw", 0, func([]int) []int { return []int{1, 1, 1, 1, 0} }}
			want := gputest.Run(t, dev, c)
			if n := int(c.Params[0]); n > 8 {
				cut.compareParts(t, dev, c, 8*(n/16), want)
			}
		}
		const segment = 4096
		for _, c := range oracle.Cases("grad_sumsq") {
			want := gputest.Run(t, dev, c)[1]
			n, part0 := int(c.Params[0]), int(c.Params[1])
			part := c.Bind[1]
			for s := 0; s*segment < n; s++ {
				lo, hi := s*segment, min((s+1)*segment, n)
				sub := oracle.Case{Kernel: c.Kernel, Name: c.Name, Params: []uint32{uint32(hi - lo), uint32(part0 + s)}, Bind: []any{slice(c.Bind[0], lo, hi), part}}
				part = gputest.Run(t, dev, sub)[1]
			}
			if oracle.Hash(part) != oracle.Hash(want) {
				t.Errorf("%s: segments one by one differ from the whole", c.Name)
			}
		}
	})
}
