"""JSON of nccl-tests and rccl-tests (`-J FILE`), versions 1 to 3 of the document.

`env` holds the whole environment of the program and is not read: it may contain secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from byteways.base.quantities import quantity_or_none
from byteways.ext.audit.imported.nccl_tests import (
    PROGRAM_OF,
    PROGRAMS,
    RESULT,
    collectives_of,
    differences_of,
    operation_of,
    says_wrong,
)
from byteways.ext.audit.imported.reader import Found
from byteways.ext.audit.imported.reading import add_hints, add_value, objects, text_of, written
from byteways.ext.audit.imported.value import ForeignValue

#: Keys of a result, as columns of the table.
_KEYS = {"time": "time", "cpu_time": "cputime", "alg_bw": "algbw", "bus_bw": "busbw"}
_PLACES = (("out_of_place", False), ("in_place", True))


def read_nccl_tests_json(document: Mapping[str, Any], line: int) -> Found:
    """Reads one run of a program.

    Raises:
        FormatError: `results` is not a list of objects.
    """
    found = Found("nccl-tests-json", line)
    ranks = _read_devices(found, document)
    argument = document.get("args")
    program = PurePath(text_of(argument[0]) if isinstance(argument, list) and argument else "").name
    if isinstance(version := document.get("version"), int):
        add_hints(found, version=f"document {version}")
    for number, row in enumerate(objects(document["results"], "'results'")):
        for key, in_place in _PLACES:
            if isinstance(result := row.get(key), Mapping):
                _read_result(found, (number, key), row, result, (program, ranks, in_place))
    bounds = document.get("out_of_bounds")
    if isinstance(bounds, Mapping) and bounds.get("okay") is False and not found.wrong:
        found.call_all_wrong(line, "/out_of_bounds: okay is false")
    return found


def _read_devices(found: Found, document: Mapping[str, Any]) -> int | None:
    """Reads models and hosts of the ranks. Returns how many there are; None: not stated."""
    config = document.get("config")
    listed = document.get("devices", config.get("devices") if isinstance(config, Mapping) else None)
    if not isinstance(listed, list) or not listed:
        return None
    devices = objects(listed, "'devices'")
    add_hints(
        found,
        gpus={
            number: model for number, one in enumerate(devices) if (model := text_of(one.get("device_info")))
        },
        hosts=tuple(dict.fromkeys(host for one in devices if (host := text_of(one.get("hostname"))))),
    )
    return len(devices)


def _read_result(
    found: Found,
    place: tuple[int, str],
    row: Mapping[str, Any],
    result: Mapping[str, Any],
    what: tuple[str, int | None, bool],
) -> None:
    program, ranks, in_place = what
    size = row.get("size")
    size_bytes = quantity_or_none(size, "size") if isinstance(size, int) else None
    algorithm, bus = (quantity_or_none(result.get(key), "rate") for key in ("alg_bw", "bus_bw"))
    ratio = bus / algorithm if algorithm and bus else None
    possible = collectives_of(
        text_of(row.get("redop")).strip(), text_of(row.get("root")).strip(), ratio, ranks
    )
    pattern = PROGRAMS.get(program, possible[0] if len(possible) == 1 else "")
    before = len(found.values)
    for key, column in _KEYS.items():
        text = written(result.get(key))
        if text is None:
            continue
        unit, counts = RESULT[column]
        add_value(
            found,
            ForeignValue(
                line=None,
                test=program or PROGRAM_OF.get(pattern, "nccl-tests"),
                column=key,
                text=text,
                unit=unit,
                statistic="mean",
                counts=counts,
                size_bytes=size_bytes,
                operation=operation_of(pattern, ranks, in_place=in_place),
                differences=(
                    *differences_of(pattern, column),
                    *(("size-unknown",) if size_bytes is None else ()),
                ),
                pointer=f"/results/{place[0]}/{place[1]}/{key}",
            ),
        )
    if says_wrong(written(result.get("nwrong")) or "0"):
        found.call_wrong(
            found.begins_at, f"/results/{place[0]}/{place[1]}/nwrong: {result['nwrong']}", before
        )
