// The disk of the program: what Go's package os asks of node's module fs
// (https://nodejs.org/api/fs.html), as a tree in memory whose changes are appended to one
// file of the browser's private file system (https://fs.spec.whatwg.org). A change is a
// record; what was recorded before an fsync is on the disk when that returns, in order, so
// a closed tab is to a run what a killed process is. Only what lies below KEPT is recorded.
// What models hold is in the records alone, and is read from there: it is large, and written
// once.
"use strict";

const KEPT = /^\/(runs|models|data)(\/|$)/, LARGE = /^\/models\//;
const FLAG = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };
const HEAD = 12;          // bytes before a record: lengths of its text and its data, and their sum
const PENDING = 1 << 18;  // bytes of records that wait to be written together
const LATEST = 200;       // milliseconds after which they are written anyway
const GARBAGE = 64 << 20; // bytes of overwritten records from which the file is written anew
const PART = 4 << 20;     // bytes of a record of a large file, at most
const WINDOW = 1 << 20;   // bytes that are read of a file of records at a time

const encoder = new TextEncoder(), decoder = new TextDecoder();

const failed = (code, what) => Object.assign(new Error(what || code), { code });

// coded is an error with a code that Go knows, whatever the browser has thrown: what goes
// through to Go ends the program.
function coded(e) {
  if (typeof e.code === "string") return e;
  return failed(e instanceof RangeError || e.name === "QuotaExceededError" ? "ENOSPC" : "EIO", e.message);
}

// sum is FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/) of some bytes, going on from before.
function sum(bytes, from) {
  let h = from;
  for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
  return h >>> 0;
}
const START = 0x811c9dc5;

class Tree {
  constructor(record) {
    this.record = record; // is told every change below KEPT: (what, data, part)
    this.journal = null;  // holds the parts
    this.next = 1;
    this.nodes = new Map(); // files by their number, as records name them
    this.root = this.folder();
  }
  folder() { return { ino: this.next++, names: new Map(), time: Date.now() }; }
  file(ino) {
    const node = { ino: ino || this.next++, data: new Uint8Array(0), size: 0, time: Date.now() };
    this.next = Math.max(this.next, node.ino + 1);
    this.nodes.set(node.ino, node);
    return node;
  }

  // find is the node of a path, the folder above it and its name there.
  find(path) {
    let node = this.root, parent = null, name = "";
    for (const part of clean(path).split("/").filter(Boolean)) {
      if (!node) throw failed("ENOENT");
      if (!node.names) throw failed("ENOTDIR");
      parent = node; name = part;
      node = node.names.get(part);
    }
    return { node, parent, name };
  }
  get(path) {
    const { node } = this.find(path);
    if (!node) throw failed("ENOENT");
    return node;
  }

  mkdir(path) {
    const { node, parent, name } = this.find(path);
    if (node) throw failed("EEXIST");
    parent.names.set(name, this.folder());
    parent.time = Date.now();
    this.note(path, { o: "dir", p: clean(path) });
  }
  create(path, ino) {
    const { parent, name } = this.find(path);
    const node = this.file(ino);
    node.kept = KEPT.test(clean(path));
    // What a large file holds, later parts over earlier ones: {from, size, at, log}, at in that log.
    node.parts = this.journal && LARGE.test(clean(path)) ? [] : null;
    parent.names.set(name, node);
    parent.time = Date.now();
    this.note(path, { o: "new", p: clean(path), i: node.ino });
    return node;
  }
  remove(path, folder) {
    const { node, parent, name } = this.find(path);
    if (!node) throw failed("ENOENT");
    if (folder && !node.names) throw failed("ENOTDIR");
    if (!folder && node.names) throw failed("EISDIR");
    if (folder && node.names.size) throw failed("ENOTEMPTY");
    parent.names.delete(name);
    parent.time = Date.now();
    this.nodes.delete(node.ino);
    this.note(path, { o: "rm", p: clean(path), d: folder });
  }
  rename(from, to) {
    const a = this.find(from), b = this.find(to);
    if (!a.node || !b.parent) throw failed("ENOENT");
    if (b.node && b.node !== a.node) {
      if (!!b.node.names !== !!a.node.names) throw failed(b.node.names ? "EISDIR" : "ENOTDIR");
      if (b.node.names && b.node.names.size) throw failed("ENOTEMPTY");
      this.nodes.delete(b.node.ino);
    }
    a.parent.names.delete(a.name);
    b.parent.names.set(b.name, a.node);
    a.parent.time = b.parent.time = Date.now();
    this.note(to, { o: "mv", p: clean(from), t: clean(to) });
  }
  resize(node, size) {
    if (node.parts) node.parts = node.parts.filter((p) => p.from < size).map((p) => ({ ...p, size: Math.min(p.size, size - p.from) }));
    else {
      this.reserve(node, size);
      if (size > node.size) node.data.fill(0, node.size, size);
    }
    node.size = size;
    node.time = Date.now();
    if (node.kept) this.record({ o: "cut", i: node.ino, n: size });
  }
  write(node, at, bytes) {
    if (node.parts) {
      for (let i = 0; i < bytes.length; i += PART) {
        const some = bytes.subarray(i, i + PART), part = { from: at + i, size: some.length, at: 0 };
        this.place(node, part);
        this.record({ o: "put", i: node.ino, n: part.from }, some, part);
      }
      return;
    }
    this.reserve(node, at + bytes.length);
    if (at > node.size) node.data.fill(0, node.size, at);
    node.data.set(bytes, at);
    node.size = Math.max(node.size, at + bytes.length);
    node.time = Date.now();
    if (node.kept) this.record({ o: "put", i: node.ino, n: at }, bytes);
  }
  place(node, part) {
    node.parts.push(part);
    node.size = Math.max(node.size, part.from + part.size);
    node.time = Date.now();
  }
  // read fills out with what a file holds from a place on; out ends within the file.
  read(node, from, out) {
    if (!node.parts) { out.set(node.data.subarray(from, from + out.length)); return; }
    out.fill(0);
    for (const p of node.parts) {
      const low = Math.max(from, p.from), high = Math.min(from + out.length, p.from + p.size);
      if (low < high) this.journal.load(p.at + low - p.from, out.subarray(low - from, high - from), p.log);
    }
  }
  reserve(node, size) {
    if (size <= node.data.length) return;
    const data = new Uint8Array(Math.max(size, 2 * node.data.length, 256));
    data.set(node.data.subarray(0, node.size));
    node.data = data;
  }
  note(path, what) { if (KEPT.test(clean(path))) this.record(what); }

  // apply does what a record says, whose data lies in the journal.
  apply(r, at, size) {
    const node = this.nodes.get(r.i);
    switch (r.o) {
      case "dir": return this.mkdir(r.p);
      case "new": return this.create(r.p, r.i);
      case "rm": return this.remove(r.p, r.d);
      case "mv": return this.rename(r.p, r.t);
      case "cut": return node && this.resize(node, r.n);
      case "put": return node && (node.parts ? this.place(node, { from: r.n, size, at, log: this.journal.log }) : this.write(node, r.n, this.journal.load(at, new Uint8Array(size))));
    }
  }
  // bytes is how much its kept files hold.
  bytes() {
    let n = 0;
    for (const node of this.nodes.values()) if (node.kept) n += node.size;
    return n;
  }
  // each tells the records that make the tree: (what, data, part). The parts are new ones;
  // it returns them by their files.
  each(tell) {
    const moved = new Map();
    const file = (node) => {
      if (!node.parts) { if (node.size) tell({ o: "put", i: node.ino, n: 0 }, node.data.subarray(0, node.size)); return; }
      moved.set(node, node.parts.map((p) => ({ ...p })));
      for (const p of moved.get(node)) tell({ o: "put", i: node.ino, n: p.from }, this.journal.load(p.at, new Uint8Array(p.size), p.log), p);
      tell({ o: "cut", i: node.ino, n: node.size }); // the end may be in no part
    };
    const walk = (path, node) => {
      if (!node.names) {
        tell({ o: "new", p: path, i: node.ino });
        file(node);
        return;
      }
      if (path) tell({ o: "dir", p: path });
      for (const [name, n] of node.names) if (KEPT.test(path + "/" + name)) walk(path + "/" + name, n);
    };
    walk("", this.root);
    return moved;
  }
}

// clean is a path without "." and "..", from the root.
function clean(path) {
  const out = [];
  for (const part of path.split("/")) {
    if (part === "..") out.pop();
    else if (part && part !== ".") out.push(part);
  }
  return "/" + out.join("/");
}

// Log appends records to a file that has a size already.
class Log {
  constructor(handle, size) {
    this.handle = handle; this.size = size;
    this.pending = []; this.waiting = 0;
  }
  // add takes a record; where its data will lie is noted in part.
  add(what, data, part) {
    const text = encoder.encode(JSON.stringify(what)), bytes = data || new Uint8Array(0);
    if (part) Object.assign(part, { at: this.size + this.waiting + HEAD + text.length, log: this });
    const record = new Uint8Array(HEAD + text.length + bytes.length), view = new DataView(record.buffer);
    view.setUint32(0, text.length); view.setUint32(4, bytes.length); view.setUint32(8, sum(bytes, sum(text, START)));
    record.set(text, HEAD);
    record.set(bytes, HEAD + text.length);
    this.pending.push(record);
    this.waiting += record.length;
    if (this.waiting > PENDING) this.push();
  }
  push() {
    if (!this.waiting) return;
    const all = new Uint8Array(this.waiting);
    let n = 0;
    for (const r of this.pending) { all.set(r, n); n += r.length; }
    if (this.handle.write(all, { at: this.size }) < n) throw failed("ENOSPC"); // what waits is written again
    this.size += n;
    this.pending = []; this.waiting = 0;
  }
  sync() {
    this.push();
    this.handle.flush();
  }
}

// Journal keeps records in one of two files; the other one is there to write them anew.
class Journal {
  constructor(handles) {
    this.handles = handles;
    this.log = new Log(handles[1], 0); // until there is a record, there is nothing to lose
    this.generation = 0;
    this.due = -1; // size from which the records are written anew
  }

  // read gives the records of the newer file that is whole to apply.
  read(apply) {
    const found = this.handles.map((handle) => ({ handle, ...parse(handle) })).filter((f) => f.live).sort((a, b) => b.generation - a.generation)[0];
    if (!found) return;
    this.log = new Log(found.handle, found.end); this.generation = found.generation;
    for (const { what, at, size } of found.records) apply(what, at, size);
    found.handle.truncate(found.end); // a record that was cut short
  }
  // load fills out with what lies at a place of a log. Of a file that was removed while it was
  // open nothing is left once the records were written anew.
  load(at, out, log = this.log) {
    if (log !== this.log) throw failed("EIO", "the file was removed");
    if (at + out.length > this.log.size) this.log.push();
    if (this.log.handle.read(out, { at }) < out.length) throw failed("EIO", "the browser's file is shorter than it was");
    return out;
  }
  add(what, data, part) {
    this.log.add(what, data, part);
    if (!this.timer) this.timer = setTimeout(() => { this.timer = 0; try { this.log.push(); } catch { /* told by the next fsync */ } }, LATEST);
  }
  sync() { this.log.sync(); }

  // tidy writes the records of a tree to the other file where that is due. That file is
  // the one once it is on the disk whole. Where it cannot be, for want of room, the old one
  // stays, and it is tried again after as much garbage more. It says whether it was done.
  tidy(tree) {
    if (this.log.size <= this.due) return false;
    const old = this.log.handle, log = new Log(this.handles.find((h) => h !== old), 0);
    let moved;
    try {
      log.handle.truncate(0);
      log.add({ o: "begin", n: this.generation + 1 });
      moved = tree.each((what, data, part) => log.add(what, data, part));
      log.add({ o: "live" });
      log.sync();
    } catch {
      try { log.handle.truncate(0); } catch { /* it is not whole, or as good as the old one */ }
      this.due = this.log.size + GARBAGE;
      return false;
    }
    this.log = log; this.generation++;
    for (const [node, parts] of moved) node.parts = parts;
    this.due = 2 * log.size + GARBAGE;
    try { old.truncate(0); } catch { /* it is the older one */ }
    return true;
  }
}

// parse reads the records of a file, up to one that is not whole: what they say, and where
// their data lies.
function parse(handle) {
  const length = handle.getSize(), window = new Uint8Array(Math.min(length, WINDOW)), records = [];
  let first = 0, past = 0; // of what is in the window
  const bytes = (at, n) => { // at most a window of them
    if (at < first || at + n > past) {
      first = at; past = Math.min(length, at + window.length);
      handle.read(window.subarray(0, past - first), { at });
    }
    return window.subarray(at - first, at - first + n);
  };
  let end = 0, generation = -1, live = false;
  while (end + HEAD <= length) {
    const head = bytes(end, HEAD), view = new DataView(head.buffer, head.byteOffset), [words, size, want] = [0, 4, 8].map((i) => view.getUint32(i));
    const at = end + HEAD + words, next = at + size;
    if (next > length || !words || words > WINDOW) break;
    const text = bytes(end + HEAD, words), said = decoder.decode(text);
    let h = sum(text, START);
    for (let i = at; i < next; i += WINDOW) h = sum(bytes(i, Math.min(WINDOW, next - i)), h);
    if (h !== want) break;
    const what = JSON.parse(said);
    if (what.o === "begin") generation = what.n;
    else if (what.o === "live") live = true;
    else records.push({ what, at, size });
    end = next;
  }
  return { end, generation, live: live && generation >= 0, records };
}

// openDisk fills a tree from the private file system: {tree, journal}; a journal of null
// means that nothing outlives the page. It fails with EBUSY while another page has it.
async function openDisk() {
  let journal = null, replaying = true;
  const tree = new Tree((what, data, part) => { if (journal && !replaying) journal.add(what, data, part); });
  const handles = await openHandles();
  if (handles) {
    journal = tree.journal = new Journal(handles);
    journal.read((what, at, size) => { try { tree.apply(what, at, size); } catch { /* of a file that is gone */ } });
    if (journal.generation) journal.due = 2 * tree.bytes() + GARBAGE;
    if (!journal.tidy(tree) && !journal.generation) journal = tree.journal = null; // no room for a first record
  }
  replaying = false;
  for (const path of ["/runs", "/models", "/tmp"]) if (!tree.find(path).node) tree.mkdir(path);
  return { tree, journal };
}

async function openHandles() {
  if (!navigator.storage || !navigator.storage.getDirectory) return null;
  let folder;
  try { folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("rlzero", { create: true }); } catch { return null; }
  const files = await Promise.all(["disk-0", "disk-1"].map((name) => folder.getFileHandle(name, { create: true })));
  if (!files[0].createSyncAccessHandle) return null;
  const handles = [];
  for (let tries = 0; ; tries++) {
    try {
      while (handles.length < 2) handles.push(await files[handles.length].createSyncAccessHandle());
      return handles;
    } catch (e) { // a page that was reloaded frees them a moment later
      if (tries === 20) throw failed("EBUSY", "rlzero is open in another tab, which holds the runs: close that tab, then reload this page");
      await new Promise((r) => setTimeout(r, 150));
    }
  }
}

// fileSystem is node's module fs over a disk. out is told what is written to standard
// output and error.
function fileSystem(disk, out) {
  const { tree, journal } = disk, open = new Map();
  let next = 3;
  const stat = (node) => ({
    dev: 1, ino: node.ino, mode: node.names ? 0o040755 : 0o100644, nlink: 1, uid: 0, gid: 0, rdev: 0, size: node.names ? 0 : node.size,
    blksize: 4096, blocks: node.names ? 0 : Math.ceil(node.size / 512), atimeMs: node.time, mtimeMs: node.time, ctimeMs: node.time, isDirectory: () => !!node.names,
  });
  const of = (fd) => { const f = open.get(fd); if (!f) throw failed("EBADF"); return f; };
  const regular = (node) => { if (node.names) throw failed("EISDIR"); return node; };
  const sync = () => {
    if (!journal) return;
    journal.sync();
    journal.tidy(tree);
  };
  const calls = {
    open(path, flags) {
      let { node, parent } = tree.find(path);
      if (!node && !(flags & FLAG.O_CREAT && parent)) throw failed("ENOENT");
      if (node && flags & FLAG.O_EXCL && flags & FLAG.O_CREAT) throw failed("EEXIST");
      if (node && node.names && flags & (FLAG.O_WRONLY | FLAG.O_RDWR)) throw failed("EISDIR");
      if (node && !node.names && flags & FLAG.O_DIRECTORY) throw failed("ENOTDIR");
      if (!node) node = tree.create(path);
      if (flags & FLAG.O_TRUNC && node.size) tree.resize(node, 0);
      open.set(next, { node, at: 0, append: !!(flags & FLAG.O_APPEND) });
      return next++;
    },
    close(fd) { of(fd); open.delete(fd); },
    fstat: (fd) => stat(of(fd).node), stat: (path) => stat(tree.get(path)), lstat: (path) => stat(tree.get(path)),
    readdir(path) { const n = tree.get(path); if (!n.names) throw failed("ENOTDIR"); return [...n.names.keys()].sort(); },
    mkdir: (path) => tree.mkdir(path), rmdir: (path) => tree.remove(path, true), unlink: (path) => tree.remove(path, false), rename: (a, b) => tree.rename(a, b),
    truncate: (path, size) => tree.resize(regular(tree.get(path)), size), ftruncate: (fd, size) => tree.resize(regular(of(fd).node), size),
    fsync(fd) { of(fd); sync(); },
    chmod() {}, fchmod() {}, chown() {}, fchown() {}, lchown() {},
    utimes(path, _, time) { tree.get(path).time = 1000 * time; },
    readlink() { throw failed("EINVAL"); }, link() { throw failed("ENOSYS"); }, symlink() { throw failed("ENOSYS"); },
    read(fd, buffer, offset, length, position) {
      const f = of(fd), from = position == null ? f.at : position, node = regular(f.node);
      const n = Math.max(0, Math.min(node.size - from, length));
      tree.read(node, from, buffer.subarray(offset, offset + n));
      if (position == null) f.at += n;
      return n;
    },
    write(fd, buffer, offset, length, position) {
      const bytes = buffer.subarray(offset, offset + length);
      if (fd === 1 || fd === 2) { out(bytes); return length; }
      const f = of(fd), node = regular(f.node), to = f.append ? node.size : position == null ? f.at : position;
      tree.write(node, to, bytes);
      if (position == null) f.at = to + length;
      return length;
    },
  };
  const fs = { constants: FLAG, writeSync(_, bytes) { out(bytes); return bytes.length; } };
  for (const [name, call] of Object.entries(calls)) {
    fs[name] = (...args) => {
      const done = args.pop();
      let value;
      try { value = call(...args); } catch (e) {
        done(coded(e));
        return;
      }
      done(null, value);
    };
  }
  return fs;
}
