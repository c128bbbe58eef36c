"""byteways.copy_, copy_blocks and open_plan with the real library, on simulated machines."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import warnings
from array import array
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import byteways
from byteways.measuring.shared.simulator import simulator_path
from tests.native import copy_program as of
from tests.native import simulated as toy
from tests.native.copy_program import Program

EXAMPLE = Path(__file__).parents[2] / "examples" / "copy" / "swap_blocks.py"
BLOCK, COUNT = 4096, 16
#: The batched call is faster for 16 blocks from the host to gpu0.
BATCH = ("path host gpu0 by gpu0", "method default", "row 4096 16:16000", "method batch", "row 4096 16:4000+")
BOTH = pytest.mark.parametrize("vendor", ["cuda", "hip"])


def plan_of(program: Program, *lines: str) -> byteways.OpenPlan:
    """A plan of this machine with these lines, read from a file."""
    file = Path(f"/dev/shm/byteways-plan-{os.getpid()}")
    file.write_text(of.checked(*program.key(), *lines), encoding="utf-8")
    try:
        return byteways.open_plan(file)
    finally:
        file.unlink()


def places(base: int, order: Sequence[int] = range(COUNT)) -> array[int]:
    return array("q", (base + BLOCK * place for place in order))


@BOTH
def test_blocks_by_a_plan(vendor: str) -> None:
    """Catches arguments that C takes for others, a plan that is not used, and other bytes than without it."""

    def scene(program: Program) -> Any:
        plan, stream = plan_of(program, *BATCH), program.stream()
        source, target = program.pinned(COUNT * BLOCK), program.device(COUNT * BLOCK)
        data = b"".join(bytes([number]) * BLOCK for number in range(COUNT))
        of.write(source, data)
        mixed = array("q", [BLOCK if number % 2 else 0 for number in range(COUNT)])
        results = []
        for sizes in (BLOCK, array("q", [BLOCK] * COUNT), mixed):
            of.write(target, bytes(COUNT * BLOCK))
            pointers = places(target), places(source, range(COUNT)[::-1])
            byteways.copy_blocks(*pointers, sizes, stream=stream, plan=plan)
            program.synchronize(stream)
            results.append(of.read(target, COUNT * BLOCK))
        reverse = b"".join(bytes([number]) * BLOCK for number in reversed(range(COUNT)))
        half = b"".join(bytes([COUNT - 1 - number if number % 2 else 0]) * BLOCK for number in range(COUNT))
        choice = plan.choose(places(target), places(source), BLOCK, stream=stream)
        return [
            results == [reverse, reverse, half],
            plan.statistics().calls["batch"] >= 2,
            choice.method,
            (choice.time_ns or 0) < (choice.default_ns or 0),
            plan.warning,
        ]

    assert of.run(scene, vendor=vendor) == [True, True, "batch", True, ""]


@BOTH
def test_an_array_without_a_plan(vendor: str) -> None:
    """Catches the bytes of an array of the GPU that go elsewhere, and a stream that is not used."""

    def scene(program: Program) -> Any:
        size, stream = 3 * BLOCK, program.stream()
        source, target = program.pinned(size), program.device(size)
        of.write(source, os.urandom(size))
        host = (ctypes.c_uint8 * size).from_address(source)
        interface = {"data": (target, False), "shape": (size,), "typestr": "|u1", "version": 3}
        on_gpu = SimpleNamespace(__cuda_array_interface__=interface)
        byteways.copy_(on_gpu, host, stream=stream)
        program.synchronize(stream)
        there = of.read(target, size) == bytes(host)
        of.write(source, bytes(size))
        byteways.copy_(host, on_gpu, stream=stream)
        program.synchronize(stream)
        return there, of.read(target, size) == bytes(host), any(bytes(host))

    assert of.run(scene, vendor=vendor) == [True, True, True]


def test_what_the_library_refuses() -> None:
    """Catches an error without the library's own details, and a code that has another meaning in Python."""

    def scene(program: Program) -> Any:
        source = program.pinned(2 * BLOCK)
        shifted = array("q", [source + BLOCK // 2])
        found = []
        for call in (
            lambda: byteways.copy_blocks(shifted, array("q", [source]), BLOCK),
            lambda: byteways.copy_blocks(array("q", [0]), array("q", [source]), BLOCK),
            lambda: byteways.open_plan("/none.plan"),
            lambda: plan_of(program, "path host gpu0 by gpu0", "nonsense"),
            lambda: plan_of(program, *BATCH).allow_peers([7]),
        ):
            try:
                call()
            except byteways.CopyError as error:
                found.append((error.code, bool(error.cause), bool(error.hint)))
        return found

    codes = (of.OVERLAP, of.NULL_POINTER, of.NOT_READ, of.DAMAGED, of.NO_SUCH_GPU)
    assert of.run(scene) == [[code, True, True] for code in codes]


def test_a_plan_of_another_machine_warns() -> None:
    """Catches a plan that is silently of no use, and copies that fail with it."""

    def scene(program: Program) -> Any:
        lines = [line.replace("GPU-", "GPU-f") for line in program.key()]
        program.key = lambda: lines  # type: ignore[method-assign]
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            plan = plan_of(program, *BATCH)
        source, target = program.pinned(BLOCK), program.device(BLOCK)
        of.write(source, b"x" * BLOCK)
        byteways.copy_blocks(array("q", [target]), array("q", [source]), BLOCK, plan=plan)
        program.synchronize()
        counts = plan.statistics()
        categories = [warning.category is byteways.PlanWarning for warning in warned]
        return categories, counts.fallbacks["other-machine"], of.read(target, BLOCK) == b"x" * BLOCK

    assert of.run(scene) == [[True], 1, True]


def test_without_a_driver() -> None:
    """Catches a crash, or an error that does not say what to do, on a machine without a GPU."""

    def scene() -> Any:
        try:
            byteways.copy_blocks(array("q", [1]), array("q", [2]), 0)
            byteways.copy_blocks(array("q", [1]), array("q", [2]), 1)
        except byteways.CopyError as error:
            return error.code, error.hint
        return None

    environment = {"BYTEWAYS_LIBCUDA": "/none.so", "BYTEWAYS_LIBHIP": "/none.so"}
    code, hint = toy.apart(scene, environment)
    assert code == of.NO_DRIVER and hint


@pytest.mark.parametrize("planned", [False, True])
def test_the_example_in_python(tmp_path: Path, planned: bool) -> None:
    """Catches an example that moves other bytes, or does not use its plan."""
    sheet, file = tmp_path / "sheet", tmp_path / "machine.plan"
    sheet.write_text(toy.nvidia(), encoding="utf-8")
    rows = ("method default", "row 16384 24:96000", "method batch", "row 16384 24:9000+")
    key = of.run(lambda program: program.key())
    file.write_text(of.checked(*key, "path host gpu0 by gpu0", *rows), encoding="utf-8")
    environment = {**os.environ, "BYTEWAYS_SIM_SHEET": str(sheet), "BYTEWAYS_LIBCUDA": simulator_path()}
    command = [sys.executable, str(EXAMPLE), *([str(file)] if planned else [])]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and "24 of 24" in ended.stdout, ended.stderr
    assert ("batch: 1 calls" in ended.stdout) == planned
