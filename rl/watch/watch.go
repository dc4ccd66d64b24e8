package watch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Level says how bad it is.
type Level string

// Levels.
const (
	Info    Level = "info"
	Warning Level = "warning"
	Error   Level = "error"
)

// Alert is what a rule found, a line of alerts.jsonl.
type Alert struct {
	Step    int    `json:"step"`    // counted through all stages
	Stage   string `json:"stage"`   // name
	Rule    string `json:"rule"`    // name
	Level   Level  `json:"level"`   //
	Seen    string `json:"seen"`    // the first fact
	Against string `json:"against"` // the second fact
	Why     string `json:"why"`     // what this means
	Do      string `json:"do"`      // what to do about it
}

// String is the alert as one line for people.
func (a Alert) String() string {
	return fmt.Sprintf("%s: %s: %s; %s. %s", a.Level, a.Rule, a.Seen, a.Against, a.Do)
}

// Of is the alert with commands that can be pasted: they name the run, as a word of the shell, and
// the step. The log has them in general terms, since a folder may be moved.
func (a Alert) Of(run string) Alert {
	a.Do = strings.NewReplacer("RUN", run, "--step N", fmt.Sprintf("--step %d", a.Step)).Replace(a.Do)
	return a
}

// rearm is how many steps a rule must not hold before it may be raised again.
const rearm = 10

// Watcher applies the rules to the rows of one run.
type Watcher struct {
	h     history
	quiet map[string]int // [rule] rows since it last held; absent: it has never held
}

// New begins at the first row of a run. trains has the model that a stage trains, by the name of the stage; of others it
// is the policy. Evaluations are those of whoever is trained, and are held against earlier ones of the same model.
func New(trains map[string]string) *Watcher {
	return &Watcher{history{trains: trains, measured: map[string][]evaluation{}}, map[string]int{}}
}

// Add takes the next row of metrics.jsonl and returns the alerts that it raises, in the
// order of the rules. What is not finite counts as not measured.
func (w *Watcher) Add(step int, stage string, row map[string]float64) []Alert {
	w.h.add(stage, row)
	collapse := sinking(&w.h)
	var out []Alert
	for _, r := range rules {
		f, holds := r.holds(&w.h)
		holds = holds && !(collapse && slices.Contains(symptoms, r.name))
		since, raised := w.quiet[r.name]
		switch {
		case holds && (!raised || since >= rearm):
			do := r.do
			if more := advice[r.name]; more != nil {
				do = more(&w.h)
			}
			out = append(out, Alert{step, stage, r.name, r.level, f.seen, f.against, r.why, do})
			fallthrough
		case holds:
			w.quiet[r.name] = 0
		case raised:
			w.quiet[r.name]++
		}
	}
	return out
}

// history is what the rules look back on.
type history struct {
	stage string
	steps map[string][]float64 // [metric][step of the stage that has it], finite
	tops  map[string]span      // [metric] highest mean of a window that lies before the last one
	then  span                 // of the reward, in the window where the truth was highest
	evals []evaluation         // of the model that the stage trains, in the whole run
	first int                  // index of the evaluation that the stage began from
	start *evaluation          // the one before the stage; nil: there was none
	row   map[string]float64   // the newest

	trains   map[string]string       // the model that a stage trains
	measured map[string][]evaluation // of each model in the whole run
}

// evaluation is one of the held-out problems. NaN: not measured.
type evaluation struct {
	pass, low, high float64 // pass@1 and its 95 % interval
	passK           float64 // pass@k of the largest k
	k               int
	problems        float64
}

func (h *history) add(stage string, row map[string]float64) {
	if stage != h.stage {
		h.stage, h.steps, h.tops = stage, map[string][]float64{}, map[string]span{}
		h.evals = h.measured[h.trains[stage]]
		h.first, h.start = max(0, len(h.evals)-1), nil
		if n := len(h.evals); n > 0 {
			before := h.evals[n-1]
			h.start = &before
		}
	}
	h.row = row
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if v := row[name]; finite(v) {
			h.steps[name] = append(h.steps[name], v)
			h.top(name)
		}
	}
	if e, ok := evaluationOf(row); ok {
		h.evals = append(h.evals, e)
		h.measured[h.trains[h.stage]] = h.evals
		if len(h.steps["rollout/right_share"]) == 0 { // the stage has not begun
			h.start = &e
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func evaluationOf(row map[string]float64) (evaluation, bool) {
	e := evaluation{pass: row["eval/pass@1"], low: math.NaN(), high: math.NaN(), passK: math.NaN(), problems: row["eval/problems"]}
	if _, ok := row["eval/pass@1"]; !ok {
		return e, false
	}
	// The interval is of the mean score, which is pass@1 where verdicts are right or wrong.
	const rounding = 1e-9 // two sums of the same terms
	if math.Abs(row["eval/mean"]-e.pass) <= rounding && e.problems > 0 {
		e.low, e.high = row["eval/mean_low"], row["eval/mean_high"]
	}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		var k int
		if n, _ := fmt.Sscanf(name, "eval/pass@%d", &k); n == 1 && k > e.k && k > 1 {
			e.k, e.passK = k, row[name]
		}
	}
	return e, true
}

// span is the mean of some steps, with its standard error.
type span struct{ mean, err float64 }

// over is the mean of values.
func over(v []float64) span {
	n, sum, squares := float64(len(v)), 0.0, 0.0
	for _, x := range v {
		sum += x
	}
	for _, x := range v {
		squares += (x - sum/n) * (x - sum/n)
	}
	return span{sum / n, math.Sqrt(squares / (n - 1) / n)}
}

// last is the mean of a metric over the last n steps of the stage.
func (h *history) last(name string, n int) (span, bool) {
	v := h.steps[name]
	if len(v) < n {
		return span{}, false
	}
	return over(v[len(v)-n:]), true
}

// begin is the mean over the first n steps of the stage. The last n steps have to be
// others.
func (h *history) begin(name string, n int) (span, bool) {
	v := h.steps[name]
	if len(v) < 2*n {
		return span{}, false
	}
	return over(v[:n]), true
}

// before is the mean over the window that lies before the last one.
func (h *history) before(name string) (span, bool) {
	v := h.steps[name]
	if len(v) < 2*window {
		return span{}, false
	}
	return over(v[len(v)-2*window : len(v)-window]), true
}

// top keeps the highest mean of a metric.
func (h *history) top(name string) {
	s, ok := h.before(name)
	if !ok {
		return
	}
	if top, there := h.tops[name]; !there || s.mean > top.mean {
		h.tops[name] = s
		if name == "reward/truth" {
			h.then, _ = h.before("reward/mean")
		}
	}
}

// above says that s is greater than o by more than two standard errors of the
// difference.
func (s span) above(o span) bool { return s.mean-o.mean > 2*math.Hypot(s.err, o.err) }

// errors is the distance of two means in standard errors; +Inf where they have none.
func (s span) errors(o span) float64 { return math.Abs(s.mean-o.mean) / math.Hypot(s.err, o.err) }

// Rules are the rules as alerts without facts: name, level, reason and advice.
func Rules() []Alert {
	var out []Alert
	for _, r := range rules {
		out = append(out, Alert{Rule: r.name, Level: r.level, Why: r.why, Do: r.do})
	}
	return out
}
