package page

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rlzero/rlzero/internal/hint"
	"github.com/rlzero/rlzero/rl/lines"
)

// tryPolicy lets the page that trains in the browser do one thing more than the others:
// compile the program that it came with.
const tryPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'"

// entry is the file of a web site that a browser asks for first.
const entry = "index.html"

// Site is the page that trains in the browser, as files by their names: this package's
// scripts and styles, and those of more. The scripts in before come ahead of the last of
// this package, which starts the page; styles come after its own.
func Site(more map[string][]byte, before, after []string) (map[string][]byte, error) {
	site := maps.Clone(more)
	last := scripts[len(scripts)-1]
	names := slices.Concat(styles, scripts)
	for _, name := range names {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		site[path.Base(name)] = data
	}
	var head strings.Builder
	fmt.Fprintf(&head, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", tryPolicy)
	for _, name := range slices.Concat(styles, after) {
		fmt.Fprintf(&head, "<link rel=\"stylesheet\" href=\"%s\">\n", path.Base(name))
	}
	for _, name := range slices.Concat(scripts[:len(scripts)-1], before, []string{last}) {
		fmt.Fprintf(&head, "<script defer src=\"%s\"></script>\n", path.Base(name))
	}
	site[entry] = []byte(document(head.String()))
	return site, nil
}

// Try serves the folder of such a site, with the policy as a header too: a worker takes its
// own from there. A file that is there with .gz behind its name is sent compressed.
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
