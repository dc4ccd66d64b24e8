// Command rlzero trains language models by reinforcement learning with
// verifiable rewards, on any vendor's GPU. Package rl/cli has the commands and
// exit codes, package rl the training run, package gpu the devices.
package main

import (
	"os"

	// Devices register themselves here; a backend is one line.
	_ "github.com/rlzero/rlzero/gpu/refdev"
	_ "github.com/rlzero/rlzero/gpu/vulkan"
	_ "github.com/rlzero/rlzero/gpu/webgpu"
	"github.com/rlzero/rlzero/rl/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
