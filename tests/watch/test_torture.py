"""Each call of a collector to the system, the C library or a driver fails once, in turn, until none is left.

The program ends as it does alone; what is counted happened, and what is missing is said.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from byteways.ext.watch.bins import Watched
from byteways.ext.watch.folder import read_snapshots
from byteways.ext.watch.launching import FOLDER_VARIABLE, MEMCPY_VARIABLE
from byteways.ext.watch.problems import WATCH_PROBLEMS
from byteways.measuring.shared.simulator import native_folder
from tests.mpi import jobs
from tests.mpi.test_watch import POLLS, built
from tests.watch.programs import HERE, PATIENCE_S, compiled, program

#: What older versions of CUPTI lack, and machines without managed memory refuse: nothing is said then.
OPTIONAL = ("cuptiActivityConfigureUnifiedMemoryCounter", "cuptiGetCallbackName", "cuptiEnableCallback")
#: Programs that run at a time, because some of them wait.
AT_A_TIME = 4
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
    any_order: bool = False  # of the lines that its processes print


def _library(name: str) -> str:
    return str(native_folder() / name)


def _mpi(folder: Path) -> Case:
    return Case([program(), "send", "3", "sizes", "40", "exit", "4"], {}, "byteways_watch_mpi.so")


def _processes(folder: Path) -> Case:
    words = ["send", "1", "unshare", "", "send", "2", "child", "3", "exec", "4"]
    return Case([program(), *words], {}, "byteways_watch_mpi.so")


def _ranks(folder: Path) -> Case:
    jobs.require(jobs.MPICH)
    launcher = [jobs.MPICH.mpiexec, "-n", "2"]
    variables = {**jobs.ENVIRONMENT, **jobs.SHARING_CORES}
    return Case([*launcher, built(jobs.MPICH)], variables, "byteways_watch_mpi.so", any_order=True)


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


#: The programs; of whose calls `make test` has one in so many fail. 0: none, they take a minute.
CASES = {
    "mpi": (_mpi, 1),
    "processes": (_processes, 1),
    "ranks": (_ranks, 0),
    "memcpy": (_memcpy, 1),
    "memory": (_memory, 7),
    "cuda": (_cuda, 61),
    "nccl": (_nccl, 1),
    "hip": (_hip, 1),
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
    printed = "".join(sorted(done.stdout.splitlines(keepends=True))) if case.any_order else done.stdout
    return done.returncode, printed, done.stderr


def _counts(watched: Watched) -> Counter[tuple[str, str, int]]:
    """Operations by kind, method and size."""
    found: Counter[tuple[str, str, int]] = Counter()
    for one in watched.bins:
        if one.method not in POLLS:
            found[one.what, one.method, one.size_to] += one.count
    return found


def _kinds(counts: Counter[tuple[str, str, int]]) -> Counter[str]:
    """Operations by kind: a name or size that cannot be asked for is another one."""
    found: Counter[str] = Counter()
    for (what, _, _), number in counts.items():
        found[what] += number
    return found


@dataclass(frozen=True)
class Try:
    """What one run left: how the program ended, which call failed, and what was counted."""

    end: tuple[int, str, str]
    failed: list[str]  # the function, in each process; empty: there were fewer calls
    counts: Counter[tuple[str, str, int]]
    problems: Counter[str]


def _try(case: Case, folder: Path, number: int) -> Try:
    """Has the call of this number fail; 0: none."""
    options = ["-DWITHOUT_MALLOC"] if case.preloaded == "byteways_watch_memory.so" else []
    injector = compiled("failing.so", [HERE / "failing.c"], "-shared", "-fPIC", "-fno-builtin", *options)
    preloaded = [*([_library(case.preloaded)] if case.preloaded else []), str(injector)]
    place, mark = folder / str(number), folder / f"{number}.mark"
    (place / "processes").mkdir(parents=True)
    variables = {"FAIL_AT": str(number), "FAIL_MARK": str(mark), FOLDER_VARIABLE: str(place)}
    end = _run(case, {"LD_PRELOAD": ":".join(preloaded), **variables})
    watched, problems = read_snapshots(sorted((place / "processes").glob("*.json")))
    shutil.rmtree(place)
    failed = mark.read_text().splitlines() if mark.exists() else []
    return Try(end, failed, _counts(watched), Counter(one.code for one in problems))


def torture(case: Case, folder: Path, stride: int) -> Counter[str]:
    """Has each call of this number fail, some at a time; returns how many of each function did."""
    failed: Counter[str] = Counter()
    missed = 0
    alone = _try(case, folder, 0)
    assert {*alone.problems} <= {"not-understood"}
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        for first in range(stride, MOST_CALLS, stride * AT_A_TIME):
            numbers = range(first, first + stride * AT_A_TIME, stride)
            for number, one in zip(
                numbers, pool.map(lambda at: _try(case, folder, at), numbers), strict=True
            ):
                missed = 0 if one.failed else missed + 1
                failed.update(one.failed)
                if one.failed:
                    _check(case, alone, one, f"call {number}: {one.failed}")
            if missed >= MOST_MISSED:
                return failed
    raise AssertionError("the injection does not end")


def _check(case: Case, alone: Try, one: Try, where: str) -> None:
    assert one.end == alone.end or (case.prints_answers and one.end[::2] == alone.end[::2]), (
        where,
        one.end,
    )
    assert _kinds(one.counts) <= _kinds(alone.counts), where
    is_optional = any(name.removeprefix("dlsym ") in OPTIONAL for name in one.failed)
    assert one.counts == alone.counts or one.problems - alone.problems or is_optional, where
    assert {*one.problems} <= {*WATCH_PROBLEMS}, where


@pytest.mark.parametrize("name", [name for name, (_, stride) in CASES.items() if stride])
def test_calls_that_fail(name: str, tmp_path: Path) -> None:
    """Catches a collector that takes for granted what may fail; of long programs in part of its calls."""
    case, stride = CASES[name]
    assert torture(case(tmp_path), tmp_path / "W", stride).total() > 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, (_, stride) in CASES.items() if stride != 1])
def test_every_call_that_fails(name: str, tmp_path: Path) -> None:
    """Catches the same in each of its calls."""
    case, _ = CASES[name]
    failed = torture(case(tmp_path), tmp_path / "W", 1)
    assert failed["open"] > 0 and failed["write"] > 0 and failed["rename"] > 0
