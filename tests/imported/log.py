"""An output of a program that is being written, and beside it the values that it contains."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

#: In bytes/s, ns and 1/s, as a reader must give them.
UNITS: Mapping[str, int | float] = {
    "B/s": 1,
    "MB/s": 10**6,
    "MiB/s": 2**20,
    "GB/s": 10**9,
    "GiB/s": 2**30,
    "Gb/s": 10**9 // 8,
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "1/s": 1,
    "Gflop/s": 10**9,
}


@dataclass
class Log:
    """The lines of an output, and what is expected of them.

    Attributes:
        values: Fields of each ForeignValue with its `value` in base units, without those that are None or
        empty. mistakes: Lines (from 1) that must be refused; None is a place in a document.
        hints: What must be known of the machine; only the fields listed are compared.
    """

    seed: int
    lines: list[str] = field(default_factory=list)
    values: list[dict[str, Any]] = field(default_factory=list)
    mistakes: list[int | None] = field(default_factory=list)
    hints: dict[str, Any] = field(default_factory=dict)
    ends_line: str = "\n"
    cut_bytes: int = 0  # that are missing at the end

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def next_line(self) -> int:
        return len(self.lines) + 1

    def say(self, *lines: str) -> None:
        """Writes lines."""
        self.lines += lines

    def number(self, about: float, decimals: int, spread: float = 0.02) -> str:
        """Returns a number near another with so many decimals."""
        unit = 10**decimals
        scaled = round(about * unit * (1 + spread * (2 * self.random.random() - 1)))
        return f"{Decimal(scaled) / unit:.{decimals}f}"

    def expect(self, test: str, column: str, text: str, unit: str, **fields: Any) -> None:
        """Expects a value of the line that comes next, or at `pointer` of a document."""
        value: dict[str, Any] = {
            "line": None if "pointer" in fields else self.next_line,
            "test": test,
            "column": column,
        }
        value |= {"text": text, "unit": unit, "value": float(Decimal(text) * Decimal(UNITS[unit]))}
        self.values.append(
            {key: item for key, item in (value | fields).items() if item not in (None, "", [])}
        )

    def refuse(self) -> None:
        """Expects that the line that comes next is refused."""
        self.mistakes.append(self.next_line)

    def prefix(self, text: str) -> None:
        """Puts the prefix of a launcher before all lines."""
        self.lines = [text + line for line in self.lines]

    def colour(self) -> None:
        """Colours all lines, as a terminal shows them."""
        self.lines = [f"\x1b[1;32m{line}\x1b[0m" for line in self.lines]

    def content(self) -> bytes:
        """Returns the bytes of the file."""
        content = "".join(line + self.ends_line for line in self.lines).encode()
        return content[: len(content) - self.cut_bytes]

    def document(self, content: Mapping[str, Any]) -> None:
        """Writes a document of JSON."""
        self.say(*json.dumps(content, indent=2).splitlines())

    def expected(self) -> dict[str, Any]:
        """Returns what is expected of the file, as JSON data."""
        return {"values": self.values, "mistakes": self.mistakes, "hints": self.hints}


def matrix(rows: int, columns: int) -> Iterator[tuple[int, int]]:
    """Yields the cells of a matrix row by row."""
    yield from ((row, column) for row in range(rows) for column in range(columns))
