"""How a source draws a figure: the kind of plot, its axes, its series and their order (study.toml)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

#: The plot of each kind of figure, unless the drawing names another.
PLOT_OF = {
    "curve": "lines",
    "table": "bars",
    "highest": "bars",
    "ratio": "bars",
    "best": "tiles",
    **dict.fromkeys(("map", "matrix", "hops", "grid"), "matrix"),
}
#: Units of axes beside the figure's own, GB/s: how many of them are one GB/s.
PER_GB = {"GiB/s": 1e9 / 2**30}


@dataclass(frozen=True)
class DrawnValue:
    """A value of a drawing; `size_bytes` is None where the figure's own size is meant, or all sizes."""

    line: str
    place: str
    size_bytes: int | None = None


@dataclass(frozen=True)
class Track:
    """A curve, or the bars of one colour. `cells` has one for a curve, and one for each group of bars."""

    name: str
    cells: tuple[DrawnValue, ...]
    method: str  # has one colour in all figures of a study
    dash: str = "solid"


@dataclass(frozen=True)
class Level:
    """A line across the plot: at a size in bytes, or at a value in the figure's unit."""

    label: str
    at: float


class Against(Struct, frozen=True, forbid_unknown_fields=True):
    """A quotient that the source draws: the values of track `of` over those of track `to`."""

    name: str
    of: str
    to: str


@dataclass(frozen=True)
class Drawing:
    """The plot of a figure. Groups and tracks are in the source's order."""

    plot: str  # over size; bars, single or in groups; rows × columns of numbers; the best method by size
    x: str = "log"  # scale of sizes
    y: tuple[str, ...] = ("linear",)  # scales of values; the same data are drawn once for each
    tracks: tuple[Track, ...] = ()
    groups: tuple[str, ...] = ()  # of bars
    alone: bool = False  # each track is the only bar of its group, which has its name
    apart: tuple[str, ...] = ()  # groups with an axis of their own
    levels: tuple[Level, ...] = ()  # of y
    marks: tuple[Level, ...] = ()  # of x
    caches: bool = False  # mark the cache sizes of this machine on x
    maxima: bool = False  # label the highest point of each curve
    trends: bool = False  # draw a straight line through each curve: time proportional to size plus a constant
    label: str = ""  # of bars: their part of the nominal peak, or their speed over the first series
    rows: str = "downwards"  # or upwards, as pictures with their origin below
    diagonal: bool = True  # whether a matrix shows pairs of a device with itself
    unit: str = ""  # of the values, one of PER_GB; '': the figure's
    against: tuple[Against, ...] = ()


def methods_of(drawings: Sequence[Drawing]) -> dict[str, int]:
    """Returns a colour for each method of a study: the first that no method of the same figures has.

    A figure with more methods than a page has colours repeats some; dashes and symbols tell them apart.
    """
    beside: dict[str, set[str]] = {}
    for drawing in drawings:
        together = dict.fromkeys(track.method for track in drawing.tracks)
        for method in together:
            beside.setdefault(method, set()).update(together)
    colours: dict[str, int] = {}
    for method, others in beside.items():
        taken = {colours[other] for other in others if other in colours}
        colours[method] = next(number for number in range(len(beside) + 1) if number not in taken)
    return colours
