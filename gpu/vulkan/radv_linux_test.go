//go:build amd64 || arm64

package vulkan

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/gpu"
	"github.com/rlzero/rlzero/shaders"
)

// spilling are variants that some version of Mesa keeps registers of in memory, and why
// that stands.
var spilling = map[string]string{
	"matmul_free.T0.r8":          "no run uses it: bench decode tries it, and takes it only where it is faster",
	"matmul_free_residual.T0.r8": "likewise",
}

// TestRADV compiles every shader for GPUs with Mesa's driver for AMD, for cards that
// need not be there (RADV_FORCE_FAMILY, https://docs.mesa3d.org/envvars.html): all of
// the manifest compile, and none keeps registers in memory. It runs itself in a process
// of each family, as the driver reads the environment through C.
func TestRADV(t *testing.T) {
	const child, mark = "RLZERO_TEST_RADV", "compiled by RADV: "
	if os.Getenv(child) != "" {
		inspectRADV(t, mark)
		return
	}
	manifest, err := shaders.ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	var want []string // TL is for CPUs with 8 lanes
	for _, v := range manifest.Variants {
		if v.Tier != string(gpu.TierLanes) {
			want = append(want, v.ID)
		}
	}
	slices.Sort(want)
	// RDNA2, and RDNA3 by the names that Mesa 22 and later ones have for it.
	for _, names := range [][]string{{"navi21"}, {"gfx1100", "navi31"}} {
		t.Run(names[0], func(t *testing.T) {
			list := compileRADV(t, names, child, mark)
			var got []string
			for _, c := range list {
				got = append(got, c.Variant)
				spills, known := c.Figures["spills"]
				reason := spilling[c.Variant]
				switch {
				case !known || c.Figures["registers"] == 0 || c.Figures["occupancy"] == 0 || c.Figures["code_bytes"] == 0:
					t.Errorf("%s: the driver does not tell all: %v", c.Variant, c.Statistics)
				case spills > 0 && reason == "":
					t.Errorf("%s: %g registers are spilled to memory: use a smaller tile, or say in spilling why it stays", c.Variant, spills)
				case spills > 0:
					t.Logf("%s: %g registers are spilled to memory: %s", c.Variant, spills, reason)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%d shaders compiled, %d in the manifest:\n%v\n%v", len(got), len(want), got, want)
			}
		})
	}
}

// compileRADV asks a process of its own for the first of the names that its driver knows.
func compileRADV(t *testing.T, names []string, child, mark string) []gpu.Compiled {
	var out []byte
	for _, name := range names {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRADV$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1", "RADV_FORCE_FAMILY="+name, "RLZERO_TIER=")
		out, _ = cmd.CombinedOutput() // what is wrong with it is in the output
		for line := range bytes.Lines(out) {
			_, data, found := strings.Cut(string(line), mark)
			if !found {
				continue
			}
			var list []gpu.Compiled
			if err := json.Unmarshal([]byte(data), &list); err != nil {
				t.Fatal(err)
			}
			return list
		}
	}
	if os.Getenv("CI") != "" || bytes.Contains(out, []byte("FAIL")) {
		t.Fatalf("Mesa's driver for AMD (package mesa-vulkan-drivers) compiled nothing:\n%s", out)
	}
	t.Skipf("no driver for AMD (package mesa-vulkan-drivers):\n%s", out)
	return nil
}

// inspectRADV prints what the driver tells, behind the mark.
func inspectRADV(t *testing.T, mark string) {
	infos, err := List()
	i := slices.IndexFunc(infos, func(info gpu.Info) bool { return strings.Contains(info.Name, "RADV") })
	if i < 0 {
		t.Skipf("%v, %+v", err, infos)
	}
	list, err := Inspect(i)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString(mark + string(data) + "\n")
}
