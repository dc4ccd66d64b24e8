package tree

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
	"regexp"
	"strings"
	"testing"
)

// TestMapOrder: Go visits maps in random order, and a run's bytes may not depend
// on it. It looks at what runs consist of, not at devices and tools.
func TestMapOrder(t *testing.T) {
	for _, p := range typedPackages(t) {
		for _, f := range p.files {
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				for _, place := range hazards(fn, p.info) {
					t.Errorf("%s: what the loop of %s does here may depend on the order of a map, which is random. Loop over slices.Sorted(maps.Keys(m))",
						position(place), fn.Name.Name)
				}
			}
		}
	}
}

// hazards are the places of a function where what a loop over a map does may
// depend on the order: it collects into a slice that the function does not sort,
// adds up floats, joins text, or writes.
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
		if !ok || !isMap(info.TypeOf(loop.X)) {
			return true
		}
		ast.Inspect(loop.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit: // called later, and not in the order of the loop
				return false
			case *ast.AssignStmt:
				if n.Tok == token.ADD_ASSIGN || n.Tok == token.SUB_ASSIGN {
					if entry, ok := n.Lhs[0].(*ast.IndexExpr); (!ok || !isMap(info.TypeOf(entry.X))) && inexact(info.TypeOf(n.Lhs[0])) {
						found = append(found, n)
					}
				}
			case *ast.CallExpr:
				name := types.ExprString(n.Fun)
				if name == "append" && !sorts || writing.MatchString(name) {
					found = append(found, n)
				}
			}
			return true
		})
		return true
	})
	return found
}

var writing = regexp.MustCompile(`(^|\.)(Write|Print|Fprint|Append|Log)\w*$`)

func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// inexact says whether the order of additions shows in a sum.
func inexact(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex|types.IsString) != 0
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
