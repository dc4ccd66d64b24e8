package run

import (
	"io"
	"testing"

	"github.com/rlzero/rlzero/rl/algo"
	"github.com/rlzero/rlzero/rl/formula"
	"github.com/rlzero/rlzero/rl/recipe"
)

// BenchmarkFormulas takes steps of the demo's recipe without its warm-up, and evaluates its method
// on as many tokens by itself: advantages, loss, derivatives and metrics. It reports both
// and the share of the formulas in a step.
func BenchmarkFormulas(b *testing.B) {
	sets := []string{"stage.warm-up.skip=true", "stage.rl.steps=3", "stage.rl.eval_every=0", "stage.rl.eval_problems=1", "task.eval_problems=8", "task.eval_samples=1", "stage.rl.checkpoint_every=0"}
	dev, dir := first(b), b.TempDir()
	r, err := recipe.Load("countdown-blind", sets)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := Train(b.Context(), Options{Opened: opened(b, r), Dir: dir, Device: dev, Show: io.Discard}); err != nil {
		b.Fatal(err)
	}
	stage := r.Stages[len(r.Stages)-1]
	for _, s := range r.Stages {
		if s.Kind == recipe.KindRL {
			stage = s
		}
	}
	a, err := stage.Compiled()
	if err != nil {
		b.Fatal(err)
	}
	step, tokens := 0.0, 0.0
	for i, row := range metricRows(b, dir, "optim/tokens") {
		tokens = max(tokens, row["optim/tokens"].(float64))
		if timing := linesOf(b, dir+"/timing.jsonl")[i]; i > 0 { // the first compiles
			step = timing["time/rollout_s"].(float64) + timing["time/train_s"].(float64)
		}
	}
	rows := stage.PromptsPerStep * stage.GroupSize
	table := func() *formula.Table { return benchTable(b, a, rows, stage.GroupSize, int(tokens)/rows) }
	for b.Loop() {
		b.StopTimer()
		t := table()
		b.StartTimer()
		evaluate(b, a, t)
	}
	formulas := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(1e3*step, "ms/step")
	b.ReportMetric(1e3*formulas, "ms-formulas/step")
	b.ReportMetric(100*formulas/step, "%-of-step")
}

// benchTable is a step of completions of a length with every fact that a method reads.
func benchTable(b *testing.B, a *algo.Algorithm, rows, group, length int) *formula.Table {
	b.Helper()
	groups, tokens := make([]int, rows), make([][]int, rows)
	for i := range groups {
		groups[i], tokens[i] = i/group, []int{length}
	}
	frame, err := formula.NewFrame(groups, tokens, nil)
	if err != nil {
		b.Fatal(err)
	}
	t := formula.NewTable(frame)
	reads := map[string]bool{"reward": true, "logp": true, "old": true, "start": true, "entropy": true}
	for _, name := range a.Needs() {
		reads[name] = true
	}
	for _, f := range algo.RunFacts() {
		if !reads[f.Name] {
			continue
		}
		v := make([]float64, t.Size(f.Level))
		for i := range v {
			v[i] = float64(i%7) / 7
			if f.Level == formula.Token {
				v[i]--
			}
		}
		if err := t.Add(f.Name, formula.Column{Level: f.Level, V: v}); err != nil {
			b.Fatal(err)
		}
	}
	return t
}

func evaluate(b *testing.B, a *algo.Algorithm, t *formula.Table) {
	b.Helper()
	step, err := a.Step(t)
	if err != nil {
		b.Fatal(err)
	}
	u, err := step.Update(nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, _, err := u.Loss(); err != nil {
		b.Fatal(err)
	}
	if _, err := u.Metrics(); err != nil {
		b.Fatal(err)
	}
}
