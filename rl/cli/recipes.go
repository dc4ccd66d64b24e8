package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/recipe/presets"
)

const recipesHelp = `Lists the built-in recipes: first examples to start from, then published systems
in miniature, by field. The name of a field lists its recipes with what each
does. Any other text lists the recipes that have all of its words in their name,
their description, their paper, or the names and ids of their systems. Systems
without a recipe are listed with the reason. A * marks a thin recipe, which
leaves out a part of the paper's method or puts something else in its place:
show says what.

Examples:
   rlzero recipes
   rlzero recipes length
   rlzero recipes entropy bonus
   rlzero recipes 001-001
   rlzero recipes show countdown-tiny
   rlzero recipes show 001-001`

func recipesCommand() *cli.Command {
	show := func(c *cli.Context, name string) error {
		p, _ := presets.Find(name)
		if c.Bool("json") {
			return printJSON(c, struct {
				recipeEntry
				Text string `json:"text"`
			}{entryOf(p), p.Text})
		}
		text := p.Text
		if s, published := presets.Of(p); published {
			text = comment("State: "+stateOf(s)) + text
		}
		if name != c.Args().First() { // of a system, which may have several
			text = "# " + name + "\n" + text
		}
		_, err := fmt.Fprint(c.App.Writer, text)
		return err
	}
	list := func(c *cli.Context) error { return listRecipes(c, c.Args().Slice()) }
	command := recipeCatalogue.lister("list, search or show the built-in recipes; list the keys", "countdown-tiny", list, show)
	command.ArgsUsage = "[FIELD | TEXT | show NAME | keys]"
	command.Description = recipesHelp
	command.Subcommands = append(command.Subcommands, &cli.Command{
		Name: searchCommand, Usage: "list the recipes that contain a text", ArgsUsage: "TEXT", Description: recipesHelp, Flags: []cli.Flag{jsonFlag}, Action: list,
	}, recipeKeysCommand())
	return command
}

// recipeEntry is a line of rlzero recipes --json.
type recipeEntry struct {
	Name      string           `json:"name"`
	Field     string           `json:"field"` // "": an example
	About     string           `json:"about"`
	Paper     string           `json:"paper"`
	Systems   []string         `json:"systems"`
	State     string           `json:"state"`       // works or thin; "": an example
	LeftOut   string           `json:"left_out"`    // of a thin one
	FromPaper string           `json:"from_paper"`  // what the paper does
	Formula   string           `json:"formula"`     // of the paper, where the recipe works
	Part      string           `json:"part"`        // the key that computes it
	ShownBy   string           `json:"shown_by"`    // the metric in which it is seen to act
	Scaled    string           `json:"scaled_down"` // what is smaller, or stands for something else
	Expect    string           `json:"expect"`      // in words; "": Expects says it
	Expects   []presets.Expect `json:"expects"`
	FileLines int              `json:"file_lines"`
}

func entryOf(p presets.Preset) recipeEntry {
	s, _ := presets.Of(p)
	h := p.Head
	return recipeEntry{p.Name, p.Field, p.About, p.Paper, append([]string{}, p.Systems...), s.State, s.Why,
		h.FromPaper, h.Formula, h.Part, h.ShownBy, h.ScaledDown, h.Expect, append([]presets.Expect{}, p.Expects...), strings.Count(p.Text, "\n")}
}

// stateOf is the state of a published system with what it has to say.
func stateOf(s presets.System) string {
	if s.Why == "" {
		return s.State
	}
	return s.State + ": " + s.Why
}

// comment is a text as lines of a recipe.
func comment(text string) string {
	var out strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		if column += 1 + len(word); column == 1+len(word) || column > 98 {
			out.WriteString("\n#")
			column = 2 + len(word)
		}
		out.WriteString(" " + word)
	}
	return strings.TrimPrefix(out.String(), "\n") + "\n"
}

// marked is the name of a recipe in lists, with a * where it is thin.
func marked(p presets.Preset) string {
	if s, _ := presets.Of(p); s.State == presets.Thin {
		return p.Name + "*"
	}
	return p.Name
}

// listRecipes lists the recipes, and the systems without one, that have all words.
func listRecipes(c *cli.Context, words []string) error {
	words = strings.Fields(strings.ToLower(strings.Join(words, " ")))
	called := map[string]string{} // systems by id
	for _, s := range presets.Systems() {
		called[s.ID] = s.Name + " " + s.Paper
	}
	all := presets.All()
	field := func(p presets.Preset) bool { return len(words) == 1 && p.Field == words[0] }
	if slices.ContainsFunc(all, field) {
		all, words = slices.DeleteFunc(slices.Clone(all), func(p presets.Preset) bool { return !field(p) }), nil
	} else if len(words) == 0 && !c.Bool("json") {
		return printFields(c.App.Writer, all)
	}
	var found []presets.Preset
	for _, p := range all {
		text := []string{p.Name, p.Field, p.About, p.Paper}
		for _, id := range p.Systems {
			text = append(text, id, called[id])
		}
		if hasAll(strings.Join(text, " "), words) {
			found = append(found, p)
		}
	}
	var waiting []presets.System
	for _, s := range presets.Systems() {
		if without(s) && len(words) > 0 && hasAll(s.ID+" "+s.Name+" "+s.Paper, words) {
			waiting = append(waiting, s)
		}
	}
	if len(found)+len(waiting) == 0 {
		text := strings.Join(words, " ")
		if near := hint.Nearest(text, []string{"show", "keys", searchCommand}); near != "" {
			return hint.With(usagef("no recipe has %q", text), "did you mean recipes %s?", near)
		}
		return usage(hint.Unknown("recipe", text, presets.Names(), "rlzero recipes"))
	}
	if c.Bool("json") {
		for _, p := range found {
			if err := printJSON(c, entryOf(p)); err != nil {
				return err
			}
		}
		return nil
	}
	return printRecipes(c.App.Writer, found, waiting)
}

func hasAll(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// without tells whether no recipe shows a system.
func without(s presets.System) bool { return s.State == presets.Waits || s.State == presets.Excluded }

// waiting tells why a published system has no recipe; nil: it has one, or is not known.
func waiting(id string) error {
	for _, s := range presets.Systems() {
		if s.ID == id && without(s) {
			return usagef("system %s, %s, has no recipe; the reason: %s", s.ID, s.Title(), stateOf(s))
		}
	}
	return nil
}

// printFields lists the examples with what they are about, and the names of the others by field.
func printFields(w io.Writer, all []presets.Preset) error {
	examples := slices.IndexFunc(all, func(p presets.Preset) bool { return p.Field != "" })
	if err := printRecipes(w, all[:examples], nil); err != nil {
		return err
	}
	const width = 100
	var out strings.Builder
	column := 0
	for i, p := range all[examples:] {
		if i == 0 || p.Field != all[examples+i-1].Field {
			fmt.Fprintf(&out, "\npublished systems: %s", p.Field)
			column = width
		}
		name := marked(p)
		if column += len(name) + 1; column > width {
			out.WriteString("\n  ")
			column = len(name) + 3
		}
		out.WriteString(" " + name)
	}
	_, err := fmt.Fprintf(w, "%s\n* thin: a part of the method is left out, or something stands in for it; recipes show NAME says what\nrlzero recipes FIELD or TEXT says what they do: rlzero recipes %s\n", strings.TrimPrefix(out.String(), "\n"), all[examples].Field)
	return err
}

func printRecipes(w io.Writer, found []presets.Preset, waiting []presets.System) error {
	width := 0
	for _, p := range found {
		width = max(width, len(marked(p)))
	}
	var out strings.Builder
	for i, p := range found {
		if i == 0 || p.Field != found[i-1].Field {
			title := "examples"
			if p.Field != "" {
				title = "published systems: " + p.Field
			}
			fmt.Fprintf(&out, "%s\n", title)
		}
		fmt.Fprintf(&out, "   %-*s  %s\n", width, marked(p), p.About)
	}
	for i, s := range waiting {
		if i == 0 {
			fmt.Fprintf(&out, "systems without a recipe\n")
		}
		fmt.Fprintf(&out, "   %s  %s: %s\n", s.ID, s.Title(), stateOf(s))
	}
	_, err := fmt.Fprint(w, out.String())
	return err
}
