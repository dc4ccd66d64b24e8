package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fake is a run of so many warm-up and RL steps with every metric the page knows.
func fake(sft, rl int) *Run {
	r := &Run{Name: "fake", About: "A run that never was.", Device: "none", Formula: "loss = 0", Recipe: "seed = 1\n", Version: "rlzero test", Elapsed: 307 * time.Second}
	for i := range sft {
		r.Metrics = append(r.Metrics, Point{i + 1, "warm-up", map[string]float64{
			"sft/loss": 4 / float64(i+1), "policy/entropy": 4 / float64(i+1), "policy/grad_norm": 1 + float64(i%3)}})
	}
	if sft > 0 {
		r.Evaluations = append(r.Evaluations, Evaluation{Step: sft, Stage: "warm-up", PassAt: map[int]float64{1: 0.25, 8: 0.75}, Greedy: 0.5, Valid: 0.9,
			Samples: []Sample{{"p1", "c1", "wrong", "no"}, {"p2", "c2", "right", "yes"}, {"p3", "c3", "not_scored", "odd"}}})
		last := r.Metrics[sft-1].Values
		last["eval/pass@1"], last["eval/pass@8"], last["eval/greedy"], last["eval/valid"] = 0.25, 0.75, 0.5, 0.9
	}
	for i := range rl {
		step := sft + i + 1
		r.Metrics = append(r.Metrics, Point{step, "grpo", map[string]float64{
			"reward/mean": float64(i) / float64(rl), "policy/entropy": 0.1, "policy/kl_ref": 0.01 * float64(i), "rollout/length_mean": 14,
			"rollout/tokens": 3584, "policy/grad_norm": 0.3, "eval/pass@1": 0.25 + 0.5*float64(i+1)/float64(rl), "eval/pass@8": 0.8, "eval/valid": 0.9}})
		r.Timing = append(r.Timing, Point{step, "grpo", map[string]float64{"time/rollout_s": 0.5, "time/train_s": 1}})
	}
	if rl > 0 {
		r.Evaluations = append(r.Evaluations, Evaluation{Step: sft + rl, Stage: "grpo", PassAt: map[int]float64{1: 0.75, 8: 0.8}, Greedy: math.NaN(), Valid: 0.9,
			Samples: []Sample{{"p1", "d1", "right", "yes"}, {"p2", "d2", "wrong", "no"}, {"p3", "d3", "wrong", "no"}}})
	}
	return r
}

func render(t *testing.T, r *Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// wellFormed fails unless the text is one XML element.
func wellFormed(t *testing.T, name, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

var inlineSVG = regexp.MustCompile(`(?s)<svg .*?</svg>`)

// check holds for the output of any run: well formed, nothing loaded from
// elsewhere, no number that is none. It returns the page and the curves.
func check(t *testing.T, r *Run) (string, map[string][]byte) {
	t.Helper()
	html, curves := render(t, r), Curves(r)
	for name, svg := range curves {
		text := string(svg)
		wellFormed(t, name, text)
		if !strings.HasPrefix(text, `<svg xmlns="http://www.w3.org/2000/svg"`) || strings.Count(text, "http") != 1 {
			t.Errorf("%s: want one address, the SVG namespace of the root:\n%.200s", name, text)
		}
		loadsNothing(t, name, text)
	}
	figures := inlineSVG.FindAllString(html, -1)
	for i, svg := range figures {
		wellFormed(t, fmt.Sprintf("chart %d of the page", i), svg)
	}
	if len(curves) > 0 && len(figures) != len(curves)-1 {
		t.Errorf("%d charts on the page, %d files and curves.svg", len(figures), len(curves)-1)
	}
	if strings.Contains(html, "http") {
		t.Error("the page names an address")
	}
	if n := strings.Count(html, "<script"); n != 1 {
		t.Errorf("%d script elements, want the page's own", n)
	}
	loadsNothing(t, "page", html)
	return html, curves
}

func loadsNothing(t *testing.T, name, text string) {
	t.Helper()
	for _, bad := range []string{"href", " src=", "url(", "@import", "<link", "NaN", "Inf", "ZgotmplZ"} {
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("%s contains %q: …%s", name, bad, text[max(0, i-60):min(len(text), i+60)])
		}
	}
}

func files(curves map[string][]byte) string {
	var names []string
	for _, n := range []string{"accuracy", "reward", "loss", "form", "entropy", "kl", "length", "throughput", "grad_norm", "curves"} {
		if _, ok := curves[n+".svg"]; ok {
			names = append(names, n)
		}
	}
	return strings.Join(names, " ")
}

func TestStages(t *testing.T) {
	for _, c := range []struct {
		name    string
		sft, rl int
		files   string
		head    string
	}{
		{"both", 100, 40, "accuracy reward loss form entropy kl length throughput grad_norm curves", "Held-out accuracy rose from"},
		{"sft only", 100, 0, "accuracy loss form entropy grad_norm curves", "Held-out accuracy after warm-up"},
		{"rl only", 0, 40, "accuracy reward form entropy kl length throughput grad_norm curves", "Held-out accuracy after grpo"},
		{"one step", 0, 1, "accuracy reward form entropy kl length throughput grad_norm curves", "Held-out accuracy after grpo"},
		{"one step each", 1, 1, "accuracy reward loss form entropy kl length throughput grad_norm curves", "Held-out accuracy rose from"},
	} {
		t.Run(c.name, func(t *testing.T) {
			html, curves := check(t, fake(c.sft, c.rl))
			if got := files(curves); got != c.files {
				t.Errorf("curves:\n got %s\nwant %s", got, c.files)
			}
			if len(curves) != len(strings.Fields(c.files)) {
				t.Errorf("%d files, want %d", len(curves), len(strings.Fields(c.files)))
			}
			if !strings.Contains(html, c.head) {
				t.Errorf("no headline %q", c.head)
			}
		})
	}
}

func TestNothingMeasured(t *testing.T) {
	html, curves := check(t, &Run{Name: "bare", Metrics: []Point{{1, "rl", map[string]float64{"reward/mean": math.NaN()}}}})
	if len(curves) != 0 || strings.Contains(html, "<figure") {
		t.Errorf("%d curves of a run without values", len(curves))
	}
	if !strings.Contains(html, "<h1>Training report</h1>") {
		t.Error("no headline")
	}
	check(t, &Run{})
}

func TestDeterministic(t *testing.T) {
	html, curves := check(t, fake(60, 40))
	for range 3 {
		again, files := check(t, fake(60, 40))
		if again != html {
			t.Fatal("two pages of one run differ")
		}
		for name := range curves {
			if !bytes.Equal(files[name], curves[name]) {
				t.Fatalf("two %s of one run differ", name)
			}
		}
	}
}

func TestHostileText(t *testing.T) {
	const evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`]]>\x00\x1b\u202e{{.Name}}"
	r := fake(30, 30)
	if got := clip(evil); strings.Contains(got, "\u202e") {
		t.Errorf("%q reads backwards", got)
	}
	r.Name, r.About, r.Device, r.Formula, r.Recipe, r.Version = evil, evil, evil, evil, evil, evil
	r.Notes = []string{evil}
	for i := range r.Metrics {
		r.Metrics[i].Stage += evil
	}
	for i := range r.Evaluations {
		e := &r.Evaluations[i]
		e.Stage = evil
		for j := range e.Samples {
			e.Samples[j] = Sample{evil, evil, evil, evil}
		}
	}
	html, curves := render(t, r), Curves(r)
	for name, svg := range curves {
		wellFormed(t, name, string(svg))
	}
	for _, svg := range inlineSVG.FindAllString(html, -1) {
		wellFormed(t, "chart of the page", svg)
	}
	if n := strings.Count(html, "<script"); n != 1 {
		t.Errorf("%d script elements, want 1", n)
	}
	if n := strings.Count(html, "</script"); n != 1 {
		t.Errorf("%d ends of script elements, want 1", n)
	}
	if strings.Contains(html, "<img") || strings.ContainsAny(html, "\x00") {
		t.Error("text became markup")
	}
	if !strings.Contains(html, "&lt;img src=x onerror=alert(2)&gt;") {
		t.Error("the text is not shown")
	}
}

func TestLongTextIsCut(t *testing.T) {
	r := fake(2, 2)
	r.Evaluations[1].Samples[0].Completion = strings.Repeat("é", 5000)
	html := render(t, r)
	if n := strings.Count(html, "é"); n != maxText {
		t.Errorf("%d characters of a completion are shown, want %d", n, maxText)
	}
}

func TestGapBreaksTheLine(t *testing.T) {
	r := fake(0, 30)
	whole := Curves(r)["reward.svg"]
	for _, gap := range []float64{math.NaN(), math.Inf(1)} {
		r.Metrics[14].Values["reward/mean"] = gap
		_, curves := check(t, r)
		one, two := moves(t, whole), moves(t, curves["reward.svg"])
		if one != 1 || two != 2 {
			t.Errorf("value %v: the line has %d pieces, %d without it; want 2 and 1", gap, two, one)
		}
	}
	for i := range r.Metrics {
		r.Metrics[i].Values["reward/mean"] = math.NaN()
	}
	if _, curves := check(t, r); curves["reward.svg"] != nil {
		t.Error("a chart of gaps alone is drawn")
	}
}

var bold = regexp.MustCompile(`class="line s0" d="([^"]*)"`)

// moves counts the pieces of a chart's bold line.
func moves(t *testing.T, svg []byte) int {
	t.Helper()
	m := bold.FindSubmatch(svg)
	if m == nil {
		t.Fatal("no line")
	}
	return bytes.Count(m[1], []byte("M"))
}

func TestHeadline(t *testing.T) {
	at := func(v float64) *Evaluation { return &Evaluation{Stage: "s", PassAt: map[int]float64{1: v}} }
	for _, c := range []struct {
		before, after float64
		verb, gain    string
	}{
		{0.262, 0.621, "rose", "+35.9"}, {0.5, 0.25, "fell", "−25.0"}, {0.5, 0.5, "stayed", "+0.0"}, {math.NaN(), 0.5, "", ""},
	} {
		if h := newHeadline(at(c.before), at(c.after)); h.Verb != c.verb || h.Gain != c.gain {
			t.Errorf("%v to %v: %q %q, want %q %q", c.before, c.after, h.Verb, h.Gain, c.verb, c.gain)
		}
	}
}

func TestPairs(t *testing.T) {
	r := fake(2, 2)
	before, after := r.beforeAfter()
	p := newPairs(before, after)
	if p.Total != 3 || p.Learned != 1 || p.Lost != 1 || p.Kept != 0 || p.Missed != 1 {
		t.Errorf("%+v", p)
	}
	if got := p.Shown[0]; got.Prompt != "p1" || got.Before.Text != "c1" || got.Before.Class != "wrong" || got.After.Text != "d1" || got.After.Class != "right" {
		t.Errorf("%+v", got)
	}
	if got := p.Shown[2].Before.Class; got != "other" {
		t.Errorf("a completion that was not scored is marked %q", got)
	}
}

func TestPageTellsWhatHappened(t *testing.T) {
	html := render(t, fake(100, 40))
	for _, want := range []string{"25.0 %", "75.0 %", "+50.0", "5 min 7 s", "100 warm-up + 40 grpo", "10,240 completions, 143,360 tokens",
		"pass@8", "greedy", "right form", "loss = 0", "seed = 1", "rlzero test", "1 wrong before and right after, 1 the reverse"} {
		if !strings.Contains(strings.ReplaceAll(html, "&#43;", "+"), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// write makes a run folder of the given files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const metricsFile = `{"step":1,"stage":"warm-up","sft/loss":2.5,"policy/entropy":null}
{"step":2,"stage":"warm-up","sft/loss":1.5}

{"step":2,"stage":"warm-up","eval/pass@1":0.25,"eval/pass@8":0.8,"eval/greedy":0.5,"eval/valid":0.9}
{"step":3,"stage":"grpo","reward/mean":0.3,"eval/pass@1":0.3}
{"step":4,"stage":"grpo","reward/mean":0.4,"tags":["a"]}
{"step":4,"stage":"grpo","eval/pass@1":0.6,"eval/pass@8":0.9}
`

func TestRead(t *testing.T) {
	r, err := Read(write(t, map[string]string{
		"metrics.jsonl": metricsFile,
		"timing.jsonl":  `{"step":3,"stage":"grpo","rollout/tokens_per_s":1200}` + "\n" + `{"step":4,"sta`,
		"evaluations.jsonl": `{"step":2,"stage":"warm-up","prompt":"p","completion":"c","verdict":"wrong","reason":"no"}
{"step":4,"stage":"grpo","prompt":"p","completion":"d","verdict":"right","reason":"yes"}`,
		"recipe.toml": "seed = 7\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "a-run" || r.Recipe != "seed = 7\n" || len(r.Metrics) != 4 || len(r.Timing) != 1 || len(r.Evaluations) != 2 {
		t.Fatalf("%+v", r)
	}
	if !math.IsNaN(r.Metrics[0].Values["policy/entropy"]) {
		t.Error("null is not NaN")
	}
	first, last := r.Evaluations[0], r.Evaluations[1]
	if first.Step != 2 || first.PassAt[1] != 0.25 || first.PassAt[8] != 0.8 || first.Greedy != 0.5 || first.Valid != 0.9 || first.Samples[0].Completion != "c" {
		t.Errorf("after the warm-up: %+v", first)
	}
	if last.Step != 4 || last.PassAt[1] != 0.6 || !math.IsNaN(last.Greedy) || last.Samples[0].Verdict != "right" {
		t.Errorf("after RL: %+v", last)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "timing.jsonl: line 2") {
		t.Errorf("notes %q, want one on the torn line", r.Notes)
	}
	html, _ := check(t, r)
	if !strings.Contains(html, "timing.jsonl: line 2") {
		t.Error("the page does not say what was left out")
	}
}

func TestReadMetricsAlone(t *testing.T) {
	r, err := Read(write(t, map[string]string{"metrics.jsonl": metricsFile}))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Notes) > 0 {
		t.Errorf("a missing optional file is noted: %q", r.Notes)
	}
	check(t, r)
}

func TestReadErrors(t *testing.T) {
	if _, err := Read(write(t, nil)); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "metrics.jsonl") {
		t.Errorf("no metrics: %v", err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "\n", "metrics.jsonl holds no step"},
		{"torn", metricsFile + `{"step":5,`, "metrics.jsonl: line 8: not a JSON object"},
		{"no step", `{"stage":"rl"}`, `metrics.jsonl: line 1: no "step"`},
		{"text for a step", `{"step":"1"}`, "metrics.jsonl: line 1: not a JSON object with a whole step"},
	} {
		if _, err := Read(write(t, map[string]string{"metrics.jsonl": c.text})); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestCursorHoldsTheData(t *testing.T) {
	r := fake(0, 1000)
	charts := r.charts(r.stages())
	for i := range charts {
		raw, err := charts[i].layout(r.stages()).cursor()
		if err != nil {
			t.Fatal(err)
		}
		var c cursor
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			t.Fatal(err)
		}
		for _, l := range c.Lines {
			n := len(l.Points)
			if n == 0 || n > maxCursor+1 {
				t.Errorf("%s: %d points", charts[i].file, n)
			}
			if last := l.Points[n-1][0].(float64); last != 1000 {
				t.Errorf("%s: the last step is %v", charts[i].file, last)
			}
		}
	}
}
