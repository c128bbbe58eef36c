"""The topics of a run, in report order."""

from __future__ import annotations

from byteways.answers.results.index import Index
from byteways.questions.display.topic import Topic
from byteways.questions.subjects import TOPICS


def topics(index: Index) -> list[Topic]:
    """Returns the topics for which this run has data."""
    built = (builder(index) for builder in TOPICS)
    return [topic for topic in built if topic is not None and (topic.tables or topic.charts)]
