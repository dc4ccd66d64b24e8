package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlatforms: the program compiles on every platform that make release builds for. Its
// packages and all that they import are type-checked from their source: that finds what a
// build would, assembly and linking apart, in a small part of its time. make cross builds.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads the standard library and every module for each platform")
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			checkFor(t, platform)
		})
	}
}

// listed is a package as go list tells it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct{ Main bool }
}

// checkFor type-checks the program and what it imports for one platform; of what is not of
// this module, function bodies are left out.
func checkFor(t *testing.T, platform string) {
	system, processor, _ := strings.Cut(platform, "/")
	command := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", ".")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	checked, own := packages{"unsafe": types.Unsafe}, 0
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; { // what is imported comes first
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		ours := p.Module != nil && p.Module.Main
		if ours {
			own++
		}
		set, files := token.NewFileSet(), []*ast.File(nil)
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		config := types.Config{
			Importer:         mapped{checked, p.ImportMap},
			Sizes:            types.SizesFor("gc", processor),
			IgnoreFuncBodies: !ours,
			Error:            func(err error) { t.Error(err) },
		}
		checked[p.ImportPath], _ = config.Check(p.ImportPath, set, files, nil) // Error has told
	}
	if own < 50 {
		t.Errorf("only %d packages of this module were found", own)
	}
}

// packages are those that were checked, by import path.
type packages map[string]*types.Package

// mapped finds what one package imports.
type mapped struct {
	packages
	paths map[string]string // import paths that stand for others: those of vendored packages
}

// Import implements [types.Importer].
func (m mapped) Import(path string) (*types.Package, error) {
	if to, ok := m.paths[path]; ok {
		path = to
	}
	if p := m.packages[path]; p != nil {
		return p, nil
	}
	return nil, errors.New(path + " was not checked")
}
