"""What simulated runs of every interface record, and what is said of them, as text.

    python -m tests.cli.records_of_models

writes the files of tests/cli/recorded again, after a change of what is recorded that is meant: the difference
of the files shows it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.cli.called import byteways
from tests.unit.said_of_runs import of_run

FOLDER = Path(__file__).with_name("recorded")
#: Suite and the words of the command line, by the name of the text.
RUNS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "h200-x4": ("within_a_process", ("--machine", "h200-x4")),
    "elcap-mi300a": ("within_a_process", ("--machine", "elcap-mi300a")),
    "h200-x4-ranks": ("between_ranks", ("--machine", "h200-x4", "--ranks", "2")),
    "elcap-mi300a-ranks": ("between_ranks", ("--machine", "elcap-mi300a", "--ranks", "2")),
}
#: Fields that differ from run to run, or follow from the others; those of the table's line.
LEFT_OUT = ("case_id", "started_at", "wall_s", "worker", "method_version", "simulated", "warnings", "health")
OF_CASE = (
    "interface",
    "pattern",
    "path",
    "source",
    "destination",
    "executor",
    "size_bytes",
    "cache",
    "options",
)
OF_LINE = ("sweep", "round", *OF_CASE, "status", "reason")
#: Significant digits, and what is too small to be told from 0: the rest may differ among compilers.
DIGITS = 4
LEAST = 0.1


def text(name: str) -> str:
    """Runs a suite of the folder: its records, and what is said of them."""
    suite, words = RUNS[name]
    with tempfile.TemporaryDirectory() as folder:
        command = ("run", str(FOLDER / f"{suite}.toml"), *words, "--no-report", "--out", "R")
        done = byteways(Path(folder), *command)
        assert done.returncode == 0, done.stderr
        lines = (Path(folder) / "R" / "measurements.jsonl").read_text(encoding="utf-8").splitlines()
        return text_of([json.loads(line) for line in lines]) + "\n" + of_run(Path(folder) / "R")


def text_of(found: list[dict[str, Any]]) -> str:
    """A line for each case, with the figures of its rounds. The first of each interface in a sweep has all
    fields of its first round below it.
    """
    lines: list[str] = []
    told: set[tuple[str, str]] = set()
    for _, rounds in groupby(sorted(found, key=_place), key=lambda record: _place(record)[:-1]):
        first, *others = rounds
        lines.append(_line([first, *others]))
        kind = first["sweep"], first["interface"]
        if first["status"] != "skipped" and kind not in told:
            told.add(kind)
            lines += _fields(first)
    return "\n".join(lines) + "\n"


def _place(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The order of rounds is drawn at random, by case."""
    return (record["sweep"], *(json.dumps(record[name]) for name in OF_CASE), str(record["round"]))


def _line(rounds: list[dict[str, Any]]) -> str:
    record = rounds[0]
    who = f"{record['interface']} {record['pattern']} {record['path']} by {record['executor']}"
    what = f"{record['source']} > {record['destination']}, {record['size_bytes']} B, {record['cache']}"
    options = " ".join(f"{name}={value}" for name, value in record["options"].items())
    found = [one["reason"] or f"{_plain(one['time_ns']['median'])} ns" for one in rounds]
    statuses = dict.fromkeys(one["status"] for one in rounds)
    names = dict.fromkeys(warning["id"] for one in rounds for warning in one.get("warnings", ()))
    parts = (f"{record['sweep']}: {who}", what, options, *statuses, *found, *names)
    return "; ".join(part for part in parts if part)


def _fields(record: Mapping[str, Any]) -> Iterator[str]:
    for name, value in record.items():
        if name not in (*LEFT_OUT, *OF_LINE):
            yield f"    {name}: {_plain(value)}"
    for warning in record.get("warnings", ()):
        yield f"    {warning['id']}: {_plain(warning['observed'])}, {_plain(warning['required'])}"


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}" if abs(value) >= LEAST or value == 0 else f"under {LEAST}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    return " ".join(_plain(one) for one in value) if isinstance(value, list) else str(value)


if __name__ == "__main__":
    for asked in sys.argv[1:] or RUNS:
        (FOLDER / f"{asked}.txt").write_text(text(asked), encoding="utf-8")
