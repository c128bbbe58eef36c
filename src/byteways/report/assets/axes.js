"use strict";
// Axes of charts (questions/display/chart.py): what they show, pixels of values, and ticks that have room.
(function () {
  const UNITS = { bytes: { base: 1024, names: ["B", "KiB", "MiB", "GiB", "TiB"] }, ns: { base: 1000, names: ["ns", "µs", "ms", "s"] } };
  /** @param {number} value @param {string} [unit] */
  function written(value, unit) {
    const { base, names } = unit === "bytes" || unit === "ns" ? UNITS[unit] : { base: 1000, names: [""] };
    let power = 0;
    while (power < names.length - 1 && value >= base ** (power + 1)) power++;
    const [whole, part] = String(Number((value / base ** power).toPrecision(5))).split(".");
    const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
    return (grouped + (part ? "." + part : "") + " " + names[power]).trim();
  }
  /** @param {number} low @param {number} high @param {number} step */
  const multiples = (low, high, step) => Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1) }, (_, n) => (Math.ceil(low / step - 1e-9) + n) * step);
  // Those of some values, the most important first, that are `spacing` pixels from all others.
  /** @param {number[]} values @param {Scale} scale @param {number} spacing */
  function thinned(values, { at }, spacing) {
    /** @type {number[]} */
    const kept = [];
    values.forEach((value) => { if (kept.every((other) => Math.abs(at(value) - at(other)) >= spacing)) kept.push(value); });
    return kept;
  }
  // Ticks with at least `spacing` pixels between them.
  /** @param {Axis} axis @param {Scale} scale @param {number} spacing @param {number[]} values */
  function ticksOf(axis, scale, spacing, values) {
    const { low, high, pixels } = scale, most = Math.max(1, pixels / spacing), inside = (/** @type {number} */ one) => one >= low * (1 - 1e-9) && one <= high * (1 + 1e-9);
    const own = () => thinned([...new Set(values.filter(inside))].sort((a, b) => b - a), scale, spacing);
    if (axis.scale !== "log") {
      const least = (high - low) / most, whole = axis.unit === "count" ? 1 : 0;
      const power = axis.unit === "bytes" ? 2 ** Math.ceil(Math.log2(least)) : 10 ** Math.floor(Math.log10(least));
      return multiples(low, high, Math.max(whole, axis.unit === "bytes" ? power : ([1, 2, 5].find((digit) => digit * power >= least) || 10) * power));
    }
    if (axis.unit === "count") return own();
    if (axis.unit === "bytes") { // even steps of doublings, which reach every unit
      const [from, to] = [Math.log2(low), Math.log2(high)], step = [1, 2, 5, 10, 20].find((one) => (to - from) / one <= most) || 30;
      const made = multiples(from, to, step).map((one) => 2 ** one);
      return made.length > 1 ? made : own();
    }
    const powers = multiples(Math.floor(Math.log10(low)), Math.ceil(Math.log10(high)), 1);
    const made = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]]
      .map((digits) => powers.flatMap((power) => digits.map((digit) => Number((digit * 10 ** power).toPrecision(2)))).filter(inside));
    const found = made.find((ticks) => ticks.length > 2) || made[4];
    return thinned(axis.reach ? [1, ...found] : found.reverse(), scale, spacing);
  }

  // Pixels of a value; what cannot be on a logarithmic axis is drawn beyond its end.
  /** @param {Axis} axis @param {number[]} range @param {number} from @param {number} to @returns {Scale} */
  function scaleOf(axis, [low, high], from, to) {
    const log = axis.scale === "log", of = (/** @type {number} */ value) => (log ? Math.log10(Math.max(value, 1e-300)) : value);
    const start = of(low), span = of(high) - start || 1;
    return {
      low, high, from, to, pixels: Math.abs(to - from),
      at: (value) => from + Math.min(2, Math.max(-1, (of(value) - start) / span)) * (to - from),
      of: (pixel) => { const part = start + (pixel - from) / (to - from) * span; return log ? 10 ** part : part; },
    };
  }
  // What an axis shows. `zero`: the axis of values, which begins at zero where it is linear.
  /** @param {Axis} axis @param {number[]} values @param {boolean} zero */
  function rangeOf(axis, values, zero) {
    if (axis.names) return [-0.5, axis.names.length - 0.5];
    if (axis.reach) return [axis.reach ** -1.15, axis.reach ** 1.15];
    const log = axis.scale === "log", shown = log ? values.filter((value) => value > 0) : values;
    const low = Math.min(...shown), high = Math.max(...shown);
    if (!shown.length) return log ? [1, 10] : [0, 1];
    if (log) return zero ? [low / 1.2, high * 1.2] : low === high ? [low / 2, high * 2] : [low, high];
    if (zero) return [Math.min(0, low), high * 1.05 || 1];
    return axis.unit !== "count" && low < high / 4 ? [Math.min(0, low), high] : low === high ? [low - 1, high + 1] : [low, high];
  }

  window.byteways.axes = { written, ticksOf, scaleOf, rangeOf };
})();
