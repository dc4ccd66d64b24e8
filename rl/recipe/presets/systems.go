//go:build !js

package presets

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// The page that trains in the browser lists no systems, and would be 12 KB larger on the way.
//
//go:embed systems.tsv
var systems string

// States of a published system.
const (
	Works    = "works"    // the paper's mechanism is what its recipes compute
	Thin     = "thin"     // a recipe leaves out a part of it, or something stands in for it
	Waits    = "waits"    // there is no recipe until the program can do more
	Excluded = "excluded" // nothing is trained, or no text is written
)

// System is a published system.
type System struct {
	ID    string // such as 001-001
	Name  string // as the paper calls it; "": it has no name
	Paper string // what the paper is called, in short
	State string // Works, Thin, Waits or Excluded
	Why   string // what is left out or what stands in for it, what it waits for, why it is excluded; "": it works
}

// Title is what lists call the system.
func (s System) Title() string { return cmp.Or(s.Name, s.Paper) }

// Of is the system whose state a recipe has: the first that it names. An example has none.
func Of(p Preset) (System, bool) {
	i := slices.IndexFunc(Systems(), func(s System) bool { return slices.Contains(p.Systems, s.ID) })
	if i < 0 {
		return System{}, false
	}
	return Systems()[i], true
}

// Systems lists the published systems, by id.
var Systems = sync.OnceValue(func() []System {
	var all []System
	for line := range strings.Lines(systems) {
		column := strings.Split(strings.TrimRight(line, "\n"), "\t")
		state, why, _ := strings.Cut(column[3], ": ")
		all = append(all, System{column[0], column[1], column[2], state, why})
	}
	return all
})
