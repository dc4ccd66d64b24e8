//go:build !js

package page

import (
	"cmp"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/internal/lines"
)

// Try serves the folder of such a site, with the policy as a header too: a worker takes its
// own from there. A file that is there with .gz after its name is sent compressed.
func Try(dir string) (http.Handler, error) {
	if _, err := os.Stat(path.Join(dir, entry)); err != nil {
		return nil, hint.With(fmt.Errorf("%w: %s holds no %s", lines.ErrInput, dir, entry), "make web builds the page into dist/web")
	}
	site := os.DirFS(dir)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", tryPolicy+"; frame-ancestors 'none'")
		name := cmp.Or(strings.TrimPrefix(path.Clean(r.URL.Path), "/"), entry)
		if kind := kinds[path.Ext(name)]; kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		if _, err := fs.Stat(site, name+".gz"); err == nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			name += ".gz"
		}
		http.ServeFileFS(w, r, site, name)
	}), nil
}

// kinds of the files of a site: what a system has in their place may be wrong.
var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".html": "text/html; charset=utf-8", ".gz": "application/octet-stream"}
