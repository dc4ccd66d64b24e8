package page

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed assets
var assets embed.FS

// scripts are the page's, in the order in which they are loaded: a screen is one file.
var scripts = []string{"uplot/uPlot.iife.min.js", "base.js", "data.js", "scale.js", "draw.js", "runs.js", "now.js", "curves.js", "completions.js", "heldout.js", "compare.js", "trust.js", "machine.js", "main.js"}

var styles = []string{"uplot/uPlot.min.css", "page.css"}

// linked is the head of the page that a server gives out.
func linked() string {
	var b strings.Builder
	for _, name := range styles {
		fmt.Fprintf(&b, "<link rel=\"stylesheet\" href=\"assets/%s\">\n", name)
	}
	for _, name := range scripts {
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
<main id="main" tabindex="-1"><noscript>This page needs JavaScript. <code>rlzero report RUN</code> writes one that does not.</noscript></main>
<div id="live" role="status" class="unseen"></div>
</body>
</html>
`
}

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
