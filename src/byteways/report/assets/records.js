"use strict";
// All records: one table that draws only the rows in view, and the downloads. The data is unpacked when it is first
// needed, column by column (report/record_data.py).
(function () {
  const part = document.getElementById("data");
  if (!part) return;
  const { make } = window.byteways.parts;
  /** @template {keyof RecordElements} Id @param {Id} id */
  const at = (id) => /** @type {RecordElements[Id]} */ (document.getElementById("records-" + id));
  const ROW = 28, SPARE = 8; // pixels of a row; rows drawn beyond either edge

  const decimals = (/** @type {number} */ digits) => (/** @type {number} */ value) => Number(value.toPrecision(digits)).toString();
  /** @param {number} value */
  function size(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let power = 0;
    while (power < 4 && value >= 1024 && value % 1024 === 0) { value /= 1024; power += 1; }
    return value + " " + units[power];
  }
  const ids = (/** @type {string} */ text) => JSON.parse(text).map((/** @type {{id: string}} */ warning) => warning.id).join(", ");
  const pairs = (/** @type {string} */ text) => Object.entries(JSON.parse(text)).map(([name, value]) => name + "=" + value).join(" ");
  // What the table shows: column of the data, heading, how a value is written. Numbers stand on the right.
  /** @type {[string, string, Shown["write"]?, boolean?][]} */
  const SHOWN = [
    ["interface", "interface"], ["access", "access"], ["path", "path"], ["size_bytes", "size", size, true],
    ["bandwidth_bytes_per_s", "GB/s", (value) => decimals(5)(value / 1e9), true], ["fraction_of_peak", "% of peak", (value) => (100 * value).toFixed(1), true],
    ["latency_ns", "latency, ns", decimals(5), true], ["time_median_ns", "median, ns", decimals(5), true], ["time_ci95_low_ns", "low, ns", decimals(5), true], ["time_ci95_high_ns", "high, ns", decimals(5), true],
    ["source", "source"], ["destination", "destination"], ["pattern", "pattern"], ["cache", "cache"], ["engine", "engine"], ["options", "options", pairs],
    ["environment", "environment", pairs], ["round", "round", String, true], ["status", "status"], ["warnings", "warnings", ids], ["reason", "reason"],
  ];
  const FILTERS = ["interface", "access", "pattern", "size_bytes", "cache", "status"];
  // Like text.py: characters that control a terminal or reorder a line are replaced where they are seen.
  const visible = (/** @type {string} */ text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu, "\ufffd");

  /** @type {RecordData} */
  let data;
  /** @type {Promise<void> | null} */
  let loading = null;
  const load = () => (loading = loading || window.byteways.text("records").then((text) => {
    data = JSON.parse(text);
    data.columns = data.columns.map(whole);
    data.extra = data.extra.map(whole);
  }));
  // A column with a value, or the index of one, for each record.
  /** @param {StoredColumn} one @returns {Column} */
  function whole(one) {
    const { name, kind } = one;
    if ("floats" in one) {
      const view = new DataView(window.byteways.fromBase64(one.floats).buffer);
      return { name, kind, each: Array.from({ length: data.count }, (_, row) => sixDigits(view.getFloat32(4 * row, true))) };
    }
    if (!("rows" in one)) return one;
    return { name, kind, of: one.of, at: data.rows[one.rows].map((row) => one.at[row]) };
  }
  const sixDigits = (/** @type {number} */ told) => (Number.isNaN(told) ? null : Number(told.toPrecision(6)));
  const column = (/** @type {string} */ name) => /** @type {Column} */ (data.columns.find((one) => one.name === name));
  const stored = (/** @type {Column} */ one, /** @type {number} */ row) => ("each" in one ? one.each[row] : "of" in one ? one.of[one.at[row]] : one.all);
  // SAME of report/record_data.py: the record's own bandwidth, on its path.
  const same = (/** @type {number} */ row) => JSON.stringify({ [String(stored(column("path"), row))]: stored(column("bandwidth_bytes_per_s"), row) });
  /** @param {Column} one @param {number} row */
  function value(one, row) {
    const told = stored(one, row);
    return told === "=" && one.name === "directions_bytes_per_s" ? same(row) : told;
  }
  const distinct = (/** @type {Column} */ one) => ("each" in one ? Array.from(new Set(one.each)) : "of" in one ? [...one.of] : [one.all]);
  // One byte a row: whether its value passes. A value that many rows have is looked at once.
  /** @param {Column} one @param {(each: Value) => boolean} test */
  function passing(one, test) {
    const found = new Uint8Array(data.count);
    if ("each" in one) { for (let row = 0; row < data.count; row++) found[row] = test(one.each[row]) ? 1 : 0; return found; }
    if (!("of" in one)) return found.fill(test(one.all) ? 1 : 0);
    const of = one.of.map((each) => (test(each) ? 1 : 0));
    for (let row = 0; row < data.count; row++) found[row] = of[one.at[row]];
    return found;
  }

  /** @type {RecordState} */
  const state = { search: "", filters: {}, sort: "", down: false, chosen: -1 };
  let rows = new Uint32Array(0);
  /** @type {Shown[]} */
  let shown = [];
  function select() {
    let kept = new Uint8Array(data.count).fill(1);
    const narrow = (/** @type {Uint8Array} */ found) => { for (let row = 0; row < data.count; row++) kept[row] &= found[row]; };
    for (const [name, wanted] of Object.entries(state.filters)) if (wanted !== "") narrow(passing(column(name), (each) => String(each) === wanted));
    const texts = shown.filter((one) => !one.right || one.name === "size_bytes");
    for (const term of state.search.toLowerCase().split(/\s+/).filter(Boolean)) {
      const any = new Uint8Array(data.count);
      for (const one of texts) {
        const found = passing(one.column, (each) => each !== null && each !== undefined && one.write(each).toLowerCase().includes(term));
        for (let row = 0; row < data.count; row++) any[row] |= found[row];
      }
      narrow(any);
    }
    const left = [];
    for (let row = 0; row < data.count; row++) if (kept[row]) left.push(row);
    rows = Uint32Array.from(left);
    order();
  }
  function order() {
    if (!state.sort) return;
    const one = column(state.sort), values = distinct(one).filter((each) => each !== null);
    values.sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true })));
    const rank = new Map(values.map((each, place) => [each, place])), last = values.length;
    const places = Uint32Array.from({ length: data.count }, (_, row) => rank.get(value(one, row)) ?? last);
    const sign = state.down ? -1 : 1;
    // Rows without a value stand last in both directions.
    rows.sort((a, b) => Number(places[a] === last) - Number(places[b] === last) || sign * (places[a] - places[b]) || a - b);
  }

  function head() {
    const row = make("tr");
    row.setAttribute("aria-rowindex", "1");
    shown.forEach((one) => {
      const cell = make("th", undefined, one.right ? "number" : ""), button = make("button", one.heading);
      cell.scope = "col";
      button.type = "button";
      cell.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        state.down = state.sort === one.name && !state.down;
        state.sort = one.name;
        Array.from(row.cells).forEach((other) => other.setAttribute("aria-sort", "none"));
        cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        order();
        at("scroll").scrollTop = 0;
        draw();
      });
      cell.append(button);
      row.append(cell);
    });
    at("table").tHead?.replaceChildren(row);
  }
  const written = (/** @type {Shown} */ one, /** @type {number} */ row) => { const told = value(one.column, row); return told === null || told === undefined ? "" : visible(one.write(told)); };
  /** @param {number} height */
  function space(height) {
    const row = make("tr", undefined, "space"), cell = make("td");
    cell.colSpan = shown.length;
    cell.style.height = height + "px";
    row.setAttribute("aria-hidden", "true");
    row.append(cell);
    return row;
  }
  function draw() {
    const box = at("scroll"), first = Math.max(0, Math.floor(box.scrollTop / ROW) - SPARE);
    const end = Math.min(rows.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + SPARE);
    const body = make("tbody");
    body.append(space(first * ROW));
    for (let place = first; place < end; place++) {
      const line = make("tr", undefined, rows[place] === state.chosen ? "chosen" : "");
      line.setAttribute("aria-rowindex", String(place + 2));
      line.dataset.row = String(rows[place]);
      shown.forEach((one) => {
        const text = written(one, rows[place]), cell = make("td", text, one.right ? "number" : "");
        if (text.length > 28) cell.title = text;
        line.append(cell);
      });
      body.append(line);
    }
    body.append(space((rows.length - end) * ROW));
    at("table").tBodies[0].replaceWith(body);
    at("table").setAttribute("aria-rowcount", String(rows.length + 1));
  }
  function count() {
    const all = data.count.toLocaleString("en");
    at("count").textContent = rows.length === data.count ? all + " records" : rows.length.toLocaleString("en") + " of " + all + " records";
  }
  function refresh() {
    select();
    at("scroll").scrollTop = 0;
    count();
    draw();
  }

  // All that a record has, below the table.
  /** @param {number} row */
  function detail(row) {
    state.chosen = row;
    const list = make("dl", undefined, "record");
    [...data.columns, ...data.extra].forEach((one) => {
      const told = value(one, row);
      if (told === null || told === undefined || told === "") return;
      const pair = make("div");
      pair.append(make("dt", one.name), make("dd", visible(String(told))));
      list.append(pair);
    });
    at("detail").replaceChildren(make("h3", "Record " + (row + 1) + ": " + ["interface", "path"].map((name) => visible(String(value(column(name), row)))).join(" ")), list);
    draw();
  }

  function filters() {
    at("filters").replaceChildren(...FILTERS.filter((name) => distinct(column(name)).length > 1).map((name) => {
      const [, heading = name, write = String] = SHOWN.find(([own]) => own === name) || [];
      const label = make("label", heading + " "), list = make("select");
      const values = distinct(column(name)).sort((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en")));
      list.dataset.filter = name;
      list.append(new Option("all", ""), ...values.map((each) => new Option(visible(write(each)), String(each))));
      list.addEventListener("change", () => { state.filters[name] = list.value; refresh(); });
      label.append(list);
      return label;
    }));
  }
  /** @type {Promise<void> | null} */
  let built = null;
  const build = () => (built = built || load().then(() => {
    shown = SHOWN.map(([name, heading, write = String, right = false]) => ({ name, heading, write, right, column: column(name) }))
      .filter((one) => distinct(one.column).some((each) => each !== null && each !== "" && each !== "{}" && each !== "[]"));
    filters();
    head();
    refresh();
    at("manifest").textContent = visible(JSON.stringify(data.manifest, null, 2));
  }));
  const fold = /** @type {HTMLDetailsElement} */ (part.querySelector(":scope > details"));
  fold.addEventListener("toggle", () => { if (fold.open) build(); });
  if (fold.open) build();
  let waiting = 0, frame = 0;
  at("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { state.search = at("search").value; build().then(refresh); }, 80);
  });
  at("scroll").addEventListener("scroll", () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => data && draw()); });
  at("scroll").addEventListener("click", (event) => {
    const line = window.byteways.within(event, "tr[data-row]");
    if (line && !String(getSelection())) detail(Number(line.dataset.row));
  });
  at("scroll").addEventListener("keydown", (event) => {
    const place = rows.indexOf(state.chosen), step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.target !== at("scroll") || !step || !rows.length) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, place + step)), box = at("scroll");
    if (next * ROW < box.scrollTop) box.scrollTop = next * ROW;
    if ((next + 2) * ROW > box.scrollTop + box.clientHeight) box.scrollTop = (next + 2) * ROW - box.clientHeight;
    detail(rows[next]);
  });

  // CSV as `byteways export --format csv` writes it, of the rows that are left in their order, or of all.
  /** @param {Value | undefined} told */
  function field(told) {
    if (told === null || told === undefined) return "";
    const text = String(told);
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  /** @param {Iterable<number>} which */
  function csv(which) {
    const lines = [data.columns.map((one) => one.name).join(",")];
    for (const row of which) lines.push(data.columns.map((one) => field(value(one, row))).join(","));
    return lines.join("\n") + "\n";
  }
  function json() {
    const nested = new Set([...data.columns, ...data.extra].filter((one) => one.kind === "JSON text"));
    const records = Array.from({ length: data.count }, (_, row) => {
      /** @type {Record<string, Value>} */
      const made = {};
      [...data.columns, ...data.extra].forEach((one) => {
        const told = value(one, row);
        if (told !== null && told !== undefined) made[one.name] = nested.has(one) ? JSON.parse(String(told)) : told;
      });
      return made;
    });
    return JSON.stringify({ manifest: data.manifest, records });
  }
  const all = () => Array.from({ length: data.count }, (_, row) => row);
  /** @param {string} kind */
  async function download(kind) {
    await load();
    const content = kind === "csv" ? csv(built ? rows : all()) : json();
    window.byteways.save(new Blob([content], { type: kind === "csv" ? "text/csv" : "application/json" }), kind);
    return content;
  }
  // Where the clipboard is not open to pages from files.
  /** @param {string} content */
  function selected(content) {
    const area = make("textarea");
    area.value = content;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
  async function copy() {
    await build();
    const content = csv(rows);
    const copied = await navigator.clipboard.writeText(content).then(() => true, () => selected(content));
    at("count").textContent = copied ? rows.length.toLocaleString("en") + " records copied" : "The browser refused to copy; download the CSV instead";
    return content;
  }
  window.byteways.all("[data-download]").forEach((b) => b.addEventListener("click", () => download(b.dataset.download || "")));
  at("copy").addEventListener("click", copy);

  // Shows the records of a question: the table opens with these filters.
  /** @type {RecordTable["show"]} */
  const show = async (filtered, search) => {
    fold.open = true;
    await build();
    state.filters = Object.assign({}, filtered);
    state.search = at("search").value = search || "";
    at("filters").querySelectorAll("select").forEach((list) => { list.value = state.filters[list.dataset.filter || ""] ?? ""; });
    refresh();
    part.scrollIntoView();
  };
  window.byteways.download = download;
  window.byteways.records = { build, copy, show, state, count: () => rows.length };
})();
