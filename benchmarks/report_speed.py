#!/usr/bin/env python3
"""How fast the report of a run is: `python benchmarks/report_speed.py RUN [--opens N] [--selections N]`.

It writes the report of each run folder, opens it in headless Chromium and prints

- `report`: seconds until `byteways report` ends, and its CPU seconds;
- `file`: size in MB (10^6 bytes);
- `first paint`: first contentful paint since navigation, the median of the openings;
- `first answer`: when the first selection is shown, and the page answers a click;
- `interactive`: when the last task of more than 50 ms has ended, with nothing opened yet;
- `selection`: from a new selection of pair and size to the next frame, the median and 90th percentile;
- CPU seconds of the page's thread for opening and for a selection, to which other work adds little.

Figures of a busy machine say little: the load average stands beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.report.browser import Browser

#: Seconds without a long task after which the page counts as interactive.
QUIET_S = 1.0
#: Longest wait for it.
LONGEST_S = 60.0
#: Notes the end of each long task (W3C Long Tasks API: 50 ms and more) and the first paint.
WATCH = """
window.watched = { last: 0, paint: 0, answer: 0 };
document.addEventListener("DOMContentLoaded", () => { window.watched.answer = performance.now(); });
new PerformanceObserver((list) => list.getEntries().forEach((one) => {
  window.watched.last = Math.max(window.watched.last, one.startTime + one.duration);
})).observe({ type: "longtask", buffered: true });
new PerformanceObserver((list) => list.getEntries().forEach((one) => {
  if (one.name === "first-contentful-paint") window.watched.paint = one.startTime;
})).observe({ type: "paint", buffered: true });
"""
#: Selects other pairs and sizes in turn; returns the milliseconds of each until its frame was drawn.
SELECT = """
(async () => {
  const cells = document.querySelectorAll("#explore-map button[data-pair]");
  const pairs = Array.from(cells, (cell) => cell.dataset.pair);
  const sizes = Array.from(document.querySelectorAll("#explore-size option"), (one) => Number(one.value));
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const times = [];
  document.getElementById("explore").scrollIntoView();
  for (let n = 0; n < COUNT; n++) {
    await frame();
    const begin = performance.now();
    byteways.select({ pair: pairs[(7 * n + 3) % pairs.length], size: sizes[(5 * n + 1) % sizes.length] });
    await frame();
    times.push(performance.now() - begin);
  }
  return times;
})()
"""


def main() -> int:
    """Prints one block per run."""
    parser = argparse.ArgumentParser(description="How fast the report of a run is written, opened and used.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--opens", type=int, default=5, help="openings of each page")
    parser.add_argument("--selections", type=int, default=40)
    options = parser.parse_args()
    for run in options.runs:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "report.html")
            _told_of_writing(run, page)
            _told_of_page(page, options.opens, options.selections)
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return 0


def _told_of_writing(run: Path, page: Path) -> None:
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "byteways", "report", str(run), "--out", str(page)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with (run / "measurements.jsonl").open("rb") as lines:
        records = sum(1 for _ in lines)
    print(f"{run}: {records:,} records")
    print(f"  report       {wall:6.2f} s, {cpu:.2f} s CPU")
    print(f"  file         {page.stat().st_size / 1e6:6.2f} MB")


def _told_of_page(page: Path, opens: int, selections: int) -> None:
    found: dict[str, list[float]] = {"paint": [], "answer": [], "last": []}
    cpu = []
    for _ in range(opens):
        with Browser(width=1400, height=900) as browser:
            browser.call("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            browser.open(page)
            for name, value in _settled(browser).items():
                found[name].append(value)
            cpu.append(_task_s(browser))
    print(f"  first paint  {median(found['paint']):6.0f} ms")
    print(f"  first answer {median(found['answer']):6.0f} ms")
    print(f"  interactive  {median(found['last']):6.0f} ms, {median(cpu):.2f} s CPU")
    with Browser(width=1400, height=900) as browser:
        browser.open(page)
        if not browser.evaluate("Boolean(window.byteways && byteways.select)"):
            print("  selection    – (no paths to select)")
            return
        before = _task_s(browser)
        times = browser.evaluate(SELECT.replace("COUNT", str(selections)))
        spent = (_task_s(browser) - before) / selections
        high = quantiles(times, n=10)[-1]
        print(
            f"  selection    {median(times):6.0f} ms, 90th percentile {high:.0f} ms, {1e3 * spent:.0f} ms CPU"
        )


def _settled(browser: Browser) -> dict[str, float]:
    """Returns first paint, first answer and end of the last long task in ms, once all is unpacked and no long
    task was seen for QUIET_S.
    """
    browser.evaluate("Promise.all([byteways.unpacked(), byteways.filled])")
    deadline, before = time.monotonic() + LONGEST_S, -1.0
    while time.monotonic() < deadline:
        time.sleep(QUIET_S)  # a task is told of after its end, so that two looks must agree
        watched: dict[str, float] = json.loads(browser.evaluate("JSON.stringify(window.watched)"))
        if watched["paint"] and watched["last"] == before:
            return {**watched, "last": max(watched["last"], watched["answer"], watched["paint"])}
        before = watched["last"]
    raise TimeoutError("the page did not become quiet")


def _task_s(browser: Browser) -> float:
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in metrics if one["name"] == "TaskDuration"))


if __name__ == "__main__":
    sys.exit(main())
