package progress

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rlzero/rlzero/internal/terminal"
)

// lineEvery is the least time between two plain lines of one stage.
const lineEvery = 5 * time.Second

// Reporter shows the stages of a run one after the other.
type Reporter struct {
	out   io.Writer
	keep  string // what a figure begins with that stays where there is little room
	width int    // columns of the terminal; 0: not a terminal
	bar   *bar   // of the stage; nil without a terminal

	stage   string
	total   int
	step    int             // done last; at first the one the stage began at, above 0 after a resume
	done    time.Time       // when
	laps    []time.Duration // of the last steps, at most recent
	printed time.Time
}

// Keep says what a figure begins with that is shown on a narrow terminal, too.
func (r *Reporter) Keep(prefix string) { r.keep = prefix }

// New makes a reporter that writes to out, with bars if out is a terminal.
func New(out io.Writer) *Reporter {
	r := &Reporter{out: out}
	if w := columns(out); w > 40 {
		r.width = w
	}
	return r
}

// Begin starts a stage of total steps, the first of them being step first.
func (r *Reporter) Begin(stage string, first, total int) {
	r.End()
	r.stage, r.total, r.step = stage, total, first
	r.done, r.laps, r.printed = time.Now(), nil, time.Time{}
	if r.width > 0 {
		r.bar = newBar(r.out, r.barWidth(), stage, total)
		r.bar.set(first, "")
	}
}

// Step reports that step (counted from 1) is done, with a few short figures
// such as "reward 0.42"; empty ones are left out.
func (r *Reporter) Step(step int, figures ...string) {
	parts := []string{fmt.Sprintf("%*d/%d", len(strconv.Itoa(r.total)), step, r.total)}
	for _, figure := range figures {
		if figure != "" {
			parts = append(parts, figure)
		}
	}
	left := ""
	r.lap(step)
	if len(r.laps) > 1 && step < r.total { // the first step of a stage also compiles its shaders
		left = short(perStep(r.laps)*time.Duration(r.total-step)) + " left"
		parts = append(parts, left)
	}
	text := strings.Join(parts, gap)
	if r.bar != nil {
		r.bar.set(step, " "+r.fitting(parts, left))
		return
	}
	if step == r.total || time.Since(r.printed) >= lineEvery {
		r.printed = time.Now()
		fmt.Fprintf(r.out, "%-10s %s\n", r.stage, text)
	}
}

// recent is how many steps tell how long one takes.
const recent = 50

// lap notes how long the steps took since the last one that was reported.
func (r *Reporter) lap(step int) {
	now := time.Now()
	if n := step - r.step; n > 0 {
		r.laps = append(r.laps, now.Sub(r.done)/time.Duration(n))
		r.laps = r.laps[max(0, len(r.laps)-recent):]
	}
	r.step, r.done = step, now
}

// perStep is the mean of how long steps took, where the longest counts for no more than the others
// together: it may have begun before a machine or a process was stopped for hours.
func perStep(laps []time.Duration) time.Duration {
	var sum time.Duration
	for _, l := range laps {
		sum += l
	}
	if longest := slices.Max(laps); len(laps) > 1 {
		sum -= longest
		sum += min(longest, sum)
	}
	return sum / time.Duration(len(laps))
}

// gap stands between the parts of a line.
const gap = "  "

// barWidth is what the bar takes of a terminal: a quarter of a wide one, and little of a narrow
// one, which has to show figures.
func (r *Reporter) barWidth() int {
	if r.width < 80 {
		return max(4, r.width/10)
	}
	return min(24, r.width/4)
}

// fitting are the parts that have room beside the bar: from the end those are left out that
// are neither the step, the time left nor a figure to keep, and at last the latter.
func (r *Reporter) fitting(parts []string, left string) string {
	room := r.width - r.barWidth() - 12 // the stage's name and two spaces
	for _, all := range []bool{false, true} {
		for i := len(parts) - 1; i > 0 && utf8.RuneCountInString(strings.Join(parts, gap)) >= room; i-- {
			kept := parts[i] == left || r.keep != "" && strings.HasPrefix(parts[i], r.keep) && !all
			if !kept {
				parts = slices.Delete(slices.Clone(parts), i, i+1)
			}
		}
	}
	return clip(strings.Join(parts, gap), room)
}

// Extend changes the number of steps of the stage: some stages end on a condition.
func (r *Reporter) Extend(total int) {
	r.total = total
	if r.bar != nil {
		r.bar.extend(total)
	}
}

// Line prints a line of its own, above the bar. Text of others in it is shown as
// [terminal.Message] shows it.
func (r *Reporter) Line(format string, args ...any) {
	text := terminal.Message(fmt.Sprintf(format, args...)) + "\n"
	if r.bar != nil {
		r.bar.above(text)
		return
	}
	io.WriteString(r.out, text)
}

// End closes the stage's bar.
func (r *Reporter) End() {
	if r.bar != nil {
		r.bar.end()
		r.bar = nil
	}
}

func clip(s string, n int) string {
	if runes := []rune(s); n > 1 && len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// short writes a duration as people say it: 8s, 1m05s, 2h10m.
func short(d time.Duration) string {
	s := int(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}
