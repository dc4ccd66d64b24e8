package page

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlzero/rlzero/rl/metrics"
)

//go:embed assets
var assets embed.FS

// The page's scripts, in the order in which they are loaded: what every screen uses, the
// screens, one file each, and what shows them.
var (
	scripts       = []string{"base.js", "data.js", "scale.js", "draw.js"}
	screenScripts = []string{"runs.js", "now.js", "curves.js", "completions.js", "heldout.js", "compare.js", "trust.js", "machine.js", "report.js"}
	mains         = []string{"main.js"}
)

// A server gives out uPlot before them, for curves that grow; a page that is one file draws
// all its curves as SVG.
const (
	uplot      = "uplot/uPlot.iife.min.js"
	uplotStyle = "uplot/uPlot.min.css"
	style      = "page.css"
)

// Handler answers the requests of the page.
func (r *Runs) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, document(linked()))
	})
	mux.HandleFunc("GET /assets/{name...}", asset)
	mux.HandleFunc("GET /runs.json", func(w http.ResponseWriter, _ *http.Request) { reply(w, r.describe(), nil) })
	mux.HandleFunc("GET /metrics.json", func(w http.ResponseWriter, _ *http.Request) { reply(w, metrics.Table(), nil) })
	mux.HandleFunc("GET /events", r.events)
	mux.HandleFunc("GET /run/{id}/steps.json", r.of(func(w http.ResponseWriter, q *http.Request, o *run) {
		from, _ := strconv.Atoi(q.FormValue("from")) // 0 where it is none
		file := q.FormValue("file")
		if file != "tokens.jsonl" {
			file = "completions.jsonl"
		}
		steps, err := o.stepsFrom(file, from)
		reply(w, steps, err)
	}))
	mux.HandleFunc("GET /run/{id}/search.json", r.of(func(w http.ResponseWriter, q *http.Request, o *run) {
		query, err := queryOf(q)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		found, err := o.search(query)
		reply(w, found, err)
	}))
	mux.HandleFunc("GET /run/{id}/compare.json", r.of(func(w http.ResponseWriter, q *http.Request, o *run) {
		other := r.byID(q.FormValue("with"))
		if other == nil {
			http.Error(w, "there is no such run to compare with", http.StatusNotFound)
			return
		}
		reply(w, r.cached(o, other), nil)
	}))
	mux.HandleFunc("GET /run/{id}/method.json", r.of(func(w http.ResponseWriter, _ *http.Request, o *run) { reply(w, o.methods(), nil) }))
	mux.HandleFunc("GET /run/{id}/{file}", r.of(func(w http.ResponseWriter, q *http.Request, o *run) {
		f, info, err := o.open(q.PathValue("file"))
		if err != nil {
			reply(w, nil, err)
			return
		}
		defer f.Close()
		// A reader that asks for what comes next while the file became shorter makes no
		// mistake: browsers note a 416 as an error of the page.
		var from int64
		if _, err := fmt.Sscanf(q.Header.Get("Range"), "bytes=%d-", &from); err == nil && from >= info.Size() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeContent(w, q, "", info.ModTime(), f)
	}))
	return mux
}

// of is a handler of one run.
func (r *Runs) of(do func(http.ResponseWriter, *http.Request, *run)) http.HandlerFunc {
	return func(w http.ResponseWriter, q *http.Request) {
		o := r.byID(q.PathValue("id"))
		if o == nil {
			http.Error(w, "there is no such run", http.StatusNotFound)
			return
		}
		do(w, q, o)
	}
}

func (r *Runs) describe() []Run {
	r.find()
	list := []Run{}
	for _, o := range r.known() {
		list = append(list, o.describe())
	}
	return list
}

// reply writes JSON, or what went wrong.
func reply(w http.ResponseWriter, v any, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "the run has no such file", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v) // a browser that has gone away needs nothing
}

// queryOf reads the query of a search.
func queryOf(r *http.Request) (Query, error) {
	const most = 1000 // lines of an answer
	q := Query{Text: r.FormValue("q"), Regexp: r.FormValue("regexp") == "1", Verdict: r.FormValue("verdict"), Limit: 200}
	for name, into := range map[string]*int{"first": &q.First, "last": &q.Last, "limit": &q.Limit} {
		if text := r.FormValue(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return q, fmt.Errorf("%s is %q; accepted: a whole number from 0", name, text)
			}
			*into = n
		}
	}
	q.Limit = min(q.Limit, most)
	return q, nil
}

// asset is a script or style sheet.
func asset(w http.ResponseWriter, r *http.Request) {
	name := path.Clean(r.PathValue("name"))
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	kind := "text/javascript; charset=utf-8"
	if strings.HasSuffix(name, ".css") {
		kind = "text/css; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Write(data)
}

// pause between two looks at the files.
const pause = 500 * time.Millisecond

// events tells a browser which files have changed, until it goes away. A run that is new
// has the file "".
func (r *Runs) events(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	seen := map[string]map[string]int64{}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for first := true; ; first = false {
		for _, d := range r.describe() {
			if seen[d.ID] == nil && !first {
				send(w, d.ID, "", 0)
			}
			for _, name := range Files {
				size, there := d.Files[name]
				if was, known := seen[d.ID][name]; !first && (there != known || size != was) {
					send(w, d.ID, name, size)
				}
			}
			seen[d.ID] = d.Files
		}
		if first {
			fmt.Fprint(w, ": ready\n\n")
		}
		if out.Flush() != nil {
			return
		}
		select {
		case <-q.Context().Done():
			return
		case <-tick.C:
		}
	}
}

func send(w http.ResponseWriter, id, file string, size int64) {
	line, err := json.Marshal(map[string]any{"run": id, "file": file, "size": size})
	if err == nil {
		fmt.Fprintf(w, "data: %s\n\n", line)
	}
}

// linked is the head of the page that a server gives out.
func linked() string {
	var b strings.Builder
	for _, name := range []string{uplotStyle, style} {
		fmt.Fprintf(&b, "<link rel=\"stylesheet\" href=\"assets/%s\">\n", name)
	}
	for _, name := range slices.Concat([]string{uplot}, scripts, screenScripts, mains) {
		fmt.Fprintf(&b, "<script defer src=\"assets/%s\"></script>\n", name)
	}
	return b.String()
}

// document is the page: everything on it is made by its scripts.
func document(head string) string {
	return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>rlzero</title>
<link rel="icon" href="data:,">
` + head + `</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header id="top"></header>
<main id="main" tabindex="-1"><noscript>This page needs JavaScript. <code>rlzero show RUN</code> and <code>rlzero export RUN --format csv</code> do not.</noscript></main>
<div id="live" role="status" class="unseen"></div>
</body>
</html>
`
}
