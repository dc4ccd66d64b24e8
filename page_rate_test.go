//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/rlzero/rlzero/internal/browser"
)

// BenchmarkPageBeside is how much slower a run trains while its page is shown: the time of
// its RL steps with the page open in a browser on the same machine, divided by that with an
// empty page there. Pairs of runs in turns; the figure is the median of their ratios. Beside
// it stands the processor time that all processes of the browser take in a second of a run,
// which noise changes less. It needs a machine with nothing else to do:
// go test -run '^$' -bench PageBeside -benchtime 9x .
func BenchmarkPageBeside(b *testing.B) {
	program := buildProgram(b)
	window := browser.Start(b)
	window.View(1280, 900, false)
	window.Unwatched()
	var ratios, empty, open []float64
	for b.Loop() {
		var seconds, took [2]float64
		for i := range 2 {
			shown := (len(ratios) + i) % 2 // each comes first in every second pair
			seconds[shown], took[shown] = trained(b, program, window, shown == 1)
		}
		ratios, empty, open = append(ratios, seconds[1]/seconds[0]), append(empty, took[0]), append(open, took[1])
	}
	for _, list := range [][]float64{ratios, empty, open} {
		slices.Sort(list)
	}
	middle := len(ratios) / 2
	b.ReportMetric(ratios[middle], "ratio")
	b.ReportMetric(ratios[0], "least")
	b.ReportMetric(ratios[len(ratios)-1], "most")
	b.ReportMetric(open[middle], "browser-ms/s")
	b.ReportMetric(empty[middle], "empty-browser-ms/s")
}

// trained is the time, s, of the RL steps of a run but for the first two, with its page in
// the browser or with an empty one, and what the browser takes meanwhile: ms of processor time
// in a second.
func trained(b *testing.B, program program, window *browser.Browser, shown bool) (seconds, took float64) {
	dir := filepath.Join(b.TempDir(), "run")
	args := []string{"train", "--run", dir, "countdown-tiny", "--set", "stage.warm-up.skip=true", "--set", "stage.rl.reward=random",
		"--set", "stage.rl.steps=60", "--set", "task.eval_problems=64"}
	if shown {
		args = append(args, "--page", "--listen", "127.0.0.1:0")
	}
	window.Open("about:blank", "true")
	p := program.run(b, args...)
	if shown {
		if !p.until(func() bool { return address.MatchString(p.shown()) }) {
			b.Fatalf("no address is printed:\n%s", p.shown())
		}
		window.Open(address.FindString(p.shown()), "window.shownHash != null")
	}
	began, before := time.Now(), window.Processor()
	if code := p.wait(); code != 0 {
		b.Fatalf("exit code %d:\n%s", code, p.shown())
	}
	took = float64((window.Processor() - before).Milliseconds()) / time.Since(began).Seconds()
	return stepSeconds(b, dir), took
}

var address = regexp.MustCompile(`http://[0-9.:]+/\S*`)

// stepSeconds sums what the steps of a run took, evaluations apart.
func stepSeconds(b *testing.B, dir string) float64 {
	data, err := os.ReadFile(filepath.Join(dir, "timing.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	sum := 0.0
	for line := range bytes.Lines(data) {
		var row struct {
			Step    int
			Rollout float64 `json:"time/rollout_s"`
			Train   float64 `json:"time/train_s"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			b.Fatal(err)
		}
		if row.Step > 2 {
			sum += row.Rollout + row.Train
		}
	}
	return sum
}
