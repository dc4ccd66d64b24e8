// Runs: which runs are there, which is best, is one in trouble?
"use strict";

R.screens.push({
  name: "runs", title: "Runs", all: true,
  show(el, _, params) {
    const query = (params.q || "").toLowerCase();
    const groups = R.groups().filter((g) => !query || g.runs.some((r) => (r.id + " " + r.facts.about).toLowerCase().includes(query)));
    const search = R.h("input", { type: "search", id: "search", placeholder: "search", "aria-label": "search runs", value: params.q || "", onchange: (e) => R.set({ q: e.target.value }) });
    el.append(
      R.h("div", { class: "head" }, R.h("h1", {}, R.runs.size === 1 ? "1 run" : R.runs.size + " runs"), R.runs.size > 1 ? R.h("a", { class: "button", href: R.href("overlay", null, { runs: params.runs }) }, params.runs ? "curves of those chosen" : "curves over each other") : null, search),
      R.h("p", { class: "note" }, "Runs that differ only in their seed share a row: the mean of their held-out accuracy, with the smallest and the largest."),
      R.region("Runs", R.h("table", { class: "runs" },
        R.h("thead", {}, R.h("tr", {}, ...["recipe", "seeds", "held-out accuracy", "during training", "state", "alerts"].map((t) => R.h("th", { scope: "col" }, t)))),
        R.h("tbody", {}, groups.map((g) => row(g, params))))));
  },
});

// R.groups are the runs by recipe, the seed left out; the best first.
R.groups = function () {
  const by = new Map();
  for (const r of R.runs.values()) {
    if (!r.facts) continue;
    if (!by.has(r.group)) by.set(r.group, { runs: [], control: r.facts.control, about: r.facts.about, title: r.facts.title });
    by.get(r.group).runs.push(r);
  }
  for (const g of by.values()) {
    g.runs.sort((a, b) => a.facts.seed - b.facts.seed);
    g.name = g.runs.length > 1 ? g.runs[0].id.replace(/[-_]?(seed)?[-_]?\d+$/, "") || g.runs[0].id : g.runs[0].id;
    const last = g.runs.map((r) => r.after()).filter(Boolean).map((e) => e.pass);
    g.mean = last.length ? last.reduce((a, b) => a + b, 0) / last.length : NaN;
    g.low = Math.min(...last); g.high = Math.max(...last); g.n = last.length;
  }
  return [...by.values()].sort((a, b) => (R.finite(b.mean) ? b.mean : -1) - (R.finite(a.mean) ? a.mean : -1) || a.name.localeCompare(b.name));
};

// R.accuracy is a run's held-out accuracy over the steps of its main stage, with gaps where
// nothing was measured.
R.accuracy = function (r) {
  const m = r.main();
  if (!m) return { x: [], y: [], lo: [], hi: [], n: 0 };
  const list = r.evals().filter((e) => e.step >= m.after && e.step <= m.last);
  const from = r.before();
  if (from && from.step < m.after) list.unshift({ ...from, step: m.after });
  // Two at one step: before the stage began, and during it; or a part, and all problems.
  const at = new Map();
  for (const e of list) at.set(e.step - m.after, e);
  const e = [...at.values()];
  const s = { x: [...at.keys()], y: e.map((o) => o.pass), lo: e.map((o) => o.low), hi: e.map((o) => o.high), k: e.map((o) => o.passK), greedy: e.map((o) => o.greedy), problems: e.map((o) => o.problems) };
  return { ...R.broken(s, R.far(s)), n: e.length ? e[e.length - 1].k : 0 };
};

function row(g, params) {
  const ids = (params.runs || "").split(",").filter(Boolean), own = g.runs.map((r) => encodeURIComponent(r.id)), chosen = own.some((id) => ids.includes(id));
  const choose = R.h("input", { type: "checkbox", "aria-label": "choose " + g.name, checked: chosen, onchange: () => R.set({ runs: chosen ? ids.filter((id) => !own.includes(id)).join(",") : [...ids, ...own].join(",") }) });
  const worst = g.runs.flatMap((r) => r.alerts).filter((a) => a.level !== "info");
  const one = g.runs.length === 1, e = one && g.runs[0].after();
  const range = one ? (e && R.finite(e.low) ? ` (${(100 * e.low).toFixed(1)}–${(100 * e.high).toFixed(1)})` : "") : g.n ? ` (${(100 * g.low).toFixed(1)}–${(100 * g.high).toFixed(1)})` : "";
  return R.h("tr", { class: g.control ? "control" : "" },
    R.h("th", { scope: "row" }, R.runs.size > 1 ? [choose, " "] : null, R.h("a", { class: "item", href: R.href("now", g.runs[0].id) }, g.name), g.control ? R.h("small", {}, " control") : null, R.h("p", { class: "about" }, R.clip(g.about, 120))),
    R.h("td", { "data-label": g.runs.length > 1 ? "seeds" : "seed" }, g.runs.map((r, i) => [i ? " " : "", R.h("a", { class: "seed", href: R.href("now", r.id), "aria-label": "seed " + r.facts.seed + " of " + g.name }, r.facts.seed)])),
    R.h("td", { class: "big" }, R.percent(g.mean), R.h("small", {}, range)),
    R.h("td", {}, R.spark(R.band(g.runs.map(R.accuracy)), g.control ? "ghost" : "s0")),
    R.h("td", {}, g.runs.map((r) => state(r)).filter((t, i, a) => a.indexOf(t) === i).join(", ")),
    R.h("td", {}, worst.length ? R.h("a", { class: "alert", href: R.href("now", (g.runs.find((r) => r.alerts.some((a) => a.level !== "info")) || g.runs[0]).id) }, "! " + worst.length) : "–"));
}

function state(r) {
  const m = r.main();
  if (r.state !== "running" || !m) return r.state;
  return `${m.name} ${m.last - m.after}${r.planned(m) ? "/" + r.planned(m) : ""}`;
}

// planned is how many steps a stage has, as far as the recipe and the run say by now; 0: unknown.
// Imitation holds its rate for hold_steps, or until enough of the samples that it probes are valid.
R.Run.prototype.planned = function (m) {
  const s = this.facts && this.facts.stages.find((o) => o.name === m.name);
  if (!s || s.hold_steps == null) return s && s.steps ? +s.steps : 0;
  const met = this.rows.find((o) => o.step > m.after && o.step <= m.last && o.v["eval/valid"] >= +s.until_valid && !("eval/pass@1" in o.v));
  return (met ? met.step - m.after : +s.hold_steps) + +s.decay_steps;
};
