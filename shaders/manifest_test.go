package shaders

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func allVariants(t *testing.T) []Variant {
	t.Helper()
	list, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Every kernel runs on every tier, whatever the extent.
func TestEveryKernelHasEveryTier(t *testing.T) {
	for _, k := range Kernels() {
		for _, tier := range Tiers() {
			if _, err := Choose(k.Name, tier, [3]int{1 << 30, 1 << 30, 1 << 30}); err != nil {
				t.Error(err)
			}
		}
	}
}

// The committed modules are those of the templates: a template that was edited
// without go generate shows here, without a compiler.
func TestManifest(t *testing.T) {
	m, err := ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	if m.Numerics != NumericsVersion {
		t.Errorf("manifest.json has numerics version %d, the package %d", m.Numerics, NumericsVersion)
	}
	list := allVariants(t)
	if len(m.Variants) != len(list) {
		t.Errorf("manifest.json has %d variants, the templates declare %d", len(m.Variants), len(list))
	}
	for i, v := range list[:min(len(list), len(m.Variants))] {
		text, err := v.WGSL()
		if err != nil {
			t.Error(err)
			continue
		}
		code, err := v.SPIRV()
		if err != nil {
			t.Error(err)
			continue
		}
		want := Entry{ID: v.ID, Kernel: v.Kernel, Tier: v.Tier, Tile: v.Tile, Linear: v.Linear, Max: v.MaxSize,
			WGSL: digest([]byte(text)), SPIRV: digest(code)}
		if got := m.Variants[i]; !reflect.DeepEqual(got, want) {
			t.Errorf("manifest.json is stale, run go generate ./shaders:\n%+v, the tree has\n%+v", got, want)
		}
	}
	files, err := fs.Glob(binaries, "spv/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.ContainsFunc(list, func(v Variant) bool { return path.Base(file) == v.ID+".spv.gz" }) {
			t.Errorf("%s belongs to no variant", file)
		}
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// A shader file explains itself: all kernels and bindings by name, how sums are
// ordered, what was tried, where it comes from.
func TestHeaders(t *testing.T) {
	kernels := map[string][]string{} // by file
	for _, v := range allVariants(t) {
		if !slices.Contains(kernels[v.file], v.Kernel) {
			kernels[v.file] = append(kernels[v.file], v.Kernel)
		}
	}
	for file, names := range kernels {
		text, err := sources.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header, _, _ := strings.Cut(string(text), "//variant")
		for line := range strings.Lines(header) {
			if !strings.HasPrefix(line, "//") {
				t.Errorf("%s: the header ends before the variants, at %q", file, line)
			}
		}
		wants := []string{`(?i:order|elementwise|arithmetic)`, `Variants tried`, `(?i:https?://|arXiv|Source: own)`}
		for _, name := range names {
			kernel, _ := Lookup(name)
			wants = append(wants, `\b`+name+`\b`)
			for _, b := range kernel.Bindings {
				wants = append(wants, `\b`+b.Name+`\b`)
			}
		}
		for _, want := range wants {
			if !regexp.MustCompile(want).MatchString(header) {
				t.Errorf("%s: the header says nothing that matches %s", file, want)
			}
		}
	}
}

// Shaders bind what the table says, and as texel buffers what Variant.Texels says.
func TestBindings(t *testing.T) {
	declared := regexp.MustCompile(`@binding\((\d+)\) var(?:<storage, (\w+)>|.*: (texture_1d)<u32>;)`)
	for _, v := range allVariants(t) {
		text, err := v.WGSL()
		if err != nil {
			t.Error(err)
			continue
		}
		var got, want []string
		for _, match := range declared.FindAllStringSubmatch(text, -1) {
			got = append(got, match[1]+" "+match[2]+match[3])
		}
		slices.Sort(got)
		kernel, _ := Lookup(v.Kernel)
		for i, b := range kernel.Bindings {
			access := "read_write"
			if b.Access == Read {
				access = "read"
			}
			if v.Texels != nil && v.Texels[i] > 0 {
				access = "texture_1d"
			}
			want = append(want, fmt.Sprint(i, " ", access))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s binds %v, the table has %v", v.ID, got, want)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		rows int
		want string
	}{{0, "matmul_nt.TL.r1"}, {1, "matmul_nt.TL.r1"}, {3, "matmul_nt.TL.r4"}, {4, "matmul_nt.TL.r4"}, {17, "matmul_nt.TL.r16"}} {
		v, err := Choose("matmul_nt", "TL", [3]int{96, c.rows})
		if err != nil || v.ID != c.want {
			t.Errorf("%d rows: %s, %v; want %s", c.rows, v.ID, err, c.want)
		}
	}
	for _, c := range []struct{ kernel, tier, want string }{
		{"matmul", "TL", `no shader of kernel "matmul"`},
		{"matmul_nt", "T9", `tier "T9"`},
	} {
		if _, err := Choose(c.kernel, c.tier, [3]int{1, 1, 1}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want %s", c.kernel, c.tier, err, c.want)
		}
	}
}

func TestGroups(t *testing.T) {
	flat := Variant{Tile: [3]int{256, 1, 1}, Linear: true}
	for _, c := range []struct {
		v    Variant
		size [3]int
		want [3]int
	}{
		{Variant{Tile: [3]int{32, 8, 1}}, [3]int{33, 8, 0}, [3]int{2, 1, 1}},
		{flat, [3]int{256 * 32768}, [3]int{32768, 1, 1}},
		{flat, [3]int{256*32768 + 1}, [3]int{16385, 2, 1}},
	} {
		if got := c.v.Groups(c.size); got != c.want {
			t.Errorf("tile %v, extent %v: %v workgroups, want %v", c.v.Tile, c.size, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	v := Variant{ID: "fill.TL", Kernel: "fill", Limits: []Limit{{"n", 64}}}
	for _, c := range []struct {
		params []uint32
		want   string
	}{
		{[]uint32{64, 1 << 31}, ""},
		{[]uint32{65, 0}, "shader fill.TL: n is 65, at most 64 fit one dispatch"},
		{[]uint32{1}, "1 parameters, the kernel has 2"},
	} {
		err := v.Check(c.params)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want %q", c.params, err, c.want)
		}
	}
}

func TestDeclarations(t *testing.T) {
	list, err := parseVariants(fstest.MapFS{"a.wgsl": {Data: []byte("// A.\n//variant add TL wide tile=32,8 max=0,4 max=96,8 limit=n:9 use=body rows=4\n//variant add T0 linear\n")}})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	v := list[0]
	if v.ID != "add.TL.wide" || v.Tile != [3]int{32, 8, 1} || !slices.Equal(v.MaxSize, [][3]int{{0, 4, 0}, {96, 8, 0}}) || v.body != "body" || v.names["rows"] != 4 || !slices.Equal(v.Limits, []Limit{{"n", 9}}) || v.Linear {
		t.Errorf("read %+v", v)
	}
	if v := list[1]; v.ID != "add.T0" || v.Tile != [3]int{1, 1, 1} || v.body != "add T0" || !v.Linear {
		t.Errorf("read %+v", v)
	}
	list, err = parseVariants(fstest.MapFS{"a.wgsl": {Data: []byte("//variant matmul_nn* T0 use=body texels=a eights=b\n//variant matmul_nt_* TL use=body\n")}})
	var ids []string
	for _, v := range list {
		ids = append(ids, fmt.Sprint(v.ID, v.Texels))
	}
	if want := []string{"matmul_nn.T0[4 4 0]", "matmul_nn_bf16.T0[4 4 0]", "matmul_nn_q8_0.T0[4 2 1 0]", "matmul_nn_q4_0.T0[4 1 1 0]", "matmul_nt_bf16.TL[]", "matmul_nt_q8_0.TL[]", "matmul_nt_q4_0.TL[]"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("a declaration for all storages gives %v, %v", ids, err)
	}
	for line, want := range map[string]string{
		"add":                               "a.wgsl:1: a variant line has a kernel and a tier",
		"sub TL":                            `unknown kernel "sub"`,
		"sub* TL":                           `unknown kernel "sub"`,
		"add_* TL":                          `unknown kernel "add_*"`,
		"add T7":                            `unknown tier "T7"; accepted: TL, T0, T1, T2, T2x8`,
		"add TL tile=0":                     "tile=0: 0 is less than 1",
		"add TL tile=1,1,1,1":               "4 numbers, at most 3",
		"matmul_nn TL words=scale":          `words=scale: "scale" is no binding that matmul_nn only reads`,
		"matmul_nn TL words=c":              `words=c: "c" is no binding that matmul_nn only reads`,
		"add TL limit=K:9":                  `limit=K:9: "K" is no u32 parameter of add`,
		"add TL rows=many":                  `rows=many: strconv.Atoi: parsing "many"`,
		"add TL\n//variant add TL":          "a.wgsl:2: variant add.TL is declared already at a.wgsl:1",
		"add TL one tile=8\n//variant x TL": "a.wgsl:2: unknown kernel",
	} {
		_, err := parseVariants(fstest.MapFS{"a.wgsl": {Data: []byte("//variant " + line)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %s", line, err, want)
		}
	}
}
