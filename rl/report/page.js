// One cursor over all charts: the step under the pointer, its values in the captions.
(function () {
  "use strict";
  var any = document.querySelector("svg[data-cursor]");
  if (!any) return;
  function make(name, className) {
    var e = document.createElementNS(any.namespaceURI, name);
    e.setAttribute("class", className);
    e.style.display = "none";
    e.style.pointerEvents = "none";
    return e;
  }
  function nearest(points, key, value) { // points ascend in step (0) and x (1)
    var lo = 0, hi = points.length - 1;
    while (lo < hi) {
      var mid = (lo + hi) >> 1;
      if (points[mid][key] < value) lo = mid + 1; else hi = mid;
    }
    if (lo > 0 && value - points[lo - 1][key] < points[lo][key] - value) lo--;
    return points[lo];
  }
  var charts = Array.prototype.map.call(document.querySelectorAll("svg[data-cursor]"), function (svg) {
    var c = JSON.parse(svg.getAttribute("data-cursor"));
    c.svg = svg;
    c.output = svg.closest("figure").querySelector("output");
    c.unit = c.output.textContent;
    c.first = Math.min.apply(null, c.lines.map(function (l) { return l.points[0][0]; }));
    c.last = Math.max.apply(null, c.lines.map(function (l) { return l.points[l.points.length - 1][0]; }));
    c.rule = svg.appendChild(make("path", "cursor"));
    c.lines.forEach(function (l) {
      l.dot = svg.appendChild(make("circle", "dot " + l.class));
      l.dot.setAttribute("r", 4);
    });
    var title = svg.querySelector("title"); // the cursor says more than the browser's tooltip
    if (title) title.remove();
    return c;
  });
  function best(c, key, value) { // the nearest point of any line
    return c.lines.map(function (l) { return nearest(l.points, key, value); }).reduce(function (a, b) {
      return Math.abs(b[key] - value) < Math.abs(a[key] - value) ? b : a;
    });
  }
  function clear(c) {
    c.rule.style.display = "none";
    c.lines.forEach(function (l) { l.dot.style.display = "none"; });
    c.output.textContent = c.unit;
  }
  function show(c, at) {
    c.rule.setAttribute("d", "M" + at[1] + " " + c.top + "V" + c.bottom);
    c.rule.style.display = "";
    var stage = c.stages.filter(function (s) { return s.after < at[0]; }).pop() || c.stages[0];
    c.output.textContent = (stage.name + ", step ").replace(/^, /, "") + (at[0] - stage.after).toLocaleString("en") + "  ";
    c.lines.forEach(function (l) {
      var p = nearest(l.points, 0, at[0]);
      l.dot.style.display = p[0] === at[0] ? "" : "none";
      if (p[0] !== at[0]) return;
      l.dot.setAttribute("cx", p[1]);
      l.dot.setAttribute("cy", p[2]);
      var b = document.createElement("b");
      b.className = l.class;
      b.textContent = (l.name ? " " + l.name : "") + " " + p[3];
      c.output.appendChild(b);
    });
  }
  charts.forEach(function (c) {
    c.svg.addEventListener("pointermove", function (e) {
      var m = c.svg.getScreenCTM();
      if (!m) return;
      var at = best(c, 1, (e.clientX - m.e) / m.a);
      charts.forEach(function (o) {
        if (o === c) show(o, at);
        else if (at[0] < o.first || at[0] > o.last) clear(o);
        else show(o, best(o, 0, at[0]));
      });
    });
    c.svg.addEventListener("pointerleave", function () { charts.forEach(clear); });
  });
})();
