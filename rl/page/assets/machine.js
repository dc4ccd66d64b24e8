// Machine: where does the time go?
"use strict";

R.screens.push({
  name: "machine", title: "Machine",
  show(el, r) {
    const m = r.main();
    el.append(R.h("h1", {}, "Machine"));
    if (!m || !r.timing.length) { el.append(R.h("p", { class: "note" }, "No step has been timed yet.")); return; }
    const rows = r.timing.filter((t) => t.step > m.after && t.step <= m.last);
    const phases = [["sampling", "time/rollout_s", "s0"], ["training", "time/train_s", "s1"], ["evaluation", "time/eval_s", "s2"]].map(([label, name, cls]) => ({ label, cls, name, total: rows.reduce((s, t) => s + (t.v[name] || 0), 0) })).filter((p) => p.total > 0);
    const all = phases.reduce((s, p) => s + p.total, 0);
    el.append(R.h("p", { class: "lead" }, `${R.seconds(all)} in stage ${m.name}: ` + phases.map((p) => `${p.label} ${(100 * p.total / all).toFixed(0)} %`).join(", ") + "."));
    const sampled = r.rows.filter((o) => o.v["rollout/tokens"] > 0), tokens = sampled.reduce((n, o) => n + o.v["rollout/tokens"], 0);
    if (tokens) el.append(R.h("p", { class: "note" }, `Sampled for rewards: ${tokens.toLocaleString("en")} tokens, ${Math.round(sampled.reduce((n, o) => n + (o.v["rollout/tokens"] / o.v["rollout/length_mean"] || 0), 0)).toLocaleString("en")} completions.`));
    const stages = r.stages();
    el.append(R.h("section", {}, R.h("div", { class: "opening one" }, R.chart({ title: "Share of a step", unit: "sampling, training and evaluation; occasional evaluations are spread evenly over all steps", hero: true, height: 260, stack: true, share: true, lines: phases.map((p) => ({ label: p.label, cls: p.cls, x: rows.map((t) => t.step - m.after), y: shares(rows, p, phases) })) }))));
    const figures = [["Sampling", "rollout/tokens_per_s"], ["Training", "train/tokens_per_s"]].map(([title, name]) => {
      const s = R.inStage(r, name, m);
      return s.x.length ? R.chart({ title, caption: `tokens per second; median ${R.number(R.median(s.y))}`, lines: [{ label: "", cls: "s0", ...s }] }) : null;
    });
    const step = R.chart({ title: "A step", caption: "seconds, without evaluations", lines: [{ label: "", cls: "s0", x: rows.map((t) => t.step - m.after), y: rows.map((t) => (t.v["time/rollout_s"] || 0) + (t.v["time/train_s"] || 0)) }] });
    el.append(R.h("section", {}, R.h("h2", {}, "Speed"), R.h("div", { class: "grid" }, [...figures, step].filter(Boolean))));
    el.append(R.h("section", {}, R.h("h2", {}, "By stage"), R.region("Time by stage", R.h("table", {}, R.h("thead", {}, R.h("tr", {}, ["stage", "steps", "time", "median step"].map((t, i) => R.h("th", { scope: "col", class: i ? "num" : null }, t)))),
      R.h("tbody", {}, stages.map((s) => {
        const own = r.timing.filter((t) => t.step > s.after && t.step <= s.last), time = (t) => (t.v["time/rollout_s"] || 0) + (t.v["time/train_s"] || 0) + (t.v["time/eval_s"] || 0);
        return R.h("tr", {}, R.h("th", { scope: "row" }, s.name), R.h("td", { class: "num" }, (s.last - s.after).toLocaleString("en")), R.h("td", { class: "num" }, R.seconds(own.reduce((a, t) => a + time(t), 0))), R.h("td", { class: "num" }, R.number(R.median(own.map(time))) + " s"));
      }))))));
    const files = Object.entries(r.sizes).sort((a, b) => b[1] - a[1]);
    el.append(R.h("p", { class: "note" }, "Logs: " + files.map(([n, b]) => `${n} ${R.bytes(b)}`).join(", ") + "."));
    const bad = Object.entries(r.bad).filter(([, n]) => n);
    if (bad.length) el.append(R.h("p", { class: "alert" }, "Left out because they cannot be read: " + bad.map(([name, n]) => `${n} ${n === 1 ? "line" : "lines"} of ${name}`).join(", ") + "."));
  },
});

// shares of a phase in the time of each step; a phase that is there now and then is spread.
function shares(rows, p, phases) {
  const spread = (name) => {
    const have = rows.filter((t) => t.v[name] != null).length;
    const total = rows.reduce((s, t) => s + (t.v[name] || 0), 0);
    return have < rows.length / 2 ? () => total / rows.length : (t) => t.v[name] || 0;
  };
  const of = phases.map((q) => spread(q.name)), own = of[phases.indexOf(p)];
  return rows.map((t) => own(t) / (of.reduce((s, f) => s + f(t), 0) || 1));
}
