// Package wasm runs one WebAssembly module against one test in wazero, within
// limits.
//
//	Task{module | runtime, stdin | call, args, limits} ── Run ──> worker.Report
//
// A module is WebAssembly 2.0 and may import WASI preview 1, and nothing else. It has stdin,
// stdout, its arguments and, when the task gives one, a folder to read. The clock and the random
// numbers of WASI are wazero's own, the same in every run. Every task gets a new instance.
//
// A runtime is a module from a file that the user trusts, such as an interpreter compiled to WASI.
// It is compiled once in a process.
//
// When the time is over, wazero stops a module at its next loop or call, but not while it compiles.
// So Run belongs in a process that can be ended (package worker).
//
// https://wazero.io, https://github.com/WebAssembly/WASI/tree/main/legacy/preview1
package wasm
