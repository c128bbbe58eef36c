"""The page's own chart of curves (assets/curve.js), and the library of other charts, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.report.browser import Browser, find_chromium

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed"),
]

SIZES = [4096, 65536, 1048576]
#: Draws curves in a new place of the page, and returns what it holds.
DRAWN = """((lines, levels, width) => {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  const all = { lines, levels, sizes: SIZES, names: ["4 KiB", "64 KiB", "1 MiB"] };
  byteways.curve.draw(place, all, { width, height: 256 });
  const of = (kind, read) => Array.from(place.querySelectorAll(kind), read);
  const texts = (kind) => of("text" + kind, (one) => one.textContent);
  const numbers = (kind, name) => of(kind, (one) => Number(one.getAttribute(name)));
  return {
    names: texts(".name"), rows: numbers("text.name", "y"), ticks: texts(".tick"), axes: texts(".axis"),
    level: numbers("line.level", "y1"), tips: of(".reach", (one) => one.dataset.details),
    paths: of("path.line, path.band", (one) => one.getAttribute("d")),
    images: place.querySelectorAll("img").length, tall: place.style.height,
  };
})"""


def line(label: str, rates: Sequence[float], *, low: float = 0.9) -> dict[str, Any]:
    return {
        "label": label,
        "x": SIZES[: len(rates)],
        "y": list(rates),
        "low": [low * rate for rate in rates],
        "high": [1.1 * rate for rate in rates],
    }


def drawn(
    browser: Browser, *lines: Mapping[str, Any], levels: Sequence[Mapping[str, Any]] = (), width: int = 600
) -> dict[str, Any]:
    told = ", ".join(json.dumps(part) for part in (lines, list(levels), width))
    found: dict[str, Any] = browser.evaluate(f"{DRAWN.replace('SIZES', json.dumps(SIZES))}({told})")
    return found


def test_names_stand_apart_at_the_ends_of_their_lines(browser: Browser) -> None:
    """Would catch names that overlap, leave the plot, or stand in another order than the lines."""
    near = [line(f"way {n}", (1.0, 10.0, 100.0 + n)) for n in range(4)]
    found = drawn(browser, *near)
    rows = dict(zip(found["names"], found["rows"], strict=True))
    ordered = [rows[f"way {n}"] for n in (3, 2, 1, 0)]  # the fastest above
    assert all(second - first >= 14.9 for first, second in pairwise(ordered))
    assert ordered[0] >= 10 and ordered[-1] <= 256 - 40
    slow = drawn(browser, line("slow", (1.0, 1.0, 1.0)), line("fast", (100.0, 100.0, 100.0)))
    assert abs(slow["rows"][0] - slow["rows"][1]) > 100


def test_axes_are_logarithmic(browser: Browser) -> None:
    """Would catch ticks that say little, an axis that is not logarithmic, or a level at a wrong place."""
    found = drawn(browser, line("copy", (1.0, 10.0, 100.0)), levels=[{"at": 10.0, "name": "peak 10"}])
    assert {"4 KiB", "64 KiB", "1 MiB", "1", "10", "100"} <= set(found["ticks"])
    assert "peak 10" in found["axes"]
    _, path = found["paths"]
    points = [tuple(map(float, point.split(","))) for point in path[1:].split("L")]
    assert points[1][0] == pytest.approx((points[0][0] + points[2][0]) / 2, abs=0.2)
    assert points[1][1] == pytest.approx((points[0][1] + points[2][1]) / 2, abs=0.2)
    assert found["level"] == [pytest.approx(points[1][1], abs=0.2)]
    assert found["tips"][1] == "copy\n64 KiB: 10 GB/s (9–11)"
    narrow = drawn(browser, line("copy", (1.0, 10.0, 100.0)), width=220)
    assert "1 MiB" in narrow["ticks"] and "64 KiB" not in narrow["ticks"]  # no room for all


def test_an_interval_down_to_nothing(browser: Browser) -> None:
    """Would catch a band or a line that a logarithm of zero makes disappear."""
    found = drawn(browser, line("copy", (1.0, 10.0, 100.0), low=0.0), line("once", (50.0,)))
    assert len(found["paths"]) == 4
    assert not any("NaN" in path or "Infinity" in path for path in found["paths"])
    assert found["tall"] == "256px"


def test_names_are_text(browser: Browser) -> None:
    """Would catch a label that becomes markup, and a long one that leaves the picture."""
    found = drawn(browser, line("<img src=x>", (1.0, 2.0, 3.0)), line("w" * 60, (1.0, 2.0, 3.1)))
    assert found["images"] == 0
    assert "<img src=x>" in found["names"]
    assert max(map(len, found["names"])) <= 28
    assert ("w" * 60) in found["tips"][-1]


def test_the_library_starts_when_a_chart_needs_it(browser: Browser) -> None:
    """Would catch a second of work before anyone asks for it, and an opened part whose charts stay empty."""
    loaded = "typeof Plotly !== 'undefined'"
    browser.evaluate("Promise.all([byteways.filled, byteways.unpacked()])")
    assert browser.evaluate(loaded) is False
    browser.evaluate("document.querySelector('#curves > details').open = true")
    browser.evaluate("byteways.draw(byteways.places[0])")  # a chart of curves
    assert browser.evaluate("byteways.places[0].querySelectorAll('path.line').length") > 0
    assert browser.evaluate(loaded) is False
    browser.evaluate("document.getElementById('unfold').click()")
    for _ in range(100):
        if browser.evaluate(loaded):
            break
        browser.evaluate("new Promise(done => setTimeout(done, 100))")
    assert browser.evaluate(loaded) is True
    assert browser.console == []
