//go:build !js

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rlzero/rlzero/internal/browser"
)

// handles stand in for the two files of the private file system: their writes fail beyond
// a room that they share, and a flush fails on demand. room.most is the longest read.
const handles = `
const room = { bytes: Infinity, broken: false, most: 0 };
const files = [0, 1].map(() => ({
  data: new Uint8Array(1 << 20), size: 0,
  getSize() { return this.size; },
  truncate(n) { this.size = n; },
  flush() { if (room.broken) throw new DOMException("closed", "InvalidStateError"); },
  read(out, { at }) { room.most = Math.max(room.most, out.length); out.set(this.data.subarray(at, Math.min(this.size, at + out.length))); return out.length; },
  write(bytes, { at }) {
    const end = Math.max(this.size, at + bytes.length);
    if (files[0].size + files[1].size - this.size + end > room.bytes) throw new DOMException("full", "QuotaExceededError");
    if (end > this.data.length) { const old = this.data; this.data = new Uint8Array(2 * end); this.data.set(old.subarray(0, this.size)); }
    this.data.set(bytes, at);
    this.size = end;
    return bytes.length;
  },
}));
openHandles = async () => files;
const MB = 1 << 20, of = (n, value) => new Uint8Array(n).fill(value);
let fs, disk;
const start = async () => { disk = await openDisk(); fs = fileSystem(disk, () => {}); };
// call is the value of a call, or its code.
const call = (name, ...args) => { let out; fs[name](...args, (e, value) => { out = e ? e.code : value; }); return out; };
const OPEN = FLAG.O_RDWR | FLAG.O_CREAT;
const first = (path) => { const b = of(1, 0); call("read", call("open", path, 0), b, 0, 1, 0); return b[0]; };
await start();
`

// diskCases are scripts over the disk, and the JSON that they return.
var diskCases = []struct{ name, script, want string }{
	{"no room to tidy", `
const model = call("open", "/models/m", OPEN), log = call("open", "/runs/l", OPEN), done = [];
call("write", model, of(10 * MB, 7), 0, 10 * MB, 0);
room.bytes = 72 * MB;
for (let i = 1; i <= 60; i++) { call("write", log, of(MB, i), 0, MB, 0); done.push(call("fsync", log)); }
await start(); // the records take 70 MB, and for 11 MB more there is no room
const kept = [first("/models/m"), first("/runs/l")], before = files[0].size + files[1].size;
room.bytes = Infinity;
const again = call("open", "/runs/l", OPEN);
for (let i = 61; i <= 160; i++) { call("write", again, of(MB, i), 0, MB, 0); call("fsync", again); }
const shrunk = files[0].size + files[1].size < before;
await start();
return [...new Set(done), ...kept, before > 69 * MB, shrunk, first("/models/m"), first("/runs/l")];`,
		`[null,7,60,true,true,7,160]`},
	{"garbage in one session, no room later", `
const log = call("open", "/runs/l", OPEN);
room.bytes = 66 * MB;
call("write", log, of(3 * MB, 1), 0, 3 * MB, 0);
let n = 0;
for (let i = 1; i <= 62; i++) { call("write", log, of(MB, i), 0, MB, 0); n += call("fsync", log) == null; }
room.bytes = 0;
const codes = [call("write", log, of(MB, 99), 0, MB, 0), call("fsync", log)];
room.bytes = Infinity;
codes.push(call("fsync", log) == null);
await start();
return [n, ...codes, first("/runs/l")];`,
		`[62,"ENOSPC","ENOSPC",true,99]`},
	{"a full disk opens", `
const f = call("open", "/models/m", OPEN);
call("write", f, of(10 * MB, 7), 0, 10 * MB, 0);
call("fsync", f);
room.bytes = files[0].size + files[1].size;
await start();
return [first("/models/m"), disk.journal !== null];`,
		`[7,true]`},
	{"no room for a first record", `
files[0].size = files[1].size = 0;
room.bytes = 0;
await start();
const f = call("open", "/runs/f", OPEN);
return [disk.journal, call("write", f, of(1, 5), 0, 1, 0), call("fsync", f) == null, first("/runs/f")];`,
		`[null,1,true,5]`},
	{"models stay on the disk", `
// A byte of the model is a function of its place, also after overwriting, cutting and growing.
const at = (i) => i % 251, model = Uint8Array.from({ length: 9 * MB + 5 }, (_, i) => at(i));
const f = call("open", "/models/m", OPEN), log = call("open", "/runs/l", OPEN), found = [];
call("write", f, model, 0, model.length, 0);
call("write", f, of(1000, 9), 0, 1000, 4 * MB - 500);
call("ftruncate", f, 9 * MB - 7);
call("ftruncate", f, 9 * MB);
const look = () => {
  const file = call("open", "/models/m", 0), all = of(9 * MB + 1, 1), n = call("read", file, all, 0, all.length, 0);
  const want = (i) => i >= 9 * MB - 7 ? 0 : i >= 4 * MB - 500 && i < 4 * MB + 500 ? 9 : at(i);
  const held = [...disk.tree.nodes.values()].filter((f) => f.parts).reduce((n, f) => n + f.data.length, 0);
  let wrong = 0;
  for (let i = 0; i < 9 * MB; i++) if (all[i] !== want(i)) wrong++;
  const part = of(3000, 1);
  call("read", file, part, 0, part.length, 4 * MB - 1500);
  for (let i = 0; i < 3000; i++) if (part[i] !== want(4 * MB - 1500 + i)) wrong++;
  found.push([n === 9 * MB, wrong, held]);
};
look(); // some of it waits to be written
call("fsync", f);
await start();
look();
const again = call("open", "/runs/l", OPEN), generation = disk.journal.generation;
for (let i = 1; i <= 100; i++) { call("write", again, of(MB, i), 0, MB, 0); call("fsync", again); }
found.push(disk.journal.generation > generation); // the records were written anew
look();
room.most = 0;
await start();
found.push(room.most <= MB); // is read at a time
look();
return found;`,
		`[[true,0,0],[true,0,0],true,[true,0,0],true,[true,0,0]]`},
	{"a model that is removed while it is read", `
const f = call("open", "/models/m", OPEN), log = call("open", "/runs/l", OPEN), generation = disk.journal.generation;
call("write", f, of(1000, 7), 0, 1000, 0);
call("fsync", f);
call("unlink", "/models/m");
const read = () => { const b = of(1, 1); const n = call("read", f, b, 0, 1, 0); return n === 1 ? b[0] : n; };
const before = read();
for (let i = 1; i <= 200 && disk.journal.generation === generation; i++) { call("write", log, of(MB, i), 0, MB, 0); call("fsync", log); }
return [before, read()];`,
		`[7,"EIO"]`},
	{"codes", `
const f = call("open", "/runs/f", OPEN), codes = [call("ftruncate", f, 2 ** 50)];
room.broken = true;
codes.push(call("fsync", f));
room.broken = false;
room.bytes = 0;
codes.push(call("write", f, of(MB, 1), 0, MB, 0), call("open", "/none", 0));
return codes;`,
		`["ENOSPC","EIO","ENOSPC","ENOENT"]`},
}

// TestDisk: without room to write its records anew, the disk keeps what an fsync has
// acknowledged, opens, and tries again later; whatever the browser throws has a code; what
// models hold is read from the records.
func TestDisk(t *testing.T) {
	b := browser.Start(t)
	b.Open("about:blank", "true")
	for _, c := range diskCases {
		var got string
		b.Eval("(async () => {\n"+asset(t, "disk.js")+handles+"return JSON.stringify(await (async () => {"+c.script+"})());\n})()", &got)
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestReason: what the page tells of a program that has ended is the first line of its
// last words, however long the trace after them is.
func TestReason(t *testing.T) {
	b := browser.Start(t)
	b.Open("about:blank", "true")
	stubs := "const importScripts = () => {}, postMessage = () => {}, openDisk = async () => { throw new Error(); };\n"
	for _, c := range []struct{ script, want string }{
		{`kept("step 1\n", "panic: a cause\n\ngoroutine 1:\n")`, "panic: a cause"},
		{`["fatal error: out of memory\n", ..."x".repeat(9999).split("").map((c) => c + "\n")].reduce(kept, "step 1\n")`, "fatal error: out of memory"},
		{`kept("step 1\n", "usage\n")`, "usage"},
	} {
		var got string
		b.Eval("(() => {\n"+stubs+asset(t, "worker.js")+"return reason("+c.script+");\n})()", &got)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.script, got, c.want)
		}
	}
}

// asset is a script of the page.
func asset(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("internal", "site", "assets", name))
	must(t, err)
	return string(text)
}
