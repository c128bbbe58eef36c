"use strict";
// One selection (pair, interface, size, directions) drives the map of changes and the cases of the pair. Every
// comparison comes with the data, the largest changes first: nothing is compared here.
(function () {
  const source = document.getElementById("compared");
  if (!source) return;
  const data = JSON.parse(source.textContent), cells = data.cells, SHOWN = 14;
  const at = (id) => document.getElementById("map-" + id);
  const state = { pair: data.pair, way: -1, size: data.size, both: 0 };
  const all = Array.from(cells.from.keys());
  const minus = (text) => text.replace(/-/g, "−");

  // The address: #pair=gpu0>gpu1&size=1 GiB&interface=copy, write&both=1
  function restore() {
    const told = new URLSearchParams(location.hash.slice(1)), ends = (told.get("pair") || "").split(">");
    if (ends.length !== 2 || !ends.every((end) => data.devices.includes(end))) return false;
    state.pair = told.get("pair");
    state.size = data.sizes.indexOf(told.get("size"));
    state.way = data.ways.indexOf(told.get("interface"));
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
  function make(tag, text, name) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  }
  function heading(row, text, scope, name) {
    const made = make("th", text, name);
    made.scope = scope;
    row.append(made);
  }
  const isBetween = (n, from, to) => (cells.from[n] === from && cells.to[n] === to) ||
    (state.both === 1 && cells.from[n] === to && cells.to[n] === from);
  const fits = (n) => cells.both[n] === state.both && (state.way < 0 || cells.way[n] === state.way) && (state.size < 0 || cells.size[n] === state.size);

  function drawMap() {
    const table = at("table"), focused = table.contains(document.activeElement);
    const first = new Map();
    for (const n of all) {
      if (!fits(n)) continue;
      for (const key of state.both ? [cells.from[n] + "," + cells.to[n], cells.to[n] + "," + cells.from[n]] : [cells.from[n] + "," + cells.to[n]]) {
        if (!first.has(key)) first.set(key, n);
      }
    }
    const head = make("tr"), body = make("tbody"), top = make("thead");
    heading(head, "from \\ to", "col");
    data.devices.forEach((name) => heading(head, name, "col"));
    top.append(head);
    data.devices.forEach((name, from) => {
      const row = make("tr");
      heading(row, name, "row");
      data.devices.forEach((other, to) => {
        const n = first.get(from + "," + to), cell = make("td");
        row.append(cell);
        if (n === undefined) { cell.textContent = "·"; cell.className = "none"; return; }
        const slower = cells.speed[n] < 1, pair = name + ">" + other;
        const button = make("button", cells.differ[n] ? minus(cells.change[n]) : "=", cells.differ[n] ? (slower ? "slower" : "faster") : "same");
        button.type = "button";
        button.dataset.pair = pair;
        button.tabIndex = pair === state.pair ? 0 : -1;
        button.setAttribute("aria-pressed", String(pair === state.pair));
        button.setAttribute("aria-label", name + " to " + other + ": " + (cells.differ[n] ? cells.change[n] + " %" : "no significant difference"));
        if (cells.differ[n]) button.style.setProperty("--v", Math.min(100, 15 + 85 * Math.abs(Math.log2(cells.speed[n]))).toFixed(0));
        cell.append(button);
      });
      body.append(row);
    });
    if (!body.querySelector("button[tabindex='0']") && body.querySelector("button")) body.querySelector("button").tabIndex = 0;
    table.className = "map" + (data.devices.length > 10 ? " many" : "");
    table.replaceChildren(make("caption", "Change of speed in percent", "hidden"), top, body);
    if (focused) { const back = table.querySelector("button[tabindex='0']"); if (back) back.focus(); }
  }

  function drawCases() {
    const [name, other] = state.pair.split(">"), from = data.devices.indexOf(name), to = data.devices.indexOf(other);
    const found = all.filter((n) => cells.both[n] === state.both && isBetween(n, from, to) && (state.way < 0 || cells.way[n] === state.way));
    const differ = found.filter((n) => cells.differ[n]).length;
    at("title").textContent = name + (state.both ? " and " : " > ") + other + ": " + differ + " of " + found.length + " cases differ" + (state.both ? ", sum of both directions" : "");
    const head = make("tr"), body = make("tbody"), top = make("thead");
    [["Interface"], ["Size", "number"], ["Change", "number"], ["Interval", "number"], ["First", "number"], ["Second", "number"]].forEach(([text, kind]) => heading(head, text, "col", kind));
    top.append(head);
    found.slice(0, SHOWN).forEach((n) => {
      const row = make("tr");
      heading(row, data.ways[cells.way[n]], "row");
      row.append(make("td", data.sizes[cells.size[n]], "number"), make("td", cells.differ[n] ? minus(cells.change[n]) + " %" : "=", "number" + (cells.differ[n] && cells.speed[n] < 1 ? " slower" : "")),
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
  }

  function drawAll() {
    at("way").value = state.way < 0 ? "" : String(state.way);
    at("size").value = state.size < 0 ? "" : String(state.size);
    document.querySelectorAll("#map [data-both]").forEach((b) => b.setAttribute("aria-pressed", String(Number(b.dataset.both) === state.both)));
    drawMap();
    drawCases();
  }
  function select(change) {
    Object.assign(state, change);
    keep();
    drawAll();
  }
  at("way").addEventListener("change", (event) => select({ way: event.target.value === "" ? -1 : Number(event.target.value) }));
  at("size").addEventListener("change", (event) => select({ size: event.target.value === "" ? -1 : Number(event.target.value) }));
  document.querySelectorAll("#map [data-both]").forEach((b) => b.addEventListener("click", () => select({ both: Number(b.dataset.both) })));
  const pairAt = (event) => (event.target.closest ? event.target.closest("button[data-pair]") : null);
  at("table").addEventListener("click", (event) => { const cell = pairAt(event); if (cell) select({ pair: cell.dataset.pair }); });
  at("table").addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key], cell = pairAt(event);
    if (!step || !cell) return;
    event.preventDefault();
    const rows = at("table").tBodies[0].rows;
    let row = cell.closest("tr").sectionRowIndex, column = cell.closest("td").cellIndex, next = null;
    do { row += step[0]; column += step[1]; next = rows[row] && rows[row].cells[column]; } while (next && !next.querySelector("button"));
    if (next && next.querySelector("button")) { cell.tabIndex = -1; next.firstChild.tabIndex = 0; next.firstChild.focus(); }
  });

  // A link of the picture selects a pair whose transfers cross it.
  document.querySelectorAll("svg.node .link[data-link]").forEach((stroke) => {
    const pair = data.links[stroke.dataset.link];
    if (!pair) return;
    stroke.setAttribute("role", "button");
    stroke.addEventListener("click", () => select({ pair }));
    stroke.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); select({ pair }); } });
  });
  window.addEventListener("hashchange", () => { if (restore()) drawAll(); });
  const asked = restore();
  drawAll();
  if (asked) document.getElementById("map").scrollIntoView();
})();
