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

// The page's scripts, in the order in which they are loaded: what every screen uses, the
// screens, one file each, and what shows them.
var (
	scripts       = []string{"base.js", "data.js", "scale.js", "draw.js"}
	screenScripts = []string{"runs.js", "now.js", "curves.js", "overlay.js", "completions.js", "heldout.js", "compare.js", "trust.js", "machine.js", "report.js"}
	mains         = []string{"main.js"}
)

// A server gives out uPlot before them, for curves that grow; a page that is one file draws
// all its curves as SVG.
const (
	uplot      = "uplot/uPlot.iife.min.js"
	uplotStyle = "uplot/uPlot.min.css"
	style      = "page.css"
)

// pageStyles and pageScripts are those of a page that a server gives out, in order.
var (
	pageStyles  = []string{uplotStyle, style}
	pageScripts = slices.Concat([]string{uplot}, scripts, screenScripts, mains)
)

// linked is the head of the page that a server gives out.
func linked() string {
	var b strings.Builder
	for _, name := range pageStyles {
		fmt.Fprintf(&b, "<link rel=\"stylesheet\" href=\"assets/%s\">\n", name)
	}
	for _, name := range pageScripts {
		fmt.Fprintf(&b, "<script defer src=\"assets/%s\"></script>\n", name)
	}
	return b.String()
}

// scriptless is what a page says that shows nothing without scripts.
const scriptless = "This page needs JavaScript. <code>rlzero show RUN</code> and <code>rlzero export RUN --format csv</code> do not."

// document is the page: everything on it is made by its scripts, but for what it shows without them.
func document(head, without string) string {
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
<main id="main" tabindex="-1"><noscript>` + without + `</noscript></main>
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
// this package, which starts the page; the styles in after come after its own.
func Site(more map[string][]byte, before, after []string) (map[string][]byte, error) {
	site := maps.Clone(more)
	for _, name := range slices.Concat(pageStyles, pageScripts) {
		data, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		site[path.Base(name)] = data
	}
	var head strings.Builder
	fmt.Fprintf(&head, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", tryPolicy)
	for _, name := range slices.Concat(pageStyles, after) {
		fmt.Fprintf(&head, "<link rel=\"stylesheet\" href=\"%s\">\n", path.Base(name))
	}
	last := len(pageScripts) - 1
	for _, name := range slices.Concat(pageScripts[:last], before, pageScripts[last:]) {
		fmt.Fprintf(&head, "<script defer src=\"%s\"></script>\n", path.Base(name))
	}
	site[entry] = []byte(document(head.String(), scriptless))
	return site, nil
}
