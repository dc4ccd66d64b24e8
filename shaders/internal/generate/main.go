// Command generate makes shaders/spv/ and shaders/manifest.json from the WGSL
// templates. It is run by go generate in the folder shaders:
//
//	go run ./internal/generate          write what differs, remove what is stale
//	go run ./internal/generate -check   write nothing, fail if anything differs
//	go run ./internal/generate -only ID write the modules of the variants whose
//	                                    ID starts so, for work on one shader
//
// Every variant's text is compiled by naga, edited (package spirv) and, where
// spirv-val is installed, validated. The output depends on the templates, the
// table of kernels and naga's version alone.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/shaders"
	"github.com/rlzero/rlzero/shaders/internal/spirv"
)

// compiler is the naga-cli that the committed modules were made with.
const compiler = "naga 30.0.1"

func main() {
	check := flag.Bool("check", false, "compare with the files that are there instead of writing them")
	only := flag.String("only", "", "make only the modules of variants whose ID starts with this, not the manifest")
	flag.Parse()
	if err := run(*check, *only); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(check bool, only string) error {
	if err := checkCompiler(); err != nil {
		return err
	}
	files, err := build(only)
	if err != nil {
		return err
	}
	if only != "" {
		delete(files, "manifest.json")
		return write(files, slices.Sorted(maps.Keys(files)))
	}
	stale, err := compare(files)
	if err != nil {
		return err
	}
	if !check {
		return write(files, stale)
	}
	if len(stale) > 0 {
		return fmt.Errorf("%s: not what the templates give; run go generate ./shaders and commit", strings.Join(stale, ", "))
	}
	return nil
}

func checkCompiler() error {
	out, err := exec.Command("naga", "--version").Output()
	if err != nil {
		return fmt.Errorf("naga does not run (cargo install naga-cli --version 30.0.1): %w", err)
	}
	if found := strings.TrimSpace(string(out)); found != compiler && "naga "+found != compiler {
		return fmt.Errorf("found %s, the committed modules are made with %s", found, compiler)
	}
	return nil
}

// build returns the content of every generated file by its path below shaders,
// SPIR-V not yet packed.
func build(only string) (map[string][]byte, error) {
	variants, err := shaders.All()
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "rlzero-shaders-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	files := map[string][]byte{}
	manifest := shaders.Manifest{Numerics: shaders.NumericsVersion, Compiler: compiler}
	var failed []error
	for _, v := range variants {
		if !strings.HasPrefix(v.ID, only) {
			continue
		}
		text, err := v.WGSL()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		code, err := compile(temp, v.ID, text)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		files[path(v.ID)] = code
		manifest.Variants = append(manifest.Variants, shaders.Entry{ID: v.ID, Kernel: v.Kernel, Tier: v.Tier,
			Tile: v.Tile, Linear: v.Linear, Max: v.MaxSize, WGSL: digest([]byte(text)), SPIRV: digest(code)})
	}
	if len(failed) > 0 {
		return nil, errors.Join(failed...)
	}
	files["manifest.json"], err = encodeManifest(manifest)
	return files, err
}

// encodeManifest writes one variant a line, so that a change shows as a line.
func encodeManifest(m shaders.Manifest) ([]byte, error) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "{\"numerics\": %d, \"compiler\": %q, \"variants\": [\n", m.Numerics, m.Compiler)
	for i, entry := range m.Variants {
		line, err := json.Marshal(entry)
		if err != nil {
			return nil, err
		}
		text.Write(line)
		if i+1 < len(m.Variants) {
			text.WriteByte(',')
		}
		text.WriteByte('\n')
	}
	text.WriteString("]}\n")
	return text.Bytes(), nil
}

// compile turns WGSL into cleaned, validated SPIR-V.
func compile(temp, id, text string) ([]byte, error) {
	source := filepath.Join(temp, id+".wgsl")
	module := filepath.Join(temp, id+".spv")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		return nil, err
	}
	if err := tool(id, "naga", "--spirv-version", "1.3", source, module); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(module)
	if err != nil {
		return nil, err
	}
	m, err := spirv.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	m.Clean()
	code := m.Bytes()
	// Debian 12's validator is older than matrices; .ci/drivers has a newer one for those.
	if _, err := exec.LookPath("spirv-val"); err != nil || strings.Contains(text, "enable wgpu_cooperative_matrix;") {
		return code, nil
	}
	if err := os.WriteFile(module, code, 0o600); err != nil {
		return nil, err
	}
	return code, tool(id, "spirv-val", "--target-env", "vulkan1.1", module)
}

// tool runs a command on one variant.
func tool(id, name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %w\n%s", id, name, err, out)
	}
	return nil
}

// compare returns the paths that are missing, differ or should not be there.
// Packed files are compared by what is in them: another release of Go may pack
// the same bytes otherwise.
func compare(files map[string][]byte) ([]string, error) {
	var stale []string
	for name, want := range files {
		have, err := os.ReadFile(name)
		if err == nil && filepath.Ext(name) == ".gz" {
			have, err = unpack(have)
		}
		if err != nil || !bytes.Equal(have, want) {
			stale = append(stale, name)
		}
	}
	present, err := filepath.Glob(filepath.Join("spv", "*"))
	if err != nil {
		return nil, err
	}
	for _, name := range present {
		if _, ok := files[filepath.ToSlash(name)]; !ok {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return stale, nil
}

// write brings the stale paths up to date.
func write(files map[string][]byte, stale []string) error {
	if err := os.MkdirAll("spv", 0o755); err != nil {
		return err
	}
	for _, name := range stale {
		data, ok := files[filepath.ToSlash(name)]
		if !ok {
			if err := os.Remove(name); err != nil {
				return err
			}
			continue
		}
		if filepath.Ext(name) == ".gz" {
			data = pack(data)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%d files, %d written or removed\n", len(files), len(stale))
	return nil
}

// path is the file of a variant below shaders.
func path(id string) string { return "spv/" + id + ".spv.gz" }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func pack(data []byte) []byte {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant that exists
	}
	// Writes to a bytes.Buffer do not fail.
	w.Write(data)
	w.Close()
	return packed.Bytes()
}

func unpack(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
