// Compare: is A better than B? Figures and intervals are those of rlzero compare.
"use strict";

R.screens.push({
  name: "compare", title: "Compare",
  async show(el, r, params) {
    const groups = R.groups(), own = groups.findIndex((g) => g.runs.includes(r));
    el.append(R.h("h1", {}, "Compare"));
    if (groups.length < 2) { el.append(R.h("p", { class: "note" }, "There is only one recipe here. To compare recipes, open a folder with runs of several: rlzero page DIR."), seedChart(groups) || ""); return; }
    const a = groups[own], other = params.with != null && groups[+params.with] ? +params.with : partner(groups, own), b = groups[other];
    const pick = R.h("select", { "aria-label": "compare with", onchange: (e) => R.set({ with: e.target.value }) }, groups.map((g, i) => (i === own ? null : R.h("option", { value: i, selected: i === other }, g.name + (g.control ? " (control)" : "")))));
    let told = null, why = "";
    try { told = await r.against(b.runs[0]); } catch (e) { why = e.message; }
    el.append(R.h("div", { class: "head" }, R.h("span", {}, "A ", R.h("b", { class: "s0" }, a.name)), R.h("span", {}, "B ", pick)), told ? verdictOf(told) : R.h("p", { class: "lead", id: "verdict" }, "These runs cannot be compared: " + why + "."));
    const [hero, ...others] = told ? told.charts.map((c) => bandChart(c, a, b, told.along)).filter(Boolean) : [];
    el.append(R.h("div", { class: "opening one" }, hero || seedChart([a, b]) || "No evaluation yet."));
    if (told) {
      el.append(R.h("section", {}, R.h("h2", {}, "Figures"), figures(told)));
      if (others.length) el.append(R.h("section", {}, R.h("h2", {}, "Curves"), R.h("div", { class: "grid" }, others)));
    }
    el.append(R.h("section", {}, R.h("h2", {}, "How the recipes differ"), recipes(a.runs[0], b.runs[0])));
    el.append(R.h("section", {}, R.h("h2", {}, "The same held-out problems"), sideBySide(a, b)));
  },
});

// partner is the first group that has finished a seed of its own, or any.
function partner(groups, own) {
  const done = (g) => g.runs.filter((r) => r.state === "finished").map((r) => r.facts.seed), seeds = done(groups[own]);
  const i = groups.findIndex((g, j) => j !== own && done(g).some((s) => seeds.includes(s)));
  return i >= 0 ? i : groups.findIndex((_, j) => j !== own);
}

const letters = (i, g) => "AB"[i] + (g.control ? " control" : "");
const classes = (i, g) => (g.control ? "ghost" : "s" + (i ? 2 : 0));

// bandChart draws a chart of a comparison, whose recipes are B and A in this order.
function bandChart(c, a, b, along) {
  const lines = [a, b].map((g, i) => {
    const arm = c.recipes[1 - i], one = !arm.low.some(R.finite);
    return { label: letters(i, g), cls: classes(i, g), x: c.tokens, y: arm.mean, lo: one ? null : arm.low, hi: one ? null : arm.high, band: true };
  });
  const hero = c.metric === "eval/pass@1";
  const means = (lines.some((l) => l.lo) ? "mean over seeds; band: its 95 % interval" : "one seed") + "; x: " + along;
  return R.chart({ title: c.title, along, caption: hero ? means : c.unit, share: c.share, hero, lines });
}

// seedChart draws the held-out accuracy of each run where nothing can be compared.
function seedChart(groups) {
  const lines = groups.flatMap((g, i) => g.runs.map((r, n) => ({ ...R.accuracy(r), label: (groups.length > 1 ? letters(i, g) : "") + (g.runs.length > 1 ? " seed " + r.facts.seed : ""), cls: classes(i, g), dots: true }))).filter((l) => l.x.length);
  return R.chart({ title: "Held-out accuracy", caption: "each run; whiskers: 95 % interval", share: true, hero: true, from: 0, lines });
}

const points = (v, share) => (!R.finite(v) ? "–" : (share ? (100 * v).toFixed(1) : R.number(v)).replace("-", "−"));
const signed = (v, share) => (v > 0 ? "+" : "") + points(v, share);

// verdictOf answers the question in a sentence.
function verdictOf(told) {
  const [b, a] = told.figures[0].recipes, gain = a.gain, n = told.seeds.length;
  const word = !R.finite(gain.low) ? "Too little was measured to tell" : gain.low > 0 ? "A is better" : gain.high < 0 ? "B is better" : "The difference may be due to chance";
  const seeds = n === 1 ? "one seed" : n + " seeds";
  return R.h("p", { class: "lead", id: "verdict" }, `${word}: on the same ${told.problems} problems and ${seeds}, A minus B is ${signed(gain.mean, true)} points, 95 % interval ${signed(gain.low, true)} to ${signed(gain.high, true)}. `,
    R.h("span", { class: "soft" }, `A reaches ${R.percent(a.mean)}, B ${R.percent(b.mean)}.` + (n < 3 ? " Fewer than three seeds say little about how another seed would do." : "")));
}

// figures is the table of rlzero compare.
function figures(told) {
  const head = ["", "A", "B", "A minus B", "95 % interval"];
  return R.region("Figures", R.h("table", { class: "figures" }, R.h("thead", {}, R.h("tr", {}, head.map((t, i) => R.h("th", { scope: "col", class: i ? "num" : null }, t || R.h("span", { class: "unseen" }, "figure"))))),
    R.h("tbody", {}, told.figures.map((f) => {
      const [b, a] = f.recipes, of = (v) => (f.share ? R.percent(v) : R.number(v)), sure = a.gain.low > 0 || a.gain.high < 0;
      return R.h("tr", {}, R.h("th", { scope: "row" }, f.name, f.unit && !f.name.startsWith(f.unit) ? R.h("small", {}, " " + f.unit) : null), [of(a.mean), of(b.mean)].map((t) => R.h("td", { class: "num" }, t)),
        R.h("td", { class: "num" }, sure ? R.h("b", {}, signed(a.gain.mean, f.share)) : signed(a.gain.mean, f.share)), R.h("td", { class: "num" }, R.finite(a.gain.low) ? `${signed(a.gain.low, f.share)} to ${signed(a.gain.high, f.share)}` : "–"));
    }))));
}

// pairsOf are the problems that both evaluated last, of those that are recorded: the
// samples of each seed.
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
  if (!keys.length) return R.h("p", { class: "note" }, "They have the same keys and values.");
  return R.region("Recipe differences", R.h("table", {}, R.h("thead", {}, R.h("tr", {}, ["key", "A", "B"].map((t) => R.h("th", { scope: "col" }, t)))),
    R.h("tbody", {}, keys.map((k) => R.h("tr", {}, R.h("th", { scope: "row" }, R.h("code", {}, k)), [a, b].map((r) => R.h("td", {}, r.facts.keys.has(k) ? R.code(r.facts.keys.get(k), 200) : "–")))))));
}

function sideBySide(a, b) {
  const pairs = pairsOf(a, b).sort((p, q) => Math.abs(q.a - q.b) - Math.abs(p.a - p.b)).slice(0, 12);
  if (!pairs.length) return R.h("p", { class: "note" }, "The two runs were evaluated on different problems.");
  const cell = (l) => R.h("td", {}, R.code(l[0].completion, 200), R.h("p", { class: "reason" }, R.verdict(l[0].verdict), l.length > 1 ? ` ${l.filter((o) => o.verdict === "right").length} of ${l.length} seeds right` : ""));
  return R.region("Samples side by side", R.h("table", {}, R.h("thead", {}, R.h("tr", {}, ["problem", "A", "B"].map((t) => R.h("th", { scope: "col" }, t)))),
    R.h("tbody", {}, pairs.map((p) => R.h("tr", {}, R.h("th", { scope: "row" }, R.code(p.prompt, 160)), cell(p.la), cell(p.lb))))));
}
