package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/model/text"
	"github.com/rlzero/rlzero/rl/fresh"
)

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
		Name: "model", Usage: "make a model to start from",
		Description: "Example:\n   rlzero model new start --data problems.jsonl",
		Subcommands: []*cli.Command{{
			Name: "new", Usage: "write a small chat model with random weights, whose tokenizer knows your rows", ArgsUsage: "DIR",
			Description: newHelp,
			Flags: []cli.Flag{
				&cli.StringSliceFlag{Name: "data", Usage: "learn tokens from a `FILE` or folder of rows"},
				&cli.StringFlag{Name: "size", Usage: strings.Join(sizeNames(), ", "), Value: fresh.Sizes[0].Name},
				&cli.IntFlag{Name: "vocab", Usage: "largest number of different tokens", DefaultText: "that of the size"},
				&cli.Uint64Flag{Name: "seed", Value: 1, Usage: "seed of the weights"},
				jsonFlag,
			},
			Action: newModel,
		}},
	}
}

func sizeNames() []string {
	var names []string
	for _, s := range fresh.Sizes {
		names = append(names, s.Name)
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
	size := fresh.Sizes[at]
	if c.IsSet("vocab") {
		if size.Tokens, err = intFrom(c, "vocab", text.FewestTokens, 1<<18); err != nil {
			return err
		}
	}
	tok, rows, err := fresh.Learn(c.StringSlice("data"), size.Tokens)
	if err != nil {
		return err
	}
	cfg, err := size.Config(tok)
	if err != nil {
		return err
	}
	err = fresh.Write(cfg, tok, c.Uint64("seed"), func(files map[string]func(io.Writer) error) error {
		_, err := writeNew("DIR", args[0], files)
		return err
	})
	if err != nil {
		return err
	}
	line := newLine{args[0], size.Name, cfg.Parameters(), tok.Vocab(), rows}
	if c.Bool("json") {
		return printJSON(c, line)
	}
	learned := "one for each byte"
	if len(c.StringSlice("data")) > 0 {
		learned = "learned from " + terminal.Count(rows, "row", "")
	}
	fmt.Fprintf(c.App.ErrWriter, "a qwen3 with %d random parameters (%d layers, width %d), a context of %d tokens and %d different tokens, %s\n",
		line.Parameters, cfg.Layers, cfg.Width, fresh.Context, line.Tokens, learned)
	_, err = fmt.Fprintln(c.App.Writer, line.Out)
	return err
}
