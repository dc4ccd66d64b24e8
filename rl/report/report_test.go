package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fake is a finished run of so many warm-up and RL steps with every metric the page
// knows.
func fake(sft, rl int) *Run {
	r := &Run{Name: "fake", About: "A run that never was.", Formula: "loss = 0", Recipe: "seed = 1\n", Finished: true,
		Machine: Machine{"Card (long name)", "Card driver 7 (build 3)", "TL", 3, "test"}, Plan: map[string]Plan{"grpo": {rl, 20}}}
	for i := range sft {
		r.Metrics = append(r.Metrics, Point{i + 1, "warm-up", map[string]float64{
			"sft/loss": 4 / float64(i+1), "policy/entropy": 4 / float64(i+1), "policy/grad_norm": 1 + float64(i%3)}})
		r.Timing = append(r.Timing, Point{i + 1, "warm-up", map[string]float64{"time/train_s": 0.5, "train/tokens_per_s": 1000}})
	}
	if sft > 0 {
		r.Evaluations = append(r.Evaluations, Evaluation{Step: sft, Stage: "warm-up", Problems: 512, PerOne: 8, PassAt: map[int]float64{1: 0.25, 8: 0.85}, Low: 0.22, High: 0.28, Greedy: 0.5, Valid: 0.9,
			Samples: []Sample{{"p1", "c1", "wrong", "no"}, {"p2", "c2", "right", "yes"}, {"p3", "c3", "not_scored", "odd"}}})
		last := r.Metrics[sft-1].Values
		last["eval/pass@1"], last["eval/pass@8"], last["eval/greedy"], last["eval/valid"] = 0.25, 0.85, 0.5, 0.9
		last["eval/mean"], last["eval/mean_low"], last["eval/mean_high"], last["eval/problems"] = 0.25, 0.22, 0.28, 512
	}
	for i := range rl {
		step, part := sft+i+1, float64(i+1)/float64(rl)
		r.Metrics = append(r.Metrics, Point{step, "grpo", map[string]float64{
			"reward/mean": 0.2 + 0.5*part, "policy/entropy": 0.1 + 0.1*part, "policy/kl_ref": 0.01 * part, "rollout/length_mean": 14, "rollout/truncated_share": 0,
			"rollout/tokens": 3584, "policy/grad_norm": 0.3 + part, "policy/compared": 1792, "policy/equal": 1792,
			"groups/uniform_share": 0.5, "groups/all_right_share": 0.5 * part, "groups/all_wrong_share": 0.5 - 0.5*part,
			"eval/pass@1": 0.25 + 0.5*part, "eval/pass@8": 0.85 - 0.05*part, "eval/valid": 0.8 + 0.1*part, "eval/problems": 128}})
		r.Timing = append(r.Timing, Point{step, "grpo", map[string]float64{"time/rollout_s": 0.5, "time/train_s": 1, "rollout/tokens_per_s": 7168}})
	}
	if rl > 0 {
		r.Timing[0].Values["time/train_s"], r.Timing[0].Values["train/tokens_per_s"] = 100, 5 // the first step compiles
		r.Evaluations = append(r.Evaluations, Evaluation{Step: sft + rl, Stage: "grpo", Problems: 512, PerOne: 8, PassAt: map[int]float64{1: 0.75, 8: 0.8}, Low: 0.71, High: 0.78, Greedy: math.NaN(), Valid: 0.9,
			Samples: []Sample{{"p1", "d1", "right", "yes"}, {"p2", "d2", "wrong", "no"}, {"p3", "d3", "wrong", "no"}}})
		r.Groups = []Group{{sft + rl, "grpo", "q", []Completion{
			{Sample{"q", "a", "wrong", "no"}, 0, -0.5}, {Sample{"q", "b", "right", "yes"}, 1, 1.5}, {Sample{"q", "a", "wrong", "no"}, 0, -0.5}, {Sample{"q", "c", "not_scored", "odd"}, math.NaN(), math.NaN()}}}}
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
	if heroes := strings.Count(html, `class="hero"`); len(curves) > 0 && len(figures) != len(curves)-1+heroes { // a hero is drawn twice
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
	for _, n := range []string{"accuracy", "reward", "groups", "loss", "form", "entropy", "kl", "clip", "length", "truncated", "not_scored", "grad_norm", "curves"} {
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
		{"both", 100, 40, "accuracy reward groups loss form entropy kl grad_norm curves", "Held-out accuracy rose from"},
		{"sft only", 100, 0, "accuracy loss entropy grad_norm curves", "Held-out accuracy after warm-up"},
		{"rl only", 0, 40, "accuracy reward groups form entropy kl grad_norm curves", "Held-out accuracy after grpo"},
		{"one step", 0, 1, "accuracy reward curves", "Held-out accuracy after grpo"},
		{"one step each", 1, 1, "accuracy reward entropy grad_norm curves", "Held-out accuracy rose from"},
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
	r.Name, r.About, r.Formula, r.Recipe, r.Machine = evil, evil, evil, evil, Machine{evil, evil, evil, 1, evil}
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
	for i := range r.Groups {
		g := &r.Groups[i]
		g.Prompt = evil
		for j := range g.Completions {
			g.Completions[j].Sample = Sample{evil, evil, evil, evil}
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
		if h := newHeadline(at(c.before), at(c.after), nil); h.Verb != c.verb || h.Gain != c.gain {
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
	if len(p.Sets) != 1 {
		t.Fatalf("%d sets of problems, want the first ones alone: they show what was learnt and lost", len(p.Sets))
	}
	if got := p.Sets[0].Pairs[0]; got.Prompt != "p1" || got.Before.Text != "c1" || got.Before.Class != "wrong" || got.After.Text != "d1" || got.After.Class != "right" {
		t.Errorf("%+v", got)
	}
	if got := p.Sets[0].Pairs[2].Before.Class; got != "other" {
		t.Errorf("a completion that was not scored is marked %q", got)
	}
}

// TestChangedPairs: beyond the first problems, three that were learnt and three that
// were lost are shown.
func TestChangedPairs(t *testing.T) {
	before, after := &Evaluation{Step: 1, Stage: "a"}, &Evaluation{Step: 2, Stage: "b"}
	for i := range maxPairs + 10 {
		was, is := "right", "right"
		if i >= maxPairs {
			was, is = "wrong", "right"
			if i%2 == 0 {
				was, is = is, was
			}
		}
		before.Samples = append(before.Samples, Sample{Prompt: fmt.Sprint(i), Verdict: was})
		after.Samples = append(after.Samples, Sample{Prompt: fmt.Sprint(i), Verdict: is})
	}
	p := newPairs(before, after)
	if len(p.Sets) != 3 || p.Learned != 5 || p.Lost != 5 {
		t.Fatalf("%+v", p)
	}
	for i, want := range []struct {
		n           int
		first       string
		before, now string
	}{{maxPairs, "0", "right", "right"}, {maxChanges, fmt.Sprint(maxPairs + 1), "wrong", "right"}, {maxChanges, fmt.Sprint(maxPairs), "right", "wrong"}} {
		got := p.Sets[i].Pairs
		if len(got) != want.n || got[0].Prompt != want.first || got[0].Before.Class != want.before || got[0].After.Class != want.now {
			t.Errorf("%s: %+v", p.Sets[i].Title, got)
		}
	}
	before.Samples, after.Samples = after.Samples, nil // the stage has not ended
	if p := newPairs(before, after); p.To != "after a" || p.From != "" || len(p.Sets) != 1 {
		t.Errorf("in a run in progress: %+v, want what the stage before wrote", p)
	}
}

func TestPageTellsWhatHappened(t *testing.T) {
	text := strings.Join(strings.Fields(readable(render(t, fake(100, 40)))), " ")
	for _, want := range []string{
		"rose from 25.0 % to 75.0 %", "+50.0 points of pass@1 between the end of warm-up and the end of grpo, on 512 problems kept out of training, 8 samples each.",
		"95 % interval: 71.0 to 78.0 %.", "pass@8 fell by 5.0 points: the samples of a problem have become less varied.",
		"Device Card driver 7, tier TL", "Time 3 min 30 s in steps", "100 warm-up + 40 grpo", "10,240 completions 143,360 tokens",
		"Completion length 14.0 tokens at every step; the limit is 20; none was cut off",
		"71,680 of 71,680 compared tokens have the same log-prob", "50 % of the tokens sampled", "Arithmetic version 3.",
		"warm-up 2 min 30 s training 100 % 1,000 tokens/s trained", "grpo 1 min sampling and grading 33 % training 67 % 7,168 tokens/s sampled",
		"512 × 8", "greedy", "valid", "22.0 to 28.0 %", "The run kept the first 3 problems", "1 wrong before and right after, 1 the reverse",
		"grpo, step 40: q", "2 × 0 ▼ −0.50", "1 × 1 ▲ +1.50", "1 × – –", "loss = 0", "seed = 1", "rlzero test.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, "on 3 problems") {
		t.Error("the number of stored completions is told as that of evaluated problems")
	}
	if strings.Contains(text, "unfinished") {
		t.Error("a finished run is called unfinished")
	}
}

var (
	notText = regexp.MustCompile(`(?s)<(style|script|svg).*?</(style|script|svg)>`)
	inline  = regexp.MustCompile(`</?(b|bdi|code|em|i|small|span|strong)\b[^>]*>`)
	tag     = regexp.MustCompile(`<[^>]*>`)
)

// readable is the text of a page.
func readable(page string) string {
	return strings.ReplaceAll(html.UnescapeString(tag.ReplaceAllString(inline.ReplaceAllString(notText.ReplaceAllString(page, " "), ""), " ")), "\u00a0", " ")
}

// TestPhoneAndKeyboard: the hero has a drawing of its own for narrow screens, and
// what scrolls can be reached and has a name.
func TestPhoneAndKeyboard(t *testing.T) {
	page := render(t, fake(100, 40))
	for _, want := range []string{`class="chart wide" viewBox="0 0 760 380"`, `class="chart narrow" viewBox="0 0 400 300"`} {
		if strings.Count(page, want) != 1 {
			t.Errorf("the page has not one %s", want)
		}
	}
	scrolls := regexp.MustCompile(`<div class="scroll"[^>]*>|<pre[^>]*>`).FindAllString(page, -1)
	if len(scrolls) != 3 {
		t.Fatalf("%d elements that may scroll, want the table, the formula and the recipe: %q", len(scrolls), scrolls)
	}
	for _, e := range scrolls {
		if !strings.Contains(e, "formula") && (!strings.Contains(e, `role="region"`) || !strings.Contains(e, `aria-label="`) || !strings.Contains(e, `tabindex="0"`)) {
			t.Errorf("%s cannot be reached with the keyboard", e) // the formula is wrapped
		}
	}
}

// TestContrast: text has the contrast to the page that WCAG 2.2 asks for, 4.5 to 1
// (success criterion 1.4.3), in the light and in the dark scheme.
func TestContrast(t *testing.T) {
	color := regexp.MustCompile(`--([a-z0-9]+): #([0-9a-f]{6})`)
	luminance := func(hex string) float64 { // WCAG 2.2, relative luminance
		sum := 0.0
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			c := float64(v) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	light, dark, _ := strings.Cut(chartCSS, "@media (prefers-color-scheme: dark)")
	pageLight, pageDark, _ := strings.Cut(pageCSS, "@media (prefers-color-scheme: dark)")
	pageDark, _, _ = strings.Cut(pageDark, "\n")
	_, print, _ := strings.Cut(pageCSS, "@media print")
	for scheme, css := range map[string]string{"light": light + pageLight, "dark": dark + pageDark, "print": print} {
		colors := map[string]float64{}
		for _, m := range color.FindAllStringSubmatch(css, -1) {
			colors[m[1]] = luminance(m[2])
		}
		for _, pair := range strings.Fields("ink/paper soft/paper s0/paper s1/paper s2/paper s3/paper good/paper bad/paper amber/paper ink/tint") {
			text, back, _ := strings.Cut(pair, "/")
			a, b := colors[text], colors[back]
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
				t.Errorf("%s: %s has the contrast %.2f, want 4.5", scheme, pair, ratio)
			}
		}
	}
}

// TestNothingBetweenMeasurements: greedy is measured after each stage, pass@1 at
// every tenth step, the right form until the warm-up has learnt it and after that.
func TestNothingBetweenMeasurements(t *testing.T) {
	r := &Run{Name: "sparse"}
	for step := 1; step <= 400; step++ {
		p := Point{step, "warm-up", map[string]float64{"sft/loss": 1 / float64(step)}}
		if step > 200 {
			p = Point{step, "rl", map[string]float64{"reward/mean": 0.3 + float64(step)/1000}}
		}
		if step <= 100 && step%20 == 0 {
			p.Values["eval/valid"] = float64(step) / 200
		}
		if step >= 200 && step%10 == 0 {
			p.Values["eval/pass@1"], p.Values["eval/mean"] = float64(step)/800, float64(step)/800
			p.Values["eval/mean_low"], p.Values["eval/mean_high"] = float64(step)/800-0.05, float64(step)/800+0.05
			p.Values["eval/valid"] = 0.9
		}
		if step%200 == 0 {
			p.Values["eval/greedy"] = float64(step) / 700
		}
		r.Metrics = append(r.Metrics, p)
	}
	_, curves := check(t, r)
	for _, c := range []struct {
		file, class       string
		lines, dots, bars int
	}{
		{"accuracy", "s0", 1, 21, 21}, // joined: 10 steps lie between two
		{"accuracy", "s1", 2, 2, 0},   // greedy: 200 steps lie between
		{"form", "s0", 2, 26, 0},      // 5 in the warm-up, 21 from its end on
		{"reward", "s0", 1, 1, 0},
	} {
		svg := curves[c.file+".svg"]
		m := regexp.MustCompile(`class="line ` + c.class + `" d="([^"]*)"`).FindSubmatch(svg)
		if m == nil {
			t.Fatalf("%s has no line %s", c.file, c.class)
		}
		lines, dots, bars := bytes.Count(m[1], []byte("M")), bytes.Count(svg, []byte(`class="dot `+c.class+`"`)), bytes.Count(svg, []byte(`class="whisker `+c.class+`"`))
		if lines != c.lines || dots != c.dots || bars != c.bars {
			t.Errorf("%s, %s: %d pieces, %d dots, %d intervals; want %d, %d, %d", c.file, c.class, lines, dots, bars, c.lines, c.dots, c.bars)
		}
		if n := bytes.Count(svg, []byte(`class="label `+c.class)); n != 1 {
			t.Errorf("%s, %s: %d labels, want one at the end", c.file, c.class, n)
		}
	}
	if n := strings.Count(string(curves["accuracy.svg"]), `class="line ghost"`); n != 1 {
		t.Errorf("the reward is behind the accuracy %d times, want once", n)
	}
}

// TestGoldenText pins what the page says. With -update it is written anew.
func TestGoldenText(t *testing.T) {
	unfinished := fake(20, 10)
	unfinished.Finished, unfinished.Machine, unfinished.Plan["grpo"] = false, Machine{}, Plan{200, 20}
	differing := fake(0, 2)
	differing.Metrics[1].Values["policy/equal"] = 1790
	for name, r := range map[string]*Run{"finished": fake(100, 40), "unfinished": unfinished, "differing": differing} {
		var lines []string
		for line := range strings.Lines(readable(render(t, r))) {
			if line = strings.Join(strings.Fields(line), " "); line != "" {
				lines = append(lines, line)
			}
		}
		got, file := strings.Join(lines, "\n")+"\n", filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(want), "\n") {
			if i > len(lines) || i < len(lines) && lines[i] != line {
				t.Errorf("%s, line %d: %q, want %q", file, i+1, strings.Join(lines[min(i, len(lines)):min(i+1, len(lines))], ""), line)
				break
			}
		}
		if len(want) != len(got) {
			t.Errorf("%s has %d bytes, the page's text has %d", file, len(want), len(got))
		}
	}
}

func TestCursorHoldsTheData(t *testing.T) {
	r := fake(0, 1000)
	charts, _ := r.charts(r.stages())
	for i := range charts {
		raw, err := charts[i].layout(r.stages(), smallSize).cursor()
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
