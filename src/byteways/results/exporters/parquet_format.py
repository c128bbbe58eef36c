"""One row per record for dataframes: the columns of the CSV with types, and on request all samples.

Data without a fixed shape (options, directions …) are JSON text, as in the CSV. The manifest is in the file's
metadata, key `byteways_manifest`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from byteways.errors import BytewaysError
from byteways.results.exporters.csv_format import COLUMNS, cell_of
from byteways.results.record import Record
from byteways.results.samples import SamplesOf
from byteways.results.simulated import is_simulated

if TYPE_CHECKING:
    import polars

#: Columns other than text and JSON text, by type.
WHOLE = ("round", "size_bytes", "samples", "batch", "method_version")
TRUTH = ("gated", "slope", "verified", "simulated")
NUMBER = (
    *("bandwidth_bytes_per_s", "latency_ns", "peak_bytes_per_s", "fraction_of_peak", "timer_resolution_ns"),
    *("time_median_ns", "time_ci95_low_ns", "time_ci95_high_ns", "time_min_ns", "time_max_ns"),
    *("time_mean_ns", "time_sd_ns", "window_ns", "end_to_end_ns", "wall_s"),
)
SAMPLES = "samples_ns"


def write(
    manifest: dict[str, Any], records: Sequence[Record], out: IO[bytes], samples_of: SamplesOf | None = None
) -> None:
    """Writes the file.

    Raises:
        BytewaysError: Polars is not installed.
    """
    try:
        import polars
    except ImportError as error:
        raise BytewaysError(
            "Parquet needs the package polars, which is not installed",
            cause=str(error),
            hint="pip install polars, or --format csv",
        ) from error
    simulated = is_simulated(manifest)
    lines = [{**record.to_json(), "simulated": simulated} for record in records]
    data: dict[str, list[Any]] = {name: [cell_of(line, name) for line in lines] for name in COLUMNS}
    for name in TRUTH:
        data[name] = [line.get(name) for line in lines]
    found = [samples_of(record) if samples_of else None for record in records]
    data[SAMPLES] = [samples.samples_ns if samples else None for samples in found]
    frame = polars.DataFrame(data, schema=_schema(polars.__dict__), strict=False)
    frame = frame.with_columns(polars.col("started_at").str.to_datetime(time_zone="UTC", strict=False))
    frame.write_parquet(out, metadata={"byteways_manifest": json.dumps(manifest)})


def _schema(types: Mapping[str, Any]) -> dict[str, polars.DataType]:
    """Returns the type of each column: the same for every run, even an empty one."""
    kinds = {
        **dict.fromkeys(COLUMNS, types["String"]),
        **dict.fromkeys(WHOLE, types["Int64"]),
        **dict.fromkeys(TRUTH, types["Boolean"]),
        **dict.fromkeys(NUMBER, types["Float64"]),
    }
    return {**kinds, SAMPLES: types["List"](types["Float64"])}
