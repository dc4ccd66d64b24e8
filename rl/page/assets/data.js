// The files of runs. They come from the server that gave out the page, by range and as
// they grow, or from the page itself where it is a single file.
"use strict";

// R.fetch and R.events reach the server; the page that trains in the browser puts the
// program in its place.
R.fetch = (path, options) => fetch(path, options);

// R.events tells which runs have changed, and lost whether the server is gone: it speaks every
// two seconds at least (beat in handler.go), and one that is silent is asked again.
R.events = (heard, lost) => {
  const from = new EventSource("events");
  let timer = 0;
  const gone = () => {
    clearTimeout(timer);
    from.close();
    lost(true);
    setTimeout(() => R.events(heard, lost), AGAIN);
  };
  const wait = () => { clearTimeout(timer); timer = setTimeout(gone, SILENCE); };
  from.onmessage = (e) => { wait(); lost(false); heard(JSON.parse(e.data)); };
  from.onerror = gone;
  wait();
};
const SILENCE = 4500, AGAIN = 4000; // ms

// R.gone says what to do where lost is true.
R.gone = (run) => {
  const place = run ? run.dir : [...R.runs.values()].length === 1 ? [...R.runs.values()][0].dir : "";
  return [R.h("b", {}, "The server of this page does not answer. "), "What is shown is what it last said. ",
    place ? ["To look at it again: ", R.command("rlzero page " + R.shell(place))] : "Start it again with rlzero page.",
    run && run.state !== "finished" ? [" If the run has stopped too, this continues it: ", R.command(`rlzero train --resume --run ${R.shell(run.dir)} --page`)] : ""];
};

// R.source has two forms: here the server's; a single-file page brings its own as
// R.inline = {runs, metrics, files: {id: {name: text}}, methods: {id: [method]}, against: {"group group": comparison}}.
R.source = {
  async runs() { return R.inline ? R.inline.runs : (await R.fetch("runs.json")).json(); },
  async table() { return R.inline ? R.inline.metrics : (await R.fetch("metrics.json")).json(); },
  // bytes of a file from one offset to another (exclusive; null: to the end). A whole file is asked
  // for without a range: then it comes compressed.
  async bytes(id, file, from, to) {
    const end = to == null ? undefined : to;
    if (R.inline) return new TextEncoder().encode(R.inline.files[id][file] || "").subarray(from, end);
    const whole = from === 0 && (to == null || to === R.runs.get(id).sizes[file]);
    const r = await R.fetch("run/" + encodeURIComponent(id) + "/" + file, whole ? {} : { headers: { Range: "bytes=" + from + "-" + (to == null ? "" : to - 1) } });
    if (r.status === 404) return new Uint8Array();
    if (!r.ok) throw new Error((await r.text()).trim());
    return new Uint8Array(await r.arrayBuffer()).subarray(0, whole ? end : undefined);
  },
  async json(id, name, query) {
    const r = await R.fetch("run/" + encodeURIComponent(id) + "/" + name + "?" + new URLSearchParams(query));
    if (!r.ok) throw new Error((await r.text()).trim());
    return r.json();
  },
};

const decoder = new TextDecoder();

// The most bytes of a log that are read at once, and the length of its longest line: package record
// has the same bound.
const LINE_MOST = 64 * 1024 * 1024;

// Run is a run in the browser: what has been read of it so far.
R.Run = class {
  constructor(d) {
    Object.assign(this, { id: d.id, dir: d.dir, group: d.group, state: d.state, sizes: d.files, rows: [], timing: [], alerts: [], evaluations: [], version: 0 });
    this.read = {};   // bytes of each log that were read
    this.bad = {};    // lines of each log that cannot be read
    this.index = {};  // steps of completions.jsonl, tokens.jsonl, judgements.jsonl and rows.jsonl
    this.columns = new Map();
  }

  // is: it has been read as it is described.
  is(d) { return this.state === d.state && JSON.stringify(this.sizes) === JSON.stringify(d.files); }

  // refresh reads what is new of the small files.
  async refresh() {
    await Promise.all([
      this.log("metrics.jsonl", (o) => addRow(this.rows, o), () => { this.rows = []; }),
      this.log("timing.jsonl", (o) => addRow(this.timing, o), () => { this.timing = []; }),
      this.log("alerts.jsonl", (o) => this.alerts.push(o), () => { this.alerts = []; }),
      this.log("evaluations.jsonl", (o) => this.evaluations.push(o), () => { this.evaluations = []; }),
      this.whole("recipe.toml", (t) => { if (t) { this.recipe = t; this.facts = recipeFacts(t); } }),
      this.object("receipt.json", (o) => { this.receipt = o; }),
      this.object("result.json", (o) => { this.result = o; }, "metrics.jsonl"),
    ]);
    this.columns.clear();
    this.version++;
  }

  // whole takes the text of a file that is new, or has another size than when it was read, or
  // that is written when a log grows which has another size.
  async whole(file, take, along) {
    const size = R.inline ? 1 : this.sizes[file], mark = size != null && along ? size + " " + this.sizes[along] : size;
    if (mark === this.read[file]) return;
    const text = size == null ? "" : decoder.decode(await R.source.bytes(this.id, file, 0, null));
    this.read[file] = mark;
    take(text);
  }

  // object takes the object that a file is; null: it is not there.
  object(file, take, along) {
    return this.whole(file, (t) => {
      take(null);
      eachLine(t.replace(/\n/g, " "), take, () => { this.bad[file] = 1; });
    }, along);
  }

  // log parses the new whole lines of a log; a file that became shorter is read anew.
  async log(file, add, clear) {
    const bad = () => { this.bad[file] = (this.bad[file] || 0) + 1; };
    if (R.inline) {
      const text = R.inline.files[this.id][file] || "";
      if (!this.read[file]) eachLine(text.slice(0, text.lastIndexOf("\n") + 1), add, bad);
      this.read[file] = 1;
      return;
    }
    const size = this.sizes[file];
    let from = this.read[file] || 0;
    if (size == null || size === from) return;
    if (size < from) { clear(); from = this.bad[file] = 0; }
    for (let at = from; at < size; ) {
      const data = await R.source.bytes(this.id, file, at, Math.min(size, at + LINE_MOST));
      if (!data.length) break;
      const first = data.indexOf(10) + 1, whole = data.lastIndexOf(10) + 1;
      if (!first) { at += data.length; continue; } // a part of a line that is too long, or that is being written
      if (at > from) bad();
      eachLine(decoder.decode(data.subarray(at > from ? first : 0, whole)), add, bad);
      at = from = at + whole;
    }
    this.read[file] = from;
  }

  // series is a metric over the steps: {x: step, y: value, stage: index}.
  series(name) {
    if (this.columns.has(name)) return this.columns.get(name);
    const s = { x: [], y: [], stage: [] };
    const stages = this.stages();
    let at = 0;
    for (const rows of [this.rows, this.timing]) {
      for (const r of rows) {
        if (!(name in r.v)) continue;
        while (at < stages.length - 1 && r.step > stages[at].last) at++;
        s.x.push(r.step); s.y.push(r.v[name] == null ? NaN : r.v[name]); s.stage.push(at);
      }
      if (s.x.length) break;
    }
    this.columns.set(name, s);
    return s;
  }
  // measured are the steps at which a metric is measured: those of all evaluations where it
  // is of one.
  measured(name) {
    if (!name.startsWith("eval/")) return this.series(name);
    const at = new Map();
    for (const s of this.names().filter((n) => n.startsWith("eval/")).map((n) => this.series(n))) s.x.forEach((x, i) => at.set(x, s.stage[i]));
    const x = [...at.keys()].sort((a, b) => a - b);
    return { x, stage: x.map((v) => at.get(v)) };
  }
  has(name) { return this.series(name).x.length > 0; }
  last(name) { const y = this.series(name).y; return y.length ? y[y.length - 1] : NaN; }
  names() {
    const seen = new Set();
    for (const rows of [this.rows, this.timing]) for (const r of rows) for (const k in r.v) seen.add(k);
    return [...seen];
  }

  // stages are spans of steps (after, last]; rl: it learns from rewards.
  stages() {
    if (this.columns.has("\0stages")) return this.columns.get("\0stages");
    const out = [];
    for (const r of this.rows) {
      if (r.step < 1) continue;
      let s = out[out.length - 1];
      if (!s || s.name !== r.stage) out.push(s = { name: r.stage, after: s ? s.last : r.step - 1, last: r.step, rl: false });
      s.last = Math.max(s.last, r.step);
      if ("reward/mean" in r.v) s.rl = true;
    }
    this.columns.set("\0stages", out);
    return out;
  }
  // main is the stage that people look at: the last that learns from rewards, or the last.
  main() {
    const s = this.stages();
    return s.filter((o) => o.rl).pop() || s[s.length - 1];
  }

  // evals are the held-out evaluations: {step, stage, pass, low, high, half, k, passK, halfK, greedy,
  // problems, samples}; greedy is NaN where some of the problems were evaluated. half and halfK are
  // those of the intervals of pass and passK.
  evals() {
    return this.rows.filter((r) => R.finite(r.v["eval/pass@1"])).map((r) => {
      const e = { step: r.step, stage: r.stage, pass: r.v["eval/pass@1"], low: NaN, high: NaN, k: 1, passK: NaN, problems: r.v["eval/problems"], samples: r.v["eval/samples"], greedy: "eval/greedy" in r.v ? r.v["eval/greedy"] : NaN };
      if (Math.abs(r.v["eval/mean"] - e.pass) < 1e-9) { e.low = r.v["eval/mean_low"]; e.high = r.v["eval/mean_high"]; }
      for (const n in r.v) {
        const m = /^eval\/pass@(\d+)$/.exec(n);
        if (m && +m[1] > e.k) { e.k = +m[1]; e.passK = r.v[n]; }
      }
      return { ...e, half: R.halfOf(r.v, "eval/pass@1"), halfK: R.halfOf(r.v, "eval/pass@" + e.k) };
    });
  }
  // before and after are the evaluations round the rewards.
  before() { const m = this.main(); return m && this.evals().filter((e) => e.step <= m.after).pop(); }
  after() { return this.evals().pop(); }

  // steps is the index of completions.jsonl, tokens.jsonl, judgements.jsonl or rows.jsonl.
  async steps(file) {
    if (R.inline) {
      if (!this.index[file]) {
        const by = new Map();
        this.bad[file] = 0;
        eachLine(R.inline.files[this.id][file] || "", (o) => {
          if (!by.has(o.step)) by.set(o.step, { step: o.step, stage: o.stage, counts: [0, 0, 0, 0], lines: [] });
          const s = by.get(o.step), v = ["right", "wrong", "graded", "not_scored"].indexOf(o.verdict);
          s.lines.push(o);
          if (v >= 0) s.counts[v]++;
        }, () => { this.bad[file]++; });
        this.index[file] = [...by.values()];
      }
      return this.index[file];
    }
    if (this.sizes[file] == null) return [];
    const have = this.index[file] || (this.index[file] = []);
    const last = have[have.length - 1];
    if (last && this.sizes[file] < last.offset + last.bytes) have.length = 0;
    const from = Math.max(0, have.length - 1);
    have.splice(from, have.length, ...await R.source.json(this.id, "steps.json", { file, from }));
    this.bad[file] = have.reduce((n, s) => n + (s.skipped || []).length, 0);
    return have;
  }
  // linesOf are the lines of a step.
  async linesOf(file, step) {
    const out = [];
    for (const s of (await this.steps(file)).filter((o) => o.step === step)) { // several, where a line that is too long parts the step
      if (s.lines) out.push(...s.lines);
      else if (s.bytes) eachLine(decoder.decode(await R.source.bytes(this.id, file, s.offset, s.offset + s.bytes)), (o) => out.push(o));
    }
    return out;
  }
  // against is what this run's recipe gained over that of another, by package compare.
  async against(other) {
    if (!R.inline) return checked(await R.source.json(this.id, "compare.json", { with: other.id }));
    const told = R.inline.against[this.group + " " + other.group], back = R.inline.against[other.group + " " + this.group];
    if (!told && !back) throw new Error("this file holds only some of the comparisons; rlzero page shows them all");
    return told ? checked(told) : turned(checked(back));
  }
  // methods are what the stages learn by: {stage, text}.
  async methods() { return R.inline ? (R.inline.methods || {})[this.id] || [] : R.source.json(this.id, "method.json", {}); }
  // search looks through all completions: {count, lines}.
  async search(q) {
    if (!R.inline && this.sizes["completions.jsonl"] == null) return { count: 0, lines: [] };
    if (!R.inline) return R.source.json(this.id, "search.json", { q: q.text || "", regexp: q.regexp ? "1" : "", verdict: q.verdict || "", limit: q.limit || 200 });
    const match = q.regexp ? ((re) => (t) => re.test(t))(new RegExp(q.text)) : (t) => t.includes(q.text || "");
    const all = (await this.steps("completions.jsonl")).flatMap((s) => s.lines).filter((o) => (!q.verdict || o.verdict === q.verdict) && (match(o.prompt) || match(o.completion)));
    return { count: all.length, lines: all.slice(0, q.limit || 200) };
  }
};

// R.halfOf is half the 95 % interval of a share that a row of an evaluation has; NaN: unknown.
R.halfOf = (v, name) => (name === "eval/pass@1" && Math.abs(v["eval/mean"] - v[name]) < 1e-9 ? (v["eval/mean_high"] - v["eval/mean_low"]) / 2 : R.half(v[name], v["eval/problems"]));

// R.noise says whether a difference of two shares may be chance, by half of their intervals.
R.noise = (difference, a, b) => Math.abs(difference) <= Math.hypot(a, b);

// eachLine adds the lines of a log; one that cannot be read is counted.
function eachLine(text, add, bad) {
  for (const line of text.split("\n")) {
    if (!line.trim()) continue;
    let o = null;
    try { o = JSON.parse(line); } catch { /* told below */ }
    if (o && typeof o === "object") add(o);
    else if (bad) bad();
  }
}

function checked(told) {
  if (told.error) throw new Error(told.error);
  return told;
}

// turned is a comparison of two recipes the other way round: a gain of A over B is a loss of
// B to A.
function turned(told) {
  const minus = (v) => (v == null ? null : -v), back = ([b, a]) => [{ ...a, gain: undefined }, { ...b, gain: a.gain && { mean: minus(a.gain.mean), low: minus(a.gain.high), high: minus(a.gain.low) } }];
  return { ...told, figures: told.figures.map((f) => ({ ...f, recipes: back(f.recipes) })), charts: told.charts.map((c) => ({ ...c, recipes: c.recipes.slice().reverse() })) };
}

// addRow adds a row; a second one of the same step completes the first, as the
// evaluation after a stage does.
function addRow(rows, o) {
  const { step, stage, ...v } = o, last = rows[rows.length - 1];
  if (last && last.step === step && last.stage === stage) Object.assign(last.v, v);
  else rows.push({ step, stage, v });
}

// recipeFacts takes from a resolved recipe what the page needs: it is TOML of our own
// writing, one key a line.
function recipeFacts(text) {
  const f = { name: "", about: "", seed: "", keys: new Map(), stages: [] };
  let table = "";
  for (const line of text.split("\n")) {
    let m;
    if ((m = /^\[\[?([^\]]+)\]\]?/.exec(line))) {
      table = m[1];
      if (table === "stage") f.stages.push({});
      if (table.startsWith("stage")) table = table.replace("stage", "stage " + f.stages.length);
    } else if ((m = /^([A-Za-z0-9_]+) = (.*)$/.exec(line))) {
      const key = (table ? table + "." : "") + m[1];
      f.keys.set(key, m[2]);
      if (/^stage \d+$/.test(table)) f.stages[f.stages.length - 1][m[1]] = m[2].replace(/^"(.*)"$/, "$1");
      if (!table && /^(name|about|seed)$/.test(m[1])) f[m[1]] = m[2].replace(/^"(.*)"$/, "$1");
    }
  }
  f.control = f.stages.some((s) => /\brandom\b|^one$/.test(s.reward || ""));
  f.title = f.name || f.about.split(/[:,]/)[0];
  f.system = systemOf(text);
  const form = f.keys.get("task.form");
  f.chat = f.system !== "" || form === '"chat"';
  f.written = f.chat || form === '"text"' || (f.keys.get("model.path") || '""') === '""'; // else the model's chat template decides
  return f;
}

// systemOf is the system message of a recipe, which may have several lines.
function systemOf(text) {
  const m = /^system = (?:"""\n([^]*?)"""|"(.*)")$/m.exec(text);
  return m ? (m[1] ?? m[2]).replace(/\\(u[0-9A-F]{4}|.)/g, (_, c) => (c.length > 1 ? String.fromCharCode(parseInt(c.slice(1), 16)) : c)) : "";
}

// start loads all runs and follows them; changed draws those that are new or have changed, and
// told says what R.lost and R.trouble are now.
R.lost = false; // the server is gone
R.trouble = ""; // why the newest lines could not be read
R.start = async function (changed, told) {
  R.metrics = await R.source.table();
  await R.reload();
  if (R.inline) return;
  const trouble = (why) => { if (R.trouble !== why) { R.trouble = why; told(); } };
  const news = new Map();
  let timer = 0, last = -Infinity, took = 0;
  // What belongs together is drawn together, and then not for a while: a page that followed
  // each step of a run would take the processor from it. One that nobody sees waits.
  const follow = () => {
    const pause = Math.max(PAUSE, Math.min(20 * took, LONGEST));
    if (!timer && news.size && !document.hidden && !R.lost) timer = setTimeout(draw, Math.max(150, last + pause - performance.now()));
  };
  const draw = async () => {
    const list = [...news.values()];
    news.clear();
    last = performance.now();
    try {
      await R.take(list);
      trouble("");
      await changed(list.map((d) => d.id));
      took = performance.now() - last;
    } catch (e) {
      for (const d of list) if (!news.has(d.id)) news.set(d.id, d); // it is read again
      trouble(e.message);
    } finally {
      timer = 0;
      follow();
    }
  };
  R.events((list) => {
    for (const d of list) if (!R.runs.has(d.id) || !R.runs.get(d.id).is(d)) news.set(d.id, d);
    follow();
  }, (is) => {
    if (is === R.lost) return;
    R.lost = is;
    if (is) for (const r of R.runs.values()) if (r.state === "running") r.state = "out of reach"; // a server that is back tells the state of all
    told();
  });
  document.addEventListener("visibilitychange", follow);
};
// From one drawing to the next, ms. The server looks every half second, so a step is seen within
// two seconds; a screen that takes long to draw, as the curves of a long run do, is drawn less often.
const PAUSE = 1500, LONGEST = 5000;

// take reads what is new of runs, as the server describes them. One begins when the last has
// ended: two at once would read the same lines.
let taking = Promise.resolve();
R.take = (list) => (taking = taking.catch(() => {}).then(() => takeNew(list)));
async function takeNew(list) {
  for (const d of list) {
    let r = R.runs.get(d.id);
    if (r) Object.assign(r, { state: d.state, sizes: d.files });
    else R.runs.set(d.id, r = new R.Run(d));
    await r.refresh();
  }
}
// reload takes all runs.
R.reload = async () => R.take(await R.source.runs());
