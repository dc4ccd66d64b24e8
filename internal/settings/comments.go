package settings

import (
	"embed"
	"fmt"
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

// readComments are the comments above the fields of every struct of a package, in files as gofmt
// writes them. It knows no more of Go than that: with go/parser, the page that trains in the
// browser would be 0.15 MB larger.
func readComments(source fs.FS) map[string]string {
	found := map[string]string{}
	names, err := fs.Glob(source, "*.go")
	for _, name := range names {
		var text []byte
		if text, err = fs.ReadFile(source, name); err != nil {
			break
		}
		owner, said := "", ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			comment, is := strings.CutPrefix(line, "\t//")
			switch {
			case strings.HasPrefix(line, "type ") && strings.HasSuffix(line, " struct {"):
				owner, said = strings.Fields(line)[1], ""
			case strings.HasPrefix(line, "}"):
				owner = ""
			case owner == "":
			case is:
				said = strings.TrimSpace(said + " " + strings.TrimSpace(comment))
			default: // a field, or nothing
				field, _, _ := strings.Cut(strings.TrimSpace(line), " ")
				found[owner+"."+field], said = said, ""
			}
		}
	}
	if err != nil {
		panic(fmt.Errorf("settings: comments: %w", err)) // the files are part of the program
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
