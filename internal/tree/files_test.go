package tree

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/rlzero/rlzero"

// TestMain lets the tests run in the root folder, from which they name files.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// goFile is one parsed file of the tree.
type goFile struct {
	name   string // slash-separated, from the root
	folder string
	test   bool
	ast    *ast.File
}

var fileSet = token.NewFileSet()

// goFiles are the Go files of the tree for all systems, build tags ignored.
var goFiles = sync.OnceValues(func() ([]goFile, error) {
	var files []goFile
	err := eachFile(func(name string) error {
		if path.Ext(name) != ".go" {
			return nil
		}
		parsed, err := parser.ParseFile(fileSet, filepath.FromSlash(name), nil, parser.ParseComments|parser.SkipObjectResolution)
		files = append(files, goFile{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), parsed})
		return err
	})
	return files, err
})

// eachFile calls do for every file of the tree, data of tests, the output of runs and builds,
// and packages of Python excluded.
func eachFile(do func(name string) error) error {
	return fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "testdata", "runs", "dist", ".venv", ".worlds", "__pycache__"}, entry.Name()):
			return fs.SkipDir
		case !entry.Type().IsRegular() || name == "rlzero" || name == ".git": // a file in a worktree
			return nil
		}
		return do(name)
	})
}

func parsedFiles(t *testing.T) []goFile {
	t.Helper()
	files, err := goFiles()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func position(n ast.Node) string {
	p := fileSet.Position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.ToSlash(p.Filename), p.Line)
}

// matches says whether a name stands in a list, "a/*" being everything below a.
// The pattern that matched is added to used.
func matches(list, name string, used map[string]bool) bool {
	for _, pattern := range strings.Fields(list) {
		below, wild := strings.CutSuffix(pattern, "/*")
		if pattern == name || wild && strings.HasPrefix(name, below+"/") {
			used[pattern] = true
			return true
		}
	}
	return false
}

// inModule says whether an import path is of one of the modules.
func inModule(list, path string, used map[string]bool) bool {
	for _, m := range strings.Fields(list) {
		if path == m || strings.HasPrefix(path, m+"/") {
			used[m] = true
			return true
		}
	}
	return false
}
