// Completions: what does it really write, and what is it paid for?
"use strict";

R.screens.push({
  name: "completions", title: "Completions",
  keys: {
    h: ["one step back", () => move(-1)], l: ["one step forward", () => move(1)], j: ["next group or row", () => next(1)], k: ["previous group or row", () => next(-1)],
    t: ["show or hide tokens", () => R.set({ tokens: R.parse().params.tokens ? "" : "1" })], d: ["show or hide differences from the best", () => R.set({ diff: R.parse().params.diff ? "" : "1" })],
  },
  async show(el, r, params) {
    const steps = await r.steps("completions.jsonl");
    if (!steps.length) { el.append(R.h("h1", {}, "No completions yet")); return; }
    at.steps = steps; at.run = r;
    const wanted = params.step ? +params.step : steps[steps.length - 1].step;
    at.place = steps.reduce((best, s, i) => (Math.abs(s.step - wanted) < Math.abs(steps[best].step - wanted) ? i : best), 0);
    const step = steps[at.place];
    const lines = await r.linesOf("completions.jsonl", step.step);
    at.groups = [...new Set(lines.map((o) => o.group))];
    if (params.group != null && params.group !== "") return group(el, r, step, lines.filter((o) => o.group === +params.group), params);
    el.append(R.h("div", { class: "head" }, R.h("h1", {}, "Completions"), controls(r, step, params)));
    const total = steps.reduce((n, s) => n + s.counts.reduce((a, b) => a + b, 0), 0);
    if (params.q || params.everywhere) {
      let found;
      try { found = await r.search({ text: params.q, regexp: params.regexp === "1", verdict: params.verdict }); } catch (e) { el.append(R.h("p", { class: "alert" }, e.message)); return; }
      el.append(R.h("p", { class: "note" }, `${found.count.toLocaleString("en")} of ${total.toLocaleString("en")} completions of the run${params.q ? ` contain “${params.q}”` : ""}${found.count > found.lines.length ? `; the first ${found.lines.length} are shown` : ""}.`), list(r, sorted(found.lines, params.sort), true));
    } else {
      const shown = sorted(lines.filter((o) => !params.verdict || o.verdict === params.verdict), params.sort);
      el.append(R.h("p", { class: "note" }, `${shown.length} of the ${lines.length} completions of this step; ${total.toLocaleString("en")} in the run. Equal ones of a group are one row.`), list(r, shown, false));
    }
  },
});

const at = { steps: [], place: 0, groups: [], run: null };

function move(by) {
  const s = at.steps[at.place + by];
  if (s) R.set({ step: s.step, q: "" });
}
function next(by) {
  const { params } = R.parse();
  if (params.group != null && params.group !== "") {
    const g = at.groups[at.groups.indexOf(+params.group) + by];
    if (g != null) R.set({ group: g });
    return;
  }
  R.step(by);
}

function controls(r, step, params) {
  const m = r.stages().find((s) => step.step > s.after && step.step <= s.last) || { after: 0, name: step.stage };
  const pick = (key, label, options) => R.h("select", { "aria-label": label, onchange: (e) => R.set({ [key]: e.target.value }) }, options.map(([v, t]) => R.h("option", { value: v, selected: (params[key] || "") === v }, t)));
  return [
    R.h("span", { class: "steps" },
      R.h("button", { type: "button", "aria-label": "one step back", onclick: () => move(-1) }, "‹"),
      R.h("input", { type: "range", min: 0, max: at.steps.length - 1, value: at.place, "aria-label": "step", "aria-valuetext": "step " + (step.step - m.after), onchange: (e) => R.set({ step: at.steps[+e.target.value].step, q: "" }) }),
      R.h("button", { type: "button", "aria-label": "one step forward", onclick: () => move(1) }, "›"),
      R.h("b", {}, `${m.name} ${(step.step - m.after).toLocaleString("en")}`)),
    pick("verdict", "verdict", [["", "every verdict"], ["right", "right"], ["wrong", "wrong"], ["graded", "graded"], ["not_scored", "not scored"]]),
    pick("sort", "order", [["", "as sampled"], ["advantage", "advantage"], ["reward", "reward"], ["length", "length"]]),
    R.h("input", { type: "search", id: "search", placeholder: "search all steps", "aria-label": "search all steps", value: params.q || "", onchange: (e) => R.set({ q: e.target.value }) }),
    R.h("button", { type: "button", "aria-pressed": String(params.regexp === "1"), "aria-label": "search is a regular expression", onclick: () => R.set({ regexp: params.regexp === "1" ? "" : "1" }) }, ".*"),
  ];
}

function sorted(lines, by) {
  const key = { advantage: (o) => o.advantage, reward: (o) => o.reward, length: (o) => o.tokens }[by];
  return key ? lines.slice().sort((a, b) => (key(b) == null ? -Infinity : key(b)) - (key(a) == null ? -Infinity : key(a))) : lines;
}

const MOST = 300; // rows on a page

function list(r, lines, withStep) {
  const m = r.main(), rows = fold(lines);
  return R.region("Completions", R.h("table", { class: "completions" },
    R.h("thead", {}, R.h("tr", {}, [withStep ? "step" : null, "prompt", "reward", "advantage", "tokens", "completion"].filter(Boolean).map((t) => R.h("th", { scope: "col", class: /reward|advantage|tokens/.test(t) ? "num" : null }, t)))),
    R.h("tbody", {}, rows.slice(0, MOST).map(({ line: o, samples }) => R.h("tr", {},
      withStep ? R.h("td", {}, o.step - m.after) : null,
      R.h("td", {}, R.h("a", { class: "item", href: R.href("completions", r.id, { step: o.step, group: o.group }) }, R.code(o.prompt, 120))),
      R.h("td", { class: "num", "data-label": "reward" }, o.reward == null ? "–" : R.number(o.reward)), R.h("td", { class: "num" }, push(o.advantage)), R.h("td", { class: "num", "data-label": "tokens" }, o.tokens + (o.stop === "length" ? " ▸" : "")),
      R.h("td", {}, samples.length > 1 ? R.h("b", { class: "times" }, samples.length + " × ") : null, R.code(o.completion, 300), R.h("p", { class: "reason" }, R.verdict(o.verdict), " ", R.plain(R.clip(o.reason, 160)))))))),
  rows.length > MOST ? R.h("p", { class: "note" }, `${rows.length - MOST} more; choose a verdict or search.`) : null);
}

const push = (a) => (a == null ? "–" : R.h("span", { class: a > 0 ? "push" : a < 0 ? "pull" : "" }, (a > 0 ? "▲ " : a < 0 ? "▼ " : "") + (a > 0 ? "+" : "") + R.number(a)));

// group is one prompt and everything that was sampled for it.
async function group(el, r, step, lines, params) {
  const m = r.stages().find((s) => step.step > s.after && step.step <= s.last);
  if (!lines.length) { el.append(R.h("h1", {}, "There is no such group in this step")); return; }
  const first = lines[0], back = R.href("completions", r.id, { step: step.step });
  el.append(R.h("p", { class: "kicker" }, R.h("a", { href: back }, `${m.name}, step ${step.step - m.after}`), ` · group ${first.group} of ${at.groups.length}`, first.seat ? [" · seat ", R.plain(first.seat)] : null, first.against ? [" against ", R.plain(first.against)] : null),
    R.h("div", { class: "head" }, R.h("h1", { class: "prompt" }, R.code(first.prompt, 600)),
      R.h("button", { type: "button", "aria-pressed": String(!!params.diff), onclick: () => R.set({ diff: params.diff ? "" : "1" }) }, "differences"),
      R.h("button", { type: "button", "aria-pressed": String(!!params.tokens), onclick: () => R.set({ tokens: params.tokens ? "" : "1" }) }, "tokens")),
    first.answer ? R.h("p", { class: "gold" }, "reference answer ", R.code(first.answer, 400)) : "");
  const tokens = params.tokens ? await r.linesOf("tokens.jsonl", step.step) : [];
  if (params.tokens && !tokens.length) {
    const recorded = (await r.steps("tokens.jsonl")).map((s) => s.step);
    const near = recorded.reduce((b, s) => (b == null || Math.abs(s - step.step) < Math.abs(b - step.step) ? s : b), null);
    el.append(R.h("p", { class: "note" }, "The tokens of this step were not recorded. The recipe's token_every says which steps record them. ", near != null ? R.h("a", { href: R.href("completions", r.id, { step: near, group: first.group, tokens: 1 }) }, "Step " + (near - m.after) + " has them.") : null));
  }
  const scale = R.h("select", { "aria-label": "what the colours of tokens show", onchange: (e) => R.set({ by: e.target.value }) }, [["", "push"], ["logprob", "log-prob"], ["entropy", "entropy"]].map(([v, t]) => R.h("option", { value: v, selected: (params.by || "") === v }, t)));
  if (tokens.length) el.append(R.h("p", { class: "note" }, "Colours show ", scale, params.by ? ": darker is larger." : ": blue was made more likely, red less likely; an outline marks a token that was clipped."));
  if (first.nodes) el.append(tree(r, step, lines, params));
  const alone = lines.filter((o) => String(o.sample) === params.path);
  el.append(R.answers(alone.length ? alone : lines, tokens, params, await r.linesOf("judgements.jsonl", step.step)));
  const made = (await r.linesOf("rows.jsonl", step.step)).filter((o) => o.group === first.group);
  if (made.length) el.append(rows(made));
  const { chat, system, written } = r.facts || {}, talking = chat ? " --chat" + (system && " --system " + R.shell(system)) : "";
  if (first.prompt && written) el.append(R.h("p", { class: "note" }, "To give this prompt to the trained model: ", R.code(`rlzero sample ${R.shell(r.dir)}${talking} --prompt ${R.shell(first.prompt)}`)));
}

// tree is that of a group: each node below the one that it comes after, its edge as wide as its completions are many,
// its colour how far the mean reward of these lies from that of the group. A completion is a link that shows it alone.
function tree(r, step, lines, params) {
  const nodes = new Map(), mean = (all) => { const paid = all.filter((o) => o.reward != null); return paid.length ? paid.reduce((a, o) => a + o.reward, 0) / paid.length : null; };
  for (const o of lines) (o.nodes || []).forEach((n, i) => {
    if (!nodes.has(n.node)) nodes.set(n.node, { text: n.text || "", below: [], through: [], ends: [], top: i === 0 });
    const node = nodes.get(n.node), before = i ? nodes.get(o.nodes[i - 1].node) : null;
    node.through.push(o);
    if (before && !before.below.includes(node)) before.below.push(node);
    if (i === o.nodes.length - 1) node.ends.push(o);
  });
  const whole = mean(lines), top = Math.max(1e-9, ...[...nodes.values()].map((n) => Math.abs((mean(n.through) ?? whole) - whole)));
  const href = (path) => R.href("completions", r.id, { step: step.step, group: lines[0].group, path });
  const shown = (n) => {
    const value = mean(n.through), off = (value ?? whole) - whole, level = Math.ceil((4 * Math.abs(off)) / top);
    return R.h("li", {},
      R.h("span", { class: `node wide${Math.ceil((4 * n.through.length) / lines.length)} ${level ? (off > 0 ? "up" : "down") + level : ""}` }, R.code(n.text, 200)),
      R.h("small", {}, ` ${value == null ? "–" : R.number(value)} of ${n.through.length} `),
      n.ends.map((o) => R.h("a", { class: "item", href: href(o.sample), "aria-current": params.path === String(o.sample) ? "true" : null }, `sample ${o.sample} `)),
      n.below.length ? R.h("ul", {}, n.below.map(shown)) : null);
  };
  return R.region("Tree", R.h("ul", { class: "tree" }, [...nodes.values()].filter((n) => n.top).map(shown)),
    params.path ? R.h("p", { class: "note" }, R.h("a", { href: href("") }, "all completions")) : null);
}

// R.answers are the completions of a group, equal ones as one, with their tokens and what judges said
// where there is any.
R.answers = function (lines, tokens, params, judgements = []) {
  const folded = fold(lines).sort((a, b) => (b.line.reward || 0) - (a.line.reward || 0) || b.samples.length - a.samples.length), best = folded[0].line;
  const largest = Math.max(1e-12, ...tokens.filter((t) => t.group === best.group).flatMap((t) => (t.weight || []).map(Math.abs)));
  return R.h("div", { class: "answers" }, folded.map(({ line, samples }) => {
    const t = tokens.find((o) => o.group === line.group && o.sample === line.sample);
    return R.h("article", { class: "answer " + line.verdict },
      R.h("p", { class: "count" }, R.h("b", {}, samples.length + " ×"), " reward ", R.h("b", {}, line.reward == null ? "–" : R.number(line.reward)), " advantage ", push(line.advantage), ` ${line.tokens} tokens, ${line.stop === "eos" ? "ended" : line.stop === "length" ? "cut off" : line.stop}`),
      !t && line.turns ? conversation(line.turns) : R.h("p", { class: "written" }, t ? tokenText(t, params.by, largest) : params.diff && line !== best ? diff(best.completion, line.completion) : R.code(line.completion, 4000)),
      R.h("p", { class: "reason" }, R.verdict(line.verdict), " ", R.plain(line.reason), line.not_scored ? " · not scored: " + R.plain(line.not_scored) : ""),
      line.terms ? terms(line.terms) : null,
      judged(judgements.filter((o) => o.group === line.group && o.sample === line.sample)),
      navigator.clipboard ? R.h("p", {}, R.h("button", { type: "button", class: "small", onclick: () => copyRow(line) }, "copy as a test row")) : null);
  }));
};

// conversation is an episode in one column: the turns of the policy, and further in what answered them.
const conversation = (turns) => R.h("ol", { class: "written turns" }, turns.map((t, i) => R.h("li", { class: t.by === "policy" ? "policy" : "world" },
  R.h("b", {}, answers(turns, i).map((c, n) => [n ? "; " : null, R.plain(c.tool), c.failed ? R.h("span", { class: "mistake" }, ", a mistake") : null]), answers(turns, i).length ? null : t.role || (t.summary ? "summary" : t.by), t.fresh ? ", in a new context" : null), " ", R.code(t.text, 4000), t.reward ? R.h("span", { class: "paid" }, " pays " + R.number(t.reward)) : null)));

// answers are the calls that a turn of the world answers: one, where each call has an answer of its own.
function answers(turns, at) {
  let from = at, to = at;
  while (from > 0 && turns[from - 1].by === "world") from--;
  while (to < turns.length && turns[to].by === "world") to++;
  const calls = (turns[at].by === "world" && from > 0 && turns[from - 1].calls) || [];
  return calls.length === to - from ? calls.slice(at - from, at - from + 1) : calls;
}

// copyRow puts a completion on the clipboard as a line that rlzero verify --in reads.
function copyRow(o) {
  R.copy(JSON.stringify({ id: o.prompt_id, question: o.prompt, answer: o.answer, completion: o.completion }) + "\n");
}

// fold puts equal completions of a group together, in their order.
function fold(lines) {
  const by = new Map();
  for (const o of lines) {
    const said = JSON.stringify([o.step, o.group, o.turns ? o.turns.map((t) => [t.by, t.text]) : o.completion, o.verdict, o.reward]);
    if (!by.has(said)) by.set(said, { line: o, samples: [] });
    by.get(said).samples.push(o.sample);
  }
  return [...by.values()];
}

// judged is what judges answered about a completion: how it was read, what they wrote, and in the first group of a step
// what they were asked.
const judged = (all) => (all.length ? R.h("ul", { class: "judgements" }, all.map((o) => R.h("li", {}, R.h("b", {}, o.verifier), " ",
  o.reading == null ? "cannot be read: " + R.plain(R.clip(o.why || "", 160)) : R.number(o.reading),
  o.about ? [" about ", R.code(o.about, 120)] : null, o.raw != null ? " · its head says " + R.number(o.raw) : null,
  o.mass != null ? ` · its answers have ${R.number(100 * o.mass)} % of the probability` : null, o.text ? [" · it wrote ", R.code(o.text, 600)] : null,
  o.asked ? [" · it was asked ", R.code(o.asked, 600)] : null))) : null);

// rows are those that the run made of a group: who wrote them, and what they hold.
const rows = (all) => R.h("section", { id: "made" }, R.h("h2", {}, "Rows made of this group"), R.h("ul", { class: "judgements" }, all.map((o) => R.h("li", {}, R.h("b", {}, R.plain(o.id)),
  o.samples ? ` of ${o.samples.length > 1 ? "samples" : "sample"} ${o.samples.join(" and ")}` : "", " by ", R.plain(o.by),
  Object.entries(o.row || {}).map(([name, v]) => [" · ", R.plain(name), " ", R.code(typeof v === "string" ? v : JSON.stringify(v), 600)])))));

const terms = (t) => R.h("dl", { class: "terms" }, Object.entries(t).map(([k, v]) => R.h("div", {}, R.h("dt", {}, k), R.h("dd", {}, v == null ? "–" : R.number(v)))));

function tokenText(t, by, largest) {
  const clipped = new Set(t.clipped || []);
  const top = by ? Math.max(1e-9, ...t[by].map(Math.abs)) : largest;
  const read = new Map((t.read || []).map((o) => [o.before, (o.fresh ? "⟲ " : "") + o.text]));
  return R.h("code", { class: "tokens" }, t.text.flatMap((text, i) => {
    const v = by ? Math.abs(t[by][i]) : t.weight ? -t.weight[i] : 0, share = Math.min(1, Math.abs(v) / top);
    const level = share === 0 ? 0 : Math.max(1, Math.ceil(share * 4));
    const says = `${JSON.stringify(text)} log-prob ${R.number(t.logprob[i])}, entropy ${R.number(t.entropy[i])} nats` + (t.weight ? `, push ${R.number(-t.weight[i])}` : ", not learned from") + (clipped.has(i) ? ", clipped" : "");
    const own = R.h("span", { class: (by ? "amount" : v >= 0 ? "up" : "down") + level + (clipped.has(i) ? " clipped" : ""), title: says }, text === "" ? "∎" : R.plain(text));
    return read.has(i) ? [R.h("span", { class: "read", title: "read, not learned from" }, R.plain(read.get(i))), own] : [own];
  }));
}

// diff marks the words of b that a lacks (longest common subsequence of words and marks).
function diff(a, b) {
  const cut = (s) => (s.match(/\s+|\d+|\p{L}+|./gu) || []).slice(0, 600);
  const x = cut(a), y = cut(b), n = x.length, m = y.length;
  const best = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) best[i][j] = x[i] === y[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const out = R.h("code", {});
  for (let i = 0, j = 0; i < n || j < m;) {
    if (i < n && j < m && x[i] === y[j]) { out.append(R.plain(y[j])); i++; j++; }
    else if (i < n && (j === m || best[i + 1][j] >= best[i][j + 1])) out.append(R.h("del", {}, R.plain(x[i++])));
    else out.append(R.h("ins", {}, R.plain(y[j++])));
  }
  return out;
}
