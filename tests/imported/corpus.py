"""Outputs of other programs, a folder a format, and what is in them.

The texts follow the programs' sources: versions, launchers that put words before lines, colours, ends of
lines, damages. `expected.json` beside them has, by file: each value with its place, the lines that must be
refused, and the machine's hints. Its numbers were known before the texts were written, and the readers never
compute it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
EXPECTED = "expected.json"


def formats() -> list[str]:
    """Names of the formats, which are those of their folders."""
    return sorted(path.parent.name for path in FOLDER.glob(f"*/{EXPECTED}"))


@cache
def expected_of(name: str) -> dict[str, Any]:
    """What the files of a format contain, by file name."""
    content: dict[str, Any] = json.loads((FOLDER / name / EXPECTED).read_text(encoding="utf-8"))
    return content


#: Format and name of each file.
FILES = [(name, file_name) for name in formats() for file_name in expected_of(name)]
