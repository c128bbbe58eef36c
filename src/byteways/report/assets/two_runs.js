"use strict";
// Two runs in one chart of curves (curve.js): the second run as a dashed line of the same colour, and its speed
// relative to the first below. Speeds and verdicts come with the data: nothing is compared here.
(function () {
  const { add: shape, band, marks, path, rule, scale, tick } = window.byteways.curve;
  const LOWER = 0.3, GAP = 0.09, LEAST = 1.3; // parts of the chart: the panel of speeds, the gap above it; the least reach of its axis
  /** @type {[number, number[]][]} */
  const TICKS = [[1.3, [0.8, 0.9, 1, 1.1, 1.25]], [2.1, [0.5, 0.8, 1, 1.25, 2]], [10, [0.1, 0.2, 0.5, 1, 2, 5, 10]], [Infinity, [0.001, 0.01, 0.1, 1, 10, 100, 1000]]];

  // Where the curves end and the gap begins.
  /** @type {SecondRun["end"]} */
  const end = (top, bottom) => bottom - (LOWER + GAP) * (bottom - top);
  // Adds the second run and its speed to the group of each line.
  /** @type {SecondRun["add"]} */
  function add(svg, lines, groups, { across, up, end: above, bottom, left, right }) {
    const far = Math.max(LEAST, ...lines.flatMap((line) => line.speed).filter((speed) => speed > 0).map((speed) => Math.max(speed, 1 / speed)));
    const reach = Math.log10(far) * 1.2, top = bottom - (bottom - above) * LOWER / (LOWER + GAP), speedUp = scale(-reach, reach, bottom, top);
    const [, ticks] = TICKS.find(([most]) => far <= most) || TICKS[TICKS.length - 1];
    ticks.filter((value) => Math.abs(Math.log10(value)) <= reach).forEach((value) => {
      rule(svg, value === 1 ? "same" : "rule", left, speedUp(value), right, speedUp(value));
      tick(svg, String(value), left - 6, speedUp(value) + 4, "end");
    });
    shape(svg, "text", { class: "axis", x: 0, y: 0, "text-anchor": "middle", transform: "translate(12 " + (top + bottom) / 2 + ") rotate(-90)" }, "speed");
    lines.forEach((line, index) => {
      const group = groups[index], x = line.x.map(across), { y, low, high } = line.second, told = line.told.map((text) => line.label + "\n" + text);
      band(group, x, low.map(up), high.map(up));
      shape(group, "path", { class: "line second", d: path(x, y.map(up)), "stroke-dasharray": "7 4" });
      marks(group, x, y.map(up), index, told, () => true);
      shape(group, "path", { class: "line speed", d: path(x, line.speed.map(speedUp)), "stroke-dasharray": "7 4" });
      marks(group, x, line.speed.map(speedUp), index, told, (n) => !line.differ[n]);
    });
  }
  window.byteways.second = { add, end, HEIGHT: 120 };
})();
