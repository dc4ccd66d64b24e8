package page

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
)

// million writes the folder of a run with a million completions, some 240 bytes each.
func million(b *testing.B) *run {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "run")
	write(b, dir, "recipe.toml", "")
	f, err := os.Create(filepath.Join(dir, "completions.jsonl"))
	must(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	for step := range 4000 {
		for i := range 250 {
			x, y := step%97, i%89
			fmt.Fprintf(w, `{"step":%d,"stage":"rl","prompt_id":"countdown/%d","group":%d,"sample":%d,"prompt":"%d %d 7 > %d:","completion":"%d+%d=%d-7=%d","reward":%d,"verdict":"%s","reason":"the result is the target","advantage":0.125,"tokens":12,"stop":"eos"}`+"\n",
				step+1, step*250+i, i/8, i%8, x, y, x+y-7, x, y, x+y, x+y-7, i%2, []string{"wrong", "right"}[i%2])
		}
	}
	must(b, w.Flush())
	must(b, f.Close())
	return &run{id: "run", dir: dir}
}

// BenchmarkIndex measures the index of a million completions.
func BenchmarkIndex(b *testing.B) {
	o := million(b)
	info, err := os.Stat(filepath.Join(o.dir, "completions.jsonl"))
	must(b, err)
	b.SetBytes(info.Size())
	for b.Loop() {
		_, err := (&run{dir: o.dir}).stepsFrom("completions.jsonl", 0)
		must(b, err)
	}
}

// BenchmarkSearch measures answers from a million indexed completions.
func BenchmarkSearch(b *testing.B) {
	o := million(b)
	_, err := o.stepsFrom("completions.jsonl", 0)
	must(b, err)
	for _, c := range []struct {
		name string
		q    search
	}{
		{"verdict", search{Verdict: "wrong"}},
		{"text-nowhere", search{Text: "zebra"}},
		{"text-often", search{Text: "=42"}},
		{"text-everywhere", search{Text: "-7="}},
		{"regexp-literal", search{Text: `=4\d-7=`, Regexp: true}},
		{"regexp-nowhere", search{Text: `zeb+ra`, Regexp: true}},
		{"regexp-classes", search{Text: `[2468]{3}`, Regexp: true}},
	} {
		c.q.Limit = 200
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				_, err := o.search(b.Context(), c.q)
				must(b, err)
			}
		})
	}
}

// BenchmarkCurves measures how long a browser takes from the address to the curves of
// 10,000 steps of 40 metrics, in milliseconds of its clock.
func BenchmarkCurves(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "run")
	write(b, dir, "recipe.toml", fmt.Sprintf(recipeText, "long", "long", 1, "task"))
	f, err := os.Create(filepath.Join(dir, "metrics.jsonl"))
	must(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	for step := range 10_000 {
		fmt.Fprintf(w, `{"step":%d,"stage":"rl","reward/mean":%g`, step+1, float64(step%100)/100)
		for i := range 39 {
			fmt.Fprintf(w, `,"my/metric_%d":%g`, i, float64((step*(i+1))%1000)/1000)
		}
		fmt.Fprintln(w, "}")
	}
	must(b, w.Flush())
	must(b, f.Close())
	page := browser.Start(b)
	page.View(1280, 900, false)
	url := served(b, filepath.Dir(dir)) + "#/run/run/curves"
	total := 0.0
	for b.Loop() {
		page.Open("about:blank", "true")
		page.Open(url, "window.shownHash === '#/run/run/curves' && document.querySelector('canvas')")
		var shown float64
		page.Eval("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(performance.now()))))", &shown)
		total += shown
	}
	b.ReportMetric(total/float64(b.N), "page-ms/op")
}

// BenchmarkStep measures how long it takes until a step that a run has written is shown
// on an open page, ms.
func BenchmarkStep(b *testing.B) {
	root := b.TempDir()
	step := 10
	made(b, filepath.Join(root, "live"), "live", "task", 1, step, 0.7)
	page := browser.Start(b)
	page.View(1280, 900, false)
	page.Open(served(b, root)+"#/run/live/now", fmt.Sprintf("document.querySelector('.facts')?.innerText.includes('rl %d of')", step))
	for b.Loop() {
		step++
		made(b, filepath.Join(root, "live"), "live", "task", 1, step, 0.7)
		page.Wait(fmt.Sprintf("document.querySelector('.facts').innerText.includes('rl %d of')", step))
	}
}

// BenchmarkMemory is the most memory that the process of rlzero page has held, MiB, after
// searches in a million completions. Linux alone tells it.
func BenchmarkMemory(b *testing.B) {
	o := million(b)
	program := filepath.Join(b.TempDir(), "rlzero")
	if out, err := exec.Command("go", "build", "-o", program, "../..").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for b.Loop() {
		cmd := exec.Command(program, "page", "--listen", "127.0.0.1:0", o.dir)
		said, err := cmd.StderrPipe()
		must(b, err)
		must(b, cmd.Start())
		b.Cleanup(func() { cmd.Process.Kill() })
		line, err := bufio.NewReader(said).ReadString('\n')
		must(b, err)
		at := strings.TrimSpace(strings.TrimPrefix(line, "page"))
		for _, query := range []string{"verdict=wrong", "q=zebra", "q=-7%3D", "q=%5B2468%5D%7B3%7D&regexp=1"} {
			answer, err := http.Get(at + "run/run/search.json?" + query)
			must(b, err)
			n, err := io.Copy(io.Discard, answer.Body)
			must(b, err)
			must(b, answer.Body.Close())
			if answer.StatusCode != http.StatusOK || n == 0 {
				b.Fatalf("%s: status %d, %d bytes", query, answer.StatusCode, n)
			}
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		must(b, err)
		var kib float64
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		_, err = fmt.Sscan(rest, &kib)
		must(b, err)
		b.ReportMetric(kib/1024, "MiB")
		must(b, cmd.Process.Kill())
		cmd.Wait() // killed
	}
}
