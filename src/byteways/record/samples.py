"""The samples of a run: `samples.jsonl`, one line per record with values, keyed by case and round.

They are separate from the records, so that reading a run need not read them. A line is on disk before its
record: every record has its samples, and a line without record is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from byteways.base.decoding import converted, decoded
from byteways.base.errors import BytewaysError
from byteways.base.files import MOST_LINES_BYTES, open_regular
from byteways.base.json_text import json_line
from byteways.base.system_errors import unusable
from byteways.record.record import Record

SAMPLES_FILE = "samples.jsonl"

#: On resuming, a partial last line is moved to this file.
SAMPLES_CUT_OFF = "samples.cut-off"


@dataclass(frozen=True)
class Samples:
    """The samples of one record, in nanoseconds per operation."""

    case_id: str
    round: int
    samples_ns: list[float]  # by the clock that the record names in `timed_by`
    device_ns: list[float] | None = None
    submit_ns: list[float] | None = None  # host time to enqueue
    host_ns: list[float] | None = None  # host time including submission and wait
    discarded: list[dict[str, Any]] | None = None  # repeated samples: `reason`, `time_ns`
    flows: list[dict[str, Any]] | None = None  # of concurrent flows: `path`, `operations`, releases, marks

    def to_json(self) -> dict[str, Any]:
        """Returns the line's data, without absent fields."""
        told = ((entry.name, getattr(self, entry.name)) for entry in fields(self))
        return {name: value for name, value in told if name == "samples_ns" or value not in (None, [])}


#: Returns the samples of a record of a run.
SamplesOf = Callable[[Record], Samples | None]


@dataclass(frozen=True)
class _Key:
    case_id: str
    round: int


def of_outcome(case_id: str, round: int, outcome: Mapping[str, Any]) -> Samples | None:
    """Returns the samples in a worker's answer; None if it timed nothing.

    Raises:
        ValueError: The samples are invalid.
    """

    if outcome.get("samples_ns") is None and outcome.get("samples") is None:
        return None
    more = outcome.get("samples") or {}
    if not isinstance(more, Mapping):
        raise ValueError("samples are not a table")
    data = {"samples_ns": outcome.get("samples_ns") or [], **more, "case_id": case_id, "round": round}
    return converted(data, Samples)


def encode(samples: Samples) -> bytes:
    """Returns the line. Raises ValueError for a time that is NaN or infinite."""
    return json_line(samples.to_json())


class SamplesFile:
    """The samples in a run folder, read on demand.

    Args:
        path: The file; a missing one is empty.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, case_id: str, round: int) -> Samples | None:
        """Returns the samples of a record; None if there are none or the line is damaged.

        Raises:
            BytewaysError: The file cannot be read.
        """
        place = self._places.get((case_id, round))
        if place is None:
            return None
        offset, length = place
        try:
            with open_regular(self._path) as file:
                file.seek(offset)
                found: Samples = decoded(file.read(length), Samples)
        except OSError as error:
            raise _unreadable(self._path, error) from error
        except ValueError:
            return None
        return found

    @cached_property
    def _places(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Returns offset and length by key, of the last line per key: earlier ones belong to no record."""
        places: dict[tuple[str, int], tuple[int, int]] = {}
        try:
            with open_regular(self._path) as file:
                offset = 0
                while line := file.readline(MOST_LINES_BYTES):
                    try:
                        key = decoded(line, _Key)
                    except ValueError:
                        key = None
                    if key is not None and line.endswith(b"\n"):
                        places[key.case_id, key.round] = offset, len(line)
                    offset += len(line)
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise _unreadable(self._path, error) from error
        return places


def _unreadable(path: Path, error: OSError) -> BytewaysError:
    return unusable(f"cannot read {path}", error, "see its owner and mode")
