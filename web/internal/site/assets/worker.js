// The worker that the program runs in, so that the page answers while it trains.
"use strict";

importScripts("disk.js");

// soon calls back after the messages that have come meanwhile: setTimeout would wait for
// four milliseconds.
const { port1, port2 } = new MessageChannel(), turns = [];
port1.onmessage = () => turns.shift()();
self.soon = (call) => { turns.push(call); port2.postMessage(0); };

const started = start();
started.catch((e) => postMessage({ event: "failed", why: e.message }));
self.onmessage = async (e) => {
  try { await started; } catch { return; } // the page was told
  self.program(e.data);
};

async function start() {
  const disk = await openDisk();
  let said = "";
  self.fs = fileSystem(disk, (bytes) => {
    said += decoder.decode(bytes);
    const end = said.lastIndexOf("\n") + 1;
    if (end) { console.log(said.slice(0, end - 1)); last = kept(last, said.slice(0, end)); said = said.slice(end); }
  });
  let last = "";
  self.process = { getuid: () => 0, getgid: () => 0, geteuid: () => 0, getegid: () => 0, getgroups: () => [], pid: 1, ppid: 0, umask: () => 0o22, cwd: () => "/", chdir() { throw failed("ENOSYS"); } };
  importScripts("wasm_exec.js");
  const go = new Go();
  go.env = { HOME: "/", TMPDIR: "/tmp", RLZERO_DEVICE: new URLSearchParams(self.location.search).get("device") || "" };
  const { instance } = await WebAssembly.instantiateStreaming(unpacked(await fetch("rlzero.wasm.gz")), go.importObject);
  const ready = new Promise((r) => { self.begun = r; });
  const ended = go.run(instance).then(() => { throw new Error("the program has ended: " + reason(last)); });
  await Promise.race([ready, ended]);
  ended.catch((e) => postMessage({ event: "failed", why: e.message }));
  postMessage({ event: "ready", lasting: !!disk.journal });
}

// kept is what is remembered of the output: the latest, and from Go's last words on the
// first of them, which name the cause: the trace after them can be long.
const WORDS = /^(panic|fatal error): /m;
function kept(last, more) {
  const all = last + more, at = all.search(WORDS);
  return at < 0 ? all.slice(-2000) : all.slice(at, at + 2000);
}
function reason(last) {
  const lines = last.trim().split("\n");
  return WORDS.test(last) ? lines[0] : lines[lines.length - 1];
}

// unpacked is the program as a response of its own: any server can give out a compressed
// file, and few compress by themselves.
function unpacked(response) {
  if (!response.ok) throw new Error(`rlzero.wasm.gz: the server answers ${response.status}`);
  const packed = !response.headers.get("Content-Encoding"); // some servers take the name as an encoding, or send the .br in its place
  const body = packed ? response.body.pipeThrough(new DecompressionStream("gzip")) : response.body;
  return new Response(body, { headers: { "Content-Type": "application/wasm" } });
}
