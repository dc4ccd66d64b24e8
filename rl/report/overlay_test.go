package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// TestOverlay: lines, bands and labels are drawn, gaps are not, text is escaped, and
// the document is well formed and the same each time.
func TestOverlay(t *testing.T) {
	nan := math.NaN()
	o := Overlay{Title: "A & B", Unit: "<share>", Along: "tokens", Share: true, X: []float64{0, 100, 200, 300}, Lines: []Band{
		{"first", []float64{0.1, 0.2, nan, 0.4}, []float64{0.05, 0.1, nan, 0.3}, []float64{0.15, 0.3, nan, 0.5}},
		{"<second>", []float64{0.2, 0.2, 0.2, 0.2}, []float64{-99, nan, nan, nan}, []float64{99, nan, nan, nan}},
	}}
	svg := string(o.SVG())
	for _, want := range []string{"A &amp; B", "&lt;share&gt;", "first 40.0 %", "&lt;second&gt; 20.0 %", ">20 %<", `class="line s1"`, "tokens"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the chart lacks %q:\n%s", want, svg)
		}
	}
	if n := strings.Count(svg, `class="band `); n != 1 { // one value has no band beside it
		t.Errorf("%d bands", n)
	}
	if line := svg[strings.Index(svg, `class="line s0"`):]; strings.Count(line[:strings.Index(line, "/>")], "M") != 2 {
		t.Errorf("the gap is not a gap: %s", line)
	}
	if strings.Contains(svg, "NaN") {
		t.Error("a value that is none is drawn")
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if string(o.SVG()) != svg {
		t.Error("the chart is another one the second time")
	}
}
