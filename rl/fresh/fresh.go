package fresh

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/table"
)

// Size is a size of new models. All are qwen3 with tied embeddings, whose MLPs are three
// times as wide as the model.
type Size struct {
	Name                 string
	Layers, Width, Heads int
	Tokens               int // of the vocabulary, if the texts have so many
}

// Sizes have about 1, 6 and 32 million parameters with all their tokens.
var Sizes = []Size{
	{"tiny", 4, 128, 4, 1024},
	{"small", 6, 256, 8, 2048},
	{"medium", 8, 512, 8, 8192},
}

// Context is how many tokens a new model can see.
const Context = 2048

// errEnough ends a reading.
var errEnough = errors.New("enough")

// Learn makes a tokenizer of the texts of data sets, files or folders, of at most so many tokens, and
// counts their rows. Without data, each byte is a token.
func Learn(data []string, tokens int) (tok *text.Tokenizer, rows int, err error) {
	var failed error
	tok, err = text.Learn(func(yield func(string) bool) {
		for _, name := range data {
			if failed = eachText(name, &rows, yield); failed != nil {
				return
			}
		}
	}, tokens)
	if errors.Is(failed, errEnough) {
		failed = nil
	}
	if failed != nil {
		return nil, 0, fmt.Errorf("%w: %w", lines.ErrInput, failed)
	}
	return tok, rows, err
}

// eachText hands on the texts of the rows of a data set's training split, and counts the rows.
func eachText(name string, rows *int, yield func(string) bool) error {
	data, err := table.Open(name)
	if err != nil {
		return err
	}
	return data.Each(table.Train, func(_ int, row table.Row) error {
		*rows++
		for _, role := range []string{chat.System, chat.User, chat.Assistant} { // the template writes them
			if !yield(role) {
				return errEnough
			}
		}
		for _, column := range slices.Sorted(maps.Keys(row)) {
			var value any
			if err := json.Unmarshal(row[column], &value); err != nil {
				return fmt.Errorf("column %q: %w", column, err)
			}
			if !textsIn(value, yield) {
				return errEnough
			}
		}
		return nil
	})
}

// textsIn hands on the texts in a JSON value, keys of objects aside; false: no more are wanted.
func textsIn(value any, yield func(string) bool) bool {
	switch v := value.(type) {
	case string:
		return yield(v)
	case []any:
		for _, e := range v {
			if !textsIn(e, yield) {
				return false
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !textsIn(v[key], yield) {
				return false
			}
		}
	}
	return true
}

// Config is that of a new model of a size.
func (s Size) Config(tok *text.Tokenizer) (hf.Config, error) {
	cfg, err := hf.NewConfig("qwen3")
	if err != nil {
		return cfg, err
	}
	end, _ := tok.ID(text.EndOfTurn)
	pad, _ := tok.ID(text.EndOfText)
	cfg.Vocab, cfg.Width, cfg.Layers, cfg.Heads, cfg.KVHeads = tok.Vocab(), s.Width, s.Layers, s.Heads, s.Heads
	cfg.HeadDim, cfg.MLP, cfg.MaxPositions, cfg.TieEmbeddings = s.Width/s.Heads, 3*s.Width, Context, true
	cfg.EOS, cfg.PAD = []int{end, pad}, pad
	// The output head is the embedding, and the state before it has numbers of size 1: so the
	// first logits have size 1, too.
	cfg.InitStd = 1 / math.Sqrt(float64(s.Width))
	return cfg, cfg.Complete()
}

// Write calls write with the files of a Hugging Face folder: a model of random weights, those with which
// a run of the seed would begin.
func Write(cfg hf.Config, tok *text.Tokenizer, seed uint64, write func(files map[string]func(io.Writer) error) error) error {
	small, err := hf.FolderFiles(cfg, tok)
	if err != nil {
		return err
	}
	dev, err := gpu.Open("ref")
	if err != nil {
		return err
	}
	defer dev.Close()
	m, err := model.New(dev, cfg, random.At(seed, random.Stream(random.Init, 0), 0).Uint64(), 1)
	if err != nil {
		return err
	}
	defer m.Close()
	return write(hf.Contents(small, hf.WeightsFile, m.Tensors()))
}
