package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"percent": percent}).Parse(pageHTML))

// HTML writes the report as one page that needs nothing beside it.
func HTML(w io.Writer, r *Run) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	var b bytes.Buffer // whole or not at all
	if err := pageTemplate.Execute(&b, p); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// page is what the template shows. Its CSS, Script and the charts' SVG are this
// package's own; everything else is escaped.
type page struct {
	*Run
	CSS     template.CSS
	Script  template.JS
	Head    headline
	Facts   []fact
	Heroes  []figure
	Figures []figure
	Smooth  bool // some line is smoothed
	Ks      []int
	Rows    []row
	Pairs   pairs
}

type fact struct{ Name, Text string }

// figure is a chart on the page.
type figure struct {
	Title, Unit string
	SVG         template.HTML
}

func newPage(r *Run) (*page, error) {
	stages := r.stages()
	before, after := r.beforeAfter()
	p := &page{
		Run: r, CSS: template.CSS(chartCSS + pageCSS), Script: template.JS(pageJS),
		Head: newHeadline(before, after), Facts: r.facts(stages),
		Ks: r.passKs(), Pairs: newPairs(before, after),
	}
	p.Rows = r.rows(p.Ks)
	charts := r.charts(stages)
	for i := range charts {
		c := &charts[i]
		f, err := c.figure(stages)
		if err != nil {
			return nil, err
		}
		if c.hero {
			p.Heroes = append(p.Heroes, f)
		} else {
			p.Figures = append(p.Figures, f)
		}
		for _, l := range c.lines {
			p.Smooth = p.Smooth || !l.dots && len(l.points) >= smoothMin
		}
	}
	return p, nil
}

func (c *chart) figure(stages []stage) (figure, error) {
	p := c.layout(stages)
	points, err := p.cursor()
	if err != nil {
		return figure{}, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" data-cursor="%s">`+"\n",
		c.size().w, c.size().h, escape(p.summary()), escape(points))
	p.draw(&b)
	b.WriteString("</svg>")
	return figure{c.title, p.unitText(), template.HTML(b.String())}, nil
}

// headline is what the run reached.
type headline struct {
	Verb             string // rose, fell or stayed; empty: there is no before
	Before, After    string
	StageA, StageB   string
	Gain             string // signed, in percentage points
	Better, Measured bool
	Problems         int // held-out problems behind the numbers; 0: unknown
}

func newHeadline(before, after *Evaluation) headline {
	if after == nil || !finite(after.at(1)) {
		return headline{}
	}
	h := headline{After: percent(after.at(1)), StageB: after.Stage, Measured: true, Problems: len(after.Samples)}
	if before == nil || before == after || !finite(before.at(1)) {
		return h
	}
	h.Before, h.StageA = percent(before.at(1)), before.Stage
	gain := after.at(1) - before.at(1)
	h.Gain, h.Better = difference(gain), gain > 0
	switch {
	case h.Before == h.After:
		h.Verb = "stayed"
	case gain > 0:
		h.Verb = "rose"
	default:
		h.Verb = "fell"
	}
	return h
}

// difference writes a difference of shares in percentage points: +35.9.
func difference(d float64) string {
	if !finite(d) {
		return ""
	}
	return minus(fmt.Sprintf("%+.1f", 100*d))
}

func (r *Run) facts(stages []stage) []fact {
	var out []fact
	add := func(name, text string) {
		if text != "" {
			out = append(out, fact{name, text})
		}
	}
	add("Device", r.Device)
	if r.Elapsed > 0 {
		add("Time", duration(r.Elapsed))
	}
	var steps []string
	for _, s := range stages {
		steps = append(steps, strings.TrimSpace(group(fmt.Sprint(s.last-s.after))+" "+s.name))
	}
	add("Steps", strings.Join(steps, " + "))
	tokens, completions := 0.0, 0.0
	for _, p := range r.Metrics {
		n, mean := value(p, "rollout/tokens"), value(p, "rollout/length_mean")
		if n > 0 {
			tokens += n
		}
		if n > 0 && mean > 0 {
			completions += n / mean
		}
	}
	if tokens > 0 {
		text := group(fmt.Sprintf("%.0f", tokens)) + " tokens"
		if completions > 0 {
			text = group(fmt.Sprintf("%.0f", completions)) + " completions, " + text
		}
		add("Sampled for rewards", text)
	}
	return out
}

// duration writes a time as people say it: 48 s, 5 min 7 s, 2 h 10 min.
func duration(d time.Duration) string {
	s := int(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s/60%60)
}

// row is a line of the table of evaluations.
type row struct {
	Stage, Step string
	Cells       []cell
}

type cell struct {
	Value  string
	Change string // from the row above, in points
	Up     bool
}

// rows are the evaluations: pass@k for each k, greedy, right form.
func (r *Run) rows(ks []int) []row {
	var out []row
	var last []float64
	for i := range r.Evaluations {
		e := &r.Evaluations[i]
		var values []float64
		for _, k := range ks {
			values = append(values, e.at(k))
		}
		values = append(values, e.Greedy, e.Valid)
		line := row{Stage: e.Stage, Step: group(fmt.Sprint(e.Step))}
		for j, v := range values {
			c := cell{Value: percent(v)}
			if last != nil {
				d := v - last[j]
				c.Change, c.Up = difference(d), d > 0
			}
			line.Cells = append(line.Cells, c)
		}
		last = values
		out = append(out, line)
	}
	return out
}
