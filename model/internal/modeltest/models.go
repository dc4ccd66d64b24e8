package modeltest

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/internal/tensors"
	"github.com/rlzero/rlzero/model/seq"
)

// Small is a model with every quirk that could break the bits: padded head
// halves, padded width, grouped heads, q/k norm, odd vocabulary.
func Small(t testing.TB, dev gpu.Device, positions int) *model.Model {
	return SmallAs(t, dev, positions, hf.F32, hf.F32)
}

// SmallAs is small in another storage.
func SmallAs(t testing.TB, dev gpu.Device, positions int, dtype, kvDtype hf.Dtype) *model.Model {
	m, err := model.New(dev, SmallConfig(dtype, kvDtype), 7, positions)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// SmallConfig is the config of Small in a storage.
func SmallConfig(dtype, kvDtype hf.Dtype) hf.Config {
	return hf.Config{Family: "qwen3", Vocab: 61, Width: 36, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 18, MLP: 44,
		MaxPositions: 1024, NormEps: 1e-6, RopeTheta: 1e4, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.3,
		Dtype: dtype, KVDtype: kvDtype}
}

// Prompts are n prompts of at most so many tokens of a small model.
func Prompts(n, longest int) [][]int {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][]int, n)
	for i := range out {
		out[i] = make([]int, 1+rng.IntN(longest))
		for j := range out[i] {
			out[i][j] = rng.IntN(61)
		}
	}
	return out
}

// Narrow is a device whose bindings are smaller.
type Narrow struct {
	gpu.Device
	MaxBinding int
}

// Caps implements gpu.Device.
func (n Narrow) Caps() gpu.Caps {
	c := n.Device.Caps()
	c.MaxBinding = n.MaxBinding
	return c
}

// ModelOn is a model with random weights for 64 positions.
func ModelOn(t *testing.T, dev gpu.Device, cfg hf.Config) *model.Model {
	t.Helper()
	m, err := model.New(dev, cfg, 7, 64)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// Quirks are small models that have, between them, every option of a part.
func Quirks() map[string]hf.Config {
	base := hf.Config{Vocab: 61, Width: 20, Layers: 2, Heads: 2, KVHeads: 1, HeadDim: 10, MLP: 12,
		MaxPositions: 1024, NormEps: 0x1p-20, RopeTheta: 1e4, BOS: -1, PAD: -1, InitStd: 0.3}
	gemma, smollm, mistral, qwen := base, base, base, base
	mistral.Family, mistral.Window, mistral.Sliding = "mistral", 7, []bool{true, true}
	qwen.Family = "qwen2" // biases of queries, keys and values
	// Norms of 1+w, before and after, gelu, scaled embeddings, a scale of queries, a
	// window and a rotation of its own in one layer, biases of attention.
	gemma.Family, gemma.TieEmbeddings, gemma.QKNorm = "gemma3_text", true, true
	gemma.AttentionBias, gemma.QueryScalar, gemma.LocalTheta = true, 7, 100
	gemma.Window, gemma.Sliding = 5, []bool{true, false}
	// Biases everywhere, and a layer without rotation that has a window.
	smollm.Layers = 3
	smollm.Family, smollm.AttentionBias, smollm.MLPBias = "smollm3", true, true
	smollm.NoRope, smollm.Window, smollm.Sliding = []bool{false, true, false}, 9, []bool{false, true, false}
	return map[string]hf.Config{"gemma3": gemma, "mistral": mistral, "qwen2": qwen, "qwen3": SmallConfig(hf.F32, hf.F32), "smollm3": smollm}
}

// Quirk is a small model, maybe with an adapter.
type Quirk struct {
	Name    string
	Config  hf.Config
	Adapter *hf.AdapterConfig
	Typical bool // of those with an adapter over its storage
}

// QuirkModels are the quirks, alone and with an adapter over each storage.
func QuirkModels() []Quirk {
	adapters := []struct {
		over    hf.Dtype
		adapter hf.AdapterConfig
	}{
		{hf.F32, hf.AdapterConfig{Rank: 2, Alpha: 1, RSLoRA: true}},
		{hf.BF16, hf.AdapterConfig{Rank: 3, Alpha: 1, Targets: []string{"k_proj", "o_proj", "up_proj"}, Ranks: []hf.Override{{Pattern: "layers.1.*", Value: 10}}}},
		{hf.Q8, hf.AdapterConfig{Rank: 2, Alpha: 1, Targets: []string{"q_proj", "v_proj", "down_proj"}}},
		{hf.Q4, hf.AdapterConfig{Rank: 3, Alpha: 1}},
	}
	var all []Quirk
	for i, name := range slices.Sorted(maps.Keys(Quirks())) {
		c := Quirks()[name]
		all = append(all, Quirk{name, c, nil, true})
		for j, a := range adapters {
			if c.Dtype = a.over; a.over.Blocked() { // a block has 32 numbers
				c.Width, c.HeadDim, c.MLP = 32, 16, 32
			}
			all = append(all, Quirk{fmt.Sprintf("%s in %s with adapter", name, a.over), c, &a.adapter, i == j})
		}
	}
	return all
}

// Open makes the model. Its vectors and its adapter are random too: fresh ones are zeros
// and ones.
func (q Quirk) Open(t *testing.T, dev gpu.Device) *model.Model {
	plain := q.Config
	if plain.Dtype.Blocked() {
		plain.Dtype = hf.F32
	}
	m := ModelOn(t, dev, plain)
	rng := rand.New(rand.NewPCG(3, 4))
	Change(t, &m.Decoder().Layout.Set, m.Decoder().Params, func(p tensors.Piece, data []float32) {
		if p.Vector {
			for i := range data {
				data[i] += float32(0.2 * rng.NormFloat64())
			}
		}
	})
	if q.Config.Dtype.Blocked() {
		m = Packed(t, m, q.Config.Dtype)
	}
	if q.Adapter != nil {
		Adapt(t, m, *q.Adapter)
	}
	return m
}

// Adapt gives a model a random adapter.
func Adapt(t *testing.T, m *model.Model, cfg hf.AdapterConfig) {
	t.Helper()
	if err := m.AddAdapter(cfg, 9); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	Change(t, &m.Decoder().Adapter.Set, m.Decoder().Adapter.Values, func(p tensors.Piece, data []float32) {
		for i := range data {
			data[i] = float32(0.1 * rng.NormFloat64())
		}
	})
}

// Change edits tensors of one piece each where they lie.
func Change(t *testing.T, l *tensors.Set, in tensors.Store, edit func(p tensors.Piece, data []float32)) {
	t.Helper()
	values := map[string][]float32{}
	for _, v := range l.Named(in, "") {
		var err error
		if values[v.Name], err = v.Data(); err != nil {
			t.Fatal(err)
		}
	}
	err := l.Write(in, func(p tensors.Piece, from, n int) ([]float32, error) {
		_, cols := p.Size()
		data := values[p.Name][from*cols : (from+n)*cols]
		edit(p, data)
		return data, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Packed is a frozen model in blocks, from the weights of one in float32.
func Packed(t *testing.T, from *model.Model, dtype hf.Dtype) *model.Model {
	t.Helper()
	cfg := from.Config
	cfg.Dtype = dtype
	m, err := model.NewFrozen(from.Device(), cfg, from.Positions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	Give(t, m, from)
	return m
}

// Give overwrites the parameters of a model with those of another one, which may be kept
// otherwise.
func Give(t *testing.T, to, from *model.Model) {
	t.Helper()
	ThroughFile(t, from.Tensors(), to.SetTensors)
}

// EqualFloats compares bits.
func EqualFloats(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Counting counts the bytes of the buffers that are made, and the programs that are
// submitted.
type Counting struct {
	gpu.Device
	Bytes     int
	Submitted int
}

// NewBuffer implements gpu.Device.
func (c *Counting) NewBuffer(label string, size int) (gpu.Buffer, error) {
	c.Bytes += size
	return c.Device.NewBuffer(label, size)
}

// Submit implements gpu.Device.
func (c *Counting) Submit(p gpu.Program) error {
	c.Submitted++
	return c.Device.Submit(p)
}

// Flat are the numbers of tensors, one after the other.
func Flat(t *testing.T, tensors []hf.NamedTensor) []float32 {
	t.Helper()
	var all []float32
	for _, v := range tensors {
		data, err := v.Data()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

// ThroughFile writes tensors to a file in memory and has it read.
func ThroughFile(t *testing.T, tensors []hf.NamedTensor, use func(*hf.TensorSet) error) {
	t.Helper()
	var b bytes.Buffer
	if err := hf.WriteSafetensors(&b, tensors); err != nil {
		t.Fatal(err)
	}
	ts, err := hf.ReadTensors("tensors", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err == nil {
		err = use(ts)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Relatives are a group of sequences with a prompt of n tokens: some part at once, some
// later, some after that; two are equal, and one is where another one begins.
func Relatives(group, n int) []seq.Sequence {
	rng := rand.New(rand.NewPCG(uint64(group), uint64(n)))
	run := func(before []int, n int) []int {
		ids := slices.Clone(before)
		for range n {
			ids = append(ids, rng.IntN(61))
		}
		return ids
	}
	prompt := run(nil, n)
	a, b := run(prompt, 3), run(prompt, 9)
	aa, ab := run(a, 4), run(a, 2)
	var seqs []seq.Sequence
	for i, ids := range [][]int{run(aa, 3), b, run(aa, 6), ab, run(ab, 5), ab, aa[:len(aa)-1], run(b, 1)} {
		s := seq.Predict(ids, n, 0.7+0.1*float64(i%3))
		s.Group = group
		seqs = append(seqs, s)
	}
	seqs[2].Spans = []seq.Span{{From: n, To: n + 2}, {From: n + 5, To: len(seqs[2].IDs) - 1}}
	return seqs
}

// Apart are the same sequences, each for itself.
func Apart(seqs []seq.Sequence) []seq.Sequence {
	out := slices.Clone(seqs)
	for i := range out {
		out[i].Group = 0
	}
	return out
}

// StatBits are the bits of statistics, values apart.
func StatBits(s seq.Stats) []uint32 {
	var bits []uint32
	for _, x := range slices.Concat(s.Logprob, s.Entropy, s.MeanLogprob) {
		bits = append(bits, math.Float32bits(x))
	}
	return bits
}

// WriteAdapter writes the PEFT folder of a model's adapter.
func WriteAdapter(t *testing.T, m *model.Model) string {
	t.Helper()
	config, err := m.AdapterConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return WriteFolder(t, map[string][]byte{"adapter_config.json": config}, "adapter_model.safetensors", m.AdapterTensors())
}

// WriteFolder writes files and a file of tensors into a folder of the test's.
func WriteFolder(t *testing.T, small map[string][]byte, name string, tensors []hf.NamedTensor) string {
	t.Helper()
	dir := t.TempDir()
	var weights bytes.Buffer
	if err := hf.WriteSafetensors(&weights, tensors); err != nil {
		t.Fatal(err)
	}
	all := maps.Clone(small)
	all[name] = weights.Bytes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := os.WriteFile(filepath.Join(dir, name), all[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
