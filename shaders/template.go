package shaders

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// common is the template file whose definitions all others may use.
const common = "common.wgsl"

var declaration = regexp.MustCompile(`^//variant\s+(.*)$`)

// parseVariants reads the //variant lines of all template files.
func parseVariants(files fs.FS) ([]Variant, error) {
	paths, err := fs.Glob(files, "*.wgsl")
	if err != nil {
		return nil, err
	}
	var list []Variant
	seen := map[string]string{}
	for _, file := range paths {
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(text), "\n") {
			match := declaration.FindStringSubmatch(strings.TrimSpace(line))
			if match == nil {
				continue
			}
			at := fmt.Sprintf("%s:%d", file, i+1)
			for _, words := range inStorages(strings.Fields(match[1])) {
				v, err := parseVariant(words)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", at, err)
				}
				if other, ok := seen[v.ID]; ok {
					return nil, fmt.Errorf("%s: variant %s is declared already at %s; give each a label", at, v.ID, other)
				}
				seen[v.ID] = at
				v.file = file
				list = append(list, v)
			}
		}
	}
	return list, nil
}

// inStorages are the words of a declaration for each storage of a kernel, if a * after
// its name asks for them, or for each but f32, if _* does.
func inStorages(words []string) [][]string {
	if len(words) == 0 || !strings.HasSuffix(words[0], "*") {
		return [][]string{words}
	}
	name, packed := strings.CutSuffix(words[0], "_*")
	var list [][]string
	if !packed {
		name = strings.TrimSuffix(name, "*")
		list = append(list, slices.Concat([]string{name}, words[1:]))
	}
	for _, s := range storages {
		if slices.Contains(s.of, name) {
			list = append(list, slices.Concat([]string{name + s.suffix}, words[1:]))
		}
	}
	if list == nil { // a name that parseVariant refuses
		return [][]string{words}
	}
	return list
}

// parseVariant reads the words after //variant.
func parseVariant(words []string) (Variant, error) {
	if len(words) < 2 {
		return Variant{}, fmt.Errorf("a variant line has a kernel and a tier, found %q", strings.Join(words, " "))
	}
	v := Variant{Kernel: words[0], Tier: words[1], Tile: [3]int{1, 1, 1}, names: map[string]int{}}
	if _, ok := Lookup(v.Kernel); !ok {
		return v, fmt.Errorf("unknown kernel %q: it has no row in kernels.go", v.Kernel)
	}
	if !slices.Contains(Tiers(), v.Tier) {
		return v, fmt.Errorf("unknown tier %q; accepted: %s", v.Tier, strings.Join(Tiers(), ", "))
	}
	v.ID = v.Kernel + "." + v.Tier
	plain, _ := cutStorage(v.Kernel)
	v.body = plain + " " + v.Tier
	words = words[2:]
	if len(words) > 0 && words[0] != "linear" && !strings.Contains(words[0], "=") {
		v.ID += "." + words[0]
		words = words[1:]
	}
	for _, word := range words {
		if err := v.set(word); err != nil {
			return v, err
		}
	}
	return v, nil
}

// set applies one key of a variant line.
func (v *Variant) set(word string) error {
	key, value, _ := strings.Cut(word, "=")
	var err error
	switch key {
	case "linear":
		v.Linear = true
	case "use":
		v.body = value
	case "tile":
		err = parseExtent(value, 1, &v.Tile)
	case "limit":
		err = v.setLimit(value)
	case "texels", "eights", "pairs", "words":
		err = v.setTexels(value, key)
	case "max":
		var most [3]int
		err = parseExtent(value, 0, &most)
		v.MaxSize = append(v.MaxSize, most)
	default:
		v.names[key], err = strconv.Atoi(value)
	}
	if key == "lanes" {
		v.Lanes = v.names[key]
	}
	if err != nil {
		return fmt.Errorf("%s: %w", word, err)
	}
	return nil
}

// setLimit reads PARAM:MAX.
func (v *Variant) setLimit(text string) error {
	param, number, _ := strings.Cut(text, ":")
	kernel, _ := Lookup(v.Kernel)
	if !slices.Contains(kernel.Params, param) {
		return fmt.Errorf("%q is no u32 parameter of %s", param, v.Kernel)
	}
	n, err := strconv.Atoi(number)
	v.Limits = append(v.Limits, Limit{param, n})
	return err
}

// setTexels reads NAME[+NAME]..., bindings that are only read, which become texel buffers. So do, a word at
// a time, the factors of blocks, which come after their numbers.
func (v *Variant) setTexels(text, key string) error {
	kernel, _ := Lookup(v.Kernel)
	if v.Texels == nil {
		v.Texels = make([]int, len(kernel.Bindings))
	}
	for name := range strings.SplitSeq(text, "+") {
		i := kernel.binding(name)
		if i < 0 || kernel.Bindings[i].Access != Read {
			return fmt.Errorf("%q is no binding that %s only reads", name, v.Kernel)
		}
		switch key {
		case "texels":
			v.Texels[i] = 4
		case "eights":
			v.Texels[i] = min(4, 8*kernel.bits(name)/32)
		case "pairs":
			v.Texels[i] = 2
		default:
			v.Texels[i] = 1
		}
		if plain, s := cutStorage(v.Kernel); s.blocks && slices.Contains(operands(plain), name) {
			v.Texels[i+1] = 1
		}
	}
	return nil
}

// parseExtent reads up to three comma-separated numbers, each at least least.
func parseExtent(text string, least int, extent *[3]int) error {
	parts := strings.Split(text, ",")
	if len(parts) > len(extent) {
		return fmt.Errorf("%d numbers, at most 3 are accepted", len(parts))
	}
	for i, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil {
			return err
		}
		if n < least {
			return fmt.Errorf("%d is less than %d", n, least)
		}
		extent[i] = n
	}
	return nil
}

// Tiers returns the tiers that have shaders.
func Tiers() []string { return []string{"TL", "T0", "T1", "T2", "T2x8"} }

// dialect is what differs between the texts that one template makes.
type dialect struct {
	uniform bool   // parameters in a uniform buffer, else as `var<immediate>`
	shared  uint32 // bit i: binding i is read_write though it is only read
	lanes   bool   // bindings have a function that loads an element
	texels  []int  // Variant.Texels
}

// WGSL renders the variant's template for the Vulkan dialect of naga:
// parameters as `var<immediate>`.
func (v Variant) WGSL() (string, error) { return v.render(dialect{}) }

// WebGPU renders the variant's template for WebGPU: parameters in a uniform
// buffer at the binding after the kernel's last. Binding i is read_write where bit i
// of shared is set, as WebGPU demands of what a dispatch reads in a buffer of which it
// writes another part (https://www.w3.org/TR/webgpu/#programming-model-resource-usages).
// The others stay read: in browsers a loop with barriers may not depend on what could
// be written.
func (v Variant) WebGPU(shared uint32) (string, error) {
	return v.render(dialect{uniform: true, shared: shared})
}

func (v Variant) render(d dialect) (string, error) {
	kernel, ok := Lookup(v.Kernel)
	if !ok {
		return "", fmt.Errorf("unknown kernel %q", v.Kernel)
	}
	d.lanes, d.texels = v.Tier == "TL", v.Texels
	root, err := template.New(v.file).Option("missingkey=error").Funcs(functions(kernel, d)).ParseFS(sources, common, v.file)
	if err != nil {
		return "", fmt.Errorf("shader %s: %w", v.ID, err)
	}
	if root.Lookup(v.body) == nil {
		return "", fmt.Errorf("shader %s: %s has no {{define %q}}", v.ID, path.Base(v.file), v.body)
	}
	plain, _ := cutStorage(v.Kernel)
	data := map[string]any{"Kernel": plain, "Tier": v.Tier}
	for name, n := range v.names {
		data[name] = n
	}
	var text strings.Builder
	if err := root.ExecuteTemplate(&text, v.body, data); err != nil {
		return "", fmt.Errorf("shader %s: %w", v.ID, err)
	}
	return blankLines.ReplaceAllString(strings.TrimSpace(text.String()), "\n") + "\n", nil
}

var blankLines = regexp.MustCompile(`\n\s*\n`)

// functions are what template bodies may call.
func functions(kernel *Kernel, d dialect) template.FuncMap {
	return template.FuncMap{
		"params": func() string { return declareParams(kernel, d) },
		"bind": func(name, element string, as ...string) (string, error) {
			return declareBinding(kernel, d, name, element, as)
		},
		"bits":      kernel.bits,
		"bf16":      func(name string) bool { return kernel.bits(name) == 16 },
		"blocks":    func(name string) bool { return kernel.bits(name) < 16 },
		"wide":      func(name string) string { return wide[kernel.bits(name)] },
		"wideblock": func(name string) string { return map[int]string{8: "vec4<u64>", 4: "vec4<u32>"}[kernel.bits(name)] },
		"eight":     func(name string) string { return "eight" + kernel.suffix(name) },
		"group":     func() string { return "(group.x + group.y * groups.x)" },
		"lane":      lane,
		"seq":       seq,
		"add":       func(a, b int) int { return a + b },
		"sub":       func(a, b int) int { return a - b },
		"mul":       func(a, b int) int { return a * b },
		"div":       func(a, b int) int { return a / b },
		"mod":       func(a, b int) int { return a % b },
		"bit":       func(a, b int) bool { return a&b != 0 },
		"list":      func(numbers ...int) []int { return numbers },
	}
}

// wide are the types of 8 elements by their bits.
var wide = map[int]string{32: "vec4<u64>", 16: "vec2<u64>", 8: "vec2<u32>", 4: "u32"}

// bits is the size of a binding's elements.
func (k *Kernel) bits(name string) int {
	i := k.binding(name)
	if i < 0 {
		return 0
	}
	return k.Bindings[i].Bits()
}

// binding is the number of the binding of that name, -1 if there is none.
func (k *Kernel) binding(name string) int {
	return slices.IndexFunc(k.Bindings, func(b Binding) bool { return b.Name == name })
}

// suffix ends the name of the function of common.wgsl that unpacks a binding.
func (k *Kernel) suffix(name string) string {
	if k.bits(name) == 32 {
		return ""
	}
	_, s := cutStorage(k.Name)
	return s.suffix
}

// declareParams declares the kernel's parameters as struct PC and its value pc.
// It is the one place that knows how parameters reach a shader.
func declareParams(kernel *Kernel, d dialect) string {
	var text strings.Builder
	text.WriteString("struct PC {\n")
	for _, param := range kernel.Params {
		name, kind, typed := strings.Cut(param, ":")
		if !typed {
			kind = "u32"
		}
		fmt.Fprintf(&text, "  %s: %s,\n", name, kind)
	}
	text.WriteString("}\n")
	if d.uniform {
		fmt.Fprintf(&text, "@group(0) @binding(%d) var<uniform> pc: PC;", len(kernel.Bindings))
	} else {
		text.WriteString("var<immediate> pc: PC;")
	}
	return text.String()
}

// declareBinding declares a binding as an array of element, for bodies of TL with a function
// NAME_at(i) that loads element i: eight numbers as a value of type Eight, others as they are.
func declareBinding(kernel *Kernel, d dialect, name, element string, as []string) (string, error) {
	i := kernel.binding(name)
	if i < 0 {
		return "", fmt.Errorf("kernel %s has no binding %q", kernel.Name, name)
	}
	access := "read_write"
	if kernel.Bindings[i].Access == Read && d.shared>>i&1 == 0 {
		access = "read"
	}
	if len(as) > 0 {
		name = as[0]
	}
	declared := fmt.Sprintf("@group(0) @binding(%d) var<storage, %s> %s: array<%s>;", i, access, name, element)
	load := "NAME[i]"
	switch element {
	case "vec4<u64>":
		load = "eight(NAME[i])"
	case "vec2<u64>":
		load = "eight_bf16(NAME[i])"
	}
	if d.texels != nil && d.texels[i] > 0 {
		declared = fmt.Sprintf("@group(0) @binding(%d) var %s: texture_1d<u32>;", i, name)
		form, ok := texelForms[element]
		if !ok || form.words != d.texels[i] {
			return "", fmt.Errorf("binding %q of %s has elements %s, which are not loaded from texels of %d words", name, kernel.Name, element, d.texels[i])
		}
		load = form.load
	}
	if !d.lanes {
		return declared, nil
	}
	if strings.HasSuffix(element, "<u64>") {
		element = "Eight"
	}
	return fmt.Sprintf("%s\nfn %s_at(i: u32) -> %s { return %s; }", declared, name, element, strings.ReplaceAll(load, "NAME", name)), nil
}

// texelForms says by type how an element is loaded from a texel buffer, and the words of its texels.
var texelForms = map[string]struct {
	words int
	load  string
}{
	"vec4<u64>": {4, "eight_texels(textureLoad(NAME, 2u * i, 0), textureLoad(NAME, 2u * i + 1u, 0))"},
	"vec2<u64>": {4, "eight_pairs(textureLoad(NAME, i, 0))"},
	"vec4<f32>": {4, "bitcast<vec4<f32>>(textureLoad(NAME, i, 0))"},
	"vec4<u32>": {4, "textureLoad(NAME, i, 0)"},
	"vec2<f32>": {2, "bitcast<vec2<f32>>(textureLoad(NAME, i, 0).xy)"},
	"vec2<u32>": {2, "textureLoad(NAME, i, 0).xy"},
	"f32":       {1, "bitcast<f32>(textureLoad(NAME, i, 0).x)"},
	"u32":       {1, "textureLoad(NAME, i, 0).x"},
}

// lane names element e (0 to 7) of a value of type Eight.
func lane(name string, e int) (string, error) {
	if e < 0 || e > 7 {
		return "", fmt.Errorf("lane: element %d of 8", e)
	}
	half := ".lo."
	if e%2 == 1 {
		half = ".hi."
	}
	return name + half + "xyzw"[e/2:e/2+1], nil
}

// seq returns 0 .. n-1.
func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
