"""Writes the corpus and what is expected of it: `python -m tests.imported.write` after changes of writers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.imported.log import Log

FOLDER = Path(__file__).parent
EXPECTED = "expected.json"


def formats() -> list[str]:
    """Names of the formats that have a writer, which are the names of their folders."""
    return sorted(path.stem for path in (FOLDER / "writers").glob("*.py") if path.stem != "__init__")


def variants(name: str) -> Mapping[str, Callable[[], Log]]:
    """Returns the writers of a format's files, by file name."""
    found: Mapping[str, Callable[[], Log]] = import_module(f"tests.imported.writers.{name}").VARIANTS
    return found


def files(name: str) -> Iterator[tuple[str, bytes]]:
    """Yields the files of a format's folder, and their contents."""
    expected: dict[str, Any] = {}
    for file_name, write in variants(name).items():
        log = write()
        yield file_name, log.content()
        expected[file_name] = log.expected()
    yield EXPECTED, _compact(expected).encode()


def _compact(expected: Mapping[str, Any]) -> str:
    """One line a value, so that a difference is readable."""
    parts = []
    for file_name, content in expected.items():
        values = ",\n".join(f"   {json.dumps(value)}" for value in content["values"])
        rest = json.dumps({key: value for key, value in content.items() if key != "values"})[1:-1]
        parts.append(f' {json.dumps(file_name)}: {{{rest}, "values": [\n{values}\n ]}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> None:
    for name in formats():
        folder = FOLDER / name
        folder.mkdir(exist_ok=True)
        for file_name, content in files(name):
            (folder / file_name).write_bytes(content)


if __name__ == "__main__":
    main()
