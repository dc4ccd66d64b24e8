package gputest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest/oracle"
	"github.com/rlzero/rlzero/gpu/refdev"
	_ "github.com/rlzero/rlzero/gpu/vulkan" // backends register themselves
	_ "github.com/rlzero/rlzero/gpu/webgpu"
)

// Each runs a test on all [Devices], as a subtest named by device and tier.
func Each(t *testing.T, test func(t *testing.T, dev gpu.Device)) {
	t.Helper()
	each(t, Devices(t), test)
}

// EachTier runs a test on every device in every tier, with -short too.
func EachTier(t *testing.T, test func(t *testing.T, dev gpu.Device)) {
	t.Helper()
	each(t, every(t), test)
}

func each(t *testing.T, devices []gpu.Device, test func(t *testing.T, dev gpu.Device)) {
	for _, dev := range devices {
		t.Run(Name(dev), func(t *testing.T) { test(t, dev) })
	}
}

// Name is a device and its tier: "vulkan:0/TL".
func Name(dev gpu.Device) string {
	c := dev.Caps()
	return fmt.Sprintf("%s/%s", c.ID, c.Tier)
}

// Long tells whether the long forms of tests are wanted: RLZERO_LONG is set.
func Long() bool { return os.Getenv("RLZERO_LONG") != "" }

// Slow tells whether a device runs a GPU's kernels on a CPU: a workgroup's barriers
// cost it 20 times what its own tier takes. Tests of whole models take fewer cases
// on it unless they are to be long.
func Slow(dev gpu.Device) bool {
	c := dev.Caps()
	return c.Kind == gpu.CPU && c.Tier == gpu.TierBase && !Long()
}

// Again tells whether a device is reached through WebGPU. What depends on the text of a kernel, and
// not on how it is submitted, is tested through Vulkan; tests take fewer cases of it through WebGPU
// unless they are to be long.
func Again(dev gpu.Device) bool { return strings.HasPrefix(dev.Caps().ID, "webgpu:") && !Long() }

// Devices returns every device in every tier, or those of one backend alone if
// RLZERO_ONLY_BACKEND names it. With -short it leaves out those that are [Slow]. It fails
// the test when there is none of that backend, or when the device that RLZERO_WANT_DEVICE
// names is not among them.
func Devices(t testing.TB) []gpu.Device {
	t.Helper()
	devices := every(t)
	if testing.Short() {
		devices = slices.DeleteFunc(slices.Clone(devices), Slow)
	}
	return devices
}

// every returns the devices before some are left out.
func every(t testing.TB) []gpu.Device {
	t.Helper()
	devices, err := opened()
	if only := os.Getenv("RLZERO_ONLY_BACKEND"); only != "" && len(devices) == 0 {
		t.Fatalf("RLZERO_ONLY_BACKEND=%s, but it has no device: %v", only, err)
	}
	if want := os.Getenv("RLZERO_WANT_DEVICE"); want != "" && !present(devices, want) {
		var names []string
		for _, dev := range devices {
			names = append(names, dev.Caps().Name)
		}
		t.Fatalf("RLZERO_WANT_DEVICE=%s, but the devices are %s; absent: %v", want, strings.Join(names, ", "), err)
	}
	if err != nil {
		t.Logf("absent: %v", err)
	}
	return devices
}

func present(devices []gpu.Device, want string) bool {
	if want == "lavapipe" {
		want = "llvmpipe"
	}
	for _, dev := range devices {
		c := dev.Caps()
		if strings.Contains(strings.ToLower(c.Name+" "+c.Driver), strings.ToLower(want)) {
			return true
		}
	}
	return false
}

// opened opens every device that tests are to run on once. The error tells what
// could not be opened.
var opened = sync.OnceValues(func() ([]gpu.Device, error) {
	only := os.Getenv("RLZERO_ONLY_BACKEND")
	infos, listErr := gpu.List()
	var devices []gpu.Device
	var missing []string
	if listErr != nil {
		missing = append(missing, listErr.Error())
	}
	open := func(id string) (gpu.Device, bool) {
		dev, err := gpu.Open(id)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", id, err))
			return nil, false
		}
		devices = append(devices, dev)
		return dev, true
	}
	for _, info := range infos {
		if info.Kind == gpu.Reference || only != "" && !strings.HasPrefix(info.ID, only+":") {
			continue
		}
		dev, ok := open(info.ID)
		if ok && dev.Caps().Tier != gpu.TierBase {
			// Every device can run the base tier too.
			restore := override("RLZERO_TIER", string(gpu.TierBase))
			open(info.ID)
			restore()
		}
	}
	if only == "" || only == "ref" {
		devices = append(devices, refdev.New())
	}
	if len(missing) > 0 {
		return devices, fmt.Errorf("%s", strings.Join(missing, "; "))
	}
	return devices, nil
})

// EachWide runs a test on every device that can take tier T1, once in T1 and once in
// T0, whichever is its own: the two give equal bits.
func EachWide(t *testing.T, test func(t *testing.T, base, wide gpu.Device)) {
	t.Helper()
	for _, base := range every(t) {
		if base.Caps().Tier != gpu.TierBase || base.Caps().Kind == gpu.Reference {
			continue
		}
		t.Run(base.Caps().ID, func(t *testing.T) {
			restore := override("RLZERO_TIER", string(gpu.TierWide))
			wide, err := gpu.Open(base.Caps().ID)
			restore()
			if err != nil && os.Getenv("CI") != "" && strings.HasPrefix(base.Caps().ID, "vulkan:") {
				t.Fatalf("no tier T1: %v", err)
			}
			if err != nil {
				t.Skipf("no tier T1: %v", err)
			}
			defer wide.Close()
			test(t, base, wide)
		})
	}
}

// EachMatrix runs a test on every device that has matrix cores, in the tier of those. It
// fails if RLZERO_WANT_TIER names a tier that no device has.
func EachMatrix(t *testing.T, test func(t *testing.T, dev gpu.Device)) {
	t.Helper()
	if only := os.Getenv("RLZERO_ONLY_BACKEND"); only != "" && only != "vulkan" {
		return
	}
	want, missing := os.Getenv("RLZERO_WANT_TIER"), ""
	for _, tier := range []gpu.Tier{gpu.TierMatrix, gpu.TierMatrix8} {
		restore := override("RLZERO_TIER", string(tier))
		infos, err := gpu.List()
		for _, info := range infos {
			if info.Tier != tier || !info.Usable {
				missing += fmt.Sprintf("%s: %s\n", info.ID, info.Reason)
				continue
			}
			dev, err := gpu.Open(info.ID)
			if err != nil {
				t.Errorf("%s: %v", info.ID, err)
				continue
			}
			want = strings.TrimPrefix(want, string(tier))
			t.Run(Name(dev), func(t *testing.T) {
				defer dev.Close()
				test(t, dev)
			})
		}
		restore()
		if err != nil {
			missing += err.Error() + "\n"
		}
	}
	if want != "" {
		t.Errorf("RLZERO_WANT_TIER=%s, but no device has it:\n%s", os.Getenv("RLZERO_WANT_TIER"), missing)
	}
}

// override sets an environment variable and returns what undoes it.
func override(name, value string) func() {
	old, had := os.LookupEnv(name)
	os.Setenv(name, value)
	return func() {
		if had {
			os.Setenv(name, old)
		} else {
			os.Unsetenv(name)
		}
	}
}

// Same runs a case on a device and on its plain-Go twin and fails the test
// where either is outside the bounds of the case: so the two agree within the
// sum of their errors.
func Same(t testing.TB, dev gpu.Device, c oracle.Case) {
	t.Helper()
	devices := []gpu.Device{dev}
	if dev.Caps().Kind != gpu.Reference {
		devices = append(devices, refdev.New())
	}
	for _, d := range devices {
		if err := c.Check(d); err != nil {
			t.Errorf("%s: %v", Name(d), err)
		}
	}
}

// Run runs a case and returns the bindings afterwards; it fails the test when
// the device does.
func Run(t testing.TB, dev gpu.Device, c oracle.Case) []any {
	t.Helper()
	out, err := c.Run(dev)
	if err != nil {
		t.Fatalf("%s: %s %s: %v", Name(dev), c.Kernel, c.Name, err)
	}
	return out
}
