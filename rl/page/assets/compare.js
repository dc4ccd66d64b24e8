// Compare: is A better than B?
"use strict";

R.screens.push({
  name: "compare", title: "Compare",
  show(el, r, params) {
    const groups = R.groups(), own = groups.findIndex((g) => g.runs.includes(r));
    el.append(R.h("h1", {}, "Compare"));
    if (groups.length < 2) { el.append(R.h("p", { class: "note" }, "There is one recipe here. Open a folder with runs of several recipes to compare them: rlzero page DIR."), R.bandChart(groups) || ""); return; }
    const a = groups[own], other = params.with != null && groups[+params.with] ? +params.with : groups.findIndex((_, i) => i !== own), b = groups[other];
    const pick = R.h("select", { "aria-label": "compare with", onchange: (e) => R.set({ with: e.target.value }) }, groups.map((g, i) => (i === own ? null : R.h("option", { value: i, selected: i === other }, g.name + (g.control ? " (control)" : "")))));
    el.append(R.h("div", { class: "head" }, R.h("span", {}, "A ", R.h("b", { class: "s0" }, a.name)), R.h("span", {}, "B ", pick)), verdictOf(a, b));
    el.append(R.h("div", { class: "opening one" }, R.bandChart([a, b]) || "No evaluation yet."));
    el.append(R.h("section", {}, R.h("h2", {}, "What the recipes differ in"), recipes(a.runs[0], b.runs[0])));
    el.append(R.h("section", {}, R.h("h2", {}, "The same held-out problems"), sideBySide(a, b)));
  },
});

// R.bandChart draws groups: mean of the seeds, smallest to largest as a band.
R.bandChart = function (groups) {
  const lines = groups.map((g, i) => {
    const band = R.band(g.runs.map(R.accuracy)), one = g.runs.length === 1 ? R.accuracy(g.runs[0]) : null;
    return { label: (groups.length > 1 ? "AB"[i] + " " : "") + (g.control ? "control" : ""), cls: g.control ? "ghost" : "s" + (i ? 2 : 0), x: band.map((p) => p.x), y: band.map((p) => p.y), lo: one ? one.lo : band.map((p) => p.lo), hi: one ? one.hi : band.map((p) => p.hi), band: !one, dots: !!one };
  });
  return R.chart({ title: "Held-out accuracy", caption: "mean over seeds; band: smallest to largest seed; whiskers: 95 % interval of one run", share: true, hero: true, from: 0, lines });
};

// verdictOf answers the question in a sentence.
function verdictOf(a, b) {
  const pairs = pairsOf(a, b);
  const gap = (100 * (a.mean - b.mean)).toFixed(1).replace("-", "−");
  const parts = [`A reaches ${R.percent(a.mean)} (${a.n} ${a.n === 1 ? "seed" : "seeds"}), B ${R.percent(b.mean)} (${b.n}): ${a.mean >= b.mean ? "+" : ""}${gap} points.`];
  let word = "A and B were measured on different problems, so their accuracies cannot be compared.";
  if (pairs.length > 1) {
    const d = R.paired(pairs.map((p) => [p.b, p.a]));
    const sure = d.low > 0 ? "A is better" : d.high < 0 ? "B is better" : "The difference may be chance";
    word = `${sure}: on the same ${d.n} problems the paired difference is ${R.signed(100 * d.mean, (v) => v.toFixed(1).replace("-", "−"))} points, 95 % interval ${(100 * d.low).toFixed(1).replace("-", "−")} to ${(100 * d.high).toFixed(1).replace("-", "−")}.`;
  }
  if (!(a.n && b.n)) word = "One of the two has not been measured yet.";
  return R.h("p", { class: "lead", id: "verdict" }, word + " ", R.h("span", { class: "soft" }, parts[0] + (Math.min(a.n, b.n) < 3 ? " Fewer than three seeds say little about the recipe." : "")));
}

// pairsOf are the problems that both evaluated last: the share of seeds that were right.
function pairsOf(a, b) {
  const of = (g) => {
    const by = new Map();
    for (const r of g.runs) {
      const last = r.evaluations.length ? r.evaluations[r.evaluations.length - 1].step : 0;
      for (const o of r.evaluations) if (o.step === last) by.set(o.prompt, [...(by.get(o.prompt) || []), o]);
    }
    return by;
  };
  const x = of(a), y = of(b), share = (l) => l.filter((o) => o.verdict === "right").length / l.length;
  return [...x].filter(([p]) => y.has(p)).map(([p, l]) => ({ prompt: p, a: share(l), b: share(y.get(p)), la: l, lb: y.get(p) }));
}

function recipes(a, b) {
  const keys = [...new Set([...a.facts.keys.keys(), ...b.facts.keys.keys()])].filter((k) => a.facts.keys.get(k) !== b.facts.keys.get(k) && k !== "seed" && k !== "about");
  if (!keys.length) return R.h("p", { class: "note" }, "Nothing.");
  return R.region("Recipe differences", R.h("table", {}, R.h("thead", {}, R.h("tr", {}, ["key", "A", "B"].map((t) => R.h("th", { scope: "col" }, t)))),
    R.h("tbody", {}, keys.map((k) => R.h("tr", {}, R.h("th", { scope: "row" }, R.h("code", {}, k)), [a, b].map((r) => R.h("td", {}, r.facts.keys.has(k) ? R.code(r.facts.keys.get(k), 200) : "–")))))));
}

function sideBySide(a, b) {
  const pairs = pairsOf(a, b).sort((p, q) => Math.abs(q.a - q.b) - Math.abs(p.a - p.b)).slice(0, 12);
  if (!pairs.length) return R.h("p", { class: "note" }, "The two evaluate different problems.");
  const cell = (l) => R.h("td", {}, R.code(l[0].completion, 200), R.h("p", { class: "reason" }, R.verdict(l[0].verdict), l.length > 1 ? ` ${l.filter((o) => o.verdict === "right").length} of ${l.length} seeds right` : ""));
  return R.region("Samples side by side", R.h("table", {}, R.h("thead", {}, R.h("tr", {}, ["problem", "A", "B"].map((t) => R.h("th", { scope: "col" }, t)))),
    R.h("tbody", {}, pairs.map((p) => R.h("tr", {}, R.h("th", { scope: "row" }, R.code(p.prompt, 160)), cell(p.la), cell(p.lb))))));
}
