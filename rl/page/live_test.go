package page

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
	"github.com/rlzero/rlzero/internal/web"
)

// grow adds lines to a log of a run.
func grow(t testing.TB, dir, name, lines string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(lines)
	must(t, err)
	must(t, f.Close())
}

// alive is the folder of a run in progress, and a browser that shows it. However slow the
// machine is, the texts that it shows stand until a test says otherwise.
func alive(t *testing.T) (string, *browser.Browser) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "live")
	made(t, dir, "live", "task", 1, 25, 0.7)
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, root)+"#/run/live/now", "document.querySelector('#samples h2')")
	b.Eval("document.querySelector('#samples').since = 1e9", nil) // ms, which no test lasts
	return dir, b
}

// next writes a step of it, and waits until it is shown.
func next(t *testing.T, b *browser.Browser, dir string, step int) {
	t.Helper()
	grow(t, dir, "completions.jsonl", line(step, 0, 0, "1 + 1 >", fmt.Sprint("of step ", step), "right"))
	grow(t, dir, "metrics.jsonl", fmt.Sprintf(`{"step":%d,"stage":"rl","reward/mean":0.5,"policy/entropy":0.5}`+"\n", step))
	b.Wait(fmt.Sprintf("document.querySelector('.facts').innerText.includes('rl %d of 60')", step))
}

// TestStands: a step that comes changes what it is about and nothing else. What a reader has
// opened stays open, what is under the pointer is still told, and texts stand until they can
// be read.
func TestStands(t *testing.T) {
	dir, b := alive(t)
	b.Eval(`(() => {
  const alert = document.querySelector(".alerts details");
  alert.open = true;
  alert.querySelector("summary").focus();
  getSelection().selectAllChildren(document.querySelector(".kicker"));
  const svg = document.querySelector(".hero svg"), r = svg.getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: r.left + r.width / 2, clientY: r.top + 9 }));
  document.querySelector(".measured").since = -Infinity; // the time to look has passed
  window.stood = { alert, svg, brand: document.querySelector(".brand"), samples: document.querySelector("#samples h2"), told: document.querySelector(".hero output").textContent };
})()`, nil)
	next(t, b, dir, 26)
	b.Eval("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))", nil)
	var got map[string]bool
	b.Eval(`({
  "the alert is open": document.querySelector(".alerts details").open,
  "the alert stands": stood.alert.isConnected,
  "its summary has the focus": document.activeElement === stood.alert.querySelector("summary"),
  "the text is selected": getSelection().toString() === document.querySelector(".kicker").textContent,
  "the tabs stand": stood.brand.isConnected,
  "the texts stand": stood.samples.isConnected && document.querySelector("#samples").innerText.includes("Written in step 25"),
  "the curve is drawn anew": !stood.svg.isConnected && document.querySelector(".hero svg").getAttribute("aria-label").includes("to 26:"),
  "the value under the pointer is told": /^step \d+/.test(stood.told) && document.querySelector(".hero output").textContent === stood.told,
  "its rule is drawn": document.querySelector(".hero .cursor").getAttribute("d") !== "",
})`, &got)
	for what, is := range got {
		if !is {
			t.Errorf("it is not so that %s", what)
		}
	}
	b.Eval(`(() => {
  document.querySelector("#samples").since = -Infinity;
  document.querySelector(".measured").since = performance.now() - LOOK + 3000;
  window.stood = document.querySelector(".hero svg");
})()`, nil)
	next(t, b, dir, 27) // which tells numbers at once
	b.Wait("!stood.isConnected && document.querySelector('.hero svg').getAttribute('aria-label').includes('to 27:')")
	b.Wait("document.querySelector('#samples').innerText.includes('of step 27')")
	quiet(t, b, "the steps")
}

// TestAlertComes: an alert that was opened stays open when another one comes above it, and the
// new one is told at once and closed.
func TestAlertComes(t *testing.T) {
	dir, b := alive(t)
	b.Eval("window.stood = document.querySelector('.alerts details'); stood.open = true", nil)
	grow(t, dir, "alerts.jsonl", `{"step":26,"stage":"rl","rule":"entropy","level":"warning","seen":"the entropy fell","against":"the reward did not rise","why":"it will explore no more","do":"Raise it"}`+"\n")
	b.Wait("document.querySelectorAll('.alerts details').length === 2")
	var got []string
	b.Eval("[...document.querySelectorAll('.alerts details')].map((a) => (a.open ? 'open ' : 'closed ') + a.querySelector('b').textContent + (a === stood ? ', stands' : ''))", &got)
	if want := []string{"closed ! entropy", "open ! length, stands"}; !slices.Equal(got, want) {
		t.Errorf("the alerts are %q, want %q", got, want)
	}
	quiet(t, b, "an alert")
}

// TestBeforeMetrics: a run whose first completions are there and its metrics are not yet.
func TestBeforeMetrics(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "live")
	made(t, dir, "live", "task", 1, 0, 0)
	write(t, dir, "completions.jsonl", line(1, 0, 0, "1 + 1 >", "2", "right"))
	b := browser.Start(t)
	b.Open(served(t, root)+"#/run/live/now", "document.querySelector('.measured')")
	b.Eval("latest(R.runs.get('live'), document.querySelector('#samples'))", nil)
	write(t, dir, "metrics.jsonl", `{"step":1,"stage":"rl","reward/mean":0.5}`+"\n")
	b.Wait("document.querySelector('.facts')?.innerText.includes('rl 1 of 60')")
	quiet(t, b, "a run without metrics")
}

// TestAsks: for a new step the page asks for what is new of the logs that it shows, and while
// nobody sees the page, for nothing.
func TestAsks(t *testing.T) {
	dir, b := alive(t)
	b.Eval(`(() => {
  const fetched = R.fetch;
  window.asked = [];
  R.fetch = (path, options) => { asked.push(path); return fetched(path, options); };
})()`, nil)
	next(t, b, dir, 26)
	var asked []string
	b.Eval("asked.splice(0)", &asked)
	if want := []string{"run/live/metrics.jsonl"}; !slices.Equal(asked, want) {
		t.Errorf("for a step the page asks for %q, want %q", asked, want)
	}
	hide := "Object.defineProperty(document, 'hidden', { value: %v, configurable: true }); document.dispatchEvent(new Event('visibilitychange')); "
	b.Eval(fmt.Sprintf(hide, true)+`const heard = new Promise((done) => new EventSource("events").addEventListener("message", (e) => { if (e.data.includes('"metrics.jsonl":' + (R.runs.get("live").sizes["metrics.jsonl"] + 1))) done(); })); 0`, nil)
	grow(t, dir, "metrics.jsonl", "\n")
	b.Eval("heard.then(() => new Promise((r) => setTimeout(r, 2 * PAUSE)))", nil)
	if b.Eval("asked", &asked); len(asked) != 0 {
		t.Errorf("a page that nobody sees asks for %q", asked)
	}
	b.Eval(fmt.Sprintf(hide, false), nil)
	b.Wait("asked.length > 0")
	quiet(t, b, "the page that was hidden")
}

// TestRenew: of random trees, one that is renewed is equal to the other, and what was equal
// in both before is the same element still.
func TestRenew(t *testing.T) {
	b := browser.Start(t)
	b.Open(served(t, shown(t)), "window.shownHash != null")
	var wrong []string
	b.Eval(`(() => {
  let state = 1;
  const random = (n) => { state = (state * 48271) % 2147483647; return state % n; }; // Park and Miller, CACM 31 (1988), 1192
  const tree = (depth) => R.h("div", { class: random(2) ? "a" : null, title: random(2) ? "t" + random(2) : null },
    Array.from({ length: depth ? random(4) : 0 }, () => (random(3) ? tree(depth - 1) : random(2) ? R.h("b", {}, "b" + random(2)) : "text " + random(2))));
  const wrong = [];
  for (let i = 0; i < 500; i++) {
    const was = tree(4), is = tree(4), first = was.firstChild, same = first && is.firstChild && first.isEqualNode(is.firstChild);
    const from = was.outerHTML, to = is.cloneNode(true);
    R.renew(was, is);
    if (!was.isEqualNode(to) || (same && was.firstChild !== first)) wrong.push(from + " to " + to.outerHTML + " is " + was.outerHTML);
  }
  return wrong.slice(0, 3);
})()`, &wrong)
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestFetchFails: what cannot be fetched is told, and fetched with the next drawing, though nothing
// new comes.
func TestFetchFails(t *testing.T) {
	dir, b := alive(t)
	b.Eval(`(() => {
  const fetched = R.fetch;
  window.said = [];
  new MutationObserver(() => { const e = document.querySelector(".lost"); if (e) said.push(e.textContent); }).observe(document.body, { childList: true, subtree: true });
  R.fetch = async () => { R.fetch = fetched; throw new Error("a lost fetch"); };
})()`, nil)
	next(t, b, dir, 26)
	b.Wait("!document.querySelector('.lost')")
	var said []string
	if b.Eval("said", &said); len(said) == 0 || said[0] != "What is new cannot be read: a lost fetch. It is tried again." {
		t.Errorf("the page says %q", said)
	}
	quiet(t, b, "a lost fetch")
}

// TestServerGone: a page whose server is gone, or silent, says so within five seconds, keeps what it
// shows, and names the commands that go on. One that comes back is heard again.
func TestServerGone(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "live")
	made(t, dir, "live", "task", 1, 25, 0.7)
	runs, err := Open(root)
	must(t, err)
	silent := make(chan bool)
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w = &mute{ResponseWriter: w, now: silent}
		}
		runs.Handler().ServeHTTP(w, r)
	})
	url, stop := servedAt(t, web.Default, page)
	address := strings.Trim(strings.TrimPrefix(url, "http://"), "/")
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(url+"#/run/live/now", "document.querySelector('#samples h2') && document.querySelector('.state').textContent === 'running'")
	lost := func(how string) {
		t.Helper()
		var took float64
		b.Eval("new Promise((yes) => { const began = performance.now(), look = () => (document.querySelector('.lost') ? yes(performance.now() - began) : setTimeout(look, 20)); look(); })", &took)
		if took > 5000 {
			t.Errorf("%s: the page says so after %.0f ms", how, took)
		}
		for _, says := range []string{"does not answer", "rlzero page " + dir, "rlzero train --resume --run " + dir + " --page"} {
			if got := text(b, ".lost"); !strings.Contains(got, says) {
				t.Errorf("%s: the page says %q, not %q", how, got, says)
			}
		}
		if got := text(b, ".state"); got != "out of reach" {
			t.Errorf("%s: the state of the run is %q", how, got)
		}
		b.Wait("document.querySelector('.facts').innerText.includes('out of reach')")
		if got := text(b, ".facts") + text(b, "#samples"); !strings.Contains(got, "rl 25 of 60") || !strings.Contains(got, "Written in step 25") {
			t.Errorf("%s: the page shows %q", how, got)
		}
	}
	heard := func(how string) {
		t.Helper()
		b.Wait("!document.querySelector('.lost') && document.querySelector('.state').textContent === 'running'")
		quiet(t, b, how)
	}
	close(silent)
	lost("a silent server")
	silent = nil // of connections from now on
	heard("a server that speaks again")
	stop()
	lost("a server that is gone")
	for _, s := range []string{"completions", "curves", "now"} { // what needs the server says so, the others show what they have
		visit(b, "#/run/live/"+s)
	}
	for _, c := range b.Complaints() {
		if !strings.Contains(c, "ERR_CONNECTION_REFUSED") && !strings.Contains(c, "ERR_INCOMPLETE_CHUNKED") && !strings.Contains(c, "ERR_EMPTY_RESPONSE") && !strings.Contains(c, "ERR_CONNECTION_RESET") {
			t.Errorf("without a server the browser says %q", c)
		}
	}
	_, stop = servedAt(t, address, page)
	t.Cleanup(stop)
	b.Wait("!document.querySelector('.lost')")
	b.Complaints() // of the last try before it was back
	next(t, b, dir, 26)
	heard("a server that is back")
}

// mute writes nothing any more once a channel is closed, as a tunnel that hangs does.
type mute struct {
	http.ResponseWriter
	now chan bool
}

func (m *mute) Write(p []byte) (int, error) {
	select {
	case <-m.now: // nil: never
		return len(p), nil
	default:
		return m.ResponseWriter.Write(p)
	}
}

func (m *mute) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// TestWarmUp: imitation tells its steps, the time that is left, its loss, and what the model wrote
// when it was last asked. How many steps there are follows the samples that it probes.
func TestWarmUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "warm")
	write(t, dir, "recipe.toml", "about = \"a warm-up\"\nname = \"warm\"\nseed = 1\n\n[task]\nname = \"sums\"\n\n[[stage]]\nkind = \"sft\"\nname = \"warm-up\"\nuntil_valid = 0.5\nhold_steps = 90\ndecay_steps = 10\n\n[[stage]]\nkind = \"rl\"\nname = \"rl\"\nsteps = 60\n")
	var metrics, timing rows
	metrics.add(evaluation(0, "warm-up", 512, 0.01, 0.02))
	for step := 1; step <= 30; step++ {
		metrics.add(object{"step": step, "stage": "warm-up", "sft/loss": 3 / float64(step), "policy/entropy": 1})
		timing.add(object{"step": step, "stage": "warm-up", "time/train_s": 2})
	}
	write(t, dir, "metrics.jsonl", metrics.String())
	write(t, dir, "timing.jsonl", timing.String())
	write(t, dir, "evaluations.jsonl", `{"step":0,"stage":"warm-up","prompt":"1 + 1 >","completion":"qq","verdict":"wrong","reason":"no number"}`+"\n")
	b := browser.Start(t)
	b.View(1280, 900, false)
	b.Open(served(t, filepath.Dir(dir))+"#/run/warm/now", "document.querySelector('#samples h2')")
	for _, says := range []string{"warm-up 30 of 100", "time left\n2 min", "loss\n0.1", "from 3"} {
		if got := text(b, ".facts"); !strings.Contains(got, says) {
			t.Errorf("the warm-up says %q, not %q", got, says)
		}
	}
	for _, says := range []string{"Written before training", "qq", "no number"} {
		if got := text(b, "#samples"); !strings.Contains(got, says) {
			t.Errorf("what was written is %q, not %q", got, says)
		}
	}
	grow(t, dir, "metrics.jsonl", `{"step":31,"stage":"warm-up","sft/loss":0.1,"eval/valid":0.6}`+"\n")
	b.Wait("document.querySelector('.facts').innerText.includes('warm-up 31 of 41')")
	b.Wait("document.querySelector('.facts').innerText.includes('60.0 %')")
	quiet(t, b, "the warm-up")
}
