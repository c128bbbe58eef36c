"use strict";
// One selection (pair, size, interface, directions, numbers) drives the map, the ranked ways and the curve, and is
// kept in the address. Order and verdicts come with the data: nothing is compared here.
(function () {
  const source = document.getElementById("explorer");
  if (!source) return;
  const data = /** @type {ExplorerData} */ (JSON.parse(source.textContent || "")), cells = data.cells;
  const parts = window.byteways.parts, { make, heading } = parts, { all } = window.byteways;
  /** @template {keyof ExplorerElements} Id @param {Id} id */
  const at = (id) => /** @type {ExplorerElements[Id]} */ (document.getElementById("explore-" + id));
  const SWITCHES = /** @type {const} */ (["both", "warm", "share", "access"]);
  const SHOWN = 8, CURVES = 4, WIDE = 10, SHORT = 17; // ways listed and drawn at first; ratio of rates from which on the scale is logarithmic; letters that need no second row
  /** @type {PairSelection} */
  const initial = { pair: source.dataset.pair || "", size: Number(source.dataset.size), way: -1, access: "", both: 0, warm: 0, share: 0, all: 0 };
  const state = Object.assign({}, initial);
  const orders = new Map(data.order.map((entry) => [entry.slice(0, 4).join(), entry]));
  /** @type {Map<string, number>} */
  const byPlace = new Map();
  for (let n = 0; n < cells.from.length; n++) {
    const key = [cells.from[n], cells.to[n], cells.size[n], cells.mode[n], cells.way[n]].join();
    if (!byPlace.has(key)) byPlace.set(key, n);
  }

  // A choice is one way, or after those any way of one interface, if it has several.
  const interfaceOf = data.interfaces, interfaces = Array.from(new Set(interfaceOf));
  const several = (/** @type {string} */ name) => interfaceOf.indexOf(name) !== interfaceOf.lastIndexOf(name);
  const choices = data.ways.map((way) => (several(way) ? way + ", without settings" : way)).concat(interfaces.map((name) => (several(name) ? name : "")));
  const chosen = (/** @type {number} */ n) => cells.way[n] === state.way || interfaceOf[cells.way[n]] === interfaces[state.way - data.ways.length];

  const mode = () => state.both + 2 * state.warm; // as in report/explore.py

  // The address: #pair=gpu0>gpu1&size=1 GiB&interface=copy issued by the source&both=1&warm=1&share=1
  function restore() {
    const told = new URLSearchParams(location.hash.slice(1));
    const ends = (told.get("pair") || "").split(">");
    if (ends.length !== 2 || !ends.every((end) => data.devices.includes(end))) return false;
    state.pair = ends.join(">");
    const size = data.sizeNames.indexOf(told.get("size") ?? "");
    state.size = size < 0 ? initial.size : size;
    state.way = choices.indexOf(told.get("interface") || "?");
    state.access = ["read", "write"].find((one) => one === told.get("access")) ?? "";
    state.both = told.get("both") === "1" && cells.mode.some((one) => one & 1) ? 1 : 0;
    state.warm = told.get("warm") === "1" && cells.mode.some((one) => one & 2) ? 1 : 0;
    state.share = told.get("share") === "1" ? 1 : 0;
    return true;
  }
  function keep() {
    const told = new URLSearchParams({ pair: state.pair, size: data.sizeNames[state.size] });
    if (state.way >= 0) told.set("interface", choices[state.way]);
    if (state.access) told.set("access", state.access);
    if (state.both) told.set("both", "1");
    if (state.warm) told.set("warm", "1");
    if (state.share) told.set("share", "1");
    history.replaceState(null, "", "#" + told);
  }

  /** @param {number} from @param {number} to @param {number} size */
  function entryOf(from, to, size) {
    const found = orders.get([from, to, size, mode()].join());
    return found || (state.both ? orders.get([to, from, size, mode()].join()) : undefined);
  }
  // Reads and writes only, where asked for.
  const wanted = (/** @type {number} */ n) => !state.access || data.words[cells.access[n]] === state.access;
  /** @param {number} from @param {number} to */
  function cellOf(from, to) {
    // Without an interface, the one that stands for the pair: of all ways, of reads, or of writes.
    if (state.way < 0) { const entry = entryOf(from, to, state.size); return (entry && entry[6][["", "read", "write"].indexOf(state.access)]) ?? undefined; }
    if (state.way >= data.ways.length) return entryOf(from, to, state.size)?.[4].find(chosen);
    const key = (/** @type {number} */ a, /** @type {number} */ b) => [a, b, state.size, mode(), state.way].join();
    const found = byPlace.get(key(from, to));
    return found === undefined && state.both ? byPlace.get(key(to, from)) : found;
  }
  const share = (/** @type {number} */ n) => cells.share[n]?.toFixed(1) ?? "–";
  const shown = (/** @type {number} */ n) => (state.share ? share(n) : cells.text[n]);
  const value = (/** @type {number} */ n) => (state.share ? cells.share[n] : cells.rate[n]);
  function drawMap() {
    /** @type {number[]} */
    const across = [];
    for (const from of data.devices.keys()) for (const to of data.devices.keys()) {
      const n = cellOf(from, to), own = n === undefined ? null : value(n);
      if (from !== to && own !== null) across.push(own);
    }
    // Shares have one scale for all machines; rates that differ much a logarithmic one, or slow links would look alike.
    const top = state.share ? 100 : Math.max(...across, 0) || 1, least = Math.min(...across), logs = !state.share && top > WIDE * least && least > 0;
    const shade = (/** @type {number} */ own) => (logs ? 12 + 88 * Math.log(own / least) / Math.log(top / least) : 100 * own / top);
    parts.drawMap(at("map"), data.devices, state.pair, state.share ? "% of peak" : "GB/s", (from, to) => {
      const n = cellOf(from, to);
      if (n === undefined) { // the pair may have other sizes, reads or interfaces
        if (sizeFor(from, to) === undefined) return null;
        const other = make("button", "·", "other");
        other.setAttribute("aria-label", data.devices[from] + " to " + data.devices[to] + ": not with these settings");
        return other;
      }
      const button = make("button", shown(n)), own = value(n);
      button.setAttribute("aria-label", data.devices[from] + " to " + data.devices[to] + ": " + shown(n) + (state.share ? " % of peak" : " GB/s"));
      if (from !== to && own !== null) button.style.setProperty("--v", Math.min(100, shade(own)).toFixed(0));
      return button;
    });
    const [from, to] = at("scale").querySelectorAll(".from, .to");
    from.textContent = logs ? String(Number(least.toPrecision(3))) : "0";
    to.textContent = (state.share ? "100 % of peak" : Number(top.toPrecision(3)) + " GB/s") + (logs ? ", logarithmic" : "") + "; within one device: not shaded";
  }

  // How a way compares; most that are alike say so by a sign, which the note below explains.
  /** @param {number} word */
  function verdict(word) {
    const told = data.words[word];
    if (word !== data.alike) return make("td", told, told.length > SHORT ? "words" : "");
    const cell = make("td"), sign = make("span", "≈");
    sign.setAttribute("aria-hidden", "true");
    cell.append(sign, make("span", told, "unseen"));
    return cell;
  }
  // The size of the selection, or the nearest one that the pair has.
  /** @param {number} from @param {number} to */
  function sizeFor(from, to) {
    if (entryOf(from, to, state.size)) return state.size;
    const sizes = Array.from(data.sizes.keys()).filter((size) => entryOf(from, to, size));
    return sizes.sort((a, b) => Math.abs(a - state.size) - Math.abs(b - state.size))[0];
  }
  function drawWays() {
    const [name, other] = state.pair.split(">"), from = data.devices.indexOf(name), to = data.devices.indexOf(other);
    const size = sizeFor(from, to), table = at("ways"), entry = size === undefined ? undefined : entryOf(from, to, size);
    const wires = data.classes[state.pair] || data.classes[other + ">" + name] || "";
    if (size === undefined || !entry) {
      at("title").textContent = name + " > " + other + ": no result" + (state.both ? " in both directions at once" : "");
      table.replaceChildren();
      drawCurve(from, to, []);
      return;
    }
    at("title").textContent = name + (state.both ? " and " : " > ") + other + " at " + data.sizeNames[size] + (wires ? ", " + wires : "") +
      (size === state.size ? "" : " (the nearest size)") + (state.both ? ", sum of both directions" : "") + (state.warm ? ", warm caches" : "");
    const head = make("tr"), body = make("tbody"), first = make("thead");
    [["Interface", ""], ["GB/s", "number"], ["Interval", "number"], ["% of peak", "number"], ["vs fastest", ""], ["Engine", ""]].forEach(([text, name]) => heading(head, text, "col", name));
    first.append(head);
    const listed = entry[4].map((n, place) => ({ n, place })).filter(({ n }) => wanted(n)), more = state.all ? 0 : Math.max(0, listed.length - SHOWN);
    listed.slice(0, listed.length - more).forEach(({ n, place }) => {
      const row = make("tr");
      heading(row, data.ways[cells.way[n]], "row");
      row.append(make("td", cells.text[n], "number"), make("td", cells.low[n] + "–" + cells.high[n], "number"),
        make("td", share(n), "number"), verdict(entry[5][place]));
      const warned = data.words[cells.warnings[n]];
      row.append(make("td", data.words[cells.engine[n]] + (warned ? " ⚠ " + warned : "")));
      if (chosen(n)) row.className = "chosen";
      body.append(row);
    });
    const last = make("tr"), cell = make("td"), link = make("button", "All records of this pair and size", "link");
    link.type = "button";
    if (more) {
      const rest = make("button", more + " more methods", "link more-ways");
      rest.type = "button";
      rest.addEventListener("click", () => { state.all = 1; drawWays(); });
      cell.append(rest, " ");
    }
    link.addEventListener("click", () => window.byteways.records.show({ size_bytes: String(data.sizes[size]) }, name + ">" + other));
    cell.colSpan = 6;
    cell.append(link);
    last.append(cell);
    body.append(last);
    table.replaceChildren(first, body);
    drawCurve(from, to, listed.map(({ n }) => cells.way[n]));
  }

  /** @param {number} from @param {number} to @param {number} way */
  function series(from, to, way) {
    const key = (/** @type {number} */ size, /** @type {number} */ a, /** @type {number} */ b) => byPlace.get([a, b, size, mode(), way].join());
    return Array.from(data.sizes.keys()).flatMap((size) => key(size, from, to) ?? (state.both ? key(size, to, from) : undefined) ?? []);
  }
  /** @param {number} from @param {number} to @param {number[]} ways */
  function drawCurve(from, to, ways) {
    const drawn = ways.map((way) => ({ label: data.ways[way], points: series(from, to, way) })).filter(({ points }) => points.length > 1).slice(0, CURVES);
    at("curve").hidden = drawn.length === 0;
    if (at("curve").hidden) return;
    window.byteways.place(at("curve"), {
      title: "", x: { label: "size of the transfer", scale: "log", unit: "bytes" }, y: { label: "GB/s", scale: "log" },
      series: drawn.map(({ label, points }) => ({ label, points: points.map((n) => ({ x: data.sizes[cells.size[n]], y: cells.rate[n], low: cells.low[n], high: cells.high[n] })) })),
    });
  }

  // The picture of the node shows the links of the pair, and selects one.
  function light() {
    const [name, other] = state.pair.split(">");
    const links = data.links[state.pair] || data.links[other + ">" + name] || [];
    parts.strokes.forEach((stroke) => stroke.classList.toggle("selected", links.includes(stroke.dataset.link || "")));
  }
  /** @param {string} link */
  function pairOf(link) {
    const ends = link.split(" – "), pairs = Object.keys(data.links);
    const whole = pairs.filter((pair) => data.links[pair].length === 1 && data.links[pair][0] === link);
    const over = pairs.filter((pair) => data.links[pair].includes(link));
    return whole.find((pair) => pair === ends.join(">")) || whole[0] || over.find((pair) => pair.startsWith(ends[0] + ">")) || over[0];
  }
  function drawAll() {
    at("way").value = state.way < 0 ? "" : String(state.way);
    at("size").value = String(state.size);
    SWITCHES.forEach((name) => all("#explore [data-" + name + "]").forEach((button) => {
      button.setAttribute("aria-pressed", String(button.dataset[name] === String(state[name])));
    }));
    drawMap();
    light();
    drawWays();
  }
  // Directions and cache states need not be measured at the same sizes: the present size unless others have twice
  // as many pairs, else the nearest of those with most.
  function sizeOfMode() {
    /** @type {Map<number, number>} */
    const pairs = new Map();
    data.order.forEach((entry) => { if (entry[3] === mode()) pairs.set(entry[2], (pairs.get(entry[2]) || 0) + 1); });
    const most = Math.max(0, ...pairs.values());
    if (2 * (pairs.get(state.size) || 0) >= most) return state.size;
    const sizes = Array.from(pairs.keys()).filter((size) => pairs.get(size) === most);
    return sizes.sort((a, b) => Math.abs(a - state.size) - Math.abs(b - state.size))[0];
  }
  /** @param {Partial<PairSelection>} change */
  function select(change) {
    Object.assign(state, { all: 0 }, change);
    if ("both" in change || "warm" in change) state.size = sizeOfMode();
    keep();
    drawAll();
  }
  at("way").addEventListener("change", () => select({ way: at("way").value === "" ? -1 : Number(at("way").value), access: "" }));
  at("size").addEventListener("change", () => select({ size: Number(at("size").value) }));
  all("#explore [data-both]").forEach((b) => b.addEventListener("click", () => select({ both: Number(b.dataset.both) })));
  all("#explore [data-warm]").forEach((b) => b.addEventListener("click", () => select({ warm: Number(b.dataset.warm) })));
  all("#explore [data-access]").forEach((b) => b.addEventListener("click", () => select({ access: b.dataset.access, way: -1 })));
  all("#explore [data-share]").forEach((b) => b.addEventListener("click", () => select({ share: Number(b.dataset.share) })));
  parts.onMap(at("map"), (pair) => select({ pair }));
  parts.onLinks(pairOf, (pair) => select({ pair }));
  // A link to a selection, as findings have, shows it; it may be the present one already.
  function answer() {
    if (!restore()) return false;
    drawAll();
    document.getElementById("explore")?.scrollIntoView();
    return true;
  }
  window.addEventListener("hashchange", answer);
  document.addEventListener("click", (event) => {
    const link = window.byteways.within(event, "a[href^='#pair=']");
    if (link instanceof HTMLAnchorElement && link.hash === location.hash) answer();
  });
  if (!answer()) drawAll();
  window.byteways.select = select;
  window.byteways.state = state;
})();
