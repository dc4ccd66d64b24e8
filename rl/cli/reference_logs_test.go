package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// logPage is made of the types of the lines of a run's logs, as their source declares them.
func logPage(p *markdown) {
	files := map[string]string{} // by the name of the constant
	for _, name := range []string{"line.go", "calls.go", "made.go"} {
		linesOf(p, filepath.Join("..", "record", name), files)
	}
}

// linesOf describes the types of a file. files gets the constants that name logs.
func linesOf(p *markdown, file string, files map[string]string) {
	source, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments)
	if err != nil {
		panic(err)
	}
	said := func(of *ast.CommentGroup) string { return strings.Join(strings.Fields(of.Text()), " ") }
	for _, d := range parsed.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				if len(s.Values) == 1 && strings.HasSuffix(s.Names[0].Name, "File") {
					files[s.Names[0].Name], err = strconv.Unquote(s.Values[0].(*ast.BasicLit).Value)
					if err != nil {
						panic(err)
					}
				}
			case *ast.TypeSpec:
				fields, ok := s.Type.(*ast.StructType)
				if !ok || s.TypeParams != nil {
					continue
				}
				about := strings.TrimPrefix(said(g.Doc), s.Name.Name+" is ")
				for name, called := range files {
					about = strings.ReplaceAll(about, name, "`"+called+"`")
				}
				p.line("## %s\n\n%s%s\n", s.Name.Name, strings.ToUpper(about[:1]), about[1:])
				var rows [][]string
				for _, f := range withEmbedded(fields) {
					tag, err := strconv.Unquote(f.Tag.Value)
					if err != nil {
						panic(err)
					}
					key, rest, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
					if said(f.Comment) == "" {
						panic(fmt.Errorf("%s: %s.%s has no comment", file, s.Name.Name, f.Names[0].Name))
					}
					when := "always"
					if strings.Contains(rest, "omitempty") {
						when = "where there is one"
					}
					rows = append(rows, []string{"`" + key + "`", typeOf(f.Type), when, said(f.Comment)})
				}
				p.table([]string{"key", "value", "is there", "what it is"}, rows)
			}
		}
	}
}

// typeOf is a type in the words of JSON.
func typeOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeOf(e.X) + " or null"
	case *ast.ArrayType:
		return "list of " + strings.Replace(typeOf(e.Elt), "number", "numbers", 1)
	case *ast.MapType:
		return "object of " + typeOf(e.Value) + " by name"
	case *ast.SelectorExpr: // json.RawMessage
		return "any value"
	case *ast.Ident:
		switch e.Name {
		case "int", "uint32", "uint64":
			return "whole number"
		case "float64", "float32":
			return "number"
		case "string":
			return "text"
		case "bool":
			return "true or false"
		}
		return "[" + e.Name + "](#" + strings.ToLower(e.Name) + ")"
	}
	panic(fmt.Errorf("the type %T", e))
}

// withEmbedded are the fields of a struct, with those of structs of other packages that it holds.
func withEmbedded(s *ast.StructType) (out []*ast.Field) {
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			out = append(out, f)
			continue
		}
		held := f.Type.(*ast.SelectorExpr)
		files, err := filepath.Glob(filepath.Join("..", "..", held.X.(*ast.Ident).Name, "*.go"))
		if err != nil {
			panic(err)
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
			if err != nil {
				panic(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				if t, ok := n.(*ast.TypeSpec); ok && t.Name.Name == held.Sel.Name {
					out = append(out, withEmbedded(t.Type.(*ast.StructType))...)
				}
				return true
			})
		}
	}
	return out
}
