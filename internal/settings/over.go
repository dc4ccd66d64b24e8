package settings

import (
	"maps"
	"slices"
	"strconv"
)

// Over lays the document over another one: what the text does not say is as below. Tables are
// merged key by key, and lists of tables at the top by name, where those of other names come
// after; everything else is replaced. A table for which whole holds stands alone: nothing of
// the one below is left. Overrides come afterwards. A document is laid over one other at most.
func (d *Document) Over(below *Document, whole func(at []string, table map[string]any) bool) {
	d.under, d.places = below, map[string]map[int]int{}
	tree := maps.Clone(below.tree)
	for _, key := range slices.Sorted(maps.Keys(d.tree)) {
		value := d.tree[key]
		own, under := Tables(value), Tables(tree[key])
		if own == nil || under == nil {
			tree[key] = over(value, tree[key], []string{key}, whole)
			continue
		}
		list, places := slices.Clone(under), map[int]int{}
		for i, t := range own {
			n := slices.IndexFunc(under, func(u map[string]any) bool { return elementName(u) == elementName(t) })
			if n < 0 {
				n = len(list)
				list = append(list, map[string]any{})
			}
			list[n], _ = over(t, list[n], []string{key}, whole).(map[string]any)
			places[n] = i
		}
		tree[key], d.places[key] = list, places
	}
	d.tree = tree
}

// over is a value over the one below.
func over(value, below any, at []string, whole func(at []string, table map[string]any) bool) any {
	own, is := value.(map[string]any)
	under, was := below.(map[string]any)
	if !is || !was || whole(at, own) {
		return value
	}
	merged := maps.Clone(under)
	for _, key := range slices.Sorted(maps.Keys(own)) {
		merged[key] = over(own[key], under[key], append(slices.Clone(at), key), whole)
	}
	return merged
}

// ownPath is p with the indices that lists have in the text, if the text has such a table.
func (d *Document) ownPath(p Path) (own Path, here bool) {
	if len(p) < 2 || d.places[p[0]] == nil {
		return p, true
	}
	n, err := strconv.Atoi(p[1])
	if err != nil {
		return p, true
	}
	i, here := d.places[p[0]][n]
	own = slices.Clone(p)
	own[1] = strconv.Itoa(i)
	return own, here
}
