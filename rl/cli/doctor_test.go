package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/gpu/gputest"
	"github.com/rlzero/rlzero/rl/doctor"
)

// brokenBackend has one device, whose kernel swiglu is wrong.
type brokenBackend struct{}

func (brokenBackend) Name() string { return "broken" }

func (brokenBackend) List() ([]gpu.Info, error) {
	return []gpu.Info{{ID: "broken:0", Name: "a device with a fault", Kind: gpu.Reference, Usable: true}}, nil
}

func (brokenBackend) Open(int) (gpu.Device, error) {
	ref, err := gpu.Open("ref")
	return &gputest.Broken{Device: ref, Kernel: "swiglu", Bit: 22}, err
}

func init() { gpu.Register(brokenBackend{}) }

// rlzero runs the command line.
func rlzero(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Main(append([]string{"rlzero"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// report runs doctor or receipt with --json and reads the object it prints.
func report(t *testing.T, wantCode int, args ...string) (r doctor.Report, stderr string) {
	t.Helper()
	code, stdout, stderr := rlzero(t, append(args, "--json")...)
	if code != wantCode {
		t.Fatalf("exit code %d, want %d: %s", code, wantCode, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	for _, key := range []string{`{"ok":`, `"device":{"id":`, `"numerics":`, `"checks":[{"name":`, `"detail":`} {
		if !strings.Contains(stdout, key) {
			t.Errorf("no %s in %s", key, stdout)
		}
	}
	return r, stderr
}

func TestDoctor(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: checks every kernel twice more")
	}
	if r, _ := report(t, 0, "doctor", "--device", "ref", "--quick"); !r.OK || r.Device.Tier != "ref" || r.Repeatable != nil {
		t.Errorf("plain Go: %+v", r)
	}
	r, stderr := report(t, exitFailed, "doctor", "--device", "broken", "--quick")
	if first := r.Checks[0]; r.OK || first.OK || first.Name != "kernel swiglu" || !strings.Contains(first.Advice, "driver") {
		t.Errorf("broken: first row %+v", r.Checks[0])
	}
	if !strings.Contains(stderr, "rlzero: error: 1 of") || !strings.Contains(stderr, "kernel swiglu") {
		t.Errorf("stderr %q", stderr)
	}
	code, stdout, _ := rlzero(t, "doctor", "--device", "broken", "--quick")
	if code != exitFailed || !strings.HasPrefix(stdout, "FAILED  kernel swiglu") || !strings.Contains(stdout, "what to do: update the driver") {
		t.Errorf("exit code %d, table\n%s", code, stdout)
	}
}

// TestReceipt checks a run's receipt and completions, then a changed run's receipt.
func TestReceipt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"train", "--device", "ref", "--run", dir}
	for _, set := range []string{"task.eval_problems=2", "stage.warm-up.skip=true", "stage.rl.steps=1", "stage.rl.prompts_per_step=2", "stage.rl.eval_every=0"} {
		args = append(args, "--set", set)
	}
	if code, _, stderr := rlzero(t, append(args, "countdown-short")...); code != 0 {
		t.Fatal(stderr)
	}
	if r, _ := report(t, 0, "receipt", dir, "--device", "ref"); !r.OK || r.Repeatable == nil || !*r.Repeatable {
		t.Errorf("%+v", r)
	}
	if r, _ := report(t, 0, "doctor", "--draws", dir, "--device", "ref"); !r.OK || len(r.Checks) != 3 || r.Checks[1].Name != "step 1" {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := report(t, exitFailed, "receipt", "--device", "ref", dir)
	if r.Checks[0].Name != "metrics.jsonl" || r.Checks[0].OK || !r.Checks[1].OK {
		t.Errorf("%+v", r.Checks)
	}
}

func TestDoctorUsage(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"rlzero doctor takes no arguments; found": {"doctor", "runs/x"},
		"hint: write rlzero receipt RUN\n":        {"doctor", "--receipt", "runs/x"},
		"unknown flag \"--quick\"":                {"receipt", "--device", "ref", "--quick", "x"},
		"has no receipt.json":                     {"receipt", "--device", "ref", t.TempDir()},
		"hint: did you mean --device?":            {"doctor", "--devices", "ref"},
		"run nothing: there is no such folder":    {"doctor", "--draws", "nothing"},
		"not a run folder: ":                      {"doctor", "--draws", empty, "--device", "ref"},
		"--quick and --draws do not go together":  {"doctor", "--draws", empty, "--quick"},
		`unknown device "nosuch"`:                 {"doctor", "--device", "nosuch"},
	} {
		if code, _, stderr := rlzero(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %q", args, code, stderr)
		}
	}
}
