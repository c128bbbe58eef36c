"""Suites: TOML files of sweeps, loaded by name or path."""

from __future__ import annotations

from byteways.plan.suite_check import read_suite
from byteways.plan.suite_types import Suite
from byteways.plan.toml_files import find, read_toml, shipped


def _shipped() -> dict[str, str]:
    """TOML text of the suites in the package, by name: `quick`, the default, and `full` first."""
    texts = shipped("byteways.suites")
    return dict(sorted(texts.items(), key=lambda item: (item[0] != "quick", item[0] != "full", item[0])))


def names() -> list[tuple[str, str]]:
    """(name, title) of every suite that comes with byteways."""
    return [(name, str(read_toml(text, file=name).get("title", ""))) for name, text in _shipped().items()]


def load(name_or_path: str) -> Suite:
    """The suite of that name, or in that file.

    Raises:
        BytewaysError: There is no such suite or file, or the file is no valid suite; then the message names
            file, line and key.
    """
    text, file = find(name_or_path, _shipped(), "suite", "suites")
    return parse(text, file=file)


def parse(text: str, *, file: str) -> Suite:
    """The suite in a TOML text; `file` is what messages call it.

    Raises:
        BytewaysError: The text is no TOML or no valid suite.
    """
    return read_suite(read_toml(text, file=file), text=text, file=file)
