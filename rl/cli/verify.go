package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/eval"
	_ "github.com/rlzero/rlzero/rl/world/programs" // its tools register themselves
	_ "github.com/rlzero/rlzero/verify/instruct"   // its verifiers register themselves
	_ "github.com/rlzero/rlzero/verify/program"    // the same
)

const verifyHelp = `Reads {"answer":"...","completion":"..."} lines and writes one JSON line for each:

   {"score":1,"verdict":"right","reason":"...","extracted":"..."}

A line may name its own "verifier". It may have "options":{...} for the verifier, such as
{"extract":"strict"}, and other fields of a row of the task. The verdicts wrong and not scored
are results: the exit code is 0.

Example:
   echo '{"answer":"1/2","completion":"The answer is 0.5"}' | \
      rlzero verify --verifier number --in -`

func verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "grade completions with a verifier",
		Description: verifyHelp,
		Flags:       []cli.Flag{inFlag, verifierFlag, alwaysJSON},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			if err := checkVerifier(c); err != nil {
				return err
			}
			in, err := input(c, c.String("in"))
			if err != nil {
				return err
			}
			defer in.Close()
			return eval.Grade(c.String("in"), in, c.App.Writer, c.String("verifier"))
		},
	}
}
