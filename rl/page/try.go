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
// own from there. A file that is there with .br or .gz after its name is sent compressed; so is
// one that is compressed itself and is there as .br too, which is smaller.
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
		w.Header().Set("Vary", "Accept-Encoding")
		for _, p := range []struct{ encoding, name string }{{"br", strings.TrimSuffix(name, ".gz") + ".br"}, {"gzip", name + ".gz"}} {
			if _, err := fs.Stat(site, p.name); err == nil && takes(r, p.encoding) {
				w.Header().Set("Content-Encoding", p.encoding)
				name = p.name
				break
			}
		}
		http.ServeFileFS(w, r, site, name)
	}), nil
}

// takes says whether a browser takes an encoding.
func takes(r *http.Request, encoding string) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if name, _, _ := strings.Cut(part, ";"); strings.TrimSpace(name) == encoding {
			return true
		}
	}
	return false
}

// kinds of the files of a site: what a system has in their place may be wrong.
var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".html": "text/html; charset=utf-8", ".gz": "application/octet-stream"}
