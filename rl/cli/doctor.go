package cli

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/doctor"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "certify this device, or check the receipt of a run",
		Description: `Certifies a device: every kernel against a float64 oracle, gradients against finite
differences, losses against golden values, sampler = trainer = scorer to the bit, a run
at learning rate 0 that must not move, two equal runs that must write equal bytes.
Failed checks come first, each with what to do about it.

With --receipt, hashes a finished run's recipe, data, starting model, logs and
checkpoints again, compares them with its receipt.json, and says whether this device
would repeat it.

Examples:
   rlzero doctor
   rlzero doctor --device vulkan:1 --json > doctor.json
   rlzero doctor --receipt runs/first

Exit code 1 when a check failed, 3 when there is no device.
--json prints one object: {"ok":true,"device":{...},"numerics":1,
"checks":[{"name":"...","ok":true,"detail":"..."}]}; a failed check has "advice" too,
"left_out" names what was not checked, and why; a receipt's object has "repeatable".`,
		Flags: []cli.Flag{deviceFlag,
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object"},
			&cli.BoolFlag{Name: "quick", Usage: "leave the runs out"},
			&cli.StringFlag{Name: "receipt", Usage: "check the receipt of the run in `RUN`"},
		},
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if _, err := positional(c); err != nil {
		return err
	}
	r, err := examine(c)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = printJSON(c, r)
	} else {
		err = r.Print(c.App.Writer)
	}
	if err == nil && !r.OK {
		err = errors.New(r.Verdict())
	}
	return err
}

func examine(c *cli.Context) (*doctor.Report, error) {
	dev, err := openDevice(c)
	if err == nil {
		defer dev.Close()
	}
	if run := c.String("receipt"); run != "" {
		if c.Bool("quick") {
			return nil, usagef("--quick does not go with --receipt")
		}
		if err != nil && (c.IsSet("device") || !errors.Is(err, gpu.ErrNoDevice)) {
			return nil, err
		}
		return doctor.Receipt(run, dev, Version) // hashes need no device
	}
	if err != nil {
		return nil, err
	}
	ctx, done := interruptible(c)
	defer done()
	return doctor.Run(ctx, dev, doctor.Options{Quick: c.Bool("quick"), Version: Version, Show: c.App.ErrWriter})
}
