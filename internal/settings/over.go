package settings

import (
	"maps"
	"slices"
	"strconv"
)

// Over lays the document over another one: what the text does not say is as below. Tables are
// merged key by key, and lists of tables at the top by name, where those of other names come
// before the next one of the text that is below, or after all; everything else is replaced. A table
// for which whole holds stands alone: nothing of the one below is left. Overrides come afterwards. A
// document is laid over one other at most.
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
		tree[key], d.places[key] = overList(own, under, []string{key}, whole)
	}
	d.tree = tree
}

// overList is a list of tables over the one below. places has, of each of its tables that the text
// has, the index there.
func overList(own, under []map[string]any, at []string, whole func(at []string, table map[string]any) bool) (list []map[string]any, places map[int]int) {
	type entry struct {
		table map[string]any
		below string // its name in the list below; "": it is not there
		own   int    // its index in the text; -1: it is not there
	}
	var entries []entry
	for _, t := range under {
		entries = append(entries, entry{t, elementName(t), -1})
	}
	find := func(t map[string]any) int {
		return slices.IndexFunc(entries, func(e entry) bool { return e.below != "" && e.below == elementName(t) })
	}
	for i, t := range own {
		if n := find(t); n >= 0 {
			entries[n].table, _ = over(t, entries[n].table, at, whole).(map[string]any)
			entries[n].own = i
			continue
		}
		place := len(entries)
		if next := slices.IndexFunc(own[i:], func(t map[string]any) bool { return find(t) >= 0 }); next > 0 {
			place = find(own[i+next])
		}
		entries = slices.Insert(entries, place, entry{t, "", i})
	}
	places = map[int]int{}
	for n, e := range entries {
		if list = append(list, e.table); e.own >= 0 {
			places[n] = e.own
		}
	}
	return list, places
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
