"""Runs of ranks, indexed, and their topics, for tests of what is told of them."""

from __future__ import annotations

from pathlib import Path

from byteways.answers.results.index import Index
from byteways.questions.display.table import Table
from byteways.questions.display.topic import Topic
from byteways.questions.findings import findings
from byteways.questions.topics import topics
from byteways.record.run_folder import RunFolder
from tests.report import rank_runs


def all_ranks(folder: Path) -> Index:
    return Index(RunFolder(rank_runs.of_all().write(folder)))


def topic_of(index: Index, anchor: str) -> Topic:
    return next(topic for topic in topics(index) if topic.anchor == anchor)


def column(table: Table, heading: str) -> list[str]:
    at = table.headings.index(heading)
    return [row[at] for row in table.rows]


def titles(index: Index) -> list[str]:
    return [finding.title for finding in findings(index)]
