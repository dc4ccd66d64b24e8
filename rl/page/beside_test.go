package page

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlzero/rlzero/internal/browser"
)

// BenchmarkBeside is the processor time that all processes of a browser take in a second
// beside a run of four steps a second with 256 completions each, ms, and that of an empty
// page: go test -run '^$' -bench Beside -benchtime 30x ./rl/page. An iteration is a second.
// Steps of a run that trains would come later on a busy machine: here they come in time.
func BenchmarkBeside(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "live")
	write(b, dir, "recipe.toml", fmt.Sprintf(recipeText, "live", "live", 1, "task"))
	step := 0
	add := func() {
		step++
		x := float64(step*7%10) / 100
		grow(b, dir, "metrics.jsonl", fmt.Sprintf(`{"step":%d,"stage":"rl","reward/mean":%g,"groups/uniform_share":%g,"groups/all_right_share":%g,"groups/all_wrong_share":%g,"rollout/tokens":3190,"rollout/length_mean":%g,"rollout/truncated_share":%g,"policy/entropy":%g,"policy/grad_norm":%g,"policy/clip_fraction":%g,"policy/compared":1640,"policy/equal":1640}`+"\n",
			step, 0.5+x, 0.3+x, 0.2-x, 0.1, 12+x, 0.5+x, 2+x, 1+x, x/10))
		grow(b, dir, "timing.jsonl", fmt.Sprintf(`{"step":%d,"stage":"rl","time/rollout_s":0.1,"time/train_s":0.1}`+"\n", step))
		var texts strings.Builder
		for i := range 256 {
			texts.WriteString(line(step, i/8, i%8, "21 16 10 1 > 28:", "3133303030303030253033381635", "wrong"))
		}
		grow(b, dir, "completions.jsonl", texts.String())
	}
	for _, name := range []string{"metrics.jsonl", "timing.jsonl", "completions.jsonl"} {
		write(b, dir, name, "")
	}
	for range 10 {
		add()
	}
	page := browser.Start(b)
	page.View(1280, 900, false)
	second := func(steps int) {
		began := time.Now()
		for i := range steps {
			add()
			time.Sleep(time.Until(began.Add(time.Second * time.Duration(i+1) / time.Duration(steps))))
		}
		time.Sleep(time.Until(began.Add(time.Second)))
	}
	const settle = 8 // s, in which a browser ends what it begins with
	took := func(seconds func()) float64 {
		for range settle {
			second(4)
		}
		began, before := time.Now(), page.Processor()
		seconds()
		return float64((page.Processor() - before).Milliseconds()) / time.Since(began).Seconds()
	}
	empty := took(func() {
		for range settle {
			second(0)
		}
	})
	page.Open(served(b, filepath.Dir(dir))+"#/run/live/now", "document.querySelector('#samples h2')")
	page.Unwatched()
	open := took(func() {
		for b.Loop() {
			second(4)
		}
	})
	b.ReportMetric(empty, "empty-browser-ms/s")
	b.ReportMetric(open, "browser-ms/s")
}
