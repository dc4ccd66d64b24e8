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
	Items  []Item
	Bound  Item // the largest buffer that a kernel binds as a whole
	Buffer Item // the largest buffer
}

// Item is one use of device memory.
type Item struct {
	Name  string // "optimizer state"
	Bytes int
	Hint  string // where the size comes from: "2 x 134515008 x f32"
}

// Add appends an item.
func (p *Plan) Add(name string, bytes int, hint string) {
	p.Items = append(p.Items, Item{Name: name, Bytes: bytes, Hint: hint})
}

// Total is the sum of the items in bytes.
func (p Plan) Total() int {
	total := 0
	for _, item := range p.Items {
		total += item.Bytes
	}
	return total
}

// Note remembers a buffer if it is the largest so far. If kernels bind it as a whole, Note also
// remembers it if it is the largest of those.
func (p *Plan) Note(buffer Item, whole bool) {
	if buffer.Bytes > p.Buffer.Bytes {
		p.Buffer = buffer
	}
	if whole && buffer.Bytes > p.Bound.Bytes {
		p.Bound = buffer
	}
}

// Fits returns nil if the plan fits the device's memory, and each buffer what the device
// allows for one. Otherwise the error wraps ErrOutOfMemory; one about memory shows the plan.
func (p Plan) Fits(c Caps) error {
	switch {
	case p.Bound.Bytes > c.MaxBinding:
		return fmt.Errorf("%w: the run needs %s for %s in one piece; a kernel of %s (%s) sees at most %s of a buffer",
			ErrOutOfMemory, FormatBytes(p.Bound.Bytes), p.Bound.Name, c.ID, c.Name, FormatBytes(c.MaxBinding))
	case p.Buffer.Bytes > c.MaxAllocation:
		return fmt.Errorf("%w: the run needs %s for %s in one buffer; %s (%s) allows at most %s",
			ErrOutOfMemory, FormatBytes(p.Buffer.Bytes), p.Buffer.Name, c.ID, c.Name, FormatBytes(c.MaxAllocation))
	}
	missing := p.Total() - c.Memory
	if missing <= 0 {
		return nil
	}
	return fmt.Errorf("%w: the run needs %s; %s (%s) has %s, %s too little\n%s",
		ErrOutOfMemory, FormatBytes(p.Total()), c.ID, c.Name, FormatBytes(c.Memory), FormatBytes(missing), strings.TrimRight(p.String(), "\n"))
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
		line := fmt.Sprintf("  %-*s  %10s  %s", width, item.Name, FormatBytes(item.Bytes), item.Hint)
		fmt.Fprintln(&text, strings.TrimRight(line, " "))
	}
	fmt.Fprintf(&text, "  %-*s  %10s\n", width, "total", FormatBytes(p.Total()))
	return text.String()
}

// FormatBytes writes a size with one decimal in the largest binary unit that
// leaves a number of at least 1.
func FormatBytes(n int) string {
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
