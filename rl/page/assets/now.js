// Now: is it learning, and should I stop it?
"use strict";

R.screens.push({
  name: "now", title: "Now",
  show(el, r) {
    const parts = [measured(r), R.h("section", { id: "samples" })];
    el.append(...parts);
    for (const e of parts) e.since = performance.now();
    written(r, parts[1]);
  },
  // update draws what a new step has changed: numbers at once, curves and texts after a while.
  // Who looks at them needs longer than a step takes, and to draw them takes the processor from
  // the run.
  update(el, r) {
    const was = el.querySelector(".measured"), samples = el.querySelector("#samples"), m = r.main();
    const first = was.querySelector(".alerts > *"), newest = shownAlerts(r)[0];
    const told = m && was.querySelector(".facts") && (first ? first.dataset.key : "") === (newest ? keyOf(newest) : "");
    if (told) {
      R.renew(was.querySelector(".headline"), R.h("section", { class: "headline" }, headline(r, m)));
      R.renew(was.querySelector(".facts"), facts(r, m));
    }
    R.pace(was, told ? LOOK : 0, () => R.renew(was, measured(r)));
    R.pace(samples, LOOK, () => written(r, samples));
  },
});

const LOOK = 10_000; // ms

// measured is what metrics say.
function measured(r) {
  const m = r.main();
  if (!m) return R.h("div", { class: "measured" }, R.h("h1", {}, "No step yet"), R.h("p", { class: "note" }, "The run has written no metrics yet. They appear here as they come."));
  const multiples = smalls(r, m).filter(Boolean);
  return R.h("div", { class: "measured" }, R.h("section", { class: "headline" }, headline(r, m)), alertList(r), R.h("div", { class: "opening" }, hero(r, m), facts(r, m)),
    multiples.length ? R.h("section", {}, R.h("h2", {}, "What is changing"), R.h("div", { class: "grid" }, multiples)) : null);
}

// inStage is a metric over the steps of a stage, counted in it.
R.inStage = function (r, name, m) {
  const s = r.series(name), out = { x: [], y: [] };
  s.x.forEach((x, i) => { if (x > m.after && x <= m.last) { out.x.push(x - m.after); out.y.push(s.y[i]); } });
  return out;
};

// lossOf is the metric of the loss of a stage that samples nothing.
const lossOf = (r, m) => R.inStage(r, "sft/loss", m).y.length ? "sft/loss" : "policy/loss";

function headline(r, m) {
  const before = r.before(), after = r.after();
  const parts = [R.h("p", { class: "kicker" }, r.facts ? R.clip(r.facts.about, 200) : r.dir)];
  if (!after) {
    const last = r.has("reward/mean") ? "reward " + R.number(r.last("reward/mean")) : "loss " + R.number(r.last(lossOf(r, m)));
    return [...parts, R.h("h1", {}, `${m.name}, step ${(m.last - m.after).toLocaleString("en")}: ${last}`)];
  }
  const gain = before && before !== after ? after.pass - before.pass : NaN, chance = R.noise(gain, before && before.half, after.half);
  const way = chance ? 0 : Math.sign((100 * gain).toFixed(1)); // as it is printed
  parts.push(R.h("h1", {}, "Accuracy ", before && before !== after ? [R.h("span", { class: "from" }, (100 * before.pass).toFixed(1) + " → ")] : null, R.h("b", { class: way ? (way > 0 ? "up" : "down") : "" }, R.percent(after.pass)), below(r)));
  const interval = R.finite(after.low) ? `95 % interval ${(100 * after.low).toFixed(1)} to ${(100 * after.high).toFixed(1)} %` : "";
  const size = after.problems ? `${after.problems} held-out problems${after.samples > 1 ? " × " + after.samples + " samples" : ""}` : "";
  const less = R.finite(gain) && before.k === after.k && after.k > 1 ? after.passK - before.passK : NaN;
  const means = R.noise(less, before && before.halfK, after.halfK) ? ", within noise" : less < 0 && way > 0 ? ": the samples of a problem have become less varied" : "";
  const variety = R.finite(less) ? `pass@${after.k} ${inPoints(less)} points${means}` : "";
  const within = chance ? `the change of ${inPoints(gain)} points is within noise: it may be due to chance` : "";
  const offers = r.result && r.result.take === "best" ? `the run offers its best model, from step ${r.result.best.step.toLocaleString("en")}: ${r.result.why}` : "";
  parts.push(R.h("p", { class: "lead" }, [interval, size, within, variety, offers].filter(Boolean).join(" · ")));
  return parts;
}

const inPoints = (v) => R.signed(+(100 * v).toFixed(1), (p) => p.toFixed(1).replace("-", "−"));

// below says that a run came to less than it began with, beyond chance.
const below = (r) => (r.result && r.result.below_start ? R.h("span", { class: "below" }, r.state === "finished" ? ": the run ended below its start" : ": the run is below its start") : null);

const shownAlerts = (r) => r.alerts.slice(-6).reverse();
const keyOf = (a) => a.step + " " + a.rule; // one that was opened is not another when news come above it

function alertList(r) {
  if (!r.alerts.length) return null;
  const m = r.main();
  return R.h("section", { class: "alerts", "aria-label": "alerts" }, shownAlerts(r).map((a) => R.h("details", { class: a.level, "data-key": keyOf(a) },
    R.h("summary", {}, R.h("b", {}, (a.level === "info" ? "i " : "! ") + a.rule.replace(/_/g, " ")), " ", R.h("span", {}, `step ${a.step > m.after ? a.step - m.after : a.step}: ${a.seen}; ${a.against}`)),
    R.h("p", {}, "Why: " + a.why + "."), R.h("p", {}, "What to do: " + a.do.replace("RUN", () => r.dir).replace("--step N", "--step " + a.step)),
    R.h("p", {}, R.h("a", { href: R.href("completions", r.id, { step: a.step, sort: "reward" }) }, "the completions of step " + (a.step - m.after))))));
}

function hero(r, m) {
  const a = R.accuracy(r), reward = R.inStage(r, "reward/mean", m);
  const lines = [{ label: "pass@1", cls: "s0", x: a.x, y: a.y, lo: a.lo, hi: a.hi, dots: true }];
  if (a.n > 1) lines.push({ label: "pass@" + a.n, cls: "s1", x: a.x, y: a.k, dots: true });
  // Greedy is measured before and after stages: a value of an earlier one is no news here.
  if (a.x.length > 1 && R.finite(a.greedy[a.greedy.length - 1])) lines.push({ label: "greedy", cls: "s2", x: a.x, y: a.greedy, dots: true });
  if (reward.y.length && reward.y.every((v) => v >= 0 && v <= 1)) lines.push({ label: "reward", cls: "ghost", x: reward.x, y: reward.y });
  if (!a.x.length) {
    const name = reward.y.length ? "reward/mean" : lossOf(r, m), s = R.inStage(r, name, m);
    return R.chart({ title: reward.y.length ? "Reward" : "Loss", unit: r.main().name, hero: true, lines: [{ label: "", cls: "s0", ...s }] });
  }
  return R.chart({ title: "Held-out accuracy", caption: `share of right answers${sizes(a)}; whiskers: 95 % interval; x: steps of stage ${m.name}`, share: true, hero: true, from: 0, lines, marks: marksOf(r, m) });
}

// sizes says how many problems points rest on: fewer during a stage than before and after it.
function sizes(a) {
  const n = a.problems.filter(R.finite), [few, all] = R.extent(n);
  return !n.length ? "" : few === all ? ` to ${all} problems` : ` to ${few} problems during the stage, to ${all} before and after it`;
}

const marksOf = (r, m) => r.alerts.filter((a) => a.step > m.after && a.level !== "info").map((a) => ({ x: a.step - m.after, cls: a.level, label: `${a.rule.replace(/_/g, " ")}: ${a.seen}` }));

function facts(r, m) {
  const list = [], add = (name, text, more) => list.push(R.h("div", {}, R.h("dt", {}, name), R.h("dd", {}, text, more ? R.h("small", {}, " " + more) : null)));
  const done = m.last - m.after, plan = r.planned(m);
  add("stage", `${m.name} ${done.toLocaleString("en")}${plan ? " of " + plan.toLocaleString("en") : ""}`, r.state === "running" ? "running" : r.state);
  const stage = r.facts && r.facts.stages.find((s) => s.name === m.name);
  if (stage && stage.trains) add("learns", stage.trains, "a model of the recipe");
  const per = R.median(r.timing.filter((t) => t.step > m.after && t.step <= m.last).slice(-50).map((t) => (t.v["time/rollout_s"] || 0) + (t.v["time/train_s"] || 0)));
  if (r.state === "running" && plan > done && per > 0) add("time left", R.seconds((plan - done) * per), "of this stage");
  const ran = (title, name, text, more) => { const y = R.inStage(r, name, m).y; if (y.length) add(title, text(y[y.length - 1]), more || "from " + text(y[0])); };
  ran("reward", "reward/mean", R.number);
  ran("loss", "sft/loss", R.number);
  if (!m.rl) ran("valid", "eval/valid", R.percent, "of samples have the form of an answer");
  add("entropy", R.number(r.last("policy/entropy")) + " nats", "from " + R.number(R.inStage(r, "policy/entropy", m).y[0]));
  const limit = r.facts && r.facts.keys.get("stage " + (r.facts.stages.findIndex((s) => s.name === m.name) + 1) + ".sampling.max_completion_tokens");
  if (r.has("rollout/length_mean")) add("length", R.number(r.last("rollout/length_mean")) + (limit ? " of " + limit : "") + " tokens", R.percent(r.last("rollout/truncated_share")) + " cut off");
  const compared = r.series("policy/compared").y.reduce((a, b) => a + b, 0), equal = r.series("policy/equal").y.reduce((a, b) => a + b, 0);
  if (compared) add("sampler = trainer", compared === equal ? "to the bit" : (compared - equal).toLocaleString("en") + " differ", `${equal.toLocaleString("en")} of ${compared.toLocaleString("en")} tokens`);
  return R.h("dl", { class: "facts" }, list);
}

function smalls(r, m) {
  const one = (title, name, unit, log) => {
    const s = R.inStage(r, name, m);
    const [lo, hi] = R.extent(s.y);
    if (!(hi - lo > 0.02 * Math.max(Math.abs(lo), Math.abs(hi)))) return null; // a constant is no chart
    return R.chart({ title, unit, log, share: R.isShare(name), lines: [{ label: "", cls: "s0", ...R.broken(s, R.far(s)) }] });
  };
  const terms = r.names().filter((n) => n.startsWith("reward/term/")).sort();
  const uniform = R.inStage(r, "groups/uniform_share", m), right = R.inStage(r, "groups/all_right_share", m), wrong = R.inStage(r, "groups/all_wrong_share", m);
  const part = (y) => ({ x: uniform.x, y });
  return [
    terms.length > 1 ? R.chart({ title: "Reward by term", unit: "mean of each term", lines: terms.slice(0, 4).map((n, i) => ({ label: n.slice(12), cls: "s" + i, ...R.inStage(r, n, m) })) }) : null,
    uniform.x.length && right.x.length ? R.chart({ title: "Groups", unit: "share of groups by their rewards", stack: true, share: true, lines: [
      { label: "all right", cls: "right", ...part(right.y) }, { label: "mixed", cls: "mixed", ...part(uniform.y.map((v) => 1 - v)) },
      { label: "equal", cls: "equal", ...part(uniform.y.map((v, i) => Math.max(0, v - right.y[i] - wrong.y[i]))) }, { label: "all wrong", cls: "wrong", ...part(wrong.y) }].filter((l) => l.y.some((v) => v > 0.005)) }) : null,
    one("Entropy", "policy/entropy", "nats per token", R.logPays), one("Completion length", "rollout/length_mean", "tokens"), one("Cut off", "rollout/truncated_share", "share of completions"),
    one("Gradient", "policy/grad_norm", "norm before clipping", R.logPays), one("Clipped", "policy/clip_fraction", "share of tokens"), one("KL to the reference", "policy/kl_ref", "nats per token"),
    ...r.names().filter((n) => n.endsWith("/kl")).sort().map((n) => one("KL to " + n.slice(0, -3), n, "nats per token")),
    one("Loss", "sft/loss", "nats per token", R.logPays), one("Not scored", "rollout/not_scored", "completions of a step"), one("Preferred", "preference/accuracy", "share of pairs"),
  ];
}

// written shows what the model wrote last; where that cannot be read, what is shown stays.
const written = (r, el) => latest(r, el).catch((e) => { if (!el.childElementCount) el.append(R.h("p", { class: "note" }, "What the model wrote cannot be read: " + e.message)); });

// latest shows the newest completion of each verdict; before the first step that samples, those of
// the last evaluation.
async function latest(r, el) {
  const steps = await r.steps("completions.jsonl"), last = r.evaluations[r.evaluations.length - 1];
  if (!r.main() || !(steps.length || last)) return; // the texts of a step are written before its metrics
  const newest = steps[steps.length - 1];
  const lines = newest ? await r.linesOf("completions.jsonl", newest.step) : r.evaluations.filter((o) => o.step === last.step && o.stage === last.stage);
  const m = r.main();
  const rows = ["right", "graded", "wrong", "not_scored"].map((v) => lines.filter((o) => o.verdict === v).pop()).filter(Boolean);
  const link = (o) => (newest ? R.h("a", { href: R.href("completions", r.id, { step: o.step, group: o.group }) }, "its group") : R.h("a", { href: R.href("heldout", r.id) }, "all"));
  el.replaceChildren(R.h("h2", {}, newest ? "Written in step " + (newest.step - m.after).toLocaleString("en") : last.step < 1 ? "Written before training" : "Written after " + last.stage),
    R.region("Newest completions", R.h("table", { class: "completions" }, R.h("tbody", {}, rows.map((o) => R.h("tr", {},
      R.h("td", {}, R.verdict(o.verdict), R.h("small", {}, lines.filter((x) => x.verdict === o.verdict).length + " of " + lines.length)),
      R.h("td", {}, R.code(o.prompt, 200)), R.h("td", {}, R.code(o.completion, 300), R.h("p", { class: "reason" }, R.plain(R.clip(o.reason, 200)))),
      R.h("td", {}, link(o))))))));
}
