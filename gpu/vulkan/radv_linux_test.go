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
	// TL and T2x8 are for CPUs with 8 lanes; matrix cores are in RDNA3, and Mesa 22 has no
	// use of them.
	wanted := func(name string) []string {
		var want []string
		for _, v := range manifest.Variants {
			switch gpu.Tier(v.Tier) {
			case gpu.TierLanes, gpu.TierMatrix8:
			case gpu.TierMatrix:
				if name == "navi31" {
					want = append(want, v.ID)
				}
			default:
				want = append(want, v.ID)
			}
		}
		slices.Sort(want)
		return want
	}
	// RDNA2, and RDNA3 by the names that later versions of Mesa and Mesa 22 have for it.
	// What Mesa 22 spills for it is told and no more: it gives a lane 132 registers at
	// most, where 25.0 takes up to 204 and spills none.
	for _, names := range [][]string{{"navi21"}, {"navi31", "gfx1100"}} {
		t.Run(names[0], func(t *testing.T) {
			name, list := compileRADV(t, names, child, mark)
			var got []string
			for _, c := range list {
				got = append(got, c.Variant)
				spills, known := c.Figures["spills"]
				switch {
				case !known || c.Figures["registers"] == 0 || c.Figures["occupancy"] == 0 || c.Figures["code_bytes"] == 0:
					t.Errorf("%s: the driver does not tell all: %v", c.Variant, c.Statistics)
				case spills > 0 && name != "gfx1100":
					t.Errorf("%s: %g registers are spilled to memory: use a smaller tile", c.Variant, spills)
				case spills > 0:
					t.Logf("%s: Mesa 22 spills %g registers to memory", c.Variant, spills)
				}
			}
			slices.Sort(got)
			want := wanted(name)
			if !slices.Equal(got, want) {
				t.Errorf("%d shaders compiled, %d in the manifest:\n%v\n%v", len(got), len(want), got, want)
			}
		})
	}
}

// compileRADV asks a process of its own for the first of the names that its driver knows,
// and returns that name too.
func compileRADV(t *testing.T, names []string, child, mark string) (string, []gpu.Compiled) {
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
			return name, list
		}
	}
	if os.Getenv("CI") != "" || bytes.Contains(out, []byte("FAIL")) {
		t.Fatalf("Mesa's driver for AMD (package mesa-vulkan-drivers) compiled nothing:\n%s", out)
	}
	t.Skipf("no driver for AMD (package mesa-vulkan-drivers):\n%s", out)
	return "", nil
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
