// Package wgpu is the part of WebGPU that computing needs, in a few coarse calls: one call encodes
// and submits a whole program. There are two implementations, over wgpu-native with cgo, and over
// the browser's own interface for GOOS=js.
//
//	types.go        what both share
//	wgpu.go         wgpu-native: the calls of calls.c
//	adapter_js.go   the browser: its one adapter, with the browser's name as driver
//	device_js.go    device, queue, errors
//	calls_js.go     buffers and their copies, pipelines, commands
//	promise_js.go   waiting: a goroutine sleeps, the event loop goes on
//
// # wgpu-native
//
// The library itself (WebGPU over Metal, Direct3D 12 or Vulkan) comes as a static
// archive with the module github.com/cogentcore/webgpu v0.23.0, wgpu-native
// 22.1. That module's own Go functions are not used for the work: they catch
// validation errors only, so that running out of memory ends the process, they
// pass pointers to Go memory that the collector may already have reclaimed when
// a callback reads them, and each dispatch costs several calls.
//
//	abi.h      the declarations of webgpu.h that are used, by their layout
//	calls.c    the calls; every error becomes a report
//	guard.cpp  catches the panics by which wgpu-native ends on a lost device
//
// # Errors
//
// wgpu-native reports errors through callbacks, on the calling thread, during the
// call. calls.c keeps the first of them in thread-local memory and hands it back
// with the call, so calls may be made from several threads at once. Where the
// library would end the process (submit or poll on a lost device) it first prints
// a message to stderr; the panic is caught and becomes an Error of kind Panic.
//
// A browser reports errors later. Calls that make something (a buffer, a pipeline, commands) wait
// for their error scopes (https://www.w3.org/TR/webgpu/#error-scopes). Write and Submit do not
// wait; their errors are returned by the next Wait or Read. A rejected promise and the loss of the
// device are errors of kind Lost.
//
// # Lifetimes
//
// Handles are references: Release gives one back, and what the device still uses lives on inside
// the library. Nothing here is freed by the garbage collector. The library's own device stays until
// the process ends and takes some hundred kilobytes. Otherwise no device could be opened after
// another one was closed.
//
// # Threads
//
// Calls on different objects may overlap. A Device's Read may not overlap another
// Read of it.
//
// # Caveats
//
// Layouts and numbers are those of wgpu-native 22.1; another version of the
// module needs abi.h looked through. A C++ compiler is needed, and libstdc++ is
// linked statically on Linux and Windows.
//
// Sources: https://github.com/webgpu-native/webgpu-headers (the C interface),
// https://github.com/gfx-rs/wgpu-native at tag v22.1.0.5 (what it does).
package wgpu
