// Command rlzero trains language models by reinforcement learning with
// verifiable rewards, on any vendor's GPU. Package rl/cli has the commands and
// exit codes, package rl the training run, package gpu the devices.
package main

import (
	"fmt"
	"os"

	// Devices register themselves here; a backend is one line.
	_ "github.com/rlzero/rlzero/gpu/refdev"
	_ "github.com/rlzero/rlzero/gpu/vulkan"
	_ "github.com/rlzero/rlzero/gpu/webgpu"
	"github.com/rlzero/rlzero/rl/cli"
	"github.com/rlzero/rlzero/rl/resolve"
	"github.com/rlzero/rlzero/rl/world/outside"
)

func main() {
	resolve.Starting = func(c outside.Command) {
		fmt.Fprintf(os.Stderr, "a program of the recipe runs with your rights: %s\n", c)
	}
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
