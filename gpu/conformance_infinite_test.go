package gpu_test

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
)

// attentionKernel tells which rows of an attention kernel a token reaches.
type attentionKernel struct {
	kernel string
	token  []int // bindings of which other rows read a token's row
	out    []int // bindings that are written
	// reaches tells whether the kernel reads token's rows for what it writes at row.
	reaches func(c oracle.Case, row, token int) bool
}

var attentionKernels = []attentionKernel{
	{"attention", []int{1, 2}, []int{5, 6}, func(c oracle.Case, row, token int) bool {
		meta := c.Bind[4].([]uint32)
		return slices.Contains(c.Bind[3].([]uint32)[meta[2*row]:][:meta[2*row+1]], uint32(token))
	}},
	{"attention_backward_dq", []int{1, 2}, []int{7}, func(c oracle.Case, row, token int) bool {
		meta := c.Bind[6].([]uint32)
		return slices.Contains(c.Bind[5].([]uint32)[meta[2*row]:][:meta[2*row+1]], uint32(token))
	}},
	{"attention_backward_dkv", []int{0, 3, 4}, []int{6, 7}, func(c oracle.Case, row, token int) bool {
		return row <= token && token < int(c.Bind[5].([]uint32)[row])
	}},
}

// TestInfiniteTokensStayAmongTheirReaders: a token whose numbers are infinite or NaN
// leaves every row that does not see it as it is, to the bit. Lanes that share what
// they load have such tokens before them, with a weight of 0, and 0 times infinity
// would be NaN.
func TestInfiniteTokensStayAmongTheirReaders(t *testing.T) {
	for _, k := range attentionKernels {
		t.Run(k.kernel, func(t *testing.T) {
			gputest.Each(t, func(t *testing.T, dev gpu.Device) {
				for _, c := range slices.Concat(oracle.Cases(k.kernel), oracle.Cases(k.kernel+"_bf16")) {
					want := gputest.Run(t, dev, c)
					for _, token := range []int{5, 17, 34, 42, 46, 50} {
						for _, x := range []float32{float32(math.Inf(1)), float32(math.NaN())} {
							k.compareOthers(t, dev, c, token, x, want)
						}
					}
				}
			})
		})
	}
}

// compareOthers runs a case in which all numbers of a token are x, and compares the
// rows that it does not reach.
func (k attentionKernel) compareOthers(t *testing.T, dev gpu.Device, c oracle.Case, token int, x float32, want []any) {
	t.Helper()
	changed := c
	changed.Bind = slices.Clone(c.Bind)
	kv, hd := int(c.Params[2]), int(c.Params[3])
	tokens := tokensIn(c.Bind[1], kv*hd)
	for _, i := range k.token {
		changed.Bind[i] = filled(c.Bind[i], tokens, token, x)
	}
	got := gputest.Run(t, dev, changed)
	rows := int(c.Params[0])
	for _, i := range k.out {
		for row := range rows {
			if k.reaches(c, row, token) {
				continue
			}
			if oracle.Hash(rowOf(got[i], rows, row)) != oracle.Hash(rowOf(want[i], rows, row)) {
				t.Fatalf("%s: binding %d: row %d changes with token %d, which it does not see, at %v", c.Name, i, row, token, x)
			}
		}
	}
}

// tokensIn is how many rows of width elements a binding of f32 or bf16 has.
func tokensIn(x any, width int) int {
	if pairs, ok := x.([]uint32); ok {
		return 2 * len(pairs) / width
	}
	return len(x.([]float32)) / width
}

// filled is a copy of a binding of n rows in which one row is x everywhere.
func filled(binding any, n, row int, x float32) any {
	if all, ok := binding.([]uint32); ok { // pairs of bf16
		half := math.Float32bits(x) >> 16
		all = slices.Clone(all)
		width := len(all) / n
		copy(all[row*width:], slices.Repeat([]uint32{half<<16 | half}, width))
		return all
	}
	all := slices.Clone(binding.([]float32))
	width := len(all) / n
	copy(all[row*width:], slices.Repeat([]float32{x}, width))
	return all
}

// rowOf is one of n rows of equal length.
func rowOf(x any, n, row int) any {
	width := reflect.ValueOf(x).Len() / n
	return slice(x, row*width, (row+1)*width)
}
