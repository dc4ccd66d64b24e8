// Curves over each other: how do recipes differ, step by step? Recipes by colour, seeds as a band.
"use strict";

R.screens.push({
  name: "overlay", title: "Curves over each other", all: true,
  show(el, _, params) {
    const groups = chosenGroups(params.runs).slice(0, COLOURS), axis = axes[params.x] ? params.x : "stage";
    el.append(R.h("div", { class: "head" }, R.h("h1", {}, "Curves over each other"), curveControls(params, axis)));
    if (!groups.length) { el.append(R.h("p", { class: "note" }, "No run is chosen. ", R.h("a", { href: "#/" }, "The list of runs"), " has a box at each recipe.")); return; }
    const without = (g) => R.chosen(groups.filter((o) => o !== g).flatMap((o) => o.runs));
    el.append(R.h("ul", { class: "legend" }, groups.map((g, i) => R.h("li", {}, R.h("b", { class: classOf(g, i) }, letterOf(i)), " ",
      R.h("a", { href: R.href("now", g.runs[0].id) }, g.name), R.h("small", {}, ` ${g.runs.length > 1 ? g.runs.length + " seeds" : "seed " + g.runs[0].facts.seed}${g.control ? ", control" : ""} `),
      groups.length > 1 ? R.h("button", { type: "button", class: "small", "aria-label": "leave out " + g.name, onclick: () => R.set({ runs: without(g) }) }, "×") : null))),
      R.h("p", { class: "note" }, "A line is the mean of the seeds of a recipe, a band reaches from the smallest to the largest. Drag over a chart to see a part of it."));
    const runs = groups.flatMap((g) => g.runs), places = new Map(runs.filter((r) => r.main()).map((r) => [r, within(horizontal(r, axis, r.main()), params)]));
    const moves = (name) => { const y = [...places].flatMap(([r, place]) => { const s = r.series(name); return s.y.filter((v, i) => R.finite(v) && place(s.x[i]) != null); }); return y.some((v) => v !== y[0]); };
    for (const [family, list] of byFamily([...new Set(runs.flatMap((r) => r.names()))], params.q)) {
      const figures = list.filter(moves).map((name) => later(() => overlaid(name, groups, places, axis, params)));
      if (figures.length) el.append(R.h("section", {}, R.h("h2", {}, family), R.h("div", { class: "grid" }, figures)));
    }
  },
});

const COLOURS = 8, GRID = 200; // recipes that have a colour; points of a line whose seeds were not measured at the same places
const letterOf = (i) => "ABCDEFGH"[i], classOf = (g, i) => (g.control ? "ghost" : "s" + i);

// R.chosen names runs in an address.
R.chosen = (runs) => runs.map((r) => encodeURIComponent(r.id)).join(",");

// chosenGroups are the recipes of the runs that an address names, with these runs alone; of one that
// names none, all.
function chosenGroups(text) {
  const ids = (text || "").split(",").filter(Boolean).map(decodeURIComponent);
  return R.groups().map((g) => ({ ...g, runs: g.runs.filter((r) => !ids.length || ids.includes(r.id)) })).filter((g) => g.runs.length);
}

// overlaid is the chart of a metric.
function overlaid(name, groups, places, axis, params) {
  const seldom = name.startsWith("eval/"), about = meaning(name);
  const lines = groups.map((g, i) => {
    const seeds = g.runs.filter((r) => places.has(r)).map((r) => {
      const s = r.series(name), y = seldom || params.smooth === "0" ? s.y : R.smooth(s.y, s.stage), out = { x: [], y: [] };
      s.x.forEach((step, j) => { const at = places.get(r)(step); if (at != null && R.finite(y[j])) { out.x.push(at); out.y.push(y[j]); } });
      return out;
    }).filter((s) => s.x.length);
    const band = R.band(together(seeds));
    return { label: letterOf(i), cls: classOf(g, i), band: true, x: band.map((b) => b.x), y: band.map((b) => b.y), lo: seeds.length > 1 ? band.map((b) => b.lo) : null, hi: band.map((b) => b.hi) };
  }).filter((l) => l.x.length);
  if (!lines.length) return null;
  const fig = R.chart({ title: name, unit: about.unit || " ", share: R.isShare(name), log: params.log ? 1 : 0, along: { stage: "", total: "", tokens: "tokens", time: "s" }[axis], lines, zoom });
  fig.firstChild.append(R.h("p", { class: "meaning" }, about.meaning));
  return fig;
}

// together brings series to the same places: their own, where they share few, or equal distances,
// with the mean of what is measured round a place, or what lies between two measurements.
function together(list) {
  const same = list.every((s) => s.x.length === list[0].x.length && s.x.every((x, i) => x === list[0].x[i]));
  if (!list.length || (same && list[0].x.length <= 2 * GRID)) return list;
  const [from, to] = R.extent(list.flatMap((s) => [s.x[0], s.x[s.x.length - 1]])), wide = (to - from) / GRID;
  const grid = Array.from({ length: GRID + 1 }, (_, i) => from + i * wide);
  return list.map((s) => {
    let at = 0;
    return { x: grid, y: grid.map((g) => {
      while (at < s.x.length && s.x[at] < g - wide / 2) at++;
      let n = 0, sum = 0;
      for (let i = at; i < s.x.length && s.x[i] < g + wide / 2; i++) { n++; sum += s.y[i]; }
      if (n) return sum / n;
      return at > 0 && at < s.x.length ? s.y[at - 1] + ((s.y[at] - s.y[at - 1]) * (g - s.x[at - 1])) / (s.x[at] - s.x[at - 1]) : NaN;
    }) };
  });
}

// later is a figure that is made when it comes into view, or goes to paper.
function later(make) {
  const spot = R.h("div", { class: "later" });
  spot.print = () => { if (spot.isConnected) spot.replaceWith(make() || ""); };
  new IntersectionObserver((seen, o) => { if (seen.some((e) => e.isIntersecting)) { o.disconnect(); spot.print(); } }, { rootMargin: "200px" }).observe(spot);
  return spot;
}
