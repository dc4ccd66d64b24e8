package recipe

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// override puts path=value into the tree as if the file had said so. Whether
// key and value are right is seen later, with the rest.
func (d *decoder) override(text string) {
	reject := func(why string) {
		d.faults = append(d.faults, fault{where: "--set " + text, text: why})
	}
	name, value, ok := strings.Cut(text, "=")
	if _, _, err := bounded(name); err != nil {
		reject(err.Error())
		return
	}
	p := path(strings.Split(strings.TrimSpace(name), "."))
	if !ok || slices.Contains(p, "") {
		reject("accepted is PATH=VALUE, such as seed=2 or stage.rl.steps=10")
		return
	}
	at, rest := d.tree, p
	if p[0] == "stage" {
		i, why := d.stageAt(p)
		if why != "" {
			reject(why)
			return
		}
		at, rest = d.stages()[i], p[2:]
		p = slices.Clone(p)
		p[1] = strconv.Itoa(i)
	}
	for i, key := range rest[:len(rest)-1] {
		if at[key] == nil {
			at[key] = map[string]any{}
		}
		next, ok := at[key].(map[string]any)
		if !ok {
			reject(d.name(p[:len(p)-len(rest)+i+1]) + " is a value, it has no keys")
			return
		}
		at = next
	}
	if slices.Equal(p, path{"model", "path"}) { // instead of a model to make
		maps.DeleteFunc(at, func(key string, _ any) bool { return !slices.Contains(besidePath, key) })
	}
	if slices.Equal(p, path{"task", "data"}) { // instead of a family
		maps.DeleteFunc(at, func(key string, _ any) bool { return !slices.Contains(besideData, key) })
	}
	value = strings.TrimSpace(value)
	if _, err := strconv.ParseInt(value, 0, 64); errors.Is(err, strconv.ErrRange) { // TOML has no others
		reject(value + " is out of range; whole numbers go from -9223372036854775808 to 9223372036854775807")
		return
	}
	at[p.last()] = parseValue(value)
	d.sets = append(d.sets, set{text: text, path: p})
}

// stageAt is the index of the stage that a path names, or why there is none.
func (d *decoder) stageAt(p path) (i int, why string) {
	if len(p) < 3 {
		return 0, "a stage's key is stage.NAME.KEY, such as stage.rl.steps"
	}
	var names []string
	for _, t := range d.stages() {
		names = append(names, stageName(t))
	}
	if i := slices.Index(names, p[1]); i >= 0 {
		return i, ""
	}
	if i, err := strconv.Atoi(p[1]); err == nil && i >= 0 && i < len(names) {
		return i, ""
	}
	return 0, "there is no stage " + strconv.Quote(p[1]) + DidYouMean(p[1], names) + "; accepted: " + strings.Join(names, ", ") + ", or an index from 0"
}

// parseValue reads a value as TOML; what is not TOML is a string, so that
// quotes may be left out.
func parseValue(text string) any {
	if _, _, err := bounded(text); err != nil {
		return text
	}
	var v map[string]any
	if _, err := toml.Decode("v = "+text, &v); err != nil || len(v) != 1 {
		return text
	}
	return v["v"]
}
