"use strict";
// Draws every chart of the page as SVG from its data (questions/display/chart.py): lines with bands, points, bars and
// cells. A name hides and shows its series, a rectangle drawn with the pointer zooms.
(function () {
  const { written, ticksOf, scaleOf, rangeOf } = window.byteways.axes;
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const PAD = 8, LEGEND_ROW = 18, NAME_ROW = 15, TEXT_ROW = 14; // pixels: between the plot's edge and the first mark; of rows of text
  const LABEL = 54, RULE = 30; // pixels between the ticks of x, and of y
  const NARROW = 620, PAPER = { small: 470, wide: 720 }; // least pixels of a chart with named rows; on paper
  const MOST_DIRECT = 4, MOST_LETTERS = 28; // lines named at their ends, letters of such a name
  const DASHES = ["none", "7 4", "2 3", "8 3 2 3", "12 4", "12 3 2 3"];
  /** @type {Record<string, string>} */
  const DASH = { solid: "none", dashed: "7 4", dotted: "2 3" };
  /** @type {Record<string, string>} */
  const SHAPES = {
    circle: "M-3.5,0a3.5,3.5 0 1,0 7,0a3.5,3.5 0 1,0 -7,0z", square: "M-3.2,-3.2h6.4v6.4h-6.4z", diamond: "M0,-4.6l4.6,4.6l-4.6,4.6l-4.6,-4.6z",
    cross: "M-1.3,-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z", "triangle-up": "M0,-4.4l4.2,7.6h-8.4z",
    x: "M-4,-2.4l1.6,-1.6l2.4,2.4l2.4,-2.4l1.6,1.6l-2.4,2.4l2.4,2.4l-1.6,1.6l-2.4,-2.4l-2.4,2.4l-1.6,-1.6l2.4,-2.4z",
    star: "M0,-5l1.3,3.5l3.7,.1l-2.9,2.3l1,3.6l-3.1,-2.1l-3.1,2.1l1,-3.6l-2.9,-2.3l3.7,-.1z", "triangle-down": "M0,4.4l4.2,-7.6h-8.4z",
    tick: "M-1.5,-9h3v18h-3z",
  };
  const SYMBOLS = Object.keys(SHAPES).slice(0, 8);
  /** @type {WeakMap<HTMLElement, View>} */
  const views = new WeakMap();
  let serial = 0; // of what a chart refers to by name

  /** @param {Element} parent @param {string} name @param {Attributes} attributes @param {string} [text] */
  function add(parent, name, attributes, text) {
    const made = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, name));
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, typeof value === "number" ? String(Math.round(10 * value) / 10) : value));
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  }
  const pen = document.createElement("canvas").getContext("2d");
  if (pen) pen.font = "12px " + getComputedStyle(document.body).fontFamily; // as page.css writes them
  const widthOf = (/** @type {string} */ text) => pen?.measureText(text).width ?? 0;
  const widest = (/** @type {string[]} */ texts) => Math.max(0, ...texts.map(widthOf));

  // Names.

  // As much of a name as has room, both its ends: a setting stands at the end. The tips of the marks have all of it.
  /** @param {string} name @param {number} room @param {number} most */
  function fitting(name, room, most) {
    const letters = Array.from(name);
    for (let count = Math.min(most, letters.length); count > 6; count--) {
      const start = Math.floor(count / 3);
      const text = letters.length > count ? letters.slice(0, start).join("") + "…" + letters.slice(start + 1 - count).join("") : name;
      if (widthOf(text) <= room) return text;
    }
    return letters.slice(0, 6).join("");
  }
  /** @param {string} text @param {number} room */
  function wrapped(text, room) {
    /** @type {string[]} */
    const lines = [];
    text.split(/(?<=[ -])/).forEach((word) => {
      const longer = lines.length ? lines[lines.length - 1] + word : "";
      if (longer && widthOf(longer.trimEnd()) <= room) lines[lines.length - 1] = longer; else lines.push(word);
    });
    return lines.map((line) => line.trimEnd());
  }
  // Lines of text around a place.
  /** @param {Element} parent @param {string[]} lines @param {number} x @param {number} y @param {Attributes} look */
  function lines(parent, lines, x, y, look) {
    lines.forEach((line, n) => add(parent, "text", { x, y: y + 4 + TEXT_ROW * (n - (lines.length - 1) / 2), ...look }, line));
  }
  // Moves names at the ends of their lines so far that they do not overlap, within the plot.
  /** @param {{y: number}[]} names @param {number} top @param {number} bottom */
  function spread(names, top, bottom) {
    names.sort((a, b) => b.y - a.y);
    let floor = bottom;
    names.forEach((one) => { one.y = Math.min(one.y, floor); floor = one.y - NAME_ROW; });
    const over = Math.max(0, top - floor - NAME_ROW);
    names.forEach((one) => { one.y += over; });
  }

  // Series.

  /** @param {Series} series @param {number} index */
  const tone = (series, index) => { const colour = series.colour ?? index; return colour === -2 ? "--ink" : colour < 0 ? "--soft" : "--c" + (colour % 8); };
  /** @param {Series} series @param {number} index */
  const symbolOf = (series, index) => series.symbol || SYMBOLS[Math.max(0, series.colour ?? index) % SYMBOLS.length];
  /** @param {Series} series @param {number} index */
  const dashOf = (series, index) => (series.dash ? DASH[series.dash] : DASHES[Math.max(0, series.colour ?? index) % DASHES.length]);
  const isHidden = (/** @type {Series} */ series, /** @type {Set<string>} */ hidden) => hidden.has(series.group || series.label) || hidden.has(series.label);
  /** @param {[number, number][]} points */
  const path = (points) => "M" + points.map(([x, y]) => x.toFixed(1) + "," + y.toFixed(1)).join("L");
  /** @param {Element} parent @param {string} symbol @param {number} x @param {number} y @param {boolean} [open] */
  const mark = (parent, symbol, x, y, open) => add(parent, "path", { class: "mark" + (open ? " open" : ""), d: SHAPES[symbol], transform: "translate(" + x.toFixed(1) + " " + y.toFixed(1) + ")" });
  // The text of a mark; by default what it shows.
  /** @param {Series} series @param {Point} point @param {Axis} x @param {Axis} y */
  function tipOf(series, point, x, y) {
    const value = (/** @type {number} */ one) => written(one, y.unit), { low, high } = point, name = series.group || series.label;
    const text = point.text || written(point.x, x.unit) + (x.unit === "bytes" || x.unit === "ns" ? "" : " " + x.label) + ": " + value(point.y) + (y.unit === "ns" ? "" : " " + y.label) + (low === undefined || high === undefined || low === high ? "" : " (" + value(low) + "–" + value(high) + ")");
    return name && (!series.kind || series.kind === "points") ? name + "\n" + text : text;
  }
  /** @param {Element} parent @param {Series} series @param {number} index @param {Frame} frame @param {Axis} x @param {Axis} y */
  function drawSeries(parent, series, index, { across, up, flat, clip }, x, y) {
    const group = add(parent, "g", { style: "--tone:var(" + tone(series, index) + ")", "clip-path": clip }), symbol = symbolOf(series, index), { points } = series;
    const values = flat ? across : up;
    const whisker = (/** @type {Point} */ { low, high }, /** @type {number} */ px, /** @type {number} */ py) => {
      if (low === undefined || high === undefined || low === high) return;
      const [a, b] = [values.at(low), values.at(high)];
      add(group, "path", { class: "whisker", d: flat ? `M${a},${py - 3}v6M${a},${py}H${b}M${b},${py - 3}v6` : `M${px - 3},${a}h6M${px},${a}V${b}M${px - 3},${b}h6` });
    };
    if (series.kind === "cells") {
      const wide = Math.abs(across.at(1) - across.at(0)) - 3, tall = Math.abs(up.at(1) - up.at(0)) - 3;
      points.forEach((point) => {
        const [px, py] = [across.at(point.x), up.at(point.y)];
        add(group, "rect", { class: "cell", x: px - wide / 2, y: py - tall / 2, width: wide, height: tall, "data-details": point.text || "" });
        lines(group, wrapped(point.label || "", wide), px, py, { class: "inside", "text-anchor": "middle" });
      });
      return;
    }
    if (series.kind === "bars") {
      const hatched = series.dash && series.dash !== "solid", name = "hatch" + serial++, width = 0.94 * (series.width || 1);
      if (hatched) {
        const pattern = add(group, "pattern", { id: name, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
        add(pattern, "rect", { class: "bar", width: 6, height: 6 });
        add(pattern, "rect", { class: "stripe", width: 1.6, height: 6 });
      }
      const base = values.at(flat ? across.low : Math.max(up.low, y.scale === "log" ? up.low : 0)), thick = Math.abs(flat ? up.at(width) - up.at(0) : across.at(width) - across.at(0));
      points.forEach((point) => {
        const [px, py] = [across.at(point.x), up.at(point.y)];
        const box = flat ? { x: base, y: py - thick / 2, width: Math.max(0, px - base), height: thick } : { x: px - thick / 2, y: py, width: thick, height: Math.max(0, base - py) };
        add(group, "rect", { class: "bar", ...box, ...(hatched ? { style: "fill:url(#" + name + ")" } : {}), "data-details": point.text || "" });
        whisker(point, px, py);
      });
      return;
    }
    const places = points.map((point) => /** @type {[number, number]} */ ([across.at(point.x), up.at(point.y)]));
    if (series.kind !== "points" && points.length) {
      const ends = (/** @type {"low" | "high"} */ end) => points.map((point, n) => /** @type {[number, number]} */ ([places[n][0], up.at(point[end] ?? point.y)]));
      if (points.some(({ low, high }) => low !== high)) add(group, "path", { class: "band", d: path([...ends("high"), ...ends("low").reverse()]) + "Z" });
      add(group, "path", { class: "line" + (symbol === "none" ? " thin" : ""), d: path(places), "stroke-dasharray": dashOf(series, index) });
    }
    if (symbol === "none") return;
    points.forEach((point, n) => {
      const [px] = places[n], beyond = y.reach && (point.y > y.reach ? "triangle-up" : point.y < 1 / y.reach ? "triangle-down" : ""); // at the edge of a ratio's axis
      const py = beyond && y.reach ? up.at(beyond === "triangle-up" ? y.reach : 1 / y.reach) : places[n][1];
      if (series.kind === "points") whisker(point, px, py);
      mark(group, beyond || symbol, px, py, point.open);
      if (point.label && !flat) add(group, "text", { class: "label", x: px, y: py - 9, "text-anchor": "middle" }, point.label);
      add(group, "circle", { class: "reach", r: 8, cx: px, cy: py, "data-details": tipOf(series, point, x, y) });
    });
  }
  // Texts at the ends of bars, and of points in rows, beyond all that is drawn in the row.
  /** @param {Element} parent @param {Series[]} shown @param {Frame} frame */
  function drawEnds(parent, shown, { across, up, flat }) {
    const ends = new Map();
    const all = shown.filter((series) => series.kind === "bars" || (flat && series.kind === "points")).flatMap((series) => series.points);
    all.forEach((point) => {
      const place = flat ? point.y : point.x, end = Math.max(point.high ?? -Infinity, flat ? point.x : point.y), found = ends.get(place);
      ends.set(place, { end: Math.max(end, found?.end ?? -Infinity), text: found?.text || point.label });
    });
    ends.forEach(({ end, text }, place) => {
      if (text && flat) add(parent, "text", { class: "end", x: across.at(end) + 8, y: up.at(place) + 4 }, text);
      else if (text) add(parent, "text", { class: "end", x: across.at(place), y: up.at(end) - 5, "text-anchor": "middle" }, text);
    });
  }

  // Rows of a legend; each entry hides and shows the series of its name.
  /** @param {Element} svg @param {[Series, number][]} entries @param {View} view @param {number} left @param {number} top @param {number} room */
  function drawLegend(svg, entries, view, left, top, room) {
    let x = 0, row = 0;
    entries.forEach(([series, index]) => {
      const text = fitting(series.label, room - 40, 120), wide = 30 + widthOf(text) + 16, symbol = symbolOf(series, index);
      if (x && x + wide > room) { x = 0; row++; }
      const y = top + LEGEND_ROW * row + 9, at = left + x;
      const group = add(svg, "g", { class: "entry" + (view.hidden.has(series.label) ? " off" : ""), style: "--tone:var(" + tone(series, index) + ")", "data-series": series.label });
      if (series.kind === "bars") add(group, "rect", { class: series.dash && series.dash !== "solid" ? "bar light" : "bar", x: at + 6, y: y - 5, width: 14, height: 10 });
      else if (series.kind !== "points") add(group, "path", { class: "line", d: `M${at},${y}h26`, "stroke-dasharray": dashOf(series, index) });
      if (series.kind !== "bars" && symbol !== "none") mark(group, symbol, at + 13, y, series.points.every((point) => point.open) && series.kind === "points");
      add(group, "text", { x: at + 31, y: y + 4 }, text);
      add(group, "rect", { class: "reach", x: at, y: y - 9, width: wide - 10, height: LEGEND_ROW });
      x += wide;
    });
    return LEGEND_ROW * (row + 1);
  }

  /** @param {Chart} chart */
  const hasNames = (chart) => Boolean(chart.x.names || chart.y.names);
  // Where everything is, in a chart of some width.
  /** @param {Chart} chart @param {View} view @param {number} width @returns {Layout} */
  function layoutOf(chart, { hidden, zoom, printing }, width) {
    const panels = /** @type {Panel[]} */ ([chart, ...(chart.below || [])]), flat = Boolean(chart.y.names);
    const shown = panels.map(({ series }) => series.filter((one) => !isHidden(one, hidden)));
    const entries = chart.series.map((one, index) => /** @type {[Series, number]} */ ([one, index]))
      .filter(([one]) => one.label && !one.group && one.kind !== "cells" && !(chart.x.names || []).includes(one.label));
    const direct = entries.length <= MOST_DIRECT && !hasNames(chart) && entries.every(([one]) => !one.kind && one.points.length);
    const names = (chart.y.names || []).map((name) => wrapped(name, Math.min(220, 0.34 * width)));
    const room = direct ? Math.min(Math.max(60, widest(entries.map(([one]) => fitting(one.label, 230, MOST_LETTERS))) + 14), 0.36 * width) : 10, right = width - room;
    // From above: names of marks, the main panel, those below it.
    const xs = shown.flat().flatMap((one) => one.points).flatMap((point) => (flat ? [point.x, point.low ?? point.x, point.high ?? point.x] : [point.x]));
    const [from, to] = zoom?.x || rangeOf(chart.x, xs, flat && !chart.x.names), marks = (chart.marks || []).filter((level) => level.at >= from && level.at <= to);
    const markRows = stagger(marks, scaleOf(chart.x, [from, to], 60, right));
    const top = 12 + TEXT_ROW * (1 + Math.max(-1, ...markRows.values())) + (chart.series.some((one) => one.kind === "bars" && !flat) ? 10 : 0);
    const main = flat ? rowsOf(chart, names) : printing ? 100 : Math.min(300, Math.max(190, 0.42 * width)), panel = Math.max(64, 0.34 * main);
    const ofY = panels.map(({ y }, n) => (!n && zoom?.y ? { ...y, reach: undefined } : y));
    const ups = panels.map(({ y, levels, band }, n) => {
      const bottom = top + main + n * (panel + 22), values = shown[n].flatMap((one) => one.points).flatMap((point) => (flat ? [point.y] : [point.y, point.low ?? point.y, point.high ?? point.y]));
      const [low, high] = (!n && zoom?.y) || rangeOf(y, [...values, ...(levels || []).map((one) => one.at), ...(band || [])], true);
      return scaleOf(ofY[n], flat ? [high, low] : [low, high], bottom, n ? bottom - panel : top);
    });
    // From the left: names of rows, or ticks; the plot; texts of bars.
    const rules = panels.map(({ y }, n) => (y.names ? [] : ticksOf(ofY[n], ups[n], ofY[n].reach ? 18 : RULE, shown[n].flatMap((one) => one.points.map((point) => point.y)))));
    const left = flat ? widest(names.flat()) + 14 : 28 + widest(rules.flatMap((ticks, n) => ticks.map((value) => written(value, panels[n].y.unit))));
    const labels = flat ? 16 + widest(chart.series.flatMap((one) => (one.kind === "cells" ? [] : one.points.map((point) => point.label || "")))) : 0, edge = hasNames(chart) ? 0 : PAD;
    const across = scaleOf(chart.x, flat && chart.x.scale === "log" ? [from / 1.3, to] : [from, to], left + edge, right - edge - labels);
    return { panels, ofY, shown, flat, entries, direct, names, room, marks, markRows, ups, rules, across, xs, left, right, top, bottom: ups[ups.length - 1].from };
  }
  // Rules, ticks and titles of both axes, and the marks of x; returns where the names below the plot end.
  /** @param {Element} svg @param {Chart} chart @param {Layout} at */
  function drawAxes(svg, chart, { panels, ups, rules, names, marks, markRows, across, xs, flat, left, right, bottom }) {
    const down = (/** @type {string} */ name, /** @type {number} */ value) => ups.forEach((up) => add(svg, "path", { class: name, d: `M${across.at(value).toFixed(1)},${up.from}V${up.to}` }));
    const over = (/** @type {number} */ y) => add(svg, "path", { class: "rule", d: `M${left},${y.toFixed(1)}H${right}` });
    if (!chart.x.names) {
      ticksOf(chart.x, across, Math.max(LABEL, chart.x.unit ? 0 : widest([written(across.high)]) + 16), xs).forEach((value) => {
        down("rule", value);
        add(svg, "text", { class: "tick", x: across.at(value), y: bottom + 17, "text-anchor": "middle" }, written(value, chart.x.unit));
      });
    }
    panels.forEach(({ y, series }, n) => {
      const up = ups[n];
      if (y.names && series.every(({ kind }) => kind === "points")) y.names.forEach((_, row) => over(up.at(row)));
      rules[n].forEach((value) => { over(up.at(value)); add(svg, "text", { class: "tick", x: left - 6, y: up.at(value) + 4, "text-anchor": "end" }, written(value, y.unit)); });
      if (!y.names) add(svg, "text", { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: "translate(12 " + (up.from + up.to) / 2 + ") rotate(-90)" }, fitting(y.label || "", up.pixels + 20, 80));
    });
    names.forEach((name, n) => lines(svg, name, left - 8, ups[0].at(n), { class: "tick", "text-anchor": "end" }));
    marks.forEach((level) => {
      const half = widthOf(level.label) / 2;
      down("level", level.at);
      add(svg, "text", { class: "axis", x: Math.min(right - half, Math.max(left + half, across.at(level.at))), y: 9 + TEXT_ROW * (markRows.get(level) || 0), "text-anchor": "middle" }, level.label);
    });
    let end = bottom + (chart.x.names ? columnNames(svg, chart.x.names, across, bottom) : 20);
    if (chart.x.label) { end += 22; add(svg, "text", { class: "axis", x: (flat ? left + across.to : left + right) / 2, y: end - 4, "text-anchor": "middle" }, chart.x.label); }
    return end;
  }
  // The band, the levels and the series of a panel.
  /** @param {Element} svg @param {Chart} chart @param {Layout} at @param {number} n @param {Set<string>} hidden */
  function drawPanel(svg, chart, { panels, ofY, shown, ups, across, flat, left, right }, n, hidden) {
    const { levels, band, series } = panels[n], up = ups[n], name = "clip" + serial++, clip = "url(#" + name + ")";
    add(add(svg, "clipPath", { id: name }), "rect", { x: left, y: Math.min(up.from, up.to) - 8, width: right - left, height: up.pixels + 16 });
    if (band) add(svg, "rect", { class: "near", x: left, y: up.at(band[1]), width: right - left, height: up.at(band[0]) - up.at(band[1]) });
    (levels || []).forEach(({ at, label }) => {
      const y = up.at(at);
      add(svg, "path", { class: "level", d: `M${left},${y.toFixed(1)}H${right}`, "clip-path": clip });
      add(svg, "text", { class: "axis", x: left + 4, y: y + (y < up.to + 6 ? 13 : -4), "clip-path": clip }, label); // below a line at the top
    });
    series.forEach((one, index) => { if (!isHidden(one, hidden)) drawSeries(svg, one, index, { across, up, flat, clip }, chart.x, ofY[n]); });
    drawEnds(svg, shown[n], { across, up, flat, clip });
  }
  // Draws a chart in its place, as wide as this is.
  /** @type {ChartTools["draw"]} */
  function draw(place, chart, printing) {
    const known = views.get(place), view = known?.chart === chart ? known : /** @type {View} */ ({ chart, hidden: new Set(), zoom: null, frame: null, printing });
    views.set(place, Object.assign(view, { printing }));
    const box = place.parentElement, whole = box?.clientWidth || NARROW, scrolls = Boolean(chart.y.names) && whole < NARROW && !printing;
    place.style.width = scrolls ? NARROW + "px" : "";
    if (place.classList.contains("chart")) { if (scrolls) box?.setAttribute("tabindex", "0"); else box?.removeAttribute("tabindex"); }
    const width = printing ? (whole < NARROW ? PAPER.small : PAPER.wide) : scrolls ? NARROW : place.clientWidth || whole;
    const svg = document.createElementNS(NAMESPACE, "svg"), at = layoutOf(chart, view, width), { across, ups, left, right, top, room, entries } = at;
    svg.setAttribute("class", "lines");
    svg.setAttribute("aria-hidden", "true"); // the place has the name
    let end = drawAxes(svg, chart, at);
    at.panels.forEach((_, n) => drawPanel(svg, chart, at, n, view.hidden));
    if (at.direct) {
      const ends = entries.map(([one, index]) => ({ one, index, y: ups[0].at(one.points[one.points.length - 1].y) }));
      spread(ends, top, ups[0].from);
      ends.forEach(({ one, index, y }) => add(svg, "text", { class: "name entry" + (view.hidden.has(one.label) ? " off" : ""), style: "--tone:var(" + tone(one, index) + ")", "data-series": one.label, x: right + 6, y: y + 4 }, fitting(one.label, room - PAD, MOST_LETTERS)));
    } else if (entries.length > 1) end += 6 + drawLegend(svg, entries, view, at.flat ? 8 : left, end + 6, width - (at.flat ? 8 : left));
    if (view.zoom) add(svg, "text", { class: "reset", x: right - 4, y: top + 12, "text-anchor": "end" }, "Reset zoom");
    svg.setAttribute("viewBox", "0 0 " + width + " " + Math.ceil(end + 4));
    place.style.height = Math.ceil(end + 4) + "px";
    place.replaceChildren(svg);
    view.frame = { across, up: ups[0], left, right, top, bottom: ups[0].from, fixed: hasNames(chart) };
  }
  // Pixels of all rows: of their bars, cells or stacked marks, and of their names.
  /** @param {Chart} chart @param {string[][]} names */
  function rowsOf(chart, names) {
    const ys = [...new Set(chart.series.flatMap((one) => one.points.map((point) => Math.round(1000 * (point.y - Math.round(point.y))) / 1000)))].sort((a, b) => a - b);
    const step = Math.min(1, ...ys.slice(1).map((y, n) => y - ys[n]));
    const row = chart.series.some((one) => one.kind === "cells") ? 40 : 19 / step + 7;
    return names.length * Math.max(row, 9 + TEXT_ROW * Math.max(...names.map((lines) => lines.length)));
  }
  // The row of each mark's name: the first one where it does not overlap another.
  /** @param {ReferenceLine[]} marks @param {Scale} across */
  function stagger(marks, { at }) {
    /** @type {number[]} */
    const ends = [];
    const of = new Map();
    marks.forEach((level) => {
      const half = widthOf(level.label) / 2 + 6, found = ends.findIndex((end) => end <= at(level.at) - half), row = found < 0 ? ends.length : found;
      ends[row] = at(level.at) + half;
      of.set(level, row);
    });
    return of;
  }
  // Names of columns below the plot, upright where they have room; returns the pixels that they take.
  /** @param {Element} svg @param {string[]} names @param {Scale} across @param {number} bottom */
  function columnNames(svg, names, across, bottom) {
    const room = Math.abs(across.at(1) - across.at(0)) - 6, all = names.map((name) => wrapped(name, room));
    if (widest(all.flat()) <= room + 2) {
      const rows = Math.max(...all.map((name) => name.length));
      all.forEach((name, n) => name.forEach((line, row) => add(svg, "text", { class: "tick", x: across.at(n), y: bottom + 17 + TEXT_ROW * row, "text-anchor": "middle" }, line)));
      return 8 + TEXT_ROW * rows;
    }
    names.forEach((name, n) => add(svg, "text", { class: "tick", x: 0, y: 0, "text-anchor": "end", transform: "translate(" + (across.at(n) + 4).toFixed(1) + " " + (bottom + 15) + ") rotate(-35)" }, fitting(name, 150, 60)));
    return 16 + 0.58 * Math.min(150, widest(names));
  }

  // What the pointer does: names hide and show, or show alone by a double click; a rectangle zooms.

  /** @param {HTMLElement} place @param {Partial<View>} change */
  function change(place, change) {
    const view = views.get(place);
    if (!view) return;
    Object.assign(view, change);
    draw(place, view.chart, view.printing);
  }
  /** @type {ChartTools["toggle"]} */
  function toggle(place, label, alone) {
    const view = views.get(place);
    if (!view) return;
    const { hidden } = view, others = new Set(view.chart.series.filter((one) => !one.group && one.points.length && one.label !== label).map((one) => one.label));
    if (alone) change(place, { hidden: hidden.size === others.size && !hidden.has(label) ? new Set() : others });
    else change(place, { hidden: new Set(hidden.has(label) ? [...hidden].filter((one) => one !== label) : [...hidden, label]) });
  }
  /** @type {ChartTools["zoom"]} */
  const zoom = (place, x, y) => change(place, { zoom: x || y ? { x, y } : null });
  const placeOf = (/** @type {Event} */ event) => { const svg = window.byteways.within(event, "svg.lines"); return svg?.parentElement && views.has(svg.parentElement) ? svg.parentElement : null; };
  document.addEventListener("click", (event) => {
    const place = placeOf(event), entry = window.byteways.within(event, ".entry");
    if (place && entry && event.detail < 2) toggle(place, entry.dataset.series || "", false);
    else if (place && window.byteways.within(event, ".reset")) zoom(place);
  });
  document.addEventListener("dblclick", (event) => {
    const place = placeOf(event), entry = window.byteways.within(event, ".entry");
    if (!place) return;
    event.preventDefault();
    if (entry) { toggle(place, entry.dataset.series || "", false); toggle(place, entry.dataset.series || "", true); } else if (views.get(place)?.zoom) zoom(place);
  });
  document.addEventListener("pointerdown", (event) => {
    const place = placeOf(event), view = place && views.get(place), frame = view?.frame, svg = place?.querySelector("svg");
    if (!place || !svg || !frame || frame.fixed || event.pointerType === "touch" || event.button) return;
    const box = svg.getBoundingClientRect(), ratio = Number((svg.getAttribute("viewBox") || "").split(" ")[2]) / box.width;
    const at = (/** @type {PointerEvent} */ one) => [Math.min(frame.right, Math.max(frame.left, (one.clientX - box.left) * ratio)), Math.min(frame.bottom, Math.max(frame.top, (one.clientY - box.top) * ratio))];
    const raw = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio], [x, y] = at(event);
    if (raw[0] !== x || raw[1] !== y) return; // outside the plot
    const chosen = add(svg, "rect", { class: "chosen", x, y, width: 0, height: 0 }), controller = new AbortController(), stop = { signal: controller.signal };
    event.preventDefault();
    const move = (/** @type {PointerEvent} */ one) => {
      const [px, py] = at(one);
      Object.entries({ x: Math.min(x, px), y: Math.min(y, py), width: Math.abs(px - x), height: Math.abs(py - y) }).forEach(([name, value]) => chosen.setAttribute(name, String(value)));
    };
    const end = (/** @type {PointerEvent} */ one) => {
      controller.abort();
      chosen.remove();
      const [px, py] = at(one), sorted = (/** @type {number[]} */ ends) => ends.sort((a, b) => a - b);
      const [wide, tall] = [Math.abs(px - x) > 8, Math.abs(py - y) > 8]; // a drag along one axis zooms that one
      if (one.type === "pointerup" && (wide || tall)) zoom(place, wide ? sorted([frame.across.of(x), frame.across.of(px)]) : view?.zoom?.x, tall ? sorted([frame.up.of(y), frame.up.of(py)]) : view?.zoom?.y);
    };
    document.addEventListener("pointermove", move, stop);
    document.addEventListener("pointerup", end, stop);
    document.addEventListener("pointercancel", end, stop);
  });

  window.byteways.chart = { draw, toggle, zoom };
})();
