// Held-out: what was learned, what was lost?
"use strict";

R.screens.push({
  name: "heldout", title: "Held-out",
  show(el, r, params) {
    const { times, problems } = R.matrix(r);
    el.append(R.h("h1", {}, "Held-out problems"), byStage(r) || "");
    if (!times.length) { el.append(R.h("p", { class: "note" }, "Nothing has been evaluated yet.")); return; }
    if (params.few) { few(el, times, problems); return; }
    const count = (k) => problems.filter((p) => p.change === k).length;
    const word = { learned: "wrong before, right after", lost: "right before, wrong after", kept: "right both times", missed: "never right" };
    el.append(R.h("p", { class: "lead" }, times.length > 1 ? `Of the ${problems.length} problems that the run recorded: ${count("learned")} learned, ${count("lost")} lost, ${count("kept")} right both times, ${count("missed")} never right.` : `One evaluation of ${problems.length} problems so far.`),
      R.h("div", { class: "head" }, ["", "lost", "learned", "missed", "kept"].map((k) => R.h("button", { type: "button", "aria-pressed": String((params.show || "") === k), onclick: () => R.set({ show: k }) }, k || "all"))),
      R.h("p", { class: "note" }, params.show ? word[params.show] + "." : "One sample of each problem. Problems that changed come first."));
    const rows = problems.filter((p) => !params.show || p.change === params.show);
    el.append(answersOver("Held-out problems", times, rows));
    if (!rows.length) el.append(R.h("p", { class: "note" }, "None."));
  },
});

// answersOver is a table of problems and what was answered each time.
const answersOver = (label, times, rows) => R.region(label, R.h("table", { class: "heldout" },
  R.h("thead", {}, R.h("tr", {}, R.h("th", { scope: "col" }, "problem"), times.map((t) => R.h("th", { scope: "col" }, t.label)))),
  R.h("tbody", {}, rows.map((p) => R.h("tr", {}, R.h("th", { scope: "row" }, R.code(p.prompt, 160)),
    p.answers.map((a) => (a ? R.h("td", { class: a.verdict }, R.code(a.completion, 200), R.h("p", { class: "reason" }, R.verdict(a.verdict), " ", R.plain(R.clip(a.reason, 120)))) : R.h("td", {}, "–"))))))));

// few shows some of the problems, and says how they were chosen.
function few(el, times, problems) {
  const first = problems.filter((p) => p.place < 8).sort((a, b) => a.place - b.place);
  el.append(R.h("section", {}, R.h("h2", {}, "The first problems, unselected"), answersOver("The first problems", times, first)));
  for (const [change, title] of times.length > 1 ? [["learned", "Learned: wrong before, right after"], ["lost", "Lost: right before, wrong after"]] : []) {
    const rows = problems.filter((p) => p.change === change && p.place >= 8).slice(0, 3);
    if (rows.length) el.append(R.h("section", {}, R.h("h2", {}, title), answersOver(title, times, rows)));
  }
}

// byStage is the accuracy before the first step and the last of each stage.
function byStage(r) {
  const list = [];
  for (const e of r.evals()) {
    const last = list[list.length - 1];
    if (last && last.stage === e.stage && last.step > 0) list.pop();
    list.push(e);
  }
  if (!list.length) return null;
  const row = (e) => r.rows.find((o) => o.step === e.step && o.stage === e.stage).v;
  const names = [...new Set(list.flatMap((e) => Object.keys(row(e))))].filter((n) => /^eval\/(pass@\d+|greedy|valid)$/.test(n));
  const order = (n) => (n === "eval/valid" ? 1e9 : n === "eval/greedy" ? 1e8 : +n.slice(10));
  names.sort((a, b) => order(a) - order(b));
  const head = ["when", ...names.map((n) => n.slice(5)), "95 % interval of pass@1", "problems × samples"];
  const change = (n, i) => {
    const a = i && row(list[i - 1]), b = row(list[i]), by = a ? b[n] - a[n] : NaN;
    if (!R.finite(by)) return null;
    const text = R.signed(100 * by, (v) => v.toFixed(1).replace("-", "−"));
    return R.h("small", {}, (R.noise(by, R.halfOf(a, n), R.halfOf(b, n)) ? `(${text})` : text) + " ");
  };
  return R.h("section", {}, R.h("h2", {}, "Accuracy by stage"), R.region("Accuracy by stage", R.h("table", { class: "figures" },
    R.h("thead", {}, R.h("tr", {}, head.map((t, i) => R.h("th", { scope: "col", class: i ? "num" : null }, t)))),
    R.h("tbody", {}, list.map((e, i) => R.h("tr", {}, R.h("th", { scope: "row" }, e.step < 1 ? "before training" : "after " + e.stage), names.map((n) => R.h("td", { class: "num" }, change(n, i), R.percent(row(e)[n]))),
      R.h("td", { class: "num" }, R.finite(e.low) ? `${(100 * e.low).toFixed(1)} to ${(100 * e.high).toFixed(1)} %` : "–"), R.h("td", { class: "num" }, e.problems ? `${e.problems} × ${e.samples || 1}` : "–")))))),
  R.h("p", { class: "note" }, "pass@k: the chance that at least one of k samples is right. Greedy: the most likely completion is right. Small figures: the change in points since the row above, in brackets where it is within noise. The interval is taken over problems."));
}

// R.matrix is problems by evaluations, the problems that changed first.
R.matrix = function (r) {
  const times = [], by = new Map();
  for (const o of r.evaluations) {
    const key = o.step + "/" + o.stage;
    if (!times.some((t) => t.key === key)) times.push({ key, label: o.step < 1 ? "before training" : "after " + o.stage });
    if (!by.has(o.prompt)) by.set(o.prompt, new Map());
    by.get(o.prompt).set(key, o);
  }
  const order = ["lost", "learned", "missed", "kept"];
  const problems = [...by].map(([prompt, m], place) => {
    const answers = times.map((t) => m.get(t.key)), was = answers[0] && answers[0].verdict === "right", is = answers[answers.length - 1] && answers[answers.length - 1].verdict === "right";
    return { prompt, place, answers, change: was && is ? "kept" : was ? "lost" : is ? "learned" : "missed" };
  });
  problems.sort((a, b) => order.indexOf(a.change) - order.indexOf(b.change));
  return { times, problems };
};
