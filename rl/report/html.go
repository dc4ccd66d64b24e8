package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

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

// Files are the report of a run by the names of its files in the run's folder:
// report.html and curves/*.svg.
func (r *Run) Files() (map[string][]byte, error) {
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		return nil, err
	}
	files := map[string][]byte{"report.html": b.Bytes()}
	for name, svg := range Curves(r) {
		files["curves/"+name] = svg
	}
	return files, nil
}

// page is what the template shows. Its CSS, Script and the charts' SVG are this
// package's own; everything else is escaped.
type page struct {
	*Run
	CSS       template.CSS
	Script    template.JS
	Progress  string // where an unfinished run stands; empty: it is finished
	Head      headline
	Facts     []fact
	Constants []fact
	Hero      *figure
	Figures   []figure
	Smooth    bool // some line is smoothed
	Bits      sameBits
	Times     []stageTime
	Ks        []int
	Rows      []row
	Form      bool // some evaluation measured how many samples are valid
	Pairs     pairs
	Training  []groupView
}

// figure is a chart on the page.
type figure struct {
	Title, Caption string
	SVG            template.HTML
}

func newPage(r *Run) (*page, error) {
	stages := r.stages()
	before, after := r.beforeAfter()
	charts, constants := r.charts(stages)
	p := &page{
		Run: r, CSS: template.CSS(chartCSS + pageCSS), Script: template.JS(pageJS), Progress: r.progress(stages),
		Head: newHeadline(before, after, r.passKs()), Facts: r.facts(stages), Constants: constants,
		Bits: r.sameBits(), Times: r.stageTimes(stages), Ks: r.passKs(), Pairs: newPairs(before, after), Training: r.groupViews(stages),
	}
	for _, e := range r.Evaluations {
		p.Form = p.Form || finite(e.Valid)
	}
	p.Rows = r.rows(p.Ks, p.Form)
	for i := range charts {
		c := &charts[i]
		for _, l := range c.lines {
			p.Smooth = p.Smooth || !l.dots && len(l.points) >= smoothMin
		}
		if !c.hero {
			f, err := c.figure(stages, []drawing{{"", smallSize}})
			if err != nil {
				return nil, err
			}
			p.Figures = append(p.Figures, f)
			continue
		}
		f, err := c.figure(stages, []drawing{{"wide", heroSize}, {"narrow", narrowSize}})
		if err != nil {
			return nil, err
		}
		p.Hero = &f
	}
	return p, nil
}

// drawing is a size of a chart and the class by which the style sheet shows it.
type drawing struct {
	class string
	size  size
}

func (c *chart) figure(stages []stage, drawings []drawing) (figure, error) {
	f := figure{Title: c.title}
	var b bytes.Buffer
	for _, d := range drawings {
		p := c.layout(stages, d.size)
		points, err := p.cursor()
		if err != nil {
			return figure{}, err
		}
		f.Caption = p.caption()
		fmt.Fprintf(&b, `<svg class="chart %s" viewBox="0 0 %.0f %.0f" role="img" aria-label="%s" data-cursor="%s">`+"\n",
			d.class, d.size.w, d.size.h, escape(p.summary()), escape(points))
		p.draw(&b)
		b.WriteString("</svg>\n")
	}
	f.SVG = template.HTML(b.String())
	return f, nil
}
