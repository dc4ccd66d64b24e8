package report

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// Overlay is a chart of several lines over one axis, such as those of several recipes
// over the tokens that they sampled, each with a band.
type Overlay struct {
	Title, Unit string // of the values
	Along       string // what the axis is
	Share       bool   // values are 0..1, told in percent
	X           []float64
	Lines       []Band
}

// Band is a line of an overlay and what lies around it, at the places of its X. NaN is
// a gap.
type Band struct {
	Label           string
	Mean, Low, High []float64
}

// overlayStyle has colours for eight lines, four of them those of the other charts.
const overlayStyle = `.chart .s4 { stroke: #b3541e; } .chart .s5 { stroke: #8a6d00; } .chart .s6 { stroke: #a03070; } .chart .s7 { stroke: #4d7a1f; }
.chart .label.s4 { fill: #b3541e; } .chart .label.s5 { fill: #8a6d00; } .chart .label.s6 { fill: #a03070; } .chart .label.s7 { fill: #4d7a1f; }
.chart .band { stroke: none; opacity: .16; }
.chart .band.s0 { fill: var(--s0); } .chart .band.s1 { fill: var(--s1); } .chart .band.s2 { fill: var(--s2); } .chart .band.s3 { fill: var(--s3); }
.chart .band.s4 { fill: #b3541e; } .chart .band.s5 { fill: #8a6d00; } .chart .band.s6 { fill: #a03070; } .chart .band.s7 { fill: #4d7a1f; }`

const overlayColours = 8

// overlayPlot is an overlay laid out.
type overlayPlot struct {
	Overlay
	x0, y0, x1, y1 float64
	y              axis
}

// SVG draws the chart as a document of its own. X has two places or more.
func (o Overlay) SVG() []byte {
	s := size{w: 520, h: 280}
	p := o.layout(s)
	var b bytes.Buffer
	fmt.Fprintf(&b, "<style>%s</style>\n", overlayStyle)
	fmt.Fprintf(&b, `<text class="title" x="8" y="18">%s</text><text class="unit" x="8" y="35">%s</text>`+"\n", escape(o.Title), escape(o.Unit))
	fmt.Fprintf(&b, `<g transform="translate(0 %d)">`+"\n", headHeight)
	p.axes(&b)
	for i := range o.Lines {
		p.band(&b, i)
	}
	var labels []label
	for i, l := range o.Lines {
		class := fmt.Sprint("s", i%overlayColours)
		var end float64
		fmt.Fprintf(&b, `<path class="line %s" d="%s"/>`+"\n", class, p.path(l.Mean, &end))
		if finite(end) {
			labels = append(labels, label{class, p.py(end) + 4, l.Label + " " + p.text(end)})
		}
	}
	spread(labels, p.y0+4, p.y1+2)
	for _, l := range labels {
		fmt.Fprintf(&b, `<text class="label %s" x="%.1f" y="%.1f">%s</text>`+"\n", l.class, p.x1+marginLabel, l.y, escape(l.text))
	}
	b.WriteString("</g>\n")
	return document(o.Title, s.w, s.h+headHeight, b.Bytes())
}

func (o Overlay) layout(s size) *overlayPlot {
	p := &overlayPlot{Overlay: o}
	lo, hi, widest := math.Inf(1), math.Inf(-1), 0
	for _, l := range o.Lines {
		for _, v := range l.Mean {
			if finite(v) {
				lo, hi = math.Min(lo, v), math.Max(hi, v)
				widest = max(widest, len([]rune(l.Label+" "+p.text(v))))
			}
		}
	}
	least, most := lo-(hi-lo)/2, hi+(hi-lo)/2 // a wide band is cut, so that it does not flatten the lines
	for _, l := range o.Lines {
		for i := range l.Low {
			if finite(l.Low[i]) && finite(l.High[i]) {
				lo, hi = math.Min(lo, math.Max(l.Low[i], least)), math.Max(hi, math.Min(l.High[i], most))
			}
		}
	}
	if o.Share {
		lo, hi = math.Max(0, lo), math.Min(1, hi)
	}
	p.y = yAxis(lo, hi, int(s.h/tickEvery), false)
	p.x0, p.x1 = marginLeft, s.w-glyph*float64(widest)-2*marginLabel
	p.y0, p.y1 = marginTop, s.h-marginBottom-textHeight
	return p
}

func (p *overlayPlot) text(v float64) string {
	if p.Share {
		return percent(v)
	}
	return number(v)
}

func (p *overlayPlot) px(x float64) float64 {
	return p.x0 + (p.x1-p.x0)*(x-p.X[0])/(p.X[len(p.X)-1]-p.X[0])
}

// py keeps what lies beyond the axis at its edge.
func (p *overlayPlot) py(y float64) float64 {
	return p.y1 - (p.y1-p.y0)*math.Max(0, math.Min(1, p.y.at(y)))
}

func (p *overlayPlot) axes(b *bytes.Buffer) {
	for _, t := range p.y.ticks {
		text := tick(t)
		if p.Share {
			text = tick(100*t) + " %"
		}
		fmt.Fprintf(b, `<path class="grid" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", p.x0, p.py(t), p.x1, p.x0-6, p.py(t)+4, text)
	}
	step := niceStep(p.X[len(p.X)-1]-p.X[0], 5)
	for x := step * math.Ceil(p.X[0]/step); x <= p.X[len(p.X)-1]*(1+1e-9); x += step {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", p.px(x), p.y1+17, tick(x))
	}
	fmt.Fprintf(b, `<path class="axis" d="M%.1f %.1fH%.1f"/><text x="%.1f" y="%.1f">%s</text>`+"\n", p.x0, p.y1, p.x1, p.x0, p.y1+17+textHeight, escape(p.Along))
}

// band draws what lies around a line where that is known.
func (p *overlayPlot) band(b *bytes.Buffer, i int) {
	l := p.Lines[i]
	for from := 0; from < len(l.Low); from++ {
		to := from
		for to < len(l.Low) && finite(l.Low[to]) && finite(l.High[to]) {
			to++
		}
		if to-from < 2 {
			continue
		}
		var d strings.Builder
		for k := from; k < to; k++ {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(1, k-from)], p.px(p.X[k]), p.py(l.High[k]))
		}
		for k := to - 1; k >= from; k-- {
			fmt.Fprintf(&d, "L%.1f %.1f", p.px(p.X[k]), p.py(l.Low[k]))
		}
		fmt.Fprintf(b, `<path class="band s%d" d="%sZ"/>`+"\n", i%overlayColours, d.String())
		from = to
	}
}

// path is a line as path data, and its last value; a gap starts a new piece.
func (p *overlayPlot) path(values []float64, end *float64) string {
	var d strings.Builder
	*end = math.NaN()
	up := true
	for i, v := range values {
		if !finite(v) {
			up = true
			continue
		}
		fmt.Fprintf(&d, "%c%.1f %.1f", map[bool]byte{true: 'M', false: 'L'}[up], p.px(p.X[i]), p.py(v))
		up, *end = false, v
	}
	return d.String()
}
