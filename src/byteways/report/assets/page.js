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
  }

  // Charts: drawn when scrolled to (chart.js), and all of them before printing.
  const places = all(".chart");
  /** @type {Set<HTMLElement>} */
  const drawn = new Set();
  let printing = false;
  /** @param {string} letters */
  function fromBase64(letters) {
    const text = atob(letters), bytes = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
    return bytes;
  }
  /** @param {string} id */
  async function text(id) {
    const whole = fromBase64(document.getElementById(id)?.textContent?.trim() || "");
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
  // The data of the charts are unpacked once, when one is needed or the page has nothing else to do.
  /** @type {Map<HTMLElement, Chart>} */
  const charts = new Map();
  const unpacked = once(async () => {
    const found = /** @type {Chart[]} */ (await texts("charts"));
    places.forEach((place) => charts.set(place, found[Number(place.dataset.chart)]));
  });
  /** @param {Element} part */
  async function prepare(part) { if (places.some((place) => part.contains(place))) await unpacked(); }
  /** @param {HTMLElement} place @returns {unknown} */
  function draw(place) {
    drawn.add(place);
    const chart = charts.get(place);
    return chart ? window.byteways.chart.draw(place, chart, printing) : unpacked().then(() => draw(place));
  }
  /** @type {Byteways["place"]} */
  const place = (where, chart) => { charts.set(where, chart); return draw(where); };
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
    new Set([...places.filter((place) => !place.closest("details:not([open])")), ...drawn]).forEach(draw);
  });
  window.addEventListener("afterprint", () => { printing = false; show(theme()); drawn.forEach(draw); });
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
    // What a section has in plenty stays folded within it: all sections open are a page to look through.
    all(open ? "details.fold" : "details.fold, details.more").forEach((part) => part.toggleAttribute("open", open));
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
  const shared = { all, within, place, unpacked, draw, drawAll, drawn, places, save, text, fromBase64, get filled() { return filled(); } };
  window.byteways = /** @type {Byteways} */ (shared); // the other scripts add theirs
})();
