package page

import (
	"bytes"
	"context"
	"net/http"
)

// Ask answers a GET request as Handler does, where there is no connection: the program in
// a browser is asked by messages. ranges is the Range header, "" for none. What a stream of
// events writes goes to told as it comes, and such a request does not end.
func (r *Runs) Ask(path, ranges string, told func(text []byte)) (status int, body []byte, err error) {
	q, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "/"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	if ranges != "" {
		q.Header.Set("Range", ranges)
	}
	w := &reader{header: http.Header{}, status: http.StatusOK, told: told}
	r.Handler().ServeHTTP(w, q)
	return w.status, w.body.Bytes(), nil
}

// reader is the http.ResponseWriter of Ask.
type reader struct {
	header http.Header
	status int
	body   bytes.Buffer
	told   func([]byte)
}

func (w *reader) Header() http.Header { return w.header }

func (w *reader) WriteHeader(status int) { w.status = status }

func (w *reader) Write(data []byte) (int, error) { return w.body.Write(data) }

// Flush implements http.Flusher, which only the stream of events uses.
func (w *reader) Flush() {
	if w.body.Len() > 0 {
		w.told(w.body.Bytes())
		w.body.Reset()
	}
}
