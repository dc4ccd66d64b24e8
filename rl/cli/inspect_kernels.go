package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/gpu"
)

func kernelsCommand() *cli.Command {
	return &cli.Command{
		Name: "kernels", Usage: "write what the driver says about each kernel: registers, spills, occupancy",
		Description: `Compiles every shader of every tier that the device can take, and writes what its driver says of it:
registers per lane, registers spilled to memory, subgroups that a core holds at once, bytes of
code. --json has all statistics of the driver, in its own words. It is an error if the driver
says nothing (Mesa's lavapipe, WebGPU).

Mesa's driver for AMD compiles for cards that are not there. Such a device is listed as not
usable, and can still be inspected.

Example:
   RADV_FORCE_FAMILY=gfx1100 rlzero inspect kernels --device vulkan:0`,
		Flags:  []cli.Flag{deviceFlag, jsonFlag},
		Action: inspectKernels,
	}
}

func inspectKernels(c *cli.Context) error {
	if _, err := positional(c); err != nil {
		return err
	}
	info, list, err := gpu.Inspect(c.String("device"))
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return printJSON(c, struct {
			Device  gpu.Info       `json:"device"`
			Kernels []gpu.Compiled `json:"kernels"`
		}{info, list})
	}
	return printKernels(c.App.Writer, info, list)
}

func printKernels(w io.Writer, info gpu.Info, list []gpu.Compiled) error {
	fmt.Fprintf(w, "%s %s (%s)\n", info.ID, info.Name, info.Driver)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	columns := []string{"registers", "spills", "occupancy", "code_bytes", "scratch_bytes"}
	fmt.Fprint(table, "lanes\t")
	for _, name := range columns {
		fmt.Fprint(table, name, "\t")
	}
	fmt.Fprintln(table, "  kernel")
	for _, k := range list {
		fmt.Fprint(table, told(float64(k.Subgroup), k.Subgroup > 0), "\t")
		for _, name := range columns {
			value, ok := k.Figures[name]
			fmt.Fprint(table, told(value, ok), "\t")
		}
		fmt.Fprintln(table, "  "+k.Variant)
	}
	return table.Flush()
}

// told is a figure, or a dash where the driver does not tell.
func told(x float64, ok bool) string {
	if !ok {
		return "-"
	}
	return figure(x)
}
