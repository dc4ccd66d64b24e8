// The program, which is rlzero itself in a worker, in the place of a server: it answers
// the same requests for the files of its runs, and events tell which have changed.
"use strict";

R.program = (() => {
  // ?device=webgpu names a device, as --device does on the command line.
  const worker = new Worker("worker.js" + location.search), waiting = new Map(), heard = [];
  let next = 0, dead = "", set;
  const ready = new Promise((r) => { set = r; });
  worker.onerror = (e) => end(e.message || "it could not be loaded");
  worker.onmessage = ({ data }) => {
    if (data.event === "ready") set(data);
    if (data.event === "failed") end(data.why);
    if (data.id == null) { for (const f of heard) f(data); return; }
    const w = waiting.get(data.id);
    if (!w) return;
    if (data.note != null) { w.note(data.note); return; }
    waiting.delete(data.id);
    if (data.error) w.no(Object.assign(new Error(data.error), { hints: data.hints || [] }));
    else w.yes(data);
  };
  function end(why) {
    if (dead) return;
    dead = why;
    set({ failed: why });
    for (const w of waiting.values()) w.no(new Error(why));
    waiting.clear();
    for (const f of heard) f({ event: "ended", why });
  }
  return {
    ready,
    ended: () => dead, // why the program has ended, "" while it has not
    on(f) { heard.push(f); },
    // ask is a request: {value, bytes}. files are [{name, bytes}]; note is told what comes before the answer.
    ask(what, args, files, note) {
      if (dead) return Promise.reject(new Error(dead));
      return new Promise((yes, no) => {
        const id = next++;
        waiting.set(id, { yes: (d) => yes({ value: d.value ? JSON.parse(d.value) : null, bytes: d.bytes }), no, note: note || (() => {}) });
        worker.postMessage({ id, do: what, args: JSON.stringify(args || {}), files: files || [] }, (files || []).map((f) => f.bytes.buffer));
      });
    },
  };
})();

R.fetch = async (path, options) => {
  const range = (options && options.headers && options.headers.Range) || "";
  const { value, bytes } = await R.program.ask("fetch", { path, range });
  return new Response(value.status === 204 ? null : bytes, { status: value.status });
};
R.events = (heard, lost) => { R.program.ask("watch", {}, [], (line) => heard(own(JSON.parse(line)))).catch(() => lost(true)); };
R.gone = () => [R.h("b", {}, "The program has ended: "), R.program.ended(), ". Load this page again. Continue goes on from the last checkpoint of a run."];

// R.jobs are the runs that the program works on: {state, line, device, speed}.
R.jobs = new Map();
const listed = R.source.runs;
const own = (list) => list.filter((d) => d.files["recipe.toml"] != null)
  .map((d) => ({ ...d, get state() { return R.jobs.has(d.id) ? R.jobs.get(d.id).state : d.state === "finished" ? d.state : "stopped"; } })); // when it is taken: until then a job may end
R.source.runs = async () => own(await listed());
