package tree

import (
	"go/ast"
	"go/types"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The tests of this file hold the shape of the packages below rl: what a reader has to
// keep in mind to change one.

// below lists who may not import what, directly or through others. Tests may.
var below = []struct {
	folders string
	never   string
	why     string
}{
	{"rl/train rl/eval rl/infer rl/cast rl/fleet rl/rollout rl/prompts rl/resolve rl/recipe rl/reward rl/tasks rl/algo internal/random",
		"rl/store rl/progress", "stages return events; the run writes them down and shows them"},
	{"rl/run rl/train rl/eval rl/infer rl/cast rl/fleet rl/rollout rl/prompts rl/resolve rl/recipe rl/reward rl/tasks rl/algo rl/watch model gpu gpu/* verify verify/*",
		"internal/web rl/page rl/serve rl/fleet/bus", "training opens no socket: the command line alone puts a page or workers of other machines beside it"},
	{"rl/fleet rl/rollout rl/prompts rl/chat rl/resolve rl/recipe rl/reward rl/tasks rl/algo rl/algo/* internal/random internal/lines rl/table rl/table/* rl/metrics rl/store rl/audit verify verify/*",
		"model gpu", "cast is the lowest package that knows a model"},
}

// reaches lists all folders of the module that a folder imports, directly or not.
func reaches(files []goFile, folder string, seen map[string]bool) map[string]bool {
	for _, f := range files {
		if f.folder != folder || f.test {
			continue
		}
		for _, spec := range f.ast.Imports {
			own, inside := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if inside && !seen[own] {
				seen[own] = true
				reaches(files, own, seen)
			}
		}
	}
	return seen
}

func TestBelowRun(t *testing.T) {
	files := parsedFiles(t)
	folders := map[string]bool{}
	for _, f := range files {
		folders[f.folder] = true
	}
	for _, rule := range below {
		used := map[string]bool{}
		for folder := range folders {
			if !matches(rule.folders, folder, used) {
				continue
			}
			reached := reaches(files, folder, map[string]bool{})
			for _, never := range strings.Fields(rule.never) {
				if reached[never] {
					t.Errorf("%s reaches %s: %s", folder, never, rule.why)
				}
			}
		}
		for _, folder := range strings.Fields(rule.folders) {
			if !used[folder] {
				t.Errorf("there is no folder %s, which a rule is about", folder)
			}
		}
	}
}

// maxExports is how many names a package below rl may export.
const maxExports = 35

func TestExports(t *testing.T) {
	names := map[string][]string{}
	for _, f := range parsedFiles(t) {
		if f.test || !strings.HasPrefix(f.folder, "rl/") {
			continue
		}
		for _, d := range f.ast.Decls {
			for _, name := range declared(d) {
				if ast.IsExported(name) {
					names[f.folder] = append(names[f.folder], name)
				}
			}
		}
	}
	for folder, list := range names {
		if len(list) > maxExports {
			slices.Sort(list)
			t.Errorf("%s exports %d names, at most %d are accepted: %s", folder, len(list), maxExports, strings.Join(list, " "))
		}
	}
}

// declared are the names of a declaration at the top of a file, methods excepted.
func declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
	case *ast.GenDecl:
		var names []string
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, n := range spec.Names {
					names = append(names, n.Name)
				}
			}
		}
		return names
	}
	return nil
}

// maxFields is how many fields a struct of the loop may have, those of a log line apart.
const maxFields = 10

func TestLoopStructs(t *testing.T) {
	loop := "rl/run rl/train rl/eval rl/cast rl/rollout rl/reward"
	for _, f := range parsedFiles(t) {
		if f.test || !matches(loop, f.folder, map[string]bool{}) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || strings.HasSuffix(spec.Name.Name, "Line") {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				fields := 0
				for _, field := range s.Fields.List {
					fields += max(1, len(field.Names))
				}
				if fields > maxFields {
					t.Errorf("%s: struct %s has %d fields, at most %d are accepted: divide it", position(spec), spec.Name.Name, fields, maxFields)
				}
			}
			return true
		})
	}
}

// TestRecords: what belongs to one thing stands in one record. A struct of a stage, or one that
// rewards are told in, has no list of numbers or texts beside a list of other things, which
// would be joined by the index.
func TestRecords(t *testing.T) {
	apart := map[string]string{ // lists of which neither is about the other
		"rl/train Event":    "lines for people, beside the completions",
		"rl/reward Program": "names of verdicts and of values",
		"rl/reward batch":   "the columns that a table is made of",
	}
	used := map[string]bool{}
	for _, f := range parsedFiles(t) {
		if f.test || f.folder != "rl/train" && f.folder != "rl/reward" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			kinds, plain := map[string]bool{}, false
			for _, field := range s.Fields.List {
				list, ok := field.Type.(*ast.ArrayType)
				if !ok || list.Len != nil {
					continue
				}
				kind := types.ExprString(list.Elt)
				kinds[kind] = true
				plain = plain || slices.Contains([]string{"int", "string", "bool", "float64", "figure"}, kind)
			}
			name := f.folder + " " + spec.Name.Name
			if used[name] = plain && len(kinds) > 1; used[name] && apart[name] == "" {
				t.Errorf("%s: struct %s has lists that an index joins: make a record of what belongs together", position(spec), spec.Name.Name)
			}
			return true
		})
	}
	for name := range apart {
		if !used[name] {
			t.Errorf("TestRecords excepts %s, which needs it no more", name)
		}
	}
}

// TestPlaces: the files that CONTRIBUTING.md names in its table of places exist.
func TestPlaces(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "## Where does it go?")
	if !found {
		t.Fatal("CONTRIBUTING.md has no section \"Where does it go?\"")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	rows := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| a new ") {
			continue
		}
		rows++
		places := regexp.MustCompile("`([a-z_.]+/[a-zA-Z0-9_./]+)`").FindAllStringSubmatch(line, -1)
		if len(places) == 0 {
			t.Errorf("no file stands in the row %s", line)
		}
		for _, p := range places {
			if _, err := os.Stat(path.Clean(p[1])); err != nil {
				t.Errorf("%v, which is named in the row %s", err, line)
			}
		}
	}
	if rows < 15 {
		t.Errorf("the table has %d rows", rows)
	}
}
