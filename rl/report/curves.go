package report

import (
	"bytes"
	_ "embed"
	"fmt"
)

//go:embed chart.css
var chartCSS string

// Layout of the SVG files, in SVG units.
const (
	headHeight = 44 // title and caption above a chart
	gutter     = 24
	columns    = 3
)

// Curves draws the charts as SVG files of their own, by file name: one for each,
// and "curves.svg" with all of them. They follow the viewer's light or dark scheme.
func Curves(r *Run) map[string][]byte {
	stages := r.stages()
	files := map[string][]byte{}
	var all bytes.Buffer
	charts, _ := r.charts(stages)
	for i := range charts {
		c := &charts[i]
		s := smallSize
		if c.hero {
			s = heroSize
		}
		var one, small bytes.Buffer
		c.panel(&one, stages, s)
		files[c.file+".svg"] = document(c.title, s.w, s.h+headHeight, one.Bytes())

		c.panel(&small, stages, smallSize)
		x, y := float64(i%columns)*(smallSize.w+gutter), float64(i/columns)*(smallSize.h+headHeight+gutter)
		fmt.Fprintf(&all, "<g transform=\"translate(%.1f %.1f)\">\n%s</g>\n", x, y, small.Bytes())
	}
	if n := len(charts); n > 0 {
		wide, high := float64(min(n, columns)), float64((n+columns-1)/columns)
		files["curves.svg"] = document(r.Name, wide*(smallSize.w+gutter)-gutter, high*(smallSize.h+headHeight+gutter)-gutter, all.Bytes())
	}
	return files
}

// panel is a chart under its title.
func (c *chart) panel(b *bytes.Buffer, stages []stage, s size) {
	p := c.layout(stages, s)
	fmt.Fprintf(b, `<text class="title" x="8" y="18">%s</text><text class="unit" x="8" y="35">%s</text>`+"\n", escape(c.title), escape(p.caption()))
	fmt.Fprintf(b, `<g transform="translate(0 %d)">`+"\n", headHeight)
	p.draw(b)
	b.WriteString("</g>\n")
}

func document(title string, w, h float64, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`+"\n",
		w, h, w, h, escape(title))
	fmt.Fprintf(&b, "<style>%s</style>\n<rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n", chartCSS)
	b.Write(body)
	b.WriteString("</svg>\n")
	return b.Bytes()
}
