package bench

import (
	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/rl/store"
)

// Shape is a model to measure, of random weights or one that there is.
type Shape struct {
	Name         string
	From         string // a folder of Hugging Face's or a GGUF file, whose weights are measured; "": random ones
	Config       hf.Config
	Prompt, New  int   // tokens
	Decode       []int // batch sizes of the decode benchmark
	TrainSeqs    int
	TrainTokens  int // per sequence
	Repetitions  int
	TrainRepeats int
}

// Shapes are the preset's model, one of 25 million parameters, and those of SmolLM2-135M
// (huggingface.co/HuggingFaceTB/SmolLM2-135M, config.json) and Qwen2.5-0.5B
// (huggingface.co/Qwen/Qwen2.5-0.5B).
func Shapes() []Shape {
	tiny := hf.Config{Family: "qwen3", Vocab: 53, Width: 96, Layers: 2, Heads: 3, KVHeads: 3, HeadDim: 32, MLP: 256,
		MaxPositions: 64, NormEps: 1e-6, RopeTheta: 100, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.1}
	small := tiny
	small.Vocab, small.Width, small.Layers, small.Heads, small.KVHeads, small.HeadDim, small.MLP = 8192, 384, 12, 6, 6, 64, 1024
	small.MaxPositions = 2048
	smol := hf.Config{Family: "llama", Vocab: 49152, Width: 576, Layers: 30, Heads: 9, KVHeads: 3, HeadDim: 64, MLP: 1536,
		MaxPositions: 2048, NormEps: 1e-5, RopeTheta: 1e5, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.04}
	qwen := hf.Config{Family: "qwen2", Vocab: 151936, Width: 896, Layers: 24, Heads: 14, KVHeads: 2, HeadDim: 64, MLP: 4864,
		MaxPositions: 2048, NormEps: 1e-6, RopeTheta: 1e6, TieEmbeddings: true, BOS: -1, PAD: -1, InitStd: 0.02}
	return []Shape{
		{"countdown-tiny 0.23M", "", tiny, 7, 14, []int{1, 16, 32, 256}, 256, 20, 5, 5},
		{"25M", "", small, 16, 16, []int{1, 8, 16, 32}, 8, 128, 2, 2},
		{"SmolLM2-135M shape", "", smol, 16, 8, []int{1, 8, 16, 32}, 2, 128, 2, 2},
		{"Qwen2.5-0.5B shape", "", qwen, 16, 8, []int{1, 8, 16, 32}, 2, 128, 2, 2},
	}
}

// ShapeOf is the shape of a model that there is, as [store.FindModel] finds it, in the storage of its files.
func ShapeOf(path string) (Shape, error) {
	found, err := store.FindModel(path, "")
	if err != nil {
		return Shape{}, err
	}
	f, err := hf.ReadFolder(found.Dir)
	if err != nil {
		return Shape{}, err
	}
	return Shape{path, found.Dir, f.Config, 16, 8, []int{1, 8, 16, 32}, 2, 128, 2, 2}, f.Tensors.Close()
}

// model is that of a shape, for sequences of so many tokens. A frozen one is sampled from alone. No token ends a completion.
func (s Shape) model(dev gpu.Device, positions int, frozen bool) (*model.Model, error) {
	if s.From != "" {
		m, err := model.Load(dev, s.From, model.LoadOptions{Positions: positions, Dtype: s.Config.Dtype, Frozen: frozen})
		if err == nil {
			m.Config.EOS = nil
		}
		return m, err
	}
	if !frozen {
		return model.New(dev, s.Config, 1, positions)
	}
	m, err := model.NewFrozen(dev, s.Config, positions)
	if err != nil {
		return nil, err
	}
	if err := m.Initialize(1); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Large is a shape at the sizes of a GPU: batches up to 256 with 33 new tokens, so 32 rounds of
// decoding, and an update on 8 sequences of 512 tokens. A model of few positions stays as it is.
func (s Shape) Large() Shape {
	if s.Config.MaxPositions < 512 {
		return s
	}
	s.New, s.Decode, s.TrainSeqs, s.TrainTokens = 33, []int{1, 8, 64, 256}, 8, 512
	return s
}

// Drawing is the shape with completions of so many tokens, which decode draws.
func (s Shape) Drawing(tokens int) Shape {
	s.New, s.Config.MaxPositions = tokens, max(s.Config.MaxPositions, s.Prompt+tokens)
	return s
}

func prompt(s Shape, i int) []int {
	ids := make([]int, s.Prompt)
	for j := range ids {
		ids[j] = (i*31 + j*17 + 5) % s.Config.Vocab
	}
	return ids
}
