package page

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAsk: without a connection the answers are those that Handler gives.
func TestAsk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "seed = 1\n")
	write(t, dir, "completions.jsonl", line(1, 0, 0, "1+1", "2", "right"))
	runs, err := Open(dir)
	must(t, err)
	for _, c := range []struct{ path, ranges string }{
		{"runs.json", ""}, {"run/run/recipe.toml", ""}, {"run/run/recipe.toml", "bytes=3-5"}, {"run/run/recipe.toml", "bytes=100-"},
		{"run/run/steps.json?from=0", ""}, {"run/run/search.json?q=2&limit=x", ""}, {"run/run/search.json?q=2", ""}, {"run/other/recipe.toml", ""}, {"run/run/..%2Frecipe.toml", ""}, {"nothing", ""},
	} {
		var header []string
		if c.ranges != "" {
			header = []string{"Range", c.ranges}
		}
		want := get(t, runs.Handler(), "/"+c.path, header...)
		status, got := runs.Ask(c.path, c.ranges)
		if text := body(t, want); status != want.StatusCode || strings.TrimSpace(string(got)) != strings.TrimSpace(text) {
			t.Errorf("%s %s: status %d and %q, the handler gives %d and %q", c.path, c.ranges, status, got, want.StatusCode, text)
		}
	}
	if status, _ := runs.Ask("%", ""); status != http.StatusBadRequest {
		t.Errorf("an address that is none has status %d", status)
	}
}

// TestWatch: all runs are told at first, then one whose file has grown, and one that is new.
func TestWatch(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "still"), "recipe.toml", "")
	write(t, filepath.Join(root, "run"), "recipe.toml", "")
	runs, err := Open(root)
	must(t, err)
	var looks [][]string
	ended := errors.New("enough")
	err = runs.Watch(t.Context(), func(changed []Run) error {
		var told []string
		for _, d := range changed {
			told = append(told, fmt.Sprintf("%s %s %d", d.ID, d.State, d.Files["metrics.jsonl"]))
		}
		looks = append(looks, told)
		switch len(looks) {
		case 1:
			write(t, filepath.Join(root, "run"), "metrics.jsonl", "{}\n")
		case 3:
			write(t, filepath.Join(root, "new"), "recipe.toml", "")
		case 4:
			return ended
		}
		return nil
	})
	if err != ended {
		t.Errorf("it ends with %v", err)
	}
	if want := [][]string{{"run stopped 0", "still stopped 0"}, {"run running 3"}, nil, {"new stopped 0"}}; !reflect.DeepEqual(looks, want) {
		t.Errorf("it tells %q, want %q", looks, want)
	}
}

// TestClockSetBack: a run whose logs are of the future, as the clock was set back, is not in progress;
// one that writes again is. A browser that has a file with a later time gets what is there now.
func TestClockSetBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	write(t, dir, "recipe.toml", "")
	write(t, dir, "metrics.jsonl", "{}\n")
	ahead := time.Now().Add(time.Hour)
	must(t, os.Chtimes(filepath.Join(dir, "metrics.jsonl"), ahead, ahead))
	runs, err := Open(dir)
	must(t, err)
	state := func() string { return runs.describe()[0].State }
	if got := state(); got != "stopped" {
		t.Errorf("a run that wrote an hour ahead is %q", got)
	}
	write(t, dir, "timing.jsonl", "{}\n")
	if got := state(); got != "running" {
		t.Errorf("a run that writes is %q", got)
	}
	write(t, dir, "metrics.jsonl", "{\"step\":1}\n")
	if again := get(t, runs.Handler(), "/run/run/metrics.jsonl", "If-Modified-Since", ahead.UTC().Format(http.TimeFormat)); again.StatusCode != http.StatusOK || body(t, again) != "{\"step\":1}\n" {
		t.Errorf("a file that was written again is answered with %s", again.Status)
	}
}

// TestTry: the site is served with its policy, compressed where the browser takes it, and
// nothing beside it is.
func TestTry(t *testing.T) {
	site, err := Site(map[string][]byte{"program.js": []byte("// more")}, []string{"program.js"}, []string{"try.css"})
	must(t, err)
	root := t.TempDir()
	dir := filepath.Join(root, "site")
	for name, data := range site {
		write(t, dir, name, string(data))
	}
	write(t, dir, "base.js.gz", "packed")
	write(t, root, "secret.txt", "secret")
	h, err := Try(dir)
	must(t, err)
	first := get(t, h, "/")
	page := body(t, first)
	if got := first.Header.Get("Content-Security-Policy"); !strings.Contains(got, "script-src 'self' 'wasm-unsafe-eval'") || !strings.Contains(page, tryPolicy) {
		t.Errorf("the policy is %q, the page %q", got, page)
	}
	var order []int
	for _, name := range []string{"page.css", "try.css", "base.js", "program.js", `"main.js"`} {
		order = append(order, strings.Index(page, name))
	}
	if !slices.IsSorted(order) || order[0] < 0 {
		t.Errorf("scripts and styles stand at %v", order)
	}
	if r := get(t, h, "/base.js", "Accept-Encoding", "br, gzip"); r.Header.Get("Content-Encoding") != "gzip" || body(t, r) != "packed" || r.Header.Get("Content-Type") != kinds[".js"] {
		t.Errorf("a compressed script comes with %v", r.Header)
	}
	write(t, dir, "base.js.br", "smaller")
	write(t, dir, "rlzero.wasm.gz", "packed")
	write(t, dir, "rlzero.wasm.br", "smaller")
	for _, path := range []string{"/base.js", "/rlzero.wasm.gz"} { // the program is there as .gz for other servers
		if r := get(t, h, path, "Accept-Encoding", "gzip, br;q=1"); r.Header.Get("Content-Encoding") != "br" || body(t, r) != "smaller" {
			t.Errorf("%s for who takes brotli comes with %v", path, r.Header)
		}
	}
	if r := get(t, h, "/rlzero.wasm.gz", "Accept-Encoding", "gzip"); r.Header.Get("Content-Encoding") != "" || body(t, r) != "packed" {
		t.Errorf("the program for who takes no brotli comes with %v", r.Header)
	}
	if r := get(t, h, "/base.js"); r.Header.Get("Content-Encoding") != "" || body(t, r) != string(site["base.js"]) {
		t.Errorf("a script for who takes nothing compressed comes with %v", r.Header)
	}
	for _, path := range []string{"/../secret.txt", "/..%2Fsecret.txt", "/nothing"} {
		if r := get(t, h, path); r.StatusCode == 200 && strings.Contains(body(t, r), "secret") || path == "/nothing" && r.StatusCode != 404 {
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
	}
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "browser.md"))
	must(t, err)
	if !strings.Contains(string(guide), "\nContent-Security-Policy: "+tryPolicy+"\n") {
		t.Error("docs/guide/browser.md does not name the header that other servers have to send")
	}
	if _, err := Try(root); err == nil || !strings.Contains(err.Error(), "holds no index.html") {
		t.Errorf("a folder without a page: %v", err)
	}
}
