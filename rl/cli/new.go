package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/internal/lines"
	"github.com/rlzero/rlzero/internal/random"
	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model"
	"github.com/rlzero/rlzero/model/hf"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/chat"
	"github.com/rlzero/rlzero/rl/table"
)

// modelSize is a size of new models. All are qwen3 with tied embeddings, whose MLPs are three
// times as wide as the model.
type modelSize struct {
	name                 string
	layers, width, heads int
	tokens               int // of the vocabulary, if the texts have so many
}

// modelSizes have about 1, 6 and 32 million parameters with all their tokens.
var modelSizes = []modelSize{
	{"tiny", 4, 128, 4, 1024},
	{"small", 6, 256, 8, 2048},
	{"medium", 8, 512, 8, 8192},
}

// newContext is how many tokens a new model can see.
const newContext = 2048

const newHelp = `Writes a model with random weights into the new folder DIR: a Hugging Face folder with a
chat template (ChatML) and a tokenizer of bytes, which reads any text. It knows nothing yet:
teach it the form of answers by imitation (sft) before rewards can find right ones.

With --data, the tokenizer learns tokens for the words of your rows: for all texts in the
columns of the training split, up to 64 MiB. Without --data, each byte is a token.

   tiny    4 layers of width 128, at most 1,024 tokens (1 million parameters)
   small   6 layers of width 256, at most 2,048 tokens (6 million)
   medium  8 layers of width 512, at most 8,192 tokens (32 million)

The same rows, size and seed give the same bytes.

Examples:
   rlzero model new start --data problems.jsonl
   rlzero model new larger --size small --data a.jsonl --data b.csv --seed 2
   rlzero train sft-chat --set model.path=start --set task.data=a.jsonl`

func modelCommand() *cli.Command {
	return &cli.Command{
		Name: "model", Usage: "make a model to begin from",
		Description: "Example:\n   rlzero model new start --data problems.jsonl",
		Subcommands: []*cli.Command{{
			Name: "new", Usage: "write a small chat model with random weights, whose tokenizer knows your rows", ArgsUsage: "DIR",
			Description: newHelp,
			Flags: []cli.Flag{
				&cli.StringSliceFlag{Name: "data", Usage: "learn tokens from a `FILE` or folder of rows"},
				&cli.StringFlag{Name: "size", Usage: strings.Join(sizeNames(), ", "), Value: modelSizes[0].name},
				&cli.IntFlag{Name: "vocab", Usage: "largest number of different tokens", DefaultText: "as the size has it"},
				&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of the weights"},
				jsonFlag,
			},
			Action: newModel,
		}},
	}
}

func sizeNames() []string {
	var names []string
	for _, s := range modelSizes {
		names = append(names, s.name)
	}
	return names
}

// newLine is what model new prints with --json.
type newLine struct {
	Out        string `json:"out"`
	Size       string `json:"size"`
	Parameters int    `json:"parameters"`
	Tokens     int    `json:"tokens"`
	Rows       int    `json:"rows"` // that the tokenizer has learned from
}

func newModel(c *cli.Context) error {
	args, err := positional(c, "DIR")
	if err != nil {
		return err
	}
	at := slices.Index(sizeNames(), c.String("size"))
	if at < 0 {
		return badChoice("size", c.String("size"), sizeNames()...)
	}
	size := modelSizes[at]
	if c.IsSet("vocab") {
		if size.tokens, err = intFrom(c, "vocab", text.FewestTokens, 1<<18); err != nil {
			return err
		}
	}
	tok, rows, err := learnRows(c.StringSlice("data"), size.tokens)
	if err != nil {
		return err
	}
	cfg, err := size.config(tok)
	if err != nil {
		return err
	}
	small, err := hf.FolderFiles(cfg, tok)
	if err != nil {
		return err
	}
	err = withRandomWeights(cfg, c.Uint64("seed"), func(tensors []hf.NamedTensor) error {
		_, err := writeNew("DIR", args[0], contents(small, weightsFile, tensors))
		return err
	})
	if err != nil {
		return err
	}
	line := newLine{args[0], size.name, cfg.Parameters(), tok.Vocab(), rows}
	if c.Bool("json") {
		return printJSON(c, line)
	}
	learned := "one for each byte"
	if len(c.StringSlice("data")) > 0 {
		learned = "learned from " + terminal.Count(rows, "row", "")
	}
	fmt.Fprintf(c.App.ErrWriter, "a qwen3 with %d random parameters (%d layers, width %d), a context of %d tokens and %d different tokens, %s\n",
		line.Parameters, cfg.Layers, cfg.Width, newContext, line.Tokens, learned)
	_, err = fmt.Fprintln(c.App.Writer, line.Out)
	return err
}

// learnRows makes a tokenizer of the texts of data sets.
func learnRows(data []string, tokens int) (tok *text.Tokenizer, rows int, err error) {
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

// config is that of a new model of a size.
func (s modelSize) config(tok *text.Tokenizer) (hf.Config, error) {
	cfg, err := hf.NewConfig("qwen3")
	if err != nil {
		return cfg, err
	}
	end, _ := tok.ID(text.EndOfTurn)
	pad, _ := tok.ID(text.EndOfText)
	cfg.Vocab, cfg.Width, cfg.Layers, cfg.Heads, cfg.KVHeads = tok.Vocab(), s.width, s.layers, s.heads, s.heads
	cfg.HeadDim, cfg.MLP, cfg.MaxPositions, cfg.TieEmbeddings = s.width/s.heads, 3*s.width, newContext, true
	cfg.EOS, cfg.PAD = []int{end, pad}, pad
	// The output head is the embedding, and the state before it has numbers of size 1: so the
	// first logits have size 1, too.
	cfg.InitStd = 1 / math.Sqrt(float64(s.width))
	return cfg, cfg.Complete()
}

// withRandomWeights calls use with the tensors of a model of a seed, the weights with which a run of
// the seed would begin.
func withRandomWeights(cfg hf.Config, seed uint64, use func([]hf.NamedTensor) error) error {
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
	return use(m.Tensors())
}
