"""The lines of links, and where their numbers stand without covering each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from byteways.report.node.boxes import PICTURE_WIDTH, Box

#: Of a number: width of a letter, and height, in units of the picture.
LETTER_WIDTH, NUMBER_HEIGHT = 7.4, 13.0
#: Where along a line a number may stand, best first.
ALONG = (0.5, 0.36, 0.64, 0.28, 0.72, 0.2, 0.8)
#: The same for a slanted line, which others cross in the middle.
SLANTED = (0.36, 0.64, 0.28, 0.72, 0.2, 0.8, 0.5)
#: A number stands above a horizontal stroke that is wider.
WIDE_STROKE = 7.0

_Point = tuple[float, float]


@dataclass(frozen=True)
class PathLine:
    """A straight or cubic line: SVG path data, and its four control points."""

    path: str
    points: tuple[_Point, _Point, _Point, _Point]
    along: tuple[float, ...] = ALONG

    def at(self, part: float) -> _Point:
        """Returns the point at a part of the way (Bernstein form)."""
        rest = 1 - part
        weights = rest**3, 3 * rest**2 * part, 3 * rest * part**2, part**3
        x, y = (
            sum(weight * point[axis] for weight, point in zip(weights, self.points, strict=True))
            for axis in (0, 1)
        )
        return x, y

    @property
    def level(self) -> bool:
        return max(point[1] for point in self.points) - min(point[1] for point in self.points) < 1


def straight(first: Box, second: Box) -> PathLine:
    """Returns the line between the edges of two boxes; its path goes on to their middles, below them."""
    start, end = _edge(first, second), _edge(second, first)
    third = [
        (start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1]))
        for part in (1 / 3, 2 / 3)
    ]
    (x0, y0), (x1, y1) = first.middle, second.middle
    slanted = min(abs(x1 - x0), abs(y1 - y0)) > 60
    path = f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"
    return PathLine(path, (start, third[0], third[1], end), SLANTED if slanted else ALONG)


def _edge(box: Box, towards: Box) -> _Point:
    """Returns where the line to another box leaves this one."""
    (x, y), (x1, y1) = box.middle, towards.middle
    across, down = abs(x1 - x), abs(y1 - y)
    part = min(box.width / 2 / across if across else 9.0, box.height / 2 / down if down else 9.0, 0.5)
    return x + part * (x1 - x), y + part * (y1 - y)


def around(cpu: Box, gpu: Box) -> PathLine:
    """Returns the line from a CPU beside the ring to a farther GPU, which passes the nearer ones outside."""
    (x0, y0), (x1, y1) = cpu.middle, gpu.middle
    corner = x0, y1
    # A quadratic as a cubic.
    inner = [(x + 2 / 3 * (corner[0] - x), y + 2 / 3 * (corner[1] - y)) for x, y in ((x0, y0), (x1, y1))]
    return _cubic(((x0, y0), inner[0], inner[1], (x1, y1)), ALONG)


def between_layers(upper: Box, lower: Box) -> PathLine:
    """Returns a line with vertical ends from one layer to a lower one; straight down to a fabric."""
    start = upper.middle[0]
    end = start if lower.kind == "fabric" else lower.middle[0]
    if upper.kind == "fabric":
        start = end
    bend = (lower.y - upper.bottom) / 2
    points = (
        (start, upper.bottom),
        (start, upper.bottom + bend),
        (end, lower.y - bend),
        (end, lower.y),
    )
    # First near the end where the lines of a layer have diverged.
    return _cubic(points, (0.5, 0.36, 0.64) if start == end else (0.74, 0.66, 0.82, 0.58, 0.5))


def arc(first: Box, second: Box) -> PathLine:
    """Returns an arc below two boxes of one row, deeper for a greater distance."""
    left, right = sorted((first, second), key=lambda box: box.x)
    span = right.middle[0] - left.middle[0]
    # A cubic reaches three quarters of the depth of its control points.
    depth = left.bottom + (14.0 + 30.0 * span / PICTURE_WIDTH) / 0.75
    a, b = left.middle[0], right.middle[0]
    return _cubic(((a, left.bottom), (a, depth), (b, depth), (b, right.bottom)), ALONG)


def _cubic(points: tuple[_Point, _Point, _Point, _Point], along: tuple[float, ...]) -> PathLine:
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = points
    path = f"M{x0:.1f} {y0:.1f}C{x1:.1f} {y1:.1f} {x2:.1f} {y2:.1f} {x3:.1f} {y3:.1f}"
    return PathLine(path, points, along)


class Labels:
    """Finds a place for each number: on its line, free of boxes and of earlier numbers."""

    def __init__(self, boxes: Iterable[Box]) -> None:
        self._taken = [(box.x, box.y, box.x + box.width, box.bottom) for box in boxes]

    def place(self, line: PathLine, text: str, width: float) -> _Point:
        """Returns the middle of the number; where nothing is free, the best place of its line."""
        tried = []
        for part in line.along:
            x, y = line.at(part)
            if line.level and width > WIDE_STROKE:
                y -= width / 2 + NUMBER_HEIGHT / 2
            half = LETTER_WIDTH * len(text) / 2
            area = x - half, y - NUMBER_HEIGHT / 2, x + half, y + NUMBER_HEIGHT / 2
            tried.append((self._overlap(area), (x, y), area))
            if not tried[-1][0]:
                break
        _, at, area = min(tried, key=lambda entry: entry[0])
        self._taken.append(area)
        return at

    def _overlap(self, area: tuple[float, float, float, float]) -> float:
        """Returns the surface that is taken already."""
        covered = 0.0
        for left, top, right, bottom in self._taken:
            wide = min(area[2], right) - max(area[0], left)
            high = min(area[3], bottom) - max(area[1], top)
            if wide > 0 and high > 0:
                covered += wide * high
        return covered
