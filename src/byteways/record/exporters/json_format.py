"""`{"simulated": …, "manifest": …, "records": […]}`: all fields, on request with `samples`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import IO, Any

from byteways.record.record import Record
from byteways.record.samples import SamplesOf
from byteways.record.simulation_mark import is_simulated


def write(
    manifest: dict[str, Any], records: Sequence[Record], out: IO[str], samples_of: SamplesOf | None = None
) -> None:
    """Writes one record a line, so that the document can be compared line by line."""
    simulated = json.dumps(is_simulated(manifest))
    out.write(
        f'{{"simulated": {simulated}, "manifest": '
        + json.dumps(manifest, allow_nan=False)
        + ',\n"records": ['
    )
    separator = "\n"
    for record in records:
        line = {name: value for name, value in record.to_json().items() if name != "samples_ns"}
        if samples_of is not None and (samples := samples_of(record)) is not None:
            line["samples"] = samples.to_json()
        out.write(separator + json.dumps(line, allow_nan=False))
        separator = ",\n"
    out.write("\n]}\n")
