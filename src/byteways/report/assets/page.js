"use strict";
// Everything on the page works without this script but the charts, the toggle, the tooltips and the downloads.
(function () {
  const root = document.documentElement;
  /** @type {Byteways["all"]} */
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  /** @type {Byteways["within"]} */
  const within = (event, selector) => (event.target instanceof Element ? event.target.closest(selector) : null);

  // Theme: the system's, until the button is used. Printing is always light.
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  /** @type {string | null} */
  let chosen = null;
  const theme = () => chosen || (dark.matches ? "dark" : "light");
  /** @param {string} name */
  function show(name) {
    root.dataset.theme = name;
    const button = document.getElementById("theme");
    if (button) button.textContent = name === "dark" ? "Light" : "Dark";
    drawn.forEach(draw);
  }

  // Charts: drawn when scrolled to, and all of them before printing.
  const places = all(".chart");
  /** @type {Set<HTMLElement>} */
  const drawn = new Set();
  const NARROW = 620, PLOT = 230, LONG = 30, LABEL = 54; // pixels: a narrow chart, the height of its plot, a label of x; letters: a long label
  let printing = false;
  const colour = (/** @type {string} */ name) => getComputedStyle(root).getPropertyValue(name).trim();
  /** @param {Trace} trace */
  function paint(trace) {
    if (trace.palette) return painted(trace, trace.palette);
    const tone = colour(trace.colour === -2 ? "--ink" : trace.colour < 0 ? "--soft" : "--c" + (trace.colour % 8));
    /** @type {Partial<Trace> & {fillcolor?: string, opacity?: number}} */
    const copy = Object.assign({}, trace, trace.type === "bar" ? {} : { line: Object.assign({ color: tone }, trace.line) });
    if (trace.marker) copy.marker = Object.assign({ color: tone }, trace.marker, trace.marker.line ? { line: Object.assign({ color: tone }, trace.marker.line) } : {});
    if (trace.error_x) copy.error_x = Object.assign({ color: colour("--ink") }, trace.error_x);
    if (trace.band) { copy.fillcolor = tone; copy.opacity = 0.16; }
    delete copy.colour; delete copy.band;
    return copy;
  }
  // A map of named cells: one pale colour for each name, which stands in the cell, too.
  /** @param {Trace} trace @param {number} count */
  function painted(trace, count) {
    const part = (/** @type {string} */ text, /** @type {number} */ n) => Number.parseInt(text.slice(1 + 2 * n, 3 + 2 * n), 16), card = colour("--card");
    const pale = (/** @type {string} */ tone) => "rgb(" + [0, 1, 2].map((n) => Math.round(0.36 * part(tone, n) + 0.64 * part(card, n))).join() + ")";
    const scale = Array.from({ length: count }, (_, n) => [n, n + 1].map((end) => [end / count, pale(colour("--c" + (n % 8)))])).flat();
    /** @type {Partial<Trace>} */
    const copy = Object.assign({}, trace, { colorscale: scale, zmin: -0.5, zmax: count - 0.5, textfont: { color: colour("--ink"), size: 11 } });
    delete copy.palette;
    return copy;
  }
  // Rows of a legend whose entries stand side by side.
  /** @param {number[]} names @param {number} width */
  function packed(names, width) {
    let rows = 1, used = 0;
    names.forEach((length) => { const own = 44 + 6.2 * length; if (used && used + own > width) { rows++; used = 0; } used += own; });
    return rows;
  }
  // As many labels as have room, at even steps, the last one always.
  /** @param {Axis} own @param {number} width */
  function fewer(own, width) {
    if (!own.tickvals || !own.ticktext) return own;
    const count = own.tickvals.length, step = Math.ceil(count * LABEL / width);
    const kept = (/** @type {unknown} */ _, /** @type {number} */ index) => (count - 1 - index) % step === 0;
    return Object.assign({}, own, { tickvals: own.tickvals.filter(kept), ticktext: own.ticktext.filter(kept) });
  }
  /** @param {string} letters */
  function fromBase64(letters) {
    const text = atob(letters), bytes = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
    return bytes;
  }
  // Base 85 in the alphabet of packing.py, then gzip.
  const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=[?@^_]{|}~";
  // Much data is in base 64 instead (packing.py).
  /** @param {string} packed */
  function bytesOf(packed) {
    if (packed.startsWith("H4sI")) return fromBase64(packed);
    const codes = new Uint8Array(128);
    for (let n = 0; n < 85; n++) codes[LETTERS.charCodeAt(n)] = n;
    const rest = packed.length % 5, groups = Math.ceil(packed.length / 5);
    const bytes = new Uint8Array(groups * 4), view = new DataView(bytes.buffer), last = LETTERS.charCodeAt(84);
    for (let group = 0; group < groups; group++) {
      let word = 0;
      for (let n = group * 5; n < group * 5 + 5; n++) word = word * 85 + codes[n < packed.length ? packed.charCodeAt(n) : last];
      view.setUint32(group * 4, word);
    }
    return bytes.subarray(0, groups * 4 - (rest ? 5 - rest : 0));
  }
  /** @param {string} id */
  async function text(id) {
    const whole = bytesOf(document.getElementById(id)?.textContent?.trim() || "");
    return new Response(new Blob([whole]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }
  // Large tables, and the details of cells, travel packed: the first view needs neither. A table is placed when its
  // part is opened, the others one after another when the page has nothing else to do.
  const texts = async (/** @type {string} */ id) => (document.getElementById(id) ? JSON.parse(await text(id)) : []);
  const idle = () => new Promise((done) => (window.requestIdleCallback ? requestIdleCallback(done, { timeout: 500 }) : setTimeout(done, 20)));
  /** @template T @param {() => T} make */
  const once = (make) => {
    /** @type {T | null} */
    let made = null;
    return () => (made = made || make());
  };
  const tables = once(() => texts("later")), details = once(() => texts("tips"));
  const kept = once(() => details().then((all) => (tips = all)));
  /** @type {string[]} */
  let tips = [];
  /** @param {Element} part */
  async function fill(part) {
    const waiting = all("[data-later]").filter((place) => part.contains(place));
    if (!waiting.length) return;
    const later = await tables();
    waiting.forEach((place) => {
      if (!("later" in place.dataset)) return;
      place.innerHTML = later[Number(place.dataset.later)];
      place.removeAttribute("data-later");
    });
    if (kind === "percent") numbers(kind);
  }
  document.addEventListener("toggle", ({ target }) => { if (target instanceof HTMLDetailsElement && target.open) { fill(target); prepare(target); } }, true);
  async function fillAll() {
    await kept();
    for (const place of all("[data-later]")) {
      await idle();
      await fill(place);
    }
  }
  const filled = once(fillAll);
  const detailsOf = (/** @type {HTMLElement | SVGElement} */ cell) => cell.dataset.details ?? tips[Number(cell.dataset.tip)] ?? "";
  // The data of the charts are unpacked once, when one is needed or the page has nothing else to do. The library
  // takes a second to start: it waits until a part of the page with other charts than curves is opened or near.
  /** @type {Figure[] | null} */
  let figures = null;
  let started = false;
  const unpacked = once(async () => {
    const found = figures = /** @type {Figure[]} */ (await texts("charts"));
    places.forEach((place) => {
      const figure = found[Number(place.dataset.chart)];
      if ("lines" in figure) curves.set(place, figure);
    });
  });
  const library = once(async () => {
    const script = document.createElement("script");
    script.textContent = await text("plotly");
    await idle(); // what was clicked is shown first
    document.head.append(script);
    script.remove();
    started = true;
  });
  const ready = async () => { await unpacked(); if (places.some((place) => !curves.has(place))) await library(); };
  /** @param {Element} part */
  async function prepare(part) {
    const own = places.filter((place) => part.contains(place));
    if (own.length) await unpacked();
    if (own.some((place) => !curves.has(place))) await library();
  }
  /** @param {HTMLElement} place @returns {unknown} */
  function draw(place) {
    drawn.add(place);
    if (curves.has(place)) return drawCurve(place);
    if (!figures) return unpacked().then(() => draw(place));
    const figure = figures[Number(place.dataset.chart)];
    return started && "data" in figure ? plot(place, figure) : library().then(() => draw(place));
  }
  /** @param {HTMLElement} place @param {PlotlyFigure} figure */
  function plot(place, figure) {
    const ink = colour("--ink"), grid = colour("--faint"), soft = colour("--soft");
    const axis = (/** @type {Axis} */ own) => Object.assign(
      { gridcolor: grid, linecolor: colour("--line"), zerolinecolor: grid, tickcolor: grid, automargin: true }, own,
      { title: Object.assign({ font: { size: 13, color: soft } }, own.title) });
    // Bars keep room for their labels; a narrow screen scrolls them.
    const bars = figure.rows || 0, box = /** @type {HTMLElement} */ (place.parentElement), scrolls = bars > 0 && box.clientWidth < NARROW;
    place.style.width = scrolls ? NARROW + "px" : "";
    if (scrolls) box.tabIndex = 0; else box.removeAttribute("tabindex");
    // Beside the plot a legend needs room; without it, it stands below, and the chart grows by its rows.
    const narrow = place.clientWidth < NARROW;
    const names = figure.data.flatMap((trace) => (trace.name && trace.showlegend !== false ? trace.name.length : []));
    const named = names.length, longest = Math.max(0, ...names), below = narrow || longest > LONG || bars > 0;
    const rows = bars && named < 2 ? 0 : packed(names, place.clientWidth - 80);
    const lower = 90 * (figure.layout.panels || 0); // panels of ratios below the plot
    const top = (figure.layout.annotations || []).length ? 36 : 12; // room for names above the plot
    const tall = bars ? bars + 12 : (printing ? PLOT - 40 : narrow ? PLOT : 2 * PLOT - 140) + lower, row = narrow ? 28 : 22;
    place.style.height = top + (bars ? tall + 92 + row * rows : below ? tall + 78 + row * rows : Math.max((printing ? 244 : 380) + lower, 24 + 29 * named)) + "px";
    const layout = Object.assign({}, figure.layout, {
      height: Number.parseFloat(place.style.height),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
      margin: { l: 64, r: 16, t: top, b: below ? 92 + row * rows : 52 }, hovermode: "closest",
      hoverlabel: { bgcolor: colour("--card"), bordercolor: colour("--line"), font: { color: ink } },
      legend: below ? { orientation: "h", x: 0, y: -72 / tall, yanchor: "top", font: { size: 11 } }
        : { orientation: "v", x: 1.01, y: 1, font: { size: 12 } },
      xaxis: axis(fewer(figure.layout.xaxis, place.clientWidth - 80 - (below ? 0 : 48 + 6.7 * longest))), yaxis: axis(figure.layout.yaxis),
      shapes: (figure.layout.shapes || []).map((s) => Object.assign({}, s, { line: Object.assign({ color: soft }, s.line) }, s.filled ? { fillcolor: soft, opacity: 0.18 } : {})),
      annotations: (figure.layout.annotations || []).map((a) => Object.assign({ font: { size: 11, color: soft } }, a, a.boxed ? { bordercolor: colour("--c" + ((a.colour || 0) % 8)), bgcolor: colour("--card"), font: { size: 11, color: ink } } : {})),
    });
    Object.entries(figure.layout).filter(([name]) => /^yaxis\d+$/.test(name)).forEach(([name, own]) => Object.assign(layout, { [name]: axis(own) }));
    return window.Plotly.react(place, figure.data.map(paint), layout, { displayModeBar: false, responsive: true });
  }
  // A chart of a few lines is the page's own (curve.js): it waits for no library.
  /** @type {Map<HTMLElement, Curves>} */
  const curves = new Map();
  const TALL = 256, PAPER = { width: 470, height: 160 }; // pixels, on paper: its layout comes after the drawing
  const drawCurve = (/** @type {HTMLElement} */ place) => window.byteways.curve.draw(place, /** @type {Curves} */ (curves.get(place)), printing ? PAPER : { width: place.clientWidth || PAPER.width, height: TALL });
  /** @type {Byteways["compact"]} */
  const compact = (place, lines, sizes, names) => { curves.set(place, { lines, sizes, names }); return draw(place); };
  const drawAll = () => Promise.all(places.map(draw)).then(() => drawn.size);
  if ("IntersectionObserver" in window) {
    const watch = new IntersectionObserver((entries) => entries.forEach(({ isIntersecting, target }) => {
      if (isIntersecting && target instanceof HTMLElement) { watch.unobserve(target); if (!drawn.has(target)) draw(target); }
    }), { rootMargin: "200px" });
    places.forEach((place) => watch.observe(place));
  } else { drawAll(); }
  window.addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    printing = true; // two charts a page
    places.filter((place) => !place.closest("details:not([open])")).forEach(draw);
    curves.forEach((_, place) => { if (drawn.has(place)) draw(place); });
  });
  window.addEventListener("afterprint", () => { printing = false; show(theme()); });
  let wide = root.clientWidth;
  window.addEventListener("resize", () => { if (root.clientWidth !== wide) { wide = root.clientWidth; drawn.forEach(draw); } });
  dark.addEventListener("change", () => show(theme()));
  show(theme());
  const button = document.getElementById("theme");
  if (button) button.addEventListener("click", () => { chosen = theme() === "dark" ? "light" : "dark"; show(chosen); });

  // Absolute or percent of peak: the numbers themselves change, so that what is copied is what is seen.
  let kind = "absolute";
  /** @param {string} wanted */
  function numbers(wanted) {
    kind = wanted;
    all("[data-absolute]").forEach((cell) => { cell.textContent = cell.dataset[kind] || ""; });
    all("[data-unit]").forEach((unit) => { unit.textContent = kind === "percent" ? "% of peak" : unit.dataset.unit || ""; });
    all("[data-numbers]").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.numbers === kind)));
  }
  all("[data-numbers]").forEach((b) => b.addEventListener("click", () => numbers(b.dataset.numbers || "")));

  // Tooltips, by pointer and by keyboard: one tab stop a table, arrow keys inside.
  const tip = /** @type {HTMLElement} */ (document.getElementById("tip"));
  /** @param {HTMLElement | SVGElement} cell */
  function tell(cell) {
    tip.textContent = detailsOf(cell);
    tip.hidden = !tip.textContent;
    if (tip.hidden) { kept().then(() => { if (detailsOf(cell) && cell.matches(":hover, :focus")) tell(cell); }); return; }
    const box = cell.getBoundingClientRect(), wide = root.clientWidth;
    const left = Math.min(box.left + window.scrollX, window.scrollX + wide - tip.offsetWidth - 12);
    const below = box.bottom + tip.offsetHeight + 12 < window.innerHeight;
    tip.style.left = Math.max(8, left) + "px";
    tip.style.top = (below ? box.bottom + 6 : box.top - tip.offsetHeight - 6) + window.scrollY + "px";
    cell.setAttribute("aria-describedby", "tip");
  }
  const hush = (/** @type {Element} */ cell) => { tip.hidden = true; cell.removeAttribute("aria-describedby"); };
  const told = (/** @type {Event} */ event) => within(event, "[data-details], [data-tip]");
  for (const [on, off] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(on, (event) => { const cell = told(event); if (cell) tell(cell); });
    document.addEventListener(off, (event) => { const cell = told(event); if (cell) hush(cell); });
  }
  /** @type {Record<string, number[]>} */
  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
    const link = within(event, "svg.node .link");
    if (link && event.key.startsWith("Arrow")) {
      const links = all("svg.node .link").filter((other) => other.parentElement === link.parentElement), at = links.findIndex((other) => other === link);
      const next = links[(at + (["ArrowLeft", "ArrowUp"].includes(event.key) ? links.length - 1 : 1)) % links.length];
      event.preventDefault(); link.tabIndex = -1; next.tabIndex = 0; next.focus();
      return;
    }
    const step = STEPS[event.key], cell = told(event), row = cell && cell.closest("tr"), body = cell && cell.closest("tbody");
    if (!step || !(cell instanceof HTMLTableCellElement) || !row || !body) return;
    let line = row.sectionRowIndex, column = cell.cellIndex, next = null;
    do {
      line += step[0]; column += step[1];
      next = body.rows[line] && body.rows[line].cells[column];
    } while (next && !("details" in next.dataset || "tip" in next.dataset));
    if (next) { event.preventDefault(); cell.tabIndex = -1; next.tabIndex = 0; next.focus(); }
  });

  // Folded parts: opened by a link into them, all of them by the button.
  function reveal() {
    const target = /^#[\w-]+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!target) return;
    const part = target.querySelector(":scope > details.fold") || target.closest("details.fold");
    if (part instanceof HTMLDetailsElement && !part.open) { part.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = within(event, "a[href^='#']");
    if (link instanceof HTMLAnchorElement && link.hash === location.hash) reveal();
  });
  const unfold = /** @type {HTMLElement} */ (document.getElementById("unfold"));
  unfold.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    all("details.fold, details.more").forEach((part) => part.toggleAttribute("open", open));
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Close all" : "Open all";
  });
  reveal();

  // A finding lights the links between its devices.
  all(".findings [data-paths]").forEach((item) => {
    const pairs = (item.dataset.paths || "").split(" ").map((path) => path.split(">"));
    const lit = all("svg.node .link[data-link]").filter((link) => {
      const ends = (link.dataset.link || "").split(" – ");
      return pairs.some((pair) => pair.length === 2 && pair.every((end) => ends.includes(end)));
    });
    const light = (/** @type {boolean} */ on) => () => lit.forEach((link) => link.classList.toggle("lit", on));
    for (const on of ["mouseenter", "focusin"]) item.addEventListener(on, light(true));
    for (const off of ["mouseleave", "focusout"]) item.addEventListener(off, light(false));
  });

  // A file that the page offers.
  /** @type {Byteways["save"]} */
  const save = (content, kind, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = "byteways-" + root.dataset.run + (name ? "-" + name : "") + "." + kind;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // Contents: mark the section that is being read.
  const links = new Map(all(".contents a").map((a) => [(a.getAttribute("href") || "").slice(1), a]));
  if ("IntersectionObserver" in window) {
    const seen = new IntersectionObserver((entries) => entries.forEach((entry) => {
      if (!entry.isIntersecting) return;
      links.forEach((a) => a.removeAttribute("aria-current"));
      const link = links.get(entry.target.id);
      if (link) link.setAttribute("aria-current", "true");
    }), { rootMargin: "-10% 0px -75% 0px" });
    document.querySelectorAll("section[id]").forEach((section) => seen.observe(section));
  }
  window.addEventListener("load", () => setTimeout(() => idle().then(filled).then(idle).then(unpacked), 100));
  const shared = { all, within, compact, unpacked, ready, draw, drawAll, drawn, places, save, text, fromBase64, get filled() { return filled(); } };
  window.byteways = /** @type {Byteways} */ (shared); // the other scripts add theirs
})();
