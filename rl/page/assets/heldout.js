// Held-out: what was learned, what was lost?
"use strict";

R.screens.push({
  name: "heldout", title: "Held-out",
  show(el, r, params) {
    const { times, problems } = R.matrix(r);
    el.append(R.h("h1", {}, "Held-out problems"));
    if (!times.length) { el.append(R.h("p", { class: "note" }, "Nothing has been evaluated yet.")); return; }
    const count = (k) => problems.filter((p) => p.change === k).length;
    const word = { learned: "wrong before, right after", lost: "right before, wrong after", kept: "right both times", missed: "never right" };
    el.append(R.h("p", { class: "lead" }, times.length > 1 ? `Of the ${problems.length} problems that the run recorded: ${count("learned")} learned, ${count("lost")} lost, ${count("kept")} right both times, ${count("missed")} never right.` : `One evaluation of ${problems.length} problems so far.`),
      R.h("div", { class: "head" }, ["", "lost", "learned", "missed", "kept"].map((k) => R.h("button", { type: "button", "aria-pressed": String((params.show || "") === k), onclick: () => R.set({ show: k }) }, k || "all"))),
      R.h("p", { class: "note" }, params.show ? word[params.show] + "." : "One sample of each problem. Problems that changed come first."));
    const rows = problems.filter((p) => !params.show || p.change === params.show);
    el.append(R.region("Held-out problems", R.h("table", { class: "heldout" },
      R.h("thead", {}, R.h("tr", {}, R.h("th", { scope: "col" }, "problem"), times.map((t) => R.h("th", { scope: "col" }, t.label)))),
      R.h("tbody", {}, rows.map((p) => R.h("tr", {}, R.h("th", { scope: "row" }, R.code(p.prompt, 160)),
        p.answers.map((a) => (a ? R.h("td", { class: a.verdict }, R.code(a.completion, 200), R.h("p", { class: "reason" }, R.verdict(a.verdict), " ", R.plain(R.clip(a.reason, 120)))) : R.h("td", {}, "–")))))))));
    if (!rows.length) el.append(R.h("p", { class: "note" }, "None."));
  },
});

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
  const problems = [...by].map(([prompt, m]) => {
    const answers = times.map((t) => m.get(t.key)), was = answers[0] && answers[0].verdict === "right", is = answers[answers.length - 1] && answers[answers.length - 1].verdict === "right";
    return { prompt, answers, change: was && is ? "kept" : was ? "lost" : is ? "learned" : "missed" };
  });
  problems.sort((a, b) => order.indexOf(a.change) - order.indexOf(b.change));
  return { times, problems };
};
