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

//go:embed *.toml */*.toml
var files embed.FS

// Preset is a recipe that comes with the program.
type Preset struct {
	Name    string   `toml:"-"`       // what it is called by
	Field   string   `toml:"-"`       // what it is about; "": it is an example
	About   string   `toml:"about"`   // one line
	Paper   string   `toml:"paper"`   // "": none
	Systems []string `toml:"systems"` // ids of [Systems]
	Expects []Expect `toml:"expect"`  // what a run should show against a control
	Head    Head     `toml:"-"`       // of a published system
	Text    string   `toml:"-"`       // TOML
}

// Expect is what a recipe should show against a control. Package recipe checks it.
type Expect struct {
	Metric    string `toml:"metric" json:"metric"`
	Than      string `toml:"than" json:"than"`
	Start     string `toml:"start" json:"start,omitempty"` // "": that of the control
	Direction string `toml:"direction" json:"direction"`
	Paper     string `toml:"paper" json:"paper"`
}

// Head is what the comment at the beginning of a published system's recipe says of it. A recipe
// that computes the paper's mechanism has Formula, Part and ShownBy.
type Head struct {
	FromPaper  string // what the paper does
	Formula    string // the paper's formula, of the part that is its own
	Part       string // the key of the recipe that computes it, as overrides name it
	ShownBy    string // the metric in which it is seen to act
	ScaledDown string // what is smaller than in the paper, or stands in for something else
	Expect     string // what a run should show, where no table expect says so
}

// labels begin the paragraphs of a head, in order.
var labels = []struct {
	begin string
	field func(*Head) *string
}{
	{"From the paper: ", func(h *Head) *string { return &h.FromPaper }},
	{"Formula: ", func(h *Head) *string { return &h.Formula }},
	{"Part: ", func(h *Head) *string { return &h.Part }},
	{"Shown by: ", func(h *Head) *string { return &h.ShownBy }},
	{"Scaled down: ", func(h *Head) *string { return &h.ScaledDown }},
	{"Expect: ", func(h *Head) *string { return &h.Expect }},
}

// headOf reads the comment that a recipe begins with.
func headOf(text string) Head {
	var h Head
	field := new(string)
	for line := range strings.Lines(text) {
		said, comment := strings.CutPrefix(strings.TrimSpace(line), "#")
		if !comment {
			break
		}
		said = strings.TrimSpace(said)
		for _, l := range labels {
			if rest, begins := strings.CutPrefix(said, l.begin); begins {
				field, said = l.field(&h), rest
			}
		}
		*field = strings.TrimSpace(*field + " " + said)
	}
	return h
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
			p.Field, p.Head = folder, headOf(p.Text)
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
