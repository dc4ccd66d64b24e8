package doctor

import (
	"errors"
	"fmt"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
)

// checkKernel holds a kernel against the oracle.
func checkKernel(dev gpu.Device, name string) (string, error) {
	cases := oracle.For(dev, name)
	if len(cases) == 0 {
		return "", errors.New("the oracle has no case for this kernel")
	}
	worst := 0.0
	for _, c := range cases {
		got, err := c.Run(dev)
		if err == nil {
			err = c.Compare(got)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", c.Name, err)
		}
		worst = max(worst, c.Share(got))
	}
	if worst == 0 {
		return fmt.Sprintf("%d cases, exact", len(cases)), nil
	}
	return fmt.Sprintf("%d cases, worst error %.2g %% of its bound", len(cases), 100*worst), nil
}
