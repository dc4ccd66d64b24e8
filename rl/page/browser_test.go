package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
	"github.com/rlzero/rlzero/rl/web"
)

// served is the address of a page that shows the runs of a folder.
func served(t testing.TB, root string) string {
	t.Helper()
	runs, err := Open(root)
	must(t, err)
	server, err := web.Listen(web.Default)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx, runs.Handler()) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	return server.URL()
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

var screens = []string{"now", "curves", "completions", "heldout", "compare", "trust", "machine"}

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
			visits := []string{"#/"}
			for n, run := range []string{"empty", "live", "sums-1", "random"} {
				if os.Getenv("RLZERO_LONG") == "" && dark != ((i+n)%2 == 1) {
					continue
				}
				for _, s := range screens {
					visits = append(visits, "#/run/"+run+"/"+s)
				}
				if run == "sums-1" {
					visits = append(visits, "#/run/sums-1/completions?step=31&group=1&tokens=1", "#/run/sums-1/completions?step=30&group=2&diff=1", "#/run/sums-1/completions?q=7&verdict=wrong")
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

// TestAccessible: axe-core finds no violation of WCAG 2.2 AA.
func TestAccessible(t *testing.T) {
	axe, err := os.ReadFile(filepath.Join("testdata", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: run npm ci in rl/page/testdata", err)
		}
		t.Skip("axe-core is not installed: run npm ci in rl/page/testdata")
	}
	b := browser.Start(t)
	url := served(t, shown(t))
	for _, view := range []struct {
		width int
		dark  bool
	}{{390, false}, {1280, true}} {
		b.View(view.width, 900, view.dark)
		b.Open("about:blank", "true")
		b.Open(url, "window.shownHash != null")
		b.Eval(string(axe)+";0", nil)
		hashes := []string{"#/", "#/run/sums-1/completions?step=31&group=1&tokens=1", "#/run/sums-1/completions?step=30&group=2&diff=1"}
		for _, s := range screens {
			hashes = append(hashes, "#/run/sums-1/"+s)
		}
		for _, hash := range hashes {
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
	b.Wait("location.hash === '#/'")
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
// set back by a resume too.
func TestLive(t *testing.T) {
	root := shown(t)
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, root)+"#/run/live/now", "window.shownHash != null")
	b.Wait("document.querySelector('.facts').innerText.includes('rl 25 of 60')")
	made(t, filepath.Join(root, "live"), "live", "task", 1, 26, 0.7)
	b.Wait("document.querySelector('.facts').innerText.includes('rl 26 of 60')")
	made(t, filepath.Join(root, "live"), "live", "task", 1, 20, 0.7)
	b.Wait("document.querySelector('.facts').innerText.includes('rl 20 of 60')")
	made(t, filepath.Join(root, "new"), "new", "task", 1, 5, 0.7)
	b.Eval("location.hash = '#/'", nil)
	b.Wait("document.querySelector('main').innerText.includes('new')")
	quiet(t, b, "the live page")
}

// TestReceipt: a file that was changed after the run is found on the page.
func TestReceipt(t *testing.T) {
	root := shown(t)
	b := browser.Start(t)
	url := served(t, root)
	b.Open(url+"#/run/sums-1/trust", "document.querySelectorAll('#receipt .verdict').length === 6")
	if got := text(b, "#receipt"); strings.Contains(got, "differs") {
		t.Errorf("the receipt says %q", got)
	}
	file := filepath.Join(root, "sums-1", "evaluations.jsonl")
	data, err := os.ReadFile(file)
	must(t, err)
	must(t, os.WriteFile(file, append(data, '\n'), 0o644))
	b.Open("about:blank", "true")
	b.Open(url+"#/run/sums-1/trust", "document.querySelectorAll('#receipt .verdict').length === 6")
	if got := text(b, "#receipt"); strings.Count(got, "differs") != 1 {
		t.Errorf("the receipt says %q", got)
	}
}

// TestOneFile: the page as one file shows its screens, from the disk.
func TestOneFile(t *testing.T) {
	runs, err := Open(filepath.Join(shown(t), "sums-1"))
	must(t, err)
	data, err := runs.File(20 << 20)
	must(t, err)
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, data, 0o644))
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open("file://"+file, "window.shownHash === '#/run/sums-1/now'")
	for _, s := range append(screens, "completions?step=31&group=1&tokens=1", "completions?q=7") {
		visit(b, "#/run/sums-1/"+s)
		quiet(t, b, s)
	}
	if got := text(b, "main"); !strings.Contains(got, "hold “7”") {
		t.Errorf("the search says %q", got)
	}
}
