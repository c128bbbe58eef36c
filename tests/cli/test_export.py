"""`byteways export`: output to a file or a pipe, reports of damaged lines, refusal of unknown formats."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.cli import main
from tests.report import sample_run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return sample_run.cpu_only().write(tmp_path / "run")


def test_csv_to_stdout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch anything but data on stdout."""
    assert main(["export", str(folder), "--format", "csv"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert len(rows) == len(sample_run.cpu_only().records)
    assert {row["status"] for row in rows} == {"measured", "skipped"}


def test_json_to_file(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch an export that writes to both places, or not at all."""
    out = tmp_path / "run.json"
    assert main(["export", str(folder), "--format", "json", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert json.loads(out.read_text())["manifest"]["suite"]["name"] == "quick"


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("run.json", [], b'{"simulated"'),
        ("run.PARQUET", [], b"PAR1"),
        ("run.data", [], b"case_id,"),
        ("run.json", ["--format", "csv"], b"case_id,"),
    ],
)
def test_the_name_of_the_file_says_the_format(
    folder: Path, tmp_path: Path, name: str, options: list[str], start: bytes
) -> None:
    """Would catch CSV in a file that is called .json or .parquet."""
    assert main(["export", str(folder), "--out", str(tmp_path / name), *options]) == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_damage_is_told_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch lost lines going unnoticed, or the message ending up in the data."""
    build = sample_run.cpu_only()
    build.extra_lines = ["not json", '{"half": ']
    folder = build.write(tmp_path / "damaged")
    assert main(["export", str(folder), "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert "2 damaged line(s)" in captured.err
    assert len(json.loads(captured.out)["records"]) == len(build.records)


def test_unknown_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a traceback, or no word on which formats there are."""
    assert main(["export", str(folder), "--format", "xlsx"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: unknown format 'xlsx'",
        "hint: valid: csv, json, parquet",
    ]


def test_unwritable_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Would catch a traceback when the file cannot be written."""
    assert main(["export", str(folder), "--out", str(folder / "no" / "such" / "file.csv")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: cannot write ")
    assert "caused by: No such file or directory" in error


@pytest.mark.parametrize("format_name", ["csv", "json"])
def test_no_negative_window(tmp_path: Path, capsys: pytest.CaptureFixture[str], format_name: str) -> None:
    """Would catch flows that took turns being given a window of less than no time."""
    build = sample_run.Builder(sample_run.topology(2))
    flows = [("gpu0:device", "gpu1:device", "gpu0"), ("gpu1:device", "gpu0:device", "gpu1")]
    rates = {"gpu0>gpu1": 100.0, "gpu1>gpu0": 100.0}
    build.measure("copy", flows, rates, pattern="bidirectional", window_ns=-77125.0, end_to_end_ns=10.0)
    assert main(["export", str(build.write(tmp_path / "run")), "--format", format_name]) == 0
    assert "77125" not in capsys.readouterr().out


def test_parquet_to_file_and_pipe(folder: Path, tmp_path: Path) -> None:
    """Would catch a text mode that spoils the bytes of one of the two."""
    out = tmp_path / "run.parquet"
    assert main(["export", str(folder), "--format", "parquet", "--out", str(out)]) == 0
    assert out.read_bytes()[:4] == out.read_bytes()[-4:] == b"PAR1"
    command = [sys.executable, "-m", "byteways", "export", str(folder), "--format", "parquet"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == out.read_bytes()


def test_parquet_without_polars(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would catch a traceback on a machine that has only what measuring needs."""
    monkeypatch.setitem(sys.modules, "polars", None)
    assert main(["export", str(folder), "--format", "parquet", "--out", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err.splitlines()
    assert error[0] == "error: data frames and Parquet need the package polars, which is not installed"
    assert error[-1] == "hint: pip install 'byteways[parquet]', or export --format csv"
    assert not (tmp_path / "x").exists()
