package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rlzero/rlzero/gpu"
)

// Check is what one check found.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"` // what to do; only if not OK
}

// Device describes the device that was checked.
type Device struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Driver   string `json:"driver"`
	Kind     string `json:"kind"`
	Tier     string `json:"tier"`
	Memory   int    `json:"memory"`      // bytes that the planner may use
	Binding  int    `json:"max_binding"` // bytes
	Subgroup int    `json:"subgroup"`    // lanes
}

// Report is the output of "rlzero doctor --json".
type Report struct {
	OK       bool         `json:"ok"`
	Version  string       `json:"version"` // of the program
	Device   *Device      `json:"device"`  // null: none was opened
	Numerics gpu.Numerics `json:"numerics"`
	Checks   []Check      `json:"checks"` // failed ones first
	LeftOut  []string     `json:"left_out,omitempty"`

	// Of a receipt only: whether this device and program would repeat the run.
	Repeatable *bool `json:"repeatable,omitempty"`
}

// thisDevice is the row of a receipt about the device at hand, which no run depends on: it
// fails nothing.
const thisDevice = "this device"

func newReport(version string) *Report { return &Report{OK: true, Version: version, Checks: []Check{}} }

func (r *Report) about(c gpu.Caps) {
	r.Numerics = c.Numerics
	r.Device = &Device{ID: c.ID, Name: c.Name, Driver: c.Driver, Kind: string(c.Kind), Tier: string(c.Tier),
		Memory: c.Memory, Binding: c.MaxBinding, Subgroup: c.Subgroup}
}

// add takes in a check; err nil means that all is well.
func (r *Report) add(name, detail string, err error, advice string) {
	c := Check{Name: name, OK: err == nil, Detail: detail}
	if err != nil {
		c.Detail, c.Advice = err.Error(), advice
		r.OK = false
	}
	r.Checks = append(r.Checks, c)
}

// leave notes a check that is not made.
func (r *Report) leave(name, why string) { r.LeftOut = append(r.LeftOut, name+" ("+why+")") }

// failed is the number of checks that failed.
func (r *Report) failed() int {
	n := 0
	for _, c := range r.Checks {
		if !c.OK {
			n++
		}
	}
	return n
}

// finish puts failed checks first, each part in its old order.
func (r *Report) finish() *Report {
	slices.SortStableFunc(r.Checks, func(a, b Check) int {
		switch {
		case a.OK == b.OK:
			return 0
		case b.OK:
			return -1
		}
		return 1
	})
	return r
}

// Print writes the report for people.
func (r *Report) Print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range r.Checks {
		mark := "ok"
		if !c.OK {
			mark = "FAILED"
		} else if c.Name == thisDevice && r.Repeatable != nil && !*r.Repeatable {
			mark = "-" // no fault of the run
		}
		lines := strings.Split(c.Detail, "\n")
		fmt.Fprintf(w, "%s\t%s\t%s\n", mark, c.Name, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(w, "\t\t%s\n", line)
		}
		if c.Advice != "" {
			fmt.Fprintf(w, "\t\twhat to do: %s\n", c.Advice)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, text := range r.LeftOut {
		fmt.Fprintf(out, "not checked: %s\n", text)
	}
	_, err := fmt.Fprintln(out, r.Verdict())
	return err
}

// Verdict is the report in a sentence.
func (r *Report) Verdict() string {
	if n := r.failed(); n > 0 {
		return fmt.Sprintf("%d of %d checks failed, the first: %s", n, len(r.Checks), r.Checks[0].Name)
	}
	text := fmt.Sprintf("all %d checks passed", len(r.Checks))
	if r.Repeatable != nil && r.Device != nil {
		text = fmt.Sprintf("all %d hashes are those of the receipt", len(r.Checks)-1)
		if !*r.Repeatable {
			text += "; this device cannot repeat the run"
		}
	}
	return text
}
