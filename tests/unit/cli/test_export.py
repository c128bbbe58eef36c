"""Exporters: stable columns, numbers as numbers, nothing lost."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from byteways.record import columns
from byteways.record.columns import COLUMNS
from byteways.record.exporters import FORMATS
from byteways.record.record import Record
from byteways.record.samples import Samples
from byteways.record.warnings import Warning
from tests.changed import replace
from tests.lazily import Lazily
from tests.report import sample_run

polars = Lazily("polars")

HEADER = (
    "case_id,round,sweep,category,interface,executor,access,pattern,path,source,destination,size_bytes,cache,"
    "options,environment,status,reason,bandwidth_bytes_per_s,latency_ns,peak_bytes_per_s,fraction_of_peak,counts,"
    "time_median_ns,time_ci95_low_ns,time_ci95_high_ns,time_min_ns,time_max_ns,time_mean_ns,time_sd_ns,samples,"
    "batch,timed_by,gated,slope,timer_resolution_ns,engine,engine_evidence,verified,verification,window_ns,"
    "end_to_end_ns,directions_bytes_per_s,end_to_end_bytes_per_s,flows,launch,placement,warnings,started_at,wall_s,"
    "method_version"
)


def exported(name: str, build: sample_run.Builder, samples: bool = False) -> str:
    out = io.StringIO()
    FORMATS[name].write(build.manifest(), build.records, out, samples_of if samples else None)
    return out.getvalue()


def samples_of(record: Record) -> Samples | None:
    """As RunFolder.samples() finds them."""
    return Samples(record.case_id, record.round, record.samples_ns) if record.samples_ns else None


def one_case() -> sample_run.Builder:
    build = sample_run.Builder(sample_run.topology(2), rounds=1)
    build.measure(
        "copy",
        [("gpu0:device", "gpu1:device", "gpu0")],
        400.0,
        peak=450,
        options={"blocks": 8},
        warnings=[Warning("noisy", 0.03, 0.01, 'say "more", time')],
    )
    build.lose("skipped", "no peer access,\nreally", "copy", [("gpu1:device", "gpu0:device", "gpu0")])
    return build


def test_csv_columns_are_stable() -> None:
    """Would catch a column that was renamed, moved or dropped: scripts depend on them."""
    assert exported("csv", one_case()).splitlines()[0].startswith(HEADER)


def test_csv_values() -> None:
    """Would catch numbers as text, a wrong unit, or a quote or comma that breaks a row."""
    rows = list(csv.DictReader(io.StringIO(exported("csv", one_case()))))
    assert len(rows) == 2
    first, second = rows
    assert float(first["bandwidth_bytes_per_s"]) == 400e9
    assert int(first["size_bytes"]) == 2**30
    assert float(first["time_median_ns"]) == 2**30 / 400
    assert (
        float(first["time_ci95_low_ns"]) < float(first["time_median_ns"]) < float(first["time_ci95_high_ns"])
    )
    assert first["gated"] == "true"
    assert json.loads(first["options"]) == {"blocks": 8}
    assert json.loads(first["directions_bytes_per_s"]) == {"gpu0>gpu1": 400e9}
    assert json.loads(first["warnings"])[0]["advice"] == 'say "more", time'
    assert second["status"] == "skipped"
    assert second["reason"] == "no peer access,\nreally"
    assert second["bandwidth_bytes_per_s"] == ""


def test_no_cell_is_a_formula() -> None:
    """Would catch a cell that a spreadsheet runs: the reason of a foreign run may begin with anything."""
    build = one_case()
    for beginning in "=+-@\t":
        build.lose("skipped", f"{beginning}HYPERLINK(1)", "copy", [("gpu1:device", "gpu0:device", "gpu0")])
    rows = list(csv.DictReader(io.StringIO(exported("csv", build))))
    assert [row["reason"] for row in rows[2:]] == [f"'{mark}HYPERLINK(1)" for mark in "=+-@\t"]
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())


def test_json_is_the_whole_run() -> None:
    """Would catch an export that leaves out fields, the manifest, or samples that were asked for."""
    build = one_case()
    data = json.loads(exported("json", build, samples=True))
    assert data["manifest"] == json.loads(json.dumps(build.manifest()))
    bare = [replace(record, samples_ns=None) for record in build.records]
    assert [Record.from_json(line) for line in data["records"]] == bare
    assert data["records"][0]["samples"]["samples_ns"] == build.records[0].samples_ns
    assert "samples" not in exported("json", build).replace("time_ns", "")


def test_json_of_an_empty_run() -> None:
    """Would catch a dangling comma."""
    assert json.loads(exported("json", sample_run.Builder(sample_run.topology(0))))["records"] == []


def test_every_column_exists_in_the_schema() -> None:
    """Would catch a column whose place in the record is misspelt, which would always be empty."""
    from byteways.cli.schema import record_schema

    properties = record_schema()["properties"]
    of_the_run = columns.derived(one_case().manifest(), [])
    for name, place in columns.places().items():
        if name in of_the_run:
            continue
        assert place[0] in properties
        if len(place) > 1:
            named = next(option["$ref"] for option in properties[place[0]]["anyOf"] if "$ref" in option)
            times = record_schema()["$defs"][named.rpartition("/")[2]]
            assert place[1] in times["properties"]


def frame_of(build: sample_run.Builder) -> tuple[Any, dict[str, Any]]:
    """The file read back, and the manifest in it."""
    out = io.BytesIO()
    FORMATS["parquet"].write(build.manifest(), build.records, out, samples_of)
    out.seek(0)
    metadata = polars.read_parquet_metadata(out)
    out.seek(0)
    return polars.read_parquet(out), json.loads(metadata["byteways_manifest"])


def test_parquet_has_types_samples_and_the_manifest() -> None:
    """Would catch numbers as text, samples or the manifest left out, or times without their zone."""
    build = one_case()
    frame, manifest = frame_of(build)
    assert manifest == json.loads(json.dumps(build.manifest()))
    assert frame.columns == [*(column.name for column in COLUMNS), "samples_ns"]
    first, second = frame.rows(named=True)
    assert first["bandwidth_bytes_per_s"] == 400e9
    assert first["size_bytes"] == 2**30
    assert first["gated"] is True
    assert first["simulated"] is False
    assert first["samples_ns"] == build.records[0].samples_ns
    assert json.loads(first["directions_bytes_per_s"]) == {"gpu0>gpu1": 400e9}
    assert first["started_at"].isoformat() == "2026-01-02T03:04:05+00:00"
    assert second["bandwidth_bytes_per_s"] is None
    assert second["samples_ns"] is None


def test_parquet_of_an_empty_run_has_the_same_types() -> None:
    """Would catch columns whose type depends on what happens to be in them: such files cannot be joined."""
    empty, _ = frame_of(sample_run.Builder(sample_run.topology(0)))
    full, _ = frame_of(one_case())
    assert empty.schema == full.schema
    assert empty.height == 0


def test_formats() -> None:
    """Catches samples promised in a CSV, or refused for the formats that hold them; a text file in binary."""
    told = {name: (one.binary, one.takes_samples) for name, one in FORMATS.items()}
    assert told == {"csv": (False, False), "json": (False, True), "parquet": (True, True)}


@pytest.mark.parametrize("where", ["record", "manifest"])
def test_json_has_no_word_that_json_does_not_know(where: str) -> None:
    """Catches `NaN` in an export, which no other reader of JSON takes."""
    build = one_case()
    manifest, records = build.manifest(), [replace(build.records[0], wall_s=float("nan"))]
    if where == "manifest":
        manifest, records = {**manifest, "wall_s": float("inf")}, build.records
    with pytest.raises(ValueError, match="not JSON compliant"):
        FORMATS["json"].write(manifest, records, io.StringIO(), None)


def test_a_time_that_is_none_is_no_time() -> None:
    """Catches an export that fails because a record of another program has no time that can be read."""
    build = one_case()
    build.records = [replace(one, started_at="yesterday") for one in build.records]
    frame, _ = frame_of(build)
    assert frame["started_at"].to_list() == [None] * len(build.records)
