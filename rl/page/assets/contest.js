// Contest: what recipes came to against each other, as rlzero compare measured it.
"use strict";

R.screens.push({
  name: "runs", title: "Comparison", all: true,
  show(el) {
    const { told, notes } = R.inline.contest, names = told.figures[0].recipes.map((a) => a.recipe), n = told.seeds.length;
    el.append(R.h("h1", {}, names.join(", ")),
      R.h("p", { class: "lead" }, `${n} ${n === 1 ? "seed" : "seeds"} of each recipe, ${told.problems} held-out problems, the same for all. Gains are measured against ${names[0]}, on the same seeds and problems.`),
      R.region("Figures", R.h("table", { class: "figures" }, R.h("thead", {}, R.h("tr", {}, ["figure", "recipe", "mean", "spread", "gain", "95 % interval"].map((t, i) => R.h("th", { scope: "col", class: i > 1 ? "num" : null }, t)))),
        R.h("tbody", {}, told.figures.map((f) => [...f.recipes, ...(f.start ? [f.start] : [])].map((a, i) => contestRow(f, a, i)))))),
      R.h("p", { class: "note" }, "Spread is the standard deviation over seeds. Bold: the interval does not contain 0."),
      R.h("section", {}, R.h("h2", {}, "Curves"), R.h("p", { class: "note" }, "Means over seeds; bands are their 95 % intervals. Charts end where the shortest run does."),
        R.h("div", { class: "grid wide" }, told.charts.map((c) => R.chart({ title: c.title, unit: c.unit + "; x: " + told.along, along: told.along, share: c.share, lines: c.recipes.map((a, i) => ({ label: R.clip(names[i], 28), cls: "s" + (i % 8), x: c.tokens, y: a.mean, lo: a.low.some(R.finite) ? a.low : null, hi: a.high, band: true })) })).filter(Boolean))),
      ...notes.map((t) => R.h("p", { class: "note" }, t)));
  },
});

function contestRow(f, a, i) {
  const of = (v) => (!R.finite(v) ? "–" : f.share ? (100 * v).toFixed(1) : R.number(v)).replace("-", "−"), gain = a.gain, sure = gain && (gain.low > 0 || gain.high < 0);
  const had = a.seeds.filter(R.finite).length, some = had && had < a.seeds.length ? R.h("small", {}, ` ${had} of ${a.seeds.length} seeds`) : null;
  return R.h("tr", {}, R.h("th", { scope: "row" }, i ? R.h("span", { class: "unseen" }, f.name) : f.name, i ? null : R.h("small", {}, f.share ? " %" : f.unit && !f.name.startsWith(f.unit) ? " " + f.unit : "")), R.h("td", {}, a.recipe), R.h("td", { class: "num" }, of(a.mean), some), R.h("td", { class: "num" }, of(a.spread)),
    R.h("td", { class: "num" }, gain ? R.h(sure ? "b" : "span", {}, R.signed(gain.mean, of)) : ""), R.h("td", { class: "num" }, gain && R.finite(gain.low) ? `${R.signed(gain.low, of)} to ${R.signed(gain.high, of)}` : ""));
}
