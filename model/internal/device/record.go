package device

import (
	"fmt"
	"iter"

	"github.com/rlzero/rlzero/gpu"
)

// panel is how many products of each sum one dispatch of the backward pass adds up
// on a CPU: what a tile reads of 512 rows of an operand stays in the second-level
// cache, where longer columns are read from memory by every tile anew
// (shaders/matmul.wgsl has the figures). The next dispatch continues the chains, so
// no bit depends on it. A multiple of 64: views start at multiples of 256 bytes.
const panel = 512

// Recorder collects dispatches.
type Recorder struct {
	Ops   []gpu.Op
	panel int // products that a dispatch adds up, see panel; 0: all
}

// Op records a dispatch of a kernel over x times y of its extent.
func (r *Recorder) Op(kernel string, x, y int, bind []gpu.View, params ...uint32) {
	r.Ops = append(r.Ops, gpu.Op{Kernel: kernel, Bind: bind, Params: params, Size: [3]int{x, y, 1}})
}

// Matmul records a product of a kind that is never cut, c[M][N] = a[M][K] b[N][K]^T
// and the like; strides are the widths.
func (r *Recorder) Matmul(kernel string, m, n, k, lda, ldb, ldc int, bind ...gpu.View) {
	r.Op(kernel, n, m, bind, uint32(m), uint32(n), uint32(k), uint32(lda), uint32(ldb), uint32(ldc))
}

// MatmulTN records c[M][N] += a[K][M]^T b[K][N]: the sums go on from what c holds.
func (r *Recorder) MatmulTN(m, n, k, lda, ldb, ldc int, a, b, c gpu.View) {
	for k0, count := range r.Panels(k) {
		r.Matmul("matmul_tn_acc", m, n, count, lda, ldb, ldc, At(a, k0*lda), At(b, k0*ldb), c)
	}
}

// Panels cuts a sum of k products: where each panel starts, and its length.
func (r *Recorder) Panels(k int) iter.Seq2[int, int] {
	size := r.panel
	if size == 0 {
		size = k
	}
	return func(yield func(int, int) bool) {
		for k0 := 0; k0 < k; k0 += size {
			if !yield(k0, min(size, k-k0)) {
				return
			}
		}
	}
}

// Programs keeps recorded programs by key; the oldest go first.
type Programs struct {
	dev   gpu.Device
	Panel int // see recorder
	max   int
	Keys  []string
	made  map[string]gpu.Program
}

// NewPrograms keeps at most so many programs.
func NewPrograms(dev gpu.Device, max int) *Programs {
	p := &Programs{dev: dev, max: max, made: map[string]gpu.Program{}}
	if dev.Caps().Tier == gpu.TierLanes {
		p.Panel = panel
	}
	return p
}

// Run submits the program of a key, recording it first if it is new.
func (p *Programs) Run(key string, record func(r *Recorder)) error {
	prog, ok := p.made[key]
	if !ok {
		r := Recorder{panel: p.Panel}
		record(&r)
		var err error
		if prog, err = p.dev.Record(key, r.Ops); err != nil {
			return err
		}
		if len(p.Keys) == p.max {
			if err := p.dev.Wait(); err != nil {
				return err
			}
			p.made[p.Keys[0]].Free()
			delete(p.made, p.Keys[0])
			p.Keys = p.Keys[1:]
		}
		p.Keys = append(p.Keys, key)
		p.made[key] = prog
	}
	if err := p.dev.Submit(prog); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// Free frees the programs.
func (p *Programs) Free() {
	for _, prog := range p.made {
		prog.Free()
	}
	p.made, p.Keys = map[string]gpu.Program{}, nil
}
