package page

import (
	"fmt"
	"math"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
)

// evaluation is a row of metrics.jsonl, of 512 problems with 8 samples each, or of a part of
// the problems. The interval is four points to both sides.
func evaluation(step int, stage string, problems int, pass, pass8 float64) object {
	row := object{"step": step, "stage": stage, "eval/pass@1": pass, "eval/pass@8": pass8, "eval/valid": 0.9, "eval/problems": problems, "eval/samples": 8, "eval/mean": pass, "eval/mean_low": pass - 0.04, "eval/mean_high": pass + 0.04}
	if problems == 512 {
		row["eval/greedy"] = pass + 0.02
	}
	return row
}

// stages writes a run of 100 steps of imitation and 200 with rewards: evaluated in full before,
// between and after, and in part at every so many steps of the second stage.
func stages(t *testing.T, dir string, every int, from, to, to8 float64) {
	t.Helper()
	recipe := strings.ReplaceAll(fmt.Sprintf(recipeText, filepath.Base(dir), filepath.Base(dir), 1, "task"), "steps = 60", "trains = \"teacher\"\nsteps = 200")
	write(t, dir, "recipe.toml", recipe)
	var metrics, alerts rows
	metrics.add(evaluation(0, "warm-up", 512, 0.01, 0.02))
	for step := 1; step <= 300; step++ {
		if step <= 100 {
			metrics.add(object{"step": step, "stage": "warm-up", "sft/loss": 4 / float64(step), "policy/entropy": 4 / float64(step)})
		} else {
			row := object{"step": step, "stage": "rl", "reward/mean": 0.2 + float64(step)/1000, "policy/entropy": 0.5 + math.Sin(float64(step)), "rollout/length_mean": 14, "teacher/kl": 1 / float64(step)}
			if every > 0 && step%every == 0 && step < 300 {
				for name, v := range evaluation(step, "rl", 128, from+(to-from)*float64(step-100)/200, to8) {
					row[name] = v
				}
			}
			metrics.add(row)
		}
		switch step {
		case 100:
			metrics.add(evaluation(100, "warm-up", 512, from, 0.85))
		case 300:
			metrics.add(evaluation(300, "rl", 512, to, to8))
		}
	}
	alerts.add(object{"step": 130, "stage": "rl", "rule": "length", "level": "warning", "seen": "seen", "against": "against", "why": "why", "do": "do"})
	write(t, dir, "metrics.jsonl", metrics.String())
	write(t, dir, "alerts.jsonl", alerts.String())
}

// reports opens one file with the runs of a folder.
func reports(t *testing.T, root string) *browser.Browser {
	t.Helper()
	runs, err := Open(root)
	must(t, err)
	data, err := runs.File(Room)
	must(t, err)
	return opened(t, data, "window.shownHash != null")
}

// drawing counts what a line of a drawing consists of.
type drawing struct{ Pieces, Dots, Whiskers int }

// drawn is the line of a class in the figure with a title.
func drawn(b *browser.Browser, title, class string) (d drawing) {
	b.Eval(fmt.Sprintf(`((title, cls) => {
  const svg = [...document.querySelectorAll("main figure")].find((f) => f.querySelector("h2, h3").textContent === title).querySelector("svg.chart");
  const n = (selector) => svg.querySelectorAll(selector + "." + cls).length, line = svg.querySelector(".line." + cls);
  return { Pieces: line ? line.getAttribute("d").split("M").length - 1 : 0, Dots: n("circle.dot"), Whiskers: n(".whisker") };
})(%q, %q)`, title, class), &d)
	return d
}

// TestNothingBetweenMeasurements: a line joins measurements that are two intervals apart at
// most. Greedy is measured after each stage, pass@1 at every tenth step or only after stages.
func TestNothingBetweenMeasurements(t *testing.T) {
	root := t.TempDir()
	stages(t, filepath.Join(root, "often"), 10, 0.25, 0.75, 0.8)
	stages(t, filepath.Join(root, "seldom"), 0, 0.25, 0.75, 0.8)
	b := reports(t, root)
	b.View(1680, 900, false)
	for _, c := range []struct {
		screen, title, class string
		want                 drawing
	}{
		{"often/now", "Held-out accuracy", "s0", drawing{1, 21, 21}},
		{"often/now", "Held-out accuracy", "s2", drawing{2, 2, 0}}, // greedy
		{"often/curves?x=total", "eval/greedy", "s0", drawing{3, 3, 0}},
		{"often/curves?x=total", "eval/pass@1", "s0", drawing{2, 22, 0}}, // before; after the warm-up, and on from there
		{"often/curves?x=total", "reward/mean", "s0", drawing{1, 0, 0}},
		{"seldom/now", "Held-out accuracy", "s0", drawing{2, 2, 2}},
		{"seldom/curves?x=total", "eval/pass@1", "s0", drawing{3, 3, 0}},
	} {
		visit(b, "#/run/"+c.screen)
		b.Wait("[...document.querySelectorAll('main figure .plot')].every((p) => p.querySelector('svg'))")
		if got := drawn(b, c.title, c.class); got != c.want {
			t.Errorf("%s, %s, %s: %+v, want %+v", c.screen, c.title, c.class, got, c.want)
		}
	}
	quiet(t, b, "gaps")
}

// TestHeadline: what a run came to, with its interval, what it was measured on, and what
// became of the variety; an accuracy that did not change is neither good nor bad.
func TestHeadline(t *testing.T) {
	root := t.TempDir()
	for name, v := range map[string][3]float64{"rose": {0.25, 0.75, 0.8}, "fell": {0.5, 0.25, 0.85}, "stayed": {0.5, 0.5, 0.85}, "rose alone": {0.25, 0.75, 0.848}, "chance": {0.5, 0.53, 0.85}} {
		stages(t, filepath.Join(root, name), 10, v[0], v[1], v[2])
	}
	for name, state := range map[string]string{"ended below": "receipt.json", "is below": ""} {
		dir := filepath.Join(root, name)
		stages(t, dir, 10, 0.5, 0.25, 0.85)
		write(t, dir, "result.json", `{
  "take": "best",
  "why": "the last evaluation is below it",
  "below_start": true,
  "best": {"step": 1020}
}`)
		if state != "" {
			write(t, dir, state, `{"logs": [], "checkpoints": []}`)
		}
	}
	b := reports(t, root)
	for _, c := range []struct {
		name, head, class string
		says, not         []string
	}{
		{"rose", "Accuracy 25.0 → 75.0 %", "up", []string{"95 % interval 71.0 to 79.0 %", "512 held-out problems × 8 samples", "pass@8 −5.0 points: the samples of a problem have become less varied"}, []string{"chance", "128"}},
		{"fell", "Accuracy 50.0 → 25.0 %", "down", []string{"95 % interval 21.0 to 29.0 %"}, []string{"less varied"}},
		{"ended below", "Accuracy 50.0 → 25.0 %: the run ended below its start", "down", []string{"the run offers its best model, from step 1,020: the last evaluation is below it"}, nil},
		{"is below", "Accuracy 50.0 → 25.0 %: the run is below its start", "down", []string{"the run offers its best model"}, nil},
		{"stayed", "Accuracy 50.0 → 50.0 %", "", []string{"it may be due to chance"}, nil},
		{"chance", "Accuracy 50.0 → 53.0 %", "", []string{"the change of +3.0 points is within noise: it may be due to chance", "pass@8 0.0 points, within noise"}, []string{"less varied"}},
		{"rose alone", "Accuracy 25.0 → 75.0 %", "up", []string{"pass@8 −0.2 points, within noise"}, []string{"less varied"}},
	} {
		visit(b, "#/run/"+url.PathEscape(c.name)+"/now")
		var class string
		b.Eval("document.querySelector('.headline h1 b').className", &class)
		if got := text(b, ".headline h1"); got != c.head || class != c.class {
			t.Errorf("%s: the headline is %q, %q; want %q, %q", c.name, got, class, c.head, c.class)
		}
		b.Wait("document.querySelector('.hero svg')")
		var charted []string
		b.Eval("[...document.querySelectorAll('.hero svg .label')].map((e) => e.textContent)", &charted)
		if number := c.head[strings.Index(c.head, "→ ")+len("→ "):]; !slices.Contains(charted, "pass@1 "+strings.SplitAfter(number, "%")[0]) {
			t.Errorf("%s: the headline is %q, the chart says %q", c.name, c.head, charted)
		}
		lead := text(b, ".headline .lead")
		for _, says := range c.says {
			if !strings.Contains(lead, says) {
				t.Errorf("%s: %q does not say %q", c.name, lead, says)
			}
		}
		for _, not := range c.not {
			if strings.Contains(lead, not) {
				t.Errorf("%s: %q says %q", c.name, lead, not)
			}
		}
	}
	quiet(t, b, "headlines")
}

// TestSmooth: a line that is smoothed ends where the smoothing does, on both sides of a stage, and
// not in the noise of the last value; the points are there to the end.
func TestSmooth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "noisy")
	write(t, dir, "recipe.toml", fmt.Sprintf(recipeText, "noisy", "noisy", 1, "task"))
	var metrics rows
	for step := 1; step <= 100; step++ {
		reward := 0.5 + 0.01*math.Sin(float64(step))
		if step == 1 || step == 100 {
			reward = 1
		}
		metrics.add(object{"step": step, "stage": "rl", "reward/mean": reward, "groups/uniform_share": 0.5, "groups/all_right_share": reward / 4, "groups/all_wrong_share": 0.1})
	}
	write(t, dir, "metrics.jsonl", metrics.String())
	b := reports(t, dir)
	visit(b, "#/run/noisy/now")
	b.Wait("document.querySelectorAll('main figure svg').length >= 2")
	var got struct {
		Lo, Hi, First, Last float64 // of the smooth line: its range, and the places of its ends
		Raw                 int     // points
		Areas               string
	}
	b.Eval(`(() => {
  const stage = Array(100).fill(0), y = R.runs.get("noisy").series("reward/mean").y, soft = R.smooth(y, stage), is = soft.map((v, i) => (R.finite(v) ? i : -1)).filter((i) => i >= 0);
  const svg = document.querySelector(".hero svg"), stack = [...document.querySelectorAll("main figure")].find((f) => f.querySelector("h3")?.textContent === "Groups");
  return { Lo: R.extent(soft)[0], Hi: R.extent(soft)[1], First: is[0], Last: is[is.length - 1], Raw: svg.querySelector(".raw").getAttribute("d").split(/[ML]/).length - 1,
    Areas: [...stack.querySelectorAll(".area")].map((e) => e.getAttribute("d")).join(" ") };
})()`, &got)
	if got.Lo < 0.48 || got.Hi > 0.52 || got.First != 6 || got.Last != 93 || got.Raw != 100 || strings.Contains(got.Areas, "NaN") {
		t.Errorf("the smooth line is %+v", got)
	}
	quiet(t, b, "smoothing")
}

// TestPageTellsWhatHappened: steps are those of the stage, as on the console; points say how
// many problems they rest on; what never changes is told in words.
func TestPageTellsWhatHappened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "both")
	stages(t, dir, 10, 0.25, 0.75, 0.8)
	b := reports(t, dir)
	for screen, says := range map[string][]string{
		"now": {"rl 200 of 200", "step 30: seen", "Held-out accuracy",
			"share of right answers to 128 problems during the stage, to 512 before and after it; whiskers: 95 % interval; x: steps of stage rl", "greedy 77.0 %", "KL to teacher", "learns", "a model of the recipe"},
		"heldout": {"Accuracy by stage", "before training", "after warm-up", "after rl", "512 × 8", "71.0 to 79.0 %"},
		"curves":  {"Constant: rollout/length_mean 14.", "mean k3 estimate of the KL divergence of the policy from the model"},
	} {
		visit(b, "#/run/both/"+screen)
		b.Wait("[...document.querySelectorAll('main figure .plot')].every((p) => p.querySelector('svg'))")
		var page string // with what the drawings say
		b.Eval("document.querySelector('main').textContent", &page)
		for _, want := range says {
			if !strings.Contains(page+text(b, "main"), want) {
				t.Errorf("%s does not say %q", screen, want)
			}
		}
	}
	visit(b, "#/run/both/now")
	if got := text(b, "main"); strings.Contains(got, "Completion length") {
		t.Error("a constant fills a chart")
	}
	quiet(t, b, "the report")
}
