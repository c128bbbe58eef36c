"""What the report says of words there and back, of calls and of small copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from byteways.answers.claims.finding import Finding
from byteways.answers.results.index import Index
from byteways.cases.option_set import NO_OPTIONS, OptionSet
from byteways.questions.display.table import Table
from byteways.questions.display.topic import Topic
from byteways.questions.subjects import loaded
from byteways.questions.subjects.calls import launches, small_copies
from byteways.questions.subjects.ping_pong import cores, places
from byteways.questions.topics import topics
from byteways.record.run_folder import RunFolder
from tests.report import sample_run

KIB = sample_run.KIB


def told(build: sample_run.Builder, folder: Path, anchor: str) -> Topic | None:
    run = RunFolder(build.write(folder))
    return next((topic for topic in topics(Index.of(run)) if topic.anchor == anchor), None)


def ping_pong(
    build: sample_run.Builder,
    executor: str,
    partner: str,
    source: str,
    destination: str,
    round_ns: float,
    **cores: int,
) -> None:
    build.measure(
        "ping-pong",
        [(source, destination, executor)],
        0.0,
        size=8,
        cache="warm",
        latency_ns=round_ns,
        partner=partner,
        options=cores,
    )


def by_row(table: Table) -> dict[str, dict[str, str]]:
    return {row[0]: dict(zip(table.headings, row, strict=True)) for row in table.rows}


def test_cores_are_a_matrix_and_classes(tmp_path: Path) -> None:
    """Catches a matrix with one triangle, and cores of two domains under one class."""
    build = sample_run.Builder(sample_run.topology(0, 2))
    for first, second, round_ns in ((0, 1, 80.0), (0, 2, 100.0), (1, 2, 120.0)):
        ends = "cpu0:pageable", "cpu0:pageable"
        ping_pong(build, "cpu0", "cpu0", *ends, round_ns, core=first, partner_core=second)
    across = "cpu0:pageable", "cpu1:pageable"
    ping_pong(build, "cpu0", "cpu1", *across, 300.0, core=0, partner_core=0)
    topic = told(build, tmp_path / "run", "ping-pong")
    assert topic is not None
    classes, matrix = topic.tables
    rows = by_row(classes)
    assert rows["cpu0 and cpu1"]["median"] == "150 ns"
    within = [row for name, row in rows.items() if name != "cpu0 and cpu1"]
    assert sum(int(row["pairs"]) for row in within) == 3
    assert {within[0]["least"], within[-1]["most"]} == {"40 ns", "60 ns"}
    assert matrix.headings == ("device.core", "0.0", "0.1", "0.2", "1.0")
    assert by_row(matrix)["0.2"] == {"device.core": "0.2", "0.0": "50", "0.1": "60", "0.2": "", "1.0": ""}
    assert by_row(matrix)["1.0"]["0.0"] == "150"


def test_small_copies_are_those_that_were_also_waited_for(tmp_path: Path) -> None:
    """Catches every small copy of a run being called a cost of calls, and large ones in a table of small."""
    build = sample_run.Builder(sample_run.topology(2))
    ends = [("gpu0:device", "gpu1:device", "gpu0")]
    for size in (KIB, 4 * KIB, 1024 * KIB):
        build.measure("copy", ends, 0.5, size=size, submit_ns=1500.0)
        if size != 4 * KIB:
            build.measure("copy", ends, 0.1, size=size, options={"pace": "one-at-a-time"})
    topic = told(build, tmp_path / "run", "calls")
    assert topic is not None
    (table,) = topic.tables
    assert [row[1:] for row in table.rows] == [("1 KiB", "2.05 µs", "1.5 µs", "10.2 µs")]
    alone = sample_run.Builder(sample_run.topology(2))
    alone.measure("copy", ends, 0.5, size=KIB)
    assert told(alone, tmp_path / "alone", "calls") is None
    assert told(alone, tmp_path / "again", "ping-pong") is None


def titles(rule: Callable[[Index], Iterable[Finding]], build: sample_run.Builder, folder: Path) -> list[str]:
    return [finding.title for finding in rule(Index(RunFolder(build.write(folder))))]


@pytest.mark.parametrize(
    ("by_poll", "says"),
    [
        (2000.0, "Between GPUs, one-way latency is 600 ns by store, 67 % longer by poll (1 µs)"),
        (
            1202.0,
            "Between GPUs, one-way latency is 600 ns; no significant difference between by store and by poll",
        ),
    ],
)
def test_the_best_place_of_the_flags_is_said(tmp_path: Path, by_poll: float, says: str) -> None:
    """Catches the slower way named first, round trips called one way, and a winner within the intervals."""
    build = sample_run.Builder(sample_run.topology(2))
    for a, b in (("gpu0", "gpu1"), ("gpu1", "gpu0")):
        ping_pong(build, a, b, f"{b}:device", f"{a}:device", 1200.0)
        ping_pong(build, a, b, f"{a}:device", f"{b}:device", by_poll)
    ping_pong(build, "gpu0", "gpu0", "gpu0:device", "gpu0:device", 400.0)
    ping_pong(build, "cpu0", "gpu1", "cpu0:pinned", "cpu0:pinned", 1900.0)
    assert titles(places, build, tmp_path) == [
        says,
        "Between CPU and GPU, one-way latency is 950 ns with both words in host memory (pinned)",
    ]


def test_near_cores_are_counted(tmp_path: Path) -> None:
    """Catches a median that hides the pairs which share a core."""
    build = sample_run.Builder(sample_run.topology(0))
    for first, second, round_ns in ((0, 1, 50.0), (0, 2, 280.0), (0, 3, 300.0), (1, 2, 290.0), (1, 3, 310.0)):
        pair = {"core": first, "partner_core": second}
        ping_pong(build, "cpu0", "cpu0", "cpu0:pageable", "cpu0:pageable", round_ns, **pair)
    assert titles(cores, build, tmp_path) == [
        "Core-to-core latency: 145 ns (25 to 155 ns); 1 pair of 5 are faster than half of that"
    ]
    [finding] = cores(Index(RunFolder(tmp_path)))
    assert finding.detail.endswith("The close pairs take 25 ns.")  # what they share, no record says


def test_a_noisy_call_says_so(tmp_path: Path) -> None:
    """Catches what a launch or a small copy costs said as sure where a figure behind it is noisy."""
    build = sample_run.Builder(sample_run.topology(2))
    at, ends = [("gpu0:device", "gpu0:device", "gpu0")], [("gpu0:device", "gpu1:device", "gpu0")]
    noisy = [{"id": "noisy", "observed": 0.2, "required": 0.01, "advice": ""}]
    for pace, carried in (({}, []), ({"pace": "one-at-a-time"}, noisy)):
        told = {"latency_ns": 1450.0, "options": pace, "warnings": carried}
        build.measure("launch", at, 0.0, size=8, cache="warm", **told)
        build.measure("copy", ends, 0.5, size=KIB, options=pace, warnings=carried)
    for rule in (launches, small_copies):
        [title] = titles(rule, build, tmp_path / rule.__name__)
        assert title.endswith(" (noisy)")


def test_values_of_variables_in_a_title_are_left() -> None:
    """Catches a colon in a variable's value taken for the one after the executor."""
    walk = loaded.Walk("gpu0", "gpu1:device", 1 << 29, "warm", NO_OPTIONS, OptionSet({"LIST": "a: b"}))
    assert loaded._chart(walk, []).title == "gpu0 loads from gpu1:device, 512 MiB, LIST=a: b"
