package outside

import (
	"embed"
	"path"
	"slices"
	"strings"
)

// bridges has a program for each library of environments, and bridge.py, which each begins with.
//
//go:embed bridges/*.py
var bridges embed.FS

const common = "bridge"

// Bridges are the names of the libraries of environments that Bridge knows, in order.
func Bridges() []string {
	var names []string
	files, err := bridges.ReadDir("bridges")
	if err != nil { // it is embedded
		panic(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".py"); name != common {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Bridge is the text of a Python program that is a world, whose episodes are those of an environment of a library.
func Bridge(library string) string {
	var text strings.Builder
	for _, name := range []string{common, library} {
		part, err := bridges.ReadFile(path.Join("bridges", name+".py"))
		if err != nil { // of no name of Bridges
			panic(err)
		}
		text.Write(part)
	}
	return text.String()
}
