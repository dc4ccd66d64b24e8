// Try: choose a recipe, press Train, and see the run on the screens of the run page. What
// is here is the first screen's upper part and the bar over a run; both are made once and
// moved into the screen that is shown, so that news takes nothing from under a hand.
"use strict";

if (!location.hash) history.replaceState(null, "", "#/");

R.about = null; // what the program says of itself: {version, device, driver, gpu, presets, small}
const speeds = (r) => [["sampling", "rollout/tokens_per_s"], ["training", "train/tokens_per_s"]].map(([what, name]) => [what, R.median(r.series(name).y.slice(-9))]).filter(([, v]) => R.finite(v)).map(([what, v]) => `${what} ${R.number(v)} tokens/s`).join(", ");
const button = (text, onclick, more) => R.h("button", { type: "button", onclick, ...more }, text);
const complaint = (e) => [e.message, ...(e.hints || [])].join("\n");

// turn switches a button on or off. Without the program all are off.
const turn = (b, on) => { if (on && !R.program.ended()) b.removeAttribute("aria-disabled"); else b.setAttribute("aria-disabled", "true"); };

// working disables a button while its work is done, and shows what went wrong in a place.
const working = (place, work) => async (e) => {
  const b = e.submitter || e.currentTarget;
  if (b.getAttribute("aria-disabled") === "true") return;
  turn(b, false);
  place.replaceChildren();
  try { await work(); } catch (err) { place.replaceChildren(R.h("p", { class: "failed", role: "alert" }, complaint(err))); }
  turn(b, true);
};

// save gives bytes to the visitor as a file.
function save(name, bytes) {
  const url = URL.createObjectURL(new Blob([bytes]));
  R.h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

// Where WebGPU is switched on (https://github.com/gpuweb/gpuweb/wiki/Implementation-Status).
const SWITCHES = [
  ["Chrome, Edge", "from version 113 on Windows, macOS and ChromeOS, 121 on Android. On Linux open chrome://flags, enable “Unsafe WebGPU Support” and “Vulkan”, and start the browser again."],
  ["Safari", "from version 26. In version 18, switch WebGPU on in Settings › Feature Flags; the Develop menu has to be shown first."],
  ["Firefox", "from version 141 on Windows and 145 on Macs with Apple silicon. Elsewhere set dom.webgpu.enabled in about:config; it may need Firefox Nightly."],
  ["Any browser", "offers WebGPU only to pages from https:// or localhost, and only while hardware acceleration is on in its settings."],
];

const start = (() => {
  const device = R.h("p", { class: "device" }, "Loading the program…"), cards = R.h("div", { class: "cards" }), wrong = R.h("div", {}), faults = R.h("div", { id: "faults", "aria-live": "polite" });
  const editor = R.h("textarea", { id: "recipe", rows: 18, spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off", "aria-describedby": "faults" });
  const go = R.h("button", { class: "primary", type: "submit", "aria-disabled": "true" }, "Train");
  const kept = R.h("p", { class: "note", id: "kept" });
  let chosen = null, timer = 0, lasts = false;

  const choose = (p) => {
    chosen = p;
    turn(go, true);
    editor.value = p.text;
    faults.replaceChildren();
    check();
  };
  const check = async () => {
    const text = editor.value;
    try {
      const { value } = await R.program.ask("check", { name: chosen.name, text });
      if (text !== editor.value) return;
      turn(go, true);
      faults.replaceChildren(R.h("p", { class: "note" }, `This recipe needs ${R.bytes(value.memory)} of GPU memory.`), ...value.notes.map((n) => R.h("p", { class: "note" }, n)));
    } catch (e) {
      if (text !== editor.value) return;
      turn(go, false);
      faults.replaceChildren(faultList(e));
    }
  };
  editor.addEventListener("input", () => {
    turn(go, true); // until something is found in the new text
    clearTimeout(timer);
    timer = setTimeout(check, 300);
  });

  // faultList leads from each fault to its place in the text.
  function faultList(e) {
    return R.h("ul", { class: "faults" }, complaint(e).split("\n").map((line) => {
      const m = /\.toml:(\d+):(\d+): (.*)$/.exec(line);
      if (!m) return R.h("li", {}, line);
      return R.h("li", {}, button(`line ${m[1]}, column ${m[2]}`, () => {
        const at = editor.value.split("\n").slice(0, m[1] - 1).join("\n").length + (m[1] > 1 ? 1 : 0) + +m[2] - 1;
        editor.focus();
        editor.setSelectionRange(at, at + 1);
        editor.scrollTop = (m[1] - 4) * (editor.scrollHeight / editor.value.split("\n").length);
      }, { class: "small" }), " ", m[3]);
    }));
  }

  // keep asks the browser to let no other page's files push this one's out
  // (https://storage.spec.whatwg.org/#persistence). Some ask the visitor: it waits for nobody.
  const keep = async () => {
    if (!lasts || !navigator.storage.persist || await navigator.storage.persist()) return;
    kept.textContent = "This browser may delete the files of this page when it runs out of space. Download what you want to keep.";
  };
  const train = async () => {
    go.textContent = "Starting…";
    keep();
    try {
      const { value: id } = await R.program.ask("train", { name: chosen.name, text: editor.value });
      for (;;) {
        if (R.jobs.has(id) && R.jobs.get(id).error) throw new Error(R.jobs.get(id).error);
        await R.reload();
        if (R.runs.has(id)) break;
        await new Promise((r) => setTimeout(r, 100));
      }
      R.go("now", id);
    } finally { go.textContent = "Train"; }
  };
  const card = (p, checked) => R.h("label", { class: "card" }, R.h("input", { type: "radio", name: "preset", value: p.name, checked, onchange: () => choose(p) }), R.h("b", {}, p.name), R.h("span", {}, p.about));
  // bring takes rows of the visitor's own: a recipe that trains on them is one more to choose.
  const bring = async (files) => {
    if (!files.length) return;
    const total = files.reduce((n, f) => n + f.size, 0);
    if (total > ROWS) throw new Error(`These rows have ${R.bytes(total)}; a browser takes at most ${R.bytes(ROWS)} of them.`);
    rowsSay.textContent = "Reading the rows, and learning their words…";
    try {
      const name = files[0].name.replace(/\.[^.]*$/, "") || "rows", all = await Promise.all(files.map(async (f) => ({ name: f.name, bytes: new Uint8Array(await f.arrayBuffer()) })));
      const { value } = await R.program.ask("rows", { name }, all), p = { ...value, about: `your rows: ${files.map((f) => f.name).join(", ")}` };
      cards.append(card(p, true));
      choose(p);
      rowsSay.textContent = `${value.name} is ready: Train begins.`;
    } catch (e) { rowsSay.textContent = ""; throw e; }
  };
  const rowsWrong = R.h("div", {}), rowsSay = R.h("small", { role: "status" }, "JSON lines, CSV or Parquet, such as {\"question\":\"...\",\"answer\":\"42\"}"), rowsFile = R.h("input", { type: "file", multiple: true, id: "rows" });
  const taken = (files) => bring(files).then(() => rowsWrong.replaceChildren(), (e) => rowsWrong.replaceChildren(R.h("p", { class: "failed", role: "alert" }, complaint(e))));
  rowsFile.addEventListener("change", () => taken([...rowsFile.files]));
  const rowsDrop = R.h("div", { class: "drop rows" }, R.h("label", { for: "rows" }, "Or drop rows of your own here, or choose them"), rowsFile, rowsSay, rowsWrong);
  rowsDrop.addEventListener("dragover", (e) => { e.preventDefault(); rowsDrop.classList.add("over"); });
  rowsDrop.addEventListener("dragleave", () => rowsDrop.classList.remove("over"));
  rowsDrop.addEventListener("drop", (e) => { e.preventDefault(); rowsDrop.classList.remove("over"); taken([...e.dataTransfer.files]); });
  const form = R.h("form", {},
    R.h("fieldset", {}, R.h("legend", {}, "Choose what it learns"), cards, rowsDrop),
    R.h("details", { class: "recipe" }, R.h("summary", {}, "Change the recipe"), R.h("label", { for: "recipe", class: "unseen" }, "The recipe, in TOML"), editor, faults),
    R.h("p", { class: "act" }, go, R.h("span", { class: "soft" }, "It trains while this tab is open, and goes on from its last checkpoint when you come back.")), wrong);
  form.addEventListener("submit", (e) => { e.preventDefault(); working(wrong, train)(e); });

  const el = R.h("section", { class: "try" },
    R.h("h1", {}, "Watch a model learn, on your own GPU"),
    R.h("p", { class: "lead" }, "A small language model begins with random numbers. First it imitates the form of answers. Then it learns by trying, and by being told whether it was right. Everything happens in this tab: nothing is installed, and nothing is sent anywhere."),
    device, form);
  return {
    el,
    begin(about, lasting) {
      R.about = about;
      device.replaceWith(about.gpu ? R.h("p", { class: "device" }, R.h("b", {}, about.device), " ", R.h("small", {}, about.driver)) : withoutGPU(about), kept);
      lasts = lasting;
      if (!lasts) kept.textContent = "This browser keeps no files for this page, perhaps because the window is private or the disk is full. Runs are lost when the tab is closed. Download what you want to keep.";
      cards.append(...about.presets.map((p, i) => card(p, i === 0)));
      choose(about.presets[0]);
    },
    fail(why) { device.replaceChildren(R.h("b", { class: "alert" }, "The program cannot run: "), why); },
  };
})();

function withoutGPU(about) {
  return R.h("div", { class: "device without" },
    R.h("p", {}, R.h("b", {}, about.software ? `This browser computes WebGPU on the processor (${about.software}).` : "This browser offers no GPU here."), ` The program computes on the processor ${about.software ? "itself, which is faster" : "instead"}, in plain Go. That is slow, but otherwise the same. Begin with the smallest recipe.`),
    R.h("details", {}, R.h("summary", {}, about.software ? "How to make it use a graphics card" : "How to switch WebGPU on"), R.h("dl", { class: "switches" }, SWITCHES.map(([who, how]) => R.h("div", {}, R.h("dt", {}, who), R.h("dd", {}, how))))));
}

// ROWS is how many bytes of rows it takes: they are in the memory of the program.
const ROWS = 256 << 20;

// LARGEST is how many bytes a model may have: the program has 4 GiB of memory, where a file
// is copied once and weights of 16 bits become 32.
const LARGEST = 1 << 30;

// ask lets a model answer: of a run, or one that was dropped here.
const ask = (() => {
  const model = R.h("select", { id: "model" }), prompt = R.h("textarea", { id: "prompt", rows: 2, spellcheck: "false" }), out = R.h("div", { "aria-live": "polite" }), wrong = R.h("div", {});
  let filled = "";
  let dropped = new Map(); // models that were dropped: their names by their folders
  const number = (id, label, value, min, max, step) => R.h("label", {}, label, R.h("input", { type: "number", id, value, min, max, step }));
  const chat = R.h("input", { type: "checkbox", id: "chat" });
  const fields = [number("count", "answers", 4, 1, 64, 1), number("temperature", "temperature", 1, 0, 10, 0.1), number("tokens", "tokens at most", 64, 1, 4096, 1)];
  const picker = R.h("input", { type: "file", multiple: true, id: "files", onchange: (e) => take([...e.target.files]) });
  const bring = R.h("div", { class: "drop model" }, R.h("label", { for: "files" }, "Drop the files of a small Hugging Face model here, or choose them"), picker, R.h("small", {}, "config.json, *.safetensors, tokenizer.json"));
  bring.addEventListener("dragover", (e) => { e.preventDefault(); bring.classList.add("over"); });
  bring.addEventListener("dragleave", () => bring.classList.remove("over"));
  bring.addEventListener("drop", async (e) => {
    e.preventDefault();
    bring.classList.remove("over");
    const entries = [...e.dataTransfer.items].map((i) => i.webkitGetAsEntry()).filter(Boolean), folder = entries.find((f) => !f.isFile);
    take((await Promise.all(entries.map(filesOf))).flat(), folder && folder.name);
  });

  // filesOf a folder or a file that was dropped.
  async function filesOf(entry) {
    if (entry.isFile) return [await new Promise((yes, no) => entry.file(yes, no))];
    const reader = entry.createReader(), all = [];
    for (;;) {
      const some = await new Promise((yes, no) => reader.readEntries(yes, no));
      if (!some.length) break;
      all.push(...some.filter((e) => e.isFile));
    }
    return (await Promise.all(all.map(filesOf))).flat();
  }
  async function take(files, folder) {
    wrong.replaceChildren(R.h("p", { class: "note" }, "Reading…"));
    try {
      const total = files.reduce((n, f) => n + f.size, 0);
      if (total > LARGEST) throw new Error(`These files have ${R.bytes(total)} in all; a browser can take models of at most ${R.bytes(LARGEST)}.`);
      const all = await Promise.all(files.map(async (f) => ({ name: f.name, bytes: new Uint8Array(await f.arrayBuffer()) })));
      const { value: name } = await R.program.ask("import", { name: folder || "model" }, all);
      await list("/models/" + name);
      wrong.replaceChildren(R.h("p", { class: "note" }, `${name} is ready.`));
    } catch (e) { wrong.replaceChildren(R.h("p", { class: "failed", role: "alert" }, complaint(e))); }
  }

  // list reads which models there are; one may be chosen.
  async function list(chosen) {
    const { value } = await R.program.ask("models");
    dropped = new Map(value.map((name) => ["/models/" + name, name]));
    fill(chosen);
  }
  function fill(chosen) {
    const runs = [...R.runs.values()].filter((r) => r.rows.length).map((r) => ["/runs/" + r.id, r.id]), was = chosen || model.value;
    const all = [...dropped, ...runs];
    form.hidden = !all.length;
    if (String(all) === filled && !chosen) return;
    filled = String(all);
    model.replaceChildren(...all.map(([value, name]) => R.h("option", { value, selected: value === was }, name)));
    discard.hidden = !dropped.has(model.value);
    if (!prompt.value) suggest();
  }
  // suggest a prompt such as the run was trained on.
  async function suggest() {
    const r = R.runs.get(model.value.replace("/runs/", ""));
    const steps = r ? await r.steps("completions.jsonl") : [];
    if (!steps.length) return;
    const [line] = await r.linesOf("completions.jsonl", steps[steps.length - 1].step);
    if (line && !prompt.value) prompt.value = prompt.defaultValue = line.prompt;
  }
  model.addEventListener("change", () => { if (prompt.value === prompt.defaultValue) prompt.value = ""; discard.hidden = !dropped.has(model.value); suggest(); });
  const discard = button("Remove the model", (e) => working(wrong, async () => {
    if (!confirm(`Remove the model ${dropped.get(model.value)} from this browser?`)) return;
    await R.program.ask("discard", { name: dropped.get(model.value) });
    await list();
  })(e), { hidden: true });

  const form = R.h("form", { class: "ask" }, R.h("label", {}, "model", model), R.h("label", { class: "wide" }, "prompt", prompt), ...fields, R.h("label", { class: "tick" }, chat, " as a chat message"), R.h("button", { type: "submit" }, "Sample"), discard);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    working(wrong, async () => {
      const value = (id) => +document.getElementById(id).value;
      const { value: texts } = await R.program.ask("sample", { model: model.value, prompt: prompt.value, chat: chat.checked, n: value("count"), temperature: value("temperature"), tokens: value("tokens"), seed: 1 });
      out.replaceChildren(R.h("ol", { class: "texts" }, texts.map((t) => R.h("li", {}, R.code(t)))));
    })(e);
  });
  const el = R.h("section", { id: "ask" }, R.h("h2", {}, "Ask a model"), form, bring, wrong, out);
  return { el, fill, list };
})();

const doctor = (() => {
  const out = R.h("div", { "aria-live": "polite" }), wrong = R.h("div", {});
  let quick = true;
  const run = async () => {
    const line = R.h("p", { class: "note" }, "Checking…");
    out.replaceChildren(line);
    const { value } = await R.program.ask("doctor", { quick }, [], (text) => { line.textContent = text; });
    const text = `${value.text}\n${navigator.userAgent}\n`, copied = R.h("span", { class: "soft", role: "status" });
    out.replaceChildren(R.h("p", { class: value.ok ? "up" : "down" }, R.h("b", {}, value.verdict)),
      R.h("p", {}, button("Copy the result", async () => { await navigator.clipboard.writeText(text); copied.textContent = " copied: paste it into an issue"; }), copied),
      R.region("Result of the checks", R.h("pre", {}, R.plain(text))));
  };
  const check = (text, isQuick) => button(text, (e) => { quick = isQuick; working(wrong, run)(e); });
  return R.h("section", { id: "doctor" }, R.h("h2", {}, "Certify this GPU"),
    R.h("p", { class: "note" }, "Every kernel is compared with an exact oracle, gradients with finite differences, and the sampler with the trainer bit by bit. The result helps us: nobody has every graphics card."),
    R.h("p", { class: "act" }, check("Check it", true), check("Check it with two training runs", false)), wrong, out);
})();

// The bar over every screen of a run.
const bars = new Map();
function bar(r) {
  if (!bars.has(r.id)) bars.set(r.id, makeBar(r));
  const b = bars.get(r.id);
  b.refresh();
  return b.el;
}

const STATES = { running: "training", paused: "paused", stepping: "one step…", failed: "failed", finished: "finished", stopped: "stopped when its page was closed" };

function makeBar(r) {
  const state = R.h("b", { class: "light" }), about = R.h("span", { class: "soft" }), wrong = R.h("div", {}), trouble = R.h("div", {});
  const act = (text, what, args) => button(text, working(wrong, () => R.program.ask(what, { run: r.id, ...args })));
  const pack = (text, model) => button(text, working(wrong, async () => { const { value, bytes } = await R.program.ask("zip", { run: r.id, model }); save(value.name, bytes); }));
  const pause = act("Pause", "pause"), go = act("Go on", "go"), step = act("One step", "step"), again = act("Continue", "continue"), model = pack("Download the model", true);
  for (const b of [pause, go, again]) b.classList.add("pace");
  const control = button("Run its control", working(wrong, async () => { await R.program.ask("control", { run: r.id }); }), { title: "the same recipe with random rewards: what it reaches was not learned from rewards" });
  const beside = R.h("a", { href: R.href("compare", r.id) }, "beside its control");
  const asked = button("Ask it", () => { R.go("runs"); setTimeout(() => { ask.fill("/runs/" + r.id); document.getElementById("prompt").focus(); }, 100); });
  const remove = button("Remove", working(wrong, async () => {
    if (!confirm(`Remove the run ${r.id} from this browser?`)) return;
    await R.program.ask("remove", { run: r.id });
    R.runs.delete(r.id);
    bars.delete(r.id);
    R.go("runs");
  }));
  const el = R.h("section", { class: "bar", "aria-label": "this run" }, R.h("div", { class: "says" }, state, " ", about), R.h("div", { class: "buttons" }, pause, go, step, again, control, beside, asked, pack("Download the run"), model, remove), trouble, wrong);
  let saved, seen = ""; // the step of the newest checkpoint, and what the run was when it was asked for
  const refresh = () => {
    draw();
    stands();
  };
  // stands asks from where the run would go on, and whether it has a model yet.
  const stands = async () => {
    const mark = r.version + " " + r.state;
    if (mark === seen || (saved >= 0 && R.jobs.has(r.id) && r.state === "running")) return;
    seen = mark;
    try { saved = (await R.program.ask("standing", { run: r.id })).value.checkpoint; } catch { return; } // the run is removed, or the program has ended
    draw();
  };
  const draw = () => {
    const job = R.jobs.get(r.id) || {}, now = job.state || r.state, busy = now === "running" || now === "stepping", held = now === "paused";
    const focus = document.activeElement;
    state.textContent = STATES[now] || now;
    state.className = "light " + now;
    const ended = !busy && !held && now !== "finished";
    about.textContent = [job.device, speeds(r), busy && !r.rows.length ? job.line : "", !ended || saved == null ? "" : saved >= 0 ? `goes on after step ${saved.toLocaleString("en")}, its last checkpoint` : "has no checkpoint yet, and begins anew"].filter(Boolean).join(" · ");
    trouble.replaceChildren(...(job.error ? [R.h("p", { class: "failed", role: "alert" }, job.error)] : []));
    const rewarded = r.facts && r.facts.stages.some((s) => s.kind === "rl"), controlled = [...R.runs.keys()].some((id) => id.startsWith(r.id + "-random"));
    const shown = [[pause, busy], [go, held], [step, held], [again, ended], [control, rewarded && !r.facts.control && !controlled], [beside, controlled], [asked, saved >= 0], [model, saved >= 0], [remove, !busy && !held]];
    for (const [e, is] of shown) e.hidden = !is;
    if (focus && focus.hidden && el.contains(focus)) (busy ? pause : held ? go : again).focus();
  };
  return { el, refresh };
}

R.program.on((e) => {
  if (e.event === "ended") for (const b of [...document.querySelectorAll(".try button, .bar button, #ask button, #doctor button"), ...[...bars.values()].flatMap(({ el }) => [...el.querySelectorAll("button")])]) turn(b, false);
  if (e.event !== "job") return;
  const { state, line, device, error } = e, was = R.jobs.get(e.run) || {};
  const job = { state, device: device || was.device, line: line || was.line, error };
  R.jobs.set(e.run, job);
  const r = R.runs.get(e.run);
  if (r) r.state = state;
  if (bars.has(e.run)) bars.get(e.run).refresh();
  if (state === was.state || !was.state) return;
  R.say(`${e.run}: ${STATES[state] || state}`);
  if (R.parse().id === e.run || !R.parse().id) news(); // the state stands in other places too
});

// The first screen is that of the runs, below what starts one; every other has the bar.
for (const s of R.screens) {
  const { show, update } = s;
  if (!s.all) {
    s.show = (el, r, params) => { el.append(bar(r)); return show(el, r, params); };
    if (update) s.update = (el, r, params) => { bar(r); return update(el, r, params); };
    s.keys = { p: ["pause, or go on", () => { const b = document.querySelector(".bar .pace:not([hidden])"); if (b) b.click(); }], ...s.keys };
  }
  else if (s.name === "runs") {
    s.title = "Try";
    s.update = (el, r, params) => {
      const list = el.querySelector(".list");
      list.replaceChildren();
      if (R.runs.size) show(list, r, params);
      ask.fill();
    };
    s.show = (el, r, params) => {
      el.append(start.el, R.h("section", { class: "list" }), ask.el, doctor);
      s.update(el, r, params);
    };
  }
}
document.getElementById("main").append(R.h("div", { class: "screen runs" }, start.el));
R.program.ready.then(async (r) => {
  if (r.failed) { start.fail(r.failed); return; }
  try {
    start.begin((await R.program.ask("about")).value, r.lasting);
    await ask.list();
  } catch (e) { start.fail(complaint(e)); }
});
