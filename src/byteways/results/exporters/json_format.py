"""`{"simulated": …, "manifest": …, "records": […]}`: all that is in the run folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO, Any

from byteways.results.record import Record
from byteways.results.simulated import is_simulated


def write(manifest: dict[str, Any], records: Sequence[Record], out: IO[str]) -> None:
    """Writes one record a line, so that the document can be compared line by line."""
    simulated = json.dumps(is_simulated(manifest))
    out.write(
        f'{{"simulated": {simulated}, "manifest": '
        + json.dumps(manifest, allow_nan=False)
        + ',\n"records": ['
    )
    separator = "\n"
    for record in records:
        out.write(separator + json.dumps(record.to_json(), allow_nan=False))
        separator = ",\n"
    out.write("\n]}\n")
