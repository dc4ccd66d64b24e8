// Trust: may I believe it?
"use strict";

R.screens.push({
  name: "trust", title: "Trust",
  async show(el, r) {
    const sum = (n) => r.series(n).y.reduce((a, b) => a + (b || 0), 0);
    const compared = sum("policy/compared"), equal = sum("policy/equal"), sampled = r.rows.reduce((n, o) => n + (o.v["policy/compared"] > 0 ? o.v["rollout/tokens"] || 0 : 0), 0);
    el.append(R.h("h1", {}, "Trust"));
    el.append(R.h("section", { class: "bits" + (compared === equal ? "" : " differ") }, R.h("h2", {}, "Sampler = trainer"),
      compared ? [R.h("p", {}, R.h("strong", {}, `${equal.toLocaleString("en")} of ${compared.toLocaleString("en")}`), " compared tokens have the same log-prob in the sampler and in the trainer, to the bit."),
        R.h("p", { class: "note" }, `Only the first update of each step is compared: ${(100 * compared / sampled).toFixed(0)} % of the tokens sampled in these steps. Later updates have newer weights than the sampler had.`)] : R.h("p", { class: "note" }, "Nothing has been compared yet. Steps that learn from rewards make this comparison.")));
    const receipt = R.h("section", { id: "receipt" }, R.h("h2", {}, "Receipt"));
    el.append(receipt);
    hacked(el, r);
    const reasons = R.h("section", {}, R.h("h2", {}, "Not scored"));
    el.append(reasons, control(r), machine(r) || "");
    await Promise.all([verify(receipt, r), notScored(reasons, r)]);
  },
});

// verify hashes the files of the run here and now and compares them with its receipt. What cannot be
// compared here is said.
async function verify(el, r) {
  if (!r.receipt) { el.append(R.h("p", { class: "note" }, "The receipt is written when the run ends. It holds the hashes of everything that went into the run and came out of it.")); return; }
  if (!crypto.subtle) { el.append(R.h("p", { class: "note" }, "This browser cannot compute hashes here. Check the receipt on the command line: ", R.code("rlzero receipt " + R.shell(r.dir)))); return; }
  const rows = R.h("tbody", {});
  el.append(R.region("Receipt", R.h("table", {}, R.h("thead", {}, R.h("tr", {}, ["file", "SHA-256 in the receipt", "now"].map((t) => R.h("th", { scope: "col" }, t)))), rows)));
  for (const { name, sha256 } of [{ name: "recipe.toml", sha256: r.receipt.recipe }, ...r.receipt.logs]) {
    const cell = R.h("td", {}, "…");
    rows.append(R.h("tr", {}, R.h("th", { scope: "row" }, name), R.h("td", {}, R.h("code", {}, sha256.slice(0, 16) + "…")), cell));
    if (r.sizes[name] == null) { cell.replaceChildren(R.h("span", { class: "verdict wrong" }, "✗ the run has no such file")); continue; }
    if (R.inline && R.inline.files[r.id][name] == null) { cell.replaceChildren("not in this file"); continue; }
    const data = await R.source.bytes(r.id, name, 0, null);
    if (R.inline && data.length !== r.sizes[name]) { cell.replaceChildren("this page has only a part"); continue; }
    const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", data));
    const hex = [...sum].map((b) => b.toString(16).padStart(2, "0")).join("");
    cell.replaceChildren(hex === sha256 ? R.h("span", { class: "verdict right" }, "✓ equal") : R.h("span", { class: "verdict wrong" }, "✗ differs"));
  }
  const { checkpoints, model, best } = r.receipt;
  const others = [checkpoints.length ? checkpoints.length + (checkpoints.length === 1 ? " checkpoint" : " checkpoints") : "", best ? "the best model" : "", "the data", model ? "the model that it started from" : ""].filter(Boolean);
  el.append(R.h("p", { class: "note" }, `Not compared here: ${others.join(", ")}. `, R.code("rlzero receipt " + R.shell(r.dir)), " compares everything."));
}

// hacked gathers what speaks for and against a reward that can be had without the task.
function hacked(el, r) {
  const rules = ["reward_ignores_verdict", "reward_without_accuracy", "truth_falls", "paid_template", "control_learns"];
  const found = r.alerts.filter((a) => rules.includes(a.rule));
  const c = r.series("reward/verdict_correlation").y.filter(R.finite);
  el.append(R.h("section", { id: "hacked" }, R.h("h2", {}, "Is the reward being hacked?"),
    R.h("p", { class: "lead" }, found.length ? "It may be: " + found.length + (found.length === 1 ? " alert says so." : " alerts say so.") : c.length ? "No alert says so." : "Unknown: this run has not measured it."),
    found.map((a) => R.h("p", { class: "alert" }, `! ${a.rule.replace(/_/g, " ")}: ${a.seen}; ${a.against}`)),
    c.length ? R.h("p", { class: "note" }, `Correlation of rewards and verdicts: ${R.number(c[c.length - 1])} in the last step, ${R.number(R.extent(c)[0])} at the lowest.`) : null,
    R.h("p", { class: "note" }, "To attack the reward of this run, and to have a second grader check what was paid: ", R.code("rlzero audit " + R.shell(r.dir)))));
}

async function notScored(el, r) {
  const found = await r.search({ verdict: "not_scored", limit: 200 });
  if (!found.count) { el.append(R.h("p", { class: "note" }, "Every completion was scored.")); return; }
  const by = new Map();
  for (const o of found.lines) by.set(o.reason, (by.get(o.reason) || 0) + 1);
  el.append(R.h("p", {}, found.count.toLocaleString("en") + (found.count === 1 ? " completion has" : " completions have") + " no score. " + (found.count > found.lines.length ? "Reasons of the first " + found.lines.length + ":" : "Reasons:")),
    R.h("ul", {}, [...by].sort((a, b) => b[1] - a[1]).slice(0, 10).map(([why, n]) => R.h("li", {}, n + " × " + R.plain(R.clip(why, 200))))));
}

function control(r) {
  const task = r.facts && r.facts.keys.get("task.name");
  const controls = [...R.runs.values()].filter((o) => o !== r && o.facts && o.facts.control && o.facts.keys.get("task.name") === task);
  return R.h("section", {}, R.h("h2", {}, "Control run"), controls.length ? controls.map((o) => {
    const b = o.before(), a = o.after(), rose = b && a && a.low > b.high;
    return R.h("p", {}, R.h("a", { href: R.href("now", o.id) }, o.id), `: rewards at random; accuracy ${b ? R.percent(b.pass) + " → " : ""}${a ? R.percent(a.pass) : "not measured"}. `, rose ? R.h("b", { class: "down" }, "It rose, so the model learns from something other than the reward.") : "It did not rise, as a control should not.");
  }) : R.h("p", { class: "note" }, "There is none here. Train one with ", R.h("code", {}, "--set stage.rl.reward=random"), " and open both runs: its accuracy must not rise."));
}

function machine(r) {
  if (!r.receipt) return null;
  const facts = [["device", r.receipt.device], ["driver", r.receipt.driver], ["tier", r.receipt.tier], ["numerics version", r.receipt.numerics], ["rlzero", r.receipt.program]];
  return R.h("section", {}, R.h("h2", {}, "Computed on"), R.h("dl", { class: "facts wide" }, facts.map(([k, v]) => R.h("div", {}, R.h("dt", {}, k), R.h("dd", {}, v)))));
}
