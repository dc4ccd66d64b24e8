package gpu_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/gpu/refdev"
	"github.com/rlzero/rlzero/shaders"
)

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// floats makes a buffer that holds x.
func floats(t *testing.T, dev gpu.Device, x ...float32) gpu.Buffer {
	t.Helper()
	b, err := dev.NewBuffer("test", 4*len(x))
	must(t, err)
	t.Cleanup(b.Free)
	must(t, b.Write(0, oracle.Bytes(x)))
	return b
}

// contents reads a whole buffer.
func contents(t *testing.T, b gpu.Buffer) []float32 {
	t.Helper()
	raw := make([]byte, b.Size())
	must(t, b.Read(0, raw))
	return oracle.FromBytes[float32](raw)
}

// repeat is n times x.
func repeat(x float32, n int) []float32 { return slices.Repeat([]float32{x}, n) }

// wantAll fails unless every element is x.
func wantAll(t *testing.T, got []float32, x float32) {
	t.Helper()
	for i, v := range got {
		if v != x {
			t.Fatalf("element %d is %v, want %v", i, v, x)
		}
	}
}

// add and fill are ops on whole buffers or views of n elements.
func add(dst, src gpu.View, n int) gpu.Op {
	return gpu.Op{Kernel: "add", Bind: []gpu.View{dst, src}, Params: []uint32{uint32(n)}, Size: [3]int{n}}
}

func fill(dst gpu.View, x float32, n int) gpu.Op {
	return gpu.Op{Kernel: "fill", Bind: []gpu.View{dst}, Params: []uint32{uint32(n), math.Float32bits(x)}, Size: [3]int{n}}
}

func whole(b gpu.Buffer) gpu.View { return gpu.View{Buffer: b} }

func record(t *testing.T, dev gpu.Device, ops ...gpu.Op) gpu.Program {
	t.Helper()
	p, err := dev.Record("test", ops)
	must(t, err)
	t.Cleanup(p.Free)
	return p
}

func TestCaps(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		c := dev.Caps()
		if c.ID == "" || c.Name == "" || c.Driver == "" || c.Kind == "" || c.Tier == "" {
			t.Errorf("caps have empty fields: %+v", c)
		}
		// WebGPU's default limit, to which layouts are cut.
		if c.MaxBinding < 128<<20 || c.MaxAllocation < c.MaxBinding || c.Memory <= 0 || c.Subgroup <= 0 {
			t.Errorf("caps have limits below what the layouts assume: %+v", c)
		}
		if c != dev.Caps() {
			t.Error("caps changed")
		}
	})
}

func TestBufferStartsWithZeros(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		for range 3 { // memory that was used before comes back
			b, err := dev.NewBuffer("zeros", 4*5000-1)
			must(t, err)
			if b.Size() != 4*5000 {
				t.Fatalf("size %d, want it rounded up to %d", b.Size(), 4*5000)
			}
			wantAll(t, contents(t, b), 0)
			must(t, b.Write(0, oracle.Bytes(repeat(3, 5000))))
			b.Free()
		}
	})
}

func TestBufferCopies(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		b := floats(t, dev, 0, 1, 2, 3, 4, 5)
		must(t, b.Write(8, oracle.Bytes([]float32{20, 30})))
		if got := contents(t, b); !slices.Equal(got, []float32{0, 1, 20, 30, 4, 5}) {
			t.Errorf("after a write at 8: %v", got)
		}
		part := make([]byte, 12)
		must(t, b.Read(12, part))
		if got := oracle.FromBytes[float32](part); !slices.Equal(got, []float32{30, 4, 5}) {
			t.Errorf("read at 12: %v", got)
		}
		must(t, b.Write(24, nil))
		for name, err := range map[string]error{
			"write past the end":  b.Write(20, make([]byte, 8)),
			"read past the end":   b.Read(20, make([]byte, 8)),
			"write at -4":         b.Write(-4, make([]byte, 4)),
			"write at 2":          b.Write(2, make([]byte, 4)),
			"read of three bytes": b.Read(0, make([]byte, 3)),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	})
}

// TestBufferLarge copies more than any staging buffer holds at once.
func TestBufferLarge(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		x := make([]float32, 5<<20)
		for i := range x {
			x[i] = float32(i)
		}
		b := floats(t, dev, x...)
		if !slices.Equal(contents(t, b), x) {
			t.Error("the data came back changed")
		}
	})
}

func TestOutOfMemory(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		_, err := dev.NewBuffer("embedding table", 1<<50)
		if !errors.Is(err, gpu.ErrOutOfMemory) || !strings.Contains(err.Error(), "embedding table") {
			t.Errorf("a buffer of a pebibyte: %v, want ErrOutOfMemory with the buffer's label", err)
		}
	})
}

// TestPrepare compiles everything, as a training run does first.
func TestPrepare(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		var names []string
		for _, k := range shaders.Kernels() {
			names = append(names, k.Name)
		}
		must(t, dev.Prepare(names))
		if err := dev.Prepare([]string{"add", "no_such_kernel"}); err == nil || !strings.Contains(err.Error(), "no_such_kernel") {
			t.Errorf("an unknown kernel: %v", err)
		}
	})
}

// TestOrder runs every kind of hazard in one program: read after write, write
// after read, write after write.
func TestOrder(t *testing.T) {
	const n = 4096
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		a, b := floats(t, dev, repeat(0, n)...), floats(t, dev, repeat(1, n)...)
		p := record(t, dev,
			fill(whole(a), 9, n),
			fill(whole(a), 2, n),
			add(whole(b), whole(a), n), // 3
			fill(whole(a), 10, n),
			add(whole(b), whole(a), n), // 13
			add(whole(a), whole(b), n), // 23
			add(whole(b), whole(a), n), // 36
		)
		must(t, dev.Submit(p))
		must(t, dev.Wait())
		wantAll(t, contents(t, a), 23)
		wantAll(t, contents(t, b), 36)
	})
}

func TestResubmit(t *testing.T) {
	const n = 1000
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		a, b, four := floats(t, dev, repeat(0, n)...), floats(t, dev, repeat(1, n)...), floats(t, dev, repeat(4, n)...)
		addB := record(t, dev, add(whole(a), whole(b), n))
		addFour := record(t, dev, add(whole(b), whole(four), n))
		for range 5 { // queued without waiting
			must(t, dev.Submit(addB))
		}
		must(t, dev.Submit(addFour))
		must(t, dev.Submit(addB)) // a = 5*1 + (1+4)
		wantAll(t, contents(t, a), 10)
		must(t, b.Write(0, oracle.Bytes(repeat(100, n))))
		must(t, dev.Submit(addB))
		must(t, b.Write(0, oracle.Bytes(repeat(-1, n)))) // must not overtake
		wantAll(t, contents(t, a), 110)
		must(t, dev.Wait())
		must(t, dev.Wait())
	})
}

// TestGoroutines: what goroutines do on one device at once is what each does alone.
// With -race it finds a call that does not take the device's lock.
func TestGoroutines(t *testing.T) {
	const n, rounds = 1000, 20
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		worker := func(own float32) error {
			sum, err := dev.NewBuffer("sum", 4*n)
			if err != nil {
				return err
			}
			defer sum.Free()
			for round := range rounds {
				term, err := dev.NewBuffer("term", 4*n)
				if err != nil {
					return err
				}
				p, err := dev.Record("goroutine", []gpu.Op{add(whole(sum), whole(term), n)})
				if err == nil {
					err = errors.Join(term.Write(0, oracle.Bytes(repeat(own, n))), dev.Submit(p))
					p.Free()
				}
				term.Free()
				got := make([]byte, 4*n)
				if err = errors.Join(err, sum.Read(0, got)); err != nil {
					return err
				}
				if want := oracle.Bytes(repeat(own*float32(round+1), n)); !bytes.Equal(got, want) {
					return fmt.Errorf("goroutine %v, round %d: another sum", own, round)
				}
			}
			return nil
		}
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { errs[i] = worker(float32(i + 1)) })
		}
		all.Wait()
		must(t, errors.Join(errs...))
	})
}

func TestViews(t *testing.T) {
	const n = 64 // elements in 256 bytes
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		a := floats(t, dev, repeat(1, 4*n)...)
		part := func(i int) gpu.View { return gpu.View{Buffer: a, Offset: 4 * n * i, Size: 4 * n} }
		must(t, dev.Submit(record(t, dev,
			fill(part(1), 5, n),
			add(part(2), part(1), n),
			fill(gpu.View{Buffer: a, Offset: 4 * n * 3}, 7, n), // to the end
		)))
		got := contents(t, a)
		for i, want := range []float32{1, 5, 6, 7} {
			wantAll(t, got[n*i:n*(i+1)], want)
		}
	})
}

// TestRecordCopies: a recorded program does not change with the caller's
// slices.
func TestRecordCopies(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		a, b := floats(t, dev, repeat(0, 8)...), floats(t, dev, repeat(0, 8)...)
		op := fill(whole(a), 3, 8)
		p := record(t, dev, op)
		op.Params[1], op.Bind[0] = math.Float32bits(4), whole(b)
		must(t, dev.Submit(p))
		wantAll(t, contents(t, a), 3)
		wantAll(t, contents(t, b), 0)
	})
}

func TestTimestamps(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		a, b := floats(t, dev, repeat(0, 8)...), floats(t, dev, repeat(1, 8)...)
		p := record(t, dev, add(whole(a), whole(b), 8), fill(whole(b), 2, 8), add(whole(a), whole(b), 8))
		must(t, dev.Submit(p))
		times, err := dev.Timestamps(p)
		must(t, err)
		if len(times) != 3 {
			t.Errorf("%d times for 3 ops", len(times))
		}
		for i, d := range times {
			if d < 0 {
				t.Errorf("op %d took %v", i, d)
			}
		}
		wantAll(t, contents(t, a), 1+2+2+2) // ran once more, with b = 2
	})
}

func TestRecordRefuses(t *testing.T) {
	const n = 128
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		a, b := floats(t, dev, repeat(0, n)...), floats(t, dev, repeat(0, n)...)
		freed, err := dev.NewBuffer("freed", 4*n)
		must(t, err)
		freed.Free()
		foreign := floats(t, refdev.New(), repeat(0, n)...)
		change := func(f func(*gpu.Op)) gpu.Op {
			op := add(whole(a), whole(b), n)
			f(&op)
			return op
		}
		for want, op := range map[string]gpu.Op{
			"no_such_kernel":       change(func(o *gpu.Op) { o.Kernel = "no_such_kernel" }),
			"1 bindings":           change(func(o *gpu.Op) { o.Bind = o.Bind[:1] }),
			"2 parameters":         change(func(o *gpu.Op) { o.Params = []uint32{n, n} }),
			"size is [8 1 1]":      change(func(o *gpu.Op) { o.Size = [3]int{8} }),
			"no buffer":            change(func(o *gpu.Op) { o.Bind[1].Buffer = nil }),
			"offset 128":           change(func(o *gpu.Op) { o.Bind[1].Offset = 128 }),
			"offset -256":          change(func(o *gpu.Op) { o.Bind[1].Offset = -256 }),
			"size 6":               change(func(o *gpu.Op) { o.Bind[1].Size = 6 }),
			"bytes 256 to 768":     change(func(o *gpu.Op) { o.Bind[1].Offset, o.Bind[1].Size = 256, 512 }),
			"bytes 512 to 512":     change(func(o *gpu.Op) { o.Bind[1].Offset = 512 }),
			"freed":                change(func(o *gpu.Op) { o.Bind[1].Buffer = freed }),
			"another device":       change(func(o *gpu.Op) { o.Bind[1].Buffer = foreign }),
			"dst and src overlap":  change(func(o *gpu.Op) { o.Bind[1] = o.Bind[0] }),
			"op 0 (add): binding ": change(func(o *gpu.Op) { o.Bind[0].Offset = 1 }),
		} {
			if _, err := dev.Record("test", []gpu.Op{op}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %q, want %q in it", err, want)
			}
		}
	})
}

func TestSubmitRefuses(t *testing.T) {
	gputest.Each(t, func(t *testing.T, dev gpu.Device) {
		other := refdev.New()
		foreign := record(t, other, fill(whole(floats(t, other, repeat(0, 8)...)), 1, 8))
		if dev.Submit(foreign) == nil {
			t.Error("a program of another device was accepted")
		}
		b, err := dev.NewBuffer("freed", 32)
		must(t, err)
		p := record(t, dev, fill(whole(b), 1, 8))
		b.Free()
		if dev.Submit(p) == nil {
			t.Error("a program whose buffer is gone was accepted")
		}
		q, err := dev.Record("test", []gpu.Op{fill(whole(floats(t, dev, repeat(0, 8)...)), 1, 8)})
		must(t, err)
		must(t, dev.Submit(q))
		q.Free()
		if dev.Submit(q) == nil {
			t.Error("a freed program was accepted")
		}
		must(t, dev.Wait())
	})
}

// TestClose opens each device once more, because the shared ones stay open.
func TestClose(t *testing.T) {
	gputest.Each(t, func(t *testing.T, shared gpu.Device) {
		dev, err := gpu.Open(shared.Caps().ID)
		must(t, err)
		b, err := dev.NewBuffer("left to Close", 32)
		must(t, err)
		p, err := dev.Record("left to Close", []gpu.Op{fill(whole(b), 1, 8)})
		must(t, err)
		must(t, dev.Submit(p))
		must(t, dev.Close())
		if dev.Submit(p) == nil {
			t.Error("a closed device accepts programs")
		}
	})
}
