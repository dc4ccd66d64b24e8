//go:build linux

package blackbox

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
)

// BenchmarkPageBeside is how much slower a run trains while its page is shown: the time of
// its RL steps with the page open in a browser on the same machine, divided by that with an
// empty page there. Pairs of runs in turns; the figure is the median of their ratios. It needs
// a machine with nothing else to do: go test -run '^$' -bench PageBeside -benchtime 9x
// ./internal/blackbox. What noise changes less is the browser's processor time:
// BenchmarkBeside of rl/page.
func BenchmarkPageBeside(b *testing.B) {
	program := buildProgram(b)
	window := browser.Start(b)
	window.View(1280, 900, false)
	window.Unwatched()
	var ratios []float64
	for b.Loop() {
		var seconds [2]float64
		for i := range 2 {
			shown := (len(ratios) + i) % 2 // each comes first in every second pair
			seconds[shown] = trained(b, program, window, shown == 1)
		}
		ratios = append(ratios, seconds[1]/seconds[0])
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(ratios[0], "least")
	b.ReportMetric(ratios[len(ratios)-1], "most")
}

// trained is the time, s, of the RL steps of a run but for the first two, with its page in
// the browser or with an empty one.
func trained(b *testing.B, program program, window *browser.Browser, shown bool) float64 {
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
	if code := p.wait(); code != 0 {
		b.Fatalf("exit code %d:\n%s", code, p.shown())
	}
	sum := 0.0
	for _, t := range stepsOf(b, dir) {
		sum += t.Rollout + t.Train
	}
	return sum
}

var address = regexp.MustCompile(`http://[0-9.:]+/\S*`)
