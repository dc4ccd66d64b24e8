// Command rlzero trains language models by reinforcement learning with
// verifiable rewards, on any vendor's GPU. See rl/cli for the commands.
package main

import (
	"os"

	// Devices register themselves here; a backend is one line.
	_ "github.com/rlzero/rlzero/gpu/refdev"
	_ "github.com/rlzero/rlzero/gpu/vulkan"
	"github.com/rlzero/rlzero/rl/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr)) }
