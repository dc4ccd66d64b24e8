// Package browser drives a headless Chromium for tests of pages: opens an address at a
// width and in a colour scheme, presses keys, evaluates scripts, takes pictures, and
// gathers everything that the browser complains about.
//
//	Start ── a process ── pipe ──> Page.Open, Key, Eval, Picture ──> Complaints
//
// It speaks the DevTools protocol (https://chromedevtools.github.io/devtools-protocol) over
// --remote-debugging-pipe, so it opens no socket of its own; names are not resolved, so
// that a page that asks for anything outside fails. Sizes are CSS pixels. A Browser
// belongs to one goroutine. The processes end with Close.
//
// Command inside, below, runs tests of Go programs in such a browser, on its WebGPU.
//
// Where no Chromium is installed, tests are skipped; with CI set that is a failure.
package browser
