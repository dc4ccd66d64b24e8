package doctor

import (
	"fmt"
	"strings"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/rl/receipt"
)

// Receipt checks the receipt of the run in dir. dev, nil if there is none, is
// compared with the device of the run. told is told of each program of others that is started for it, see
// [resolve.Open].
func Receipt(dir string, dev gpu.Device, version string, told func(command string)) (*Report, error) {
	made, err := receipt.Read(dir)
	if err != nil {
		return nil, err
	}
	audit, err := made.Audit(dir, told)
	if err != nil {
		return nil, err
	}
	r := newReport(version)
	for _, a := range audit {
		advice := "it has changed since the run wrote it: restore it, or repeat the run with rlzero train"
		if a.Input {
			advice = "it has changed since the run read it: restore it, or the run cannot be repeated"
		}
		if a.LeftOut != "" {
			r.leave(a.Name, a.LeftOut)
			continue
		}
		r.add(a.Name, fmt.Sprintf("SHA-256 %.16s", a.Hash), a.Err, advice)
	}
	for _, c := range made.Continued {
		for _, key := range c.Changes {
			r.add("continued", fmt.Sprintf("after step %d with %s = %s, which was %s, and with the state of its optimizer", c.Step, key.Key, key.To, key.From), nil, "")
		}
	}
	repeatable, detail := false, "no device to compare with"
	if dev != nil {
		r.about(dev.Caps())
		if err := made.Repeatable(dev.Caps()); err != nil {
			detail = "this device would not write the same bytes: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		} else {
			repeatable = true
			detail = "this device would write the same bytes: same name, driver, tier and numerics version"
		}
	}
	if made.Program != version {
		detail += fmt.Sprintf(" (run by rlzero %s, this is %s)", made.Program, version)
	}
	r.Repeatable = &repeatable
	r.add(thisDevice, detail, nil, "")
	return r.finish(), nil
}
