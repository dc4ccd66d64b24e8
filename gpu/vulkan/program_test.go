//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/vk"
)

// product is c = a b^T of 8 by 8 matrices with the kernel that every tier has
// and whose result on small whole numbers is exact.
func product(a, b, c gpu.View) gpu.Op {
	return gpu.Op{
		Kernel: "matmul_naive",
		Bind:   []gpu.View{a, b, c},
		Params: []uint32{8, 8, 8, 8, 8, 8},
		Size:   [3]int{8, 8},
	}
}

const matrixBytes = 8 * 8 * 4

// diagonal is an 8 by 8 matrix with value on its diagonal.
func diagonal(value float32) []byte {
	var list [64]uint32
	for i := range 8 {
		list[9*i] = math.Float32bits(value)
	}
	return words(list[:]...)
}

func write(t testing.TB, b gpu.Buffer, offset int, data []byte) {
	t.Helper()
	if err := b.Write(offset, data); err != nil {
		t.Fatal(err)
	}
}

func record(t testing.TB, d *Device, ops ...gpu.Op) gpu.Program {
	t.Helper()
	p, err := d.Record("test", ops)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestChain runs products that each need the one before, in one buffer and
// across submissions: 2^(n+1) on the diagonal after n of them.
func TestChain(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *Device{"unified": openTest, "staged": openStaged} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			if err := d.Prepare([]string{"matmul_naive"}); err != nil {
				t.Fatal(err)
			}
			const steps = 20
			arena := newBuffer(t, d, "arena", (steps+1)*matrixBytes)
			two := newBuffer(t, d, "two", matrixBytes)
			write(t, two, 0, diagonal(2))
			write(t, arena, 0, diagonal(2))
			var ops []gpu.Op
			at := func(i int) gpu.View { return gpu.View{Buffer: arena, Offset: i * matrixBytes, Size: matrixBytes} }
			for i := range steps {
				ops = append(ops, product(at(i), gpu.View{Buffer: two}, at(i+1)))
			}
			p := record(t, d, ops...)
			back := record(t, d, product(at(steps), gpu.View{Buffer: two}, at(0)))
			for range 2 {
				for _, p := range []gpu.Program{p, back} {
					if err := d.Submit(p); err != nil {
						t.Fatal(err)
					}
				}
			}
			got := make([]byte, matrixBytes)
			if err := arena.Read(0, got); err != nil {
				t.Fatal(err)
			}
			if want := diagonal(1 << (1 + 2*(steps+1))); !bytes.Equal(got, want) {
				t.Errorf("after two rounds: %v, want %v", got, want)
			}
			if err := d.Wait(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestMissingBarrier leaves out the barrier of a chain, in a program and between two
// submissions. It is no test by itself: where the
// validation layer is there, .ci/drivers holds that the layer sees it.
func TestMissingBarrier(t *testing.T) {
	if os.Getenv("RLZERO_TEST_MISSING_BARRIER") == "" {
		t.Skip("only for .ci/drivers, which sets RLZERO_TEST_MISSING_BARRIER")
	}
	d := openTest(t)
	a, b, c := newBuffer(t, d, "a", matrixBytes), newBuffer(t, d, "b", matrixBytes), newBuffer(t, d, "c", matrixBytes)
	p := record(t, d, product(gpu.View{Buffer: a}, gpu.View{Buffer: a}, gpu.View{Buffer: b}), product(gpu.View{Buffer: b}, gpu.View{Buffer: a}, gpu.View{Buffer: c})).(*program)
	if !p.dispatches[1].barrier {
		t.Fatal("the second product reads what the first writes, and waits for nothing")
	}
	p.dispatches[1].barrier = false
	t.Run("program", func(t *testing.T) {
		commands, err := d.recordCommands("without barriers", p.write)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.submit(p, commands); err != nil {
			t.Fatal(err)
		}
	})
	// Between two submissions, which recordCommands puts barriers around.
	t.Run("submissions", func(t *testing.T) {
		for i := range p.dispatches {
			commands, r := d.vk.AllocateCommandBuffer(d.commands)
			if r == vk.Success {
				r = d.vk.Begin(commands)
			}
			p.writeDispatch(commands, i)
			if r == vk.Success {
				r = d.vk.End(commands)
			}
			if r != vk.Success {
				t.Fatal(r)
			}
			if err := d.submit(p, commands); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestTimestamps(t *testing.T) {
	d := openTest(t)
	a, b, c := newBuffer(t, d, "a", matrixBytes), newBuffer(t, d, "b", matrixBytes), newBuffer(t, d, "c", matrixBytes)
	write(t, a, 0, diagonal(3))
	write(t, b, 0, diagonal(5))
	op := product(gpu.View{Buffer: a}, gpu.View{Buffer: b}, gpu.View{Buffer: c})
	times, err := d.Timestamps(record(t, d, op, op, op))
	if d.traits.timestamps == 0 {
		if !errors.Is(err, gpu.ErrUnsupported) {
			t.Fatalf("no timestamps on this device, yet %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(times)
	if len(times) != 3 {
		t.Errorf("%d times for 3 ops", len(times))
	}
	for i, d := range times {
		if d < 0 {
			t.Errorf("op %d took %v", i, d)
		}
	}
	got := make([]byte, matrixBytes)
	if err := c.Read(0, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, diagonal(15)) {
		t.Errorf("the timed run computed %v", got)
	}
}

func TestRecordMisuse(t *testing.T) {
	d, other := openTest(t), openTest(t)
	mine := func(label string) gpu.View { return gpu.View{Buffer: newBuffer(t, d, label, 3*matrixBytes)} }
	a, b, c := mine("a"), mine("b"), mine("c")
	freed := mine("freed")
	freed.Buffer.Free()
	foreign := gpu.View{Buffer: newBuffer(t, other, "foreign", matrixBytes)}
	shift := func(v gpu.View, offset, size int) gpu.View { v.Offset, v.Size = offset, size; return v }
	change := func(f func(*gpu.Op)) gpu.Op { op := product(a, b, c); f(&op); return op }
	tests := []struct {
		name string
		op   gpu.Op
		want string
	}{
		{"unknown kernel", change(func(o *gpu.Op) { o.Kernel = "matmull" }), `"matmull"`},
		{"too few bindings", change(func(o *gpu.Op) { o.Bind = o.Bind[:2] }), "2 bindings"},
		{"too few parameters", change(func(o *gpu.Op) { o.Params = o.Params[:5] }), "5 parameters"},
		{"no buffer", product(a, gpu.View{}, c), "no buffer"},
		{"foreign buffer", product(a, foreign, c), "another device"},
		{"freed buffer", product(a, freed, c), "freed"},
		{"unaligned offset", product(a, shift(b, 128, 0), c), "256"},
		{"unaligned size", product(a, shift(b, 256, 255), c), "multiple of 4"},
		{"after the end", product(a, shift(b, 512, 512), c), "outside"},
		{"offset at the end", product(a, shift(b, 3*matrixBytes, 0), c), "outside"},
		{"negative offset", product(a, shift(b, -256, 0), c), "-256"},
		{"written and read", product(a, shift(c, 256, 256), shift(c, 0, 512)), "overlap"},
		{"wrong size", change(func(o *gpu.Op) { o.Size = [3]int{8, 9} }), "size"},
	}
	// Where a buffer may be as large as a binding only, no view can be too large.
	if size := d.Caps().MaxBinding + 256; size <= d.Caps().MaxAllocation {
		wide := gpu.View{Buffer: newBuffer(t, d, "wide", size)}
		tests = append(tests, tests[0])
		tests[len(tests)-1].name, tests[len(tests)-1].op, tests[len(tests)-1].want = "above MaxBinding", product(a, wide, c), "slabs"
	}
	for _, test := range tests {
		_, err := d.Record("forward", []gpu.Op{product(a, b, c), test.op})
		if err == nil {
			t.Errorf("%s: recorded", test.name)
			continue
		}
		for _, part := range []string{"forward", "op 1", test.want} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", test.name, err, part)
			}
		}
	}
	if err := d.Prepare([]string{"matmull"}); err == nil {
		t.Error("an unknown kernel was prepared")
	}
}

func TestSubmitMisuse(t *testing.T) {
	d, other := openTest(t), openTest(t)
	a, b, c := newBuffer(t, d, "a", matrixBytes), newBuffer(t, d, "b", matrixBytes), newBuffer(t, d, "c", matrixBytes)
	op := product(gpu.View{Buffer: a}, gpu.View{Buffer: b}, gpu.View{Buffer: c})
	p, gone := record(t, d, op), record(t, d, op)
	gone.Free()
	gone.Free()
	if err := d.Submit(gone); err == nil {
		t.Error("a freed program was submitted")
	}
	if err := other.Submit(p); err == nil {
		t.Error("another device's program was submitted")
	}
	if err := d.Submit(p); err != nil {
		t.Error(err)
	}
	b.Free() // while it may be in use: must wait
	if err := d.Submit(p); err == nil || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("a program whose buffer is gone: %v", err)
	}
	if err := d.Submit(record(t, d)); err != nil {
		t.Errorf("a program without ops: %v", err)
	}
}

// BenchmarkRecord measures what a new shape costs: 80 ops, each with a barrier.
func BenchmarkRecord(b *testing.B) {
	d := openTest(b)
	x, y, z := newBuffer(b, d, "x", matrixBytes), newBuffer(b, d, "y", matrixBytes), newBuffer(b, d, "z", matrixBytes)
	ops := make([]gpu.Op, 80)
	for i := range ops {
		ops[i] = product(gpu.View{Buffer: x}, gpu.View{Buffer: y}, gpu.View{Buffer: z})
		x, z = z, x
	}
	for b.Loop() {
		record(b, d, ops...).Free()
	}
}

// BenchmarkSubmit measures the cost of running 80 tiny ops one after another.
func BenchmarkSubmit(b *testing.B) {
	d := openTest(b)
	x, y, z := newBuffer(b, d, "x", matrixBytes), newBuffer(b, d, "y", matrixBytes), newBuffer(b, d, "z", matrixBytes)
	ops := make([]gpu.Op, 80)
	for i := range ops {
		ops[i] = product(gpu.View{Buffer: x}, gpu.View{Buffer: y}, gpu.View{Buffer: z})
		x, z = z, x
	}
	p := record(b, d, ops...)
	for b.Loop() {
		if err := d.Submit(p); err != nil {
			b.Fatal(err)
		}
		if err := d.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}
