package report

import (
	"fmt"
	"math"
	"strings"
)

// chart is one picture: what is measured, and its lines.
type chart struct {
	file  string // name without .svg
	title string
	unit  string
	hero  bool // drawn larger, at the head of the page
	share bool // 0..1, shown as percent
	log   bool // a log scale where the values span enough of it
	stack bool // shares of one whole, as areas above each other
	lines []line
}

// maxLines is how many lines a chart of terms has at most: the style sheet knows so
// many.
const maxLines = 4

// charts are the run's charts in the order of the page. Those without data are
// left out, and those of a constant become facts.
func (r *Run) charts(stages []stage) (charts []chart, constants []fact) {
	metric := func(label, name string) line { return series(label, name, r.Metrics, stages) }
	all := []chart{
		r.accuracyChart(stages),
		r.rewardChart(stages),
		{file: "groups", title: "Groups by reward", unit: "all right, mixed, all wrong; share of groups", share: true, stack: true, lines: r.groupLines(stages)},
		{file: "loss", title: "Warm-up loss", unit: "nats per token", log: true, lines: []line{metric("trained", "sft/loss"), dotted(metric("held out", "eval/loss"))}},
		{file: "preference", title: "Better completion preferred", unit: "share of pairs", share: true, lines: []line{metric("trained", "preference/accuracy"), dotted(metric("held out", "eval/preference_accuracy"))}},
		{file: "form", title: "Valid", unit: "share of samples", share: true, lines: []line{dotted(metric("", "eval/valid"))}},
		{file: "entropy", title: "Entropy", unit: "nats per token", log: true, lines: []line{metric("", "policy/entropy")}},
		{file: "kl", title: "KL to the reference", unit: "nats per token", lines: []line{metric("", "policy/kl_ref")}},
		{file: "clip", title: "Clipped tokens", unit: "share of tokens", share: true, lines: []line{metric("", "policy/clip_fraction")}},
		{file: "length", title: "Completion length", unit: "tokens, mean", lines: []line{metric("", "rollout/length_mean")}},
		{file: "truncated", title: "Cut off at the limit", unit: "share of completions", share: true, lines: []line{metric("", "rollout/truncated_share")}},
		{file: "not_scored", title: "Not scored", unit: "completions of a step", lines: []line{metric("", "rollout/not_scored")}},
		{file: "grad_norm", title: "Gradient norm", unit: "before clipping", log: true, lines: []line{metric("", "policy/grad_norm")}},
	}
	for _, c := range all {
		c.prune()
		switch v, constant := c.constant(); {
		case len(c.lines) == 0, c.stack && len(c.lines[0].points) < 2:
		case constant && c.file != "accuracy" && c.file != "reward": // what a run is for is always drawn
			if f := r.constantFact(&c, v, stages); f.Text != "" {
				constants = append(constants, f)
			}
		default:
			c.breakGaps(stages)
			charts = append(charts, c)
		}
	}
	return charts, constants
}

// accuracyChart is pass@1 with its intervals, the largest pass@k, greedy, and the
// reward behind them where it can be read on the same scale.
func (r *Run) accuracyChart(stages []stage) chart {
	c := chart{file: "accuracy", title: "Held-out accuracy", unit: "share of problems solved", hero: true, share: true}
	if ks := r.passKs(); len(ks) > 0 {
		first := series(fmt.Sprintf("pass@%d", ks[0]), fmt.Sprint(passAt, ks[0]), r.Metrics, stages)
		if ks[0] == 1 {
			first.addIntervals(r.Metrics)
		}
		c.lines = append(c.lines, dotted(first))
		if k := ks[len(ks)-1]; len(ks) > 1 {
			c.lines = append(c.lines, dotted(series(fmt.Sprintf("pass@%d", k), fmt.Sprint(passAt, k), r.Metrics, stages)))
		}
	}
	c.lines = append(c.lines, dotted(series("greedy", "eval/greedy", r.Metrics, stages)))
	c.dropOld()
	c.unit += r.sizeText()
	reward := series("reward", "reward/mean", r.Metrics, stages)
	reward.ghost, reward.plain, reward.class = true, true, "ghost"
	if len(c.lines) > 0 && reward.within(0, 1) {
		c.lines = append(c.lines, reward)
	}
	return c
}

// sizeText says how many problems are behind the points of the accuracy.
func (r *Run) sizeText() string {
	low, high, bars := math.Inf(1), 0.0, false
	for _, p := range r.Metrics {
		if n := value(p, "eval/problems"); n > 0 {
			low, high = math.Min(low, n), math.Max(high, n)
			from, to := p.interval()
			bars = bars || finite(from) && finite(to)
		}
	}
	text := ""
	switch {
	case high == 0:
	case low == high:
		text = fmt.Sprintf("; %s problems", tick(high))
	default:
		text = fmt.Sprintf("; %s problems during a stage, %s after it", tick(low), tick(high))
	}
	if bars {
		text += "; bars: 95 % interval"
	}
	return text
}

// rewardChart is the mean reward and, where it is composed, its first terms.
func (r *Run) rewardChart(stages []stage) chart {
	c := chart{file: "reward", title: "Reward", unit: "mean over a step’s completions", lines: []line{series("", "reward/mean", r.Metrics, stages)}}
	terms := r.termNames()
	for _, name := range terms[:min(len(terms), maxLines-1)] {
		c.lines = append(c.lines, series(name, termPrefix+name, r.Metrics, stages))
	}
	if len(c.lines) > 1 {
		c.lines[0].label = "total"
	}
	return c
}

// groupLines are the shares of groups by what their rewards are. They add up to 1.
func (r *Run) groupLines(stages []stage) []line {
	shares := make([]Point, 0, len(r.Metrics))
	for _, p := range r.Metrics {
		uniform, right, wrong := value(p, "groups/uniform_share"), value(p, "groups/all_right_share"), value(p, "groups/all_wrong_share")
		if finite(uniform + right + wrong) {
			other := math.Max(0, uniform-right-wrong)
			shares = append(shares, Point{p.Step, p.Stage, map[string]float64{"wrong": wrong, "equal": other, "mixed": 1 - right - wrong - other, "right": right}})
		}
	}
	var lines []line
	for _, l := range []struct{ label, name string }{{"wrong", "wrong"}, {"alike", "equal"}, {"mixed", "mixed"}, {"right", "right"}} {
		if s := series(l.label, l.name, shares, stages); !s.within(0, 0) {
			s.class = l.name
			lines = append(lines, s)
		}
	}
	return lines
}

// constantFact is a chart whose line is one value all along, as a fact. One that
// is 0 because nothing happened is told with the figure it belongs to.
func (r *Run) constantFact(c *chart, v float64, stages []stage) fact {
	switch c.file {
	case "length":
		return fact{Name: c.title, Text: number(v) + " tokens", More: r.limitText(stages)}
	case "truncated", "not_scored", "clip", "groups":
		if v == 0 || c.stack {
			return fact{}
		}
	}
	return fact{Name: c.title, Text: c.text(0, v), More: c.unit}
}

// limitText says how long completions may be, and how many were cut off.
func (r *Run) limitText(stages []stage) string {
	text := ""
	for _, s := range stages {
		if limit := r.Plan[s.name].MaxCompletion; s.rl && limit > 0 {
			text = fmt.Sprintf("at every step; the limit is %d", limit)
		}
	}
	if cut := series("", "rollout/truncated_share", r.Metrics, stages); cut.within(0, 0) {
		text += "; none was cut off"
	}
	return strings.TrimPrefix(text, "; ")
}
