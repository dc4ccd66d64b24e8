package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rlzero/rlzero/rl/recipe"
)

const keysHelp = `Lists every key that a recipe can have, table by table: what it is, what it accepts, and its
default, by kind of stage where that differs. rlzero tasks show NAME lists the settings of a
task, rlzero verifiers show NAME the options of a verifier.

--json writes a line for each key: table, key, kinds (of stage), type, unit, accepted,
defaults (TOML text, by kind of stage; "" outside of stages), with (another key and
the words of it that this key needs to have an effect; "": none), about.

Examples:
   rlzero recipes keys
   rlzero recipes keys --json`

func recipeKeysCommand() *cli.Command {
	return &cli.Command{
		Name: "keys", Usage: "list every key of a recipe", Description: keysHelp, Flags: []cli.Flag{jsonFlag},
		Action: func(c *cli.Context) error {
			if _, err := positional(c); err != nil {
				return err
			}
			return printKeys(c, recipe.Keys())
		},
	}
}

func printKeys(c *cli.Context, keys []recipe.Key) error {
	width := 0
	for _, k := range keys {
		width = max(width, len(k.Key))
	}
	var table recipe.Key // the first key of the table
	for i, k := range keys {
		if c.Bool("json") {
			if err := printJSON(c, k); err != nil {
				return err
			}
			continue
		}
		if i == 0 || k.Table != table.Table {
			table = k
			fmt.Fprintf(c.App.Writer, "%s\n", tableHead(k))
		}
		if _, err := fmt.Fprintf(c.App.Writer, "  %-*s  %s\n", width, k.Key, keyText(k, table)); err != nil {
			return err
		}
	}
	return nil
}

// keyText says what a key is, what it accepts and when it applies; first is the first key of
// its table.
func keyText(k, first recipe.Key) string {
	text := k.About + ". " + strings.ToUpper(k.Accepted[:1]) + k.Accepted[1:]
	if k.Unit != "" {
		text += " (" + k.Unit + ")"
	}
	text += "." + defaultText(k)
	if k.With != "" {
		text += " Goes with " + k.With + "."
	}
	if len(k.Kinds) < len(first.Kinds) {
		text += " For kind " + listed(k.Kinds) + "."
	}
	return text
}

// listed are words as in a sentence: a, b and c.
func listed(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// tableHead is the line above the keys of a table, of which k is the first.
func tableHead(k recipe.Key) string {
	switch {
	case k.Table == "":
		return "At the top"
	case k.Table == "stage" || k.Table == "stage.verifier":
		return "\n[[" + k.Table + "]]"
	case len(k.Kinds) > 0:
		return "\n[" + k.Table + "] of stages of kind " + listed(k.Kinds)
	}
	return "\n[" + k.Table + "]"
}

// defaultText says what a key is if it is not given.
func defaultText(k recipe.Key) string {
	values := map[string]bool{}
	var each []string
	for _, kind := range slices.Sorted(maps.Keys(k.Defaults)) {
		values[k.Defaults[kind]] = true
		each = append(each, k.Defaults[kind]+" ("+kind+")")
	}
	switch len(values) {
	case 0:
		return ""
	case 1:
		each = slices.Collect(maps.Keys(values))
	}
	return " Default " + strings.Join(each, ", ") + "."
}
