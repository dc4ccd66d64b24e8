package compare

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Document is the comparison for a text in Markdown: a table with an arm a line, and under it
// the curves as rows of blocks. Of the pass@k it has the largest k, and 8 if there is
// more, and it leaves out the tokens sampled, which are the budget: [Comparison.Table] has all.
func (c *Comparison) Document() string {
	var b strings.Builder
	var rows []Row
	for _, r := range c.Rows {
		if name, isPass := strings.CutPrefix(r.Name, "pass@"); !isPass && r.Name != sampledRow || name == "8" || r.Name == fmt.Sprintf("pass@%d", c.largest()) {
			rows = append(rows, r)
		}
	}
	cells := make([][]string, len(c.Arms)+3) // heading, rule, arms, start
	cells[0], cells[1] = []string{"recipe"}, []string{"---"}
	for i, a := range c.Arms {
		cells[i+2] = []string{strings.ReplaceAll(a.Name, "|", `\|`)}
	}
	last := len(cells) - 1
	cells[last] = []string{atStart}
	for _, r := range rows {
		cells[0], cells[1] = append(cells[0], r.title()), append(cells[1], "---")
		for i, l := range c.lines(&r) {
			cells[i+2] = append(cells[i+2], l.cell())
		}
		if r.Start == nil {
			cells[last] = append(cells[last], "")
		}
	}
	if c.Rows[0].Start == nil {
		cells = cells[:last]
	}
	for _, line := range cells {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
	}
	trials := c.Arms[0].Trials
	fmt.Fprintf(&b, "\nMean ± standard deviation over %d seeds on %d held-out problems. In brackets: the 95 %% interval of the\ndifference from the first line, on the same seeds and problems; bold where it does not contain 0.\n", len(trials), len(trials[0].Problems))
	for _, chart := range c.Charts {
		b.WriteString("\n" + c.curves(&chart))
	}
	return b.String()
}

// largest is the largest k of the rows of pass@k; 1: there is none.
func (c *Comparison) largest() int {
	k := 1
	for 2*k <= most(c.Arms) {
		k *= 2
	}
	return k
}

// cell is a figure of an arm.
func (l *line) cell() string {
	cell := l.Mean
	if l.Spread != "–" {
		cell += " ± " + l.Spread
	}
	switch {
	case l.Low == "" || l.Low == "–":
		return cell
	case l.Sure:
		return cell + " (**" + l.Low + " to " + l.High + "**)"
	}
	return cell + " (" + l.Low + " to " + l.High + ")"
}

// blocks are the heights of a place of a curve.
var blocks = []rune("▁▂▃▄▅▆▇█")

// curves are the means of a chart, an arm a line between its first and its last value; the
// heights are the same for all.
func (c *Comparison) curves(chart *Chart) string {
	low, high, widest := math.Inf(1), math.Inf(-1), 0
	for i, band := range chart.Bands {
		widest = max(widest, utf8.RuneCountInString(c.Arms[i].Name))
		for _, at := range band {
			if !math.IsNaN(at.Mean) {
				low, high = min(low, at.Mean), max(high, at.Mean)
			}
		}
	}
	scale, digits, unit := 1.0, 3, chart.Unit
	if chart.Share {
		scale, digits, unit = 100, 1, "%"
	}
	var b strings.Builder
	grid := chart.Grid
	fmt.Fprintf(&b, "```text\n%s (%s), after %.0f to %.0f sampled tokens\n", chart.Title, unit, grid[0], grid[len(grid)-1])
	for i, band := range chart.Bands {
		line := make([]rune, len(band))
		for j, at := range band {
			line[j] = ' '
			if !math.IsNaN(at.Mean) {
				line[j] = blocks[int(math.Min(float64(len(blocks)-1), float64(len(blocks))*(at.Mean-low)/math.Max(high-low, math.SmallestNonzeroFloat64)))]
			}
		}
		name := c.Arms[i].Name
		fmt.Fprintf(&b, "%s%s  %8s %s %s\n", name, strings.Repeat(" ", widest-utf8.RuneCountInString(name)), text(scale*band[0].Mean, digits, ""), string(line), text(scale*band[len(band)-1].Mean, digits, ""))
	}
	b.WriteString("```\n")
	return b.String()
}
