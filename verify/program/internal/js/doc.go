// Package js runs one JavaScript program against one test in QuickJS, within limits.
//
//	Task{program, stdin | call, args | assert, limits} ── Run ──> worker.Report
//
// Each task gets a new engine, and nothing of it remains. It has ES2023 and what host.js adds:
// enough of Node for programs that read stdin and print. It has no files, no network, no modules,
// no clock and no randomness. The time starts at 2025-01-01 12:00 UTC and advances by a millisecond
// each time it is read; Math.random is a fixed sequence.
//
// The expected result never enters the engine. host.js takes the functions that it needs before the
// program runs, so a program that replaces JSON.stringify or Array.prototype.map harms only itself.
//
// Some loops inside QuickJS check no limit (Array.prototype.indexOf over {length: 2**53}), so Run
// belongs in a process that can be ended (package worker).
//
// QuickJS: https://bellard.org/quickjs, transpiled by modernc.org/quickjs.
package js
