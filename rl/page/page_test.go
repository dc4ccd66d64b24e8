package page

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"github.com/rlzero/rlzero/rl/compare"
	"github.com/rlzero/rlzero/rl/recipe"
	"github.com/rlzero/rlzero/rl/record"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// line is a line of completions.jsonl.
func line(step, group, sample int, prompt, completion, verdict string) string {
	data, err := json.Marshal(map[string]any{"prompt": prompt, "completion": completion})
	if err != nil {
		panic(err)
	}
	var texts struct{ Prompt, Completion json.RawMessage }
	if err := json.Unmarshal(data, &texts); err != nil {
		panic(err)
	}
	reward := map[string]int{"right": 1}[verdict]
	return fmt.Sprintf(`{"step":%d,"stage":"rl","prompt_id":"p","group":%d,"sample":%d,"prompt":%s,"completion":%s,"reward":%d,"verdict":"%s","reason":"because","advantage":%d,"tokens":3,"stop":"eos"}`+"\n",
		step, group, sample, texts.Prompt, texts.Completion, reward, verdict, 2*reward-1)
}

func get(t *testing.T, h http.Handler, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	must(t, err)
	return string(data)
}

// TestOpen: runs are found in folders, new ones too, and have names that differ.
func TestOpen(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a", "one"), "recipe.toml", "")
	write(t, filepath.Join(root, "b", "one"), "recipe.toml", "")
	write(t, filepath.Join(root, "a", "no run"), "notes.txt", "")
	runs, err := Open(filepath.Join(root, "a"), filepath.Join(root, "b", "one"))
	must(t, err)
	write(t, filepath.Join(root, "a", "two"), "recipe.toml", "")
	write(t, filepath.Join(root, "a", "two"), "receipt.json", "{}")
	var got []string
	for _, d := range runs.describe() {
		got = append(got, d.ID+" "+d.State)
	}
	if text := strings.Join(got, ", "); text != "one stopped, one-2 stopped, two finished" {
		t.Errorf("runs %s", text)
	}
	for _, place := range []string{filepath.Join(root, "nowhere"), filepath.Join(root, "a", "no run")} {
		if _, err := Open(place); err == nil {
			t.Errorf("%s is accepted", place)
		}
	}
}

// TestFiles: files of a run are read by range, and nothing else is.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "seed = 1\n")
	write(t, dir, "metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n")
	write(t, dir, "secret.txt", "secret")
	runs, err := Open(dir)
	must(t, err)
	h := runs.Handler()
	if r := get(t, h, "/run/run/metrics.jsonl", "Range", "bytes=11-"); r.StatusCode != 206 || body(t, r) != "{\"step\":2}\n" {
		t.Errorf("range: status %d", r.StatusCode)
	}
	if r := get(t, h, "/run/run/metrics.jsonl", "Range", "bytes=22-"); r.StatusCode != 204 || body(t, r) != "" {
		t.Errorf("after the end: status %d", r.StatusCode)
	}
	for path, want := range map[string]int{
		"/": 200, "/assets/base.js": 200, "/assets/page.css": 200, "/runs.json": 200, "/metrics.json": 200,
		"/run/run/secret.txt": 404, "/run/run/..%2Fsecret.txt": 404, "/run/run/tokens.jsonl": 404, "/run/other/metrics.jsonl": 404,
		"/assets/..%2Fhandler.go": 404, "/assets/uplot": 404, "/nothing": 404, "/run/run/steps.json": 200, "/run/other/steps.json": 404, "/run/run/search.json?limit=x": 400,
	} {
		if r := get(t, h, path); r.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", path, r.StatusCode, want, body(t, r))
		}
	}
}

// TestHeld: the page can read every log that a receipt has a hash of.
func TestHeld(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "seed = 1\n")
	logs := slices.Concat(record.Logs, record.SomeLogs)
	for _, name := range logs {
		write(t, dir, name, "{}\n")
	}
	runs, err := Open(dir)
	must(t, err)
	h := runs.Handler()
	for _, name := range logs {
		if r := get(t, h, "/run/run/"+name); r.StatusCode != 200 {
			t.Errorf("%s: status %d", name, r.StatusCode)
		}
	}
}

// TestCompressed: answers of some size come in the encoding that the browser takes, and are the same
// in each; parts of files and small answers come as they are.
func TestCompressed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "seed = 1\n")
	var metrics strings.Builder
	for step := range 200 {
		fmt.Fprintf(&metrics, "{\"step\":%d,\"stage\":\"rl\",\"reward/mean\":0.5}\n", step+1)
	}
	write(t, dir, "metrics.jsonl", metrics.String())
	runs, err := Open(dir)
	must(t, err)
	h := runs.Handler()
	unpack := map[string]func(io.Reader) (io.Reader, error){
		"":     func(r io.Reader) (io.Reader, error) { return r, nil },
		"br":   func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	}
	for path, packed := range map[string]bool{"/assets/base.js": true, "/assets/page.css": true, "/metrics.json": true, "/run/run/metrics.jsonl": true, "/run/run/recipe.toml": false, "/runs.json": false} {
		plain := body(t, get(t, h, path))
		for accepts, want := range map[string]string{"gzip, deflate, br, zstd": "br", "gzip": "gzip", "br;q=0": "", "identity": ""} {
			if !packed {
				want = ""
			}
			r := get(t, h, path, "Accept-Encoding", accepts)
			in, err := unpack[want](r.Body)
			must(t, err)
			text, err := io.ReadAll(in)
			if got := r.Header.Get("Content-Encoding"); got != want || err != nil || string(text) != plain {
				t.Errorf("%s for who takes %q is %q, %v; want %q", path, accepts, got, err, want)
			}
		}
	}
	if r := get(t, h, "/run/run/metrics.jsonl", "Accept-Encoding", "br", "Range", "bytes=0-2999"); r.StatusCode != 206 || r.Header.Get("Content-Encoding") != "" || body(t, r) != metrics.String()[:3000] {
		t.Errorf("a part of a file has status %d and %v", r.StatusCode, r.Header)
	}
}

// TestStill: where no scripts run, a file tells runs as text and SVG, and what they wrote breaks
// nothing; of many it shows some, and says so.
func TestStill(t *testing.T) {
	root := t.TempDir()
	for i := range stills + 2 {
		made(t, filepath.Join(root, fmt.Sprintf("<b>run %d", i)), "sums", "task", i+1, 60, 0.73)
	}
	dir := filepath.Join(root, "<b>run 0")
	grow(t, dir, "metrics.jsonl", `{"step":61,"stage":"<i>","<u>name":1}`+"\n"+`{"step":62,"stage":"<i>","<u>name":2}`+"\nnothing\n")
	runs, err := Open(root)
	must(t, err)
	data, err := runs.File(Room)
	must(t, err)
	_, text, _ := strings.Cut(string(data), "<noscript>")
	text, _, _ = strings.Cut(text, "</noscript>")
	for _, says := range []string{"<h1>&lt;b&gt;run 3: accuracy 30.0 → 73.0 %</h1>", "<h3>&lt;u&gt;name</h3>", `aria-label="reward/mean: from `, "<td class=\"num\">73.0 %</td>", "68.0 % to 78.0 %", "64 × 8", "Constant: ", "cannot be read: 1 line of metrics.jsonl", "The file holds 2 more runs."} {
		if !strings.Contains(text, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
	for _, not := range []string{"<b>", "<i>", "<u>", "NaN", "Inf"} {
		if strings.Contains(text, not) {
			t.Errorf("the page holds %q", not)
		}
	}
	if n := len(text) / stills; n > 60_000 {
		t.Errorf("a run takes %d bytes", n)
	}
}

// TestIndex: a step's lines are found as the log grows, also one line at a time and with
// half a line at the end, and a log that became shorter is indexed anew.
func TestIndex(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "")
	text := line(1, 0, 0, "a", "1", "right") + line(1, 0, 1, "a", "2", "wrong") + line(2, 0, 0, "b", strings.Repeat("long ", 1<<20), "wrong") + line(3, 0, 0, "c", "3", "not_scored")
	runs, err := Open(dir)
	must(t, err)
	o := runs.list[0]
	var steps []record.Step
	for _, end := range []int{0, 10, strings.Index(text, "\n") + 1, strings.Index(text, "\n") + 5, len(text) / 2, len(text) - 1, len(text)} {
		write(t, dir, "completions.jsonl", text[:end])
		steps, err = o.stepsFrom("completions.jsonl", 0)
		must(t, err)
	}
	if len(steps) != 3 || steps[0].Counts != [4]int{1, 1, 0, 0} || steps[1].Counts != [4]int{0, 1, 0, 0} || steps[2].Counts != [4]int{0, 0, 0, 1} {
		t.Fatalf("index %+v", steps)
	}
	for i, s := range steps {
		part := text[s.Offset : s.Offset+s.Bytes]
		if !strings.HasPrefix(part, fmt.Sprintf(`{"step":%d,`, i+1)) || !strings.HasSuffix(part, "}\n") {
			t.Errorf("step %d: %.40q", i+1, part)
		}
	}
	write(t, dir, "completions.jsonl", line(7, 0, 0, "z", "9", "right"))
	if steps, err = o.stepsFrom("completions.jsonl", 0); err != nil || len(steps) != 1 || steps[0].Step != 7 {
		t.Errorf("after a resume: %+v, %v", steps, err)
	}
}

// TestSearch: texts are found as they were written, whatever JSON makes of them, and only
// in prompt and completion.
func TestSearch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "")
	write(t, dir, "completions.jsonl", line(1, 0, 0, "what is 1+1?", `it's "two" <b>`, "right")+line(1, 0, 1, "what is 1+1?", `"verdict":"right"`, "wrong")+line(2, 0, 0, "ü?", "a\nb", "wrong"))
	runs, err := Open(dir)
	must(t, err)
	for _, c := range []struct {
		q    search
		want int
	}{
		{search{}, 3}, {search{Verdict: "right"}, 1}, {search{Verdict: "wrong"}, 2}, {search{Verdict: "graded"}, 0},
		{search{Text: `"two"`}, 1}, {search{Text: "1+1"}, 2}, {search{Text: "a\nb"}, 1}, {search{Text: "ü"}, 1}, {search{Text: "because"}, 0}, {search{Text: "reward"}, 0}, {search{Text: "completion"}, 0}, {search{Text: `?"`}, 0},
		{search{Text: `verdict":"right`, Verdict: "wrong"}, 1}, {search{Text: `1.1\?`, Regexp: true}, 2}, {search{Text: `is (1)\+1`, Regexp: true}, 2}, {search{Text: `(?i)WHAT`, Regexp: true}, 2}, {search{Text: `two|b$`, Regexp: true}, 2}, {search{Text: `(zz)*ü`, Regexp: true}, 1}, {search{Text: `reward`, Regexp: true}, 0}, {search{First: 2}, 1}, {search{Last: 1}, 2},
	} {
		for _, limit := range []int{0, 1, 10} {
			c.q.Limit = limit
			found, err := runs.list[0].search(t.Context(), c.q)
			if err != nil || found.Count != c.want || len(found.Lines) != min(limit, c.want) {
				t.Errorf("%+v: %d of %d, %v; want %d", c.q, len(found.Lines), found.Count, err, c.want)
			}
		}
	}
	if _, err := runs.list[0].search(t.Context(), search{Text: "(", Regexp: true}); err == nil {
		t.Error("a bad expression is accepted")
	}
}

// TestSearchEnds: a search ends with the request: the browser that asked has gone away.
func TestSearchEnds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "")
	write(t, dir, "completions.jsonl", line(1, 0, 0, "x", "y", "right"))
	runs, err := Open(dir)
	must(t, err)
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, query := range []string{"q=y", "q=y&regexp=1", "q=zebra"} {
		w := httptest.NewRecorder()
		runs.Handler().ServeHTTP(w, httptest.NewRequestWithContext(gone, "GET", "/run/run/search.json?"+query, nil))
		if got := w.Body.String(); w.Code != statusBad || !strings.Contains(got, context.Canceled.Error()) {
			t.Errorf("%s: %d %s", query, w.Code, got)
		}
	}
}

// TestFile: the page as one file holds nothing that ends its script, and its policy lets
// nothing else run.
func TestFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	hostile := "</script><script>alert(1)</script>\u2028<!--"
	write(t, dir, "recipe.toml", "about = \"x\"\n")
	write(t, dir, "metrics.jsonl", "{\"step\":1,\"stage\":\"rl\",\"reward/mean\":0.5}\n")
	var lines strings.Builder
	for step := range 50 {
		lines.WriteString(line(step+1, 0, 0, hostile, strings.Repeat("m", 1000), "right"))
	}
	write(t, dir, "completions.jsonl", lines.String())
	runs, err := Open(dir)
	must(t, err)
	data, err := runs.File(20_000)
	must(t, err)
	text := string(data)
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d scripts end, want 2", n)
	}
	if n := strings.Count(text, "mmmmmmmmmm\\\""); n < 6 || n > 19 || !strings.Contains(text, `{\"step\":50,`) {
		t.Errorf("%d completions of 1,100 bytes are in it; there is room for 18, and the last is among them", n)
	}
	for _, outside := range []string{"http://", "https://"} {
		for _, use := range []string{"src=\"" + outside, "href=\"" + outside, "url(" + outside} {
			if strings.Contains(text, use) {
				t.Errorf("something is loaded: %s", use)
			}
		}
	}
	if !strings.Contains(text, `"state":"unfinished"`) || strings.Contains(text, `"state":"running"`) {
		t.Error("a file that is opened later says that the run is running")
	}
	data, err = runs.File(10)
	must(t, err)
	if text := string(data); strings.Contains(text, "mmmm") || !strings.Contains(text, `\"reward/mean\":0.5`) {
		t.Error("without room for completions there are some, or the metrics are missing")
	}
}

// TestMethods: a page knows by what the stages of a run learn.
func TestMethods(t *testing.T) {
	preset, err := recipe.Load("countdown-blind", nil)
	must(t, err)
	root := t.TempDir()
	write(t, filepath.Join(root, "run"), "recipe.toml", preset.Resolved())
	write(t, filepath.Join(root, "odd"), "recipe.toml", "no recipe")
	runs, err := Open(root)
	must(t, err)
	var got []stageMethod
	must(t, json.Unmarshal([]byte(body(t, get(t, runs.Handler(), "/run/run/method.json"))), &got))
	if len(got) != 2 || got[1].Stage != "rl" || !strings.Contains(got[1].Text, "loss = ") {
		t.Errorf("%+v", got)
	}
	if text := body(t, get(t, runs.Handler(), "/run/odd/method.json")); text != "[]\n" {
		t.Errorf("what cannot be read has the methods %s", text)
	}
}

// TestComparedAgain: a comparison is made anew if, and only if, a file of it has changed.
func TestComparedAgain(t *testing.T) {
	root := shown(t)
	runs, err := Open(root)
	must(t, err)
	a, b := runs.byID("sums-1"), runs.byID("random")
	first := runs.cached(a, b)
	if again := runs.cached(runs.byID("sums-3"), runs.byID("random-2")); &again[0] != &first[0] {
		t.Error("nothing has changed, and the comparison of the two recipes is another one")
	}
	made(t, filepath.Join(root, "random"), "random", "random", 1, 60, 0.5)
	if again := runs.cached(a, b); string(again) == string(first) {
		t.Error("a run has changed, and its comparison has not")
	}
	told := map[string]int{}
	read := once(func(dir string, seed uint64) (*compare.Trial, error) {
		told[dir]++
		return compare.Read(dir, seed)
	})
	runs.against(a, b, read)
	runs.against(b, a, read)
	for dir, n := range told {
		if n != 1 {
			t.Errorf("%s was read %d times", dir, n)
		}
	}
}

// TestAgainst: recipes are compared by package compare, on the seeds that both have
// finished; the same stands in the page as one file. A mean of 64 accuracies up to 1 is
// off by 64 roundings at most.
func TestAgainst(t *testing.T) {
	runs, err := Open(shown(t))
	must(t, err)
	h := runs.Handler()
	var told struct {
		Seeds    []int
		Problems int
		Figures  []struct {
			Name    string
			Recipes []struct {
				Mean float64
				Gain struct{ Mean, Low, High float64 }
			}
		}
		Charts []struct{ Metric string }
	}
	text := body(t, get(t, h, "/run/sums-1/compare.json?with=random"))
	must(t, json.Unmarshal([]byte(text), &told))
	f := told.Figures[0]
	if len(told.Seeds) != 2 || told.Problems != 64 || f.Name != "accuracy" || len(told.Charts) < 3 || told.Charts[0].Metric != "eval/pass@1" {
		t.Errorf("comparison %+v", told)
	}
	if g := f.Recipes[1].Gain; math.Abs(g.Mean-f.Recipes[1].Mean+f.Recipes[0].Mean) > 64*0x1p-53 || !(0 < g.Low && g.Low < g.Mean && g.Mean < g.High) {
		t.Errorf("gain %+v of %+v", g, f.Recipes)
	}
	for path, want := range map[string]string{
		"/run/sums-1/compare.json?with=live":    `{"error":"live has not finished, and only finished runs are compared"}` + "\n",
		"/run/empty/compare.json?with=sums-1":   `{"error":"empty has not finished, and only finished runs are compared"}` + "\n",
		"/run/sums-1/compare.json?with=nothing": "there is no such run to compare with\n",
	} {
		if got := body(t, get(t, h, path)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	data, err := runs.File(20 << 20)
	must(t, err)
	if !strings.Contains(string(data), strings.TrimSpace(text)) {
		t.Error("the page as one file does not hold the comparison")
	}
}

// TestRecipeOf: runs that differ in their seed alone are one group.
func TestRecipeOf(t *testing.T) {
	group := func(text string) (string, uint64) {
		dir := t.TempDir()
		write(t, dir, "recipe.toml", text)
		return recipeOf(dir)
	}
	first, seed := group("about = \"a\"\nseed = 7\n\n[task]\nseed = 1\n")
	if seed != 7 {
		t.Errorf("seed %d", seed)
	}
	if other, _ := group("about = \"a\"\nseed = 8\n\n[task]\nseed = 1\n"); other != first {
		t.Error("another seed is another group")
	}
	if other, seed := group("about = \"a\"\nseed = 7\n\n[task]\nseed = 2\n"); other == first || seed != 7 {
		t.Error("another key is no other group")
	}
}

// TestUPlot pins the one asset of others: version 1.6.32 from the npm registry.
func TestUPlot(t *testing.T) {
	for name, want := range map[string]string{
		"uPlot.iife.min.js": "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uPlot.min.css":     "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		data, err := assets.ReadFile("assets/uplot/" + name)
		must(t, err)
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has the SHA-256 %x, want %s", name, sum, want)
		}
	}
}

// TestAssets: every script and style sheet of the folder is in the page, and the whole is
// small.
func TestAssets(t *testing.T) {
	listed := map[string]bool{}
	for _, name := range slices.Concat(scripts, screenScripts, mains, []string{style, "contest.js"}) {
		listed[name] = true
	}
	entries, err := assets.ReadDir("assets")
	must(t, err)
	for _, e := range entries {
		if !e.IsDir() && !listed[e.Name()] {
			t.Errorf("assets/%s is not a part of the page", e.Name())
		}
	}
	const most = 150_000 // bytes, compressed
	data, err := inline{}.bundle(slices.Concat([]string{uplot, uplotStyle}, scripts, screenScripts, mains), scriptless)
	must(t, err)
	if n := compressed(t, data); n > most {
		t.Errorf("the assets have %d bytes compressed, at most %d are accepted", n, most)
	}
}

func compressed(t *testing.T, data []byte) int {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	must(t, err)
	must(t, w.Close())
	return b.Len()
}
