//go:build js || (cgo && (darwin || webgpu))

package webgpu

import (
	"testing"

	"github.com/rlzero/rlzero/gpu"
)

// tiny are n ops, each of which waits for the one before.
func tiny(b *testing.B, d *Device, n int) []gpu.Op {
	var bind [2]gpu.View
	for i := range bind {
		buffer, err := d.NewBuffer("test", 4096)
		if err != nil {
			b.Fatal(err)
		}
		bind[i].Buffer = buffer
	}
	ops := make([]gpu.Op, n)
	for i := range ops {
		ops[i] = gpu.Op{Kernel: "add", Bind: []gpu.View{bind[i%2], bind[(i+1)%2]}, Params: []uint32{1024}, Size: [3]int{1024}}
	}
	return ops
}

// benchmark measures what do costs with a program of 80 tiny ops, and of one op.
func benchmark(b *testing.B, do func(b *testing.B, d *Device, ops []gpu.Op)) {
	d, err := Open(0)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	b.Run("80", func(b *testing.B) { do(b, d, tiny(b, d, 80)) })
	b.Run("1", func(b *testing.B) { do(b, d, tiny(b, d, 1)) })
}

// BenchmarkRecord measures what a new shape costs.
func BenchmarkRecord(b *testing.B) {
	benchmark(b, func(b *testing.B, d *Device, ops []gpu.Op) {
		for b.Loop() {
			p, err := d.Record("test", ops)
			if err != nil {
				b.Fatal(err)
			}
			p.Free()
		}
	})
}

// BenchmarkSubmit measures the cost of running tiny ops one after another, and of the
// wait after them.
func BenchmarkSubmit(b *testing.B) {
	benchmark(b, func(b *testing.B, d *Device, ops []gpu.Op) {
		p, err := d.Record("test", ops)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := d.Submit(p); err != nil {
				b.Fatal(err)
			}
			if err := d.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRead measures a read of 4 bytes, as at the end of each round of a decode.
func BenchmarkRead(b *testing.B) {
	d, err := Open(0)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	from, got := tiny(b, d, 1)[0].Bind[0].Buffer, make([]byte, 4)
	for b.Loop() {
		if err := from.Read(0, got); err != nil {
			b.Fatal(err)
		}
	}
}
