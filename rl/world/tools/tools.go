package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/rl/world"
)

// Options are the settings of a tool in a recipe: a pointer to a struct with the tags of package settings,
// which holds the defaults.
type Options interface {
	// Validate is an error for options that do not go together; a *settings.Error names its option.
	Validate() error
	// Spec is that of the tool.
	Spec() world.Spec
	// Make makes the tool, with what it needs of the disk. hash is the SHA-256 of what it read, in
	// hexadecimal digits; "": nothing.
	Make(documents Documents) (t world.Tool, hash string, err error)
}

// Documents reads the texts of a folder, which have names, or of a column of a data file, and hashes them. Without
// a column only a folder is accepted.
type Documents func(data, column string) (names, texts []string, hash string, err error)

// Entry describes a tool.
type Entry struct {
	Name    string // in recipes
	Summary string // one line, for "rlzero tools"
	Doc     string // what it does, for "rlzero tools show NAME"
	Options func() Options
	Paths   []string // options that name a file or a folder: a recipe makes them absolute
}

var entries []Entry

// Register adds a tool. It panics where its name is taken: call it from an init function.
func Register(e Entry) {
	if _, taken := Lookup(e.Name); taken || e.Name == "" {
		panic(fmt.Sprintf("tools: the name %q is empty or registered twice", e.Name))
	}
	entries = append(entries, e)
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
}

// Entries are all tools, ordered by name.
func Entries() []Entry { return slices.Clone(entries) }

// Names are the names of all tools, in order.
func Names() []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// Lookup finds a tool by name.
func Lookup(name string) (e Entry, found bool) {
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return entries[i], true
}
