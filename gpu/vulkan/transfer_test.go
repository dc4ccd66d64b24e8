//go:build (linux || darwin || windows) && (amd64 || arm64)

package vulkan

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/internal/vk"
)

// TestTransferOrder: writes, zeros, programs, reads and frees in any order give what
// they give on the host, whether writes are copied at once or collected.
func TestTransferOrder(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *Device{"unified": openTest, "staged": openStaged} {
		t.Run(name, func(t *testing.T) {
			o := newOrder(t, open(t))
			for range 2000 {
				o.act()
			}
			for i := range o.buffers {
				o.compare(i)
			}
		})
	}
}

const orderWords = 512

// order is a device with buffers, and what they hold as the host computes it: whole
// numbers, which float32 adds without rounding.
type order struct {
	t       *testing.T
	d       *Device
	random  *rand.Rand
	buffers [4]gpu.Buffer
	want    [4][]float32
}

func newOrder(t *testing.T, d *Device) *order {
	o := &order{t: t, d: d, random: rand.New(rand.NewPCG(7, 8))}
	for i := range o.buffers {
		o.renew(i)
	}
	return o
}

// renew replaces a buffer by one of zeros.
func (o *order) renew(i int) {
	if o.buffers[i] != nil {
		o.buffers[i].Free()
	}
	o.buffers[i], o.want[i] = newBuffer(o.t, o.d, "data", 4*orderWords), make([]float32, orderWords)
}

func (o *order) act() {
	i, j := o.random.IntN(len(o.buffers)), o.random.IntN(len(o.buffers)-1)
	if j >= i {
		j++
	}
	switch o.random.IntN(12) {
	case 0:
		o.renew(i)
	case 1:
		o.add(i, j)
	case 2:
		o.compare(i)
	default:
		from := o.random.IntN(orderWords)
		words := make([]byte, 4*(1+o.random.IntN(orderWords-from)))
		for k := range len(words) / 4 {
			x := float32(o.random.IntN(100))
			o.want[i][from+k] = x
			binary.LittleEndian.PutUint32(words[4*k:], math.Float32bits(x))
		}
		if err := o.buffers[i].Write(4*from, words); err != nil {
			o.t.Fatal(err)
		}
	}
}

// add adds buffer j to buffer i, where sums stay small enough to be exact.
func (o *order) add(i, j int) {
	if slices.Max(o.want[i])+slices.Max(o.want[j]) > 1<<20 {
		o.renew(j)
	}
	if err := o.d.Submit(o.sum(i, j)); err != nil {
		o.t.Fatal(err)
	}
	for k, x := range o.want[j] {
		o.want[i][k] += x
	}
}

// sum is the program that adds buffer j to buffer i.
func (o *order) sum(i, j int) gpu.Program {
	return record(o.t, o.d, gpu.Op{
		Kernel: "add", Bind: []gpu.View{{Buffer: o.buffers[i]}, {Buffer: o.buffers[j]}},
		Params: []uint32{orderWords}, Size: [3]int{orderWords},
	})
}

func (o *order) compare(i int) {
	raw := make([]byte, 4*orderWords)
	if err := o.buffers[i].Read(0, raw); err != nil {
		o.t.Fatal(err)
	}
	for k, want := range o.want[i] {
		if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*k:])); got != want {
			o.t.Fatalf("buffer %d, word %d: %v, want %v", i, k, got, want)
		}
	}
}

// TestLostWrites: where the submission of collected writes fails, the call that needed it says
// so, and so does every later one, though the queue takes work again: a buffer that misses
// writes must not be read, nor a program run on it. What is left can be freed.
func TestLostWrites(t *testing.T) {
	for name, notice := range map[string]func(o *order) error{
		"reading":    func(o *order) error { return o.buffers[0].Read(0, make([]byte, 4)) },
		"submitting": func(o *order) error { return o.d.Submit(o.sum(0, 1)) },
		"writing":    func(o *order) error { return o.buffers[0].Write(0, make([]byte, 4*orderWords)) },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOrder(t, openStaged(t))
			large := newBuffer(t, o.d, "large", stagingSize)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			sum := o.sum(2, 3)
			must(o.d.Submit(sum))
			must(large.Write(0, make([]byte, stagingSize))) // fills the staging buffer: one byte more has to be submitted
			working := o.d.transfer.submit
			o.d.transfer.submit = func(vk.CommandBuffer) vk.Result { return vk.DeviceLost }
			if err := notice(o); !errors.Is(err, gpu.ErrDeviceLost) {
				t.Fatalf("error %v, want gpu.ErrDeviceLost", err)
			}
			o.d.transfer.submit = working
			for name, again := range map[string]func() error{
				"reading":      func() error { return o.buffers[1].Read(0, make([]byte, 4)) },
				"writing":      func() error { return o.buffers[1].Write(0, make([]byte, 4)) },
				"submitting":   func() error { return o.d.Submit(sum) },
				"a new buffer": func() error { _, err := o.d.NewBuffer("new", 4); return err },
			} {
				if err := again(); !errors.Is(err, gpu.ErrDeviceLost) {
					t.Errorf("%s afterwards: error %v, want gpu.ErrDeviceLost", name, err)
				}
			}
			large.Free()
			must(o.d.Close())
		})
	}
}
