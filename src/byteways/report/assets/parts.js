"use strict";
// What the tables of the page share: making elements; for maps of pairs, arrow keys from cell to cell and links of
// the picture.
(function () {
  /** @type {Record<string, number[]>} */
  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

  /** @type {Make} */
  const make = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  /** @type {Parts["heading"]} */
  const heading = (row, text, scope, name) => {
    const made = make("th", text, name);
    made.scope = scope;
    row.append(made);
  };

  // A map of pairs: a row for each source, a column for each destination. `cell` returns the button of a pair, or
  // nothing; one button can be reached by Tab, the arrow keys go on from there.
  /** @type {Parts["drawMap"]} */
  function drawMap(table, devices, selected, caption, cell) {
    const focused = table.contains(document.activeElement), head = make("tr"), top = make("thead"), body = make("tbody");
    heading(head, "from \\ to", "col");
    devices.forEach((name) => heading(head, name, "col"));
    top.append(head);
    devices.forEach((name, from) => {
      const row = make("tr");
      heading(row, name, "row");
      devices.forEach((other, to) => {
        const place = make("td"), button = cell(from, to), pair = name + ">" + other;
        row.append(place);
        if (!button) { place.textContent = "·"; place.className = "none"; return; }
        button.type = "button";
        button.dataset.pair = pair;
        button.tabIndex = pair === selected ? 0 : -1;
        button.setAttribute("aria-pressed", String(pair === selected));
        place.append(button);
      });
      body.append(row);
    });
    const first = body.querySelector("button[tabindex='0']") || body.querySelector("button");
    if (first instanceof HTMLElement) first.tabIndex = 0;
    table.className = "map" + (devices.length > 10 ? " many" : devices.length > 6 ? " several" : "");
    table.replaceChildren(make("caption", caption, "hidden"), top, body);
    if (focused && first instanceof HTMLElement) first.focus();
  }
  /** @type {Parts["onMap"]} */
  function onMap(table, pick) {
    const pairAt = (/** @type {Event} */ event) => window.byteways.within(event, "button[data-pair]");
    table.addEventListener("click", (event) => { const pair = pairAt(event)?.dataset.pair; if (pair) pick(pair); });
    table.addEventListener("keydown", (event) => {
      const step = STEPS[event.key], cell = pairAt(event), place = cell && cell.closest("td");
      if (!step || !cell || !place) return;
      event.preventDefault();
      const rows = table.tBodies[0].rows, line = /** @type {HTMLTableRowElement} */ (place.parentElement);
      let row = line.sectionRowIndex, column = place.cellIndex, next = null;
      do { row += step[0]; column += step[1]; next = rows[row] && rows[row].cells[column]; } while (next && !next.querySelector("button"));
      const button = next && next.querySelector("button");
      if (button) { cell.tabIndex = -1; button.tabIndex = 0; button.focus(); }
    });
  }

  // The links of the picture, by click or key; `pairOf` returns the pair that stands for one, or nothing.
  /** @type {SVGElement[]} */
  const strokes = Array.from(document.querySelectorAll("svg.node .link[data-link]"));
  /** @type {Parts["onLinks"]} */
  function onLinks(pairOf, pick) {
    strokes.forEach((stroke) => {
      const pair = pairOf(stroke.dataset.link || "");
      if (!pair) return;
      stroke.setAttribute("role", "button");
      stroke.addEventListener("click", () => pick(pair));
      stroke.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(pair); } });
    });
  }
  window.byteways.parts = { make, heading, drawMap, onMap, onLinks, strokes };
})();
