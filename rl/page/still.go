package page

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rlzero/rlzero/internal/terminal"
	"github.com/rlzero/rlzero/rl/metrics"
	"github.com/rlzero/rlzero/rl/record"
)

// What a page that is one file shows where no scripts run: of each run a headline, a table of its
// evaluations, and its curves as SVG.

// stills is of how many runs.
const stills = 8

// still is that page, as HTML.
func (in inline) still() string {
	var b strings.Builder
	b.WriteString("<div class=\"screen still\">\n<p class=\"note\">Scripts are off in this browser. With them, the page shows more: completions, held-out problems, alerts, the method.</p>\n")
	for _, d := range in.Runs[:min(stills, len(in.Runs))] {
		fmt.Fprintf(&b, "<h1>%s", html.EscapeString(d.ID))
		readStill(in.Files[d.ID][record.MetricsFile]).write(&b)
	}
	if len(in.Runs) > stills {
		fmt.Fprintf(&b, "<p class=\"note\">The file holds %d more runs.</p>\n", len(in.Runs)-stills)
	}
	b.WriteString("</div>")
	return b.String()
}

// stillRun is what is read of a run.
type stillRun struct {
	curves      map[string]*curve
	evaluations []metrics.Point
	first       int // step before the first of the main stage: the last that learns from rewards, or the last
	bad         int // lines that cannot be read
}

// curve is a metric over the steps of a run.
type curve struct {
	steps  []int
	values []float64
}

// readStill reads metrics.jsonl. A second line of a step completes the first, as the evaluation after
// a stage does.
func readStill(text string) *stillRun {
	s := &stillRun{curves: map[string]*curve{}}
	var points []metrics.Point
	for line := range strings.Lines(text) {
		p, err := metrics.Parse([]byte(line))
		switch n := len(points); {
		case err != nil:
			s.bad++
		case n > 0 && points[n-1].Step == p.Step && points[n-1].Stage == p.Stage:
			maps.Copy(points[n-1].Values, p.Values)
		default:
			points = append(points, p)
		}
	}
	stage, last, rewards := "", 0, false
	for _, p := range points {
		for _, name := range slices.Sorted(maps.Keys(p.Values)) {
			if s.curves[name] == nil {
				s.curves[name] = &curve{}
			}
			if v := p.Values[name]; !math.IsNaN(v) {
				c := s.curves[name]
				c.steps, c.values = append(c.steps, p.Step), append(c.values, v)
			}
		}
		if _, there := p.Values["eval/pass@1"]; there {
			s.evaluations = append(s.evaluations, p)
		}
		if p.Step < 1 {
			continue
		}
		_, pays := p.Values["reward/mean"]
		if p.Stage != stage && (pays || !rewards) {
			s.first = last
		}
		stage, last, rewards = p.Stage, p.Step, rewards || pays
	}
	return s
}

// write writes a run after its name.
func (s *stillRun) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s</h1>\n", s.headline())
	if s.bad > 0 {
		fmt.Fprintf(b, "<p class=\"alert\">Left out, as they cannot be read: %s of %s.</p>\n", terminal.Count(s.bad, "line", ""), record.MetricsFile)
	}
	s.table(b)
	var still []string
	b.WriteString("<section>\n<h2>Curves</h2>\n<p class=\"note\">Steps are those of the run.</p>\n<div class=\"grid\">\n")
	for _, name := range inOrder(slices.Collect(maps.Keys(s.curves))) {
		switch c := s.curves[name]; {
		case len(c.values) == 0:
		case slices.Min(c.values) == slices.Max(c.values):
			still = append(still, html.EscapeString(name)+" "+number(name, c.values[0]))
		default:
			c.draw(b, name)
		}
	}
	b.WriteString("</div>\n")
	if len(still) > 0 {
		fmt.Fprintf(b, "<p class=\"note\">Constant: %s.</p>\n", strings.Join(still, ", "))
	}
	b.WriteString("</section>\n")
}

// inOrder sorts names as the table of metrics has them.
func inOrder(names []string) []string {
	place := map[string]int{}
	for i, m := range metrics.Table() {
		place[m.Name] = i
	}
	at := func(name string) int {
		if m, known := metrics.Find(name); known {
			return place[m.Name]
		}
		return len(place)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b)) })
	return names
}

// headline is what the run came to, as the page with scripts says it.
func (s *stillRun) headline() string {
	if len(s.evaluations) == 0 {
		return ""
	}
	after, from := s.evaluations[len(s.evaluations)-1], ""
	for _, e := range s.evaluations[:len(s.evaluations)-1] {
		if e.Step <= s.first {
			from = strings.TrimSuffix(number("eval/pass@1", e.Values["eval/pass@1"]), " %") + " → "
		}
	}
	return ": accuracy " + from + number("eval/pass@1", after.Values["eval/pass@1"])
}

var figureOfEvaluation = regexp.MustCompile(`^eval/(pass@\d+|greedy|valid)$`)

// table writes the evaluation before the first step and the last of each stage.
func (s *stillRun) table(b *strings.Builder) {
	var list []metrics.Point
	names := map[string]bool{}
	for _, e := range s.evaluations {
		if n := len(list); n > 0 && list[n-1].Stage == e.Stage && list[n-1].Step > 0 {
			list = list[:n-1]
		}
		list = append(list, e)
	}
	if len(list) == 0 {
		return
	}
	for _, e := range list {
		for name := range e.Values {
			names[name] = figureOfEvaluation.MatchString(name)
		}
	}
	maps.DeleteFunc(names, func(_ string, is bool) bool { return !is })
	columns := inOrder(slices.Collect(maps.Keys(names)))
	b.WriteString("<section>\n<h2>Accuracy by stage</h2>\n<table class=\"figures\">\n<thead><tr><th scope=\"col\">when</th>")
	for _, name := range columns {
		fmt.Fprintf(b, "<th scope=\"col\" class=\"num\">%s</th>", html.EscapeString(strings.TrimPrefix(name, "eval/")))
	}
	b.WriteString("<th scope=\"col\" class=\"num\">95 % interval of pass@1</th><th scope=\"col\" class=\"num\">problems × samples</th></tr></thead>\n<tbody>\n")
	for _, e := range list {
		when := "after " + e.Stage
		if e.Step < 1 {
			when = "before training"
		}
		fmt.Fprintf(b, "<tr><th scope=\"row\">%s</th>", html.EscapeString(when))
		for _, name := range columns {
			text := "–"
			if v, there := e.Values[name]; there {
				text = number(name, v)
			}
			fmt.Fprintf(b, "<td class=\"num\">%s</td>", text)
		}
		interval := "–"
		if low, there := e.Values["eval/mean_low"]; there && e.Values["eval/mean"] == e.Values["eval/pass@1"] {
			interval = number("eval/mean", low) + " to " + number("eval/mean", e.Values["eval/mean_high"])
		}
		fmt.Fprintf(b, "<td class=\"num\">%s</td><td class=\"num\">%.0f × %.0f</td></tr>\n", interval, e.Values["eval/problems"], e.Values["eval/samples"])
	}
	b.WriteString("</tbody>\n</table>\n</section>\n")
}

// share is a metric that is told in percent, as base.js has it.
var share = regexp.MustCompile(`_share$|^eval/(pass@|greedy|valid|mean)|clip_fraction$`)

// number is a value as people read it.
func number(name string, v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case share.MatchString(name):
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	case math.Abs(v) >= 1000 && math.Abs(v) < 1e6:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// A drawing, in pixels, and the points of its line: neighbours are one, their mean.
const (
	stillWidth, stillHeight = 300, 110
	stillPoints             = 150
)

// draw writes a curve.
func (c *curve) draw(b *strings.Builder, name string) {
	low, high := slices.Min(c.values), slices.Max(c.values)
	from, to := c.steps[0], c.steps[len(c.steps)-1]
	const left, right, top, bottom = 4, stillWidth - 64, 8, stillHeight - 18
	x := func(step float64) float64 {
		return left + (step-float64(from))/math.Max(1, float64(to-from))*(right-left)
	}
	y := func(v float64) float64 { return bottom - (v-low)/(high-low)*(bottom-top) }
	said := fmt.Sprintf("from %s to %s; smallest %s, largest %s", number(name, c.values[0]), number(name, c.values[len(c.values)-1]), number(name, low), number(name, high))
	fmt.Fprintf(b, "<figure><figcaption><h3>%s</h3><output>%s</output></figcaption>", html.EscapeString(name), said)
	fmt.Fprintf(b, `<svg class="chart" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-label="%s: %s"><path class="axis" d="M%d %dH%d"/><path class="line s0" d="`, stillWidth, stillHeight, html.EscapeString(name), said, left, bottom, right)
	every := (len(c.values) + stillPoints - 1) / stillPoints
	for i := 0; i < len(c.values); i += every {
		steps, sum, n := 0, 0.0, min(every, len(c.values)-i)
		for j := i; j < i+n; j++ {
			steps, sum = steps+c.steps[j], sum+c.values[j]
		}
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(b, "%s%.1f %.1f", command, x(float64(steps)/float64(n)), y(sum/float64(n)))
	}
	last := c.values[len(c.values)-1]
	fmt.Fprintf(b, `"/><text class="label s0" x="%d" y="%.1f">%s</text><text x="%d" y="%d">%d</text><text x="%d" y="%d" text-anchor="end">%d</text></svg></figure>`+"\n", right+6, y(last)+4, number(name, last), left, stillHeight-4, from, right, stillHeight-4, to)
}
