package compare

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/terminal"
)

// CSV is every figure of every arm, for programs that draw: a line a figure and recipe with its
// mean, its standard deviation over seeds, the gain over the first recipe with its 95 % interval,
// and the value of each seed. Shares are from 0 to 1; what was not measured is empty.
func (c *Comparison) CSV() string {
	head := []string{"figure", "unit", "recipe", "mean", "deviation", "gain", "gain_low", "gain_high"}
	for _, t := range c.Arms[0].Trials {
		head = append(head, fmt.Sprintf("seed_%d", t.Seed))
	}
	all := [][]string{head}
	for _, r := range c.Rows {
		unit := r.Unit
		if r.Share {
			unit = "share"
		}
		add := func(name string, f Figure, gain ...float64) {
			values := slices.Concat([]float64{f.Mean, f.Spread}, gain, f.Seeds)
			cells := []string{r.Name, unit, name}
			for _, v := range values {
				cell := ""
				if number(v) != nil {
					cell = strconv.FormatFloat(v, 'g', -1, 64)
				}
				cells = append(cells, cell)
			}
			all = append(all, append(cells, make([]string, max(0, len(head)-len(cells)))...))
		}
		for i, f := range r.Arms {
			if i == 0 { // a gain over itself is no figure
				f.Gain = Mean(nil)
			}
			add(c.Arms[i].Name, f, f.Gain.Mean, f.Gain.Low, f.Gain.High)
		}
		if r.Start != nil {
			none := Mean(nil)
			add(atStart, *r.Start, none.Mean, none.Low, none.High)
		}
	}
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(all); err != nil {
		panic(err) // into memory
	}
	return b.String()
}

// LaTeX is the table of [Comparison.Document] as a tabular of the package booktabs: the mean with its
// standard deviation, and under it the interval of the gain, bold where it does not contain 0.
func (c *Comparison) LaTeX() string {
	titles, arms := c.chosen()
	var b strings.Builder
	trials := c.Arms[0].Trials
	fmt.Fprintf(&b, "%% Mean and standard deviation over %s on %s; below, the 95 %% interval of the\n%% difference from the first line on the same seeds and problems, bold where it does not contain 0.\n", terminal.Count(len(trials), "seed", ""), terminal.Count(len(trials[0].Problems), "held-out problem", ""))
	fmt.Fprintf(&b, "\\begin{tabular}{l%s}\n\\toprule\nrecipe", strings.Repeat("c", len(titles)))
	for _, t := range titles {
		b.WriteString(" & " + latex.Replace(t))
	}
	b.WriteString(" \\\\\n\\midrule\n")
	for _, arm := range arms {
		b.WriteString(latex.Replace(arm.name))
		var below strings.Builder
		for _, l := range arm.lines {
			b.WriteString(" & " + strings.ReplaceAll(minus.Replace(l.Mean), "–", "--"))
			if l.Spread != "" && l.Spread != "–" {
				b.WriteString(` $\pm$ ` + l.Spread)
			}
			below.WriteString(" & ")
			if l.Low == "" || l.Low == "–" {
				continue
			}
			interval := minus.Replace(l.Low) + " to " + minus.Replace(l.High)
			if l.Sure {
				interval = `\textbf{` + interval + "}"
			}
			below.WriteString(`{\footnotesize ` + interval + "}")
		}
		b.WriteString(" \\\\\n")
		if strings.Contains(below.String(), "footnotesize") {
			b.WriteString(strings.TrimRight(below.String(), " ") + " \\\\\n")
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}

// latex writes a text as it is, where TeX would read commands.
var latex = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "–", "--")

// minus writes the sign of a number as one.
var minus = strings.NewReplacer("-", "$-$")
