"""The topics, one a file, in the order of the report: BUILDERS is the one list of them."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.summary import Cell, Run
from byteways.analyse.topic import Builder, Topic
from byteways.analyse.topics import (
    calls,
    energy,
    interference,
    loaded,
    memory_cost,
    memory_kinds,
    pages,
    ping_pong,
    rows,
    saturation,
    series,
    stream,
    study,
    submission,
    together,
)

BUILDERS: tuple[Builder, ...] = (
    study.topic,
    together.topic,
    ping_pong.topic,
    calls.topic,
    loaded.topic,
    interference.topic,
    energy.topic,
    memory_kinds.topic,
    memory_cost.topic,
    series.topic,
    stream.topic,
    saturation.topic,
    rows.topic,
    pages.topic,
    submission.topic,
)


def topics(run: Run, found: Sequence[Cell]) -> list[Topic]:
    """What this run has something to say about.

    Args:
        run: The run.
        found: Its cells.
    """
    built = (builder(run, found) for builder in BUILDERS)
    return [topic for topic in built if topic is not None and (topic.tables or topic.plots)]
