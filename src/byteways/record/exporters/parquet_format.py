"""The data frame of a run as a Parquet file: its columns with types, and on request all samples.

The manifest is in the file's metadata, key `byteways_manifest`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

from byteways.record.frame import frame, metadata
from byteways.record.record import Record
from byteways.record.samples import SamplesOf


def write(
    manifest: dict[str, Any], records: Sequence[Record], out: IO[bytes], samples_of: SamplesOf | None = None
) -> None:
    """Writes the file.

    Raises:
        BytewaysError: Polars is not installed.
    """
    frame(manifest, records, samples_of).write_parquet(out, metadata=metadata(manifest))
