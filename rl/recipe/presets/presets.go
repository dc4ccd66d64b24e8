package presets

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
)

//go:embed *.toml */*.toml systems.tsv
var files embed.FS

// Preset is a recipe that comes with the program.
type Preset struct {
	Name    string   `toml:"-"`       // what it is called by
	Field   string   `toml:"-"`       // what it is about; "": it is an example
	About   string   `toml:"about"`   // one line
	Paper   string   `toml:"paper"`   // "": none
	Systems []string `toml:"systems"` // ids of [Systems]
	Text    string   `toml:"-"`       // TOML
}

// System is a published system.
type System struct {
	ID    string // such as 001-001
	Name  string // as the paper calls it
	Waits string // what a recipe of it waits for; "": a preset names the id
}

// All lists the presets: first the examples, then by field and name.
var All = sync.OnceValue(func() []Preset {
	all := inFolder(".")
	for _, e := range entries(".") {
		if e.IsDir() {
			all = append(all, inFolder(e.Name())...)
		}
	}
	return all
})

// inFolder lists the presets of a folder.
func inFolder(folder string) []Preset {
	var all []Preset
	for _, e := range entries(folder) {
		name, is := strings.CutSuffix(e.Name(), ".toml")
		if !is {
			continue
		}
		p := Preset{Name: name, Text: content(path.Join(folder, e.Name()))}
		if folder != "." {
			p.Field = folder
		}
		if _, err := toml.Decode(p.Text, &p); err != nil {
			panic(fmt.Errorf("preset %s: %w", name, err)) // it is part of the program
		}
		all = append(all, p)
	}
	return all
}

// Names lists the names, sorted.
func Names() []string {
	var names []string
	for _, p := range All() {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// Find is the preset of a name.
func Find(name string) (Preset, bool) {
	i := slices.IndexFunc(All(), func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return Preset{}, false
	}
	return All()[i], true
}

// Systems lists the published systems, by id.
var Systems = sync.OnceValue(func() []System {
	var all []System
	for line := range strings.Lines(content("systems.tsv")) {
		id, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		name, waits, _ := strings.Cut(rest, "\t")
		all = append(all, System{id, name, waits})
	}
	return all
})

func entries(folder string) []fs.DirEntry {
	list, err := files.ReadDir(folder)
	if err != nil {
		panic(err) // it is part of the program
	}
	return list
}

func content(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
