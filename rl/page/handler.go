//go:build !js

package page

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
)

// Handler answers the requests of the page.
func (r *Runs) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, q *http.Request) {
		send(w, q, "text/html; charset=utf-8", []byte(document(linked(), scriptless)))
	})
	mux.HandleFunc("GET /assets/{name...}", asset)
	mux.HandleFunc("GET /events", r.events)
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, q *http.Request) {
		v, err := r.table(q.PathValue("name"))
		reply(w, q, v, err)
	})
	mux.HandleFunc("GET /run/{id}/{file}", func(w http.ResponseWriter, q *http.Request) {
		o, name := r.byID(q.PathValue("id")), q.PathValue("file")
		v, err := r.of(q.Context(), o, name, q.URL.Query())
		if v != nil || err != nil {
			reply(w, q, v, err)
			return
		}
		f, info, err := o.open(name)
		if err != nil {
			reply(w, q, nil, err)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", plain)
		if q.Header.Get("Range") == "" && info.Size() >= worthwhile {
			packed := brotli.HTTPCompressor(w, q)
			io.Copy(packed, io.LimitReader(f, info.Size())) // a browser that has gone away needs nothing
			packed.Close()
			return
		}
		if from, _ := span(q.Header.Get("Range")); from > 0 && from >= info.Size() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		// Without a time of change: by it a browser would keep what it has of a file that is written
		// again within the second, or after the clock was set back.
		http.ServeContent(w, q, "", time.Time{}, f)
	})
	return mux
}

// plain is the type of the files of a run.
const plain = "text/plain; charset=utf-8"

// reply writes JSON, or what went wrong.
func reply(w http.ResponseWriter, q *http.Request, v any, err error) {
	status, body := encode(v, err)
	if err != nil {
		http.Error(w, string(body), status)
		return
	}
	send(w, q, "application/json", body)
}

// worthwhile is how many bytes an answer has at least that is compressed: a smaller one fits into a
// packet as it is.
const worthwhile = 1400

// send writes an answer, compressed where the browser takes that.
func send(w http.ResponseWriter, q *http.Request, kind string, body []byte) {
	w.Header().Set("Content-Type", kind)
	if len(body) < worthwhile {
		w.Write(body) // a browser that has gone away needs nothing
		return
	}
	packed := brotli.HTTPCompressor(w, q)
	packed.Write(body)
	packed.Close()
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
	send(w, r, kind, data)
}

// beat is the longest time in which a browser hears nothing of the server: one that hears nothing
// for longer says that the server is gone.
const beat = 2 * time.Second

// events tells a browser which runs have changed, until it goes away; none, where it has heard
// nothing for a beat.
func (r *Runs) events(w http.ResponseWriter, q *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	var spoken time.Time
	r.Watch(q.Context(), func(changed []Run) error {
		if len(changed) == 0 && time.Since(spoken) < beat {
			return nil
		}
		spoken = time.Now()
		line, err := json.Marshal(append([]Run{}, changed...))
		if err != nil { // texts and numbers always encode
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", line)
		return out.Flush()
	})
}
