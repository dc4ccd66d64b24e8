package gpu

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Plan lists the memory that a run will take on a device. It is made before
// the first buffer, printed, and checked by Fits.
type Plan struct {
	Items []Item
}

// Item is one use of device memory.
type Item struct {
	Name    string // "optimizer state"
	Bytes   int
	Hint    string   // where the size comes from: "2 x 134515008 x f32"
	Savings []Saving // changes of the run that would make the item smaller
}

// Saving is a change of the run and what it would save in one item. The same
// change may stand at several items: the bytes add up.
type Saving struct {
	Change string // "set micro_batch_tokens = 1024"
	Bytes  int
}

// Add appends an item.
func (p *Plan) Add(name string, bytes int, hint string, savings ...Saving) {
	p.Items = append(p.Items, Item{Name: name, Bytes: bytes, Hint: hint, Savings: savings})
}

// Total is the sum of the items in bytes.
func (p Plan) Total() int {
	total := 0
	for _, item := range p.Items {
		total += item.Bytes
	}
	return total
}

// Fits returns nil if the plan fits the device's memory. Otherwise the error
// wraps ErrOutOfMemory, shows the plan and names up to three changes: those that
// suffice alone, smallest first, because it alters the run least; if none does,
// the largest ones together.
func (p Plan) Fits(c Caps) error {
	missing := p.Total() - c.Memory
	if missing <= 0 {
		return nil
	}
	return fmt.Errorf("%w: the run needs %s; %s (%s) has %s, %s too little\n%s%s",
		ErrOutOfMemory, formatBytes(p.Total()), c.ID, c.Name, formatBytes(c.Memory), formatBytes(missing), p, p.advice(missing))
}

// String is the plan as a table for people, largest item first.
func (p Plan) String() string {
	items := slices.Clone(p.Items)
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Bytes, a.Bytes) })
	width := len("total")
	for _, item := range items {
		width = max(width, len(item.Name))
	}
	var text strings.Builder
	for _, item := range items {
		line := fmt.Sprintf("  %-*s  %10s  %s", width, item.Name, formatBytes(item.Bytes), item.Hint)
		fmt.Fprintln(&text, strings.TrimRight(line, " "))
	}
	fmt.Fprintf(&text, "  %-*s  %10s\n", width, "total", formatBytes(p.Total()))
	return text.String()
}

// advice names the changes that would save the missing bytes.
func (p Plan) advice(missing int) string {
	const most = 3 // a longer list would not help to choose
	changes := p.changes()
	if len(changes) == 0 {
		return "use a smaller model or a device with more memory"
	}
	enough := slices.IndexFunc(changes, func(s Saving) bool { return s.Bytes >= missing })
	if enough >= 0 {
		changes = changes[enough:]
		return "any of these makes it fit:\n" + formatSavings(changes[:min(most, len(changes))])
	}
	slices.Reverse(changes)
	saved := 0
	for i, s := range changes[:min(most, len(changes))] {
		saved += s.Bytes
		if saved >= missing {
			return "these together make it fit:\n" + formatSavings(changes[:i+1])
		}
	}
	changes = changes[:min(most, len(changes))]
	return fmt.Sprintf("these save most, but the device would still have %s too little; use a smaller model or a device with more memory:\n%s",
		formatBytes(missing-saved), formatSavings(changes))
}

// changes adds up the savings of each change over the items and returns the
// changes by what they save, least first.
func (p Plan) changes() []Saving {
	var changes []Saving
	for _, item := range p.Items {
		for _, s := range item.Savings {
			i := slices.IndexFunc(changes, func(c Saving) bool { return c.Change == s.Change })
			if i < 0 {
				changes = append(changes, s)
			} else {
				changes[i].Bytes += s.Bytes
			}
		}
	}
	changes = slices.DeleteFunc(changes, func(s Saving) bool { return s.Bytes <= 0 })
	slices.SortStableFunc(changes, func(a, b Saving) int { return cmp.Compare(a.Bytes, b.Bytes) })
	return changes
}

func formatSavings(savings []Saving) string {
	lines := make([]string, len(savings))
	for i, s := range savings {
		lines[i] = fmt.Sprintf("  %s (saves %s)", s.Change, formatBytes(s.Bytes))
	}
	return strings.Join(lines, "\n")
}

// formatBytes writes a size with one decimal in the largest binary unit that
// leaves a number of at least 1.
func formatBytes(n int) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	value, name := float64(n)/unit, "KiB"
	for _, next := range []string{"MiB", "GiB", "TiB"} {
		if value < unit {
			break
		}
		value, name = value/unit, next
	}
	return fmt.Sprintf("%.1f %s", value, name)
}
