"""The topics of a run, in report order."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.explain.display.topic import Topic
from byteways.explain.results.summary import RecordedRun, Result
from byteways.explain.subjects import TOPICS


def topics(run: RecordedRun, found: Sequence[Result]) -> list[Topic]:
    """Returns the topics for which this run has data.

    Args:
        run: The run.
        found: Its cells.
    """
    built = (builder(run, found) for builder in TOPICS)
    return [topic for topic in built if topic is not None and (topic.tables or topic.charts)]
