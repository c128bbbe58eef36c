"""Each call of a collector to the system, the C library or a driver fails once, in turn, until none is left.

The program ends as it does alone; what is counted happened, and what is missing is said.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from byteways.ext.watch.bins import Watched
from byteways.ext.watch.folder import read_snapshots
from byteways.ext.watch.launching import FOLDER_VARIABLE, MEMCPY_VARIABLE
from byteways.ext.watch.problems import WATCH_PROBLEMS
from byteways.measuring.shared.simulator import native_folder
from tests.watch.programs import HERE, PATIENCE_S, compiled, program

#: What older versions of CUPTI lack, and machines without managed memory refuse: nothing is said then.
OPTIONAL = ("cuptiActivityConfigureUnifiedMemoryCounter", "cuptiGetCallbackName", "cuptiEnableCallback")
#: After so many runs with fewer calls none is left: threads wait now with more calls, now with fewer.
MOST_MISSED = 4
#: More calls than any collector makes: the injection does not end.
MOST_CALLS = 5_000


@dataclass(frozen=True)
class Case:
    """A program, what it is started with, and the collector's library where it is preloaded."""

    words: list[str | Path]
    variables: Mapping[str, str]
    preloaded: str = ""
    prints_answers: bool = False  # its output is what the collector answered it


def _library(name: str) -> str:
    return str(native_folder() / name)


def _mpi(folder: Path) -> Case:
    return Case([program(), "send", "3", "sizes", "40", "exit", "4"], {}, "byteways_watch_mpi.so")


def _memcpy(folder: Path) -> Case:
    copies = compiled("copies", [HERE / "copies.c"], "-fno-builtin")
    return Case([copies], {MEMCPY_VARIABLE: "65536"}, "byteways_watch_memcpy.so")


def _memory(folder: Path) -> Case:
    driver = compiled("libcuda.so.1", [HERE / "fake_cuda.c"], "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
    allocating = compiled("tortured", [HERE / "tortured.c", HERE / "driver.h"])
    variables = {"BYTEWAYS_WATCH_MEMORY": "registered", "BYTEWAYS_WATCH_THRESHOLD": "100000"}
    return Case([allocating, driver], variables, "byteways_watch_memory.so")


def _cuda(folder: Path) -> Case:
    cupti = compiled("libcupti_fake.so", [HERE / "fake_cupti.c"], "-shared", "-fPIC")
    variables = {
        "CUDA_INJECTION64_PATH": _library("byteways_watch.so"),
        "BYTEWAYS_WATCH_CUPTI": str(cupti),
        "FAKE_CUPTI": str(cupti),
        "FAKE_CUPTI_VERSION": "28",
    }
    return Case([compiled("cuda_program", [HERE / "cuda_program.c"]), "copies", "20"], variables)


def _nccl(folder: Path) -> Case:
    variables = {"NCCL_PROFILER_PLUGIN": _library("byteways_watch.so")}
    return Case([compiled("fake_nccl", [HERE / "fake_nccl.c"]), "6", "20"], variables, prints_answers=True)


def _hip(folder: Path) -> Case:
    named = "-Wl,-soname,librocprofiler-sdk.so.1"
    fake = compiled(
        "librocprofiler-sdk.so.1", [HERE / "fake_rocprofiler.c"], "-shared", "-fPIC", "-std=gnu11", named
    )
    (folder / "lib").mkdir()
    (folder / "lib" / "librocprofiler-sdk.so.1").symlink_to(fake)
    variables = {
        "ROCP_TOOL_LIBRARIES": _library("byteways_watch.so"),
        "FAKE_ROCPROFILER": "10000",
        "LD_LIBRARY_PATH": str(folder / "lib"),
    }
    path = f"-Wl,-rpath,{fake.parent}"
    return Case([compiled("hip_program", [HERE / "hip_program.c", fake], path), "work", "20"], variables)


#: Each with its stride: of its calls `make test` has one in so many fail, and the slow test all.
CASES = {
    "mpi": (_mpi, 3),
    "memcpy": (_memcpy, 3),
    "memory": (_memory, 7),
    "cuda": (_cuda, 61),
    "nccl": (_nccl, 3),
    "hip": (_hip, 5),
}


def _run(case: Case, variables: Mapping[str, str]) -> tuple[int, str, str]:
    done = subprocess.run(
        case.words,
        env={**os.environ, **case.variables, **variables},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def _counts(watched: Watched) -> Counter[tuple[str, str, int]]:
    """Operations by kind, method and size."""
    found: Counter[tuple[str, str, int]] = Counter()
    for one in watched.bins:
        found[one.what, one.method, one.size_to] += one.count
    return found


def _kinds(counts: Counter[tuple[str, str, int]]) -> Counter[str]:
    """Operations by kind: a name or size that cannot be asked for is another one."""
    found: Counter[str] = Counter()
    for (what, _, _), number in counts.items():
        found[what] += number
    return found


def torture(case: Case, folder: Path, stride: int) -> Counter[str]:
    """Has each call of this number fail; returns how many of each function did."""
    options = ["-DWITHOUT_MALLOC"] if case.preloaded == "byteways_watch_memory.so" else []
    injector = compiled("failing.so", [HERE / "failing.c"], "-shared", "-fPIC", "-fno-builtin", *options)
    preloaded = [*([_library(case.preloaded)] if case.preloaded else []), str(injector)]
    failed: Counter[str] = Counter()
    whole: Counter[tuple[str, str, int]] = Counter()
    alone, missed = (0, "", ""), 0
    for number in count(0, stride):
        assert number < MOST_CALLS
        place, mark = folder / str(number), folder / f"{number}.mark"
        (place / "processes").mkdir(parents=True)
        end = _run(
            case,
            {
                "LD_PRELOAD": ":".join(preloaded),
                FOLDER_VARIABLE: str(place),
                "FAIL_AT": str(number),
                "FAIL_MARK": str(mark),
            },
        )
        watched, problems = read_snapshots(sorted((place / "processes").glob("*.json")))
        found = _counts(watched)
        if number == 0:  # none fails
            assert problems == []
            alone, whole = end, found
            continue
        if not mark.exists():
            missed += 1
            if missed == MOST_MISSED:
                return failed
            continue
        missed = 0
        name = mark.read_text()
        failed[name] += 1
        where = f"call {number}: {name}"
        assert end == alone or (case.prints_answers and end[::2] == alone[::2]), where
        assert _kinds(found) <= _kinds(whole), where
        assert found == whole or problems or name.removeprefix("dlsym ") in OPTIONAL, where
        assert {one.code for one in problems} <= {*WATCH_PROBLEMS}, where
    raise AssertionError


@pytest.mark.parametrize("name", CASES)
def test_calls_that_fail(name: str, tmp_path: Path) -> None:
    """Catches a collector that takes for granted what may fail, in part of its calls."""
    case, stride = CASES[name]
    assert torture(case(tmp_path), tmp_path / "W", stride).total() > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_call_that_fails(name: str, tmp_path: Path) -> None:
    """Catches the same in each of its calls; of those to CUPTI, which are thousands, in one of seven."""
    case, stride = CASES[name]
    failed = torture(case(tmp_path), tmp_path / "W", stride // 8 or 1)
    assert failed["open"] > 0 and failed["write"] > 0 and failed["rename"] > 0
