"use strict";
// What the maps of one run and of two share: making elements, arrow keys from cell to cell, links of the picture.
(function () {
  const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

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

  // A map of pairs: a row for each source, a column for each destination. `cell` returns the button of a pair, or
  // nothing; one button can be reached by Tab, the arrow keys go on from there.
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
    if (!body.querySelector("button[tabindex='0']") && body.querySelector("button")) body.querySelector("button").tabIndex = 0;
    table.className = "map" + (devices.length > 10 ? " many" : "");
    table.replaceChildren(make("caption", caption, "hidden"), top, body);
    if (focused) { const back = table.querySelector("button[tabindex='0']"); if (back) back.focus(); }
  }
  function onMap(table, pick) {
    const pairAt = (event) => (event.target.closest ? event.target.closest("button[data-pair]") : null);
    table.addEventListener("click", (event) => { const cell = pairAt(event); if (cell) pick(cell.dataset.pair); });
    table.addEventListener("keydown", (event) => {
      const step = STEPS[event.key], cell = pairAt(event);
      if (!step || !cell) return;
      event.preventDefault();
      const rows = table.tBodies[0].rows;
      let row = cell.closest("tr").sectionRowIndex, column = cell.closest("td").cellIndex, next = null;
      do { row += step[0]; column += step[1]; next = rows[row] && rows[row].cells[column]; } while (next && !next.querySelector("button"));
      if (next && next.querySelector("button")) { cell.tabIndex = -1; next.firstChild.tabIndex = 0; next.firstChild.focus(); }
    });
  }

  // The links of the picture, by click or key; `pairOf` returns the pair that stands for one, or nothing.
  const strokes = Array.from(document.querySelectorAll("svg.node .link[data-link]"));
  function onLinks(pairOf, pick) {
    strokes.forEach((stroke) => {
      const pair = pairOf(stroke.dataset.link);
      if (!pair) return;
      stroke.setAttribute("role", "button");
      stroke.addEventListener("click", () => pick(pair));
      stroke.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); pick(pair); } });
    });
  }
  window.byteways.parts = { make, heading, drawMap, onMap, onLinks, strokes };
})();
