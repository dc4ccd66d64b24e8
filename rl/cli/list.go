package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/metrics"
)

func devicesCommand() *cli.Command {
	return &cli.Command{
		Name: "devices", Usage: "list the devices, best first",
		Description: `Discrete GPUs come before integrated, virtual and software devices. Where Vulkan and WebGPU reach
the same device, Vulkan comes first. Each line gives the reason for the device's place.

Examples:
   rlzero devices
   rlzero devices --json

The exit code is 3 if there is only the plain-Go device.`,
		Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			infos, err := gpu.List()
			usable := false
			for _, d := range infos {
				usable = usable || d.Usable && d.Kind != gpu.Reference
				if c.Bool("json") {
					if err := printJSON(c, d); err != nil {
						return err
					}
					continue
				}
				if d.Usable {
					fmt.Fprintf(c.App.Writer, "%-10s %-11s %s (%s)\n           tier %s, %.1f GiB; %s\n", d.ID, d.Kind, d.Name, d.Driver, d.Tier, float64(d.Memory)/(1<<30), d.Reason)
				} else {
					fmt.Fprintf(c.App.Writer, "%-10s %-11s %s\n           not usable: %s\n", d.ID, d.Kind, d.Name, d.Reason)
				}
			}
			if err != nil && usable {
				fmt.Fprintf(c.App.ErrWriter, "rlzero: warning: %v\n", err)
				return nil
			}
			if err == nil && !usable {
				err = fmt.Errorf("%w: there is only the plain-Go device", gpu.ErrNoDevice)
			}
			return err
		},
	}
}

func metricsCommand() *cli.Command {
	list := func(c *cli.Context) error {
		if !c.Bool("json") {
			return metrics.Print(c.App.Writer)
		}
		for _, m := range metrics.Table() {
			if err := printJSON(c, m); err != nil {
				return err
			}
		}
		return nil
	}
	show := func(c *cli.Context, name string) error {
		m, _ := metrics.Find(name)
		if c.Bool("json") {
			return printJSON(c, m)
		}
		unit := m.Unit
		if unit == "" {
			unit = "none"
		}
		_, err := fmt.Fprintf(c.App.Writer, "%s\n   unit     %s\n   meaning  %s\n   reading  %s\n", m.Name, unit, m.Meaning, m.Reading)
		return err
	}
	return metricCatalogue.lister("explain every metric: unit, meaning, how to read it", "policy/entropy", list, show)
}
