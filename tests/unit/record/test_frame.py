"""The data frame of a run and the files made from it: types, runs that stack, other readers."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from byteways.base.errors import BytewaysError
from byteways.record import columns
from byteways.record.columns import (
    COLUMNS,
    INTEGER_KIND,
    JSON_KIND,
    NUMBER_KIND,
    SAMPLES_COLUMN,
    TIME_KIND,
    TRUTH_KIND,
)
from byteways.record.exporters import FORMATS
from byteways.record.frame import frame
from byteways.record.samples import Samples
from tests.changed import replace
from tests.lazily import Lazily
from tests.report import rank_runs, sample_run
from tests.report.run_builder import MIB, Builder

duckdb, pandas, polars = Lazily("duckdb"), Lazily("pandas"), Lazily("polars")

DUCKDB = {
    INTEGER_KIND: "BIGINT",
    NUMBER_KIND: "DOUBLE",
    TRUTH_KIND: "BOOLEAN",
    TIME_KIND: "TIMESTAMP WITH TIME ZONE",
}


def some_run(gpus: int = 2) -> Builder:
    build = Builder(sample_run.topology(gpus))
    build.measure("copy", [("gpu0:device", "gpu1:device", "gpu1")], 396.0, options={"blocks": 8}, peak=450)
    build.measure("copy", [("cpu0:pinned", "gpu1:device", "gpu1")], 55.0, submit_ns=1800.0, host_ns=2000.0)
    build.lose("skipped", "no bulk copies", "kernel-bulk", [("gpu1:device", "gpu0:device", "gpu1")])
    return build


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("frame") / "run.parquet"
    build = some_run()
    with path.open("wb") as out:
        FORMATS["parquet"].write(build.manifest(), build.records, out, None)
    return path


def test_every_column_has_its_type_in_duckdb(file: Path) -> None:
    """Catches a column that SQL would compare as text."""
    told = duckdb.sql(f"DESCRIBE SELECT * FROM '{file}'").fetchall()
    kinds = {name: kind for name, kind, *_ in told}
    wanted = {column.name: DUCKDB.get(column.kind, "VARCHAR") for column in COLUMNS}
    assert kinds == {**wanted, SAMPLES_COLUMN: "DOUBLE[]"}
    sql = f"SELECT max(bandwidth_bytes_per_s), count(submit_ns) FROM '{file}' WHERE status = 'measured'"
    assert duckdb.sql(sql).fetchall() == [(pytest.approx(396e9, rel=0.01), 3)]


def test_every_column_has_its_type_in_pandas(file: Path) -> None:
    """Catches columns that pandas cannot compute with, and numbers that become others on the way."""
    table = pandas.read_parquet(file, dtype_backend="pyarrow")
    told = {name: str(kind) for name, kind in table.dtypes.items()}
    kinds = {INTEGER_KIND: "int64[pyarrow]", NUMBER_KIND: "double[pyarrow]", TRUTH_KIND: "bool[pyarrow]"}
    kinds[TIME_KIND] = "timestamp[us, tz=UTC][pyarrow]"
    assert {c.name: told[c.name] for c in COLUMNS if c.kind in kinds} == {
        c.name: kinds[c.kind] for c in COLUMNS if c.kind in kinds
    }
    same = frame(some_run().manifest(), some_run().records).to_pandas()
    assert same["submit_ns"].sum() == table["submit_ns"].sum() == 3 * 1800.0


def test_runs_stack() -> None:
    """Catches runs whose frames cannot be concatenated, or whose rows cannot be told apart afterwards."""
    first, second = some_run(), some_run(4)
    second.simulated = True
    manifests = [{**first.manifest(), "run_id": "a"}, {**second.manifest(), "run_id": "b"}]
    empty = Builder(sample_run.topology(0))
    frames = [frame(manifests[0], first.records), frame(manifests[1], second.records)]
    both = polars.concat([*frames, frame(empty.manifest(), [])])
    assert both["run_id"].unique(maintain_order=True).to_list() == ["a", "b"]
    assert both.filter(polars.col("simulated"))["machine_model"].unique().to_list() == ["toy"]
    assert both["host"].unique().to_list() == ["fixture"]
    assert both.select("source_device", "source_uuid", "destination_uuid", "executor_uuid").row(0) == (
        *("gpu0", "GPU-00000000", "GPU-00000001", "GPU-00000001"),
    )
    assert both.row(3, named=True)["source_uuid"] is None  # a CPU


def test_devices_of_ranks_and_hosts() -> None:
    """Catches UUIDs of the wrong device where buffers are those of ranks, or of another host."""
    build = Builder(sample_run.topology(2))
    rank_runs.send_xccl(build, MIB, 80.0)
    row = frame(build.manifest(), build.records).row(0, named=True)
    assert (row["source_device"], row["destination_uuid"]) == ("gpu0", "GPU-00000001")
    hosts = {"n1": {"device": "gpu0", "uuid": "GPU-far"}, "n2": {"device": "gpu0", "uuid": "GPU-near"}}
    between = replace(build.records[0], source="n1:gpu0:device", destination="n2:gpu0:device", hosts=hosts)
    row = frame(build.manifest(), [between]).row(0, named=True)
    assert (row["source_uuid"], row["destination_uuid"]) == ("GPU-far", "GPU-near")


def test_csv_has_the_same_values(file: Path) -> None:
    """Catches a CSV that differs from the data frame."""
    build, out = some_run(), io.StringIO()
    FORMATS["csv"].write(build.manifest(), build.records, out, None)
    out.seek(0)
    table = polars.read_csv(out, schema_overrides={"case_id": polars.String})
    same = polars.read_parquet(file)
    assert table.columns == same.columns[:-1]
    for column in COLUMNS:
        if column.kind in (INTEGER_KIND, NUMBER_KIND, TRUTH_KIND):
            assert table[column.name].to_list() == same[column.name].to_list(), column.name


def test_samples(tmp_path: Path) -> None:
    """Catches samples of another record, or numbers where nobody asked for any."""
    build = some_run()
    found = [Samples(one.case_id, one.round, [float(place)]) for place, one in enumerate(build.records)]
    table = frame(build.manifest(), build.records, lambda record: found[build.records.index(record)])
    assert table[SAMPLES_COLUMN].to_list() == [[float(place)] for place in range(len(found))]
    assert frame(build.manifest(), build.records)[SAMPLES_COLUMN].null_count() == len(found)


def test_without_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a traceback on a machine that has only what measuring needs; CSV works there."""
    monkeypatch.setitem(sys.modules, "polars", None)
    build = some_run()
    with pytest.raises(BytewaysError) as raised:
        frame(build.manifest(), build.records)
    assert raised.value.hint == "pip install 'byteways[parquet]', or export --format csv"
    out = io.StringIO()
    FORMATS["csv"].write(build.manifest(), build.records, out, None)
    assert len(out.getvalue().splitlines()) == 1 + len(build.records)


def test_places_lead_to_the_values() -> None:
    """Catches a place by which the page's download would show something else than the export."""
    build = some_run()
    own = columns.derived(build.manifest(), build.records)
    lines: list[dict[str, Any]] = [
        record.to_json() | {name: values[place] for name, values in own.items()}
        for place, record in enumerate(build.records)
    ]
    told = columns.values(build.manifest(), build.records)
    for column in COLUMNS:
        for line, value in zip(lines, told[column.name], strict=True):
            found = at(line, columns.places()[column.name])
            if column.kind == JSON_KIND:
                assert (json.loads(value) if value else None) == (found or None), column.name
            else:
                assert value == found, column.name


def at(value: Any, place: list[str | int]) -> Any:
    """What the page's script finds."""
    for step in place:
        if value is None:
            return None
        value = value.get(step) if isinstance(value, dict) else value[step]
    return value


def test_the_order_of_columns_is_kept() -> None:
    """Catches a new column that is not at the end: scripts may count on the order."""
    names = [column.name for column in COLUMNS]
    assert names[:3] == ["case_id", "round", "sweep"]
    assert names.index("half_round_trip_ns") < names.index("run_id")
    assert len(names) == len(set(names))
