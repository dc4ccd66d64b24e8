package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// size is a chart's drawing area in SVG units; the page scales it.
type size struct{ w, h float64 }

var (
	heroSize  = size{500, 270}
	smallSize = size{390, 225}
)

func (c *chart) size() size {
	if c.hero {
		return heroSize
	}
	return smallSize
}

// Margins round the plot, and the text in it, in SVG units. glyph is a generous
// mean width of a 12-unit digit or letter in the system's sans-serif fonts.
const (
	marginLeft   = 50
	marginTop    = 22
	marginBottom = 24
	textHeight   = 14
	glyph        = 6.9
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

func (c *chart) layout(stages []stage) *plot {
	p := &plot{chart: c}
	lo, hi := math.Inf(1), math.Inf(-1)
	first := math.MaxInt
	widest := 0
	for i := range c.lines {
		l := &c.lines[i]
		p.smooth = append(p.smooth, l.smooth())
		for _, pt := range l.points {
			if finite(pt.y) {
				lo, hi = math.Min(lo, pt.y), math.Max(hi, pt.y)
			}
		}
		first = min(first, l.points[0].step)
		p.last = max(p.last, l.points[len(l.points)-1].step)
		widest = max(widest, len([]rune(c.endLabel(i, p.smooth[i]))))
	}
	p.spans = spans(stages, first, p.last)
	p.y = yAxis(lo, hi, c.log, c.share)
	s := c.size()
	p.x0, p.x1 = marginLeft, s.w-glyph*float64(widest)-14
	p.y0, p.y1 = marginTop, s.h-marginBottom
	return p
}

func (p *plot) px(step int) float64  { return p.x0 + (p.x1-p.x0)*place(p.spans, float64(step)) }
func (p *plot) py(y float64) float64 { return p.y1 - (p.y1-p.y0)*p.y.at(y) }

// text writes a value of the chart.
func (c *chart) text(v float64) string {
	if c.share {
		return percent(v)
	}
	return number(v)
}

func (c *chart) endLabel(i int, points []point) string {
	return strings.TrimSpace(c.lines[i].label + " " + c.text(points[len(points)-1].y))
}

// summary says what the chart shows, for readers that do not see it.
func (p *plot) summary() string {
	var parts []string
	for i, l := range p.lines {
		s := p.smooth[i]
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s from %s to %s", l.label, p.text(s[0].y), p.text(s[len(s)-1].y))))
	}
	return fmt.Sprintf("%s (%s): %s, steps %s to %s", p.title, p.unit, strings.Join(parts, "; "),
		tick(math.Max(1, p.spans[0].from)), tick(float64(p.last)))
}

// draw writes the inside of the chart's svg element.
func (p *plot) draw(b *bytes.Buffer) {
	fmt.Fprintf(b, "<title>%s</title>\n", escape(p.summary()))
	p.drawBands(b)
	p.drawAxes(b)
	for i := range p.lines {
		p.drawLine(b, i)
	}
	p.drawLabels(b)
}

func (p *plot) drawBands(b *bytes.Buffer) {
	for _, s := range p.spans {
		class, x0, x1 := "band", p.x0+(p.x1-p.x0)*s.x0, p.x0+(p.x1-p.x0)*s.x1
		if s.rl {
			class = "band rl"
		}
		fmt.Fprintf(b, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, class, x0, p.y0-16, x1-x0, p.y1-p.y0+16)
		if s.x0 > 0 {
			fmt.Fprintf(b, `<path class="border" d="M%.1f %.1fV%.1f"/>`, x0, p.y0-16, p.y1)
		}
		name := fit(s.name, x1-x0-10)
		fmt.Fprintf(b, `<text class="stage" x="%.1f" y="%.1f">%s</text>`+"\n", x0+6, p.y0-4, escape(name))
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
			label = tick(math.Round(100*v)) + " %"
		}
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/><text class="tick" x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			p.x0, y, p.x1, p.x0-7, y+4, label)
	}
	fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fH%.1f"/>`, p.x0, p.y1, p.x1)
	free := math.Inf(-1) // right end of the last label
	for _, v := range stepTicks(p.spans, int((p.x1-p.x0)/50)) {
		x, label := p.x0+(p.x1-p.x0)*place(p.spans, v), tick(v)
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
	if l.dots {
		fmt.Fprintf(b, `<path class="line s%d" d="%s"/>`, i, p.path(thin(l.points, maxDrawn)))
		for _, pt := range thin(l.points, maxDrawn/4) {
			if finite(pt.y) {
				fmt.Fprintf(b, `<circle class="dot s%d" cx="%.1f" cy="%.1f" r="2.6"/>`, i, p.px(pt.step), p.py(pt.y))
			}
		}
		b.WriteByte('\n')
		return
	}
	fmt.Fprintf(b, `<path class="raw s%d" d="%s"/>`, i, p.path(thin(l.points, maxDrawn)))
	fmt.Fprintf(b, `<path class="line s%d" d="%s"/>`, i, p.path(thin(p.smooth[i], maxDrawn)))
	end := p.smooth[i][len(p.smooth[i])-1]
	fmt.Fprintf(b, `<circle class="dot s%d" cx="%.1f" cy="%.1f" r="3"/>`+"\n", i, p.px(end.step), p.py(end.y))
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

// drawLabels writes each line's first value inside the plot and its name and last
// value beside its end.
func (p *plot) drawLabels(b *bytes.Buffer) {
	var firsts, lasts []label
	for i := range p.lines {
		s := p.smooth[i]
		end := s[len(s)-1]
		x := p.px(end.step) + 8
		if end.step < p.last && p.px(end.step) < p.x1-2 {
			x = p.x1 + 8 // a line that ends early is still named at the edge
		}
		lasts = append(lasts, label{i, x, p.py(end.y) + 4, p.endLabel(i, s)})
		if len(s) > 1 {
			firsts = append(firsts, p.firstLabel(i, s))
		}
	}
	for _, set := range [][]label{firsts, lasts} {
		spread(set, p.y0+10, p.y1-3)
		for _, l := range set {
			fmt.Fprintf(b, `<text class="label s%d" x="%.1f" y="%.1f">%s</text>`+"\n", l.line, l.x, l.y, escape(l.text))
		}
	}
}

// firstLabel sets a line's first value where the line does not run: below it if it
// rises, else above, or right of the start if it falls steeply.
func (p *plot) firstLabel(i int, s []point) label {
	y := p.py(s[0].y)
	l := label{line: i, x: p.px(s[0].step) + 5, text: p.text(s[0].y)}
	width := glyph * float64(len([]rune(l.text)))
	sum, n, upper, lower := 0.0, 0.0, y, y // of the data over the label's width
	for _, pt := range p.lines[i].points {
		if p.px(pt.step) > l.x+width {
			break
		}
		if finite(pt.y) {
			at := p.py(pt.y)
			sum, n, upper, lower = sum+at, n+1, math.Min(upper, at), math.Max(lower, at)
		}
	}
	mean, below := sum/n, lower+textHeight+1
	switch {
	case mean > y+2*textHeight:
		l.x, l.y = l.x+6, y+5
	case mean < y-1 && below < p.y1-2:
		l.y = below
	default:
		l.y = math.Max(upper-7, y-3*textHeight)
	}
	return l
}

// label is a text beside a line; y is its baseline.
type label struct {
	line int
	x, y float64
	text string
}

// spread moves labels apart until none covers another, in their order from top to
// bottom and between two edges.
func spread(labels []label, top, bottom float64) {
	slices.SortStableFunc(labels, func(a, b label) int {
		switch {
		case a.y < b.y:
			return -1
		case a.y > b.y:
			return 1
		}
		return 0
	})
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
	Top    float64      `json:"top"`
	Bottom float64      `json:"bottom"`
	Lines  []cursorLine `json:"lines"`
}

type cursorLine struct {
	Name   string  `json:"name"`
	Points [][]any `json:"points"` // step, x, y, value as text
}

func (p *plot) cursor() (string, error) {
	c := cursor{Top: p.y0 - 16, Bottom: p.y1}
	for _, l := range p.lines {
		cl := cursorLine{Name: l.label}
		every := (len(l.points) + maxCursor - 1) / maxCursor
		for i, pt := range l.points {
			if finite(pt.y) && (i%every == 0 || i == len(l.points)-1) {
				cl.Points = append(cl.Points, []any{pt.step, round(p.px(pt.step)), round(p.py(pt.y)), p.text(pt.y)})
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
