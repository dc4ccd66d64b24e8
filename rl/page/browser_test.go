package page

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
	"github.com/rlzero/rlzero/internal/web"
	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/recipe"
)

// served is the address of a page that shows the runs of a folder.
func served(t testing.TB, root string) string {
	t.Helper()
	runs, err := Open(root)
	must(t, err)
	url, stop := servedAt(t, web.Default, runs.Handler())
	t.Cleanup(stop)
	return url
}

// servedAt serves a page at an address until it is stopped.
func servedAt(t testing.TB, address string, page http.Handler) (url string, stop func()) {
	t.Helper()
	server, err := web.Listen(address)
	must(t, err)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx, page) }()
	return server.URL(), func() {
		end()
		must(t, <-done)
	}
}

// quiet fails where the browser has complained: an error on the console, an exception, a
// request that the policy refused.
func quiet(t *testing.T, b *browser.Browser, where string) {
	t.Helper()
	for _, c := range b.Complaints() {
		t.Errorf("%s: %s", where, c)
	}
}

// visit shows a screen, until it stands.
func visit(b *browser.Browser, hash string) {
	b.Eval(fmt.Sprintf("location.hash = %q", hash), nil)
	b.Wait("window.shownHash === location.hash")
	b.Eval("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
}

// overlaps are texts that cover each other, and a page that is wider than its window.
// Parts that scroll are cut to what is seen of them.
const overlaps = `(() => {
  const found = [], boxes = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push("the page is " + document.documentElement.scrollWidth + " wide");
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || e.closest(".unseen, .skip, noscript, option, title, script, style, dialog") || !e.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(n);
    for (let r of range.getClientRects()) {
      let box = { l: r.left, r: r.right, t: r.top, b: r.bottom, e, text: n.data.trim().slice(0, 40) };
      for (let p = e; p; p = p.parentElement) {
        if (getComputedStyle(p).overflowX === "visible" || p === document.documentElement || p === document.body) continue;
        const c = p.getBoundingClientRect();
        box = { ...box, l: Math.max(box.l, c.left), r: Math.min(box.r, c.right), t: Math.max(box.t, c.top), b: Math.min(box.b, c.bottom) };
      }
      if (box.r - box.l > 1 && box.b - box.t > 1 && !e.closest("#top")) boxes.push(box);
    }
  }
  boxes.sort((a, b) => a.t - b.t);
  boxes.forEach((a, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].t < a.b; j++) {
      const b = boxes[j], w = Math.min(a.r, b.r) - Math.max(a.l, b.l), h = Math.min(a.b, b.b) - Math.max(a.t, b.t);
      // Line boxes are taller than letters: a third of a line may be shared.
      if (w > 2 && h > Math.min(a.b - a.t, b.b - b.t) / 3 && a.e !== b.e) found.push(JSON.stringify(a.text) + " and " + JSON.stringify(b.text));
    }
  });
  return found.slice(0, 5);
})()`

var screens = []string{"now", "curves", "completions", "heldout", "compare", "trust", "machine", "report"}

// TestScreens: every screen of every run, at three widths: nothing that the browser
// complains about, and no text over another. A scheme changes colours alone, so each run is
// seen at each width in one of the two, and in both with RLZERO_LONG=1.
func TestScreens(t *testing.T) {
	b := browser.Start(t)
	url := served(t, shown(t))
	for i, width := range []int{390, 1024, 1680} {
		for _, dark := range []bool{false, true} {
			b.View(width, 900, dark)
			b.Open("about:blank", "true")
			b.Open(url, "window.shownHash != null")
			visits := []string{"#/", "#/?runs=sums-1", "#/overlay"}
			for n, run := range []string{"empty", "live", "sums-1", "random"} {
				if os.Getenv("RLZERO_LONG") == "" && dark != ((i+n)%2 == 1) {
					continue
				}
				for _, s := range screens {
					visits = append(visits, "#/run/"+run+"/"+s)
				}
				if run == "sums-1" {
					visits = append(visits, "#/run/sums-1/completions?step=31&group=1&tokens=1", "#/run/sums-1/completions?step=30&group=2&diff=1", "#/run/sums-1/completions?step=30&group=3&path=1", "#/run/sums-1/completions?q=7&verdict=wrong")
				}
			}
			for _, hash := range visits {
				where := fmt.Sprintf("%s at %d px, dark %v", hash, width, dark)
				visit(b, hash)
				quiet(t, b, where)
				var found []string
				b.Eval(overlaps, &found)
				for _, text := range found {
					t.Errorf("%s: %s", where, text)
				}
			}
		}
	}
	var title string
	if b.Eval("document.title", &title); title == "broken" {
		t.Error("a completion has run")
	}
}

// views are windows and colour schemes, so that two that are three apart differ in the scheme
// alone.
var views = []struct {
	width int
	dark  bool
}{{390, false}, {1280, true}, {1680, false}, {390, true}, {1280, false}, {1680, true}}

// TestAccessible: axe-core finds no violation of WCAG 2.2 AA. Each screen is seen at one width
// in both schemes, and at all widths, of all runs, with RLZERO_LONG=1.
func TestAccessible(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join("testdata", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		if os.Getenv("CI") != "" && !testing.Short() { // make test installs nothing from npm
			t.Fatalf("%v: run npm ci in rl/page/testdata", err)
		}
		t.Skip("axe-core is not installed: run npm ci in rl/page/testdata")
	}
	b := browser.Start(t)
	url := served(t, shown(t))
	long := os.Getenv("RLZERO_LONG") != ""
	hashes := []string{"#/", "#/overlay", "#/run/sums-1/completions?step=31&group=1&tokens=1", "#/run/sums-1/completions?step=30&group=2&diff=1"}
	for _, run := range []string{"sums-1", "live", "random", "empty"} {
		for _, s := range screens {
			if long || run == "sums-1" {
				hashes = append(hashes, "#/run/"+run+"/"+s)
			}
		}
	}
	for v, view := range views {
		b.View(view.width, 900, view.dark)
		b.Open("about:blank", "true")
		b.Open(url, "window.shownHash != null")
		b.Eval(string(axe)+";0", nil)
		for n, hash := range hashes {
			if !long && (n+v)%3 != 0 {
				continue
			}
			visit(b, hash)
			var found []struct {
				ID, Help string
				Nodes    []struct{ HTML string }
			}
			b.Eval(`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}).then((r) => r.violations.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => ({html: n.html.slice(0, 200)}))})))`, &found)
			for _, v := range found {
				t.Errorf("%s at %d px, dark %v: %s (%s) %v", hash, view.width, view.dark, v.ID, v.Help, v.Nodes)
			}
		}
	}
}

// text is what an element says.
func text(b *browser.Browser, selector string) string {
	var out string
	quoted, _ := json.Marshal(selector) // a string
	b.Eval("(document.querySelector("+string(quoted)+") || {innerText: ''}).innerText", &out)
	return out
}

// at waits until the address is one that begins so, and its screen stands.
func at(b *browser.Browser, hash string) {
	b.Wait(fmt.Sprintf("location.hash.startsWith(%q) && window.shownHash === location.hash", hash))
}

// TestKeys: a tour of all screens by keys alone.
func TestKeys(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, shown(t)), "window.shownHash != null")
	b.Key("j", "Enter")
	at(b, "#/run/sums-1/now")
	for i, s := range screens {
		b.Key(fmt.Sprint(i + 1))
		at(b, "#/run/sums-1/"+s)
	}
	b.Key("3")
	at(b, "#/run/sums-1/completions")
	b.Key("h")
	at(b, "#/run/sums-1/completions?step=59")
	b.Key("j", "Enter")
	at(b, "#/run/sums-1/completions?step=59&group=0")
	b.Key("j")
	at(b, "#/run/sums-1/completions?step=59&group=1")
	b.Key("d")
	b.Wait("document.querySelector('main ins')")
	b.Key("l", "t")
	b.Wait("location.hash.includes('tokens=1') && document.querySelector('main').innerText.includes('were not recorded')")
	b.Key("?")
	b.Wait("document.querySelector('dialog[open]')")
	b.Key("Escape")
	b.Wait("!document.querySelector('dialog')")
	b.Key("r")
	b.Wait("window.shownHash === '#/'")
	b.Key("/")
	b.Wait("document.activeElement.id === 'search'")
	quiet(t, b, "the tour")
}

// TestQuestions: four questions are answered within three clicks.
func TestQuestions(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	url := served(t, shown(t))
	for _, c := range []struct {
		question string
		clicks   []string
		answer   string // a selector
		says     []string
	}{
		{"why was this answer paid?", []string{`nav a[href$="/completions"]`, "main a.item"}, "article", []string{"reward 1", "right", "because"}},
		{"which problems were lost?", []string{`nav a[href$="/heldout"]`, ".head button:nth-child(2)"}, "main", []string{"right before, wrong after"}},
		{"is A better than B?", []string{`nav a[href$="/compare"]`}, "#verdict", []string{"A is better: on the same 64 problems and 2 seeds", "95 % interval"}},
		{"is any reward hacked?", []string{`nav a[href$="/trust"]`}, "#hacked", []string{"No alert says so."}},
	} {
		b.Open("about:blank", "true")
		b.Open(url+"#/run/sums-1/now", "window.shownHash != null")
		for _, selector := range c.clicks {
			quoted, _ := json.Marshal(selector)
			b.Wait("document.querySelector(" + string(quoted) + ")")
			b.Click(selector)
			b.Wait("window.shownHash === location.hash")
		}
		for _, says := range c.says {
			if got := text(b, c.answer); !strings.Contains(got, says) {
				t.Errorf("%s The page says %q, want %q", c.question, got, says)
			}
		}
	}
	quiet(t, b, "the questions")
}

// TestLive: steps that are written while the page is open are shown, and a run that was
// set back by a resume too; of one that is deleted the page keeps what it has read.
func TestLive(t *testing.T) {
	root := shown(t)
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, root)+"#/run/live/now", "window.shownHash != null")
	b.Wait("document.querySelector('.facts').innerText.includes('rl 25 of 60')")
	b.Wait("document.querySelector('#samples h2')") // fetched: the next line makes their file anew
	made(t, filepath.Join(root, "live"), "live", "task", 1, 26, 0.7)
	b.Wait("document.querySelector('.facts').innerText.includes('rl 26 of 60')")
	b.Wait("document.querySelector('#samples h2').innerText === 'Written in step 26'")
	made(t, filepath.Join(root, "live"), "live", "task", 1, 20, 0.7)
	b.Wait("document.querySelector('.facts').innerText.includes('rl 20 of 60')")
	made(t, filepath.Join(root, "new"), "new", "task", 1, 5, 0.7)
	b.Eval("location.hash = '#/'", nil)
	b.Wait("document.querySelector('main').innerText.includes('new')")
	// A run that is deleted, or moved, while it is open.
	b.Eval("location.hash = '#/run/live/now'", nil)
	b.Wait("document.querySelector('.facts')?.innerText.includes('rl 20 of 60')")
	b.Wait("document.querySelector('#samples h2')?.innerText === 'Written in step 20'")
	must(t, os.Rename(filepath.Join(root, "live"), filepath.Join(t.TempDir(), "live")))
	b.Wait("document.querySelector('main [role=alert]')?.innerText.includes('it was deleted or moved')")
	b.Wait("document.querySelector('.facts').innerText.includes('rl 20 of 60')")
	quiet(t, b, "the live page")
}

// TestReceipt: a file that was changed after the run is found on the page.
func TestReceipt(t *testing.T) {
	root := shown(t)
	b := browser.Start(t)
	url := served(t, root)
	b.Open(url+"#/run/sums-1/trust", "document.querySelectorAll('#receipt .verdict').length === 9")
	if got := text(b, "#receipt"); strings.Count(got, "✓ equal") != 9 || !strings.Contains(got, "heldout.jsonl") || !strings.Contains(got, "Not compared here: 1 checkpoint, the data.") {
		t.Errorf("the receipt says %q", got)
	}
	quiet(t, b, "the receipt")
	must(t, os.Remove(filepath.Join(root, "sums-1", "heldout.jsonl")))
	file := filepath.Join(root, "sums-1", "evaluations.jsonl")
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(data, '\n'), 0o644))
	b.Open("about:blank", "true")
	b.Open(url+"#/run/sums-1/trust", "document.querySelectorAll('#receipt .verdict').length === 9")
	if got := text(b, "#receipt"); strings.Count(got, "differs") != 1 || strings.Count(got, "no such file") != 1 {
		t.Errorf("the receipt says %q", got)
	}
	quiet(t, b, "the receipt of a run that lacks a file")
}

// TestReloads: two reloads at once read each line once.
func TestReloads(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, shown(t)), "window.shownHash != null")
	var got struct{ Rows, Timing, Evaluations [2]int }
	b.Eval(`(async () => {
  const want = R.runs.get("sums-1"), run = new R.Run({ ...want, files: want.sizes }), fetched = R.fetch;
  R.runs.set(run.id, run);
  R.fetch = async (...asked) => {
    const answer = await fetched(...asked);
    await new Promise((done) => setTimeout(done, 20)); // so that the second is asked before the first is read
    return answer;
  };
  await Promise.all([R.reload(), R.reload()]);
  R.fetch = fetched;
  const both = (name) => [run[name].length, want[name].length];
  return { Rows: both("rows"), Timing: both("timing"), Evaluations: both("evaluations") };
})()`, &got)
	for _, n := range [][2]int{got.Rows, got.Timing, got.Evaluations} {
		if n[0] != n[1] || n[1] == 0 {
			t.Errorf("the lines of a run that is read again: %+v", got)
		}
	}
}

// opened writes a page that is one file and opens it from the disk.
func opened(t *testing.T, data []byte, until string) *browser.Browser {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, data, 0o644))
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open("file://"+file, until)
	return b
}

// TestOneFile: the page as one file shows its screens, from the disk: the report of a run.
func TestOneFile(t *testing.T) {
	runs, err := Open(filepath.Join(shown(t), "sums-1"))
	must(t, err)
	data, err := runs.File(Room)
	must(t, err)
	b := opened(t, data, "window.shownHash === '#/run/sums-1/now'")
	for _, s := range append(slices.Clone(screens), "completions?step=31&group=1&tokens=1", "completions?q=7") {
		visit(b, "#/run/sums-1/"+s)
		quiet(t, b, s)
		if got := text(b, "main"); strings.HasSuffix(s, "tokens=1") && (!strings.Contains(got, "liked 0.75 · its head says 1.1") || !strings.Contains(got, "liked 0.5 about") || !strings.Contains(got, "liked cannot be read: ") || !strings.Contains(got, "pairs-31 of samples 0 and 3 by policy@30 · chosen 1 + 7 = 8 · ") || !strings.Contains(got, "labels [1,0]")) {
			t.Errorf("the group says of its judges and rows %q", got)
		}
	}
	if got := text(b, "main"); !strings.Contains(got, "contain “7”") {
		t.Errorf("the search says %q", got)
	}
	visit(b, "#/run/sums-1/curves")
	var drawings struct{ SVG, Canvas int }
	b.Eval("({SVG: document.querySelectorAll('main svg.chart').length, Canvas: document.querySelectorAll('canvas').length})", &drawings)
	if drawings.SVG < 10 || drawings.Canvas != 0 {
		t.Errorf("the curves of a file are %+v", drawings)
	}
	visit(b, "#/run/sums-1/trust")
	b.Wait("document.querySelectorAll('#receipt .verdict.right').length === 8")  // all of it fits
	if got := text(b, "#receipt"); strings.Count(got, "not in this file") != 1 { // heldout.jsonl
		t.Errorf("the receipt says %q", got)
	}
	visit(b, "#/run/sums-1/report")
	for _, says := range []string{"Accuracy by stage", "The first problems, unselected", "Training groups", "policy/entropy", "to the bit", "a device", "max_completion_tokens = 12"} {
		if got := text(b, "main"); !strings.Contains(got, says) {
			t.Errorf("the report does not say %q", says)
		}
	}
	quiet(t, b, "the report")
}

// TestFileParts: a file with a part of the completions does not call the receipt wrong, and
// lines that cannot be read are told.
func TestFileParts(t *testing.T) {
	dir := filepath.Join(shown(t), "sums-1")
	for name, more := range map[string]string{"timing.jsonl": "{\n", "metrics.jsonl": "no\nnull\n"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		write(t, dir, name, string(data)+more)
	}
	runs, err := Open(dir)
	must(t, err)
	data, err := runs.File(20_000)
	must(t, err)
	b := opened(t, data, "window.shownHash === '#/run/sums-1/now'")
	visit(b, "#/run/sums-1/trust")
	b.Wait("document.querySelector('#receipt').innerText.includes('this page has only a part')")
	if got := text(b, "#receipt"); strings.Count(got, "differs") != 1 { // metrics.jsonl
		t.Errorf("the receipt says %q", got)
	}
	visit(b, "#/run/sums-1/machine")
	if got := text(b, "main"); !strings.Contains(got, "1 line of timing.jsonl") || !strings.Contains(got, "2 lines of metrics.jsonl") {
		t.Errorf("the page says %q", got)
	}
	quiet(t, b, "the file")
}

// TestTurned: a file has each comparison once, and shows it from both sides.
func TestTurned(t *testing.T) {
	runs, err := Open(shown(t))
	must(t, err)
	data, err := runs.File(Room)
	must(t, err)
	b := opened(t, data, "window.shownHash != null")
	var gain [2]struct{ Mean, Low, High, Back, A, B float64 }
	for i, from := range []string{"'sums-1', 'random'", "'random', 'sums-1'"} {
		b.Eval("((a, b) => R.runs.get(a).against(R.runs.get(b)).then((told) => { const [y, x] = told.figures[0].recipes; return {Mean: x.gain.mean, Low: x.gain.low, High: x.gain.high, A: x.mean, B: y.mean}; }))("+from+")", &gain[i])
	}
	if a, b := gain[0], gain[1]; !(a.Mean > 0) || a.Mean != -b.Mean || a.Low != -b.High || a.High != -b.Low || a.A != b.B || a.B != b.A {
		t.Errorf("from both sides: %+v", gain)
	}
}

// TestContest: the page of rlzero compare, with names that try to break out of it.
func TestContest(t *testing.T) {
	runs, err := Open(shown(t))
	must(t, err)
	told := runs.against(runs.byID("sums-1"), runs.byID("random"), compare.Read)
	told = []byte(strings.ReplaceAll(string(told), `"recipe":"sums-1"`, `"recipe":"</script><img src=x onerror=alert(1)>"`))
	told = []byte(strings.Replace(string(told), `{"name":"accuracy","share":true,`, `{"name":"accuracy","share":true,"start":{"recipe":"(at the start)","mean":0.25,"spread":0.01,"seeds":[0.24,0.26]},`, 1))
	data, err := Contest(told, []string{"a <note>"})
	must(t, err)
	b := opened(t, data, "window.shownHash != null")
	for _, dark := range []bool{false, true} {
		for _, width := range []int{390, 1280} {
			b.View(width, 900, dark)
			b.Eval("R.show()", nil)
			b.Eval("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
			var found []string
			b.Eval(overlaps, &found)
			for _, text := range found {
				t.Errorf("%d px: %s", width, text)
			}
		}
	}
	for _, says := range []string{"</script><img src=x onerror=alert(1)>", "a <note>", "Accuracy on held-out problems", "2 seeds of each recipe", "(at the start)"} {
		if got := text(b, "main"); !strings.Contains(got, says) {
			t.Errorf("the page does not say %q: %s", says, got)
		}
	}
	var drawn []struct{ Lines, Bands int }
	b.Eval(`[...document.querySelectorAll("main figure svg.chart")].map((s) => ({Lines: s.querySelectorAll("path.line:not([d=''])").length, Bands: s.querySelectorAll("path.band:not([d=''])").length}))`, &drawn)
	for i, c := range drawn {
		if c.Lines != 2 || c.Bands != 2 {
			t.Errorf("chart %d has the lines of %d recipes and %d bands, want 2 of each", i, c.Lines, c.Bands)
		}
	}
	if len(drawn) < 3 {
		t.Errorf("%d charts", len(drawn))
	}
	quiet(t, b, "the comparison")
}

// TestPrint: what goes to paper is SVG, of all curves.
func TestPrint(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, shown(t))+"#/run/sums-1/curves", "document.querySelector('main canvas')")
	var left struct{ Canvas, SVG, Figures int }
	b.Eval("(() => { dispatchEvent(new Event('beforeprint')); return {Canvas: document.querySelectorAll('canvas').length, SVG: document.querySelectorAll('main figure svg.chart').length, Figures: document.querySelectorAll('main figure').length}; })()", &left)
	if left.Canvas != 0 || left.SVG < 10 || left.SVG != left.Figures {
		t.Errorf("on paper: %+v", left)
	}
	var file string
	b.Eval("R.svgText(document.querySelector('main figure svg.chart'))", &file)
	dec := xml.NewDecoder(strings.NewReader(file))
	for {
		if _, err := dec.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("a drawing as a file: %v: %.300s", err, file)
		}
	}
	if !strings.HasPrefix(file, `<svg xmlns="http://www.w3.org/2000/svg"`) || !strings.Contains(file, ".chart .line") {
		t.Errorf("a drawing as a file: %.300s", file)
	}
	b.Eval("dispatchEvent(new Event('afterprint'))", nil)
	b.Wait("document.querySelector('main canvas')")
	quiet(t, b, "printing")
}

// TestPaper: the report of a run goes to eight pages at most, with their numbers; the scripts'
// drawings come back after it.
func TestPaper(t *testing.T) {
	dir := filepath.Join(shown(t), "sums-1")
	preset, err := recipe.Load("countdown-tiny", nil)
	must(t, err)
	write(t, dir, "recipe.toml", strings.Replace(preset.Resolved(), `name = "countdown-tiny"`, `name = "sums"`, 1))
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, filepath.Dir(dir))+"#/run/sums-1/report", "document.querySelectorAll('main figure').length > 20")
	b.Wait("[...document.querySelectorAll('main figure .plot')].every((p) => p.querySelector('svg'))")
	width := "document.querySelector('.part.curves figure svg').getAttribute('width')"
	var before, after string
	b.Eval(width, &before)
	paper := b.Paper()
	pages := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(paper, -1))
	if t.Logf("%d pages", pages); pages < 3 || pages > 8 {
		t.Errorf("the report has %d pages", pages)
	}
	if b.Eval(width, &after); before != after {
		t.Errorf("a chart was %s wide, and is %s after printing", before, after)
	}
	quiet(t, b, "the paper")
}

// TestWithoutScripts: a file says what a run came to, in a table and as SVG, where no scripts run.
func TestWithoutScripts(t *testing.T) {
	runs, err := Open(filepath.Join(shown(t), "sums-1"))
	must(t, err)
	data, err := runs.File(Room)
	must(t, err)
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, data, 0o644))
	b := browser.Start(t)
	b.Scripts(false)
	b.Open("file://"+file, "document.readyState === 'complete'")
	got := text(b, "main")
	for _, says := range []string{"sums-1: accuracy 30.0 → 73.0 %", "before training", "68.0 % to 78.0 %", "64 × 8", "reward/mean", "policy/entropy"} {
		if !strings.Contains(got, says) {
			t.Errorf("the page does not say %q: %s", says, got)
		}
	}
	var drawn int
	if b.Eval("document.querySelectorAll('main figure svg path.line').length", &drawn); drawn < 10 {
		t.Errorf("%d curves are drawn", drawn)
	}
	quiet(t, b, "the page without scripts")
}

// TestOverlay: recipes lie over each other, the seeds of one as a band; the address holds which runs,
// and which part of the steps, and the list of runs makes it.
func TestOverlay(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, shown(t)), "window.shownHash != null")
	for _, name := range []string{"sums", "random"} {
		b.Eval(fmt.Sprintf("document.querySelector('input[aria-label=\"choose %s\"]').click()", name), nil)
		b.Wait(fmt.Sprintf("document.querySelector('input[aria-label=\"choose %s\"]')?.checked", name))
	}
	b.Click("main a.button")
	at(b, "#/overlay?runs=")
	chart := "[...document.querySelectorAll('main figure')].find((f) => f.querySelector('h3').textContent === 'reward/mean')"
	look := func() (got struct {
		Hash, Label  string
		Lines, Bands int
	}) {
		b.Wait(chart + "?.querySelector('svg')")
		b.Eval("(() => { const s = "+chart+".querySelector('svg'); return {Hash: location.hash, Label: s.getAttribute('aria-label'), Lines: s.querySelectorAll(\"path.line:not([d=''])\").length, Bands: s.querySelectorAll(\"path.band:not([d=''])\").length}; })()", &got)
		return got
	}
	whole := look()
	if whole.Lines != 2 || whole.Bands != 2 || !strings.Contains(whole.Hash, "sums-1%2Csums-2%2Csums-3") || !strings.Contains(text(b, ".legend"), "3 seeds") {
		t.Errorf("the curves are %+v, the legend %q", whole, text(b, ".legend"))
	}
	b.Eval("(() => { const s = "+chart+".querySelector('svg'), r = s.getBoundingClientRect(); for (const [type, part] of [['pointerdown', 0.5], ['pointermove', 0.6], ['pointerup', 0.6]]) s.dispatchEvent(new PointerEvent(type, { bubbles: true, clientX: r.left + part * r.width, clientY: r.top + 50 })); })()", nil)
	b.Wait("location.hash.includes('from=') && window.shownHash === location.hash")
	part := look()
	if part.Label == whole.Label || part.Lines != 2 {
		t.Errorf("a part of the curves is %+v", part)
	}
	b.Eval("location.reload()", nil)
	b.Wait("window.shownHash === location.hash")
	if again := look(); again != part {
		t.Errorf("the address shows %+v, and was of %+v", again, part)
	}
	b.Eval("[...document.querySelectorAll('main button')].find((e) => e.textContent === 'whole').click()", nil)
	b.Wait("!location.hash.includes('from=') && window.shownHash === location.hash")
	if again := look(); again.Label != whole.Label {
		t.Errorf("the whole is %+v, and was %+v", again, whole)
	}
	quiet(t, b, "the curves")
}

// TestTree: a tree shows each node below the one that it comes after, with edges as wide as their completions are many,
// and a path of it alone, if it is there. A completion without nodes is not in it, and a row that was made may have no columns.
func TestTree(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	root := shown(t)
	for name, keys := range map[string]string{"completions.jsonl": `(?m)(^.*"step":30,.*"group":3,"sample":3,.*),"nodes":.*(\}$)`, "rows.jsonl": `(?m)(^.*),"row":.*(\}$)`} {
		path := filepath.Join(root, "sums-2", name)
		data, err := os.ReadFile(path)
		must(t, err)
		fewer := regexp.MustCompile(keys).ReplaceAll(data, []byte("$1$2"))
		if len(fewer) == len(data) {
			t.Fatalf("%s has no keys %s", name, keys)
		}
		must(t, os.WriteFile(path, fewer, 0o600))
	}
	url := served(t, root)
	b.Open(url+"#/run/sums-1/completions?step=30&group=3", "document.querySelector('main .tree')")
	type seen struct {
		Nodes, Wide []int // below the top, and how wide their edges are
		Answers     int
		Head        string
	}
	const look = `({Nodes: [...document.querySelectorAll('.tree, .tree ul')].map((e) => e.children.length), Wide: [...document.querySelectorAll('.tree .node')].map((e) => +/wide(\d)/.exec(e.className)[1]),
		Answers: document.querySelectorAll('.answer').length, Head: document.querySelector('.kicker').textContent})`
	var got seen
	if b.Eval(look, &got); !slices.Equal(got.Nodes, []int{1, 2, 2, 2}) || !slices.Equal(got.Wide, []int{4, 2, 1, 1, 2, 1, 1}) || got.Answers < 3 || !strings.Contains(got.Head, "seat second against older") {
		t.Errorf("a tree of four is shown as %+v", got)
	}
	visit(b, "#/run/sums-1/completions?step=30&group=3&path=1")
	if b.Eval(look, &got); got.Answers != 1 || len(got.Nodes) != 4 {
		t.Errorf("a path of it is shown as %+v", got)
	}
	visit(b, "#/run/sums-1/completions?step=30&group=3&path=9")
	if b.Eval(look, &got); got.Answers < 3 || len(got.Nodes) != 4 {
		t.Errorf("a path that is not there is shown as %+v", got)
	}
	visit(b, "#/run/sums-2/completions?step=30&group=3")
	if b.Eval(look, &got); got.Answers < 3 || !slices.Equal(got.Wide, []int{3, 2, 1, 1, 1, 1}) {
		t.Errorf("a tree of which a completion has no nodes is shown as %+v", got)
	}
	visit(b, "#/run/sums-2/completions?step=31&group=1")
	var heads []string
	if b.Eval("[...document.querySelectorAll('#made li b')].map((e) => e.textContent)", &heads); !slices.Equal(heads, []string{"pairs-31"}) {
		t.Errorf("a made row without columns is shown as %q", heads)
	}
	visit(b, "#/run/sums-1/completions?step=30&group=2")
	var said []string
	if b.Eval("[...document.querySelector('.turns').querySelectorAll('b')].map((e) => e.textContent)", &said); !slices.Equal(said, []string{"policy", "calculator, a mistake", "policy"}) {
		t.Errorf("an episode that calls a tool is one of %q", said)
	}
	quiet(t, b, "the tree")
}

// TestFolds: equal completions of a group are one row, which says how many they are.
func TestFolds(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, shown(t))+"#/run/sums-1/completions?step=31", "document.querySelector('main table')")
	var got struct {
		Rows  int
		Times []string
	}
	b.Eval("({Rows: document.querySelectorAll('main tbody tr').length, Times: [...document.querySelectorAll('main .times')].map((e) => e.textContent.trim())})", &got)
	if got.Rows != 12 || !slices.Equal(got.Times, []string{"2 ×", "2 ×", "2 ×", "2 ×"}) { // of four groups of four
		t.Errorf("a step has the rows %+v", got)
	}
}

// TestShort: the axes of a run of three steps have all of them, and the command that a group names writes a prompt as
// the run did, with the recipe's system message; where that is not known there is none.
func TestShort(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sums")
	made(t, dir, "sums", "task", 1, 3, 0.5)
	recipe, err := os.ReadFile(filepath.Join(dir, "recipe.toml"))
	must(t, err)
	for system, flags := range map[string]string{
		"":                                 "",
		"system = \"Be \\\"brief\\\".\"\n": " --chat --system 'Be \"brief\".'",
		"system = \"\"\"\nTwo\n\"lines\\\"\"\"\"\n":                       " --chat --system 'Two\n\"lines\"'",
		"form = \"chat\"\nsystem = \"\"\n":                                " --chat",
		"form = \"auto\"\nsystem = \"\"\n":                                "",
		"form = \"text\"\nsystem = \"\"\n[model]\npath = \"m\"\n[task]\n": "",
	} {
		write(t, dir, "recipe.toml", strings.Replace(string(recipe), "[task]\n", "[task]\n"+system, 1))
		runs, err := Open(dir)
		must(t, err)
		data, err := runs.File(Room)
		must(t, err)
		b := opened(t, data, "window.shownHash === '#/run/sums/now'")
		var labels []string
		b.Eval("[...document.querySelectorAll('main svg.chart')[0].querySelectorAll('text[text-anchor=middle]')].map((e) => e.textContent)", &labels)
		if want := []string{"0", "1", "2", "3"}; !slices.Equal(labels, want) {
			t.Errorf("the first axis has %q, want %q", labels, want)
		}
		visit(b, "#/run/sums/completions?step=3&group=1")
		if got, want := text(b, "main .note:last-of-type code"), "rlzero sample "+dir+flags+" --prompt '1 + 7 >'"; got != want {
			t.Errorf("%q: the command is %q, want %q", system, got, want)
		}
		quiet(t, b, "the group")
	}
	without := func(why, recipe string) {
		t.Helper()
		write(t, dir, "recipe.toml", recipe)
		runs, err := Open(dir)
		must(t, err)
		data, err := runs.File(Room)
		must(t, err)
		b := opened(t, data, "window.shownHash === '#/run/sums/now'")
		visit(b, "#/run/sums/completions?step=3&group=1")
		if got := text(b, "main"); !strings.Contains(got, "group 1") || strings.Contains(got, "To give this prompt") {
			t.Errorf("%s: the group says %q", why, got)
		}
	}
	without("a chat template decides", strings.Replace(string(recipe), "[task]\n", "[model]\npath = \"m\"\n[task]\nform = \"auto\"\nsystem = \"\"\n", 1))
	completions, err := os.ReadFile(filepath.Join(dir, "completions.jsonl"))
	must(t, err)
	write(t, dir, "completions.jsonl", strings.ReplaceAll(string(completions), `"prompt":"1 + 7 \u003e"`, `"prompt":""`)) // an episode that its world begins
	without("no prompt", string(recipe))
}
