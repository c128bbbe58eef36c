"""A run as a Polars data frame with the columns of columns.py, and the metadata of files made from it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from byteways.base.errors import BytewaysError
from byteways.record import columns
from byteways.record.record import Record
from byteways.record.samples import SamplesOf

if TYPE_CHECKING:
    import polars


def frame(
    manifest: Mapping[str, Any], records: Sequence[Record], samples_of: SamplesOf | None = None
) -> polars.DataFrame:
    """Returns one row per record; column `samples_ns` has all samples if `samples_of` finds them.

    Raises:
        BytewaysError: Polars is not installed.
    """
    types = _polars()
    data = columns.values(manifest, records)
    found = [samples_of(record) for record in records] if samples_of else [None] * len(records)
    data[columns.SAMPLES_COLUMN] = [samples.samples_ns if samples else None for samples in found]
    table: polars.DataFrame = types.DataFrame(data, schema=_schema(types), strict=False)
    times = [column.name for column in columns.COLUMNS if column.kind == columns.TIME_KIND]
    return table.with_columns(
        types.col(*times).str.to_datetime(time_unit="us", time_zone="UTC", strict=False)
    )


def metadata(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Returns what a file says of its run besides the rows."""
    return {"byteways_manifest": json.dumps(manifest), "byteways_run_id": str(manifest.get("run_id") or "")}


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        raise BytewaysError(
            "data frames and Parquet need the package polars, which is not installed",
            cause=str(error),
            hint="pip install 'byteways[parquet]', or export --format csv",
        ) from error
    return polars


def _schema(types: Any) -> dict[str, Any]:
    """Returns the type of each column: the same for every run, even an empty one."""
    kinds = {
        columns.TEXT_KIND: types.String,
        columns.JSON_KIND: types.String,
        columns.TIME_KIND: types.String,
        columns.INTEGER_KIND: types.Int64,
        columns.NUMBER_KIND: types.Float64,
        columns.TRUTH_KIND: types.Boolean,
    }
    named = {column.name: kinds[column.kind] for column in columns.COLUMNS}
    return {**named, columns.SAMPLES_COLUMN: types.List(types.Float64)}
