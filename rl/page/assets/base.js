// What every screen uses: elements, numbers as text, keys, the address.
"use strict";
const R = { screens: [], runs: new Map(), metrics: [], inline: window.inlineRuns };

// h makes an element. Texts are set as text, never as HTML: models wrote some of them.
R.h = function (tag, attributes, ...children) {
  const svg = R.svgTags.has(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (v == null || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "style") for (const [p, x] of Object.entries(v)) e.style.setProperty(p, x);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat(Infinity).filter((c) => c != null && c !== false));
  return e;
};
R.svgTags = new Set(["svg", "g", "path", "circle", "rect", "line", "text", "title"]);

// renew makes an element equal to another of its kind, and touches what differs alone: what is
// focused, opened or selected stays so. Handlers stay those of the element. Of children with a
// data-key, which are in one order, those with equal keys are the same.
R.renew = function (was, is) {
  if (is.show) { was.show(is.spec); return; } // a chart
  if (was.isEqualNode(is)) return;
  for (const { name, value } of is.attributes) if (was.getAttribute(name) !== value) was.setAttribute(name, value);
  for (const { name } of [...was.attributes]) if (!is.hasAttribute(name) && name !== "open") was.removeAttribute(name);
  const now = [...is.childNodes], key = (e) => e.dataset && e.dataset.key;
  const lacks = (parent, e) => key(e) != null && ![...parent.childNodes].some((o) => key(o) === key(e));
  for (const o of [...was.childNodes]) if (lacks(is, o)) o.remove();
  now.forEach((n, i) => { if (lacks(was, n)) was.insertBefore(n, was.childNodes[i] || null); });
  const old = [...was.childNodes];
  for (const o of old.slice(now.length)) o.remove();
  now.forEach((n, i) => {
    const o = old[i];
    if (!o) was.append(n);
    else if (o.nodeName !== n.nodeName || !o.show !== !n.show) o.replaceWith(n);
    else if (n.nodeType === Node.ELEMENT_NODE) R.renew(o, n);
    else if (o.data !== n.data) o.data = n.data;
  });
};

// pace draws an element anew, but no sooner than ms after the last time, and not while nobody
// sees the page: then it waits.
R.pace = function (el, ms, draw) {
  clearTimeout(el.timer);
  const wait = el.since + ms - performance.now(), again = () => R.pace(el, 0, draw);
  if (wait > 0) el.timer = setTimeout(again, wait);
  else if (document.hidden) {
    if (!el.waits) document.addEventListener("visibilitychange", () => { el.waits = false; again(); }, { once: true });
    el.waits = true;
  }
  else if (el.isConnected) {
    el.since = performance.now();
    draw();
  }
};

// Marks that would turn the order of a text round are shown as U+FFFD (Unicode TR 9).
R.plain = (text) => String(text).replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, "\ufffd");
R.clip = (text, n) => (text.length > n ? text.slice(0, n) + "…" : text);

R.finite = (v) => typeof v === "number" && Number.isFinite(v);

// Numbers as people read them.
R.number = function (v) {
  if (!R.finite(v)) return "–";
  const a = Math.abs(v);
  if (a !== 0 && (a < 1e-3 || a >= 1e6)) return v.toExponential(1).replace("e+", "e").replace("-", "−");
  return digits[a >= 100 ? 0 : a >= 10 ? 1 : a >= 1 ? 2 : 3].format(v).replace("-", "−");
};
const digits = [0, 1, 2, 3].map((n) => new Intl.NumberFormat("en", { maximumFractionDigits: n })); // to make one takes longer than to use it
R.percent = (v) => (R.finite(v) ? (100 * v).toFixed(1) + " %" : "–");
R.signed = (v, text) => (v > 0 ? "+" : "") + text(v);
R.seconds = function (s) {
  if (!R.finite(s)) return "–";
  if (s < 90) return Math.round(s) + " s";
  if (s < 5400) return Math.round(s / 60) + " min";
  return (s / 3600).toFixed(1) + " h";
};
R.bytes = (n) => (n < 1e6 ? (n / 1e3).toFixed(0) + " kB" : (n / 1e6).toFixed(1) + " MB");
R.value = (name, v) => (R.isShare(name) ? R.percent(v) : R.number(v));

// isShare: shares and accuracies are shown in percent.
R.isShare = (name) => /_share$|^eval\/(pass@|greedy|valid|mean)|clip_fraction$/.test(name);

R.median = function (list) {
  const s = list.filter(R.finite).sort((a, b) => a - b);
  return s.length ? s[s.length >> 1] : NaN;
};

// Announces a change to those who do not see it.
R.say = (text) => { document.getElementById("live").textContent = text; };

// R.copy puts a text on the clipboard, and says so.
R.copy = (text) => navigator.clipboard.writeText(text).then(() => R.say("copied"), () => R.say("this browser lets nothing be copied"));

// R.shell is a word of a command line.
R.shell = (s) => (/^[\w./:=@%+,-]+$/.test(s) ? s : "'" + s.replace(/'/g, "'\\''") + "'");

// R.command is a command to be copied.
R.command = (text) => [R.code(text), " ", navigator.clipboard ? R.h("button", { type: "button", class: "small", "aria-label": "copy: " + text, onclick: () => R.copy(text) }, "copy") : null];

// The address: #/run/ID/screen?key=value, or #/screen?key=value of all runs. A link keeps the view.
R.parse = function () {
  const [path, query] = location.hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  const params = Object.fromEntries(new URLSearchParams(query || ""));
  if (parts[0] !== "run") return { screen: parts[0] || "runs", params };
  return { screen: parts[2] || "now", id: parts[1], params };
};
R.href = function (screen, id, params) {
  const query = new URLSearchParams(Object.entries(params || {}).filter(([, v]) => v != null && v !== "")).toString();
  const path = screen === "runs" ? "#/" : id == null ? "#/" + screen : "#/run/" + encodeURIComponent(id) + "/" + screen;
  return query ? path + "?" + query : path;
};
R.go = (screen, id, params) => { location.hash = R.href(screen, id, params); };
// set changes parameters of the view in place, without a step in the history.
R.set = function (changes) {
  const at = R.parse();
  Object.assign(at.params, changes);
  history.replaceState(null, "", R.href(at.screen, at.id, at.params));
  R.show();
};

// step moves the focus along the items of a list.
R.step = function (by) {
  const items = [...document.querySelectorAll("main .item")], i = items.indexOf(document.activeElement);
  const to = items[Math.max(0, Math.min(items.length - 1, i + by))];
  if (to) to.focus();
};

// region is a part of a page that scrolls sideways, reachable by keys.
R.region = (label, ...children) => R.h("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, ...children);

R.verdictMark = { right: "✓", wrong: "✗", graded: "◐", not_scored: "·" };
R.verdict = (v) => R.h("span", { class: "verdict " + v }, R.h("span", { "aria-hidden": "true" }, (R.verdictMark[v] || "·") + " "), v.replace(/_/g, " "));
R.code = (text, n) => R.h("code", {}, R.plain(R.clip(text, n || 600)));
