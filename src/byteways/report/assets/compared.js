"use strict";
// One selection (pair, interface, size, directions) drives the map of changes and the cases of the pair. Every
// comparison comes with the data, the largest changes first: nothing is compared here.
(function () {
  const source = document.getElementById("compared");
  if (!source) return;
  const data = /** @type {ComparedData} */ (JSON.parse(source.textContent || "")), cells = data.cells;
  const parts = window.byteways.parts, { make, heading } = parts;
  const SHOWN = 8, CURVES = 3, LEAST_REACH = 1.3; // cases and curves; least reach of the axis of speeds
  /** @template {keyof ComparedElements} Id @param {Id} id */
  const at = (id) => /** @type {ComparedElements[Id]} */ (document.getElementById("map-" + id));
  const state = { pair: data.pair, way: -1, size: data.size, both: 0 };
  const all = Array.from(cells.from.keys());
  const sign = (/** @type {number} */ n) => (cells.undecided[n] ? "?" : "=");
  const alike = (/** @type {number} */ n) => (cells.undecided[n] ? "not decided" : "no significant difference");
  const minus = (/** @type {string} */ text) => text.replace(/-/g, "−");

  // The address: #pair=gpu0>gpu1&size=1 GiB&interface=copy issued by the source&both=1
  function restore() {
    const told = new URLSearchParams(location.hash.slice(1)), ends = (told.get("pair") || "").split(">");
    if (ends.length !== 2 || !ends.every((end) => data.devices.includes(end))) return false;
    state.pair = ends.join(">");
    state.size = data.sizes.indexOf(told.get("size") ?? "");
    state.way = data.ways.indexOf(told.get("interface") ?? "");
    state.both = told.get("both") === "1" && cells.both.includes(1) ? 1 : 0;
    return true;
  }
  function keep() {
    const told = new URLSearchParams({ pair: state.pair });
    if (state.size >= 0) told.set("size", data.sizes[state.size]);
    if (state.way >= 0) told.set("interface", data.ways[state.way]);
    if (state.both) told.set("both", "1");
    history.replaceState(null, "", "#" + told);
  }
  /** @param {number} n @param {number} from @param {number} to */
  const isBetween = (n, from, to) => (cells.from[n] === from && cells.to[n] === to) ||
    (state.both === 1 && cells.from[n] === to && cells.to[n] === from);
  const fits = (/** @type {number} */ n) => cells.both[n] === state.both && (state.way < 0 || cells.way[n] === state.way) && (state.size < 0 || cells.size[n] === state.size);

  function drawMap() {
    const first = new Map();
    for (const n of all) {
      if (!fits(n)) continue;
      for (const key of state.both ? [cells.from[n] + "," + cells.to[n], cells.to[n] + "," + cells.from[n]] : [cells.from[n] + "," + cells.to[n]]) {
        if (!first.has(key)) first.set(key, n);
      }
    }
    parts.drawMap(at("table"), data.devices, state.pair, "Change of speed in percent", (from, to) => {
      const n = first.get(from + "," + to);
      if (n === undefined) return null;
      const button = make("button", cells.differ[n] ? minus(cells.change[n]) : sign(n), cells.differ[n] ? (cells.speed[n] < 1 ? "slower" : "faster") : "same");
      button.setAttribute("aria-label", data.devices[from] + " to " + data.devices[to] + ": " + (cells.differ[n] ? cells.change[n] + " %" : alike(n)));
      if (cells.differ[n]) button.style.setProperty("--v", Math.min(100, 15 + 85 * Math.abs(Math.log2(cells.speed[n]))).toFixed(0));
      return button;
    });
  }

  function drawCases() {
    const [name, other] = state.pair.split(">"), from = data.devices.indexOf(name), to = data.devices.indexOf(other);
    const found = all.filter((n) => cells.both[n] === state.both && isBetween(n, from, to) && (state.way < 0 || cells.way[n] === state.way));
    const differ = found.filter((n) => cells.differ[n]).length;
    at("title").textContent = name + (state.both ? " and " : " > ") + other + ": " + differ + " of " + found.length + " cases differ" + (state.both ? ", sum of both directions" : "");
    const head = make("tr"), body = make("tbody"), top = make("thead");
    [["Interface", ""], ["Size", "number"], ["Change", "number"], ["Interval", "number"], ["First", "number"], ["Second", "number"]].forEach(([text, kind]) => heading(head, text, "col", kind));
    top.append(head);
    found.slice(0, SHOWN).forEach((n) => {
      const row = make("tr");
      heading(row, data.ways[cells.way[n]], "row");
      row.append(make("td", data.sizes[cells.size[n]], "number"), make("td", cells.differ[n] ? minus(cells.change[n]) + " %" : sign(n), "number" + (cells.differ[n] && cells.speed[n] < 1 ? " slower" : "")),
        make("td", minus(cells.interval[n]), "number"), make("td", cells.first[n], "number"), make("td", cells.second[n], "number"));
      body.append(row);
    });
    if (found.length > SHOWN) {
      const row = make("tr"), cell = make("td", found.length - SHOWN + " more: choose an interface", "note");
      cell.colSpan = 6;
      row.append(cell);
      body.append(row);
    }
    at("cases").replaceChildren(top, body);
    drawCurve(found);
  }

  // The ways of the pair that were fastest in the first run at their largest size, in both runs.
  /** @param {number[]} found */
  function drawCurve(found) {
    /** @type {Map<number, number[]>} */
    const ways = new Map();
    found.forEach((n) => ways.set(cells.way[n], (ways.get(cells.way[n]) || []).concat(n)));
    const lines = Array.from(ways.values(), (some) => some.sort((a, b) => cells.size[a] - cells.size[b]).filter((n, i) => !i || cells.size[n] !== cells.size[some[i - 1]]));
    const drawn = lines.filter((some) => some.length > 1).sort((a, b) => cells.rates[b[b.length - 1]][0] - cells.rates[a[a.length - 1]][0]).slice(0, CURVES);
    at("curve").hidden = drawn.length === 0;
    if (at("curve").hidden) return;
    // As views/curve_changes.py draws two runs.
    const text = (/** @type {number} */ n) => data.sizes[cells.size[n]] + ": " + cells.first[n] + " and " + cells.second[n] + ", " + (cells.differ[n] ? cells.change[n] + " %" : alike(n)) + " (" + cells.interval[n] + ")";
    const label = (/** @type {number[]} */ some) => data.ways[cells.way[some[0]]], speeds = drawn.flat().map((n) => cells.speed[n]).filter((speed) => speed > 0);
    const points = (/** @type {number[]} */ some, /** @type {number} */ first, open = false) => some.map((n) => ({ x: data.bytes[cells.size[n]], y: cells.rates[n][first], low: cells.rates[n][first + 1], high: cells.rates[n][first + 2], text: text(n), open }));
    window.byteways.place(at("curve"), {
      title: "", x: { label: "size of the transfer", scale: "log", unit: "bytes" }, y: { label: "GB/s", scale: "log" },
      series: drawn.flatMap((some, colour) => [
        { label: label(some), points: points(some, 0), colour, dash: "solid" }, { label: "second run", points: points(some, 3, true), colour, dash: "dashed", group: label(some) }]),
      below: [{
        y: { label: "speed", scale: "log", reach: Math.max(LEAST_REACH, ...speeds.map((speed) => Math.max(speed, 1 / speed))) }, levels: [{ label: "", at: 1 }],
        series: drawn.map((some, colour) => ({ label: "speed", points: some.map((n) => ({ x: data.bytes[cells.size[n]], y: cells.speed[n], text: text(n), open: !cells.differ[n] })), colour, dash: "dashed", group: label(some) })),
      }],
    });
  }

  function drawAll() {
    at("way").value = state.way < 0 ? "" : String(state.way);
    at("size").value = state.size < 0 ? "" : String(state.size);
    window.byteways.all("#map [data-both]").forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.both) === state.both)));
    drawMap();
    drawCases();
  }
  /** @param {Partial<typeof state>} change */
  function select(change) {
    Object.assign(state, change);
    keep();
    drawAll();
  }
  const chosen = (/** @type {HTMLSelectElement} */ list) => (list.value === "" ? -1 : Number(list.value));
  at("way").addEventListener("change", () => select({ way: chosen(at("way")) }));
  at("size").addEventListener("change", () => select({ size: chosen(at("size")) }));
  window.byteways.all("#map [data-both]").forEach((b) => b.addEventListener("click", () => select({ both: Number(b.dataset.both) })));
  parts.onMap(at("table"), (pair) => select({ pair }));
  parts.onLinks((link) => data.links[link], (pair) => select({ pair })); // a pair whose transfers cross the link
  window.addEventListener("hashchange", () => { if (restore()) drawAll(); });
  const asked = restore();
  drawAll();
  if (asked) document.getElementById("map")?.scrollIntoView();
})();
