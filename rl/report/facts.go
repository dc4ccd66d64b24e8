package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// headline is what the run reached.
type headline struct {
	Verb             string // rose, fell or stayed; empty: there is no before
	Before, After    string
	From, To, When   string // when Before and After were measured
	Gain             string // signed, in percentage points
	Better, Measured bool
	Problems, PerOne int    // held-out problems, and samples of each; 0: unknown
	Interval         string // 95 %, of After; empty: unknown
	Overlap          bool   // of the intervals of Before and After
	Variety          string // a sentence on pass@k
}

func newHeadline(before, after *Evaluation, ks []int) headline {
	if after == nil || !finite(after.at(1)) {
		return headline{}
	}
	h := headline{After: percent(after.at(1)), To: after.moment(), When: after.when(), Measured: true, Problems: after.Problems, PerOne: after.PerOne, Interval: after.interval()}
	if before == nil || before == after || !finite(before.at(1)) {
		return h
	}
	h.Before, h.From = percent(before.at(1)), before.moment()
	gain := after.at(1) - before.at(1)
	h.Gain, h.Better = difference(gain), gain > 0
	h.Overlap = before.Low <= after.High && after.Low <= before.High
	switch {
	case h.Before == h.After:
		h.Verb = "stayed"
	case gain > 0:
		h.Verb = "rose"
	default:
		h.Verb = "fell"
	}
	if len(ks) > 1 {
		h.Variety = varietyText(ks[len(ks)-1], gain, before, after)
	}
	return h
}

// varietyText says what became of pass@k: where it falls while pass@1 rises, the
// samples of a problem have become alike.
func varietyText(k int, gain float64, before, after *Evaluation) string {
	d := after.at(k) - before.at(k)
	if !finite(d) {
		return ""
	}
	points := strings.TrimLeft(difference(d), "+−")
	switch {
	case points == "0.0":
		return fmt.Sprintf("pass@%d stayed at %s.", k, percent(after.at(k)))
	case d < 0 && gain > 0:
		return fmt.Sprintf("pass@%d fell by %s points: the samples of a problem have become less varied.", k, points)
	case d < 0:
		return fmt.Sprintf("pass@%d fell by %s points.", k, points)
	}
	return fmt.Sprintf("pass@%d rose by %s points.", k, points)
}

// interval is the 95 % interval of pass@1 as text.
func (e *Evaluation) interval() string {
	if !finite(e.Low) || !finite(e.High) {
		return ""
	}
	return strings.TrimSuffix(percent(e.Low), " %") + " to " + percent(e.High)
}

// difference writes a difference of shares in percentage points: +35.9.
func difference(d float64) string {
	if !finite(d) {
		return ""
	}
	return minus(fmt.Sprintf("%+.1f", 100*d))
}

// fact is a figure that is no curve.
type fact struct {
	Name, Text string
	More       string // a second, fainter line
}

func (r *Run) facts(stages []stage) []fact {
	var out []fact
	if m := r.Machine; m.Device != "" {
		out = append(out, fact{"Device", shortDevice(m.Device), m.details()})
	}
	total := 0.0
	for _, t := range r.stageTimes(stages) {
		total += t.seconds
	}
	if total > 0 {
		out = append(out, fact{"Time", seconds(total), "in steps"})
	}
	var steps []string
	for _, s := range stages {
		if s.last > s.after {
			steps = append(steps, group(fmt.Sprint(s.last-s.after))+" "+s.name)
		}
	}
	out = append(out, fact{"Steps", strings.Join(steps, " + "), ""})
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
		out = append(out, fact{"Sampled for rewards", group(fmt.Sprintf("%.0f", completions)) + " completions", group(fmt.Sprintf("%.0f", tokens)) + " tokens"})
	}
	return out
}

// shortDevice is a device's name without what is in brackets.
func shortDevice(name string) string {
	short, _, _ := strings.Cut(name, " (")
	return short
}

// details are driver and tier, without the device's name again.
func (m Machine) details() string {
	driver := strings.TrimSpace(strings.TrimPrefix(shortDevice(m.Driver), shortDevice(m.Device)))
	var parts []string
	for _, part := range []string{driver, m.Tier} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if m.Tier != "" {
		parts[len(parts)-1] = "tier " + m.Tier
	}
	return strings.Join(parts, ", ")
}

// progress says where an unfinished run stands.
func (r *Run) progress(stages []stage) string {
	if r.Finished || len(r.Metrics) == 0 {
		return ""
	}
	if len(stages) == 0 {
		return "unfinished: no step done"
	}
	s := stages[len(stages)-1]
	text := "unfinished: " + stepName(stages, s.last)
	if n := r.Plan[s.name].Steps; n > 0 {
		text += " of " + group(fmt.Sprint(n))
	}
	return text
}

// sameBits is the comparison of sampler and trainer, in counts of tokens.
type sameBits struct {
	Compared, Equal, Differ string // Compared is empty if nothing was compared
	Share                   string // of the sampled tokens
}

func (r *Run) sameBits() sameBits {
	compared, equal, sampled := 0.0, 0.0, 0.0
	for _, p := range r.Metrics {
		if n := value(p, "policy/compared"); n > 0 {
			compared, equal, sampled = compared+n, equal+value(p, "policy/equal"), sampled+value(p, "rollout/tokens")
		}
	}
	if compared == 0 {
		return sameBits{}
	}
	whole := func(v float64) string { return group(fmt.Sprintf("%.0f", v)) }
	b := sameBits{Compared: whole(compared), Equal: whole(equal), Share: fmt.Sprintf("%.0f %%", 100*compared/sampled)}
	if equal != compared {
		b.Differ = whole(compared - equal)
	}
	return b
}

// stageTime is where a stage's time went.
type stageTime struct {
	Name, Time     string
	Parts          []timePart
	Sampled, Train string // tokens per second, medians over the steps
	seconds        float64
}

type timePart struct {
	Name, Class  string
	Text         string // share of the stage's time
	Width, Start float64
}

// phases are the measured parts of a step.
var phases = []struct{ metric, name, class string }{
	{"time/rollout_s", "sampling and grading", "sampling"},
	{"time/train_s", "training", "training"},
	{"time/eval_s", "held-out tests", "testing"},
}

func (r *Run) stageTimes(stages []stage) []stageTime {
	var out []stageTime
	for _, s := range stages {
		sums := make([]float64, len(phases))
		var sampled, trained []float64
		for _, p := range r.Timing {
			if p.Step <= s.after || p.Step > s.last {
				continue
			}
			for i, phase := range phases {
				if v := value(p, phase.metric); v > 0 {
					sums[i] += v
				}
			}
			sampled, trained = appendFinite(sampled, value(p, "rollout/tokens_per_s")), appendFinite(trained, value(p, "train/tokens_per_s"))
		}
		t := stageTime{Name: s.name, Sampled: medianText(sampled), Train: medianText(trained)}
		for _, v := range sums {
			t.seconds += v
		}
		if t.seconds == 0 {
			continue
		}
		t.Time = seconds(t.seconds)
		start := 0.0
		for i, phase := range phases {
			share := sums[i] / t.seconds
			if share > 0 {
				t.Parts = append(t.Parts, timePart{phase.name, phase.class, fmt.Sprintf("%.0f %%", 100*share), round(100 * share), round(start)})
			}
			start += 100 * share
		}
		out = append(out, t)
	}
	return out
}

func appendFinite(values []float64, v float64) []float64 {
	if finite(v) {
		return append(values, v)
	}
	return values
}

// medianText is the median of some values; empty if there are none.
func medianText(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	return number(median(values))
}

// median is that of one value at least, which it sorts.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// seconds writes a time as people say it: 48 s, 5 min 7 s, 2 h 10 min.
func seconds(v float64) string {
	if v < 10 {
		return number(math.Round(10*v)/10) + " s"
	}
	s := int(time.Duration(v*float64(time.Second)).Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", s/60, s%60), " 0 s")
	}
	return strings.TrimSuffix(fmt.Sprintf("%d h %d min", s/3600, s/60%60), " 0 min")
}

// row is a line of the table of evaluations.
type row struct {
	When, Step, Size, Interval string
	Cells                      []cell
}

type cell struct {
	Value  string
	Change string // from the row above, in points
}

// rows are the evaluations: pass@k for each k, greedy and, if some measured it, the
// right form.
func (r *Run) rows(ks []int, form bool) []row {
	var out []row
	var last []float64
	for i := range r.Evaluations {
		e := &r.Evaluations[i]
		var values []float64
		for _, k := range ks {
			values = append(values, e.at(k))
		}
		values = append(values, e.Greedy)
		if form {
			values = append(values, e.Valid)
		}
		line := row{When: e.when(), Step: group(fmt.Sprint(e.Step)), Interval: e.interval()}
		if e.Problems > 0 {
			line.Size = fmt.Sprintf("%s × %d", group(fmt.Sprint(e.Problems)), e.PerOne)
		}
		for j, v := range values {
			c := cell{Value: percent(v)}
			if last != nil {
				c.Change = difference(v - last[j])
			}
			line.Cells = append(line.Cells, c)
		}
		last = values
		out = append(out, line)
	}
	return out
}
