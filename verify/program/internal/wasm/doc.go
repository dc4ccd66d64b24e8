// Package wasm runs one WebAssembly module against one test in wazero, within
// limits.
//
//	Task{module | runtime, stdin | call, args, limits} ── Run ──> worker.Report
//
// A module is WebAssembly 2.0 and may import WASI preview 1, and nothing else. It
// has stdin, stdout, its arguments and, when the task gives one, a folder to read.
// Clock and chance of WASI are wazero's own, the same in every run. Every task gets
// a new instance.
//
// A runtime is a module out of a file that the user trusts, such as an interpreter
// of a language compiled to WASI; it is compiled once for a process.
//
// wazero stops a module at its next loop or call when the time is over, but not
// while it compiles: Run belongs into a process that can be ended, package worker.
//
// https://wazero.io, https://github.com/WebAssembly/WASI/tree/main/legacy/preview1
package wasm
