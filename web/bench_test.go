//go:build !js

package main

import (
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
)

// The figures of the page, in milliseconds, on SwiftShader through WebGPU:
//
//	go test ./web -run '^$' -bench . -benchtime 1x

// BenchmarkFirstResult measures the time from Train to the first step on the screen.
func BenchmarkFirstResult(b *testing.B) {
	page := browser.Start(b, browser.WebGPU...)
	page.View(1280, 900, false)
	url := served(b) + onGPU
	for b.Loop() {
		open(page, url)
		var ms float64
		page.Eval(`new Promise((done) => {
  const began = performance.now();
  document.querySelector("form .primary").click();
  const timer = setInterval(() => { if (document.querySelector(".facts")) { clearInterval(timer); done(performance.now() - began); } }, 10);
})`, &ms)
		b.ReportMetric(ms, "ms/first")
	}
}

// BenchmarkInput measures how long the page takes to answer while a run trains: the
// longest of 200 waits for the event loop, with a frame of each.
func BenchmarkInput(b *testing.B) {
	page := browser.Start(b, browser.WebGPU...)
	page.View(1280, 900, false)
	open(page, served(b)+onGPU)
	train(page)
	page.Wait("document.querySelector('.facts')")
	for b.Loop() {
		var ms float64
		page.Eval(`(async () => {
  let longest = 0;
  for (let i = 0; i < 200; i++) {
    await new Promise((r) => setTimeout(r, 30));
    const began = performance.now();
    await new Promise((r) => { const c = new MessageChannel(); c.port1.onmessage = () => requestAnimationFrame(r); c.port2.postMessage(0); });
    longest = Math.max(longest, performance.now() - began);
  }
  return longest;
})()`, &ms)
		b.ReportMetric(ms, "ms/longest")
	}
}
