"""Suites: TOML files of sweeps, loaded by name or path."""

from __future__ import annotations

from pathlib import Path

from byteways.base.toml_files import find, read_toml, shipped
from byteways.plan.block_files import with_listed_sizes
from byteways.plan.suite_check import read_suite
from byteways.plan.suite_types import Suite


def _shipped() -> dict[str, str]:
    """Returns the TOML text of the built-in suites by name: `quick`, the default, and `full` first."""
    texts = shipped("byteways.plan.suites")
    return dict(sorted(texts.items(), key=lambda item: (item[0] != "quick", item[0] != "full", item[0])))


def names() -> list[tuple[str, str]]:
    """Returns (name, title) of every built-in suite."""
    return [(name, str(read_toml(text, file=name).get("title", ""))) for name, text in _shipped().items()]


def load(name_or_path: str) -> Suite:
    """Loads the suite with that name, or from that file.

    Raises:
        BytewaysError: No such suite or file, or the file is invalid; the message then has file, line and key.
    """
    text, file = find(name_or_path, _shipped(), "suite", "suites")
    return parse(with_listed_sizes(text, Path(file).parent), file=file)


def parse(text: str, *, file: str) -> Suite:
    """Parses a suite from a TOML text; messages call it `file`.

    Raises:
        BytewaysError: The text is not TOML or not a valid suite.
    """
    return read_suite(read_toml(text, file=file), text=text, file=file, foreign=True)
