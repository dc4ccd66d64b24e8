package compare

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/terminal"
)

// Document is the comparison for a text in Markdown: a table with an arm a line, and under it
// the curves as rows of blocks. Of the pass@k it has the largest k, and 8 if there is
// more, and it leaves out the tokens sampled, which are the budget: [Comparison.Table] has all.
func (c *Comparison) Document() string {
	var b strings.Builder
	titles, cells := c.chosen()
	b.WriteString("| recipe | " + strings.Join(titles, " | ") + " |\n" + strings.Repeat("| --- ", len(titles)+1) + "|\n")
	for _, arm := range cells {
		b.WriteString("| " + strings.ReplaceAll(arm.name, "|", `\|`))
		for _, l := range arm.lines {
			b.WriteString(" | " + l.cell())
		}
		b.WriteString(" |\n")
	}
	trials := c.Arms[0].Trials
	fmt.Fprintf(&b, "\nMean ± standard deviation over %s on %s. In brackets: the 95 %% interval of the\ndifference from the first line, on the same seeds and problems; bold where it does not contain 0.\n", terminal.Count(len(trials), "seed", ""), terminal.Count(len(trials[0].Problems), "held-out problem", ""))
	for _, chart := range c.Charts {
		b.WriteString("\n" + c.curves(&chart))
	}
	return b.String()
}

// armLines is an arm's line of a table of all arms: a figure a column.
type armLines struct {
	name  string
	lines []line // empty where the arm has no such figure
}

// chosen are the figures of a table that stands in a text, with their titles: an arm a line, and
// the start as the last, where it was measured.
func (c *Comparison) chosen() (titles []string, arms []armLines) {
	for _, a := range c.Arms {
		arms = append(arms, armLines{name: a.Name})
	}
	if c.Rows[0].Start != nil {
		arms = append(arms, armLines{name: atStart})
	}
	for _, r := range c.Rows {
		if name, isPass := strings.CutPrefix(r.Name, "pass@"); r.Name == c.Along || isPass && name != "8" && r.Name != fmt.Sprintf("pass@%d", c.largest()) {
			continue
		}
		titles = append(titles, r.title())
		lines := append(c.lines(&r), line{}) // the last: of a start that was not measured
		for i := range arms {
			arms[i].lines = append(arms[i].lines, lines[i])
		}
	}
	return titles, arms
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
	if l.Spread != "" && l.Spread != "–" {
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
	fmt.Fprintf(&b, "```text\n%s (%s), after %.0f to %.0f %s\n", chart.Title, unit, grid[0], grid[len(grid)-1], c.Along)
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
