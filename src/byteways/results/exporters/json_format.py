"""`{"manifest": …, "records": […]}`: everything that is in the run folder, as one document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO, Any

from byteways.results.record import Record


def write(manifest: dict[str, Any], records: Sequence[Record], out: IO[str]) -> None:
    """Writes one record a line, so that the document can be compared line by line."""
    out.write('{"manifest": ' + json.dumps(manifest, allow_nan=False) + ',\n"records": [')
    separator = "\n"
    for record in records:
        out.write(separator + json.dumps(record.to_json(), allow_nan=False))
        separator = ",\n"
    out.write("\n]}\n")
