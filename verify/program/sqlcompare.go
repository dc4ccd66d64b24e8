package program

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/verify"
	"github.com/rlzero/rlzero/verify/program/internal/sqlite"
)

const (
	maxColumnOrders = 1000   // orders of columns tried under columns = "any"
	maxPairings     = 250000 // pairs of unequal rows whose cells are compared
)

// keys are the values of rows as texts that are equal when the values are.
func (v sql) keys(rows [][]any) [][]string {
	all := make([][]string, len(rows))
	for i, row := range rows {
		all[i] = make([]string, len(row))
		for j, value := range row {
			all[i][j] = v.key(value)
		}
	}
	return all
}

// key begins with the kind of the value. A real that is a whole number has the key
// of the integer.
func (v sql) key(value any) string {
	switch x := value.(type) {
	case int64:
		return "i" + strconv.FormatInt(x, 10)
	case float64:
		text := strconv.FormatFloat(x, 'g', -1, 64)
		if v.Digits > 0 {
			text = strconv.FormatFloat(x, 'e', v.Digits-1, 64)
			x, _ = strconv.ParseFloat(text, 64) // of a finite number, or Inf again
		}
		if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
			return "i" + strconv.FormatInt(int64(x), 10)
		}
		return "r" + text
	case string:
		return "t" + x
	case sqlite.Blob:
		return "b" + string(x)
	}
	return "n"
}

// joined are rows as one text each: cells with their lengths before them.
func joined(rows [][]string) []string {
	all := make([]string, len(rows))
	var b strings.Builder
	for i, row := range rows {
		b.Reset()
		for _, cell := range row {
			b.WriteString(strconv.Itoa(len(cell)))
			b.WriteByte(':')
			b.WriteString(cell)
		}
		all[i] = b.String()
	}
	return all
}

// equalBags compares without order, with repetitions.
func equalBags(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	left := make(map[string]int, len(a))
	for _, x := range a {
		left[x]++
	}
	for _, x := range b {
		if left[x]--; left[x] < 0 {
			return false
		}
	}
	return true
}

// parts are the ends of the parts of a reference in which order does not count.
// Where order counts, first and second are two results that the reference query
// allows: a part ends as soon as both have had the same rows.
func (v sql) parts(first, second [][]string, ordered bool) []int {
	if v.Order == orderNever || v.Order == orderReference && !ordered {
		return []int{len(first)}
	}
	if v.Order == orderAlways && !ordered { // nothing says which rows tie
		second = first
	}
	var ends []int
	a, b := joined(first), joined(second)
	open, more := 0, map[string]int{} // rows that one has had more often
	count := func(row string, by int) {
		if more[row] == 0 {
			open++
		}
		if more[row] += by; more[row] == 0 {
			open--
		}
	}
	for i := range a {
		count(a[i], 1)
		count(b[i], -1)
		if open == 0 {
			ends = append(ends, i+1)
		}
	}
	return ends
}

// compare judges the rows of a query.
func (v sql) compare(d referenced, found [][]string, query, rule string) verify.Verdict {
	width := d.width
	if len(found) > 0 && width < 0 {
		width = len(found[0])
	}
	same := d.width < 0 || len(found) == 0 || len(found[0]) == d.width
	equal := same && equalParts(d, found)
	if v.Columns == columnsAny && same && !equal {
		equal = inAnyOrder(d, found, width)
	}
	if equal {
		return verify.Accept(query, rule, "%s equal to those of the reference", count(len(d.rows), "row"))
	}
	reason := "the rows differ from the reference"
	if len(found) != len(d.rows) {
		reason = count(len(found), "row") + ", but the reference has " + strconv.Itoa(len(d.rows))
	} else if same && equalBags(joined(d.rows), joined(found)) {
		reason = "the rows of the reference in another order"
	}
	if v.Partial == partialCells {
		if v.Columns == columnsAny {
			found = bestColumns(d.rows, found)
		}
		if f1 := cellF1(d, found); f1 > 0 && f1 < 1 {
			verdict := verify.Accept(query, rule, "%s; F1 of cells %.4f", reason, f1)
			verdict.Verdict, verdict.Score = verify.Graded, f1
			return verdict
		}
	}
	return verify.Reject(query, rule, "%s", reason)
}

// equalParts says whether rows are those of the reference, part by part.
func equalParts(d referenced, found [][]string) bool {
	if len(found) != len(d.rows) {
		return false
	}
	a, b := joined(d.rows), joined(found)
	from := 0
	for _, end := range d.ends {
		if !equalBags(a[from:end], b[from:end]) {
			return false
		}
		from = end
	}
	return true
}

// inAnyOrder looks for an order of found's columns that makes it equal.
func inAnyOrder(d referenced, found [][]string, width int) bool {
	if len(found) != len(d.rows) || len(found) == 0 {
		return false
	}
	want, have := columnsOf(d.rows, width), columnsOf(found, width)
	order, used, tries := make([]int, 0, width), make([]bool, width), 0
	var place func() bool
	place = func() bool {
		if len(order) == width {
			tries++
			return equalParts(d, reordered(found, order))
		}
		for j := range have {
			twin := false
			for k := range j { // an unused twin was tried in this place already
				twin = twin || !used[k] && slices.Equal(have[k], have[j])
			}
			if used[j] || twin || tries >= maxColumnOrders || !equalBags(want[len(order)], have[j]) {
				continue
			}
			used[j], order = true, append(order, j)
			if place() {
				return true
			}
			used[j], order = false, order[:len(order)-1]
		}
		return false
	}
	return place()
}

// columnsOf are the columns of rows.
func columnsOf(rows [][]string, width int) [][]string {
	all := make([][]string, width)
	for _, row := range rows {
		for j := range min(width, len(row)) {
			all[j] = append(all[j], row[j])
		}
	}
	return all
}

// reordered has column order[j] in place j.
func reordered(rows [][]string, order []int) [][]string {
	all := make([][]string, len(rows))
	for i, row := range rows {
		for _, j := range order {
			all[i] = append(all[i], row[j])
		}
	}
	return all
}

// bestColumns puts found's columns where they share most values with the
// reference: the pair of columns that shares most first. Columns that are left
// over follow.
func bestColumns(reference, found [][]string) [][]string {
	if len(reference) == 0 || len(found) == 0 {
		return found
	}
	want, have := columnsOf(reference, len(reference[0])), columnsOf(found, len(found[0]))
	type pair struct{ i, j, shared int }
	var pairs []pair
	for i := range want {
		for j := range have {
			pairs = append(pairs, pair{i, j, sharedCount(want[i], have[j])})
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.shared - a.shared })
	order := slices.Repeat([]int{-1}, max(len(want), len(have)))
	used := make([]bool, len(have))
	for _, p := range pairs {
		if order[p.i] < 0 && !used[p.j] {
			order[p.i], used[p.j] = p.j, true
		}
	}
	for j, done := range used { // the surplus, last
		if !done {
			order[slices.Index(order, -1)] = j
		}
	}
	order = slices.DeleteFunc(order, func(j int) bool { return j < 0 })
	return reordered(found, order)
}

// sharedCount is the size of the common bag.
func sharedCount(a, b []string) int {
	left := make(map[string]int, len(a))
	for _, x := range a {
		left[x]++
	}
	shared := 0
	for _, x := range b {
		if left[x] > 0 {
			left[x]--
			shared++
		}
	}
	return shared
}

// cellF1 is the harmonic mean of the precision and the recall of cells.
func cellF1(d referenced, found [][]string) float64 {
	equal, cells := 0, 0
	for _, rows := range [][][]string{d.rows, found} {
		for _, row := range rows {
			cells += len(row)
		}
	}
	from := 0
	for i, end := range d.ends {
		until := min(end, len(found))
		if i == len(d.ends)-1 {
			until = len(found)
		}
		equal += pairedCells(d.rows[from:end], found[min(from, until):until])
		from = end
	}
	if cells == 0 {
		return 0
	}
	return 2 * float64(equal) / float64(cells)
}

// pairedCells pairs rows one to one and counts the equal cells of the pairs: equal
// rows first, then those with most equal cells, the earlier ones where they tie.
func pairedCells(reference, found [][]string) int {
	byRow := map[string][]int{}
	for i, key := range joined(reference) {
		byRow[key] = append(byRow[key], i)
	}
	taken := make([]bool, len(reference))
	equal := 0
	var rest []int
	for j, key := range joined(found) {
		if at := byRow[key]; len(at) > 0 {
			taken[at[0]], byRow[key] = true, at[1:]
			equal += len(found[j])
		} else {
			rest = append(rest, j)
		}
	}
	type pair struct{ i, j, cells int }
	var pairs []pair
	compared := 0
	for _, j := range rest {
		for i := range reference {
			if taken[i] {
				continue
			}
			if compared++; compared > maxPairings {
				break
			}
			if n := equalCells(reference[i], found[j]); n > 0 {
				pairs = append(pairs, pair{i, j, n})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return b.cells - a.cells })
	done := make([]bool, len(found))
	for _, p := range pairs {
		if !taken[p.i] && !done[p.j] {
			taken[p.i], done[p.j] = true, true
			equal += p.cells
		}
	}
	return equal
}

func equalCells(a, b []string) int {
	n := 0
	for i := range min(len(a), len(b)) {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}
