"""`byteways import`: outputs of other programs become a run folder that the other verbs read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from byteways.cli import main
from byteways.record.imported_values import DIFFERENCES
from byteways.record.run_folder import RunFolder
from tests.imported.corpus import FOLDER

NVBANDWIDTH = FOLDER / "nvbandwidth" / "v0.6-openmpi.txt"
NCCL_JSON = FOLDER / "nccl_tests_json" / "document-1.json"


def copies(tmp_path: Path, file: Path) -> list[Path]:
    """Returns three files with the same content: what three runs of a program printed."""
    made = [tmp_path / f"{number}-{file.name}" for number in range(3)]
    for one in made:
        one.write_bytes(file.read_bytes())
    return made


def imported(
    tmp_path: Path, *files: Path, machine: str = "h100-x8", strict: bool = False
) -> tuple[int, Path]:
    """Imports files; returns the exit status and the folder."""
    out = tmp_path / "imported"
    words = ["import", *map(str, files), "--machine", machine, "--out", str(out)]
    return main([*words, *(["--strict"] if strict else [])]), out


def test_a_value_keeps_its_text_program_and_place(tmp_path: Path) -> None:
    """Catches a number that is rounded, loses its place, or is taken for one that byteways measured."""
    status, out = imported(tmp_path, NVBANDWIDTH)
    assert status == 0
    run = RunFolder(out)
    assert [file["formats"] for file in run.manifest["imported"]] == [["nvbandwidth"]]
    assert run.manifest["environment"] == {} and not run.manifest["simulated"]
    expected = json.loads((FOLDER / "nvbandwidth" / "expected.json").read_text())[NVBANDWIDTH.name]["values"]
    lines = [json.loads(line) for line in (out / "imported.jsonl").read_text().splitlines()]
    assert [(line["text"], line["value"], line["line"]) for line in lines] == [
        (value["text"], value["value"], value["line"]) for value in expected
    ]
    records = list(run.records)
    assert records and all(record.imported and record.timed_by is None for record in records)
    by_place = {(value["line"], value["column"]): value["value"] for value in expected}
    for record in records:
        assert record.imported is not None
        place = record.imported["line"], record.imported["column"]
        assert (record.bandwidth_bytes_per_s or record.latency_ns) == by_place[place]
    without = [line for line in lines if line["case_id"] is None]
    assert without and all(line["differences"] for line in without)


def test_outputs_of_a_program_are_rounds(tmp_path: Path) -> None:
    """Catches repetitions that are lost, or become cases of their own."""
    _, out = imported(tmp_path, *copies(tmp_path, NVBANDWIDTH))
    rounds: dict[str, list[int]] = {}
    for record in RunFolder(out).records:
        rounds.setdefault(record.case_id, []).append(record.round)
    assert rounds and all(numbers == [0, 1, 2] for numbers in rounds.values())


def test_a_row_with_its_time_and_rate_is_one_result(tmp_path: Path) -> None:
    """Catches a time and the rate that was computed from it that are counted as two rounds."""
    _, out = imported(tmp_path, NCCL_JSON)
    records = list(RunFolder(out).records)
    assert {record.round for record in records} == {0} and len(records) == 4
    for record in records:
        assert (
            record.counts == "bus" and record.imported is not None and record.imported["column"] == "bus_bw"
        )
        assert record.time_ns is not None and record.bandwidth_bytes_per_s is not None
        factor = 2 * 7 / 8
        assert record.time_ns.median == pytest.approx(
            1e9 * factor * record.size_bytes / record.bandwidth_bytes_per_s
        )


TABLE = """\
# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 256 step: 32(factor) warmup iters: 1 iters: 20
#  Rank  0 Group  0 Pid  4200 on  node-a device  0 [0000:00:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid  4201 on  node-a device  1 [0000:01:00] NVIDIA H100 80GB HBM3
#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong
  8  2  float  sum  -1  16.00  0.00  0.00  N/A  16.00  0.00  0.00  N/A
  256  64  float  sum  -1  20.00  0.01  0.01  N/A  20.00  0.01  0.01  N/A
"""


def test_a_small_size_has_the_time_and_not_the_rounded_rate(tmp_path: Path) -> None:
    """Catches a division by the 0.00 GB/s of 8 bytes, and a time of 25.6 us made of a rate of two digits."""
    file = tmp_path / "nccl.log"
    file.write_text(TABLE)
    status, out = imported(tmp_path, file)
    assert status == 0
    times = {(r.size_bytes, r.time_ns.median) for r in RunFolder(out).records if r.time_ns}
    assert times == {(8, 16_000.0), (256, 20_000.0)}
    lines = [json.loads(line) for line in (out / "imported.jsonl").read_text().splitlines()]
    zeros = [line for line in lines if line["value"] == 0]
    assert len(zeros) == 4 and all(line["differences"] == ["rounded-to-zero"] for line in zeros)
    assert all(line["case_id"] is None for line in zeros)


def test_no_environment_is_kept(tmp_path: Path) -> None:
    """Catches secrets of the machine that an output holds."""
    assert b"SECRET_TOKEN" in NCCL_JSON.read_bytes()
    _, out = imported(tmp_path, NCCL_JSON)
    assert all(b"SECRET_TOKEN" not in path.read_bytes() for path in out.iterdir())


@pytest.mark.parametrize("words", [["show"], ["check", "--against", "peak"], ["export"], ["report"]])
def test_the_other_verbs_read_it(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches a reader that needs what only byteways records, or hides where the values come from."""
    _, out = imported(tmp_path, *copies(tmp_path, NVBANDWIDTH))
    capsys.readouterr()
    verb, *options = words
    assert main([verb, str(out), *options]) in (0, 1)
    captured = capsys.readouterr()
    assert "IMPORTED" in captured.out + captured.err


def test_an_imported_run_is_compared_with_a_measured_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches equal cases that are kept apart because a program has no timer and no method of ours."""
    suite = tmp_path / "suite.toml"
    suite.write_text(
        'name = "peer"\ntitle = "As nvbandwidth"\nrounds = 3\ncase_budget_s = 0.05\n\n'
        '[[sweep]]\nname = "reads"\n'
        'interface = "copy"\nsource = "cpu*:pinned"\ndestination = "gpu*:device"\nsize = "512MiB"\n'
    )
    own = tmp_path / "own"
    assert main(["run", str(suite), "--machine", "h200-x4", "--out", str(own), "--no-report"]) == 0
    printed = FOLDER / "nvbandwidth" / "v0.4-devices.txt"
    _, out = imported(tmp_path, *copies(tmp_path, printed), machine="h200-x4")
    common = {r.case_id for r in RunFolder(own).records} & {r.case_id for r in RunFolder(out).records}
    assert common
    capsys.readouterr()
    assert main(["compare", str(own), str(out), "--mixed", "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert {case["claim"]["verdict"] for case in comparison["cases"]} == {"trails"} and len(
        comparison["cases"]
    ) == 3


def test_strict_fails_if_a_line_was_not_read(tmp_path: Path) -> None:
    """Catches lost lines that a script does not see."""
    bad = FOLDER / "nvbandwidth" / "bad-numbers.txt"
    assert imported(tmp_path / "one", bad)[0] == 0
    assert imported(tmp_path / "two", bad, strict=True)[0] == 1


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF\0\0", b"Hello.\n", b'{"a": 1}\n', b"4096 12.5\n8192 13.5\n"]
)
def test_what_is_no_output_leaves_no_folder(tmp_path: Path, content: bytes) -> None:
    """Catches a run folder of nothing, and a traceback."""
    file = tmp_path / "file"
    file.write_bytes(content)
    status, out = imported(tmp_path, file)
    assert status == 2 and not out.exists()


def test_a_file_that_is_named_twice_is_no_repetition(tmp_path: Path) -> None:
    """Catches an interval from one output that was given three times."""
    assert imported(tmp_path, NVBANDWIDTH, NVBANDWIDTH)[0] == 2


def test_a_folder_of_another_run_is_kept(tmp_path: Path) -> None:
    """Catches an import over a run."""
    _, out = imported(tmp_path, NVBANDWIDTH)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    assert imported(tmp_path, NCCL_JSON)[0] == 2
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_values_without_an_equal_case_are_named_by_compare_and_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches `no case in common` that does not contain what makes the values another quantity."""
    from unpack_examples import recorded

    status, out = imported(tmp_path, FOLDER / "osu" / "v7.2-devices-openmpi-crlf.txt")
    assert status == 0
    run = RunFolder(out)
    differences = run.manifest["imported"][0]["differences"]
    assert not list(run.records) and "devices-unknown" in differences
    quick = str(recorded("h100x2/quick"))
    for words in (["compare", str(out), quick], ["check", str(out), "--against", quick]):
        capsys.readouterr()
        assert main(words) == 2
        assert DIFFERENCES["devices-unknown"] in capsys.readouterr().err
