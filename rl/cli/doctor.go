package cli

import (
	"errors"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/doctor"
)

func doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check that a device computes correctly",
		Description: `Checks a device: every kernel against a float64 oracle; gradients against finite differences;
losses against golden values; sampler, trainer and scorer against each other, to the bit; a
run at learning rate 0, which must not change the weights; and two equal runs, which must
write equal bytes. Failed checks come first, each with what to do about it.

--draws RUN checks the completions of a run instead. It draws each one again, from its prompt
and its random numbers, with the weights of the run's checkpoints and of its best model: the
completions of the step after each, and of the evaluation at it. A completion that differs is
named by its line and the first token that differs.

Examples:
   rlzero doctor
   rlzero doctor --device vulkan:1 --json > doctor.json
   rlzero doctor --draws runs/first

The exit code is 1 if a check failed, and 3 if there is no device. --json prints one object:

   {"ok":true,"device":{...},"numerics":2,
    "checks":[{"name":"...","ok":true,"detail":"..."}]}

A failed check also has "advice"; "left_out" names what was not checked, and why.`,
		Flags: []cli.Flag{deviceFlag, tierFlag, jsonFlag,
			&cli.BoolFlag{Name: "quick", Usage: "leave out the training runs, and compare bits on fewer prompts"},
			&cli.StringFlag{Name: "draws", Usage: "check the completions of the run in the folder `RUN`, not the device"},
		},
		Action: runDoctor,
	}
}

func runDoctor(c *cli.Context) error {
	if _, err := positional(c); err != nil {
		return err
	}
	dir := c.String("draws")
	if dir != "" {
		if err := checkRun(dir); err != nil {
			return err
		}
		if c.Bool("quick") {
			return hint.With(usagef("--quick and --draws do not go together: --quick is for the checks of a device, --draws checks a run"), "give one of them")
		}
	}
	dev, err := openDevice(c)
	if err != nil {
		return err
	}
	defer dev.Close()
	ctx, done := interruptible(c)
	defer done()
	o := doctor.Options{Quick: c.Bool("quick"), Version: Version, Show: c.App.ErrWriter}
	var r *doctor.Report
	if dir != "" {
		r, err = doctor.Draws(ctx, dir, dev, o)
	} else {
		r, err = doctor.Run(ctx, dev, o)
	}
	if err != nil {
		return err
	}
	return printReport(c, r)
}

// printReport writes a report; one with failed checks is an error.
func printReport(c *cli.Context, r *doctor.Report) error {
	var err error
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
