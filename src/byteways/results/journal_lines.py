"""Reads the lines of one journal to records that share what they repeat.

Every line is complete: each round of a case repeats its definition, and 100,000 records have a few hundred
different texts. A definition that equals an earlier one byte for byte is neither decoded nor checked again.
Shared texts take less memory, and more of what is looked up is in the processor's caches.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import fields
from typing import Any, TypedDict, get_type_hints

import msgspec

from byteways.decoding import decoded
from byteways.results import version1
from byteways.results.record import FIRST_SCHEMA_VERSION, SCHEMA_VERSION, Record
from byteways.results.record_check import Checker, wrong_outcome

#: Maximum bytes of a journal line; real ones have some thousands.
MOST_LINE_BYTES = 16 << 20

#: The first field of the outcome; those before it define the case and its round.
_STATUS = "status"
#: Begin of a line, as `Record.to_json` orders its fields: the rest of the definition follows.
_BEGIN = re.compile(rb'\{"case_id":"([0-9a-f]{1,64})","round":(0|[1-9][0-9]{0,8}),')
_OUTCOME_BEGINS = f',"{_STATUS}":'.encode()
#: Fields of the outcome without a default.
_NEEDED = {_STATUS, "reason", "method_version"}
#: Fields that records usually repeat: texts, and tables of the rounds of a case.
_TEXTS = (
    *("sweep", "category", "interface", "executor", "access", "pattern", "path", "source", "destination"),
    *("cache", "case_id"),
)
_TEXTS_OF_OUTCOME = (
    *("status", "reason", "timed_by", "counts", "peak_source", "limit_source"),
    *("engine", "engine_evidence", "verification"),
)
_TABLES = ("flows", "options", "environment")
_TABLES_OF_OUTCOME = ("launch", "distinct_bytes", "page_bytes", "placement", "rests_on")


def _split_names() -> tuple[list[str], list[str]]:
    """Returns the fields of a record's definition and of its outcome."""
    names = [field.name for field in fields(Record)]
    first = names.index(_STATUS)
    return names[:first], names[first:]


_DEFINITION, _OUTCOME = _split_names()
_TYPES = get_type_hints(Record)
#: The outcome of a record as a table.
_OutcomeTable: Any = TypedDict("_OutcomeTable", {name: _TYPES[name] for name in _OUTCOME}, total=False)  # type: ignore


class JournalLines:
    """Reads the lines of one journal, in their order.

    Args:
        devices: Of the run's machine; None: unknown.
        schema_version: Of the run.
    """

    def __init__(self, devices: Collection[str] | None = None, schema_version: int = SCHEMA_VERSION) -> None:
        self._checker = Checker(devices)
        self._early = schema_version == FIRST_SCHEMA_VERSION
        self._outcomes: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_OutcomeTable)
        self._definitions: dict[tuple[bytes, bytes], dict[str, Any]] = {}  # by case and text
        self._first: dict[str, dict[str, Any]] = {}  # the first record by case
        self._texts: dict[str, str] = {}

    def record(self, line: bytes) -> Record:
        """Parses a line.

        Raises:
            ValueError: It is not a record; the text says why.
        """
        if len(line) > MOST_LINE_BYTES:
            raise ValueError(f"it has more than {MOST_LINE_BYTES >> 20} MiB")
        begin, end = _BEGIN.match(line), line.find(_OUTCOME_BEGINS)
        if begin is None or end < 0 or self._early:
            return self._whole(line)
        key = begin[1], line[begin.end() : end]
        definition = self._definitions.get(key)
        record = None if definition is None else self._again(definition, int(begin[2]), line[end + 1 :])
        if record is None:
            record = self._whole(line)
            if definition is None and _is_definition(key[1]):
                own = vars(record)
                self._definitions[key] = {name: own[name] for name in _DEFINITION}
        return record

    def _whole(self, line: bytes) -> Record:
        """Parses a line without the help of earlier ones."""
        record = _early_record(line) if self._early else decoded(line, Record)
        if reason := self._checker.wrong(record):
            raise ValueError(reason)
        own = vars(record)
        self._share_texts(own, _TEXTS)
        first = self._first.setdefault(record.case_id, own)
        _share_tables(own, first, _TABLES)
        self._share_outcome(own, first)
        return record

    def _again(self, definition: dict[str, Any], number: int, outcome: bytes) -> Record | None:
        """Returns a further round of a known case; None if the outcome has to be read with its whole line."""
        try:
            told: dict[str, Any] = self._outcomes.decode(b"{" + outcome)
        except (ValueError, RecursionError):
            return None
        if not told.keys() >= _NEEDED:
            return None
        record = object.__new__(Record)
        own = vars(record)
        own.update(definition, round=number, warnings=[])
        own.update(told)
        if reason := wrong_outcome(record):
            raise ValueError(reason)
        self._share_outcome(own, self._first[definition["case_id"]])
        return record

    def _share_outcome(self, own: dict[str, Any], first: dict[str, Any]) -> None:
        """Replaces texts and tables of a record by equal ones of the first of its case, or of others."""
        for name in _TEXTS_OF_OUTCOME:
            text = own.get(name)  # a field with its default is not among them
            if text is not None:
                known = None if first is own else first.get(name)
                own[name] = known if text == known else self._texts.setdefault(text, text)
        _share_tables(own, first, _TABLES_OF_OUTCOME)
        for warning in own["warnings"]:
            self._share_texts(vars(warning), ("id", "advice"))

    def _share_texts(self, own: dict[str, Any], names: Collection[str]) -> None:
        for name in names:
            text = own[name]
            own[name] = self._texts.setdefault(text, text)


def _share_tables(own: dict[str, Any], first: dict[str, Any], names: Collection[str]) -> None:
    for name in names:
        table = own.get(name)
        if table is not None and table == first.get(name):
            own[name] = first[name]


def _is_definition(text: bytes) -> bool:
    """Whether the text between round and status has all other fields of a definition, as our lines have."""
    try:
        return {*decoded(b"{" + text + b"}")} >= {*_DEFINITION[2:]}
    except ValueError:
        return False


def _early_record(line: bytes) -> Record:
    try:
        return Record.from_json(version1.record(decoded(line, dict[str, Any])))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a record: {error!r}") from error
