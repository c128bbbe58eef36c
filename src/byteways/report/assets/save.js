"use strict";
// Every plot, and the picture of the node, as a file: SVG or PNG. What is simulated says so in the file, too.
(function () {
  const root = document.documentElement, mark = document.body.dataset.mark || "";
  const SCALE = 2, WIDE = 1000; // pixels of PNG per pixel of the page; least width of a picture in the file
  const tone = (/** @type {string} */ name) => getComputedStyle(root).getPropertyValue(name).trim();
  const named = (/** @type {string} */ text) => text.toLowerCase().replace(/[^\w]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  /** @param {HTMLElement} place @param {string} title @param {string} kind */
  async function plot(place, title, kind) {
    if (place.hidden) return null; // a pair without a curve: nothing was drawn, or that of another pair
    await window.byteways.draw(place);
    const chart = place.querySelector("svg.lines");
    return chart && picture(chart, title, kind);
  }

  // Of an SVG of the page with its own look: a file has no style sheet.
  const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "paint-order", "font-family", "font-size", "font-weight", "text-anchor", "opacity"];
  /** @param {Element} svg @param {string} title */
  function drawing(svg, title) {
    const copy = /** @type {SVGElement} */ (svg.cloneNode(true)), [, , width, height] = (svg.getAttribute("viewBox") || "").split(" ").map(Number);
    const own = [svg, ...svg.querySelectorAll("*")], made = [copy, ...copy.querySelectorAll("*")];
    own.forEach((element, n) => {
      const style = getComputedStyle(element);
      made[n].setAttribute("style", LOOK.map((name) => name + ":" + style.getPropertyValue(name)).join(";"));
      ["tabindex", "role", "data-details", "data-link"].forEach((name) => made[n].removeAttribute(name));
    });
    copy.querySelectorAll(".reach, .reset").forEach((path) => path.remove());
    made.forEach((element) => element.removeAttribute("class")); // the room for the pointer, and what is selected
    const lines = [title, mark].filter(Boolean), tall = height + 26 * lines.length + 10, zoom = Math.max(1, WIDE / width);
    const shape = (/** @type {string} */ name, /** @type {Attributes} */ all) => {
      const one = document.createElementNS("http://www.w3.org/2000/svg", name);
      Object.entries(all).forEach(([key, value]) => one.setAttribute(key, String(value)));
      return one;
    };
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("viewBox", [0, 0, width, tall].join(" "));
    copy.setAttribute("width", String(zoom * width));
    copy.setAttribute("height", String(zoom * tall));
    copy.removeAttribute("style");
    copy.prepend(shape("rect", { width, height: tall, fill: tone("--card") }));
    lines.forEach((line, n) => {
      const letters = Math.min(15, (1.6 * (width - 24)) / line.length); // the height at which the line fits
      const text = shape("text", { x: 12, y: height + 24 + 24 * n, fill: tone(n ? "--bad" : "--ink"), style: "font:600 " + letters.toFixed(1) + "px sans-serif" });
      text.textContent = line;
      copy.append(text);
    });
    return { text: new XMLSerializer().serializeToString(copy), width: zoom * width, height: zoom * tall };
  }
  /** @param {Element} svg @param {string} title @param {string} kind */
  async function picture(svg, title, kind) {
    const { text, width, height } = drawing(svg, title), file = new Blob([text], { type: "image/svg+xml" });
    if (kind === "svg") return file;
    const image = new Image(), address = URL.createObjectURL(file);
    image.src = address;
    await image.decode();
    URL.revokeObjectURL(address);
    const canvas = document.createElement("canvas");
    canvas.width = SCALE * width;
    canvas.height = SCALE * height;
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return /** @type {Promise<Blob | null>} */ (new Promise((done) => { canvas.toBlob(done, "image/png"); }));
  }

  /** @param {() => string} title @param {MakePicture} make */
  function buttons(title, make) {
    const bar = document.createElement("p");
    bar.className = "save";
    ["svg", "png"].forEach((kind) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind.toUpperCase();
      button.setAttribute("aria-label", "Save as " + kind.toUpperCase() + ": " + title());
      button.addEventListener("click", async () => { const made = await make(kind); if (made) window.byteways.save(made, kind, named(title())); });
      bar.append(button);
    });
    return bar;
  }
  // One bar for each plot and for the node; `pictures` lists them for scripts.
  /** @type {Byteways["pictures"]} */
  const pictures = [];
  /** @param {Element | null} after @param {() => string} title @param {MakePicture} make */
  function offer(after, title, make) {
    if (!after) return;
    pictures.push({ title, make });
    after.after(buttons(title, make));
  }
  const node = document.querySelector("svg.node:not(.key)"), heading = document.querySelector("h1")?.textContent || "";
  if (node) offer(document.querySelector(".picture .legend"), () => heading, (kind) => picture(node, heading, kind));
  window.byteways.places.forEach((place) => {
    const title = place.dataset.title || place.closest("figure")?.querySelector("h3")?.textContent || "";
    offer(place, () => title, (kind) => plot(place, title, kind));
  });
  // Of the selected pair: its heading changes with the selection.
  window.byteways.all(".curve").forEach((place) => {
    const told = () => place.closest(".explorer")?.querySelector("h3")?.textContent || "Bandwidth over size";
    offer(place, told, (kind) => plot(place, told(), kind));
  });
  window.byteways.pictures = pictures;
})();
