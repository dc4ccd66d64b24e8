// Package browser drives a headless Chromium for tests of pages. It opens an address at a given
// width and colour scheme, presses keys, evaluates scripts, takes pictures, and collects every
// complaint of the browser.
//
//	Start ── a process ── pipe ──> Page.Open, Key, Eval, Picture ──> Complaints
//
// It speaks the DevTools protocol (https://chromedevtools.github.io/devtools-protocol) over
// --remote-debugging-pipe, so it opens no socket of its own. Names are not resolved, so a page that
// asks for anything outside fails. Sizes are CSS pixels. A Browser belongs to one goroutine. The
// processes end with Close.
//
// The command in the folder inside runs Go tests in such a browser, on its WebGPU.
//
// Where no Chromium is installed, tests are skipped; with CI set that is a failure.
package browser
