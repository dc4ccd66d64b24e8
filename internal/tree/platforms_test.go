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
	"sync"
	"testing"
)

// TestPlatforms: the program compiles on every platform that make release builds for. Its
// packages and all that they import are type-checked from their source: that finds what a
// build would, assembly and linking apart, in a small part of its time. make cross builds.
func TestPlatforms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: reads the standard library and every module for each platform")
	}
	s := &sources{set: token.NewFileSet()}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			s.checkFor(t, platform)
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

// sources are files, each parsed once for all platforms. Of what is not of this module, function
// bodies and the elements of literals are left out, which no other package sees: together that
// halves the time.
type sources struct {
	set   *token.FileSet
	files sync.Map // by path: func() (*ast.File, error)
}

func (s *sources) parse(path string, ours bool) (*ast.File, error) {
	parse, _ := s.files.LoadOrStore(path, sync.OnceValues(func() (*ast.File, error) {
		file, err := parser.ParseFile(s.set, path, nil, parser.SkipObjectResolution)
		if err == nil && !ours {
			ast.Inspect(file, hollow)
		}
		return file, err
	}))
	return parse.(func() (*ast.File, error))()
}

// hollow leaves out what is in a function, and in a literal whose type says all that others see of it.
func hollow(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil {
			n.Body.List = nil
		}
		return false
	case *ast.CompositeLit:
		if n.Type != nil && !counts(n.Type) {
			n.Elts = nil
		}
	}
	return true
}

// counts says of a type whether it is [...]T, an array that is as long as its literal.
func counts(e ast.Expr) bool {
	array, ok := e.(*ast.ArrayType)
	if ok {
		_, ok = array.Len.(*ast.Ellipsis)
	}
	return ok
}

// checkFor type-checks the program and what it imports for one platform.
func (s *sources) checkFor(t *testing.T, platform string) {
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
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := s.parse(filepath.Join(p.Dir, name), ours)
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
		checked[p.ImportPath], _ = config.Check(p.ImportPath, s.set, files, nil) // Error has told
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
