// Package js runs one JavaScript program against one test in QuickJS, within limits.
//
//	Task{program, stdin | call, args | assert, limits} ── Run ──> worker.Report
//
// A new engine is made for each task, and nothing is left of it. It has ES2023 and
// what host.js adds: enough of Node for programs that read stdin and print. It has
// no files, no network, no modules, no clock and no chance: the time starts at
// 2025-01-01 12:00 UTC and goes on a millisecond with each look at it, and
// Math.random is a fixed sequence.
//
// What is expected of the program never enters the engine. host.js takes the
// functions it needs before the program runs, so that a program that replaces
// JSON.stringify or Array.prototype.map changes nothing but itself.
//
// Some loops inside QuickJS look at no limit (Array.prototype.indexOf over
// {length: 2**53}), so Run belongs into a process that can be ended: package
// worker.
//
// QuickJS: https://bellard.org/quickjs, transpiled by modernc.org/quickjs.
package js
