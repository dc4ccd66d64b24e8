package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// size is a chart's drawing area in SVG units; the page scales it.
type size struct{ w, h float64 }

// The hero has a second size for narrow screens, where the first would shrink its
// text beyond reading.
var (
	heroSize   = size{760, 380}
	narrowSize = size{400, 300}
	smallSize  = size{372, 204}
)

// Margins round the plot, and the text in it, in SVG units. glyph is a generous
// mean width of a 12-unit digit or letter in the system's sans-serif fonts.
const (
	marginLeft   = 44
	marginTop    = 20
	marginBottom = 22
	marginLabel  = 10 // between plot and labels, and right of these
	textHeight   = 15
	glyph        = 6.7
	tickEvery    = 56 // a horizontal line for about so much height
	dotRoom      = 16 // dots closer than this are small: their rims would cut the line to pieces
)

// Points a line is thinned to: about one per unit of width, and fewer for the
// cursor, whose values are written out.
const (
	maxDrawn  = 500
	maxCursor = 400
)

// plot is a chart laid out: scales, and the lines' points in SVG units.
type plot struct {
	*chart
	x0, y0, x1, y1 float64 // left, upper, right and lower edge
	spans          []span
	y              axis
	smooth         [][]point
	last           int // step
}

// layout fits a chart into a size.
func (c *chart) layout(stages []stage, s size) *plot {
	p := &plot{chart: c}
	lo, hi := math.Inf(1), math.Inf(-1)
	first := math.MaxInt
	for i := range c.lines {
		l := &c.lines[i]
		p.smooth = append(p.smooth, l.smooth())
		for _, pt := range l.points {
			for _, v := range []float64{pt.y, pt.lo, pt.hi} {
				if finite(v) {
					lo, hi = math.Min(lo, v), math.Max(hi, v)
				}
			}
		}
		p.last = max(p.last, l.points[len(l.points)-1].step)
		if !l.ghost {
			first = min(first, l.points[0].step)
		}
	}
	if c.stack {
		lo, hi = 0, 1
	}
	p.spans = spans(stages, first, p.last)
	p.y = yAxis(lo, hi, int(s.h/tickEvery), c.log)
	p.x0, p.x1 = marginLeft, s.w-c.labelWidth()-2*marginLabel
	p.y0, p.y1 = marginTop, s.h-marginBottom
	return p
}

// labelWidth is the width of the widest label beside a chart's lines, but a number's
// at least, so that most charts end on one edge.
func (c *chart) labelWidth() float64 {
	widest := len("100.0 %")
	for i := range c.lines {
		widest = max(widest, len([]rune(c.endLabel(i))))
	}
	return glyph * float64(widest)
}

func (p *plot) px(step int) float64  { return p.x0 + (p.x1-p.x0)*place(p.spans, float64(step)) }
func (p *plot) py(y float64) float64 { return p.y1 - (p.y1-p.y0)*p.y.at(y) }

// text writes a value of a line.
func (c *chart) text(i int, v float64) string {
	switch {
	case c.stack:
		return fmt.Sprintf("%.0f %%", 100*v)
	case c.share && !c.lines[i].plain:
		return percent(v)
	}
	return number(v)
}

func (c *chart) endLabel(i int) string {
	points := c.lines[i].points
	return strings.TrimSpace(c.lines[i].label + " " + c.text(i, points[len(points)-1].y))
}

// caption says what the vertical axis is and where the lines begin.
func (p *plot) caption() string {
	text := p.unit
	if p.y.log {
		text += ", log scale"
	}
	if len(p.lines) == 1 && len(p.lines[0].points) > 1 {
		text += "; from " + p.text(0, p.lines[0].points[0].y)
	}
	return text
}

// summary says what the chart shows, for readers that do not see it.
func (p *plot) summary() string {
	var parts []string
	for i, l := range p.lines {
		n := len(l.points)
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s from %s to %s", l.label, p.text(i, l.points[0].y), p.text(i, l.points[n-1].y))))
	}
	return fmt.Sprintf("%s (%s): %s, until %s", p.title, p.unit, strings.Join(parts, "; "), p.stepText(p.last))
}

// stepText names a step as the chart counts it.
func (p *plot) stepText(step int) string {
	var stages []stage
	for _, s := range p.spans {
		stages = append(stages, s.stage)
	}
	return stepName(stages, step)
}

// draw writes the inside of the chart's svg element.
func (p *plot) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, "<title>%s</title>\n", escape(p.summary()))
	if p.stack {
		p.drawStack(b)
		p.drawAxes(b)
	} else {
		p.drawAxes(b)
		for i := range p.lines {
			p.drawLine(b, len(p.lines)-1-i) // the first on top
		}
	}
	p.drawStages(b)
	p.drawLabels(b)
}

// drawStages names the stages above the plot, with a border between two.
func (p *plot) drawStages(b *bytes.Buffer) {
	for _, s := range p.spans {
		x0, x1 := p.x0+(p.x1-p.x0)*s.x0, p.x0+(p.x1-p.x0)*s.x1
		if s.x0 > 0 {
			fmt.Fprintf(b, `<path class="border" d="M%.1f %.1fV%.1f"/>`, x0, p.y0-16, p.y1)
			x0 += 5
		}
		fmt.Fprintf(b, `<text class="stage" x="%.1f" y="%.1f">%s</text>`+"\n", x0, p.y0-7, escape(fit(s.name, x1-x0)))
	}
}

// fit cuts a text to a width.
func fit(text string, width float64) string {
	r := []rune(text)
	if n := int(width / glyph); len(r) > n {
		if n < 3 {
			return ""
		}
		return string(r[:n-1]) + "…"
	}
	return text
}

func (p *plot) drawAxes(b *bytes.Buffer) {
	for _, v := range p.y.ticks {
		y := p.py(v)
		label := tick(v)
		if p.share {
			label = tick(math.Round(1e6*v)/1e4) + " %" // 100*0.3 is not 30
		}
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			p.x0, y, p.x1, p.x0-7, y+4, label)
	}
	fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fH%.1f"/>`, p.x0, p.y1, p.x1)
	free := math.Inf(-1) // right end of the last label
	for _, v := range stepTicks(p.spans, int((p.x1-p.x0)/50)) {
		x, label := p.x0+(p.x1-p.x0)*place(p.spans, v.at), tick(v.inStage)
		half := glyph * float64(len(label)) / 2
		if x-half < free+8 {
			continue
		}
		free = x + half
		fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fv4"/><text class="tick" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n",
			x, p.y1, x, p.y1+17, label)
	}
}

func (p *plot) drawLine(b *bytes.Buffer, i int) {
	l := &p.lines[i]
	switch {
	case l.ghost:
		fmt.Fprintf(b, `<path class="line %s" d="%s"/>`+"\n", l.class, p.path(thin(p.smooth[i], maxDrawn)))
	case l.dots:
		for _, pt := range thin(l.points, maxDrawn/4) {
			if finite(pt.lo) && finite(pt.hi) {
				fmt.Fprintf(b, `<path class="whisker %s" d="M%.1f %.1fV%.1f"/>`, l.class, p.px(pt.step), p.py(pt.lo), p.py(pt.hi))
			}
		}
		fmt.Fprintf(b, `<path class="line %s" d="%s"/>`, l.class, p.path(thin(l.points, maxDrawn)))
		r := 3.0
		if float64(len(l.points))*dotRoom > p.x1-p.x0 {
			r = 2
		}
		for _, pt := range thin(l.points, maxDrawn/4) {
			if finite(pt.y) {
				fmt.Fprintf(b, `<circle class="dot %s" cx="%.1f" cy="%.1f" r="%.0f"/>`, l.class, p.px(pt.step), p.py(pt.y), r)
			}
		}
		b.WriteByte('\n')
	default:
		fmt.Fprintf(b, `<path class="raw %s" d="%s"/>`, l.class, p.path(thin(l.points, maxDrawn)))
		fmt.Fprintf(b, `<path class="line %s" d="%s"/>`, l.class, p.path(thin(p.smooth[i], maxDrawn)))
		end := p.smooth[i][len(p.smooth[i])-1]
		fmt.Fprintf(b, `<circle class="dot %s" cx="%.1f" cy="%.1f" r="3"/>`+"\n", l.class, p.px(end.step), p.py(end.y))
	}
}

// drawStack draws the lines as areas above each other. Their points are at the same
// steps.
func (p *plot) drawStack(b *bytes.Buffer) {
	base := make([]float64, len(p.smooth[0])) // [point], upper edge of the areas so far
	for i, l := range p.lines {
		top := slices.Clone(base)
		for j, pt := range p.smooth[i] {
			top[j] += pt.y
		}
		var d strings.Builder
		for _, piece := range pieces(p.smooth[i], maxDrawn/2) {
			move := 'M'
			for _, j := range piece {
				fmt.Fprintf(&d, "%c%.1f %.1f", move, p.px(l.points[j].step), p.py(top[j]))
				move = 'L'
			}
			for _, j := range slices.Backward(piece) {
				fmt.Fprintf(&d, "L%.1f %.1f", p.px(l.points[j].step), p.py(base[j]))
			}
			d.WriteByte('Z')
		}
		fmt.Fprintf(b, `<path class="area %s" d="%s"/>`+"\n", l.class, d.String())
		base = top
	}
}

// path is the points as path data; a gap starts a new piece, and a point with gaps
// on both sides becomes a dot by the round cap of a line without length.
func (p *plot) path(points []point) string {
	var b strings.Builder
	up := true
	for _, pt := range points {
		if !finite(pt.y) {
			up = true
			continue
		}
		if up {
			fmt.Fprintf(&b, "M%.1f %.1fh0", p.px(pt.step), p.py(pt.y))
		} else {
			fmt.Fprintf(&b, "L%.1f %.1f", p.px(pt.step), p.py(pt.y))
		}
		up = false
	}
	return b.String()
}

// drawLabels writes each line's name and last value beside its end, a line that
// ends early included.
func (p *plot) drawLabels(b *bytes.Buffer) {
	var labels []label
	base := 0.0
	for i, l := range p.lines {
		s := p.smooth[i]
		end := s[len(s)-1]
		y := end.y
		if p.stack { // in the middle of its area
			y = base + end.y/2
			base += end.y
		}
		labels = append(labels, label{l.class, p.py(y) + 4, p.endLabel(i)})
	}
	spread(labels, p.y0+4, p.y1+2)
	for _, l := range labels {
		fmt.Fprintf(b, `<text class="label %s" x="%.1f" y="%.1f">%s</text>`+"\n", l.class, p.x1+marginLabel, l.y, escape(l.text))
	}
}

// label is a text beside a line; y is its baseline.
type label struct {
	class string
	y     float64
	text  string
}

// spread moves labels apart until none covers another, in their order from top to
// bottom and between two edges.
func spread(labels []label, top, bottom float64) {
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := range labels {
		least := top
		if i > 0 {
			least = labels[i-1].y + textHeight
		}
		labels[i].y = math.Max(labels[i].y, least)
	}
	for i := len(labels) - 1; i >= 0; i-- {
		most := bottom
		if i < len(labels)-1 {
			most = labels[i+1].y - textHeight
		}
		labels[i].y = math.Min(labels[i].y, most)
	}
}

// cursor is what the page's script needs to show values under the pointer.
type cursor struct {
	Top    float64       `json:"top"`
	Bottom float64       `json:"bottom"`
	Stages []cursorStage `json:"stages"`
	Lines  []cursorLine  `json:"lines"`
}

type cursorStage struct {
	Name  string `json:"name"`
	After int    `json:"after"` // step
}

type cursorLine struct {
	Name   string  `json:"name"`
	Class  string  `json:"class"`
	Points [][]any `json:"points"` // step, x, y, value as text
}

func (p *plot) cursor() (string, error) {
	c := cursor{Top: p.y0, Bottom: p.y1}
	for _, s := range p.spans {
		c.Stages = append(c.Stages, cursorStage{s.name, s.after})
	}
	base := make([]float64, len(p.lines[0].points)) // of a stack
	for i, l := range p.lines {
		cl := cursorLine{Name: l.label, Class: l.class}
		every := (len(l.points) + maxCursor - 1) / maxCursor
		for j, pt := range l.points {
			y := pt.y
			if p.stack {
				base[j] += pt.y
				y = base[j]
			}
			if finite(pt.y) && (j%every == 0 || j == len(l.points)-1) {
				cl.Points = append(cl.Points, []any{pt.step, round(p.px(pt.step)), round(p.py(y)), p.text(i, pt.y)})
			}
		}
		c.Lines = append(c.Lines, cl)
	}
	raw, err := json.Marshal(c)
	return string(raw), err
}

func round(v float64) float64 { return math.Round(10*v) / 10 }

// escape makes text safe inside an XML element or attribute; characters that XML
// does not know become U+FFFD.
func escape(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a bytes.Buffer does not fail
	}
	return b.String()
}
