// Curves: what changed, when? Every metric, by family, under one cursor.
"use strict";

const axes = {
  stage: "steps of the stage", total: "steps of the run", tokens: "tokens sampled", time: "time",
};

R.screens.push({
  name: "curves", title: "Curves",
  keys: { s: ["smooth the lines or not", () => R.set({ smooth: R.parse().params.smooth === "0" ? "" : "0" })] },
  show(el, r, params) {
    const axis = axes[params.x] ? params.x : "stage", m = r.main();
    el.append(R.h("div", { class: "head" }, R.h("h1", {}, "Curves"), curveControls(params, axis)));
    if (!m) return;
    const x = within(horizontal(r, axis, m), params), drawn = !sync || params.drawn;
    for (const [family, list] of byFamily(r.names(), params.q)) {
      // What never changes is told in words.
      const still = (n) => { const y = r.series(n).y.filter((v, i) => R.finite(v) && x(r.series(n).x[i]) != null); return y.length && y.every((v) => v === y[0]) ? y[0] : null; };
      const constant = list.filter((n) => still(n) != null), figures = list.filter((n) => still(n) == null).map((n) => figure(r, n, x, axis, params, drawn)).filter(Boolean);
      if (figures.length || constant.length) {
        el.append(R.h("section", {}, R.h("h2", {}, family), figures.length ? R.h("div", { class: "grid" }, figures) : "",
          constant.length ? R.h("p", { class: "note" }, "Constant: " + constant.map((n) => `${n} ${R.value(n, still(n))}`).join(", ") + ".") : ""));
      }
    }
  },
});

// curveControls are what changes the charts of a screen of curves: all of it stands in the address.
function curveControls(params, axis) {
  const pick = R.h("select", { "aria-label": "horizontal axis", onchange: (e) => R.set({ x: e.target.value, from: "", to: "" }) }, Object.entries(axes).map(([k, v]) => R.h("option", { value: k, selected: k === axis }, v)));
  const search = R.h("input", { type: "search", id: "search", placeholder: "metric", "aria-label": "metrics whose name contains", value: params.q || "", onchange: (e) => R.set({ q: e.target.value }) });
  const toggle = (key, name, on, off) => R.h("button", { type: "button", "aria-pressed": String(on), onclick: () => R.set({ [key]: off }) }, name);
  const edge = (key, name) => R.h("input", { type: "number", class: "edge", placeholder: key, "aria-label": name, value: params[key] || "", onchange: (e) => R.set({ [key]: e.target.value }) });
  return [search, pick, edge("from", "where charts begin"), edge("to", "where charts end"), params.from || params.to ? R.h("button", { type: "button", onclick: () => zoom("", "") }, "whole") : null,
    toggle("smooth", "smooth", params.smooth !== "0", params.smooth === "0" ? "" : "0"), toggle("log", "log", !!params.log, params.log ? "" : "1")];
}

// zoom shows a part of the axis.
const zoom = (from, to) => R.set({ from, to });

// within leaves out of a map to the axis what lies outside the part that is shown.
function within(place, params) {
  const from = params.from ? +params.from : -Infinity, to = params.to ? +params.to : Infinity;
  return (step) => { const p = place(step); return p != null && p >= from && p <= to ? p : null; };
}

// ofModel says whether a name of the table, such as NAME/kl, stands for that of a metric of a model.
const ofModel = (listed, name) => listed.startsWith("NAME/") && name.split("/").length === 2 && name.endsWith(listed.slice(4));

// byFamily are the metrics whose name contains a text, in the order of their table, by family.
function byFamily(names, text) {
  const order = R.metrics.map((t) => t.name.replace(/(@K|\/NAME)$/, "")), families = new Map();
  const place = (n) => { const i = order.findIndex((o) => n === o || n.startsWith(o + "@") || n.startsWith(o + "/") || ofModel(o, n)); return i < 0 ? order.length : i; };
  for (const n of names.filter((o) => !text || o.includes(text)).sort((a, b) => place(a) - place(b))) {
    const f = n.split("/")[0];
    families.set(f, [...(families.get(f) || []), n]);
  }
  return families;
}

// horizontal maps a step to its place on the axis; null: the step is not shown.
function horizontal(r, axis, m) {
  if (axis === "total") return (s) => s;
  if (axis === "stage") return (s) => (s > m.after && s <= m.last ? s - m.after : null);
  const sum = new Map();
  let total = 0;
  const rows = axis === "tokens" ? r.rows : r.timing;
  for (const row of rows) {
    const v = row.v;
    total += axis === "tokens" ? (v["rollout/tokens"] || 0) + (v["rollout/refused_tokens"] || 0) + (v["rollout/extra_tokens"] || 0) : (v["time/rollout_s"] || 0) + (v["time/train_s"] || 0) + (v["time/eval_s"] || 0);
    sum.set(row.step, total);
  }
  return (s) => (sum.has(s) ? sum.get(s) : null);
}

const meaning = (name) => R.metrics.find((t) => t.name === name.replace(/@\d+$/, "@K") || (t.name.endsWith("/NAME") && name.startsWith(t.name.slice(0, -4))) || ofModel(t.name, name)) || { meaning: "", reading: "", unit: "" };

const sync = typeof uPlot === "undefined" ? null : uPlot.sync("curves");

// figure is a metric: drawn as SVG, or by uPlot, which follows a run that grows and is drawn
// as SVG when it is printed.
function figure(r, name, place, axis, params, drawn) {
  const s = r.series(name), all = R.far(s, r.measured(name)), known = { x: [], y: [], stage: [] }, far = [];
  s.x.forEach((step, i) => { const p = place(step); if (p != null) { known.x.push(p); known.y.push(s.y[i]); known.stage.push(s.stage[i]); far.push(known.x.length > 1 && all[i]); } });
  const values = known.y.filter(R.finite);
  if (!values.length) return null;
  const points = R.broken(known, far), { x, stage } = points, y = points.y.map((v) => (R.finite(v) ? v : null));
  const about = meaning(name), dots = name.startsWith("eval/"); // measured now and then
  const [lo, hi] = R.extent(values), log = params.log && lo > 0 ? 1 : 0;
  const spec = { title: name, unit: about.unit || " ", share: R.isShare(name), log, smooth: params.smooth !== "0", along: { stage: "", total: "", tokens: "tokens", time: "s" }[axis], lines: [{ label: "", cls: "s0", x, y, stage, dots }] };
  const more = [R.h("p", { class: "meaning" }, about.meaning), tableOf(name, known.x, known.y), R.h("button", { type: "button", class: "small", "aria-label": "as SVG: " + name, onclick: () => save(name.replace(/\W+/g, "_") + ".svg", R.svgText(R.plot(spec, 560))) }, "as SVG")];
  if (drawn) {
    const fig = R.chart(spec);
    fig.title = about.reading;
    fig.firstChild.append(more.shift());
    fig.append(...more);
    return fig;
  }
  const out = R.h("output", {}, about.unit || " ");
  const holder = R.h("div", { class: "plot", role: "img", "aria-label": `${name}: from ${R.value(name, values[0])} to ${R.value(name, values[values.length - 1])}, smallest ${R.value(name, lo)}, largest ${R.value(name, hi)}` });
  const fig = R.h("figure", { title: about.reading }, R.h("figcaption", {}, R.h("h3", {}, name), out, more.shift()), holder, more);
  let chart = null;
  fig.print = () => { chart = null; holder.replaceChildren(R.paper(spec)); };
  fig.back = () => { holder.replaceChildren(); draw(); };
  const draw = () => {
    const width = holder.clientWidth;
    if (!width) return;
    if (chart) { chart.setSize({ width, height: 150 }); return; }
    const soft = params.smooth === "0" || dots ? y : R.smooth(y.map((v) => (v == null ? NaN : v)), stage).map((v) => (R.finite(v) ? v : null));
    chart = new uPlot(options(name, width, out, axis, params, spec), dots ? [x, y] : [x, y, soft], holder);
  };
  // Drawn when it comes into view: forty charts of ten thousand steps are not drawn at once.
  new IntersectionObserver((seen, o) => { if (seen.some((e) => e.isIntersecting)) { o.disconnect(); new ResizeObserver(draw).observe(holder); } }, { rootMargin: "200px" }).observe(holder);
  return fig;
}

function save(name, text) {
  const a = R.h("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })) });
  a.click();
  URL.revokeObjectURL(a.href);
}

// Scales and texts are those of scale.js, as of every other drawing.
function options(name, width, out, axis, params, spec) {
  const css = getComputedStyle(document.documentElement), colour = (n) => css.getPropertyValue(n).trim();
  const font = "12px system-ui, sans-serif";
  const grid = { stroke: colour("--rule"), width: 1 }, ticks = { show: false };
  const axisText = (v) => (axis === "time" ? R.seconds(v) : v.toLocaleString("en", { notation: axis === "tokens" ? "compact" : "standard" }));
  const series = [{}];
  if (spec.lines[0].dots) series.push({ stroke: colour("--s0"), width: 2, points: { show: true, size: 6, fill: colour("--s0"), stroke: colour("--paper") } });
  else series.push({ stroke: colour("--s0") + (params.smooth === "0" ? "" : "48"), width: params.smooth === "0" ? 1.5 : 1, points: { show: false } }, { stroke: params.smooth === "0" ? "transparent" : colour("--s0"), width: 2, points: { show: false } });
  return {
    width, height: 150, legend: { show: false }, padding: [8, 16, 0, 0],
    cursor: { sync: { key: sync.key, setSeries: false }, y: false, points: { show: false }, drag: { x: true, y: false, setScale: false } },
    scales: { x: { time: false }, y: { distr: spec.log ? 3 : 1, range: (_, lo, hi) => { const y = R.range([lo, hi], spec.share, spec.log); return [y.lo, y.hi]; } } },
    axes: [
      { stroke: colour("--soft"), font, grid: { show: false }, ticks, size: 24, splits: (u, _, lo, hi) => R.wholeTicks(lo, hi, u.width / 90), values: (_, v) => v.map(axisText) },
      { stroke: colour("--soft"), font, grid, ticks, size: 56, splits: (_, i, lo, hi) => (spec.log ? R.logTicks(lo, hi) : R.ticks(lo, hi, 4)), values: (_, v) => v.map((t) => (t == null ? "" : R.tick(t, spec.share))) },
    ],
    series,
    hooks: { setSelect: [(u) => { if (u.select.width > DRAG) zoom(Math.round(u.posToVal(u.select.left, "x")), Math.round(u.posToVal(u.select.left + u.select.width, "x"))); }], setCursor: [(u) => {
      const i = u.cursor.idx;
      if (i == null || u.data[1][i] == null) { out.textContent = spec.unit; return; }
      out.replaceChildren((axis === "stage" || axis === "total" ? "step " : "") + axisText(u.data[0][i]) + " ", R.h("b", { class: "s0" }, R.value(name, u.data[1][i])));
    }] },
  };
}

// tableOf opens into a table of some hundred rows.
function tableOf(name, x, y) {
  const every = Math.ceil(x.length / 100), table = R.h("details", { class: "table" }, R.h("summary", {}, "as a table"));
  table.addEventListener("toggle", () => {
    if (!table.open || table.childElementCount > 1) return;
    table.append(R.region(name + " as a table", R.h("table", {}, R.h("thead", {}, R.h("tr", {}, R.h("th", { scope: "col" }, "at"), R.h("th", { scope: "col" }, name))),
      R.h("tbody", {}, x.map((v, i) => (i % every && i !== x.length - 1 ? null : R.h("tr", {}, R.h("th", { scope: "row" }, R.number(v)), R.h("td", {}, R.value(name, y[i])))))))));
  });
  return table;
}
