package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// line is one figure of one arm, as text.
type line struct {
	Figure, Arm, Mean, Spread, Gain, Low, High string
	First, Sure                                bool // of its figure; the interval is to one side of 0
}

// format is how values of a row are written: shares in percent.
func (r *Row) format() (scale float64, digits int) {
	switch {
	case r.Share:
		return 100, 1
	case strings.HasPrefix(r.Name, "tokens"):
		return 1, 0
	case r.Unit == "tokens":
		return 1, 1
	}
	return 1, 3
}

// title is the name of a row with its unit.
func (r *Row) title() string {
	switch {
	case r.Share:
		return r.Name + " (%)"
	case r.Unit != "" && !strings.HasPrefix(r.Name, r.Unit):
		return r.Name + " (" + r.Unit + ")"
	}
	return r.Name
}

// text is a value with so many digits, and plus before it if it is above 0.
func text(v float64, digits int, plus string) string {
	written := strconv.FormatFloat(v, 'f', digits, 64)
	switch {
	case math.IsNaN(v):
		return "–"
	case strings.Trim(written, "-0.") == "":
		return strings.TrimPrefix(written, "-")
	case v > 0:
		return plus + written
	}
	return written
}

// lines are the figures of a row, arm by arm, and then that of the start, if it has one; gains of shares are in percentage points.
func (c *Comparison) lines(row *Row) []line {
	var out []line
	scale, digits := row.format()
	write := func(v float64, plus string) string { return text(scale*v, digits, plus) }
	for i, f := range row.Arms {
		l := line{Figure: row.title(), Arm: c.Arms[i].Name, First: i == 0, Mean: write(f.Mean, ""), Spread: write(f.Spread, "")}
		if missing := len(f.Seeds) - len(finite(f.Seeds)); missing > 0 && missing < len(f.Seeds) {
			l.Mean += fmt.Sprintf(" (%d of %d seeds)", len(f.Seeds)-missing, len(f.Seeds))
		}
		if i > 0 {
			l.Gain, l.Low, l.High, l.Sure = write(f.Gain.Mean, "+"), write(f.Gain.Low, "+"), write(f.Gain.High, "+"), f.Gain.excludes(0)
		}
		out = append(out, l)
	}
	if s := row.Start; s != nil {
		out = append(out, line{Figure: row.title(), Arm: atStart, Mean: write(s.Mean, ""), Spread: write(s.Spread, "")})
	}
	return out
}

// atStart stands where the name of an arm does.
const atStart = "(at the start)"

// Table is the comparison for a terminal.
func (c *Comparison) Table() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "\tRECIPE\tMEAN\tSPREAD\tAGAINST %s\t95 %% INTERVAL\n", strings.ToUpper(c.Arms[0].Name))
	for _, row := range c.Rows {
		for _, l := range c.lines(&row) {
			name, interval := "", ""
			if l.First {
				name = l.Figure
			}
			if l.Low != "" && l.Low != "–" {
				interval = l.Low + " to " + l.High
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", name, l.Arm, l.Mean, l.Spread, l.Gain, interval)
		}
	}
	_ = w.Flush() // into memory
	var out strings.Builder
	for text := range strings.Lines(b.String()) {
		out.WriteString(strings.TrimRight(text, " \n") + "\n")
	}
	return out.String()
}

// MarshalJSON writes names, seeds, threshold, figures and charts; null: not measured.
func (c *Comparison) MarshalJSON() ([]byte, error) {
	type gain struct {
		Mean *float64 `json:"mean"`
		Low  *float64 `json:"low"`
		High *float64 `json:"high"`
	}
	type arm struct {
		Recipe string     `json:"recipe"`
		Mean   *float64   `json:"mean"`
		Spread *float64   `json:"spread"`
		Seeds  []*float64 `json:"seeds"`
		Gain   *gain      `json:"gain,omitempty"` // against the first recipe
	}
	type row struct {
		Name  string `json:"name"`
		Unit  string `json:"unit,omitempty"`
		Share bool   `json:"share,omitempty"`
		Arms  []arm  `json:"recipes"`
		Start *arm   `json:"start,omitempty"` // of the weights that all begin with
	}
	type band struct { // [place]
		Mean []*float64 `json:"mean"`
		Low  []*float64 `json:"low"`
		High []*float64 `json:"high"`
	}
	type chart struct {
		Metric string    `json:"metric"`
		Title  string    `json:"title"`
		Unit   string    `json:"unit"`
		Share  bool      `json:"share"`
		Tokens []float64 `json:"tokens"` // sampled so far, or steps, at each place
		Arms   []band    `json:"recipes"`
	}
	out := struct {
		Seeds     []uint64 `json:"seeds"`
		Threshold *float64 `json:"threshold"` // pass@1 of the row "tokens to"
		Problems  int      `json:"problems"`  // held out
		Rows      []row    `json:"figures"`
		Along     string   `json:"along"` // what places on charts are
		Charts    []chart  `json:"charts"`
	}{Problems: len(c.Arms[0].Trials[0].Problems), Threshold: number(c.Threshold), Along: c.Along}
	for _, t := range c.Arms[0].Trials {
		out.Seeds = append(out.Seeds, t.Seed)
	}
	for _, r := range c.Rows {
		figures := row{Name: r.Name, Unit: r.Unit, Share: r.Share}
		told := func(name string, f Figure) arm {
			a := arm{Recipe: name, Mean: number(f.Mean), Spread: number(f.Spread)}
			for _, v := range f.Seeds {
				a.Seeds = append(a.Seeds, number(v))
			}
			return a
		}
		if r.Start != nil {
			start := told(atStart, *r.Start)
			figures.Start = &start
		}
		for i, f := range r.Arms {
			a := told(c.Arms[i].Name, f)
			if i > 0 {
				a.Gain = &gain{number(f.Gain.Mean), number(f.Gain.Low), number(f.Gain.High)}
			}
			figures.Arms = append(figures.Arms, a)
		}
		out.Rows = append(out.Rows, figures)
	}
	for _, d := range c.Charts {
		drawn := chart{Metric: d.Metric, Title: d.Title, Unit: d.Unit, Share: d.Share, Tokens: d.Grid}
		for _, places := range d.Bands {
			var b band
			for _, v := range places {
				b.Mean, b.Low, b.High = append(b.Mean, number(v.Mean)), append(b.Low, number(v.Low)), append(b.High, number(v.High))
			}
			drawn.Arms = append(drawn.Arms, b)
		}
		out.Charts = append(out.Charts, drawn)
	}
	return json.Marshal(out)
}

// number is nil, JSON's null, for NaN and infinities.
func number(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
