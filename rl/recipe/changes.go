package recipe

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/rlzero/rlzero/internal/settings"
)

// Change is a key whose values differ in two recipes.
type Change struct {
	Key  string // a path as --set takes it, such as stage.rl.steps
	From string // as messages show it; "": the first recipe does not have it
	To   string // likewise
}

// Changes are the keys whose values differ in two recipes, defaults included, in the order of their
// names. Lists of stages with other names are one key.
func Changes(from, to *Recipe) ([]Change, error) {
	trees := make([]map[string]any, 2)
	for i, r := range []*Recipe{from, to} {
		d, err := settings.Parse(File, r.Resolved())
		if err != nil {
			return nil, err
		}
		trees[i] = d.Tree()
	}
	return changes(nil, "", trees[0], trees[1]), nil
}

// changes adds those of two tables.
func changes(out []Change, path string, from, to map[string]any) []Change {
	both := map[string]bool{}
	for _, tree := range []map[string]any{from, to} {
		for key := range tree {
			both[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(both)) {
		a, b := from[key], to[key]
		if reflect.DeepEqual(a, b) {
			continue
		}
		at := path + key
		below, ok := a.(map[string]any)
		other, ok2 := b.(map[string]any)
		switch {
		case ok && ok2:
			out = changes(out, at+".", below, other)
		case at == "stage" && slices.Equal(namesOfStages(a), namesOfStages(b)):
			for i, stage := range settings.Tables(a) {
				out = changes(out, "stage."+namesOfStages(a)[i]+".", stage, settings.Tables(b)[i])
			}
		default:
			out = append(out, Change{at, textOf(a), textOf(b)})
		}
	}
	return out
}

// namesOfStages are those of a list of stages.
func namesOfStages(list any) (names []string) {
	for _, stage := range settings.Tables(list) {
		name, _ := stage["name"].(string)
		names = append(names, name)
	}
	return names
}

// textOf is a value as TOML.
func textOf(value any) string {
	switch value.(type) {
	case nil:
		return ""
	case map[string]any, []map[string]any:
		return "a table"
	case int64:
		return fmt.Sprint(value)
	}
	return settings.Text(value)
}
