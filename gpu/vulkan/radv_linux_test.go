//go:build amd64 || arm64

package vulkan

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	// most, where 25.0 takes up to 256 and spills none.
	for _, names := range [][]string{{"navi21"}, {"navi31", "gfx1100"}} {
		t.Run(names[0], func(t *testing.T) {
			name, out := compileRADV(t, names, child, mark)
			tabulated(t, map[string]string{"navi21": "RDNA2", "navi31": "RDNA3"}[names[0]], out)
			var got []string
			for _, c := range out.List {
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

// compiledByRADV is what a driver tells.
type compiledByRADV struct {
	Driver string // with its version
	List   []gpu.Compiled
}

// tabulated holds the table of docs/why/devices.md against what a driver tells, if it has a column
// for a card and the driver's version.
func tabulated(t *testing.T, card string, told compiledByRADV) {
	text, err := os.ReadFile("../../docs/why/devices.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| shader | ")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")
	column := slices.IndexFunc(strings.Split(lines[0], "|"), func(head string) bool {
		of, version, found := strings.Cut(strings.TrimSpace(head), ", Mesa ")
		return found && of == card && strings.Contains(told.Driver, "Mesa "+version+".")
	})
	if column < 0 {
		t.Logf("no column of docs/why/devices.md is of %s, %s", card, told.Driver)
		return
	}
	for _, line := range lines[2:] {
		cells := strings.Split(strings.Trim(line, "| "), "|")
		shader, found := strings.Trim(cells[0], "` "), strings.TrimSpace(cells[column+1])
		i := slices.IndexFunc(told.List, func(c gpu.Compiled) bool { return c.Variant == shader })
		if i < 0 {
			t.Errorf("docs/why/devices.md has a row of %s, which is no shader", shader)
			continue
		}
		f := told.List[i].Figures
		want := fmt.Sprintf("%g, %g", f["registers"], f["occupancy"])
		if f["spills"] > 0 {
			want += fmt.Sprintf("; spills %g", f["spills"])
		}
		if found != want {
			t.Errorf("docs/why/devices.md says %q of %s on %s, %s; it is %q", found, shader, card, told.Driver, want)
		}
	}
}

// compileRADV asks a process of its own for the first of the names that its driver knows,
// and returns that name too.
func compileRADV(t *testing.T, names []string, child, mark string) (string, compiledByRADV) {
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
			var told compiledByRADV
			if err := json.Unmarshal([]byte(data), &told); err != nil {
				t.Fatal(err)
			}
			return name, told
		}
	}
	if os.Getenv("CI") != "" || bytes.Contains(out, []byte("FAIL")) {
		t.Fatalf("Mesa's driver for AMD (package mesa-vulkan-drivers) compiled nothing:\n%s", out)
	}
	t.Skipf("no driver for AMD (package mesa-vulkan-drivers):\n%s", out)
	return "", compiledByRADV{}
}

// inspectRADV prints what the driver tells, after the mark.
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
	data, err := json.Marshal(compiledByRADV{infos[i].Driver, list})
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString(mark + string(data) + "\n")
}
