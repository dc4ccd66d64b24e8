// Scales, ticks, bands and smoothing: the arithmetic of every drawing, without a drawing.
"use strict";

// ticks are about n round numbers from lo to hi: steps of 1, 2 or 5 times a power of ten.
R.ticks = function (lo, hi, n) {
  const raw = (hi - lo) / Math.max(1, n), power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || power;
  const out = [];
  for (let v = Math.ceil(lo / step - 1e-9) * step; v <= hi + step * 1e-9; v += step) out.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return out;
};

// wholeTicks are ticks for what is counted, such as steps.
R.wholeTicks = (lo, hi, n) => R.ticks(lo, hi, Math.min(n, hi - lo)).filter((v) => v % 1 === 0);

// tick is the text of a value on an axis.
R.tick = (v, share) => (share ? R.number(Math.round(1e6 * v) / 1e4) + " %" : R.number(v));

// A log scale shows more than another from this ratio of the largest to the smallest on.
R.logPays = 20;

// range is the axis of values: shares begin at 0 and end at 1 where that costs little,
// others are widened to round numbers. at maps a value to 0..1. The scale is logarithmic
// where the values span the ratio log; without one it never is.
R.range = function (values, share, log) {
  const [lo, hi] = R.extent(values);
  if (!(lo <= hi)) return linear(0, 1, [0, 0.5, 1]);
  if (log && lo > 0 && hi / lo >= log) {
    const room = (hi / lo) ** 0.06, from = lo / room, to = hi * room;
    return { lo: from, hi: to, log: true, ticks: R.logTicks(from, to), at: (v) => (v > 0 ? Math.log(v / from) / Math.log(to / from) : 0) };
  }
  return round(lo, hi, share);
};
const linear = (lo, hi, ticks) => ({ lo, hi, ticks, at: (v) => (v - lo) / (hi - lo || 1) });

// logTicks are the round numbers between two: as many of each power of ten as leaves them apart.
R.logTicks = function (lo, hi) {
  let out = [];
  for (const steps of [[1, 2, 5], [1, 3], [1]]) {
    out = [];
    for (let e = Math.floor(Math.log10(lo)); e <= Math.ceil(Math.log10(hi)); e++) {
      for (const m of steps) {
        const v = m * 10 ** e;
        if (v >= lo && v <= hi) out.push(v);
      }
    }
    if (out.length <= 6) break;
  }
  return out;
};

function round(lo, hi, share) {
  if (share && lo >= 0 && hi <= 1) { lo = 0; if (hi > 0.5) hi = 1; }
  else if (lo > 0 && lo < 0.6 * hi) lo = 0;
  if (lo === hi) { const d = Math.abs(lo) || 1; lo -= d / 2; hi += d / 2; }
  const t = R.ticks(lo, hi, 4), step = t.length > 1 ? t[1] - t[0] : hi - lo;
  lo = Math.floor(lo / step + 1e-9) * step;
  hi = Math.ceil(hi / step - 1e-9) * step;
  return linear(lo, hi, R.ticks(lo, hi, 4));
}

// bins reduces points to columns of about a pixel: mean, smallest and largest, so that no
// spike vanishes. Points without a value break the line.
R.bins = function (x, y, x0, x1, columns) {
  const out = [];
  const n = Math.max(1, Math.floor(columns));
  let cell = -1, b = null;
  for (let i = 0; i < x.length; i++) {
    if (x[i] < x0 || x[i] > x1) continue;
    if (!R.finite(y[i])) { b = null; cell = -1; out.push(null); continue; }
    const c = x.length <= n ? i : Math.floor(((x[i] - x0) / (x1 - x0 || 1)) * n);
    if (c !== cell || !b) { b = { x: 0, y: 0, lo: Infinity, hi: -Infinity, n: 0 }; out.push(b); cell = c; }
    b.n++;
    b.x += (x[i] - b.x) / b.n;
    b.y += (y[i] - b.y) / b.n;
    b.lo = Math.min(b.lo, y[i]);
    b.hi = Math.max(b.hi, y[i]);
  }
  return out;
};

// far says of each point of a series whether it lies too far from the one before it to be
// joined to it: more than two intervals of its stage. An interval is the median distance of
// what is measured together; of two measurements nothing is known between them.
R.far = function (s, together = s) {
  const stage = (o, i) => (o.stage ? o.stage[i] : 0), distances = new Map();
  together.x.forEach((x, i) => {
    if (!distances.has(stage(together, i))) distances.set(stage(together, i), []);
    if (i) distances.get(stage(together, i)).push(x - together.x[i - 1]);
  });
  const most = new Map([...distances].map(([at, d]) => [at, d.length < 2 ? 1 : 2 * R.median(d)]));
  return s.x.map((x, i) => i > 0 && x - s.x[i - 1] > (most.get(stage(s, i)) || 1));
};

// broken puts a point without a value before each point that is far from the one before it,
// in all lists of a series: what was not measured is not drawn.
R.broken = function (s, far) {
  const out = Object.fromEntries(Object.keys(s).map((k) => [k, []]));
  s.x.forEach((x, i) => {
    if (far[i]) for (const k in out) out[k].push(k === "x" ? (s.x[i - 1] + x) / 2 : k === "stage" ? s.stage[i - 1] : NaN);
    for (const k in out) out[k].push(s[k][i]);
  });
  return out;
};

// smooth is a Gaussian average over points. It never looks across the border of two stages, and
// a point whose window would has none: a window that is cut would end in the noise of the last
// value. Of a long stage it is computed at a thousand points, twenty to a standard deviation, and
// drawn straight between them.
R.smooth = function (y, stage) {
  const out = y.slice();
  for (let from = 0; from < y.length;) {
    let to = from;
    while (to < y.length && stage[to] === stage[from]) to++;
    if (to - from >= 20) gauss(out, y, from, to);
    from = to;
  }
  return out;
};
function gauss(out, y, from, to) {
  const n = to - from, sigma = Math.max(1, n / 50), reach = Math.floor(3 * sigma), stride = Math.ceil(n / 1000);
  const weight = Array.from({ length: reach + 1 }, (_, d) => Math.exp(-((d / sigma) ** 2) / 2));
  const first = from + reach, final = to - 1 - reach;
  out.fill(NaN, from, first);
  out.fill(NaN, final + 1, to);
  let last = first;
  for (let i = first; i <= final; i = i + stride < final || i === final ? i + stride : final) {
    let sum = 0, weights = 0;
    for (let j = i - reach; j <= i + reach; j++) {
      if (!R.finite(y[j])) continue;
      const w = weight[Math.abs(j - i)];
      sum += w * y[j]; weights += w;
    }
    if (R.finite(y[i])) out[i] = sum / weights;
    for (let j = last + 1; j < i; j++) if (R.finite(y[j])) out[j] = R.finite(out[last]) && R.finite(out[i]) ? out[last] + ((out[i] - out[last]) * (j - last)) / (i - last) : y[j];
    last = i;
  }
}

// half is half the 95 % interval of a mean p of n values from 0 to 1, at most: their variance is
// p(1-p) at most (Bhatia and Davis, Am. Math. Mon. 107 (2000), 353).
R.half = (p, n) => 1.96 * Math.sqrt((p * (1 - p)) / n);

// extent is the smallest and the largest of values.
R.extent = function (values) {
  let lo = Infinity, hi = -Infinity;
  for (const v of values) if (R.finite(v)) { lo = Math.min(lo, v); hi = Math.max(hi, v); }
  return [lo, hi];
};

// band is the mean, smallest and largest of several series at the steps that all have, for
// the small line of a group of seeds. Intervals are the server's (package compare).
R.band = function (list) {
  const at = new Map();
  for (const s of list) s.x.forEach((x, i) => { if (R.finite(s.y[i])) at.set(x, [...(at.get(x) || []), s.y[i]]); });
  return [...at].filter(([, v]) => v.length === list.length).sort((a, b) => a[0] - b[0])
    .map(([x, v]) => ({ x, y: v.reduce((a, b) => a + b, 0) / v.length, lo: Math.min(...v), hi: Math.max(...v) }));
};

// spread moves labels apart until none covers another, between two edges.
R.spread = function (labels, top, bottom, height) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((l, i) => { l.y = Math.max(l.y, i ? labels[i - 1].y + height : top); });
  for (let i = labels.length - 1; i >= 0; i--) labels[i].y = Math.min(labels[i].y, i < labels.length - 1 ? labels[i + 1].y - height : bottom);
  return labels;
};
