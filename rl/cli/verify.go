package cli

import (
	"bufio"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl"
	_ "github.com/rlzero/rlzero/verify/instruct" // its verifiers register themselves
)

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "grade answers with a verifier",
		Description: `Reads {"answer":"...","completion":"..."} lines (a task row may add fields, a line
may name its own "verifier") and writes
{"score":1,"verdict":"right","reason":"...","extracted":"..."}.

Example:
   echo '{"answer":"1/2","completion":"The answer is 0.5"}' | rlzero verify --verifier number --in -`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "in", Usage: "JSON lines; - for standard input"},
			&cli.StringFlag{Name: "verifier", Usage: "verifier of lines that name none; see rlzero verifiers"},
		},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			in, err := input(c, c.String("in"))
			if err != nil {
				return err
			}
			defer in.Close()
			return rl.Grade(c.String("in"), in, c.App.Writer, c.String("verifier"))
		},
	}
}

func inspectCommand() *cli.Command {
	return &cli.Command{
		Name: "inspect", Usage: "look into a model's parts",
		Subcommands: []*cli.Command{{
			Name: "tokens", Usage: "text to token ids and back",
			Description: `Reads {"text":"..."} lines and writes {"ids":[...],"decoded":"..."}.

Example:
   echo '{"text":"20 13 7 4 > 10:"}' | rlzero inspect tokens --model runs/first --in -`,
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "model", Usage: "Hugging Face folder, run or checkpoint"},
				&cli.StringFlag{Name: "in", Usage: "JSON lines; - for standard input"},
			},
			Action: func(c *cli.Context) error {
				if _, err := positional(c); err != nil {
					return err
				}
				if c.String("model") == "" {
					return usagef("%s needs --model DIR; see %s --help", c.Command.HelpName, c.Command.HelpName)
				}
				in, err := input(c, c.String("in"))
				if err != nil {
					return err
				}
				defer in.Close()
				warnings, err := rl.Tokens(c.String("model"), c.String("in"), in, bufio.NewWriter(c.App.Writer))
				warn(c, warnings)
				return err
			},
		}},
		Action: func(c *cli.Context) error {
			return usagef("rlzero inspect takes a subcommand: tokens")
		},
	}
}
