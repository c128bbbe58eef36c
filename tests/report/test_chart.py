"""How the page draws charts (assets/chart.js), in a real browser: ticks, names, what a user does."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from tests.report.browser import IN_BROWSER, Browser

pytestmark = IN_BROWSER

KIB, MIB, GIB = 2**10, 2**20, 2**30
SIZES = [4 * KIB, 64 * KIB, MIB]
OVER_SIZE = {"label": "size", "scale": "log", "unit": "bytes"}
RATES = {"label": "GB/s", "scale": "log"}
#: Draws a chart in a new place of the page.
DRAW = """((chart, width) => {
  document.body.innerHTML = `<figure style="margin:0; width:${width}px"><div class="chart"></div></figure>`;
  byteways.place(document.querySelector(".chart"), chart);
})"""
#: What the place holds.
FOUND = """(() => {
  const of = (kind, read) => Array.from(document.querySelectorAll("svg.lines " + kind), read);
  const texts = (kind) => of("text" + kind, (one) => one.textContent);
  return {
    names: texts(".name"), rows: of("text.name", (one) => Number(one.getAttribute("y"))),
    ticks: texts(".tick"), axes: texts(".axis"), ends: texts(".end"),
    entries: of(".entry", (one) => one.dataset.series), off: of(".entry.off", (one) => one.dataset.series),
    level: of("path.level", (one) => one.getAttribute("d")),
    marks: of(".mark", (one) => one.getAttribute("d")),
    tips: of("[data-details]", (one) => one.dataset.details),
    paths: of("path.line, path.band", (one) => one.getAttribute("d")), images: document.images.length,
    tall: Number.parseFloat(document.querySelector(".chart").style.height), reset: texts(".reset").length,
  };
})()"""


def line(
    label: str, rates: Sequence[float], *, low: float = 0.9, sizes: Sequence[int] = SIZES
) -> dict[str, Any]:
    points = [
        {"x": size, "y": rate, "low": low * rate, "high": 1.1 * rate}
        for size, rate in zip(sizes, rates, strict=False)
    ]
    return {"label": label, "points": points}


def drawn(browser: Browser, *series: Mapping[str, Any], width: int = 600, **more: Any) -> dict[str, Any]:
    chart = {"title": "t", "x": OVER_SIZE, "y": RATES, "series": series, **more}
    browser.evaluate(f"{DRAW}({json.dumps(chart)}, {width})")
    return found(browser)


def found(browser: Browser) -> dict[str, Any]:
    told: dict[str, Any] = browser.evaluate(FOUND)
    return told


def heights(path: str) -> list[float]:
    return [float(point.split(",")[1]) for point in path[1:].split("L")]


def drag(browser: Browser, *places: tuple[int, int]) -> None:
    """Moves the pointer from the first place to the last with its button down."""
    for kind, (x, y) in zip(("mousePressed", "mouseMoved", "mouseReleased"), places, strict=True):
        what = {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1}
        browser.call("Input.dispatchMouseEvent", what)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (4 * KIB, GIB, ["32 KiB", "1 MiB", "32 MiB", "1 GiB"]),
        (MIB, 8 * MIB, ["1 MiB", "2 MiB", "4 MiB", "8 MiB"]),
        (8, GIB, ["32 B", "1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"]),
        (3 * MIB, 5 * MIB, ["3 MiB", "5 MiB"]),
    ],
)
def test_sizes_have_ticks_at_even_powers_of_two(
    browser: Browser, low: int, high: int, labels: list[str]
) -> None:
    """Would catch labels at whatever sizes were measured, at uneven steps, or more than have room."""
    told = drawn(browser, line("copy", (1.0, 10.0), sizes=(low, high)))
    assert sorted(one for one in told["ticks"] if one.endswith("B")) == sorted(labels)


@pytest.mark.parametrize(
    ("axis", "values", "labels"),
    [
        ({"label": "GB/s", "scale": "log"}, (1.5, 9.0), ["2", "5", "10"]),
        ({"label": "GB/s", "scale": "log"}, (0.002, 0.9), ["0.01", "0.1", "1"]),
        (
            {"label": "t", "scale": "log", "unit": "ns"},
            (2.0, 2e6),
            ["10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms"],
        ),
        ({"label": "GB/s"}, (3.0, 12.0), ["0", "2", "4", "6", "8", "10", "12"]),
        (
            {"label": "n", "scale": "log"},
            (20_000.0, 9e6),
            ["100\u202f000", "1\u202f000\u202f000", "10\u202f000\u202f000"],
        ),
    ],
)
def test_values_have_ticks_with_units(
    browser: Browser, axis: dict[str, str], values: tuple[float, float], labels: list[str]
) -> None:
    """Would catch a lone 2 between decades, nanoseconds by the million, and labels on top of each other."""
    told = drawn(browser, line("copy", values), y=axis)
    assert sorted(set(told["ticks"]) - {"4 KiB", "8 KiB", "16 KiB", "32 KiB", "64 KiB"}) == sorted(labels)


def test_swept_counts_are_their_own_ticks(browser: Browser) -> None:
    """Would catch labels on top of each other where two counts are close, and the last one left out."""
    counts = (1, 2, 4, 8, 128, 132)
    told = drawn(
        browser,
        line("kernel", [1.0] * 6, sizes=counts),
        x={"label": "blocks", "scale": "log", "unit": "count"},
    )
    assert "132" in told["ticks"] and "128" not in told["ticks"]


def test_names_stand_apart_at_the_ends_of_their_lines(browser: Browser) -> None:
    """Would catch names that overlap, leave the plot, or stand in another order than the lines."""
    near = [line(f"way {n}", (1.0, 10.0, 100.0 + n)) for n in range(4)]
    told = drawn(browser, *near)
    rows = dict(zip(told["names"], told["rows"], strict=True))
    ordered = [rows[f"way {n}"] for n in (3, 2, 1, 0)]  # the fastest above
    assert all(second - first >= 14.9 for first, second in pairwise(ordered))
    assert ordered[0] >= 10 and ordered[-1] <= told["tall"] - 40
    slow = drawn(browser, line("slow", (1.0, 1.0, 1.0)), line("fast", (100.0, 100.0, 100.0)))
    assert abs(slow["rows"][0] - slow["rows"][1]) > 100


def test_axes_are_logarithmic(browser: Browser) -> None:
    """Would catch an axis that is not logarithmic, or a level at a wrong place."""
    told = drawn(browser, line("copy", (1.0, 10.0, 100.0)), levels=[{"at": 10.0, "label": "peak 10"}])
    assert "peak 10" in told["axes"] and {"1", "10", "100"} <= set(told["ticks"])
    _, path = told["paths"]
    points = [tuple(map(float, point.split(","))) for point in path[1:].split("L")]
    assert points[1][0] == pytest.approx((points[0][0] + points[2][0]) / 2, abs=0.2)
    assert points[1][1] == pytest.approx((points[0][1] + points[2][1]) / 2, abs=0.2)
    assert f",{points[1][1]:.1f}H" in told["level"][0]
    assert told["tips"][1] == "copy\n64 KiB: 10 GB/s (9–11)"


def test_an_interval_down_to_nothing(browser: Browser) -> None:
    """Would catch a band or a line that a logarithm of zero makes disappear."""
    told = drawn(browser, line("copy", (1.0, 10.0, 100.0), low=0.0), line("once", (50.0,)))
    assert len(told["paths"]) == 4
    assert not any("NaN" in path or "Infinity" in path for path in told["paths"])


def test_names_are_text(browser: Browser) -> None:
    """Would catch a label that becomes markup, and a long one that leaves the picture."""
    told = drawn(browser, line("<img src=x>", (1.0, 2.0, 3.0)), line("w" * 60, (1.0, 2.0, 3.1)))
    assert told["images"] == 0
    assert "<img src=x>" in told["names"]
    assert max(map(len, told["names"])) <= 28
    assert ("w" * 60) in told["tips"][-1]


def test_a_ratio_off_the_axis_is_a_triangle_at_its_edge(browser: Browser) -> None:
    """Would catch a far ratio that is not drawn, or drawn as if it were within."""
    ratios = [{"x": size, "y": y} for size, y in zip(SIZES, (1.0, 100.0, 0.01), strict=True)]
    panel = {
        "y": {"label": "ratio", "scale": "log", "reach": 2.0},
        "series": [{"label": "published", "kind": "points", "points": ratios, "group": "copy"}],
        "band": [0.9, 1.1],
    }
    told = drawn(browser, line("copy", (1.0, 2.0, 3.0)), below=[panel])
    circle, above, below = told["marks"][3:]
    assert len({circle, above, below}) == 3
    assert {"GB/s", "ratio"} <= set(told["axes"])


def test_bars_have_their_texts_beyond_what_was_predicted(browser: Browser) -> None:
    """Would catch a text that the tick of a prediction hides, and one outside the chart."""
    bars = {"label": "reached", "kind": "bars", "width": 0.8, "points": [{"x": 4.0, "y": 0, "label": "40 %"}]}
    tick = {"label": "predicted", "kind": "points", "symbol": "tick", "points": [{"x": 10.0, "y": 0}]}
    told = drawn(browser, bars, tick, x={"label": "GB/s"}, y={"names": ["a row"]})
    assert (told["ends"], told["entries"]) == (["40 %"], ["reached", "predicted"])
    box = "document.querySelector('svg.lines {}').getBoundingClientRect()"
    text, tick_mark = box.format(".end"), box.format("g[clip-path] > .mark")
    assert browser.evaluate(f"{text}.left > {tick_mark}.right")
    assert browser.evaluate(
        f"{text}.right < document.querySelector('svg.lines').getBoundingClientRect().right"
    )


def test_a_name_hides_and_shows_its_lines(browser: Browser) -> None:
    """Would catch a name that cannot be selected, and a hidden line that cannot be shown again."""
    drawn(browser, line("slow", (1.0, 1.0, 1.1)), line("fast", (90.0, 100.0, 100.0)))
    browser.evaluate(
        "document.querySelectorAll('.entry')[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    first = found(browser)
    hidden = first["off"][0]
    assert len(first["paths"]) == 2 and sorted(first["names"]) == ["fast", "slow"]
    browser.evaluate(
        "document.querySelector('.entry.off').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert found(browser)["off"] == []
    double = (
        "document.querySelector('[data-series={}]').dispatchEvent(new MouseEvent('{}', {{bubbles: true}}))"
    )
    for event in ("click", "dblclick"):  # a second click comes with detail 2
        browser.evaluate(double.format(hidden, event))
    assert found(browser)["off"] == [name for name in ("slow", "fast") if name != hidden]


def test_a_rectangle_zooms_and_a_double_click_resets(browser: Browser) -> None:
    """Would catch a zoom to another part than was drawn, and one that cannot be left."""
    whole = drawn(browser, line("copy", (1.0, 10.0, 100.0)))
    drag(browser, (120, 60), (250, 120), (300, 150))
    told = found(browser)
    assert told["reset"] == 1 and told["ticks"] != whole["ticks"]
    assert not {"1", "4 KiB"} & set(told["ticks"])
    assert max(heights(told["paths"][1])) > max(heights(whole["paths"][1]))
    browser.evaluate(
        "document.querySelector('.reset').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert found(browser)["paths"] == whole["paths"]
    drag(browser, (120, 60), (121, 61), (122, 62))  # a click is no rectangle
    assert found(browser)["reset"] == 0
    assert browser.console == []
