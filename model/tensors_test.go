package model_test

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/modeltest"
)

// watched is a file in memory that remembers the most that was read of it at once.
type watched struct {
	*bytes.Reader
	most int
}

func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	w.most = max(w.most, len(p))
	return w.Reader.ReadAt(p, off)
}

// TestBands: a table of several bands, in several slabs, gets the random numbers that it
// would get as a whole, goes to a file and comes back with the same bits,
// and no more than a band of it is read at once.
func TestBands(t *testing.T) {
	const band = 1 << 20 // numbers
	dev := gputest.Devices(t)[0]
	cfg := hf.Config{Family: "llama", Vocab: 131_072 + 70, Width: 30, Layers: 1, Heads: 2, KVHeads: 1, HeadDim: 16, MLP: 40,
		MaxPositions: 64, NormEps: 0x1p-20, RopeTheta: 1e4, BOS: -1, PAD: -1, InitStd: 0.3}
	m := modeltest.ModelOn(t, modeltest.Narrow{Device: dev, MaxBinding: 5 << 20}, cfg)
	numbers := modeltest.Flat(t, m.Tensors())
	at := 0
	slabs := 0
	for _, p := range m.Decoder().Layout.Pieces { // the first tensor
		if p.Name != hf.EmbedName {
			continue
		}
		slabs++
		h := fnv.New64a()
		fmt.Fprint(h, hf.EmbedName, "/", p.From)
		rng := rand.New(rand.NewPCG(7, h.Sum64()))
		for range p.Shape[0] * cfg.Width {
			if want := float32(rng.NormFloat64() * cfg.InitStd); numbers[at] != want {
				t.Fatalf("number %d of the table is %v, want %v", at, numbers[at], want)
			}
			at++
		}
	}
	if slabs < 2 {
		t.Fatalf("%d slab: this test can show nothing", slabs)
	}
	var file bytes.Buffer
	if err := hf.WriteSafetensors(&file, m.Tensors()); err != nil {
		t.Fatal(err)
	}
	read := &watched{Reader: bytes.NewReader(file.Bytes())}
	ts, err := hf.ReadTensors("test", read, int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	read.most = 0
	back := modeltest.ModelOn(t, dev, cfg)
	if err := back.SetTensors(ts); err != nil {
		t.Fatal(err)
	}
	if !modeltest.EqualFloats(modeltest.Flat(t, back.Tensors()), numbers) {
		t.Error("other numbers came back")
	}
	if read.most > 4*band {
		t.Errorf("%d bytes were read at once, a band has %d", read.most, 4*band)
	}
}
