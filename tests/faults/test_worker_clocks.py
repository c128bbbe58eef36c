"""Workers whose clock is replaced: none of their figures becomes a result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from byteways.cases.reasons import CLOCK_WRONG
from tests.cache import cached
from tests.faults.harness import Command

#: clock_gettime() of workers alone: the raw clock in steps of 10 ms, or at half its rate.
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec* time) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) *(void**)&real = dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(id, time);
  const char* mode = getenv("WRONG_CLOCK");
  if (!mode || (id != CLOCK_MONOTONIC_RAW && id != CLOCK_MONOTONIC)) return result;
  if (*mode == 'c') time->tv_nsec -= time->tv_nsec % 10000000;
  if (*mode == 's') {
    const long long half = (time->tv_sec * 1000000000LL + time->tv_nsec) / 2;
    time->tv_sec = half / 1000000000LL;
    time->tv_nsec = half % 1000000000LL;
  }
  return result;
}
"""


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    """A command that starts the real worker with the replaced clock."""

    def make(file: Path) -> None:
        (tmp_path / "clock.c").write_text(SOURCE)
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-o", file, tmp_path / "clock.c", "-ldl"], check=True
        )

    library = cached("wrong_clock.so", [SOURCE], make)
    command = tmp_path / "worker.sh"
    own = f"{sys.executable} -m byteways.measuring.work.worker"
    command.write_text(f'#!/bin/sh\nLD_PRELOAD={library} exec {own} "$@"\n')
    command.chmod(0o755)
    return command


def test_a_coarse_clock_is_refused_at_once(command: Command, worker: Path) -> None:
    """Would catch a case that is timed by steps of 10 ms until its deadline, or a message without cause."""
    done = command.new(BYTEWAYS_WORKER=str(worker), WRONG_CLOCK="coarse", BYTEWAYS_GPUS="0")
    assert done.returncode == 2 and "a resolution of 10 ms" in done.stderr and "hint: " in done.stderr
    assert not (command.folder / "measurements.jsonl").exists()


def test_a_slow_clock_gives_no_result(command: Command, worker: Path) -> None:
    """Would catch twice the bandwidth of a machine, recorded as measured."""
    done = command.new(BYTEWAYS_WORKER=str(worker), WRONG_CLOCK="slow", BYTEWAYS_GPUS="0")
    assert done.returncode == 1, done.stderr
    lines = (command.folder / "measurements.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert {record["status"] for record in records} <= {"failed", "skipped"}
    wrong = [record for record in records if record.get("reason_code") == CLOCK_WRONG]
    assert wrong and all(one["reason_fields"]["worker_s"] < one["reason_fields"]["least_s"] for one in wrong)
    assert not any(record.get("bandwidth_bytes_per_s") for record in records)
