"""Suites that a question or a command asks for: sweeps by the rules of suite files, without a file. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from byteways.plan.suite_check import read_suite
from byteways.plan.suite_types import Suite

#: Keys of a suite or a sweep with their values, as they are written in a file.
SuiteKeys = Mapping[str, object]
#: A sweep of a suite: its name, and its other keys.
NamedSweep = tuple[str, SuiteKeys]


def built_suite(head: SuiteKeys, sweeps: Iterable[NamedSweep], *, file: str) -> Suite:
    """Returns a suite of these sweeps. Its text is for the manifest: saved, it is the same suite.

    Args:
        head: The suite's own keys.
        sweeps: Its sweeps.
        file: What messages call the suite.

    Raises:
        BytewaysError: A key, a value or their combination is none of suites.
    """
    tables = [{"name": name, **keys} for name, keys in sweeps]
    text = "\n\n".join((_lines(head), *(f"[[sweep]]\n{_lines(table)}" for table in tables)))
    return read_suite({**head, "sweep": tables}, text=f"{text}\n", file=file, foreign=False)


def _lines(keys: SuiteKeys) -> str:
    return "\n".join(f"{key} = {_toml(value)}" for key, value in keys.items())


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {json.dumps(told)}" for key, told in value.items()) + " }"
    return json.dumps(value)
