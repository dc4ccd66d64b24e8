package cli

import (
	"bufio"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/infer"
)

func inspectCommand() *cli.Command {
	return &cli.Command{
		Name: "inspect", Usage: "look into models, data sets and compiled kernels",
		Description: "Example:\n   rlzero inspect tokens --model runs/first --text '20 13 7 4 > 10:'",
		Subcommands: []*cli.Command{tokensCommand(), templateCommand(), dataCommand(), ggufCommand(), kernelsCommand()},
	}
}

func tokensCommand() *cli.Command {
	return &cli.Command{
		Name: "tokens", Usage: "turn text into token ids and back",
		Description: `Reads {"text":"..."} lines and writes {"ids":[...],"decoded":"..."}. --text gives a single text on
the command line. The folder of --model needs only a tokenizer.json.

Examples:
   rlzero inspect tokens --model runs/first --text '20 13 7 4 > 10:'
   echo '{"text":"20 13 7 4 > 10:"}' | \
      rlzero inspect tokens --model runs/first --in -`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "Hugging Face folder, run, checkpoint, or a folder with a tokenizer.json"},
			&cli.StringFlag{Name: "text", Usage: "one text, instead of --in"},
			inFlag, alwaysJSON,
		},
		Action: inspectTokens,
	}
}

func inspectTokens(c *cli.Context) error {
	if _, err := positional(c); err != nil {
		return err
	}
	if c.String("model") == "" {
		return hint.With(usagef("%s needs --model DIR", c.Command.HelpName), "DIR is a model, a run, a checkpoint, or a folder with a tokenizer.json")
	}
	if c.IsSet("text") == c.IsSet("in") {
		return hint.With(usagef("%s needs either --text TEXT or --in FILE", c.Command.HelpName), `FILE holds {"text":"..."} lines; - is standard input`)
	}
	var in io.ReadCloser
	var err error
	name := "--text"
	if c.IsSet("text") {
		in, err = oneLine("text", c.String("text"))
	} else {
		name = c.String("in")
		in, err = input(c, name)
	}
	if err != nil {
		return err
	}
	defer in.Close()
	found, err := findText(c, c.String("model"))
	if err != nil {
		return err
	}
	return infer.Tokens(found.Dir, name, in, bufio.NewWriter(c.App.Writer))
}
