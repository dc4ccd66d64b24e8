package progress

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/rlzero/rlzero/internal/terminal"
)

// lineEvery is the least time between two plain lines of one stage.
const lineEvery = 5 * time.Second

// Reporter shows the stages of a run one after the other.
type Reporter struct {
	out   io.Writer
	width int  // columns of the terminal; 0: not a terminal
	bar   *bar // of the stage; nil without a terminal

	stage   string
	total   int
	began   time.Time
	first   int // step the stage began at, above 0 after a resume
	printed time.Time
}

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
	r.stage, r.total, r.first = stage, total, first
	r.began, r.printed = time.Now(), time.Time{}
	if r.width > 0 {
		r.bar = newBar(r.out, min(24, r.width/4), stage, total)
		r.bar.set(first, "")
	}
}

// Step reports that step (counted from 1) is done, with a few short figures
// such as "reward 0.42"; empty ones are left out.
func (r *Reporter) Step(step int, figures ...string) {
	text := fmt.Sprintf("%*d/%d", len(strconv.Itoa(r.total)), step, r.total)
	for _, figure := range figures {
		if figure != "" {
			text += "  " + figure
		}
	}
	if done := step - r.first; done > 0 && step < r.total {
		per := time.Since(r.began) / time.Duration(done)
		text += "  " + short(per*time.Duration(r.total-step)) + " left"
	}
	if r.bar != nil {
		r.bar.set(step, clip(" "+text, r.width-min(24, r.width/4)-12))
		return
	}
	if step == r.total || time.Since(r.printed) >= lineEvery {
		r.printed = time.Now()
		fmt.Fprintf(r.out, "%-10s %s\n", r.stage, text)
	}
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
