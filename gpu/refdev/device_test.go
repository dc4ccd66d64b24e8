package refdev

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// TestEveryKernelIsDefined: the table and the definitions are the same list.
func TestEveryKernelIsDefined(t *testing.T) {
	for _, k := range shaders.Kernels() {
		if kernels[k.Name] == nil {
			t.Errorf("kernel %s has no definition", k.Name)
		}
	}
	for name := range kernels {
		if _, ok := shaders.Lookup(name); !ok {
			t.Errorf("%s is not in shaders/kernels.go", name)
		}
	}
}

// TestViewTooSmall: what a GPU would read past the end of is an error here,
// from any goroutine.
func TestViewTooSmall(t *testing.T) {
	d := New()
	const rows, width = 512, 512
	view := func(n int) gpu.View {
		b, err := d.NewBuffer("test", 4*n)
		if err != nil {
			t.Fatal(err)
		}
		return gpu.View{Buffer: b}
	}
	p, err := d.Record("short", []gpu.Op{{
		Kernel: "swiglu",
		Bind:   []gpu.View{view(2 * rows * width), view(rows*width - 1)},
		Params: []uint32{rows, width},
		Size:   [3]int{width, rows},
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = d.Submit(p)
	if err == nil || !strings.Contains(err.Error(), `program "short": op 0 (swiglu): a view is smaller`) {
		t.Errorf("error %v", err)
	}
}

// TestGoroutinesDoNotMatter: results are the same however many goroutines
// share the work.
func TestGoroutinesDoNotMatter(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const m, n, k = 37, 301, 70
	a, b := make([]float32, m*n*4), make([]float32, m*n*4)
	for i := range a {
		a[i], b[i] = float32(i%97)-48.3, float32(i%89)-44.7
	}
	for name, kernel := range map[string]func(*call[float32]){
		"nt": matmulNT[float32], "nn": matmulNN[float32], "tn": matmulTNAcc[float32],
	} {
		var first []float32
		for _, workers := range []int{1, 2, 5, 16} {
			runtime.GOMAXPROCS(workers)
			c := &call[float32]{f: [][]float32{a, b, make([]float32, m*n)}, p: []uint32{m, n, k, k, n, n}}
			if name == "nt" {
				c.p[4] = k
			}
			if name == "tn" {
				c.p[3] = m
			}
			kernel(c)
			if first == nil {
				first = c.f[2]
			} else if !slices.Equal(first, c.f[2]) {
				t.Errorf("%s: %d goroutines give other bits", name, workers)
			}
		}
	}
}
