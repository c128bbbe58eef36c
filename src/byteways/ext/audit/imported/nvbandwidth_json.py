"""JSON of NVIDIA's nvbandwidth (`-j`), 0.6 to 0.10: its cells are strings, its versions integers.

A test with several matrices (from 0.5 on bidirectional ones between GPUs) appends the rows of all to one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from byteways.ext.audit.imported.nvbandwidth_tests import Cell, total_of, value_of
from byteways.ext.audit.imported.reader import Found, UnreadPlace
from byteways.ext.audit.imported.reading import ABSENT, add_hints, add_value, objects, text_of, written
from byteways.ext.audit.imported.value import Unit
from byteways.machine.foreign_text import FormatError

_UNIT = re.compile(r"\(?(GB/s|ns|us)\)?$")
_DEVICE = re.compile(r"(?P<gpu>\d{1,6}): (?P<model>.+?)(?: \([0-9a-f:]+\))?(?:: \((?P<host>[\w.-]+)\))?$")
#: What a test with several matrices appends, in this order.
_PARTS = {"read": ("Read1", "Read2", "Total"), "write": ("Write1", "Write2", "Total")}
_TOTALS = ("sum", "min", "max", "average")


def read_nvbandwidth_json(document: Mapping[str, Any], line: int) -> Found:
    """Reads a document of `nvbandwidth -j`.

    Raises:
        FormatError: It has no list of test cases.
    """
    found, content = Found("nvbandwidth-json", line), document["nvbandwidth"]
    if not isinstance(content, Mapping):
        raise FormatError("'nvbandwidth' is not an object")
    _read_hints(found, content)
    if error := text_of(content.get("error")):
        found.mistakes.append(UnreadPlace(line, f"nvbandwidth failed: {error[:200]}"))
    for number, test in enumerate(objects(content.get("testcases", []), "'testcases'")):
        pointer = f"/nvbandwidth/testcases/{number}"
        if "bandwidth_matrix" in test:
            _read_test(found, test, pointer, _version(content))
        elif error := text_of(test.get("error")):
            found.mistakes.append(UnreadPlace(line, f"{pointer}: {error[:200]}"))
    return found


def _version(content: Mapping[str, Any]) -> tuple[int, ...] | None:
    parts = re.findall(r"\d{1,6}", text_of(content.get("version")))
    return tuple(map(int, parts[:3])) or None


def _read_hints(found: Found, content: Mapping[str, Any]) -> None:
    if version := text_of(content.get("version")):
        add_hints(found, version=version.removeprefix("v"))
    libraries = {"cuda": content.get("CUDA Runtime Version"), "driver": content.get("Driver Version")}
    add_hints(found, libraries={name: str(value) for name, value in libraries.items() if value is not None})
    hosts = [host] if (host := text_of(content.get("Hostname"))) else []
    devices = content.get("GPU Device list")
    for device in devices if isinstance(devices, list) else ():
        if parts := _DEVICE.match(text_of(device)):
            add_hints(found, gpus={int(parts["gpu"]): parts["model"]})
            hosts += [parts["host"]] if parts["host"] else []
    add_hints(found, hosts=tuple(dict.fromkeys(hosts)))


def _read_test(found: Found, test: Mapping[str, Any], pointer: str, version: tuple[int, ...] | None) -> None:
    name, matrix = text_of(test.get("name")), test["bandwidth_matrix"]
    unit = _UNIT.search(text_of(test.get("bandwidth_description")))
    if unit is None or not isinstance(matrix, list) or not all(isinstance(row, list) for row in matrix):
        found.mistakes.append(
            UnreadPlace(found.begins_at, f"{pointer}: a matrix without its unit or its rows")
        )
        return
    parts = _parts_of(name, matrix)
    rows_of_part = len(matrix) // len(parts)
    for index, row in enumerate(matrix):
        for column, content in enumerate(row):
            text = written(content)
            if text in ABSENT:
                continue
            cell = Cell(index % rows_of_part, column, parts[index // rows_of_part], version)
            place = f"{pointer}/bandwidth_matrix/{index}/{column}"
            add_value(
                found, value_of(name, cell, text or str(content), Unit(unit[1]), line=None, pointer=place)
            )
    for total in _TOTALS:
        if (text := written(test.get(total))) is not None:
            place = f"{pointer}/{total}"
            add_value(found, total_of(name, total, text, Unit(unit[1]), line=None, pointer=place))


def _parts_of(name: str, matrix: list[list[Any]]) -> tuple[str, ...]:
    """Returns the parts whose rows the matrix has one after another."""
    access = next((word for word in _PARTS if f"_{word}_" in name), None)
    between_gpus = name.startswith("device_to_device_bidirectional") and access is not None
    if between_gpus and matrix and matrix[0] and len(matrix) == 3 * len(matrix[0]):
        return _PARTS[access or ""]
    return ("",)
