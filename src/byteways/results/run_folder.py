"""A run as it lies on disk, opened for reading: manifest, topology, records.

Tolerant where a run may have been cut short: a last line that is incomplete is counted, a damaged line in the
middle is counted and named, and everything else is still there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from byteways.errors import BytewaysError
from byteways.results import version1
from byteways.results.physical import judged_all
from byteways.results.record import STATUSES, Record
from byteways.results.simulated import is_simulated
from byteways.topology.model import Topology

MANIFEST = "run.json"
JOURNAL = "measurements.jsonl"
REPORT = "report.html"
LOG = "workers.log"

SCHEMA_VERSION = 2
#: Of earlier runs, which are read by their old names (version1.py).
FIRST_SCHEMA_VERSION = 1

#: What of a manifest a run cannot be read or taken up without.
NEEDED = ("state", "suite", "options", "planned", "topology", "fingerprint")


@dataclass(frozen=True)
class JournalText:
    """What is in a journal: the records, and which lines are none."""

    records: list[Record] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)  # line numbers from 1
    unfinished_bytes: int = 0  # length of a last line that was cut off
    finished_bytes: int = 0  # length up to there


def parse_line(line: bytes, schema_version: int = SCHEMA_VERSION) -> Record:
    """One line of a journal. Raises ValueError when it is no record."""
    try:
        data = json.loads(line)
        record = Record.from_json(version1.record(data) if schema_version == 1 else data)
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"not a record: {error}") from error
    if (
        record.status not in STATUSES
        or not isinstance(record.case_id, str)
        or not isinstance(record.round, int)
    ):
        raise ValueError("not a record: status, case_id or round are wrong")
    return record


def read_journal(path: Path, schema_version: int = SCHEMA_VERSION) -> JournalText:
    """Reads a journal, whatever state it is in; a file that is not there is empty."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return JournalText()
    finished = content.rfind(b"\n") + 1
    records: list[Record] = []
    damaged: list[int] = []
    for number, line in enumerate(content[:finished].splitlines(), start=1):
        try:
            records.append(parse_line(line, schema_version))
        except ValueError:
            damaged.append(number)
    return JournalText(records, damaged, len(content) - finished, finished)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run folder.

    Raises:
        BytewaysError: There is none, it is damaged, or a newer byteways wrote it.
    """
    path = folder / MANIFEST
    hint = "name the folder that `byteways run` made"
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
    except OSError as error:
        raise BytewaysError(
            f"{folder} is no run folder", cause=f"{path}: {error.strerror}", hint=hint
        ) from error
    except ValueError as error:
        raise damaged_manifest(path, f"it is no JSON: {error}") from error
    if not isinstance(manifest, dict) or not {"schema_version", "format_version"} & {*manifest}:
        raise damaged_manifest(path, "it has no schema_version")
    if "schema_version" not in manifest:
        manifest = version1.manifest(manifest)
    if manifest["schema_version"] not in (FIRST_SCHEMA_VERSION, SCHEMA_VERSION):
        raise BytewaysError(
            f"{folder} has schema version {manifest['schema_version']}, this byteways reads {SCHEMA_VERSION}",
            hint="read it with the version of byteways that wrote it",
        )
    if missing := [name for name in NEEDED if name not in manifest]:
        raise damaged_manifest(path, f"it has no {', '.join(missing)}")
    return manifest


def damaged_manifest(path: Path, cause: str) -> BytewaysError:
    """What to say of a manifest that cannot be used: the figures beside it are whole, without their
    machine.
    """
    figures = path.with_name(JOURNAL)
    hint = "restore it from a copy, or measure again: byteways run"
    if figures.exists():
        hint = f"restore it from a copy; the figures are in {figures}, a JSON record a line"
    return BytewaysError(f"{path} is damaged", cause=cause, hint=hint)


class RunFolder:
    """A run, read from its folder when asked for.

    Args:
        path: The folder that `byteways run` made.

    Raises:
        BytewaysError: It is none (no or damaged manifest).
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)

    @cached_property
    def topology(self) -> Topology:
        try:
            return Topology.from_json(self.manifest["topology"])
        except (KeyError, TypeError) as error:
            raise damaged_manifest(self.path / MANIFEST, f"topology: {error!r}") from error

    @cached_property
    def journal(self) -> JournalText:
        return read_journal(self.path / JOURNAL, self.manifest["schema_version"])

    @cached_property
    def records(self) -> list[Record]:
        """In the order in which they were measured. Those of version 1 are held against physical limits here,
        later ones were when they were made.
        """
        if self.manifest["schema_version"] != FIRST_SCHEMA_VERSION:
            return self.journal.records
        probed = (self.manifest.get("capabilities") or {}).get("devices") or {}
        return judged_all(self.journal.records, self.topology, probed)

    @property
    def damaged_lines(self) -> int:
        """Lines that are no record, a last one that was cut off included."""
        return len(self.journal.damaged) + (1 if self.journal.unfinished_bytes else 0)


def refuse_mix(runs: Sequence[RunFolder]) -> None:
    """For everything that puts runs side by side.

    Raises:
        BytewaysError: Some were simulated and some measured; figures of the two say nothing of each other.
    """
    simulated = [str(run.path) for run in runs if is_simulated(run.manifest)]
    measured = [str(run.path) for run in runs if not is_simulated(run.manifest)]
    if simulated and measured:
        raise BytewaysError(
            "simulated and measured runs are not put side by side",
            cause=f"simulated: {', '.join(simulated)}; measured: {', '.join(measured)}",
            hint="name runs of one kind",
        )
