"""A picture of a study's figure as plain data: curves, bars or tiles, with panels of ratios below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Part by which a ratio may differ from 1 within the band that is drawn around it.
BAND = 0.1


@dataclass(frozen=True)
class Spot:
    """A value; `low` to `high` is a published range. `label` is written beside it, `text` is its tooltip."""

    x: float
    y: float
    text: str
    low: float | None = None
    high: float | None = None
    label: str = ""


@dataclass(frozen=True)
class SeriesStroke:
    """The values of one series. `colour` belongs to its method; published values are told by system."""

    name: str
    method: str
    colour: int
    dash: str
    ours: tuple[Spot, ...]
    published: Mapping[str, tuple[Spot, ...]] = field(default_factory=dict)
    trend: tuple[tuple[float, float], ...] = ()  # points of a straight line through `ours`


@dataclass(frozen=True)
class Panel:
    """Ratios below the plot, on the same x axis. `band`: whether the range of BAND around 1 is drawn."""

    label: str
    strokes: tuple[SeriesStroke, ...]
    band: bool


@dataclass(frozen=True)
class Label:
    """A line across the plot at a value of x or y."""

    text: str
    at: float


@dataclass(frozen=True)
class Picture:
    """Axes are `log` or `linear`. `groups` are labels at whole numbers: of x for bars, of y for tiles."""

    plot: str  # lines, bars or tiles
    title: str
    caption: str
    x_label: str
    y_label: str
    x_scale: str
    y_scale: str
    strokes: tuple[SeriesStroke, ...]
    below: tuple[Panel, ...]
    ours: str  # how values of this run are called: measured or simulated
    groups: tuple[str, ...] = ()
    levels: tuple[Label, ...] = ()  # of y
    marks: tuple[Label, ...] = ()  # of x
    width: float = 0.0  # of a bar


@dataclass(frozen=True)
class Chip:
    """A verdict on a claim that rests on values of a figure; `kind` and `sign` tell verdicts apart."""

    verdict: str
    kind: str  # good, bad or open
    sign: str
    claim: str
    details: str
