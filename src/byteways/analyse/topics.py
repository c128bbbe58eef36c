"""The topics of a run, in the order of the report."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.analyse.subjects import TOPICS
from byteways.analyse.summary import Cell, Run
from byteways.analyse.topic import Topic


def topics(run: Run, found: Sequence[Cell]) -> list[Topic]:
    """What this run has something to say about.

    Args:
        run: The run.
        found: Its cells.
    """
    built = (builder(run, found) for builder in TOPICS)
    return [topic for topic in built if topic is not None and (topic.tables or topic.plots)]
