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
	Items  []Item  // what is there in all phases, the scratch that phases share among it
	Phases []Phase // what each of them lays into the scratch; nil: nothing is shared
	Blocks []int   // the scratch's buffers, bytes
	Bound  Item    // the largest buffer that a kernel binds as a whole
	Buffer Item    // the largest buffer
}

// Phase is a part of a step, with memory that others take in their turn.
type Phase struct {
	Name  string // "sampling"
	Items []Item
}

// Total is what the phase lays into the scratch, bytes.
func (p Phase) Total() int { return totalOf(p.Items) }

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

// AddTo appends an item to a phase.
func (p *Plan) AddTo(phase string, item Item) {
	i := slices.IndexFunc(p.Phases, func(of Phase) bool { return of.Name == phase })
	if i < 0 {
		i, p.Phases = len(p.Phases), append(p.Phases, Phase{Name: phase})
	}
	p.Phases[i].Items = append(p.Phases[i].Items, item)
}

// Share adds the scratch in which the phases take turns, of buffers of so many bytes.
func (p *Plan) Share(blocks []int) {
	if p.Blocks = blocks; len(blocks) == 0 {
		return
	}
	bytes := 0
	for _, n := range blocks {
		bytes += n
	}
	p.Add("scratch", bytes, "for one phase at a time")
}

// Total is the sum of the items in bytes.
func (p Plan) Total() int { return totalOf(p.Items) }

// Stays is what is there in all phases beside the scratch, in bytes.
func (p Plan) Stays() int {
	total := p.Total()
	for _, n := range p.Blocks {
		total -= n
	}
	return total
}

// Apart is what the items would take if each phase had memory of its own, in bytes.
func (p Plan) Apart() int {
	total := p.Stays()
	for _, phase := range p.Phases {
		total += phase.Total()
	}
	return total
}

func totalOf(items []Item) int {
	total := 0
	for _, item := range items {
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

// String is the plan as a table for people, largest item first, and then what each phase has in the scratch.
func (p Plan) String() string {
	items := slices.Clone(p.Items)
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var phases []Item
	for _, phase := range p.Phases {
		var of []string
		for _, item := range phase.Items {
			of = append(of, fmt.Sprintf("%s (%s)", item.Name, item.Hint))
		}
		phases = append(phases, Item{Name: phase.Name, Bytes: phase.Total(), Hint: strings.Join(of, "; ")})
	}
	width := len("total")
	for _, item := range slices.Concat(items, phases) {
		width = max(width, len(item.Name))
	}
	var text strings.Builder
	write := func(items ...Item) {
		for _, item := range items {
			line := fmt.Sprintf("  %-*s  %10s  %s", width, item.Name, FormatBytes(item.Bytes), item.Hint)
			fmt.Fprintln(&text, strings.TrimRight(line, " "))
		}
	}
	write(items...)
	write(Item{Name: "total", Bytes: p.Total()})
	if len(phases) > 0 {
		fmt.Fprintln(&text, "scratch by phase")
		write(phases...)
	}
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
