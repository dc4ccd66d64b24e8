package cli

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/doctor"
)

func receiptCommand() *cli.Command {
	return &cli.Command{
		Name: "receipt", Usage: "check a finished run against its receipt", ArgsUsage: "RUN",
		Description: `Hashes the recipe, data, starting model, logs and checkpoints of a finished run again, compares
them with receipt.json, and says whether this device would repeat the run byte for byte.
Without a device, it checks only the hashes.

Examples:
   rlzero receipt runs/first
   rlzero receipt runs/first --json

The exit code is 1 if a hash differs. --json prints one object, like that of rlzero doctor,
with "repeatable" added:

   {"ok":true,"device":{...},"numerics":2,
    "checks":[{"name":"...","ok":true,"detail":"..."}],"repeatable":true}`,
		Flags:  []cli.Flag{deviceFlag, tierFlag, jsonFlag},
		Action: receipt,
	}
}

func receipt(c *cli.Context) error {
	dir, err := runArg(c)
	if err != nil {
		return err
	}
	dev, err := openDevice(c)
	if err == nil {
		defer dev.Close()
	} else if asked := c.String("device"); asked != "auto" && asked != "" || !errors.Is(err, gpu.ErrNoDevice) { // hashes need no device
		return err
	}
	r, err := doctor.Receipt(dir, dev, Version, programsTold(c))
	if err != nil {
		return err
	}
	return printReport(c, r)
}
