//go:build !js

package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
	"github.com/rlzero/rlzero/internal/web"
	"github.com/rlzero/rlzero/rl/page"
)

// folder is what built has made, "" before.
var folder string

// built is the folder of the page, which make web builds once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "web")
	if err != nil {
		return "", err
	}
	folder = dir
	out, err := exec.Command("make", "-C", "..", "web", "WEB="+dir).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("make web: %w\n%s", err, out)
	}
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if folder != "" {
		os.RemoveAll(folder)
	}
	os.Exit(code)
}

// served is the address of the page, as rlzero page --try gives it out.
func served(t testing.TB) string {
	t.Helper()
	dir, err := built()
	must(t, err)
	site, err := page.Try(dir)
	must(t, err)
	server, err := web.Listen(web.Default)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- server.Serve(ctx, site) }()
	t.Cleanup(func() {
		stop()
		must(t, <-done)
	})
	return server.URL()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
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

// wire is the most that the page may weigh on the way, in bytes.
const wire = 8 << 20

// TestWeight: what a browser loads, compressed, stays within the limit.
func TestWeight(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: builds the page")
	}
	dir, err := built()
	must(t, err)
	files, err := os.ReadDir(dir)
	must(t, err)
	total := int64(0)
	for _, f := range files {
		info, err := f.Info()
		must(t, err)
		if strings.HasSuffix(f.Name(), ".gz") {
			total += info.Size()
		}
	}
	t.Logf("%.2f MB on the way", float64(total)/1e6)
	if total > wire || total == 0 {
		t.Errorf("the page has %d bytes, compressed; at most %d are accepted", total, wire)
	}
}

// small is a recipe of every kind of stage that takes seconds on any device.
const small = `seed = 1
[model]
family = "qwen3"
layers = 1
width = 32
heads = 2
head_dim = 16
mlp = 64
[task]
name = "countdown"
eval_problems = 8
eval_samples = 2
[task.settings]
numbers = 3
max_number = 20
max_total = 40
[[stage]]
name = "warm-up"
kind = "sft"
batch_size = 8
hold_steps = 4
decay_steps = 2
checkpoint_every = 2
[stage.optimizer]
lr = 3e-3
[[stage]]
name = "rl"
kind = "rl"
steps = 6
prompts_per_step = 4
group_size = 4
eval_every = 3
checkpoint_every = 1
[stage.algorithm]
preset = "grpo"
[stage.optimizer]
lr = 3e-4
`

// open shows the page until its program is ready.
func open(b *browser.Browser, url string) {
	b.Open("about:blank", "true")
	b.Open(url, "R.about && window.shownHash != null")
}

// write puts a recipe into the editor, as typing does.
func write(b *browser.Browser, text string) {
	quoted, _ := json.Marshal(text) // a string
	b.Eval(fmt.Sprintf(`(() => { const e = document.getElementById("recipe"); e.value = %s; e.dispatchEvent(new Event("input")); })()`, quoted), nil)
}

// train presses Train, waits for the screen of the run, and tells its name.
func train(b *browser.Browser) (run string) {
	b.Click("form .primary")
	b.Wait("location.hash.endsWith('/now') && window.shownHash === location.hash")
	b.Eval("R.parse().id", &run)
	return run
}

// unless waits until a script is true, and tells whether it is: the run may end before.
func unless(b *browser.Browser, run, until string) (is bool) {
	b.Wait(fmt.Sprintf("(%s) || R.runs.get(%q)?.state === 'finished'", until, run))
	b.Eval("!!("+until+")", &is)
	return is
}

// stopped trains until a run has been stopped before its end, and tells its name and its
// recipe. A machine may be through with a short run before it is asked to stop: then a longer
// one follows, until the machine is not quick enough.
func stopped(t *testing.T, b *browser.Browser, stop func(run string) bool) (run, text string) {
	t.Helper()
	for steps := 6; steps < 10_000; steps *= 4 {
		b.Eval("location.hash = '#/'", nil)
		b.Wait("window.shownHash === '#/'")
		text = strings.Replace(small, "\nsteps = 6\n", fmt.Sprintf("\nsteps = %d\n", steps), 1)
		write(b, text)
		b.Wait("document.querySelector('#faults').textContent.includes('memory')")
		if run = train(b); stop(run) {
			return run, text
		}
	}
	t.Fatal("every run ends before it is stopped")
	return "", ""
}

// bytesOf is a digest of what a run wrote that times are no part of: its logs, and its
// last checkpoint by the receipt.
func bytesOf(b *browser.Browser, run string) (digest string) {
	b.Eval(fmt.Sprintf(`(async () => {
  const all = [];
  for (const f of ["recipe.toml", "metrics.jsonl", "completions.jsonl", "evaluations.jsonl", "tokens.jsonl"]) {
    const r = await R.fetch("run/%[1]s/" + f);
    all.push(r.ok ? await r.text() : "none");
  }
  const receipt = await (await R.fetch("run/%[1]s/receipt.json")).json();
  all.push(JSON.stringify(receipt.outputs));
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(all.join("\n--\n")));
  return [...new Uint8Array(sum)].map((b) => b.toString(16).padStart(2, "0")).join("");
})()`, run), &digest)
	return digest
}

// button is the button that says something, in a script.
func button(says string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("button")].find((e) => !e.hidden && e.textContent === %q)`, says)
}

// click presses a button by what it says.
func click(b *browser.Browser, says string) {
	b.Wait(button(says))
	b.Eval(button(says)+".click()", nil)
}

func finished(b *browser.Browser, run string) {
	b.Wait(fmt.Sprintf("(R.runs.get(%q) || {}).state === 'finished' && R.runs.get(%[1]q).receipt", run))
}

// TestPage: without WebGPU the page says so, shows what is wrong with a recipe, trains,
// pauses, steps, and goes on after it was closed, to the bytes of a run that was not.
func TestPage(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	url := served(t)
	open(b, url)
	for _, says := range []string{"offers no GPU", "chrome://flags", "Safari", "Firefox"} {
		if got := textOf(b, ".without"); !strings.Contains(got, says) {
			t.Errorf("the page says %q, want %q", got, says)
		}
	}
	var refused []string
	b.Eval(`Promise.all(R.about.presets.map(({ name, text }) => R.program.ask("check", { name, text }).then(() => "", (e) => name + ": " + e.message))).then((all) => all.filter(Boolean))`, &refused)
	if len(refused) > 0 {
		t.Errorf("recipes that the page offers: %q", refused)
	}
	var state string // of a job that ends after the files of its run were described
	b.Eval(`(() => {
  R.jobs.set("x", { state: "running" });
  const [told] = own([{ id: "x", state: "running", files: { "recipe.toml": 1 } }]);
  R.jobs.set("x", { state: "finished" });
  const state = told.state;
  R.jobs.delete("x");
  return state;
})()`, &state)
	if state != "finished" {
		t.Errorf("what has ended is %q", state)
	}
	write(b, strings.Replace(small, "layers = 1", "layers = 0", 1))
	b.Wait("document.querySelector('#faults').textContent.includes('line 4, column')")
	write(b, strings.NewReplacer("layers = 1", "layers = 20", "width = 32", "width = 1024", "heads = 2", "heads = 16", "mlp = 64", "mlp = 4096").Replace(small))
	b.Wait("document.querySelector('#faults').textContent.includes('sampler_sequences = ')")
	if got := textOf(b, "#faults"); strings.Contains(got, "--set") {
		t.Errorf("the page speaks of flags: %q", got)
	}
	run, text := stopped(t, b, func(run string) bool { return steps(b, run) })
	b.Eval("location.hash = '#/'", nil)
	b.Wait("(document.querySelector('#kept') || {textContent: ''}).textContent.includes('may delete')")
	quiet(t, b, "pause and step")

	open(b, url) // the run ends with its page
	b.Eval(fmt.Sprintf("location.hash = '#/run/%s/now'", run), nil)
	b.Wait("document.querySelector('.bar') && document.querySelector('.bar').textContent.includes('closed')")
	click(b, "Continue")
	finished(b, run)
	b.Eval("location.hash = '#/'", nil)
	write(b, text)
	straight := train(b)
	finished(b, straight)
	if again, once := bytesOf(b, run), bytesOf(b, straight); again != once {
		t.Errorf("the run that went on after its page was closed has bytes %s, the other %s", again, once)
	}
	click(b, "Run its control")
	finished(b, straight+"-random")
	quiet(t, b, "two runs and a control")
	removes(t, b, straight+"-random")
	takesAway(t, b, url, straight)
	looks(t, b, run)
}

// TestContinues: a page that was closed in the warm-up says after which step the run goes on, and goes
// on there; without a checkpoint it says that the run begins anew, and offers no model. Train is off
// while the recipe has a fault.
func TestContinues(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	url := served(t)
	open(b, url)
	long := strings.Replace(small, "hold_steps = 4", "hold_steps = 100000", 1)
	off := "document.querySelector('form .primary').getAttribute('aria-disabled') === 'true'"
	write(b, strings.Replace(long, "layers = 1", "layers = 0", 1))
	b.Wait(off)
	for _, c := range []struct {
		every int
		says  string
		goes  string // a pattern of what the program says
	}{{2, "goes on after step ", "^continuing after step ([1-9][0-9]*) from"}, {0, "has no checkpoint yet, and begins anew", "^no checkpoint yet: starting from the beginning"}} {
		b.Eval("location.hash = '#/'", nil)
		b.Wait("window.shownHash === '#/'")
		write(b, strings.Replace(long, "checkpoint_every = 2\n", fmt.Sprintf("checkpoint_every = %d\n", c.every), 1))
		b.Wait("document.querySelector('#faults').textContent.includes('memory') && !(" + off + ")")
		run := train(b)
		b.Wait(fmt.Sprintf("R.runs.get(%q)?.rows.length > 5", run))
		open(b, url) // the run ends with its page
		b.Eval(fmt.Sprintf("location.hash = '#/run/%s/now'", run), nil)
		b.Wait(fmt.Sprintf("document.querySelector('.bar')?.textContent.includes(%q)", c.says))
		var model bool
		if b.Eval("!!"+button("Download the model"), &model); model != (c.every > 0) {
			t.Errorf("a run with a checkpoint every %d steps offers its model: %v", c.every, model)
		}
		b.Eval("window.lines = []; R.program.on((e) => { if (e.line) lines.push(e.line); })", nil)
		click(b, "Continue")
		b.Wait(fmt.Sprintf("lines.some((l) => /%s/.test(l))", c.goes))
		b.Wait(fmt.Sprintf("R.runs.get(%q).state === 'running'", run))
		click(b, "Pause")
		b.Wait("document.querySelector('.bar').textContent.includes('paused')")
	}
	quiet(t, b, "two runs that go on")
}

// TestRows: rows of the visitor's own are a recipe to choose, which trains and samples; conversations,
// which nobody judges, are imitated alone; what is no row is refused.
func TestRows(t *testing.T) {
	b := browser.Start(t)
	b.View(1280, 900, false)
	open(b, served(t))
	give := func(name, text string) {
		b.Eval(fmt.Sprintf(`document.querySelector(".drop.rows").dispatchEvent(Object.assign(new Event("drop"), { dataTransfer: { files: [new File([%q], %q)] } }))`, text, name), nil)
	}
	var sums, talks strings.Builder
	for i := range 100 {
		fmt.Fprintf(&sums, `{"question":"%d+%d","answer":"%d"}`+"\n", i, i+1, 2*i+1)
		fmt.Fprintf(&talks, `{"messages":[{"role":"user","content":"word %d"},{"role":"assistant","content":"yes %d"}]}`+"\n", i, i)
	}
	give("nothing.jsonl", "no rows\n")
	b.Wait("document.querySelector('.drop.rows .failed')?.textContent.includes('nothing.jsonl')")
	give("talks.jsonl", talks.String())
	b.Wait("document.querySelector('.drop.rows').textContent.includes('talks is ready')")
	var text string
	if b.Eval("document.querySelector('#recipe').value", &text); strings.Count(text, "[[stage]]") != 1 {
		t.Errorf("conversations are trained by %s", text)
	}
	give("sums.jsonl", sums.String())
	b.Wait("document.querySelector('.drop.rows').textContent.includes('is ready') && document.querySelector('.cards input:checked').value.startsWith('sums')")
	b.Eval("document.querySelector('#recipe').value", &text)
	if strings.Count(text, "[[stage]]") != 2 {
		t.Fatalf("sums are trained by %s", text)
	}
	write(b, strings.NewReplacer("hold_steps = 200", "hold_steps = 2", "decay_steps = 50", "decay_steps = 1", "steps = 40", "steps = 1", "eval_problems = 32", "eval_problems = 2", "batch_size = 16", "batch_size = 2",
		"prompts_per_step = 8", "prompts_per_step = 2", "group_size = 4", "group_size = 2", "max_completion_tokens = 32", "max_completion_tokens = 4").Replace(text))
	b.Wait("document.querySelector('#faults').textContent.includes('memory')")
	run := train(b)
	finished(b, run)
	var rows int
	if b.Eval(fmt.Sprintf("R.runs.get(%q).rows.length", run), &rows); rows < 4 {
		t.Errorf("the run has %d rows", rows)
	}
	quiet(t, b, "rows of one's own")
}

// steps pauses a run and lets it make one step; false where it ends before.
func steps(b *browser.Browser, run string) bool {
	if !unless(b, run, fmt.Sprintf("R.runs.get(%q)?.rows.length > 0 && %s", run, button("Pause"))) {
		return false
	}
	b.Eval(button("Pause")+"?.click()", nil)
	paused := "document.querySelector('.bar').textContent.includes('paused')"
	if !unless(b, run, paused+" && "+button("One step")) {
		return false
	}
	var size int // not the lines: an evaluation after a stage completes the last one
	b.Eval(fmt.Sprintf("R.fetch('run/%s/metrics.jsonl').then((r) => r.text()).then((t) => t.length)", run), &size)
	b.Eval(button("One step")+"?.click()", nil)
	return unless(b, run, fmt.Sprintf("R.runs.get(%q).sizes['metrics.jsonl'] > %d && %s", run, size, paused))
}

// removes starts a run, which has ended, twice and asks for its removal while its device
// opens; then it removes it.
func removes(t *testing.T, b *browser.Browser, run string) {
	var ended []string
	b.Eval(fmt.Sprintf(`(R.jobs.clear(), Promise.allSettled(["continue", "continue", "remove"].map((what) => R.program.ask(what, { run: %q }))).then((all) => all.map((r) => r.status + ((r.reason || {message: ""}).message.includes("in progress") ? " for one in progress" : ""))))`, run), &ended)
	if want := []string{"fulfilled", "rejected for one in progress", "rejected for one in progress"}; !slices.Equal(ended, want) {
		t.Errorf("two starts and a removal at once are %q, want %q", ended, want)
	}
	b.Wait(fmt.Sprintf("['finished', 'failed'].includes((R.jobs.get(%q) || {}).state)", run))
	b.Eval(fmt.Sprintf("confirm = () => true; location.hash = '#/run/%s/now'", run), nil)
	b.Wait("window.shownHash === location.hash")
	click(b, "Remove")
	b.Wait(fmt.Sprintf("location.hash === '#/' && window.shownHash === '#/' && !R.runs.has(%q)", run))
	var status int
	if b.Eval(fmt.Sprintf(`R.fetch("run/%s/recipe.toml").then((r) => r.status)`, run), &status); status != 404 {
		t.Errorf("the recipe of a run that was removed has status %d, want 404", status)
	}
}

// takesAway downloads a run and its model, and brings the model back: it writes what it
// wrote before, after other models were dropped and the page was loaded again too.
func takesAway(t *testing.T, b *browser.Browser, url, trained string) {
	unpacked := func(model bool) map[string][]byte {
		var data []byte
		b.Eval(fmt.Sprintf(`R.program.ask("zip", { run: %q, model: %v }).then(({ bytes }) => btoa(bytes.reduce((s, c) => s + String.fromCharCode(c), "")))`, trained, model), &data)
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		must(t, err)
		files := map[string][]byte{}
		for _, f := range z.File {
			if f.FileInfo().IsDir() {
				continue
			}
			in, err := f.Open()
			must(t, err)
			files[f.Name], err = io.ReadAll(in)
			must(t, err)
			in.Close()
		}
		return files
	}
	run := unpacked(false)
	for _, name := range []string{"recipe.toml", "metrics.jsonl", "receipt.json", "report.html"} {
		if len(run[name]) == 0 {
			t.Errorf("the run that is downloaded has no %s", name)
		}
	}
	files, err := json.Marshal(unpacked(true))
	must(t, err)
	sample := `R.program.ask("sample", { model: %q, prompt: "3 5 > 8:", n: 3, temperature: 1, tokens: 8, seed: 1 }).then(({ value }) => value)`
	var was []string
	b.Eval(fmt.Sprintf(sample, "/runs/"+trained), &was)
	if len(was) != 3 {
		t.Fatalf("the model of the run writes %q", was)
	}
	writes := func(path, when string) {
		var is []string
		if b.Eval(fmt.Sprintf(sample, path), &is); !slices.Equal(was, is) {
			t.Errorf("the model writes %q, and %q once it was brought back %s", was, is, when)
		}
	}
	drop(b, fmt.Sprintf("Object.entries(%s)", files))
	b.Wait("document.querySelector('#model').value === '/models/mine'")
	writes("/models/mine", "")

	for without, says := range map[string]string{"config.json": "config.json", "model.safetensors": "has no weights", "tokenizer.json": "has no tokenizer.json"} {
		drop(b, fmt.Sprintf("Object.entries(%s).filter(([name]) => name !== %q)", files, without))
		b.Wait(fmt.Sprintf("document.querySelector('#ask .failed') && document.querySelector('#ask .failed').textContent.includes(%q)", says))
	}
	drop(b, `[["model.safetensors", null]]`)
	b.Wait("document.querySelector('#ask .failed').textContent.includes('at most 1')")
	holds(t, b, "mine")

	drop(b, fmt.Sprintf("Object.entries(%s)", files))
	b.Wait("document.querySelector('#model').value === '/models/mine-2'")
	b.Eval("confirm = () => true", nil)
	click(b, "Remove the model")
	b.Wait("![...document.querySelector('#model').options].some((o) => o.value === '/models/mine-2')")
	holds(t, b, "mine")
	quiet(t, b, "models")
	open(b, url)
	b.Wait("[...document.querySelector('#model').options].some((o) => o.value === '/models/mine')")
	drop(b, fmt.Sprintf("Object.entries(%s)", files))
	b.Wait("document.querySelector('#model').value === '/models/mine-2'")
	writes("/models/mine", "and the page loaded again")
	holds(t, b, "mine", "mine-2")
}

// drop drops the folder "mine" with files as [[name, base64]], null for one of 2 GiB.
func drop(b *browser.Browser, files string) {
	b.Eval("location.hash = '#/'", nil)
	b.Wait("window.shownHash === '#/' && document.querySelector('.drop.model')")
	b.Eval(fmt.Sprintf(`(() => {
  const content = (name, data) => data === null ? { name, size: 2 ** 31 } : new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name);
  const left = [%s.map(([name, data]) => ({ isFile: true, name, file: (yes) => yes(content(name, data)) })), []];
  const folder = { isFile: false, name: "mine", createReader: () => ({ readEntries: (yes) => yes(left.shift()) }) };
  document.querySelector(".drop.model").dispatchEvent(Object.assign(new Event("drop"), { dataTransfer: { items: [{ webkitGetAsEntry: () => folder }] } }));
})()`, files), nil)
}

// holds checks which models the browser has.
func holds(t *testing.T, b *browser.Browser, want ...string) {
	t.Helper()
	var names []string
	if b.Eval(`R.program.ask("models").then(({ value }) => value)`, &names); !slices.Equal(names, want) {
		t.Errorf("the browser has the models %q, want %q", names, want)
	}
}

// textOf is what an element says, closed parts included.
func textOf(b *browser.Browser, selector string) (text string) {
	b.Eval(fmt.Sprintf("(document.querySelector(%q) || {textContent: ''}).textContent", selector), &text)
	return text
}

// looks holds both kinds of screens against axe-core and the width of the window.
func looks(t *testing.T, b *browser.Browser, run string) {
	axe, err := os.ReadFile(filepath.Join("..", "rl", "page", "testdata", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: run npm ci in rl/page/testdata", err)
		}
		t.Skip("axe-core is not installed: run npm ci in rl/page/testdata")
	}
	b.Eval(string(axe)+";0", nil)
	for _, view := range []struct {
		width int
		dark  bool
	}{{390, false}, {1280, true}} {
		b.View(view.width, 900, view.dark)
		for _, hash := range []string{"#/", "#/run/" + run + "/now"} {
			b.Eval(fmt.Sprintf("location.hash = %q", hash), nil)
			b.Wait("window.shownHash === location.hash")
			b.Eval("document.querySelectorAll('main details').forEach((d) => { d.open = true; })", nil)
			var found []string
			b.Eval(`axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}).then((r) => r.violations.map((v) => v.id + " (" + v.help + ") " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")))`, &found)
			var wide int
			if b.Eval("document.documentElement.scrollWidth - innerWidth", &wide); wide > 0 {
				found = append(found, fmt.Sprintf("the page is %d pixels wider than its window", wide))
			}
			for _, f := range found {
				t.Errorf("%s at %d px, dark %v: %s", hash, view.width, view.dark, f)
			}
		}
	}
	quiet(t, b, "the screens")
}

// TestGPU: two runs on WebGPU come to the same bytes, and with RLZERO_LONG=1 so does one
// whose device is lost, which says so and goes on.
func TestGPU(t *testing.T) {
	b := browser.Start(t, browser.WebGPU...)
	b.View(1280, 900, false)
	open(b, served(t)) // which takes no GPU that is none
	if got := textOf(b, ".device.without"); !strings.Contains(got, "computes WebGPU on the processor (") || strings.Contains(got, "offers no GPU") {
		t.Errorf("of a software GPU the page says %q", got)
	}
	open(b, served(t)+onGPU)
	if got := textOf(b, ".device"); strings.Contains(got, "offers no GPU") {
		t.Fatalf("the page says %q", got)
	}
	begin := func(text string) string {
		b.Eval("location.hash = '#/'", nil)
		b.Wait("window.shownHash === '#/'")
		write(b, text)
		run := train(b)
		finished(b, run)
		return bytesOf(b, run)
	}
	if first, second := begin(small), begin(small); first != second {
		t.Errorf("a run has bytes %s, the next one of its recipe %s", first, second)
	}
	quiet(t, b, "two runs")
	if os.Getenv("RLZERO_LONG") == "" {
		return
	}
	run, text := stopped(t, b, func(run string) bool {
		if !unless(b, run, fmt.Sprintf("R.runs.get(%q)?.rows.length > 3 && %s", run, button("Pause"))) {
			return false
		}
		b.CrashGPU()
		return unless(b, run, "document.querySelector('.bar').textContent.includes('took the GPU away')")
	})
	b.Complaints() // the browser tells of its GPU too
	click(b, "Continue")
	finished(b, run)
	if again, straight := bytesOf(b, run), begin(text); straight != again {
		t.Errorf("a run has bytes %s, one whose device was lost %s", straight, again)
	}
	quiet(t, b, "a lost device")
}

// onGPU makes the page take SwiftShader's GPU.
const onGPU = "?device=webgpu"

// patiently waits for something that takes minutes, as long as there is progress.
func patiently(b *browser.Browser, until, progress string) {
	for done := false; !done; {
		var seen string
		b.Eval("String("+progress+")", &seen)
		b.Wait(fmt.Sprintf("(%s) || String(%s) !== %q", until, progress, seen))
		b.Eval("!!("+until+")", &done)
	}
}

// TestLearns: on WebGPU the held-out accuracy of countdown-short rises as on other devices,
// and on the processor that of the first recipe: by more than the intervals of the first and
// the last measurement.
func TestLearns(t *testing.T) {
	if os.Getenv("RLZERO_LONG") == "" {
		t.Skip("a part of make nightly")
	}
	for _, c := range []struct {
		preset, device string
		flags          []string
	}{{"countdown-short", onGPU, browser.WebGPU}, {"sums", "", nil}} {
		t.Run(c.preset, func(t *testing.T) {
			b := browser.Start(t, c.flags...)
			b.View(1280, 900, false)
			open(b, served(t)+c.device)
			b.Click(fmt.Sprintf(".cards input[value=%q]", c.preset))
			train(b)
			patiently(b, fmt.Sprintf("(R.runs.get(%q) || {}).receipt", c.preset), "[...R.runs.values()].map((r) => r.sizes['metrics.jsonl'])")
			var evals []struct{ Pass, Low, High float64 }
			b.Eval(fmt.Sprintf("R.runs.get(%q).evals()", c.preset), &evals)
			t.Logf("held-out accuracy %.3f", evals)
			if len(evals) < 2 || evals[len(evals)-1].Low <= evals[0].High {
				t.Errorf("held-out accuracy does not rise: %.3f", evals)
			}
			quiet(t, b, c.preset)
		})
	}
}

// TestCertifies: doctor's checks run on the page, and their result is there to be copied.
func TestCertifies(t *testing.T) {
	if os.Getenv("RLZERO_LONG") == "" {
		t.Skip("a part of make nightly")
	}
	b := browser.Start(t)
	open(b, served(t))
	// A headless browser has no clipboard for a page that nobody looks at.
	b.Eval("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.copied = text; } } })", nil)
	click(b, "Check it")
	patiently(b, "document.querySelector('#doctor pre, #doctor .failed')", "document.querySelector('#doctor').textContent")
	click(b, "Copy the result")
	b.Wait("document.querySelector('#doctor').textContent.includes('copied: paste it into an issue')")
	var copied string
	b.Eval("copied", &copied)
	if textOf(b, "#doctor .up") == "" || !strings.Contains(copied, "Chrome") || !strings.Contains(copied, "kernel matmul") {
		t.Errorf("the doctor says %q, and %q is copied", textOf(b, "#doctor"), copied)
	}
	quiet(t, b, "the doctor")
}
