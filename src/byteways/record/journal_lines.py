"""Reads the lines of one journal to records that share what they repeat.

Every line is complete: each round of a case repeats its definition, and 100,000 records have a few hundred
different texts. A definition that equals that of an earlier round is not checked again. Shared values take
less memory, and more of what is looked up is in the processor's caches.
"""

from __future__ import annotations

from collections.abc import Collection
from operator import attrgetter
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from byteways.base.decoding import decoded
from byteways.record import version1, version2
from byteways.record.record import DEFINITION_FIELDS, FIRST_SCHEMA_VERSION, SCHEMA_VERSION, Record
from byteways.record.record_check import Checker, wrong_outcome

#: Maximum bytes of a journal line; real ones have some thousands.
MOST_LINE_BYTES = 16 << 20

#: Fields that they usually repeat.
USUALLY_REPEATED = (
    *(
        "status",
        "reason",
        "reason_code",
        "method_version",
        "timed_by",
        "gated",
        "slope",
        "timer_resolution_ns",
        "counts",
    ),
    *("peak_bytes_per_s", "peak_source", "limit_bytes_per_s", "limit_source", "rests_on", "simulated"),
    *(
        "engine",
        "engine_evidence",
        "evidence",
        "verified",
        "verification",
        "launch",
        "distinct_bytes",
        "page_bytes",
    ),
    *("placement", "warnings"),
)
#: Texts that the cases of a run usually repeat.
_TEXTS = (
    *("sweep", "category", "interface", "executor", "access", "pattern", "path", "source", "destination"),
    *("cache", "case_id", "status", "timed_by", "counts", "peak_source", "limit_source"),
    *("engine", "engine_evidence", "verification"),
)
#: What later rounds of a case share with its first one: its definition, and USUALLY_REPEATED.
_Repeated = tuple[tuple[Any, ...], tuple[Any, ...]]
_definition = attrgetter(*DEFINITION_FIELDS)
_usual, _texts = attrgetter(*USUALLY_REPEATED), attrgetter(*_TEXTS)


class JournalLines:
    """Reads the lines of one journal, in their order.

    Args:
        devices: Of the run's machine; None: unknown.
        schema_version: Of the run.
    """

    def __init__(self, devices: Collection[str] | None = None, schema_version: int = SCHEMA_VERSION) -> None:
        self._checker = Checker(devices)
        self._early = schema_version == FIRST_SCHEMA_VERSION
        self._before_fields = schema_version < SCHEMA_VERSION
        self._decoder = msgspec.json.Decoder(Record)
        self._first: dict[str, _Repeated] = {}  # of the first record of each case
        self._shared: dict[str, str] = {}

    def record(self, line: bytes) -> Record:
        """Parses a line.

        Raises:
            ValueError: It is not a record; the text says why.
        """
        if len(line) > MOST_LINE_BYTES:
            raise ValueError(f"it has more than {MOST_LINE_BYTES >> 20} MiB")
        try:
            record = _early_record(line) if self._early else self._decoder.decode(line)
            if self._before_fields:
                version2.translate(record)
            return self._known(record)
        except RecursionError as error:
            raise ValueError(f"it is nested too deeply: {error}") from error

    def _known(self, record: Record) -> Record:
        """Returns a plausible record that shares what the first one of its case has."""
        first = self._first.get(record.case_id)
        if first is None or first[0] != _definition(record):
            return self._checked(record)
        if reason := wrong_outcome(record):
            raise ValueError(reason)
        _share(record, first)
        return record

    def _checked(self, record: Record) -> Record:
        """Returns a plausible record with the texts that others have."""
        if reason := self._checker.wrong(record):
            raise ValueError(reason)
        for name, text in zip(_TEXTS, _texts(record), strict=True):
            if text is not None:
                force_setattr(record, name, self._shared.setdefault(text, text))
        self._first.setdefault(record.case_id, (_definition(record), _usual(record)))
        return record


def _share(record: Record, first: _Repeated) -> None:
    """Replaces what equals the first record's of the same case by the very same objects."""
    definition, usual = first
    for name, value in zip(DEFINITION_FIELDS, definition, strict=True):
        force_setattr(record, name, value)
    for name, value, own in zip(USUALLY_REPEATED, usual, _usual(record), strict=True):
        if value is not own and value == own:
            force_setattr(record, name, value)


def _early_record(line: bytes) -> Record:
    try:
        return Record.from_json(version1.record(decoded(line, dict[str, Any])))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a record: {error!r}") from error
