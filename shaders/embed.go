package shaders

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// NumericsVersion names the order of operations inside every output of every
// kernel. It changes when any kernel may give other bits on the same device.
// Version 1: matmul is one chain over k ascending for every K, on every tier.
// Version 2: the gradient through a vocabulary table that is cut into slabs is one
// chain over all of them, as of a table in one piece.
const NumericsVersion = 2

// Numerics is the version of a tier: "2", or for the matrix cores of T2 and T2x8, whose
// products round and add in their own ways, "2-mma16" and "2-mma8". No run mixes two.
func Numerics(tier string) string {
	version := strconv.Itoa(NumericsVersion)
	switch tier {
	case "T2":
		version += "-mma16"
	case "T2x8":
		version += "-mma8"
	}
	return version
}

// maxGroupsX is the largest number of workgroups along x of a linear variant;
// the rest goes to y. Vulkan and WebGPU guarantee 65535.
const maxGroupsX = 32768

//go:embed *.wgsl
var sources embed.FS

//go:embed manifest.json
var manifest []byte

// Variant is one shader of a kernel: a template body with its numbers.
type Variant struct {
	ID      string // "matmul_nt.TL.rows16", also the file name in spv/
	Kernel  string
	Tier    string   // one of Tiers, see package doc
	Tile    [3]int   // extent of Op.Size done by one workgroup
	Linear  bool     // workgroups along x may be spread over y
	MaxSize [][3]int // largest extents served; 0 is no bound
	Limits  []Limit  // what Check holds dispatches to
	Lanes   int      // of the subgroups that it must get; 0: any
	Texels  []int    // words in a texel of each binding: 4, 2, 1, or 0 for a storage buffer; nil: all are these

	file  string         // template file
	body  string         // {{define}} in it
	names map[string]int // numbers the body reads
}

// Limit is the largest value of a parameter that a variant can take.
type Limit struct {
	Param string
	Max   int
}

// Entry is a line of manifest.json: what the generator made of a variant.
type Entry struct {
	ID     string   `json:"id"`
	Kernel string   `json:"kernel"`
	Tier   string   `json:"tier"`
	Tile   [3]int   `json:"tile"`
	Linear bool     `json:"linear,omitempty"`
	Max    [][3]int `json:"max,omitempty"`
	WGSL   string   `json:"wgsl"`  // SHA-256 of the rendered text
	SPIRV  string   `json:"spirv"` // SHA-256 of the module
}

// Manifest is the content of manifest.json.
type Manifest struct {
	Numerics int     `json:"numerics"`
	Compiler string  `json:"compiler"`
	Variants []Entry `json:"variants"`
}

var loadVariants = sync.OnceValues(func() ([]Variant, error) { return parseVariants(sources) })

// Kernels returns the contracts of all kernels.
func Kernels() []Kernel { return slices.Clone(table) }

// Lookup returns the contract of a kernel.
func Lookup(name string) (*Kernel, bool) {
	i := slices.IndexFunc(table, func(k Kernel) bool { return k.Name == name })
	if i < 0 {
		return nil, false
	}
	return &table[i], true
}

// All returns every variant, in the order of the template files' names and of
// the declarations in them.
func All() ([]Variant, error) {
	list, err := loadVariants()
	return slices.Clone(list), err
}

// Variants returns the variants of a kernel in a tier, in the order in which
// Choose tries them. It is empty when there are none. T1 has shaders of its own
// where T0 is slow on a GPU, and takes those of T0 elsewhere.
func Variants(kernel, tier string) []Variant {
	for {
		list := own(kernel, tier)
		below, ok := below[tier]
		if len(list) > 0 || !ok {
			return list
		}
		tier = below
	}
}

// below is the tier whose shaders another takes for kernels that it has none of.
var below = map[string]string{"T1": "T0", "T2": "T1", "T2x8": "T1"}

// own returns the variants that are declared for a tier.
func own(kernel, tier string) []Variant {
	all, _ := loadVariants() // a tree whose templates do not parse fails its tests
	var list []Variant
	for _, v := range all {
		if v.Kernel == kernel && v.Tier == tier {
			list = append(list, v)
		}
	}
	return list
}

// Choose returns the variant that runs an extent: the first whose bounds admit
// it. An extent of 0 counts as 1.
func Choose(kernel, tier string, size [3]int) (Variant, error) {
	if _, err := loadVariants(); err != nil {
		return Variant{}, err
	}
	list := Variants(kernel, tier)
	for _, v := range list {
		if v.admits(size) {
			return v, nil
		}
	}
	if len(list) == 0 {
		return Variant{}, fmt.Errorf("no shader of kernel %q for tier %q", kernel, tier)
	}
	return Variant{}, fmt.Errorf("no shader of kernel %q for tier %q serves an extent of %v", kernel, tier, size)
}

func (v Variant) admits(size [3]int) bool {
	within := func(most [3]int) bool {
		for i, bound := range most {
			if bound > 0 && size[i] > bound {
				return false
			}
		}
		return true
	}
	return len(v.MaxSize) == 0 || slices.ContainsFunc(v.MaxSize, within)
}

// Groups returns how many workgroups cover an extent: ceil(size/tile), for a
// linear variant folded so that x stays small. Bodies leave what lies beyond
// the extent alone.
func (v Variant) Groups(size [3]int) [3]int {
	var groups [3]int
	for i := range groups {
		groups[i] = ceilDiv(max(size[i], 1), v.Tile[i])
	}
	if v.Linear && groups[0] > maxGroupsX {
		groups[1] = ceilDiv(groups[0], maxGroupsX)
		groups[0] = ceilDiv(groups[0], groups[1])
	}
	return groups
}

// Check returns an error if a parameter is beyond what the variant can take. A
// backend calls it with the parameters of each dispatch: lavapipe would compute
// something else without a word.
func (v Variant) Check(params []uint32) error {
	kernel, ok := Lookup(v.Kernel)
	if !ok || len(params) != len(kernel.Params) {
		return fmt.Errorf("shader %s: %d parameters, the kernel has %d", v.ID, len(params), len(kernel.Params))
	}
	for _, l := range v.Limits {
		if n := params[slices.Index(kernel.Params, l.Param)]; n > uint32(l.Max) {
			return fmt.Errorf("shader %s: %s is %d, at most %d fit one dispatch; cut the work", v.ID, l.Param, n, l.Max)
		}
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// ReadManifest returns what the generator recorded.
func ReadManifest() (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return m, fmt.Errorf("manifest.json: %w (run go generate ./shaders)", err)
	}
	return m, nil
}
