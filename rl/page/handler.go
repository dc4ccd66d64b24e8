//go:build !js

package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// Handler answers the requests of the page.
func (r *Runs) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, document(linked()))
	})
	mux.HandleFunc("GET /assets/{name...}", asset)
	mux.HandleFunc("GET /events", r.events)
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, q *http.Request) {
		v, err := r.table(q.PathValue("name"))
		reply(w, v, err)
	})
	mux.HandleFunc("GET /run/{id}/{file}", func(w http.ResponseWriter, q *http.Request) {
		o, name := r.byID(q.PathValue("id")), q.PathValue("file")
		v, err := r.of(q.Context(), o, name, q.URL.Query())
		if v != nil || err != nil {
			reply(w, v, err)
			return
		}
		f, info, err := o.open(name)
		if err != nil {
			reply(w, nil, err)
			return
		}
		defer f.Close()
		if from, _ := span(q.Header.Get("Range")); from > 0 && from >= info.Size() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.ServeContent(w, q, "", info.ModTime(), f)
	})
	return mux
}

// reply writes JSON, or what went wrong.
func reply(w http.ResponseWriter, v any, err error) {
	status, body := encode(v, err)
	if err != nil {
		http.Error(w, string(body), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body) // a browser that has gone away needs nothing
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

// events tells a browser which runs have changed, until it goes away.
func (r *Runs) events(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	fmt.Fprint(w, ": ready\n\n")
	r.Watch(q.Context(), func(changed []Run) error {
		if len(changed) > 0 {
			line, err := json.Marshal(changed)
			if err != nil { // texts and numbers always encode
				panic(err)
			}
			fmt.Fprintf(w, "data: %s\n\n", line)
		}
		return out.Flush()
	})
}
