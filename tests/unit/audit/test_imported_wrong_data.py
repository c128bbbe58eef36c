"""Data that a program calls wrong are no results, and numbers that no measurement gives are refused."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from byteways.base.quantities import QUANTITIES, mistake_in_quantity, quantity, quantity_or_none
from byteways.ext.audit.imported.formats import DOCUMENT_FORMATS, TEXT_FORMATS, DocumentFormat, TextFormat
from byteways.ext.audit.imported.records import imported_records
from byteways.ext.audit.imported.scan import OutputsOfFile, scan_text
from byteways.ext.audit.imported.value import DATA_WRONG
from byteways.ext.audit.judging.audit import ReadFile, audited
from byteways.ext.audit.judging.verdict import WRONG_NUMBER
from byteways.machine.model import Topology
from byteways.models.library import load
from byteways.models.topology import topology_of
from byteways.record.record_check import wrong
from byteways.verdicts.checks.normal import Normal, read_normal
from tests.cli.called import byteways
from tests.imported.write import FOLDER, formats, variants

NCCL = """# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 8 minBytes 67108864 maxBytes 134217728 step: 2(factor)
# Using devices
#  Rank  0 Group  0 Pid   1000 on node-a device  0 [0000:0b:00] NVIDIA H100 80GB HBM3
#  Rank  7 Group  0 Pid   1000 on node-a device  7 [0000:7b:00] NVIDIA H100 80GB HBM3
#   size   count   type   redop   root   time   algbw   busbw  #wrong   time   algbw   busbw  #wrong
   67108864   16777216   float   sum   -1   368.1  182.31  319.04   0   367.3  182.71  319.74   4096
   134217728   33554432   float   sum   -1   638.1  210.34  368.10 {wrong}   637.3  210.60  368.55   8192
# Out of bounds values : 20480 FAILED
"""
UNCHECKED = NCCL.replace("{wrong}", "N/A").replace("   8192", "   N/A").replace("   4096", "   N/A")
IMB = """#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part
# Benchmarking Allreduce
# #processes = 8
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]      defects
      1048576           40       552.10       560.21       556.33         0.00
      2097152           20      1102.31      1121.02      1112.20         3.00
"""
OSU = """# OSU MPI-CUDA Bandwidth Test v7.3
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Size      Bandwidth (MB/s)        Validation
1048576             80001.00              Pass
4194304             87543.13              Fail
"""
OSU_ERROR = (
    OSU.replace("Fail", "Pass")
    + "DATA VALIDATION ERROR: osu_bw exited with status 1 on message size 4194304.\n"
)
BABELSTREAM = """BabelStream
Version: 5.0
Implementation: CUDA
Precision: double
Array size: 268.4 MB (=0.3 GB)
Validation failed on c[]. Average error 0.02
Function    MBytes/sec  Min (sec)   Max         Average
Copy        2801238.123 0.00019     0.00020     0.00019
"""
STREAM = """Function    Best Rate MB/s  Avg time     Min time     Max time
Copy:           91000.5     0.0036     0.0035     0.0037
Scale:          91000.5     0.0036     0.0035     0.0037
Add:            91000.5     0.0036     0.0035     0.0037
Triad:          91000.5     0.0036     0.0035     0.0037
Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)
"""
NVBANDWIDTH = """nvbandwidth Version: v0.8
Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0
 0     55.10

SUM host_to_device_memcpy_ce 55.10

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    276.07
{mark}
"""
TRANSFERBENCH = """TransferBench v1.62
Test 1:
 Executor: GPU 00 | 310.10 GB/s | 0.216 ms | 67108864 bytes | 310.10 GB/s (sum)
     Transfer 00  | 310.10 GB/s | 0.216 ms | 67108864 bytes | G0 -> G0:4 -> G1
[ERROR] Transfer 0: Unexpected mismatch at index 7 of destination 0: Expected 1.0 Actual: 2.0
"""
BANDWIDTH_TEST = """[CUDA Bandwidth Test] - Starting...
 Device 0: NVIDIA H100 80GB HBM3
 Host to Device Bandwidth, 1 Device(s)
 PINNED Memory Transfers
   Transfer Size (Bytes)        Bandwidth(GB/s)
   32000000                     25.1
Result = FAIL
"""
ROCM = """RocmBandwidthTest Version: 2.6.0
Device: 0,  AMD EPYC 7763 64-Core Processor
Device: 1,  AMD Instinct MI250X,  GPU-1,  c1:0.0
Unidirectional copy peak bandwidth GB/s
D/D       0           1
0         N/A         27.6
Verification failed: a copy from 0 to 1 is not valid
"""
NCCL_DOCUMENT = {
    "version": 3,
    "devices": [{"device_info": "NVIDIA H100 80GB HBM3"}] * 8,
    "average_bus_bandwidth": 1,
    "results": [
        {
            "size": 1048576,
            "redop": "sum",
            "root": "-1",
            "out_of_place": {"time": 98.2, "alg_bw": 10.7, "bus_bw": 18.7, "nwrong": 0},
            "in_place": {"time": 98.2, "alg_bw": 10.7, "bus_bw": 18.7, "nwrong": 8192},
        }
    ],
}
BOUNDS = json.loads(json.dumps(NCCL_DOCUMENT).replace("8192", "null")) | {
    "out_of_bounds": {"count": 8192, "okay": False}
}
SUPERBENCH = {
    "node": "node-a",
    "nccl-bw/return_code": 33,
    "nccl-bw/allreduce_8388608_busbw": 320.1,
    "gpu-copy-bw/return_code": 0,
    "gpu-copy-bw/cpu_to_gpu0_by_dma_bw": 25.1,
}
_INVALID = " Invalid value when checking the pattern at 0x7f0000000000"
_ASSERT = "ASSERT in expression h_errorFlag == 0 in void memcmpPatternHelper()"
_ERROR = "[CUDA_ERROR_ILLEGAL_ADDRESS] an illegal memory access was encountered in expression"
#: Name of the format, content, values of wrong data, other values, places that are named.
CASES = (
    ("nccl-tests", NCCL.format(wrong="   8192"), 9, 3, 2),
    ("nccl-tests", UNCHECKED, 12, 0, 1),
    ("imb", IMB, 3, 3, 1),
    ("osu", OSU, 1, 1, 1),
    ("osu", OSU_ERROR, 1, 1, 1),
    ("babelstream", BABELSTREAM, 4, 0, 1),
    ("stream", STREAM, 16, 0, 1),
    ("nvbandwidth", NVBANDWIDTH.format(mark=_INVALID), 1, 2, 1),
    ("nvbandwidth", NVBANDWIDTH.format(mark=_ASSERT), 1, 2, 1),
    ("nvbandwidth", NVBANDWIDTH.format(mark=_ERROR), 1, 2, 1),
    ("transferbench", TRANSFERBENCH, 5, 0, 1),
    ("transferbench", TRANSFERBENCH.replace("mismatch at index 7 of", "output mismatch for"), 5, 0, 1),
    ("bandwidth-test", BANDWIDTH_TEST, 1, 0, 1),
    ("rocm-bandwidth-test", ROCM, 1, 0, 1),
    ("nccl-tests-json", json.dumps(NCCL_DOCUMENT), 3, 3, 1),
    ("nccl-tests-json", json.dumps(BOUNDS), 6, 0, 1),
    ("superbench", json.dumps(SUPERBENCH), 1, 1, 1),
)


@cache
def machine() -> tuple[Topology, Normal]:
    return topology_of(load("h200-x4")), read_normal(None)


def scanned(content: str) -> OutputsOfFile:
    return scan_text(content.encode().splitlines(keepends=True))


@pytest.mark.parametrize(("name", "content", "bad", "good", "places"), CASES)
def test_data_that_a_program_calls_wrong_are_no_results(
    name: str, content: str, bad: int, good: int, places: int
) -> None:
    """Would catch a check of a program that is not read, or one of another row that takes its values away."""
    (output,) = scanned(content).outputs
    values = [DATA_WRONG in value.differences for value in output.values]
    assert (output.format, values.count(True), values.count(False)) == (name, bad, good)
    assert len(output.wrong) == places and all(one.line for one in output.wrong)
    topology, normal = machine()
    found = audited([ReadFile("log", (output,))], topology, normal, machine="h200-x4")
    assert found.failed and found.counts[WRONG_NUMBER] == bad
    assert [one["line"] for one in found.to_json()["wrong_data"]] == [one.line for one in output.wrong]
    (made,) = imported_records([("log", [output])], topology, 1)
    assert made.differences[DATA_WRONG] == bad
    of_records = {(record.imported or {}).get("line") for record in made.records}
    if not good:
        assert of_records == set()


@pytest.mark.parametrize("known", [*TEXT_FORMATS, *DOCUMENT_FORMATS], ids=lambda known: known.name)
def test_each_format_says_how_it_tells_wrong_data(known: TextFormat | DocumentFormat) -> None:
    """Would catch a new reader for which nobody looked up what its program prints of wrong data."""
    check = known.data_check
    assert bool(check.marks) != bool(check.none_because)
    contents = [content for name, content, *_ in CASES if name == known.name]
    plain = [" ".join(re.sub(r"[#|]", " ", content).split()) for content in contents]
    for mark in check.marks:
        words = re.sub(r"[#|]", " ", mark).split()
        assert any(all(word in content for word in words) for content in plain), mark
    assert bool(contents) == bool(check.marks)


def test_audit_and_import_name_them(tmp_path: Path) -> None:
    """Would catch an exit status 0 for data that are wrong, or a message without file and line."""
    (tmp_path / "nccl.log").write_text(NCCL.format(wrong="   8192"))
    done = byteways(tmp_path, "audit", "nccl.log", "--machine", "h100-x8", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["counts"][WRONG_NUMBER] == 9 and [one["line"] for one in found["wrong_data"]] == [8, 9]
    done = byteways(tmp_path, "import", "nccl.log", "--machine", "h100-x8", "--out", "R")
    assert done.returncode == 0 and "nccl.log:8" in done.stderr and "nccl.log:9" in done.stderr
    lines = (tmp_path / "R" / "imported.jsonl").read_text().splitlines()
    assert sum(DATA_WRONG in json.loads(line)["differences"] for line in lines) == 9
    assert len((tmp_path / "R" / "measurements.jsonl").read_text().splitlines()) == 1


HOSTILE = (
    *(
        "1e99",
        "1e-99",
        "1e999",
        "-1e99",
        "-5",
        "-1",
        "0",
        "00",
        "nan",
        "NaN",
        "-nan",
        "inf",
        "Infinity",
        "-inf",
    ),
    *("9" * 16, "9" * 19, "9" * 25, "9" * 400, "9" * 5000, "-" + "9" * 400, "0." + "0" * 30 + "1"),
    *(
        "1e16",
        "1e30",
        "1e-30",
        "18446744073709551615",
        "9223372036854775808",
        "1125899906842625",
        "true",
        "null",
    ),
)
FILES = [(name, file) for name in formats() for file in variants(name)]
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


@example(FILES[0], "9" * 400, 3)
@given(st.sampled_from(FILES), st.sampled_from(HOSTILE), st.integers(0, 5000))
def test_hostile_numbers_of_every_reader(file: tuple[str, str], hostile: str, place: int) -> None:
    """Would catch a reader that calculates with a number before its range is known."""
    content = (FOLDER / file[0] / file[1]).read_bytes().decode(errors="ignore")
    numbers = [*_NUMBER.finditer(content)]
    chosen = numbers[place % len(numbers)]
    content = content[: chosen.start()] + hostile + content[chosen.end() :]
    topology, normal = machine()
    outputs = scanned(content).outputs
    for value in (value for output in outputs for value in output.values):
        assert mistake_in_quantity(value.value, value.unit.metric) is None
        assert value.size_bytes is None or mistake_in_quantity(value.size_bytes, "size") is None
    audited([ReadFile("log", tuple(outputs))], topology, normal, machine="h200-x4").to_json()
    for made in imported_records([("log", outputs)], topology, 1):
        assert [reason for record in made.records if (reason := wrong(record))] == []


@pytest.mark.parametrize(
    ("text", "unit"), [("1e99", "GB/s"), ("1e-99", "us"), ("1e9", "GB/s"), ("1e20", "s"), ("1e-5", "ns")]
)
def test_numbers_beyond_every_machine(text: str, unit: str) -> None:
    """Would catch a unit that is forgotten when the range is checked."""
    column = {"GB/s": "bandwidth (GB/s)", "us": "latency (us)", "ns": "latency (ns)", "s": "latency (s)"}[
        unit
    ]
    head = "nvbandwidth Version: v0.8\nRunning host_to_device_memcpy_ce.\n"
    title = f"memcpy CE CPU(row) -> GPU(column) {column}\n"
    scan = scanned(f"{head}{title}  0\n 0 1.00\nSUM host_to_device_memcpy_ce {text}\n")
    if unit == "s":  # of no matrix of nvbandwidth
        scan = scanned(STREAM.replace("0.0037", text, 1))
    (output,) = scan.outputs
    assert text not in [value.text for value in output.values]
    assert any(text in mistake.what for mistake in output.mistakes)


@pytest.mark.parametrize("kind", QUANTITIES)
def test_ranges_include_their_ends(kind: str) -> None:
    """Would catch a range whose ends are refused, or beyond which something is accepted."""
    known = QUANTITIES[kind]
    for good in (0, known.least, known.most):
        assert quantity(good, kind) == good
    for bad in (-1, -known.most, known.most * 2, 10**400, float("nan"), float("inf"), True, None, "1", [1]):
        assert quantity_or_none(bad, kind) is None
    if not known.whole:
        assert quantity_or_none(known.least / 2, kind) is None
    else:
        assert quantity_or_none(1.5, kind) is None
