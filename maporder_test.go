package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mapLoops are the loops over maps, by file and function, whose order may not
// matter and does not, for the reason given. Loops that only fill other maps, or
// that collect what the function sorts, need no row.
var mapLoops = map[string]string{
	"model/folder.go checkTensors":         "the one error told",
	"model/folder.go FolderFiles":          "keyed by name in the map that is returned",
	"model/optimizer.go SetOptimizerState": "each fills an arena of its own",
	"model/safetensors.go matchIndex":      "the one error told",
	"model/safetensors.go add":             "the one error told; else fills a map",
	"model/safetensors.go readHeader":      "the one error told; else fills a map",
	"model/tokenizer.go ParseTokenizer":    "a maximum",
	"model/tokenizer.go indexTokens":       "each token has a place of its own",
	"model/tokenizer_bpe.go parseModel":    "the one error told; else fills a map",
	"model/tokenizer_bpe.go newBPE":        "each token has a place of its own",
	"model/workspace.go free":              "frees",
	"rl/checkpoint.go save":                "keyed by name in the map that is filled",
	"rl/finish.go finish":                  "each curve is a file of its own",
	"rl/reinforce.go learn":                "keyed by name in the row that is filled",
	"rl/report/read.go parsePoint":         "keyed by name in the point that is filled",
	"rl/report/read.go evaluations":        "keyed by k in the evaluation that is filled",
	"verify/verify.go UnmarshalJSON":       "each key has a field of its own",
}

// TestMapOrder: Go visits maps in random order, and a run's bytes may not depend
// on it. It looks at what runs consist of, not at devices and tools.
func TestMapOrder(t *testing.T) {
	used := map[string]bool{}
	for _, p := range typedPackages(t) {
		for _, f := range p.files {
			name := filepath.ToSlash(f.name)
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				for _, loop := range hazards(fn, p.info) {
					key := name + " " + fn.Name.Name
					used[key] = true
					if mapLoops[key] == "" {
						t.Errorf("%s: %s loops over a map, whose order is random. Loop over slices.Sorted(maps.Keys(m)); if the order cannot matter, say why in mapLoops of maporder_test.go",
							position(loop), fn.Name.Name)
					}
				}
			}
		}
	}
	for key := range mapLoops {
		if !used[key] {
			t.Errorf("mapLoops of maporder_test.go has %s, which needs it no more", key)
		}
	}
}

// hazards are the loops of a function over maps that do more than fill other
// maps, or collect into a slice that the function sorts.
func hazards(fn *ast.FuncDecl, info *types.Info) []ast.Node {
	var found []ast.Node
	sorts := false
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			sorts = sorts || ok && (x.Name == "sort" || x.Name == "slices" && strings.HasPrefix(s.Sel.Name, "Sort"))
		}
		return true
	})
	ast.Inspect(fn, func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		of := info.TypeOf(loop.X)
		if of == nil {
			return true
		}
		if _, ok := of.Underlying().(*types.Map); ok && !sorts && !fillsMaps(loop.Body, info) {
			found = append(found, loop)
		}
		return true
	})
	return found
}

// fillsMaps says whether each statement of a loop's body writes an entry of a map.
func fillsMaps(body *ast.BlockStmt, info *types.Info) bool {
	for _, s := range body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok || a.Tok != token.ASSIGN || len(a.Lhs) != 1 {
			return false
		}
		entry, ok := a.Lhs[0].(*ast.IndexExpr)
		if !ok {
			return false
		}
		of := info.TypeOf(entry.X)
		if of == nil {
			return false
		}
		if _, ok := of.Underlying().(*types.Map); !ok {
			return false
		}
	}
	return true
}

// typedPackage is a package with the types of its expressions, as built for this
// system.
type typedPackage struct {
	files []goFile
	info  *types.Info
}

// typedPackages are model, verify and rl with what is below them, type-checked
// against the export data of the go command.
func typedPackages(t *testing.T) []typedPackage {
	t.Helper()
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", "./model/...", "./rl/...", "./verify/...")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	parsed := map[string]goFile{}
	for _, f := range parsedFiles(t) {
		parsed[f.name] = f
	}
	exports := map[string]string{}
	imports := importer.ForCompiler(fileSet, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var all []typedPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		exports[listed.ImportPath] = listed.Export
		folder, ok := strings.CutPrefix(listed.ImportPath, module+"/")
		if !ok || !inModule("model rl verify", folder, map[string]bool{}) {
			continue
		}
		p := typedPackage{info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
		var trees []*ast.File
		for _, name := range listed.GoFiles {
			f, ok := parsed[folder+"/"+name]
			if !ok {
				t.Fatalf("%s/%s is not in the tree", folder, name)
			}
			p.files, trees = append(p.files, f), append(trees, f.ast)
		}
		config := types.Config{Importer: imports}
		if _, err := config.Check(listed.ImportPath, fileSet, trees, p.info); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
