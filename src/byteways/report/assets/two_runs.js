"use strict";
// Two runs in one small chart: the second run as a dashed line of the same colour, and its speed relative to the
// first below. Speeds and verdicts come with the data: nothing is compared here.
(function () {
  const LOWER = 0.3, GAP = 0.09, LEAST = 1.3; // parts of the chart: the panel of speeds, the gap above it; the least reach of its axis
  const TICKS = [[1.3, [0.8, 0.9, 1, 1.1, 1.25]], [2.1, [0.5, 0.8, 1, 1.25, 2]], [10, [0.1, 0.2, 0.5, 1, 2, 5, 10]], [Infinity, [0.001, 0.01, 0.1, 1, 10, 100, 1000]]];
  const band = (x, low, high, tone) => ({ x: x.concat([...x].reverse()), y: high.concat([...low].reverse()), fill: "toself", mode: "lines", line: { width: 0 }, fillcolor: tone, opacity: 0.12, hoverinfo: "skip" });

  // Adds the second run to the traces and the layout of a chart of curves.
  function add(lines, traces, layout, { tone, soft, faint, shape }) {
    const far = Math.max(LEAST, ...lines.flatMap((line) => line.speed).filter((speed) => speed > 0).map((speed) => Math.max(speed, 1 / speed)));
    const ticks = TICKS.find(([most]) => far <= most)[1], end = Math.log10(far) * 1.2;
    lines.forEach((line, index) => {
      const { y, low, high } = line.second, tip = { text: line.told.map((text) => text.replace(/; | \(/, (found) => "<br>" + found.trim())), hovertemplate: "%{text}<extra></extra>" };
      traces.push(band(line.x, low, high, tone(index)));
      traces.push(Object.assign({ x: line.x, y, mode: "lines+markers", line: { color: tone(index), width: 2, dash: "dash" }, marker: { color: tone(index), size: 6, symbol: shape(index) + "-open" } }, tip));
      traces.push(Object.assign({ x: line.x, y: line.speed, yaxis: "y2", mode: "lines+markers", line: { color: tone(index), width: 1.5, dash: "dash" },
        marker: { color: tone(index), size: 6, symbol: line.differ.map((differ) => shape(index) + (differ ? "" : "-open")) } }, tip));
    });
    layout.xaxis.anchor = "y2";
    layout.yaxis.domain = [LOWER + GAP, 1];
    layout.yaxis2 = { type: "log", range: [-end, end], domain: [0, LOWER], tickvals: ticks, ticktext: ticks.map(String), gridcolor: faint, zeroline: false, title: { text: "speed", font: { size: 12, color: soft } } };
    layout.shapes.push({ type: "line", xref: "paper", yref: "y2", x0: 0, x1: 1, y0: 1, y1: 1, line: { width: 1, color: soft } });
  }
  window.byteways.second = { add, LOWER: LOWER + GAP, HEIGHT: 120 };
})();
