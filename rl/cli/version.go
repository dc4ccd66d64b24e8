package cli

import (
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/shaders"
)

// versionLine is what version prints with --json.
type versionLine struct {
	Version  string `json:"version"`
	Numerics int    `json:"numerics"` // releases with the same number compute the same bits
	Go       string `json:"go"`
	System   string `json:"system"`
}

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the versions of the program and of its numerics",
		Description: `Two releases with the same numerics version compute the same bits, and continue each other's
runs.

Example:
   rlzero version`,
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			v := versionLine{Version, shaders.NumericsVersion, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if c.Bool("json") {
				return printJSON(c, v)
			}
			_, err := fmt.Fprintf(c.App.Writer, "rlzero %s, numerics %d, %s, %s\n", v.Version, v.Numerics, v.Go, v.System)
			return err
		},
	}
}
