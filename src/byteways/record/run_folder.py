"""Reads a run from disk: manifest, topology, records.

Tolerates interrupted runs: a partial last line is counted, a damaged line in the middle is counted and
named, and everything else is returned.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from byteways.base.decoding import decoded
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_LINES_BYTES, MOST_MANIFEST_BYTES, lines_of, read_bytes
from byteways.base.system_errors import hint_for, unusable
from byteways.base.writing import DRAFT
from byteways.machine.model import Topology
from byteways.record import manifest_types, version1
from byteways.record.journal_lines import JournalLines
from byteways.record.record import FIRST_SCHEMA_VERSION, READABLE_VERSIONS, SCHEMA_VERSION, Record
from byteways.record.samples import SAMPLES_FILE, Samples, SamplesFile
from byteways.record.simulation_mark import is_simulated

MANIFEST = "run.json"
JOURNAL = "measurements.jsonl"
REPORT = "report.html"
LOG = "workers.log"
PLAN = "plan.jsonl"
#: Of a run between hosts: their names and the rule of its pairs; and what its launcher read last.
HOSTS, HOSTS_OF_JOB = "hosts.json", "hosts.txt"
#: Input of the simulator.
SHEET = "machine.sheet"
#: Files in a run folder before the manifest exists, besides drafts.
BEFORE_MEASURING = (JOURNAL, SAMPLES_FILE, PLAN, LOG, SHEET, HOSTS, HOSTS_OF_JOB)


@dataclass
class JournalText:
    """The content of a journal: records, and lines that are invalid."""

    records: list[Record] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)  # line numbers from 1
    reasons: list[str] = field(default_factory=list)  # why each damaged line is invalid
    doubled: list[int] = field(default_factory=list)  # lines with the case and round of an earlier one
    unfinished_bytes: int = 0  # length of a partial last line
    finished_bytes: int = 0  # length of everything before it


def read_journal(
    path: Path, schema_version: int = SCHEMA_VERSION, devices: Collection[str] | None = None
) -> JournalText:
    """Reads a journal in any state; a missing file is empty.

    Args:
        path: The file.
        schema_version: Of the run.
        devices: Of the run's machine; None: unknown.

    Raises:
        BytewaysError: The file cannot be read.
    """
    text = JournalText()
    seen: set[tuple[str, int]] = set()
    lines = JournalLines(devices, schema_version)
    try:
        for number, line in enumerate(lines_of(path, MOST_LINES_BYTES), start=1):
            if not line.endswith(b"\n"):
                text.unfinished_bytes = len(line)
                break
            text.finished_bytes += len(line)
            try:
                record = lines.record(line[:-1])
            except ValueError as error:
                text.damaged.append(number)
                text.reasons.append(str(error))
                continue
            if (key := (record.case_id, record.round)) in seen:
                text.doubled.append(number)
            else:
                seen.add(key)
                text.records.append(record)
    except FileNotFoundError:
        return JournalText()
    except OSError as error:
        raise unusable(f"cannot read {path}", error, "see its owner and mode") from error
    return text


def read_manifest(folder: Path) -> dict[str, Any]:
    """Reads the manifest of a run folder.

    Raises:
        BytewaysError: It is missing or damaged, or a newer byteways wrote it.
    """
    path = folder / MANIFEST
    hint = "name the folder that `byteways run` made"
    if folder.is_file() and (folder.parent / MANIFEST).is_file():
        hint = f"name the folder it is in: {folder.parent}"
    try:
        manifest = decoded(read_bytes(path, MOST_MANIFEST_BYTES))
    except FileNotFoundError as error:
        if (folder / JOURNAL).exists() and is_left_over(folder):
            what = f"the run in {folder} was ended before it began to measure"
            again = f"start it again, into the same folder: byteways run --out {folder}"
            raise BytewaysError(what, cause=f"it has no {MANIFEST}", hint=again) from error
        if (folder / JOURNAL).is_file():
            lost = damaged_manifest(path, "")
            raise BytewaysError(f"{folder} has lost its {MANIFEST}", hint=lost.hint) from error
        raise BytewaysError(
            f"{folder} is not a run folder", cause=f"{path}: {error.strerror}", hint=hint
        ) from error
    except OSError as error:
        raise BytewaysError(
            f"{folder} is not a run folder",
            cause=f"{path}: {error.strerror}",
            hint=hint if isinstance(error, NotADirectoryError) else hint_for(error) or hint,
        ) from error
    except ValueError as error:
        raise damaged_manifest(path, f"not JSON: {error}") from error
    if not isinstance(manifest, dict) or not {"schema_version", "format_version"} & {*manifest}:
        raise damaged_manifest(path, "it has no schema_version")
    if "schema_version" not in manifest:
        manifest = version1.manifest(manifest)
    version = manifest["schema_version"]
    if type(version) is not int:
        raise damaged_manifest(path, "its schema_version is not a number")
    if version not in READABLE_VERSIONS:
        raise BytewaysError(
            f"{folder} has schema version {version}, this byteways reads {SCHEMA_VERSION}",
            hint="read it with the version of byteways that wrote it",
        )
    try:
        manifest_types.check(manifest)
    except ValueError as error:
        raise damaged_manifest(path, str(error)) from error
    return cast(dict[str, Any], manifest)


def is_left_over(folder: Path) -> bool:
    """Whether everything in a folder was left by a run that ended before measuring.

    Raises:
        OSError: The folder cannot be read.
    """
    journal = folder / JOURNAL
    entries = [entry.name for entry in folder.iterdir()]
    ours = all(name in BEFORE_MEASURING or DRAFT.fullmatch(name) for name in entries)
    return ours and not (journal.exists() and journal.stat().st_size)


def damaged_manifest(path: Path, cause: str) -> BytewaysError:
    """Returns the error for an unusable manifest: the records are intact, but their machine is unknown."""
    figures = path.with_name(JOURNAL)
    hint = "restore it from a copy, or measure again: byteways run"
    if figures.exists():
        hint = f"restore it from a copy; the results are in {figures}, one JSON record per line"
    return BytewaysError(f"{path} is damaged", cause=cause, hint=hint)


class RunFolder:
    """A run, read lazily from its folder.

    Args:
        path: The folder that `byteways run` made.

    Raises:
        BytewaysError: The folder is not a run (manifest missing or damaged).
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.manifest = read_manifest(self.path)

    @cached_property
    def topology(self) -> Topology:
        try:
            return Topology.from_json(self.manifest["topology"])
        except ValueError as error:
            raise damaged_manifest(self.path / MANIFEST, f"topology: {error}") from error

    @cached_property
    def journal(self) -> JournalText:
        return read_journal(self.path / JOURNAL, self.manifest["schema_version"], self.topology.names())

    @cached_property
    def records(self) -> list[Record]:
        """Records in the order of measurement. Version 1 records are compared with physical limits here,
        later ones were when they were made.
        """
        if self.manifest["schema_version"] != FIRST_SCHEMA_VERSION:
            return self.journal.records
        from byteways.plan.physical import judged_all  # for early runs only

        probed = (self.manifest.get("capabilities") or {}).get("devices") or {}
        return judged_all(self.journal.records, self.topology, probed)

    def samples(self, record: Record) -> Samples | None:
        """Returns the samples of a record of this run; None if there are none.

        Raises:
            BytewaysError: The samples file cannot be read.
        """
        if record.samples_ns is not None:  # early runs had no separate file
            return Samples(record.case_id, record.round, record.samples_ns)
        return self._samples.of(record.case_id, record.round)

    @cached_property
    def _samples(self) -> SamplesFile:
        return SamplesFile(self.path / SAMPLES_FILE)

    @property
    def doubled_lines(self) -> int:
        """Number of ignored records whose case and round an earlier line already has."""
        return len(self.journal.doubled)

    @property
    def damaged_lines(self) -> int:
        """Number of invalid lines, including a partial last one."""
        return len(self.journal.damaged) + (1 if self.journal.unfinished_bytes else 0)


def refuse_mix(runs: Sequence[RunFolder]) -> None:
    """Rejects combining measured and simulated runs.

    Raises:
        BytewaysError: Some runs were simulated and some measured; their values are not comparable.
    """
    simulated = [str(run.path) for run in runs if is_simulated(run.manifest)]
    measured = [str(run.path) for run in runs if not is_simulated(run.manifest)]
    if simulated and measured:
        raise BytewaysError(
            "simulated and measured runs are not put side by side",
            cause=f"simulated: {', '.join(simulated)}; measured: {', '.join(measured)}",
            hint="name runs of one kind",
        )
