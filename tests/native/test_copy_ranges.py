"""libbyteways_copy.so: what it remembers of memory between calls, and what it gives back."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from byteways.measuring.shared.simulator import simulator_path
from tests.native import copy_program as of
from tests.native.copy_program import Program

BLOCK = 4096
HOST_TO_GPU = (
    "path host gpu0 by gpu0",
    "method default",
    "row 4096 1:1000 16:16000 64:64000",
    "method batch",
    "row 4096 1:500+ 16:4000+ 64:16000+",
)
BOTH = pytest.mark.parametrize("vendor", ["cuda", "hip"])
COUNTING = Path(__file__).parent / "fakes" / "counting_driver.c"


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The simulated driver behind a library that counts look-ups."""
    library, driver = tmp_path_factory.mktemp("counting") / "libcuda_counted.so", Path(simulator_path())
    links = ["-Wl,--no-as-needed", f"-L{driver.parent}", f"-l:{driver.name}", f"-Wl,-rpath,{driver.parent}"]
    subprocess.run(["cc", "-shared", "-fPIC", COUNTING, "-o", library, *links, "-ldl"], check=True)
    return str(library)


class Driver:
    """What the counting library has counted, and where it has memory that a test plants."""

    def __init__(self, library: str) -> None:
        self._library = ctypes.CDLL(library)
        self._planted = (ctypes.c_uint64 * 4 * 4).in_dll(self._library, "planted")

    @property
    def asked(self) -> list[int]:
        """Look-ups, and attributes in all of them."""
        names = "lookups", "attributes_asked"
        return [ctypes.c_uint64.in_dll(self._library, name).value for name in names]

    @property
    def modules(self) -> int:
        """How many are loaded."""
        return ctypes.c_uint64.in_dll(self._library, "modules").value

    def plant(self, *ranges: tuple[int, int, int, int]) -> None:
        """Device memory: beginnings, sizes, GPUs and identities."""
        for place in range(4):
            for field in range(4):
                self._planted[place][field] = ranges[place][field] if place < len(ranges) else 0


def on_counting_driver(counting: str, scene: Callable[[Program, Driver], Any]) -> Any:
    variables = {"BYTEWAYS_LIBCUDA": counting, "COUNTED_DRIVER": simulator_path()}
    return of.run(lambda program: scene(program, Driver(counting)), environment=variables)


def test_known_memory_costs_one_question_a_range_and_call(counting: str) -> None:
    """Catches a look-up for each block, and one of all attributes where the identity is enough."""

    def scene(program: Program, driver: Driver) -> Any:
        plan, stream, source = program.open(*HOST_TO_GPU), program.stream(), program.pinned(64 * BLOCK)
        layers = [program.device(16 * BLOCK) for _ in range(4)]
        to = [layers[k % 4] + BLOCK * (k // 4) for k in range(64)]
        sources = [source + BLOCK * k for k in range(64)]
        asked = [driver.asked]
        for used in (plan, plan, plan, 0):
            assert program.copy_uniform(to, sources, BLOCK, stream, used) == 0
            asked.append(driver.asked)
        steps = [[b - a for a, b in zip(*pair, strict=True)] for pair in pairwise(asked)]
        return steps, program.statistics(plan).calls[of.BATCH]

    (first, *later, without_plan), batches = on_counting_driver(counting, scene)
    assert batches == 3 and first[0] == 5 and later == [[5, 5]] * 2 and without_plan == [0, 0]


def chosen(program: Program, to: int, source: int, stream: int, plan: int) -> list[int]:
    """What a copy of 16 blocks would use, and why."""
    blocks = [to + BLOCK * k for k in range(16)], [source + BLOCK * k for k in range(16)]
    choice = program.choose(*blocks, BLOCK, stream, plan)
    assert not isinstance(choice, int)
    return [choice.method, choice.fallback]


BY_BATCH, NOT_MEASURED, UNKNOWN = [of.BATCH, of.NONE], [of.DEFAULT, of.NOT_MEASURED], [of.DEFAULT, of.MEMORY]


def test_ranges_that_replace_others_in_part(counting: str) -> None:
    """Catches the rest of an old range that is used although the memory is another GPU's, or nobody's."""
    begin, part = 0x7000_0000_0000, 4 << 20

    def scene(program: Program, driver: Driver) -> Any:
        plan, stream, source = program.open(*HOST_TO_GPU), program.stream(), program.pinned(16 * BLOCK)
        found = []
        for ranges in (
            [(begin, 2 * part, 0, 1001)],
            [(begin + part, part, 1, 1002)],
            [(begin, part, 0, 1003), (begin + part, part, 1, 1002)],
            [(begin, 2 * part, 0, 1004)],
        ):
            driver.plant(*ranges)
            found.append([chosen(program, at, source, stream, plan) for at in (begin, begin + part)])
        return found

    assert on_counting_driver(counting, scene) == [
        [BY_BATCH, BY_BATCH],
        [UNKNOWN, NOT_MEASURED],
        [BY_BATCH, NOT_MEASURED],
        [BY_BATCH, BY_BATCH],
    ]


def test_memory_without_identity_is_looked_up_in_each_call(counting: str) -> None:
    """Catches a range that is taken for the same one because neither has an identity."""
    begin = 0x7000_0000_0000

    def scene(program: Program, driver: Driver) -> Any:
        plan, stream, source = program.open(*HOST_TO_GPU), program.stream(), program.pinned(16 * BLOCK)
        found = []
        for gpu in (0, 1, 0):
            driver.plant((begin, 16 * BLOCK, gpu, 0))
            found.append(chosen(program, begin, source, stream, plan))
        return found

    assert on_counting_driver(counting, scene) == [BY_BATCH, NOT_MEASURED, BY_BATCH]


@BOTH
def test_memory_that_was_freed_and_became_another_gpus(vendor: str) -> None:
    """Catches an address that is taken for what it was, which a kernel would follow into another GPU."""

    def scene(program: Program) -> Any:
        plan, stream, source = program.open(*HOST_TO_GPU), program.stream(), program.pinned(16 * BLOCK)
        target = program.device(16 * BLOCK)
        found = [chosen(program, target, source, stream, plan)]
        program.call("cuMemFree_v2", "hipFree", ctypes.c_void_p(target))
        program.gpu(1)
        again = next(at for at in (program.device(16 * BLOCK) for _ in range(64)) if at == target)
        program.gpu(0)
        return [*found, chosen(program, again, source, stream, plan)]

    assert of.run(scene, vendor=vendor) == [BY_BATCH, NOT_MEASURED]


@BOTH
def test_memory_that_was_freed_and_is_nobodys(vendor: str) -> None:
    """Catches a range that is used from memory although the driver knows it no more."""

    def scene(program: Program) -> Any:
        plan, stream, target = program.open(*HOST_TO_GPU), program.stream(), program.device(16 * BLOCK)
        source = program.pinned(16 * BLOCK)
        found = [chosen(program, target, source, stream, plan)]
        program.call("cuMemFreeHost", "hipHostFree", ctypes.c_void_p(source))
        return [*found, chosen(program, target, source, stream, plan)]

    assert of.run(scene, vendor=vendor) == [BY_BATCH, UNKNOWN]


def test_a_closed_plan_unloads_its_kernels(counting: str) -> None:
    """Catches GPU memory for code that grows with each plan that is opened."""
    kernel, bulk = ([line.replace("batch", method) for line in HOST_TO_GPU] for method in ("kernel", "bulk"))

    def scene(program: Program, driver: Driver) -> Any:
        plan, stream = program.open(*kernel, *bulk[3:]), program.stream()
        source, target = program.pinned(16 * BLOCK), program.device(16 * BLOCK)
        blocks = [target + BLOCK * k for k in range(16)], [source + BLOCK * k for k in range(16)]
        assert program.copy_uniform(*blocks, BLOCK, stream, plan) == 0
        used = program.statistics(plan).calls[of.KERNEL], driver.modules
        program.library.bw_plan_close(plan)
        return *used, driver.modules

    assert on_counting_driver(counting, scene) == [1, 2, 0]
