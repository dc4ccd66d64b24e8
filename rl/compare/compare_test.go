package compare

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/rl/record"
)

// trial is a run of four steps of 100 tokens, evaluated after each, with the outcomes
// of three problems of four samples.
func trial(seed uint64, accuracies []float64, right ...int) *Trial {
	t := &Trial{Seed: seed, Tokens: []float64{100, 200, 300, 400}, Curves: map[string]Curve{
		"rollout/length_mean": {[]float64{100, 200, 300, 400}, []float64{9, 8, 7, 6 + float64(seed)}},
		"reward/mean":         {[]float64{100, 200, 300, 400}, []float64{0, 0.25, 0.5, 0.75}},
		"policy/kl_ref":       {[]float64{100, 200, 300, 400}, []float64{0, 0.5, 0.5, 0.125 * float64(seed)}},
	}}
	for i, y := range accuracies {
		t.add(accuracy, float64(100*i), y)
	}
	for _, n := range right {
		t.Problems = append(t.Problems, record.Outcome{Scored: 4, Right: n, Score: float64(n)})
	}
	return t
}

// begun adds what the start came to to trials: with the first seed 1 of 4 samples of each
// problem, with the second 3.
func begun(arms []Arm) []Arm {
	for _, a := range arms {
		for i, t := range a.Trials {
			for range t.Problems {
				t.Before = append(t.Before, record.Outcome{Scored: 4, Right: 1 + 2*i, Score: 1})
			}
		}
	}
	return arms
}

func twoArms() []Arm {
	return []Arm{
		{"plain", []*Trial{trial(1, []float64{0, 0.25, 0.25, 0.5, 0.5}, 2, 2, 2), trial(2, []float64{0, 0.25, 0.5, 0.5, 0.5}, 3, 2, 1)}},
		{"new", []*Trial{trial(1, []float64{0, 0.5, 0.75, 0.75, 0.75}, 3, 3, 3), trial(2, []float64{0, 0.25, 0.25, 0.25, 0.25}, 4, 3, 2)}},
	}
}

func rowNamed(t *testing.T, c *Comparison, name string) Row {
	t.Helper()
	i := slices.IndexFunc(c.Rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no row %s", name)
	}
	return c.Rows[i]
}

// TestTasks: where a run's task is a mixture, accuracy stands for each of its tasks, with its gain.
func TestTasks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recipe.toml")
	if err := os.WriteFile(file, []byte("base = \"mixture-tiny\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	read := &Trial{Problems: make([]record.Outcome, 40)}
	if err := read.readKinds(file); err != nil || len(read.Kinds) != 40 || len(slices.Compact(slices.Sorted(slices.Values(read.Kinds)))) != 6 {
		t.Errorf("kinds %v, %v; want 40 of six tasks", read.Kinds, err)
	}
	if err := read.readKinds(filepath.Join(t.TempDir(), "none.toml")); err != nil {
		t.Errorf("a run without a recipe: %v", err)
	}
	arms := twoArms()
	for _, a := range arms {
		for _, trial := range a.Trials {
			trial.Kinds = []string{"program", "countdown", "program"}
		}
	}
	c, err := New(arms, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]float64{"accuracy, program": {0.5, 0.75}, "accuracy, countdown": {0.5, 0.75}} {
		row := rowNamed(t, c, name)
		if row.Arms[0].Mean != want[0] || row.Arms[1].Mean != want[1] || math.Abs(row.Arms[1].Gain.Mean-(want[1]-want[0])) > 1e-12 {
			t.Errorf("%s: %+v, want %v", name, row.Arms, want)
		}
	}
}

// TestOwnMetrics: what a recipe measures by a formula of its own is a row, also where other recipes do not.
func TestOwnMetrics(t *testing.T) {
	arms := twoArms()
	for i, trial := range arms[1].Trials {
		trial.Curves["my/pairs"] = Curve{trial.Tokens, []float64{9, 9, 9, float64(2 + i)}}
	}
	c, err := New(arms, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if f := rowNamed(t, c, "my/pairs").Arms; !math.IsNaN(f[0].Mean) || !slices.Equal(f[1].Seeds, []float64{2, 3}) || !math.IsNaN(f[1].Gain.Mean) {
		t.Errorf("%+v", f)
	}
	if table := c.Table(); !strings.Contains(table, "my/pairs") {
		t.Errorf("no my/pairs in\n%s", table)
	}
}

// TestVotes: maj@K is a row where every run has counted answers, over the problems in which it has.
func TestVotes(t *testing.T) {
	arms := twoArms()
	for i, a := range arms {
		for _, trial := range a.Trials {
			if c, err := New(arms, 0.5); err != nil || slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Name == "maj@4" }) {
				t.Fatalf("%v: a row of votes before all have some", err)
			}
			trial.Problems[0].Voted, trial.Problems[0].Elects = true, i == 1
			trial.Problems[1].Voted, trial.Problems[1].Elects = true, true
		}
	}
	c, err := New(arms, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if f := rowNamed(t, c, "maj@4").Arms; f[0].Mean != 0.5 || f[1].Mean != 1 || f[1].Gain.Mean != 0.5 {
		t.Errorf("%+v", f)
	}
}

// TestFigures by hand.
func TestFigures(t *testing.T) {
	c, err := New(twoArms(), math.NaN())
	if err != nil {
		t.Fatal(err)
	}
	if rowNamed(t, c, "accuracy").Start != nil {
		t.Error("a start that nothing measured has a figure")
	}
	begun, err := New(begun(twoArms()), math.NaN())
	if err != nil {
		t.Fatal(err)
	}
	if f := rowNamed(t, begun, "accuracy").Start; !near(f.Mean, 0.5) || !near(f.Seeds[0], 0.25) || !near(f.Seeds[1], 0.75) || !near(f.Spread, math.Sqrt(0.125)) {
		t.Errorf("%+v", f)
	}
	if f := rowNamed(t, begun, "pass@2").Start; !near(f.Seeds[0], 0.5) || f.Seeds[1] != 1 || rowNamed(t, begun, "length").Start != nil {
		t.Errorf("%+v", f)
	}
	if c.Threshold != 0.45 {
		t.Errorf("threshold %v", c.Threshold)
	}
	// Every problem gains a quarter with both seeds.
	if f := rowNamed(t, c, "accuracy").Arms; f[0].Mean != 0.5 || f[0].Spread != 0 || f[1].Mean != 0.75 || f[1].Gain != (Interval{0.25, 0.25, 0.25}) {
		t.Errorf("%+v", f)
	}
	// With 2 of 4 right, two samples hold one with chance 5/6; with 3 or 4 they do; with 1 half of the time.
	if f := rowNamed(t, c, "pass@2").Arms; !near(f[0].Seeds[0], 5.0/6) || !near(f[0].Seeds[1], (1+5.0/6+0.5)/3) || f[1].Seeds[0] != 1 {
		t.Errorf("%+v", f)
	}
	// The last tenth of four steps is the last one.
	if f := rowNamed(t, c, "length").Arms; f[0].Mean != 7.5 || f[1].Gain.Mean != 0 {
		t.Errorf("%+v", f)
	}
	if f := rowNamed(t, c, "KL to the reference").Arms; f[0].Mean != 0.1875 || !slices.Equal(f[1].Seeds, []float64{0.125, 0.25}) || f[1].Gain.Mean != 0 {
		t.Errorf("%+v", f)
	}
	// 0.45 lies on the lines from 200 to 300, 100 to 200, 0 to 100; one run never gets there.
	f := rowNamed(t, c, "tokens to 45.0 %").Arms
	if !near(f[0].Seeds[0], 280) || !near(f[0].Seeds[1], 180) || !near(f[1].Seeds[0], 90) || !math.IsNaN(f[1].Seeds[1]) || f[1].Mean != f[1].Seeds[0] {
		t.Errorf("%+v", f)
	}
	if slices.ContainsFunc(c.Rows, func(r Row) bool { return r.Name == "entropy" || r.Name == "score" }) {
		t.Error("there is a row for what nothing measured")
	}
	arms := twoArms()
	arms[1].Trials = arms[1].Trials[:1]
	if _, err := New(arms, 0.5); err == nil || !strings.Contains(err.Error(), "plain and new differ in their seeds") {
		t.Errorf("%v", err)
	}
	arms = twoArms()
	arms[0].Trials[1].Prompts, arms[1].Trials[1].Prompts = []string{"1+1"}, []string{"1+2"}
	if _, err := New(arms, 0.5); err == nil || !strings.Contains(err.Error(), "or held-out problems") {
		t.Errorf("other problems: %v", err)
	}
}

// TestTold: the table, the JSON object and the page have the same figures, and are the
// same each time.
func TestTold(t *testing.T) {
	c, err := New(begun(twoArms()), 0.45)
	if err != nil {
		t.Fatal(err)
	}
	var table []string
	for text := range strings.Lines(c.Table()) {
		table = append(table, strings.Join(strings.Fields(text), " "))
	}
	for _, want := range []string{
		"RECIPE MEAN SPREAD AGAINST PLAIN 95 % INTERVAL", "accuracy (%) plain 50.0 0.0", "new 75.0 0.0 +25.0 +25.0 to +25.0",
		"(at the start) 50.0 35.4", "new 90 (1 of 2 seeds) – -190", "tokens sampled plain 400 0",
	} {
		if !slices.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, c.Table())
		}
	}
	text, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Seeds  []uint64
		Charts []struct {
			Metric  string
			Tokens  []float64
			Recipes []struct{ Mean, High []*float64 }
		}
		Figures []struct {
			Name    string
			Start   *struct{ Mean float64 }
			Recipes []struct {
				Mean, Spread *float64
				Seeds        []*float64
				Gain         *struct{ Mean, Low *float64 }
			}
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if d := read.Charts[0]; d.Metric != "eval/pass@1" || len(d.Tokens) != places || len(d.Recipes) != 2 || len(d.Recipes[1].High) != places || *d.Recipes[0].Mean[0] != 0 {
		t.Errorf("charts: %s", text)
	}
	if f := read.Figures; f[0].Start == nil || !near(f[0].Start.Mean, 0.5) || f[len(f)-1].Start != nil {
		t.Errorf("start: %s", text)
	}
	last := read.Figures[len(read.Figures)-2].Recipes
	if !slices.Equal(read.Seeds, []uint64{1, 2}) || last[0].Gain != nil || *last[1].Mean != 90 || last[1].Seeds[1] != nil || *last[1].Gain.Mean != -190 || last[1].Gain.Low != nil {
		t.Errorf("%s", text)
	}
	again, err := c.MarshalJSON()
	if err != nil || string(again) != string(text) {
		t.Error("the comparison is another one the second time")
	}
}

// TestDocument: an arm is a line with the figures of the table, and a line of each chart,
// whose heights are the same for all arms.
func TestDocument(t *testing.T) {
	arms := begun(twoArms())
	arms[1].Name = "new|"
	c, err := New(arms, 0.45)
	if err != nil {
		t.Fatal(err)
	}
	got := c.Document()
	for _, want := range []string{
		"| recipe | accuracy (%) | pass@4 (%) | length (tokens) | KL to the reference (nats per token) | tokens to 45.0 % |\n| --- | --- |",
		"\n| plain | 50.0 ± 0.0 | 100.0 ± 0.0 | 7.5 ± 0.7 | 0.188 ± 0.088 | 230 ± 71 |\n",
		"\n| new\\| | 75.0 ± 0.0 (**+25.0 to +25.0**) | 100.0 ± 0.0 (0.0 to 0.0) |",
		"\n| (at the start) | 50.0 ± 35.4 | 100.0 ± 0.0 |  |  |  |\n\n", "90 (1 of 2 seeds)", "over 2 seeds on 3 held-out problems",
		"```text\nAccuracy on held-out problems (%), after 0 to 400 tokens sampled\nplain       0.0 ▁", "█ 50.0\nnew|        0.0 ▁", " 50.0\n```\n",
		"Length (tokens), after 100 to 400 tokens sampled\nplain     9.0", "Reward (mean), ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the document lacks %q:\n%s", want, got)
		}
	}
	for line := range strings.Lines(got) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && (name == "plain" || name == "new|") {
			if n := strings.IndexFunc(rest, func(r rune) bool { return r >= '▁' && r <= '█' }); n < 0 || len([]rune(strings.Trim(rest, " 0123456789."))) != places {
				t.Errorf("%q has not %d places", line, places)
			}
		}
	}
	if c.Document() != got {
		t.Error("the document is another one the second time")
	}
	arms = twoArms() // nothing differs, and 16 samples
	for _, a := range arms {
		for _, trial := range a.Trials {
			trial.Curves = map[string]Curve{"reward/mean": {[]float64{100, 400}, []float64{1, 1}}}
			for i := range trial.Problems {
				trial.Problems[i] = record.Outcome{Scored: 16, Right: 4, Score: 4}
			}
		}
	}
	if c, err = New(arms, 0.45); err != nil {
		t.Fatal(err)
	}
	if got = c.Document(); !strings.Contains(got, "| accuracy (%) | pass@8 (%) | pass@16 (%) |") || !strings.Contains(got, "plain     1.000 "+strings.Repeat("▁", places)+" 1.000\n") {
		t.Errorf("%s", got)
	}
}

// TestExports: the CSV has each figure as it was computed, with its seeds; the LaTeX is the document's
// table, with every sign of a name as TeX writes it.
func TestExports(t *testing.T) {
	arms := begun(twoArms())
	arms[1].Name = `new_&\`
	c, err := New(arms, 0.45)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(c.CSV())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if head := strings.Join(rows[0], " "); head != "figure unit recipe mean deviation gain gain_low gain_high seed_1 seed_2" {
		t.Errorf("head %s", head)
	}
	wanted := 0
	for _, r := range c.Rows {
		wanted += len(r.Arms)
		if r.Start != nil {
			wanted++
		}
	}
	if len(rows) != 1+wanted {
		t.Errorf("%d lines, want %d", len(rows), 1+wanted)
	}
	if second := strings.Join(rows[2], " "); second != `accuracy share new_&\ 0.75 0 0.25 0.25 0.25 0.75 0.75` {
		t.Errorf("second line %s", second)
	}
	if start := rows[3]; start[2] != atStart || start[3] != "0.5" || start[5] != "" {
		t.Errorf("start %q", start)
	}
	if late := rows[len(rows)-3]; !strings.HasPrefix(late[0], "tokens to") || late[3] != "90" || late[9] != "" {
		t.Errorf("a seed that never reached the threshold: %q", late)
	}
	for _, want := range []string{
		"\\begin{tabular}{lccccc}\n\\toprule\nrecipe & accuracy (\\%) & pass@4 (\\%) & ",
		"\nplain & 50.0 $\\pm$ 0.0 & 100.0 $\\pm$ 0.0 & ",
		"\nnew\\_\\&\\textbackslash{} & 75.0 $\\pm$ 0.0 & ",
		"\n & {\\footnotesize \\textbf{+25.0 to +25.0}} & {\\footnotesize 0.0 to 0.0}",
		"\n(at the start) & 50.0 $\\pm$ 35.4 & 100.0 $\\pm$ 0.0 &  &  &  \\\\\n\\bottomrule\n\\end{tabular}\n",
	} {
		if got := c.LaTeX(); !strings.Contains(got, want) {
			t.Errorf("the LaTeX lacks %q:\n%s", want, got)
		}
	}
}

// TestBands: a place has the mean of the points nearest to it, or lies on a line.
func TestBands(t *testing.T) {
	grid := []float64{0, 10, 20, 30}
	dense := Curve{[]float64{0, 4, 6, 14, 16, 24, 30}, []float64{1, 3, 4, 6, 8, 10, 20}}
	sparse := Curve{[]float64{0, 30}, []float64{0, 3}}
	got := bandsOf([]Curve{dense, sparse}, grid)
	for i, want := range []float64{(2 + 0) / 2.0, (5 + 1) / 2.0, (9 + 2) / 2.0, (20 + 3) / 2.0} {
		if !near(got[i].Mean, want) || !(got[i].Low < want) {
			t.Errorf("place %v: %+v, want %v", grid[i], got[i], want)
		}
	}
	longer := Curve{[]float64{0, 10, 20, 30, 40}, []float64{1, 1, 1, 1, 99}}
	if got := bandsOf([]Curve{longer}, grid); got[3].Mean != 1 {
		t.Errorf("what lies beyond the grid counts: %+v", got)
	}
	late := Curve{[]float64{15, 30}, []float64{1, 1}}
	if got := bandsOf([]Curve{late}, grid); !math.IsNaN(got[0].Mean) || got[2].Mean != 1 || !math.IsNaN(got[2].Low) {
		t.Errorf("%+v", got)
	}
}

// TestRead: a run folder gives tokens, curves and outcomes; another folder an error.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	metrics := `{"step":0,"stage":"rl","eval/pass@1":0.125,"eval/problems":2}` + "\n"
	metrics += `{"step":0,"stage":"rows","rollout/tokens":5,"policy/entropy":9,"made/rows/pairs":2}` + "\n" // drawn for rows: nothing is learned
	for step := 1; step <= 3; step++ {
		metrics += fmt.Sprintf(`{"step":%d,"stage":"rl","rollout/tokens":%d,"reward/mean":null,"policy/entropy":%d}`, step, 10*step, step) + "\n"
	}
	metrics = strings.Replace(metrics, `"rollout/tokens":20`, `"rollout/tokens":9,"rollout/refused_tokens":7,"rollout/extra_tokens":4`, 1)
	write("metrics.jsonl", metrics+`{"step":3,"stage":"rl","eval/pass@1":0.5,"eval/problems":2}`+"\n")
	write("heldout.jsonl", `{"step":0,"problems":[]}`+"\n"+`{"step":3,"problems":[{"scored":4,"right":2,"score":2},{"scored":0,"right":0,"score":0}]}`+"\n")
	got, err := Read(dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Tokens, []float64{15, 35, 65}) || got.Seed != 7 || len(got.Problems) != 2 || got.Before == nil || len(got.Before) != 0 {
		t.Errorf("%+v", got)
	}
	if c := got.Curves[accuracy]; !slices.Equal(c.X, []float64{0, 65}) || !slices.Equal(c.Y, []float64{0.125, 0.5}) {
		t.Errorf("accuracy %+v", c)
	}
	if len(got.Curves["reward/mean"].X) != 0 || got.closing("policy/entropy") != 3 || !math.IsNaN(scores(got.Problems)[1]) {
		t.Errorf("%+v", got.Curves)
	}
	write("heldout.jsonl", "{\n")
	if _, err := Read(dir, 7); err == nil || !strings.Contains(err.Error(), "heldout.jsonl: line 1: ") {
		t.Errorf("%v", err)
	}
	write("metrics.jsonl", `{"step":1,"stage":"warm-up","sft/loss":2}`+"\n")
	if _, err := Read(dir, 7); err == nil || !strings.Contains(err.Error(), "no step that learns") {
		t.Errorf("%v", err)
	}
	write("heldout.jsonl", `{"step":2,"problems":[{"scored":4,"right":2,"score":2}]}`+"\n")
	write("metrics.jsonl", `{"step":1,"stage":"warm-up","sft/loss":2,"optim/lr":0.1}`+"\n"+`{"step":2,"stage":"warm-up","sft/loss":1,"optim/lr":0.1}`+"\n"+`{"step":2,"stage":"warm-up","eval/pass@1":0.5}`+"\n")
	taught, err := Read(dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	if c := taught.Curves["sft/loss"]; !taught.Taught || !slices.Equal(taught.Tokens, []float64{1, 2}) || !slices.Equal(c.X, []float64{1, 2}) || !slices.Equal(c.Y, []float64{2, 1}) {
		t.Errorf("%+v", taught)
	}
	if c := taught.Curves[accuracy]; !slices.Equal(c.X, []float64{2}) {
		t.Errorf("accuracy %+v", c)
	}
	one := func(trial *Trial) []*Trial { return []*Trial{trial} }
	if c, err := New([]Arm{{"a", one(taught)}, {"b", one(taught)}}, 0.5); err != nil || c.Along != "steps" || c.Rows[len(c.Rows)-1].Name != "steps" {
		t.Errorf("%+v, %v", c, err)
	}
	rewarded := *taught
	rewarded.Taught = false
	if _, err := New([]Arm{{"a", one(taught)}, {"b", one(&rewarded)}}, 0.5); err == nil || !strings.Contains(err.Error(), "one learns from rewards") {
		t.Errorf("%v", err)
	}
	if _, err := Read(filepath.Join(dir, "none"), 7); err == nil {
		t.Error("a folder that is not there is read")
	}
}
