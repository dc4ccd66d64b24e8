package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/rl/run"
)

// ref is the plain-Go device.
func ref(t *testing.T) gpu.Device {
	t.Helper()
	dev, err := gpu.Open("ref") // package gputest has registered it
	if err != nil {
		t.Fatal(err)
	}
	return dev
}

// TestHealthy: every device passes in the tier that it would be used in; the
// tests of packages gpu and model have the other tiers. A GPU's tier on a CPU makes
// no training runs here unless the tests are to be long.
func TestHealthy(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: makes every check on every device")
	}
	seen := map[string]bool{}
	for _, dev := range gputest.Devices(t) {
		c := dev.Caps()
		if seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		t.Run(gputest.Name(dev), func(t *testing.T) {
			quick := c.Kind == gpu.Reference || gputest.Slow(dev)
			r, err := Run(t.Context(), dev, Options{Quick: quick, Show: io.Discard})
			if err != nil {
				t.Fatal(err)
			}
			for _, check := range r.Checks {
				if !check.OK {
					t.Errorf("%s: %s", check.Name, check.Detail)
				}
				if check.Detail == "" || check.OK && check.Advice != "" {
					t.Errorf("%s: detail %q, advice %q", check.Name, check.Detail, check.Advice)
				}
			}
			const facts = 4
			want := facts + len(allSteps())
			if got := len(r.Checks) + len(r.LeftOut); got != want || !r.OK || r.failed() != 0 {
				t.Errorf("%d checks made or left out, want %d; ok %v, %d failed", got, want, r.OK, r.failed())
			}
			if quick != (len(r.LeftOut) > 0) {
				t.Errorf("quick %v, left out %v", quick, r.LeftOut)
			}
		})
	}
}

// TestWrongKernel: a wrong bit in one kernel puts its row first, and what is
// built on kernels is left out.
func TestWrongKernel(t *testing.T) {
	for _, name := range []string{"rmsnorm", "matmul_tn_acc", "sample_draw", "add"} {
		dev := &gputest.Broken{Device: ref(t), Kernel: name, Bit: 22}
		r, err := Run(t.Context(), dev, Options{Show: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		if first := r.Checks[0]; r.OK || first.OK || first.Name != "kernel "+name || first.Advice == "" {
			t.Errorf("%s: first row %+v", name, first)
		}
		if n := r.failed(); n != 1 {
			t.Errorf("%s: %d rows failed: %+v", name, n, r.Checks[:n])
		}
		if len(r.LeftOut) != len(wholes)-1 { // losses need no device
			t.Errorf("%s: left out %v", name, r.LeftOut)
		}
		var table strings.Builder
		if err := r.Print(&table); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(table.String()), "\n")
		if !strings.HasPrefix(lines[0], "FAILED  kernel "+name) || lines[len(lines)-1] != r.Verdict() {
			t.Errorf("%s: table\n%s", name, table.String())
		}
	}
}

// TestWrongParts: each check of a whole part finds a device that goes wrong only
// there, by the last digit where bits are compared.
func TestWrongParts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: makes every check for each wrong part")
	}
	for _, c := range []struct {
		step string
		dev  gputest.Broken
		want string // in the error
	}{
		{"gradients", gputest.Broken{Kernel: "rmsnorm_backward_dw", Bit: 25}, "norm"},
		{"gradient bits", gputest.Broken{Kernel: "vocab_backward", Bit: 0}, "in batches of"},
		{"sampler = trainer = scorer", gputest.Broken{Kernel: "vocab_stats", Bit: 0}, "was"},
		{"sampler = trainer = scorer", gputest.Broken{Kernel: "attention", Bit: 20}, "completion"},
		{"sampler = trainer = scorer, bf16 weights", gputest.Broken{Kernel: "matmul_nt_bf16", Bit: 20}, "completion"},
		{"sampler = trainer = scorer, bf16 keys and values", gputest.Broken{Kernel: "attention_bf16", Bit: 20}, "completion"},
		{"learning rate 0", gputest.Broken{Kernel: "vocab_stats", Bit: 0}, "policy/"},
		{"learning rate 0", gputest.Broken{Kernel: "adamw", Bit: 0}, ""},
		{"equal runs, equal bytes", gputest.Broken{Kernel: "adamw", Bit: 0, When: func(run int) bool { return run == 0 }}, "differs"},
	} {
		i := slices.IndexFunc(wholes, func(s step) bool { return s.name == c.step })
		c.dev.Device = ref(t)
		detail, err := wholes[i].do(&subject{ctx: t.Context(), dev: &c.dev, dir: t.TempDir()})
		if err == nil {
			t.Errorf("%s passes on a device with a wrong %s: %s", c.step, c.dev.Kernel, detail)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, wrong %s: error %q, want %q in it", c.step, c.dev.Kernel, err, c.want)
		} else {
			t.Logf("%s, wrong %s: %v", c.step, c.dev.Kernel, err)
		}
	}
}

// lostDevice is lost from the first submission of a kernel's program on.
type lostDevice struct{ gpu.Device }

func (lostDevice) Submit(gpu.Program) error { return fmt.Errorf("submit: %w", gpu.ErrDeviceLost) }

func TestLostDevice(t *testing.T) {
	r, err := Run(t.Context(), lostDevice{ref(t)}, Options{Show: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if first := r.Checks[0]; r.failed() != 1 || !strings.HasPrefix(first.Name, "kernel") || !strings.Contains(first.Detail, "device lost") {
		t.Errorf("%d rows failed, the first %+v", r.failed(), first)
	}
	if want := len(allSteps()) - 2; len(r.LeftOut) != want { // the first kernel, losses
		t.Errorf("%d left out, want %d: %v", len(r.LeftOut), want, r.LeftOut)
	}
}

func TestPanic(t *testing.T) {
	s := step{do: func(*subject) (string, error) { panic("index out of range") }}
	if _, err := s.guarded(nil); err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("error %v", err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Run(ctx, ref(t), Options{Show: io.Discard}); !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("error %v, want ErrInterrupted", err)
	}
}
