//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
)

// openTest opens the best Vulkan device. Where RLZERO_WANT_DEVICE promises one,
// its absence is a failure.
func openTest(t testing.TB) *Device {
	t.Helper()
	infos, err := List()
	want := os.Getenv("RLZERO_WANT_DEVICE")
	for i, info := range infos {
		if !info.Usable || want == "lavapipe" && info.Kind != gpu.CPU {
			continue
		}
		d, err := Open(i)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	if want != "" || os.Getenv("CI") != "" {
		t.Fatalf("no Vulkan device (RLZERO_WANT_DEVICE=%s): %v, %+v", want, err, infos)
	}
	t.Skipf("no Vulkan device: %v, %+v", err, infos)
	return nil
}

// openStaged is openTest on memory that is treated as out of the host's reach.
func openStaged(t testing.TB) *Device {
	d := openTest(t)
	d.traits.caps.Unified = false
	return d
}

func newBuffer(t testing.TB, d *Device, label string, size int) gpu.Buffer {
	t.Helper()
	b, err := d.NewBuffer(label, size)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// words are little-endian 32-bit words as bytes.
func words(list ...uint32) []byte {
	var data []byte
	for _, w := range list {
		data = binary.LittleEndian.AppendUint32(data, w)
	}
	return data
}

func TestCaps(t *testing.T) {
	d := openTest(t)
	c := d.Caps()
	t.Logf("%+v", c)
	if c.Name == "" || c.Driver == "" || c.Tier == "" || c.Kind == "" || !strings.HasPrefix(c.ID, "vulkan:") {
		t.Errorf("something is not named: %+v", c)
	}
	// What Vulkan guarantees: maxStorageBufferRange 2^27, maxMemoryAllocationSize 2^30
	// (specification, tables "Required Limits").
	if c.MaxBinding < 1<<27 || c.MaxAllocation < 1<<30 || c.Memory <= 0 || c.Subgroup < 1 {
		t.Errorf("below what Vulkan guarantees: %+v", c)
	}
}

func TestOpenOutOfRange(t *testing.T) {
	openTest(t) // there is a driver
	for _, index := range []int{-1, 1000} {
		if _, err := Open(index); !errors.Is(err, gpu.ErrNoDevice) {
			t.Errorf("Open(%d): %v, want ErrNoDevice", index, err)
		}
	}
}

func TestBufferCopies(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *Device{"unified": openTest, "staged": openStaged} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			// More than one staging buffer, and not a multiple of it.
			const size = stagingSize + 4096 + 4
			b := newBuffer(t, d, "data", size-1)
			if b.Size() != size {
				t.Fatalf("size %d, want %d rounded up to 4", b.Size(), size)
			}
			got := make([]byte, size)
			got[0] = 1
			if err := b.Read(0, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, make([]byte, size)) {
				t.Fatal("a new buffer is not all zeros")
			}
			want := make([]byte, size)
			random := rand.New(rand.NewPCG(1, 2))
			for i := range want {
				want[i] = byte(random.Uint32())
			}
			if err := b.Write(0, want); err != nil {
				t.Fatal(err)
			}
			patch := []byte("eight by")
			if err := b.Write(stagingSize-4, patch); err != nil {
				t.Fatal(err)
			}
			copy(want[stagingSize-4:], patch)
			if err := b.Read(0, got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Fatal("the bytes read are not those written")
			}
			part := make([]byte, 12)
			if err := b.Read(stagingSize-8, part); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(part, want[stagingSize-8:stagingSize+4]) {
				t.Fatal("the bytes read from the middle are not those written")
			}
		})
	}
}

func TestBufferMisuse(t *testing.T) {
	d := openTest(t)
	b := newBuffer(t, d, "weights", 64)
	for _, c := range []struct {
		name   string
		err    error
		accept string
	}{
		{"unaligned offset", b.Write(2, make([]byte, 4)), "multiples of 4"},
		{"unaligned length", b.Read(0, make([]byte, 3)), "multiples of 4"},
		{"after the end", b.Write(60, make([]byte, 8)), `"weights"`},
		{"before the start", b.Read(-4, make([]byte, 4)), `"weights"`},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.accept) {
			t.Errorf("%s: %v, want an error with %s", c.name, c.err, c.accept)
		}
	}
	if _, err := d.NewBuffer("empty", 0); err == nil {
		t.Error("a buffer of size 0 was made")
	}
	if _, err := d.NewBuffer("huge", d.Caps().MaxAllocation+4); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("a buffer above MaxAllocation: %v, want ErrOutOfMemory", err)
	}
	b.Free()
	b.Free()
	if err := b.Write(0, make([]byte, 4)); err == nil || !strings.Contains(err.Error(), "freed") {
		t.Errorf("write to a freed buffer: %v", err)
	}
}

func TestClosed(t *testing.T) {
	d := openTest(t)
	b := newBuffer(t, d, "a", matrixBytes)
	p := record(t, d, product(gpu.View{Buffer: b}, gpu.View{Buffer: newBuffer(t, d, "b", matrixBytes)}, gpu.View{Buffer: newBuffer(t, d, "c", matrixBytes)}))
	if err := d.Submit(p); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b.Free()
	p.Free()
	_, bufferErr := d.NewBuffer("late", 4)
	_, recordErr := d.Record("late", nil)
	_, timesErr := d.Timestamps(p)
	for name, err := range map[string]error{
		"NewBuffer": bufferErr, "Prepare": d.Prepare(nil), "Record": recordErr, "Submit": d.Submit(p), "Wait": d.Wait(), "Timestamps": timesErr,
	} {
		if !errors.Is(err, errClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
