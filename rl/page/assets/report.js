// Report: the run on one page, to print and to hand on.
"use strict";

R.screens.push({
  name: "report", title: "Report",
  async show(el, r, params) {
    const part = async (name, how) => {
      const at = R.h("div", { class: "part " + name });
      el.append(at);
      await R.screens.find((s) => s.name === name).show(at, r, { ...params, ...how });
    };
    el.append(R.h("div", { class: "head" }, R.h("button", { type: "button", onclick: () => print() }, "print")));
    await part("now");
    await part("heldout", { few: "1" });
    const groups = R.h("div", { class: "part" });
    el.append(groups);
    await quarters(groups, r, params);
    await part("curves", { x: params.x || "total", drawn: "1" });
    await part("trust");
    await part("machine");
    el.append(await method(r));
  },
});

// quarters shows a group of completions at the end of each quarter of the main stage: the
// first of the step whose rewards differ, or the first.
async function quarters(el, r, params) {
  const m = r.main(), steps = (await r.steps("completions.jsonl")).filter((s) => m && s.step > m.after && s.step <= m.last);
  if (!steps.length) return;
  el.append(R.h("h1", {}, "Training groups"), R.h("p", { class: "note" }, "One group of completions from the end of each quarter of the stage: the first one in its step whose rewards differ, or else the first one. Equal completions are shown once. The advantage says which way the step pushed them: ▲ more likely, ▼ less likely."));
  const nearest = (q) => steps.reduce((best, s) => (Math.abs(s.step - q) < Math.abs(best.step - q) ? s : best));
  const chosen = [...new Set([1, 2, 3, 4].map((q) => nearest(m.after + Math.floor(((m.last - m.after) * q) / 4))))];
  for (const s of chosen) {
    const lines = await r.linesOf("completions.jsonl", s.step), groups = new Map();
    for (const o of lines) groups.set(o.group, [...(groups.get(o.group) || []), o]);
    const all = [...groups.values()], shown = all.find((g) => g.some((o) => o.reward !== g[0].reward)) || all[0];
    el.append(R.h("section", {}, R.h("h2", {}, `${m.name}, step ${(s.step - m.after).toLocaleString("en")}: `, R.code(shown[0].prompt, 600)), R.answers(shown, [], params)));
  }
}

// method is what the run did: formulas, and the recipe that repeats it.
async function method(r) {
  const methods = await r.methods();
  return R.h("div", { class: "part" }, R.h("h1", {}, "Method"),
    methods.map((o) => R.h("section", {}, R.h("h2", {}, o.stage), R.h("pre", {}, R.plain(o.text)))),
    r.recipe ? R.h("section", {}, R.h("h2", {}, "Recipe"), R.h("p", { class: "note" }, "Saved as a file, this recipe repeats the run: ", R.code("rlzero train FILE")), R.h("pre", { class: "columns" }, R.plain(r.recipe))) : null);
}
