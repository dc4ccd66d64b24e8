package settings

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
	"sync"
)

// comments are those of fields, by package and then by TYPE.FIELD. They are read when they are
// first asked for.
var comments = map[string]func() map[string]string{}

// Comments tells where the comments of settings are read from: source has the files of the
// package of T in which structs of settings are declared. To be called from an init function,
// beside the go:embed that has the files.
func Comments[T any](source embed.FS) {
	comments[reflect.TypeFor[T]().PkgPath()] = sync.OnceValue(func() map[string]string { return readComments(source) })
}

// readComments are the comments above the fields of every struct of a package.
func readComments(source fs.FS) map[string]string {
	found := map[string]string{}
	files, err := fs.Glob(source, "*.go")
	for _, name := range files {
		var text []byte
		if text, err = fs.ReadFile(source, name); err != nil {
			break
		}
		var file *ast.File
		if file, err = parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			break
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.TypeSpec)
			if !is {
				return true
			}
			if s, is := spec.Type.(*ast.StructType); is {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						found[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}
			return false
		})
	}
	if err != nil {
		panic(fmt.Errorf("settings: comments: %w", err)) // the compiler has read the files
	}
	return found
}

// About is what the setting is: its tag, or the comment above the field.
func (f Field) About() string {
	if about, own := f.declared.Tag.Lookup("about"); own {
		return about
	}
	if read := comments[f.owner.PkgPath()]; read != nil {
		return read()[f.owner.Name()+"."+f.declared.Name]
	}
	return ""
}
