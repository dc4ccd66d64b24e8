package model_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/gguf"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/device"
	"github.com/rlzero/rlzero/model/internal/modeltest"
)

// writeGGUF writes a model into a file.
func writeGGUF(t *testing.T, f *hf.Folder, typ hf.GGUFType) (file string, notes []string) {
	t.Helper()
	var out bytes.Buffer
	notes, err := hf.WriteGGUF(&out, f, "test", typ)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, notes
}

// openFolder opens a model until the test ends.
func openFolder(t *testing.T, path string) *hf.Folder {
	t.Helper()
	f, err := hf.ReadFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Tensors.Close() })
	return f
}

// TestBlocksAsTheyAre: a frozen model takes the blocks of a file as they are. Those of the
// file here are such that the same numbers quantised again give others, as blocks of other
// programs may.
func TestBlocksAsTheyAre(t *testing.T) {
	dev := gputest.Devices(t)[0]
	for _, family := range []string{"llama", "qwen2"} { // llama's rows of q and k change places
		for _, typ := range hf.GGUFTypes[3:] {
			cfg := hf.Config{Family: family, Vocab: 64, Width: 64, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 16, MLP: 96,
				MaxPositions: 64, NormEps: 0x1p-20, RopeTheta: 1e4, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.3}
			m := modeltest.ModelOn(t, dev, cfg)
			var out bytes.Buffer
			if err := hf.WriteSafetensors(&out, m.Tensors()); err != nil {
				t.Fatal(err)
			}
			ts, err := hf.ReadTensors("test", bytes.NewReader(out.Bytes()), int64(out.Len()))
			if err != nil {
				t.Fatal(err)
			}
			file, _ := writeGGUF(t, &hf.Folder{Config: cfg, Tensors: ts}, typ)
			shrinkLevels(t, file, typ.Type)
			cfg.Dtype = hf.Dtype(typ.Name)
			frozen, err := model.NewFrozen(dev, cfg, 64)
			if err != nil {
				t.Fatal(err)
			}
			defer frozen.Close()
			f := openFolder(t, file)
			if err := frozen.SetTensors(f.Tensors); err != nil {
				t.Fatal(err)
			}
			compareBlocks(t, frozen, f.Tensors, typ.Type)
		}
	}
}

// shrinkLevels changes the levels of a file's blocks so that none is the largest.
func shrinkLevels(t *testing.T, path string, kind gguf.Type) {
	t.Helper()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, size := kind.Block()
	for _, tensor := range file.Tensors {
		if tensor.Type != kind {
			continue
		}
		raw, err := file.Rows(tensor, 0, tensor.Shape[0])
		if err != nil {
			t.Fatal(err)
		}
		part := whole[bytes.Index(whole, raw):][:len(raw)]
		for i := range part {
			switch {
			case i%size < 2: // the scale
			case kind == gguf.Q8_0:
				part[i] = byte(int8(part[i]) / 3)
			default: // levels 4 to 11 of 0 to 15
				part[i] = 4 + part[i]&15/2 | (4+part[i]>>4/2)<<4
			}
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

// compareBlocks compares what lies on the device with the blocks of a file: their scales, which
// others would have in the same blocks made again, and the numbers.
func compareBlocks(t *testing.T, m *model.Model, ts *hf.TensorSet, kind gguf.Type) {
	t.Helper()
	compared, others := 0, 0
	numbers := map[string][]float32{}
	for _, v := range m.Tensors() {
		var err error
		if numbers[v.Name], err = v.Data(); err != nil {
			t.Fatal(err)
		}
	}
	d := m.Decoder()
	for _, p := range d.Layout.Pieces {
		if !d.Layout.Chunks[p.Region.Chunk].Storage.Blocked() {
			continue
		}
		rows, _ := p.Size()
		blocks, err := ts.Blocks(p.Name, kind, 0, rows)
		if err != nil || blocks == nil {
			t.Fatalf("%s: no blocks, %v", p.Name, err)
		}
		want, err := ts.Read(p.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !modeltest.EqualFloats(numbers[p.Name], want) {
			t.Errorf("%s: other numbers than in the file", p.Name)
		}
		again, err := kind.Quantize(want)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(scalesOf(again, kind), scalesOf(blocks, kind)) {
			others++
		}
		v := d.Params.Matrix(p.Region).Scales
		per := len(blocks) / rows
		for r := range rows {
			scales := scalesOf(blocks[r*per:][:per], kind)
			got := make([]float32, len(scales))
			if err := device.Read(device.At(v, p.Row(r)*len(got)), got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, scales) {
				t.Fatalf("%s: row %d has other blocks than the file", p.Name, r)
			}
			compared++
		}
	}
	if compared == 0 || others == 0 {
		t.Errorf("%d rows compared, %d tensors that would have changed: this test can show nothing", compared, others)
	}
}

// scalesOf are the scales of blocks.
func scalesOf(blocks []byte, kind gguf.Type) []float32 {
	_, size := kind.Block()
	var scales []float32
	for ; len(blocks) > 0; blocks = blocks[size:] {
		scales = append(scales, gguf.Half(blocks))
	}
	return scales
}
