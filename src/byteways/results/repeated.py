"""Lets the records of a run share the texts and tables that they repeat.

Each line is read by itself, so that every record has its own copy of all its texts, although 100,000 records
have a few hundred different ones. Shared, they take less memory, and more of what is looked up is in the
processor's caches.
"""

from __future__ import annotations

from typing import Any

from byteways.results.record import Record

#: Fields with few different texts.
_TEXTS = (
    *("sweep", "category", "interface", "executor", "access", "pattern", "path", "source", "destination"),
    *("cache", "status", "reason", "timed_by", "counts", "peak_source", "limit_source"),
    *("engine", "engine_evidence", "verification", "case_id"),
)
#: Tables that each round of a case repeats.
_TABLES = (
    "flows",
    "options",
    "environment",
    "launch",
    "distinct_bytes",
    "page_bytes",
    "placement",
    "rests_on",
)


class Repeated:
    """The texts and tables of the records so far."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._tables: dict[str, dict[str, Any]] = {}  # by case

    def share(self, record: Record) -> None:
        """Replaces texts and tables of a record by equal ones of earlier records."""
        own, texts = vars(record), self._texts
        for name in _TEXTS:
            text = own.get(name)  # a field with its default is not among them
            if text is not None:
                own[name] = texts.setdefault(text, text)
        first = self._tables.setdefault(record.case_id, own)
        if first is not own:
            for name in _TABLES:
                if name in own and own[name] == first.get(name):
                    own[name] = first[name]
        for warning in record.warnings:
            vars(warning)["id"] = texts.setdefault(warning.id, warning.id)
            vars(warning)["advice"] = texts.setdefault(warning.advice, warning.advice)
