"""The samples of a run: `samples.jsonl`, a line for every record with figures, keyed by case and round.

They lie beside the records, so that reading a run does not read them all. A line is on the disk before its
record is: a record has its samples, and a line whose record never came is read over.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from byteways.decoding import converted, decoded
from byteways.errors import BytewaysError
from byteways.files import MOST_LINES_BYTES, open_regular
from byteways.results.record import Record

SAMPLES = "samples.jsonl"

#: Where the end of the file goes that was cut off in the middle of a line.
CUT_OFF = "samples.cut-off"


@dataclass(frozen=True)
class Samples:
    """What was timed for one record, in nanoseconds per operation, a value a sample."""

    case_id: str
    round: int
    samples_ns: list[float]  # by the clock that the record names in `timed_by`
    device_ns: list[float] | None = None
    submit_ns: list[float] | None = None  # of the host, for enqueueing
    host_ns: list[float] | None = None  # of the host, submission and waiting included
    discarded: list[dict[str, Any]] | None = None  # samples that were taken again: `reason`, `time_ns`
    flows: list[dict[str, Any]] | None = None  # of concurrent ones: `path`, `operations`, releases, marks

    def to_json(self) -> dict[str, Any]:
        """The line, without what this record does not have."""
        told = ((entry.name, getattr(self, entry.name)) for entry in fields(self))
        return {name: value for name, value in told if name == "samples_ns" or value not in (None, [])}


#: Finds the samples of a record of a run.
SamplesOf = Callable[[Record], Samples | None]


@dataclass(frozen=True)
class _Key:
    case_id: str
    round: int


def of_outcome(case_id: str, round: int, outcome: Mapping[str, Any]) -> Samples | None:
    """The samples in a worker's answer; None: it timed nothing.

    Raises:
        ValueError: They are none.
    """

    if outcome.get("samples_ns") is None and outcome.get("samples") is None:
        return None
    more = outcome.get("samples") or {}
    if not isinstance(more, Mapping):
        raise ValueError("samples are not a table")
    data = {"samples_ns": outcome.get("samples_ns") or [], **more, "case_id": case_id, "round": round}
    return converted(data, Samples)


def encode(samples: Samples) -> bytes:
    """The line. Raises ValueError when a time is not a number."""
    return json.dumps(samples.to_json(), separators=(",", ":"), allow_nan=False).encode() + b"\n"


class SamplesFile:
    """The samples in a run folder, each read when it is asked for.

    Args:
        path: Of the file; one that is not there holds nothing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, case_id: str, round: int) -> Samples | None:
        """The samples of a record; None: there are none, or their line is damaged.

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
        """Offset and length of lines by key: the last of a key, as those before it belong to no record."""
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
    return BytewaysError(f"cannot read {path}", cause=error.strerror, hint="see its owner and mode")
