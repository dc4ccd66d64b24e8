package doctor

import (
	"math/rand/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
)

// small is a model with every quirk that could break the bits: padded head
// halves, padded width, grouped heads, q/k norm, odd vocabulary.
func small(dev gpu.Device, positions int, dtype, kvDtype hf.Dtype) (*model.Model, error) {
	cfg := hf.Config{Family: "qwen3", Vocab: 61, Width: 36, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 18, MLP: 44,
		MaxPositions: 1024, NormEps: 1e-6, RopeTheta: 1e4, TieEmbeddings: true, QKNorm: true, BOS: -1, PAD: -1, InitStd: 0.3,
		Dtype: dtype, KVDtype: kvDtype}
	return model.New(dev, cfg, 7, positions)
}

// somePrompts are n random ones of 1 to longest tokens.
func somePrompts(n, longest, vocab int) [][]int {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([][]int, n)
	for i := range out {
		out[i] = make([]int, 1+rng.IntN(longest))
		for j := range out[i] {
			out[i][j] = rng.IntN(vocab)
		}
	}
	return out
}
