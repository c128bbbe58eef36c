"use strict";
// Curves of a few lines as the page's own SVG: both axes logarithmic, a band for each interval, each line named at
// its end. It is there with the first view, when no library of charts has been unpacked yet.
(function () {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const EDGE = { left: 52, top: 12, bottom: 48 }, PAD = 8; // pixels: around the plot, and between its edge and the first mark
  const LABEL = 54, BESIDE = 28, ROW = 15; // pixels of a label of the sizes, letters of a name, pixels of a row of names
  const DASHES = ["none", "7 4", "2 3", "8 3 2 3"];
  const MARKS = ["M-3,0a3,3 0 1,0 6,0a3,3 0 1,0 -6,0z", "M-2.8,-2.8h5.6v5.6h-5.6z", "M0,-4l4,4l-4,4l-4,-4z", "M-1.2,-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z"];

  /** @type {CurveTools["add"]} */
  const add = (parent, name, attributes, text) => {
    const made = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, name));
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, String(value)));
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  // Pixels of a value on a logarithmic axis from 10^low to 10^high; what lies below is drawn at its end.
  /** @type {CurveTools["scale"]} */
  const scale = (low, high, from, to) => (value) => from + (Math.max(low, Math.log10(Math.max(value, 1e-300))) - low) / (high - low || 1) * (to - from);
  /** @type {CurveTools["path"]} */
  const path = (x, y) => "M" + x.map((one, n) => one.toFixed(1) + "," + y[n].toFixed(1)).join("L");
  /** @type {CurveTools["band"]} */
  const band = (parent, x, low, high) => { add(parent, "path", { class: "band", d: path([...x, ...[...x].reverse()], [...high, ...[...low].reverse()]) + "Z" }); };
  // The marks of a line; `told` has their tips, `open` says which are not filled.
  /** @type {CurveTools["marks"]} */
  const marks = (parent, x, y, index, told, open) => {
    x.forEach((one, n) => {
      const place = "translate(" + one.toFixed(1) + " " + y[n].toFixed(1) + ")";
      add(parent, "path", { class: "mark" + (open && open(n) ? " open" : ""), d: MARKS[index % MARKS.length], transform: place });
      add(parent, "circle", { class: "reach", r: 8, transform: place, "data-details": told[n] });
    });
  };
  /** @type {CurveTools["tick"]} */
  function tick(parent, text, x, y, anchor) { add(parent, "text", { class: "tick", x: x.toFixed(1), y: y.toFixed(1), "text-anchor": anchor }, text); }
  /** @type {CurveTools["rule"]} */
  function rule(parent, name, x1, y1, x2, y2) { add(parent, "line", { class: name, x1: x1.toFixed(1), y1: y1.toFixed(1), x2: x2.toFixed(1), y2: y2.toFixed(1) }); }

  // At least three full numbers of an axis, as 1, 2 and 5 of each decade.
  /** @param {number} low @param {number} high */
  function decades(low, high) {
    const powers = Array.from({ length: Math.ceil(high) - Math.floor(low) + 1 }, (_, n) => Math.floor(low) + n);
    const ticks = (/** @type {number[]} */ digits) => powers.flatMap((power) => digits.map((digit) => Number((digit * 10 ** power).toPrecision(2)))).filter((value) => Math.log10(value) >= low && Math.log10(value) <= high);
    return [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7]].map(ticks).find((some) => some.length > 2) || ticks([1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]);
  }
  const pen = document.createElement("canvas").getContext("2d");
  if (pen) pen.font = "11.5px " + getComputedStyle(document.body).fontFamily; // as page.css writes names
  const widthOf = (/** @type {string} */ text) => pen?.measureText(text).width ?? 0;
  // As much of a name as has room beside the plot, both its ends: a setting stands at the end. The tips of the marks
  // have the whole one.
  /** @param {string} name @param {number} room */
  function fitting(name, room) {
    const letters = Array.from(name);
    for (let most = Math.min(BESIDE, letters.length); most > 6; most--) {
      const start = Math.floor(most / 3);
      const told = letters.length > most ? letters.slice(0, start).join("") + "…" + letters.slice(start + 1 - most).join("") : name;
      if (widthOf(told) <= room - PAD) return told;
    }
    return letters.slice(0, 6).join("");
  }
  // Rows of names as near to the ends of their lines as they do not overlap, within the plot.
  /** @param {{y: number}[]} names @param {number} top @param {number} bottom */
  function spread(names, top, bottom) {
    names.sort((a, b) => b.y - a.y);
    let floor = bottom;
    names.forEach((one) => { one.y = Math.min(one.y, floor); floor = one.y - ROW; });
    const over = Math.max(0, top - floor - ROW);
    names.forEach((one) => { one.y += over; });
  }
  // The sizes that have room for their labels, the last one always.
  /** @param {number[]} sizes @param {Scale} across */
  function sizesWithRoom(sizes, across) {
    /** @type {number[]} */
    const kept = [];
    sizes.forEach((_, n) => {
      const at = sizes.length - 1 - n;
      if (!kept.length || across(sizes[kept[0]]) - across(sizes[at]) >= LABEL) kept.unshift(at);
    });
    return kept;
  }

  // Draws `lines` {label, x, y, low, high} (bytes, GB/s) in `place`; with `second`, `speed`, `differ` and `told` also
  // those of a second run (two_runs.js). `sizes` and `names` are those of the whole run, `levels` {at, name} are GB/s.
  /** @type {CurveTools["draw"]} */
  function draw(place, { lines, levels = [], ...all }, { width, height }) {
    const two = lines.some((line) => line.second) ? window.byteways.second : null, tall = height + (two ? two.HEIGHT : 0);
    const svg = document.createElementNS(NAMESPACE, "svg");
    svg.setAttribute("class", "lines");
    svg.setAttribute("viewBox", "0 0 " + width + " " + tall);
    svg.setAttribute("aria-hidden", "true"); // the place has the name
    // Only the sizes of these lines: the other sizes of the run would take the room of their ticks.
    const own = all.sizes.map((_, n) => n).filter((n) => lines.some((line) => line.x.includes(all.sizes[n])));
    const sizes = own.map((n) => all.sizes[n]), names = own.map((n) => all.names[n]);
    const values = lines.flatMap((line) => [line, ...(line.second ? [line.second] : [])].flatMap((one) => [...one.low, ...one.high])).concat(levels.map((level) => level.at));
    const logs = values.filter((value) => value > 0).map(Math.log10), low = Math.min(...logs) - 0.08, high = Math.max(...logs) + 0.08;
    const room = Math.min(190, width * 0.36), right = width - room, bottom = tall - EDGE.bottom, end = two ? two.end(EDGE.top, bottom) : bottom;
    const across = scale(Math.log10(Math.min(...sizes)), Math.log10(Math.max(...sizes)), EDGE.left + PAD, right - PAD), up = scale(low, high, end, EDGE.top);

    sizesWithRoom(sizes, across).forEach((n) => {
      rule(svg, "rule", across(sizes[n]), EDGE.top, across(sizes[n]), bottom);
      tick(svg, names[n], across(sizes[n]), bottom + 17, "middle");
    });
    decades(low, high).forEach((value) => { rule(svg, "rule", EDGE.left, up(value), right, up(value)); tick(svg, String(value), EDGE.left - 6, up(value) + 4, "end"); });
    add(svg, "text", { class: "axis", x: (EDGE.left + right) / 2, y: tall - 8, "text-anchor": "middle" }, "size of the transfer");
    add(svg, "text", { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: "translate(12 " + (EDGE.top + end) / 2 + ") rotate(-90)" }, "GB/s");
    levels.forEach((level) => {
      rule(svg, "level", EDGE.left, up(level.at), right, up(level.at));
      add(svg, "text", { class: "axis", x: EDGE.left + 4, y: up(level.at) - 4, "text-anchor": "start" }, level.name);
    });
    const ends = lines.map((line, index) => {
      const group = add(svg, "g", { style: "--tone:var(--c" + index + ")" }), x = line.x.map(across), y = line.y.map(up);
      const told = line.told || line.x.map((size, n) => line.label + "\n" + names[sizes.indexOf(size)] + ": " + line.y[n] + " GB/s (" + line.low[n] + "–" + line.high[n] + ")");
      band(group, x, line.low.map(up), line.high.map(up));
      add(group, "path", { class: "line", d: path(x, y), "stroke-dasharray": two ? "none" : DASHES[index % DASHES.length] });
      marks(group, x, y, index, told);
      return { group, y: y[y.length - 1], name: line.label };
    });
    if (two) two.add(svg, /** @type {TwoRunLine[]} */ (lines), ends.map((one) => one.group), { across, up, end, bottom, left: EDGE.left, right });
    spread(ends, EDGE.top, end);
    ends.forEach((one) => add(one.group, "text", { class: "name", x: right + 6, y: (one.y + 4).toFixed(1), "text-anchor": "start" }, fitting(one.name, room)));
    place.style.height = tall + "px";
    place.replaceChildren(svg);
  }

  window.byteways.curve = { draw, scale, path, band, marks, tick, rule, add };
})();
