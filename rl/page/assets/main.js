// The frame: tabs, keys, and showing a screen when the address or the data changes.
"use strict";

const main = document.getElementById("main"), top_ = document.getElementById("top");
let showing = 0, shown = "";

R.show = async function () {
  const at = R.parse(), run = at.id ? R.runs.get(at.id) : null, mine = ++showing;
  let screen = R.screens.find((s) => s.name === at.screen);
  if (!screen || (at.id && !run)) { screen = R.screens[0]; }
  if (!screen.all && !run) { R.go("runs"); return; }
  const fresh = document.createElement("div");
  fresh.className = "screen " + screen.name;
  const place = shown === location.hash.split("?")[0] ? focused() : null;
  frame(screen, run);
  const standing = main.firstElementChild;
  if (place && screen.update && standing && standing.classList.contains(screen.name) && !standing.failed) { // what people work in stays where it is
    await screen.update(standing, run, at.params);
    tellGone(standing, run);
    window.shownHash = location.hash;
    return;
  }
  try { await screen.show(fresh, run, at.params); } catch (e) {
    if (R.lost && place) return; // what is shown stays
    fresh.failed = true;
    fresh.append(R.h("p", { class: "alert", role: "alert" }, "This screen cannot be shown: " + (R.lost ? "the server of this page does not answer" : e.message)));
  }
  if (mine !== showing) return; // another was asked for meanwhile
  tellGone(fresh, run);
  main.replaceChildren(fresh);
  document.title = (run ? run.id + " · " : "") + screen.title + " · rlzero";
  if (place) restore(place);
  else {
    const current = top_.querySelector("nav [aria-current]");
    if (current) current.parentElement.scrollLeft = current.offsetLeft - 16; // on a narrow screen the tabs scroll
    if (shown) { main.focus({ preventScroll: true }); scrollTo(0, 0); R.say(screen.title + (run ? " of " + run.id : "")); }
  }
  shown = location.hash.split("?")[0];
  window.shownHash = location.hash; // for tests: the screen of this address stands
};

// tellGone says on a screen that the folder of its run is no more, or says it no longer.
function tellGone(el, run) {
  const gone = run && run.state === "gone", told = el.querySelector(".gone");
  if (told && !gone) told.remove();
  if (gone && !told) el.prepend(R.h("p", { class: "alert gone", role: "alert" }, "The folder of this run is gone: it was deleted or moved. The page shows what it read before that."));
}

// focused remembers what has the focus, so that a screen that is drawn anew keeps it.
function focused() {
  const e = document.activeElement;
  if (!e || !main.contains(e) || e === main) return { top: scrollY };
  const all = [...main.querySelectorAll(e.tagName)];
  return { tag: e.tagName, label: e.getAttribute("aria-label") || e.textContent, index: all.indexOf(e), top: scrollY };
}
function restore(p) {
  if (p.tag) {
    const all = [...main.querySelectorAll(p.tag)];
    const e = all.find((o) => (o.getAttribute("aria-label") || o.textContent) === p.label) || all[p.index];
    if (e) e.focus({ preventScroll: true });
  }
  scrollTo(0, p.top);
}

function frame(screen, run) {
  const tabs = R.screens.filter((s) => !s.all);
  const bad = run ? run.alerts.filter((a) => a.level !== "info").length : 0;
  R.renew(top_, R.h("header", { id: "top" },
    R.h("a", { class: "brand", href: "#/", "aria-current": screen.all ? "page" : null }, "rlzero"),
    ...(run ? [R.h("span", { class: "run" }, run.id, R.h("small", { class: "state " + run.state }, run.state), bad ? R.h("small", { class: "alert" }, "! " + bad) : null),
      R.h("nav", { "aria-label": "screens" }, tabs.map((s, i) => R.h("a", { href: R.href(s.name, run.id), "aria-current": s === screen ? "page" : null, title: "key " + (i + 1) }, s.title)))] : [R.h("span", { class: "run" })]),
    R.h("button", { type: "button", class: "help", "aria-label": "keys", onclick: help }, "?"),
    R.lost ? R.h("p", { class: "lost", role: "alert" }, R.gone(run)) : R.trouble ? R.h("p", { class: "lost", role: "alert" }, "What is new cannot be read: " + R.trouble + ". It is tried again.") : null));
}

// told says what has become of the server, on the screen that stands.
function told() {
  const at = R.parse(), run = at.id ? R.runs.get(at.id) : null, screen = R.screens.find((s) => s.name === at.screen) || R.screens[0];
  if (screen.update) R.show();
  else frame(screen, run);
}

// Keys of every screen; those of the screen that is shown come on top.
const keys = { r: ["runs", () => R.go("runs")], "/": ["search", () => { const s = document.getElementById("search"); if (s) s.focus(); }], "?": ["this list", () => help()], j: ["next in the list", () => R.step(1)], k: ["previous in the list", () => R.step(-1)] };
R.screens.filter((s) => !s.all).forEach((s, i) => { keys[i + 1] = [s.title, () => { const at = R.parse(), id = at.id || [...R.runs.keys()][0]; if (id) R.go(s.name, id); }]; });

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) { if (e.key === "Escape") e.target.blur(); return; }
  const screen = R.screens.find((s) => s.name === R.parse().screen);
  const key = (screen && screen.keys && screen.keys[e.key]) || keys[e.key];
  if (!key || document.querySelector("dialog[open]")) return;
  e.preventDefault();
  key[1]();
});

function help() {
  const screen = R.screens.find((s) => s.name === R.parse().screen);
  const list = Object.entries({ ...keys, ...((screen && screen.keys) || {}) });
  const dialog = R.h("dialog", { "aria-label": "Keys" }, R.h("h2", {}, "Keys"), R.h("dl", { class: "keys" }, list.map(([k, [what]]) => R.h("div", {}, R.h("dt", {}, R.h("kbd", {}, k)), R.h("dd", {}, what)))), R.h("button", { type: "button", onclick: () => dialog.close() }, "close"));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); main.focus(); });
addEventListener("hashchange", R.show);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => R.show());

// News waits while someone types or presses: a screen that is drawn anew would take the
// field or the button from under their hands.
let pressed = false, late = false;
function busy() {
  const e = document.activeElement;
  return pressed || (main.contains(e) && /^(INPUT|TEXTAREA)$/.test(e.tagName) && e.value !== e.defaultValue);
}
function news() {
  late = busy();
  return late ? null : R.show();
}
const calm = () => setTimeout(() => { if (late) news(); }); // after the click, which comes next
addEventListener("pointerdown", () => { pressed = true; });
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { pressed = false; calm(); });
main.addEventListener("focusout", calm);

R.start((ids) => { const id = R.parse().id; return !id || ids.includes(id) ? news() : null; }, told).then(() => {
  if (!location.hash && R.runs.size === 1) R.go("now", [...R.runs.keys()][0]);
  R.show();
}).catch((e) => { main.replaceChildren(R.h("p", { class: "alert", role: "alert" }, "The runs cannot be read: " + e.message)); });
