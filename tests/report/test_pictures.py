"""Charts of a study's figures: axes, markers of published values, and the panels of ratios below."""

from __future__ import annotations

from typing import Any

import pytest

from byteways.explain.display.picture import Label, Panel, Picture, SeriesStroke, Spot
from byteways.report.pictures import FARTHEST_RATIO, of_picture


def spots(*values: tuple[float, float], **more: Any) -> tuple[Spot, ...]:
    return tuple(Spot(x, y, f"{x}: {y}", **more) for x, y in values)


def picture(*below: Panel, **changes: Any) -> Picture:
    stroke = SeriesStroke(
        "copy", "copy", 2, "dashed", spots((1024, 10.0), (4096, 40.0)), {"A": spots((1024, 12.0))}
    )
    given: dict[str, Any] = {
        "plot": "lines",
        "title": "T",
        "caption": "C",
        "x_label": "size",
        "y_label": "GB/s",
        "x_scale": "log",
        "y_scale": "linear",
        "strokes": (stroke,),
        "below": below,
        "ours": "measured",
    }
    return Picture(**{**given, **changes})


def ratios(*values: float, band: bool = True) -> Panel:
    made = spots(*((1024.0 * 2**number, value) for number, value in enumerate(values)))
    return Panel("ratio", (SeriesStroke("copy", "copy", 2, "solid", (), {"A": made}),), band)


def test_published_values_are_open_markers_of_the_method_s_colour() -> None:
    """Catches published values joined by a line, which nobody measured, or told by colour alone."""
    data = of_picture(picture()).figure["data"]
    ours, published, legend = data
    assert (ours["mode"], ours["line"]["dash"], ours["colour"]) == ("lines+markers", "dash", 2)
    assert (published["mode"], published["colour"], published["showlegend"]) == ("markers", 2, False)
    assert published["marker"]["symbol"].endswith("-open")
    assert legend["name"] == "published, A" and legend["marker"]["symbol"] == published["marker"]["symbol"]


def test_a_published_range_is_drawn_from_end_to_end() -> None:
    """Catches a range that reads as one exact value."""
    told = {"A": spots((1024, 12.0), low=10.0, high=15.0)}
    stroke = SeriesStroke("copy", "copy", 0, "solid", (), told)
    (published, _) = of_picture(picture(strokes=(stroke,))).figure["data"]
    assert published["error_y"]["array"] == [3.0] and published["error_y"]["arrayminus"] == [2.0]


def test_panels_of_ratios_share_the_axis_below_the_plot() -> None:
    """Catches a panel over the plot, and ratios on the axis of the values."""
    figure = of_picture(picture(ratios(1.05), ratios(1.2, band=False))).figure
    layout = figure["layout"]
    domains = [layout[name]["domain"] for name in ("yaxis", "yaxis2", "yaxis3")]
    assert domains[0][1] == 1 and domains[2][0] >= 0
    assert domains[0][0] > domains[1][1] > domains[1][0] > domains[2][1]
    assert layout["xaxis"]["anchor"] == "y3" and layout["panels"] == 2
    assert [trace["yaxis"] for trace in figure["data"] if "yaxis" in trace] == ["y2", "y3"]
    bands = [shape for shape in layout["shapes"] if shape["type"] == "rect"]
    assert [(band["yref"], band["y0"], band["y1"]) for band in bands] == [("y2", 0.9, 1.1)]


def test_a_ratio_off_the_axis_is_a_triangle_at_its_edge() -> None:
    """Catches one far value that flattens all others, and one that is not drawn at all."""
    figure = of_picture(picture(ratios(1.0, 1.1, 0.95, 100.0, 0.01))).figure
    trace = next(one for one in figure["data"] if one.get("yaxis") == "y2")
    assert trace["y"] == [1.0, 1.1, 0.95, FARTHEST_RATIO, 1 / FARTHEST_RATIO]
    assert trace["marker"]["symbol"] == ["circle"] * 3 + ["triangle-up", "triangle-down"]


def test_ratios_that_are_all_far_have_an_axis_that_shows_them() -> None:
    """Catches a comparison with another machine whose ratios are all at the edge."""
    figure = of_picture(picture(ratios(7.5, 8.0))).figure
    trace = next(one for one in figure["data"] if one.get("yaxis") == "y2")
    assert trace["y"] == [7.5, 8.0] and 10 in figure["layout"]["yaxis2"]["tickvals"]


def test_bars_are_at_their_places_with_their_groups_as_ticks() -> None:
    """Catches bars that the library moves away from the published values beside them."""
    bars = SeriesStroke(
        "copy", "copy", 0, "solid", spots((0, 3.0), (1, 4.0), label="71 %"), {"": spots((1, 5.0))}
    )
    made = picture(plot="bars", strokes=(bars,), groups=("one", "two, <b>"), width=0.8)
    figure = of_picture(made).figure
    bar, published, _ = figure["data"]
    assert bar["type"] == "bar" and bar["x"] == [0, 1] and bar["width"] < 0.8 and bar["text"] == ["71 %"] * 2
    assert published["colour"] == -2  # seen on a bar of the method's own colour
    axis = figure["layout"]["xaxis"]
    assert axis["tickvals"] == [0, 1] and axis["ticktext"] == ["one", "two<br>&lt;b&gt;"]
    assert "type" not in axis and axis["range"][0] < -0.4 and axis["range"][1] > 1.4


@pytest.mark.parametrize(("scale", "at"), [("log", 1.699), ("linear", 50)])
def test_levels_and_marks_are_where_they_belong(scale: str, at: float) -> None:
    """Catches a label that a logarithmic axis puts elsewhere than its line."""
    made = picture(y_scale=scale, levels=(Label("peak", 50),), marks=(Label("L2", 2048),))
    layout = of_picture(made).figure["layout"]
    assert [shape.get("y0") for shape in layout["shapes"]] == [50, 0]
    assert layout["annotations"][0]["y"] == pytest.approx(at, abs=1e-3)
    assert layout["annotations"][1]["x"] == pytest.approx(3.3113, abs=1e-3)


def test_squares_are_in_rows_from_above() -> None:
    """Catches a map of methods whose first row is the last."""
    tiles = SeriesStroke("copy", "copy", 0, "solid", spots((1024, 0.0), (2048, 1.0)))
    made = picture(plot="tiles", strokes=(tiles,), groups=("explicit: a", "collective"))
    figure = of_picture(made).figure
    axis = figure["layout"]["yaxis"]
    assert axis["range"][0] > axis["range"][1] and axis["ticktext"] == ["explicit:<br>a", "collective"]
    assert figure["data"][0]["mode"] == "markers" and figure["data"][0]["marker"]["symbol"] == "square"
