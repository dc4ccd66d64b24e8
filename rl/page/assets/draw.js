// Charts as SVG: drawn to the pixel width that they have, with colours of the style
// sheet, a summary for readers who do not see them, and values under the pointer.
"use strict";

// R.chart is a figure. spec: {title, unit, share, log, height, hero, stack, from, to, along, text, lines, marks, zoom}; a line is
// {label, cls, x, y, stage?, lo?, hi?, dots?, ghost?, band?}. x is steps, or what along says, ascending.
// zoom is told the part of x that was dragged over.
R.chart = function (wanted) {
  const holder = R.h("div", { class: "plot" }), out = R.h("output", {}), title = R.h(wanted.hero ? "h2" : "h3", {});
  const fig = R.h("figure", { class: wanted.hero ? "hero" : "" }, R.h("figcaption", {}, title, out), holder);
  let width = 0, drawing = null, at = null;
  const say = () => {
    if (at != null && drawing) { out.replaceChildren(...point(drawing, at)); return; }
    const logged = fig.spec.log && R.range(fig.spec.lines.flatMap((l) => l.y), fig.spec.share, fig.spec.log).log;
    reword(out, [fig.spec.caption || fig.spec.unit, logged ? "log scale" : ""].filter(Boolean).join(", "));
  };
  const draw = () => {
    if (width > 0) {
      drawing = plot(fig.spec, width, fig.spec.height || (fig.spec.hero ? Math.min(380, Math.max(240, width * 0.46)) : HEIGHT));
      holder.replaceChildren(drawing.svg);
    }
    say();
  };
  fig.fit = (wide) => {
    if (wide === width) return;
    width = wide;
    draw();
  };
  fig.print = () => { if (width) holder.replaceChildren(R.paper(fig.spec)); };
  fig.back = draw;
  // show draws another figure in the place of this one.
  fig.show = (spec) => {
    fig.spec = { ...spec, lines: spec.lines.filter((l) => l.y.some(R.finite)) };
    reword(title, spec.title);
    draw();
  };
  if (!wanted.lines.some((l) => l.y.some(R.finite))) return null;
  fig.show(wanted);
  const placeOf = (e) => {
    const { svg, box, from, to } = drawing, r = svg.getBoundingClientRect();
    return Math.max(from, Math.min(to, Math.round(from + (((e.clientX - r.left) * (width / r.width) - box.x0) / (box.x1 - box.x0)) * (to - from))));
  };
  let pressed = null;
  holder.addEventListener("pointermove", (e) => {
    at = placeOf(e);
    say();
  });
  holder.addEventListener("pointerleave", () => { at = pressed = null; drawing.svg.lastChild.setAttribute("d", ""); say(); });
  if (wanted.zoom) {
    holder.addEventListener("pointerdown", (e) => { pressed = { at: placeOf(e), x: e.clientX }; });
    holder.addEventListener("pointerup", (e) => {
      const began = pressed, ends = placeOf(e);
      pressed = null;
      if (began && Math.abs(e.clientX - began.x) > DRAG) wanted.zoom(Math.min(began.at, ends), Math.max(began.at, ends));
    });
  }
  // The observer says how wide the chart is: to ask would lay the page out anew for each. It is
  // the chart's own, so that both go together: one of the page would hold what it has ever seen.
  new ResizeObserver(([{ contentRect }]) => fig.fit(contentRect.width)).observe(holder);
  return fig;
};

// reword says the same text only once: one that is set is laid out again.
const reword = (e, text) => { if (e.textContent !== text) e.textContent = text; };

// R.plot is the drawing of a figure alone, so many pixels wide: for files.
R.plot = (spec, width) => plot(spec, width, HEIGHT).svg;

// R.paper is a drawing for paper, where a style sheet gives it its width and texts shrink with it.
R.paper = (spec) => (spec.hero ? plot(spec, 700, 230).svg : plot(spec, 240, 112).svg);

// On paper all figures are drawn anew, those too that nobody has scrolled to yet.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("main .later")) part.print();
  for (const f of document.querySelectorAll("main figure")) if (f.print) f.print();
});
addEventListener("afterprint", () => { for (const f of document.querySelectorAll("main figure")) if (f.back) f.back(); });

// R.svgText is a drawing as a file of its own, with the colours that it has here.
R.svgText = function (svg) {
  const rules = [...document.styleSheets].flatMap((s) => [...s.cssRules]).map((r) => r.cssText).filter((t) => /\.chart|:root/.test(t));
  const text = new XMLSerializer().serializeToString(svg), head = text.indexOf(">") + 1;
  return `${text.slice(0, head)}<style>${rules.join("\n").replace(/[<&]/g, "")} .chart { background: var(--paper); }</style>${text.slice(head)}\n`;
};

const DRAG = 8; // pixels from which on a pointer was moved on purpose
const HEIGHT = 168, GLYPH = 6.6, LINE = 15; // a generous mean width of a 12-pixel digit; the height of a label

// plot draws a figure: {svg, spec, box, px, from, to}. The last element of svg is the rule under
// the pointer.
function plot(wanted, width, height) {
  const spec = { text: wanted.share ? R.percent : R.number, ...wanted }, { lines, text } = spec;
  const all = lines.flatMap((l) => [l.y, l.lo || [], l.hi || []].flat());
  const y = spec.stack ? R.range([0, 1], true) : R.range(all, spec.share, spec.log);
  const from = spec.from != null ? spec.from : Math.min(...lines.map((l) => l.x[0]));
  const to = spec.to != null ? spec.to : Math.max(...lines.map((l) => l.x[l.x.length - 1]));
  const ends = lines.map((l) => (l.label ? l.label + " " : "") + text(lastOf(l.y)));
  const tick = (v) => R.tick(v, spec.share);
  // At least as wide as most labels are, so that charts beside each other have one edge.
  const right = Math.max(7, ...ends.map((t) => t.length)) * GLYPH + 14, left = Math.max(5, ...y.ticks.map((v) => tick(v).length)) * GLYPH + 10;
  const box = { x0: left, x1: width - right, y0: 8, y1: height - 20 };
  const px = (v) => box.x0 + ((v - from) / (to - from || 1)) * (box.x1 - box.x0);
  const py = (v) => box.y1 - y.at(v) * (box.y1 - box.y0);
  const svg = R.h("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": summary(spec, ends, from, to) });
  for (const v of y.ticks) {
    svg.append(R.h("path", { class: "grid", d: `M${box.x0} ${py(v)}H${box.x1}` }), R.h("text", { x: box.x0 - 7, y: py(v) + 4, "text-anchor": "end" }, tick(v)));
  }
  svg.append(R.h("path", { class: "axis", d: `M${box.x0} ${box.y1}H${box.x1}` }));
  for (const v of R.wholeTicks(from, to, (box.x1 - box.x0) / (GLYPH * Math.round(to).toLocaleString("en").length + 30))) {
    svg.append(R.h("text", { x: px(v), y: box.y1 + 16, "text-anchor": "middle" }, v.toLocaleString("en")));
  }
  for (const m of spec.marks || []) svg.append(R.h("path", { class: "mark " + m.cls, d: `M${px(m.x)} ${box.y0}V${box.y1}` }, R.h("title", {}, m.label)));
  const drawn = spec.stack ? stack(svg, spec, box, px, py) : curves(svg, spec, box, px, py, from, to);
  const labels = R.spread(drawn.map((d, i) => ({ y: d.labelY + 4, text: ends[i], cls: lines[i].cls })), box.y0 + 6, box.y1 + 3, LINE);
  for (const l of labels) svg.append(R.h("text", { class: "label " + l.cls, x: box.x1 + 9, y: l.y }, l.text));
  svg.append(R.h("path", { class: "cursor", d: "" }));
  return { svg, spec, box, px, from, to };
}

const lastOf = (y) => { for (let i = y.length - 1; i >= 0; i--) if (R.finite(y[i])) return y[i]; return NaN; };
const firstOf = (y) => y.find(R.finite);

function summary(spec, ends, from, to) {
  return `${spec.title}${spec.unit ? " (" + spec.unit + ")" : ""}, ${spec.along || "steps"} ${Math.round(from).toLocaleString("en")} to ${Math.round(to).toLocaleString("en")}: ` + spec.lines.map((l, i) => `${l.label || ""} from ${spec.text(firstOf(l.y))} to ${ends[i].replace(l.label + " ", "")}`).join("; ");
}

// path of bins; null is a gap.
const path = (bins, px, py, key) => {
  let d = "", up = true;
  for (const b of bins) {
    if (!b) { up = true; continue; }
    d += `${up ? "M" : "L"}${px(b.x).toFixed(1)} ${py(b[key]).toFixed(1)}`;
    if (up) d += "h0";
    up = false;
  }
  return d;
};
const area = (bins, px, py, lo, hi) => {
  const b = bins.filter(Boolean);
  if (!b.length) return "";
  return "M" + b.map((p) => `${px(p.x).toFixed(1)} ${py(p[hi]).toFixed(1)}`).join("L") + "L" + b.slice().reverse().map((p) => `${px(p.x).toFixed(1)} ${py(p[lo]).toFixed(1)}`).join("L") + "Z";
};

function curves(svg, spec, box, px, py, from, to) {
  const columns = box.x1 - box.x0;
  return spec.lines.slice().reverse().map((l) => {
    const cls = l.cls + (l.ghost ? " ghost" : "");
    if (l.dots) {
      l.x.forEach((x, i) => { if (R.finite(l.lo && l.lo[i])) svg.append(R.h("path", { class: "whisker " + cls, d: `M${px(x)} ${py(l.lo[i])}V${py(l.hi[i])}` })); });
      svg.append(R.h("path", { class: "line " + cls, d: path(R.bins(l.x, l.y, from, to, columns), px, py, "y") }));
      if (l.x.length * 9 < columns) l.x.forEach((x, i) => { if (R.finite(l.y[i])) svg.append(R.h("circle", { class: "dot " + cls, cx: px(x), cy: py(l.y[i]), r: l.x.length * 16 < columns ? 3.5 : 2.2 })); });
    } else if (l.band) {
      const b = l.x.map((x, i) => (R.finite(l.y[i]) ? { x, y: l.y[i], lo: l.lo && l.lo[i], hi: l.hi && l.hi[i] } : null));
      if (l.lo) svg.append(R.h("path", { class: "band " + cls, d: area(b.filter((p) => p && R.finite(p.lo)), px, py, "lo", "hi") }));
      svg.append(R.h("path", { class: "line " + cls, d: path(b, px, py, "y") }));
    } else {
      const raw = R.bins(l.x, l.y, from, to, columns);
      if (l.x.length > columns) svg.append(R.h("path", { class: "band " + cls, d: area(raw, px, py, "lo", "hi") }));
      else svg.append(R.h("path", { class: "raw " + cls, d: path(raw, px, py, "y") }));
      const soft = spec.smooth === false ? l.y : R.smooth(l.y, l.stage || l.x.map(() => 0));
      svg.append(R.h("path", { class: "line " + cls, d: path(R.bins(l.x, soft, from, to, columns), px, py, "y") }));
      l.shown = soft;
    }
    return { labelY: py(lastOf(l.shown || l.y)) };
  }).reverse();
}

// stack draws lines of one x as areas above each other.
function stack(svg, spec, box, px, py) {
  const base = spec.lines[0].x.map(() => 0);
  return spec.lines.map((l) => {
    const soft = R.smooth(l.y, l.stage || l.x.map(() => 0));
    soft.forEach((v, i) => { if (!R.finite(v) && R.finite(l.y[i])) base[i] = NaN; }); // where the smoothing ends
    const lo = base.slice();
    soft.forEach((v, i) => { base[i] += v || 0; });
    const hi = base.slice();
    const b = R.bins(l.x, hi, l.x[0], l.x[l.x.length - 1], box.x1 - box.x0).filter(Boolean);
    const b2 = R.bins(l.x, lo, l.x[0], l.x[l.x.length - 1], box.x1 - box.x0).filter(Boolean);
    svg.append(R.h("path", { class: "area " + l.cls, d: area(b.map((p, i) => ({ x: p.x, lo: b2[i].y, hi: p.y })), px, py, "lo", "hi") }));
    return { labelY: py((lastOf(lo) + lastOf(hi)) / 2) };
  });
}

// point puts the rule of a drawing at a step and says the values there.
function point({ svg, spec, box, px, from, to }, at) {
  svg.lastChild.setAttribute("d", `M${px(at)} ${box.y0}V${box.y1}`);
  const parts = [];
  for (const l of spec.lines) {
    const i = nearest(l.x, at);
    if (R.finite(l.y[i]) && Math.abs(l.x[i] - at) <= Math.max(1, (to - from) / 40)) parts.push(R.h("b", { class: l.cls }, ` ${l.label || ""} ${spec.text(l.y[i])} `));
  }
  const step = Math.round(at).toLocaleString("en");
  return [spec.along ? `${step} ${spec.along} ` : `step ${step} `, ...parts];
}

// nearest index of a value in an ascending list.
function nearest(x, v) {
  let lo = 0, hi = x.length - 1;
  while (hi - lo > 1) { const m = (lo + hi) >> 1; if (x[m] < v) lo = m; else hi = m; }
  return v - x[lo] <= x[hi] - v ? lo : hi;
}

// R.spark is a line the size of a word.
R.spark = function (bins, cls) {
  const w = 120, hgt = 26, b = bins.filter(Boolean);
  if (b.length < 2) return R.h("span", {});
  const y = R.range(b.flatMap((p) => [p.y, p.lo, p.hi]), true), x0 = b[0].x, x1 = b[b.length - 1].x;
  const px = (v) => 1 + ((v - x0) / (x1 - x0 || 1)) * (w - 6), py = (v) => hgt - 3 - ((v - y.lo) / (y.hi - y.lo || 1)) * (hgt - 6);
  const end = b[b.length - 1];
  return R.h("svg", { class: "chart spark", width: w, height: hgt, viewBox: `0 0 ${w} ${hgt}`, "aria-hidden": "true" },
    R.h("path", { class: "band " + cls, d: area(b, px, py, "lo", "hi") }), R.h("path", { class: "line " + cls, d: path(b, px, py, "y") }),
    R.h("circle", { class: "dot " + cls, cx: px(end.x), cy: py(end.y), r: 2.5 }));
};
