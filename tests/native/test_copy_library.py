"""libbyteways_copy.so: what a C program gets from it, on simulated machines."""

from __future__ import annotations

import ctypes
import os
import random
import re
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

import write_copy_kernels
from byteways.measuring.shared.simulator import simulator_path
from tests.native import copy_program as of
from tests.native import fake_libraries as fake
from tests.native import simulated as toy
from tests.native.copy_program import Program

ROOT = Path(__file__).parents[2]
KIB = 1 << 10
BLOCK = 4 * KIB
#: A plan in which the batched call is faster for 4 to 16 blocks of 4 to 16 KiB from the host to gpu0.
BATCHES = (
    "path host gpu0 by gpu0",
    "method default",
    "row 4096 1:1000 4:4000 16:16000",
    "row 16384 1:4000 4:16000 16:64000",
    "method batch",
    "row 4096 4:2000+ 16:4000+",
    "row 16384 4:8000+ 16:16000+",
)
#: One in which large copies are faster over gpu1, in pieces of 16 KiB.
RELAYS = (
    "path host gpu0 by gpu0",
    "method default",
    "row 131072 1:1000000",
    "row 524288 1:4000000",
    "method relay via=gpu1 piece=16384 depth=2",
    "row 131072 1:500000+ parts=600000,400000",
    "row 524288 1:2000000+ parts=500000,500000",
    "path gpu0 host by gpu0",
    "method default",
    "row 131072 1:1000000",
    "method relay via=gpu1 piece=16384 depth=2",
    "row 131072 1:500000+ parts=600000,400000",
)
BOTH = pytest.mark.parametrize("vendor", ["cuda", "hip"])


def spread(base: int, count: int, size: int = BLOCK) -> list[int]:
    """Addresses of blocks with a gap after each, the last first."""
    return [base + 2 * size * place for place in reversed(range(count))]


def in_a_row(base: int, count: int, size: int = BLOCK) -> list[int]:
    return [base + size * place for place in range(count)]


def filled(program: Program, count: int = 16, size: int = BLOCK) -> tuple[int, int, bytes]:
    """Pinned memory with a pattern, and device memory with zeros, each for `count` blocks and gaps."""
    data = random.Random(1).randbytes(2 * count * size)
    source, target = program.pinned(len(data)), program.device(len(data))
    of.write(source, data)
    of.write(target, bytes(len(data)))
    return source, target, data


def gathered(data: bytes, count: int, size: int = BLOCK) -> bytes:
    """What blocks of spread() are when they are copied into a row."""
    return b"".join(data[2 * size * place :][:size] for place in reversed(range(count)))


def test_exactly_the_headers_functions_are_exported() -> None:
    """Catches a function that is missing in the library, and a symbol that programs could collide with."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", of.copy_library()], check=True, capture_output=True, text=True
    ).stdout
    exported = {line.split()[-1] for line in listed.splitlines()}
    declared = set(re.findall(r"\b(bw_\w+)\(", re.sub(r"/\*.*?\*/", "", of.HEADER.read_text(), flags=re.S)))
    assert exported == declared


def test_the_library_needs_the_c_library_alone() -> None:
    """Catches a dependency that a program would have to ship: Python, a GPU driver, the C++ library."""
    listed = subprocess.run(["readelf", "-d", of.copy_library()], check=True, capture_output=True, text=True)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", listed.stdout))
    assert needed <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}


def test_the_header_is_c(tmp_path: Path) -> None:
    """Catches what a C compiler refuses in the header, and numbers that differ from those of these tests."""
    source = tmp_path / "program.c"
    source.write_text(
        '#include "byteways_copy.h"\n#include <stdio.h>\nint main(void) { printf("%d %d %d %zu %zu %d",'
        " BW_NO_SUCH_GPU, BW_METHODS, BW_FALLBACKS, sizeof(struct bw_choice), sizeof(struct bw_statistics),"
        " BW_ABI); return 0; }\n",
        encoding="utf-8",
    )
    program = tmp_path / "program"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{of.HEADER.parent}"]
    subprocess.run(["cc", *flags, source, "-o", program], check=True)
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    sizes = ctypes.sizeof(of.Choice), ctypes.sizeof(of.Statistics)
    assert [int(word) for word in printed.split()] == [
        *(of.NO_SUCH_GPU, of.METHODS, of.FALLBACKS),
        *sizes,
        1,
    ]


@BOTH
def test_without_a_plan_copies_are_the_drivers(vendor: str) -> None:
    """Catches bytes that go elsewhere, and blocks that are left out."""

    def scene(program: Program) -> Any:
        source, target, data = filled(program)
        stream = program.stream()
        codes = [program.library.bw_copy(target, source, 3 * BLOCK + 24, stream, None)]
        program.synchronize(stream)
        alone = of.read(target, 4 * BLOCK)
        codes.append(program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, stream))
        program.synchronize(stream)
        uniform = of.read(target, 16 * BLOCK)
        sizes = [8 * (k % 5) for k in range(16)]
        codes.append(program.copy_blocks(in_a_row(target, 16), in_a_row(source, 16), sizes, stream))
        program.synchronize(stream)
        mixed = of.read(target, 16 * BLOCK)
        expected = bytearray(uniform)
        for k, size in enumerate(sizes):
            expected[k * BLOCK : k * BLOCK + size] = data[k * BLOCK : k * BLOCK + size]
        whole = data[: 3 * BLOCK + 24] + bytes(BLOCK - 24)
        return codes, alone == whole, uniform == gathered(data, 16), mixed == bytes(expected)

    assert of.run(scene, vendor=vendor) == [[0, 0, 0], True, True, True]


@BOTH
def test_a_batch_where_the_plan_has_a_lead(vendor: str) -> None:
    """Catches a method that copies other bytes, or is used beyond the cells with a lead."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        source, target, data = filled(program)
        stream = program.stream()
        code = program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan)
        program.synchronize(stream)
        right = of.read(target, 16 * BLOCK) == gathered(data, 16)
        choices = {}
        for name, count, size in (
            ("between", 8, 2 * BLOCK),
            ("fewer", 2, BLOCK),
            ("more", 32, BLOCK),
            ("smaller", 8, BLOCK // 2),
            ("larger", 8, 8 * BLOCK),
        ):
            choice = program.choose([target] * count, [source] * count, size, stream, plan)
            assert not isinstance(choice, int)
            choices[name] = [choice.method, choice.fallback]
        return code, right, program.warning(plan), choices, program.fallbacks(plan)

    code, right, warning, choices, fallbacks = of.run(scene, vendor=vendor)
    assert (code, right, warning, fallbacks) == (0, True, "", {})
    assert choices == {
        "between": [of.BATCH, of.NONE],
        "fewer": [of.DEFAULT, of.NO_LEAD],
        "more": [of.BATCH, of.NONE],
        "smaller": [of.DEFAULT, of.NOT_MEASURED],
        "larger": [of.DEFAULT, of.NOT_MEASURED],
    }


def test_times_between_measured_cells() -> None:
    """Catches an interpolation that is not between its neighbours, or not in logarithms."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        memory = program.pinned(64 * KIB), program.device(64 * KIB)
        times = []
        for count, size in ((4, BLOCK), (8, BLOCK), (4, 2 * BLOCK), (32, BLOCK)):
            choice = program.choose([memory[1]] * count, [memory[0]] * count, size, 0, plan)
            assert not isinstance(choice, int)
            times.append(choice.default_ns)
        return times

    # Doubled counts and sizes lie halfway in logarithms; beyond the counts each block takes as long.
    assert of.run(scene) == pytest.approx([4000, 8000, 8000, 32000])


def test_a_lead_ends_where_larger_copies_were_measured() -> None:
    """Catches a method for small copies that is used for any size, and one for the largest that is not."""
    sizes = (4096, 1 << 16, 1 << 20, 1 << 24)

    def scene(program: Program) -> Any:
        plan = program.open(
            *BATCHES[:2],
            *(f"row {size} 1:{size}" for size in sizes[:3]),
            "method kernel",
            "row 4096 1:2000+",
            "method batch",
            *(f"row {size} 1:{size // 2}+" for size in sizes[1:3]),
        )
        source, target = program.pinned(sizes[-1]), program.device(sizes[-1])
        found = [program.choose([target], [source], size, program.stream(), plan) for size in sizes]
        return [one if isinstance(one, int) else one.method for one in found]

    assert of.run(scene) == [of.KERNEL, of.BATCH, of.BATCH, of.BATCH]


def test_nothing_to_copy_is_fine() -> None:
    """Catches pointers that are looked at although no byte is to be copied."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        copy = program.library
        return [
            copy.bw_copy(None, None, 0, None, plan),
            copy.bw_copy_blocks(None, None, None, 0, None, plan),
            copy.bw_copy_blocks_uniform(None, None, 64, 0, None, None),
            program.copy_blocks([0, 0], [0, 0], [0, 0], 0, plan),
            program.copy_uniform([0] * 3, [0] * 3, 0, 0, plan),
            sum(program.statistics(plan).calls),
        ]

    assert of.run(scene) == [0, 0, 0, 0, 0, 0]


def test_null_pointers_are_refused_by_block() -> None:
    """Catches a null pointer that the driver gets, after blocks before it were copied."""

    def scene(program: Program) -> Any:
        source, target, _ = filled(program)
        answers = []
        for to, sources in (([target, 0], [source, source]), ([target, target + 64], [source, 0])):
            answers.append([program.copy_blocks(to, sources, [64, 64]), program.last_error()])
        answers.append([program.library.bw_copy_blocks(None, None, None, 2, None, None), ""])
        answers.append([program.library.bw_plan_open(None, None), ""])
        answers.append([program.library.bw_plan_prepare(None), ""])
        program.synchronize()
        return answers, of.read(target, 64) == bytes(64)

    answers, untouched = of.run(scene)
    assert [code for code, _ in answers] == [of.NULL_POINTER] * 5
    assert "block 1" in answers[0][1] and "block 1" in answers[1][1] and untouched


OVERLAPS = {
    "same destination": ([0, 0], [4096, 8192], 64, [0, 1]),
    "a destination a byte later": ([0, 63], [4096, 8192], 64, [0, 1]),
    "a destination a byte earlier": ([63, 0], [4096, 8192], 64, [0, 1]),
    "one reads what another writes": ([0, 4096], [8192, 32], 64, [0, 1]),
    "its own source": ([0], [32], 64, [0, 0]),
    "a size that is no power of two": ([0, 99], [4096, 8192], 100, [0, 1]),
}


@pytest.mark.parametrize("case", OVERLAPS)
def test_overlapping_blocks_are_refused_and_named(case: str) -> None:
    """Catches blocks of which the result depends on their order, and a message that names others."""
    to, sources, size, named = OVERLAPS[case]

    def scene(program: Program) -> Any:
        memory = program.device(16 * KIB)
        of.write(memory, bytes(range(256)) * 64)
        blocks = [memory + at for at in to], [memory + at for at in sources]
        codes = [program.copy_uniform(*blocks, size), program.copy_blocks(*blocks, [size] * len(to))]
        message = program.last_error()
        program.synchronize()
        return codes, message, of.read(memory, 16 * KIB) == bytes(range(256)) * 64

    codes, message, untouched = of.run(scene)
    assert codes == [of.OVERLAP, of.OVERLAP] and untouched
    assert sorted(map(int, re.findall(r"block (\d+)", message))) == named


def depends_on_order(to: list[int], sources: list[int], sizes: list[int]) -> bool:
    """The definition, pair by pair."""

    def meet(one: int, one_size: int, other: int, other_size: int) -> bool:
        return one < other + other_size and other < one + one_size and one_size > 0 and other_size > 0

    blocks = list(zip(to, sources, sizes, strict=True))
    for k, (write, start, size) in enumerate(blocks):
        for j, (other_write, other_start, other_size) in enumerate(blocks):
            same = (write, start, size) == (other_write, other_start, other_size)
            if j != k and not same and meet(write, size, other_write, other_size):
                return True
            if other_write != other_start and meet(start, size, other_write, other_size):
                return True
    return False


def test_overlaps_are_found_as_by_comparing_all_pairs() -> None:
    """Catches an overlap that the table or the sorted list misses, and blocks refused for nothing."""
    draw = random.Random(7)

    def scene(program: Program) -> Any:
        wrong, refused = [], 0
        for _ in range(1500):
            count, room = draw.randrange(1, 9), draw.choice([200, 1000, 4000])
            sizes = [draw.choice([16, 24, 48, 64, 100])] * count
            if draw.random() < 0.4:
                sizes = [draw.randrange(0, 120) for _ in range(count)]
            to = [1000 + draw.randrange(room) for _ in range(count)]
            sources = [1000 + draw.randrange(room) + draw.choice([0, 100000]) for _ in range(count)]
            if draw.random() < 0.3:
                to[-1], sources[-1], sizes[-1] = to[0], sources[0], sizes[0]
            if draw.random() < 0.3:
                sources[-1] = to[-1]
            if draw.random() < 0.3:  # blocks that one table does not cover
                to[0] += 1 << 40
            elif draw.random() < 0.3:  # blocks in units of a large power of two
                to, sources, sizes = ([each << 30 for each in some] for some in (to, sources, sizes))
            expected = depends_on_order(to, sources, sizes)
            refused += expected
            # The addresses are of no memory: where nothing overlaps, the driver refuses them.
            code = program.copy_blocks(to, sources, sizes)
            if (code == of.OVERLAP) != expected:
                wrong.append([to, sources, sizes, code])
        return wrong, refused

    wrong, refused = of.run(scene)
    assert wrong == [] and 300 < refused < 1200


def test_blocks_at_the_end_of_the_addresses() -> None:
    """Catches an end beyond the last address, for which a table of what is written has no room, and a sum of
    sizes that is 0 again, so that nothing seems to be copied."""
    last = 1 << 64

    def scene(program: Program) -> Any:
        answers = []
        for size, begins in ((1 << 63, [1 << 40, last - (1 << 40)]), (8192, [4096, last - 4096])):
            code = program.copy_blocks(begins, [1 << 50, 1 << 52], [size] * 2)
            answers.append(code != 0)
        return answers

    assert of.run(scene) == [True, True]


def test_large_copies_count_all_their_bytes() -> None:
    """Catches a size that is cut to 31 or 32 bits: five GiB would take as long as one."""

    def scene(program: Program) -> Any:
        plan = program.open(*RELAYS)
        size = 5 << 30
        source, target, stream = program.pinned(size), program.device(size), program.stream()
        began = program.driver.bwsim_now()
        code = program.library.bw_copy(target, source, size, stream, plan)
        program.synchronize(stream)
        return code, program.driver.bwsim_now() - began, program.statistics(plan).bytes[of.DEFAULT]

    code, took_ns, counted = of.run(scene)
    assert (code, counted) == (0, 5 << 30)
    assert took_ns * toy.RATES["engine-host-read"] > 0.9e9 * (5 << 30)


def test_a_captured_copy_is_the_drivers_and_plays_again() -> None:
    """Catches a batch inside a capture, which drivers refuse, and a graph without its copies."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        source, target, data = filled(program)
        stream, graph, ready = program.stream(), ctypes.c_void_p(), ctypes.c_void_p()
        program.call("cuStreamBeginCapture_v2", "", ctypes.c_void_p(stream), 1)
        code = program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan)
        program.call("cuStreamEndCapture", "", ctypes.c_void_p(stream), ctypes.byref(graph))
        program.synchronize(stream)
        before = of.read(target, 16 * BLOCK) == bytes(16 * BLOCK)
        program.call("cuGraphInstantiateWithFlags", "", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        program.call("cuGraphLaunch", "", ready, ctypes.c_void_p(stream))
        program.synchronize(stream)
        after = of.read(target, 16 * BLOCK) == gathered(data, 16)
        return code, before, after, program.fallbacks(plan) == {of.CAPTURING: 1}

    assert of.run(scene) == [0, True, True, True]


def test_memory_that_the_driver_does_not_know_is_left_to_it() -> None:
    """Catches a batch or a kernel on pageable memory, or on memory of two kinds in one call."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        pinned, target, data = filled(program)
        plain = program.pageable(16 * BLOCK)
        of.write(plain, data[: 16 * BLOCK])
        stream = program.stream()
        mixed = [*in_a_row(plain, 4), *in_a_row(pinned, 4)]
        codes = [
            program.copy_uniform(in_a_row(target, 4), in_a_row(plain, 4), BLOCK, stream, plan),
            program.copy_uniform(in_a_row(target, 8), mixed, BLOCK, stream, plan),
        ]
        program.synchronize(stream)
        right = of.read(target, 8 * BLOCK) == 2 * data[: 4 * BLOCK]
        return codes, right, program.fallbacks(plan) == {of.MEMORY: 2}

    assert of.run(scene) == [[0, 0], True, True]


def test_the_default_stream_takes_no_batch() -> None:
    """Catches a batch on the legacy default stream, which the driver refuses."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        source, target, data = filled(program)
        code = program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, 0, plan)
        program.synchronize()
        return code, of.read(target, 16 * BLOCK) == gathered(data, 16), program.fallbacks(plan)

    assert of.run(scene) == [0, True, {str(of.FAILED): 1}]


def test_a_gpu_that_was_not_prepared_has_default_calls() -> None:
    """Catches preparation inside a copy, which would wait, and one that is not done when asked for."""

    def scene(program: Program) -> Any:
        lines = [line.replace("gpu0", "gpu1") for line in BATCHES]
        plan = program.open(*lines)
        program.gpu(1)
        source, target, _ = filled(program)
        stream = program.stream()
        blocks = in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan
        codes = [
            program.copy_uniform(*blocks),
            program.library.bw_plan_prepare(plan),
            program.copy_uniform(*blocks),
        ]
        program.synchronize(stream)
        return codes, program.fallbacks(plan), program.statistics(plan).calls[of.BATCH]

    assert of.run(scene) == [[0, 0, 0], {str(of.NOT_PREPARED): 1}, 1]


def test_the_switch_in_the_environment() -> None:
    """Catches a method that is used although the user has switched all of them off."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        source, target, data = filled(program)
        stream = program.stream()
        code = program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan)
        program.synchronize(stream)
        right = of.read(target, 16 * BLOCK) == gathered(data, 16)
        return code, right, program.fallbacks(plan), program.warning(plan)

    answer = of.run(scene, environment={"BYTEWAYS_COPY": "off"})
    assert answer == [0, True, {str(of.SWITCHED_OFF): 1}, "BYTEWAYS_COPY=off"]


OTHER_MACHINES = {
    "uuid": lambda text: text.replace("GPU-", "GPU-f"),
    "address": lambda text: re.sub(r"0000:(..):", r"0001:\1:", text),
    "driver": lambda text: text.replace("driver cuda 13.0 -", "driver cuda 12.8 570.86.10"),
    "vendor": lambda text: text.replace("driver cuda 13.0", "driver hip 6.2"),
}


@pytest.mark.parametrize("difference", OTHER_MACHINES)
def test_a_plan_of_another_machine(difference: str) -> None:
    """Catches a plan whose measurements are not of this GPU, slot or driver, and is followed all the same."""

    def scene(program: Program) -> Any:
        lines = OTHER_MACHINES[difference]("\n".join(program.key())).split("\n")
        plan = program.open_text(of.checked(*lines, *BATCHES))
        source, target, data = filled(program)
        stream = program.stream()
        code = program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan)
        program.synchronize(stream)
        right = of.read(target, 16 * BLOCK) == gathered(data, 16)
        return code, right, program.fallbacks(plan) == {of.OTHER_MACHINE: 1}, program.warning(plan)

    code, right, fell_back, warning = of.run(scene)
    assert (code, right, fell_back) == (0, True, True) and warning


def test_a_damaged_plan_is_an_error_with_its_line(tmp_path: Path) -> None:
    """Catches a plan that was cut or changed and is read all the same, or that ends the program."""
    gpus = ("gpu 0 GPU-0 0000:0a:00.0 Toy", "gpu 1 GPU-1 0000:8b:00.0 Toy")
    text = of.checked("driver cuda 13.0 -", *gpus, *RELAYS)
    lines = text.splitlines(keepends=True)
    wrong = [
        ["driver cuda"],
        ["driver cuda 13.0 -", "gpu 1 GPU-0 0000:0a:00.0"],
        ["driver cuda 13.0 -", "path host gpu0 by gpu0"],
        ["driver cuda 13.0 -", "row 1 1:1"],
        ["nonsense"],
        [],
        *(
            [*lines_of(text), *more]
            for more in (["row 5 1:1"], ["row 9999999 2:5 1:5"], ["row 9999999 1:-5"])
        ),
        *(
            [*lines_of(text), more]
            for more in ("method swift", "method relay via=gpu0", "method batch size=3")
        ),
        [*lines_of(text), "method relay via=gpu0 piece=4096 depth=1", "row 1 1:1 parts=900000,200000"],
    ]

    def scene(program: Program) -> Any:
        path, answers = tmp_path / "plan", []
        damaged = [text[:cut] for cut in range(0, len(text), 7)]
        damaged += ["".join(lines[:k] + lines[k + 1 :]) for k in range(len(lines))]
        damaged += [text[:at] + chr(ord(text[at]) ^ 1) + text[at + 1 :] for at in range(0, len(text), 11)]
        damaged += [of.checked(*each) for each in wrong]
        for each in damaged:
            path.write_text(each, encoding="utf-8")
            code, plan = program.open_file(str(path))
            if code != of.DAMAGED or plan or not re.search(r"line \d+: .", program.last_error()):
                answers.append([code, plan, program.last_error(), each[-60:]])
        path.write_text(text, encoding="utf-8")
        whole = program.open_file(str(path))[0]
        path.unlink()
        missing = program.open_file(str(path)), program.last_error()
        return answers, whole, missing

    answers, whole, ((code, plan), message) = of.run(scene)
    assert answers == [] and whole == 0
    assert (code, plan) == (of.NOT_READ, 0) and "No such file" in message


def lines_of(text: str) -> list[str]:
    """The lines of a plan between the first and the last."""
    return text.splitlines()[1:-1]


def test_a_forked_child_gets_a_clear_code() -> None:
    """Catches a driver that is called in a forked child, where it may hang, and a disturbed parent."""

    def scene(program: Program) -> Any:
        plan = program.open(*KERNELS, *RELAYS[7:])
        program.allow(plan, 1)
        source, target, data = filled(program)
        stream = program.stream()
        blocks = in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            codes = [program.copy_uniform(*blocks), program.library.bw_plan_prepare(plan)]
            codes.append(program.open_file("/nosuch")[0])
            program.library.bw_plan_close(plan)
            os.write(writer, " ".join(map(str, codes)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        codes = [*map(int, os.read(reader, 100).split()), program.copy_uniform(*blocks)]
        program.synchronize(stream)
        return codes, of.read(target, 16 * BLOCK) == gathered(data, 16)

    assert of.run(scene) == [[of.FORKED, of.FORKED, of.NOT_READ, 0], True]


def test_no_driver_is_a_clear_code() -> None:
    """Catches a program that ends, or an error without the reason, on a machine without a GPU."""

    def scene() -> Any:
        library = ctypes.CDLL(of.copy_library())
        library.bw_last_error.restype = ctypes.c_char_p
        code = library.bw_copy(None, None, ctypes.c_size_t(0), None, None)
        return code, library.bw_last_error().decode()

    nowhere = {"BYTEWAYS_LIBCUDA": "/nosuch/libcuda.so", "BYTEWAYS_LIBHIP": "/nosuch/libhip.so"}
    code, message = toy.apart(scene, nowhere)
    assert code == of.NO_DRIVER and "/nosuch/libcuda.so" in message


def test_driver_codes_are_unchanged_and_have_text() -> None:
    """Catches a code of the driver that is swallowed or replaced."""

    def scene(program: Program) -> Any:
        target = program.device(BLOCK)
        code = program.library.bw_copy(target, target + (1 << 40), 64, None, None)
        return code, program.last_error(), program.library.bw_error_text(2).decode()

    code, message, text = of.run(scene)
    assert code == 1 and "CUDA_ERROR_INVALID_VALUE" in message and "CUDA_ERROR_OUT_OF_MEMORY" in text


def test_a_stream_of_another_context(tmp_path: Path) -> None:
    """Catches events and kernels of the primary context on a stream of another one."""
    library = fake.build(tmp_path, "cuda.def")

    def scene() -> Any:
        copies = ctypes.CDLL(of.copy_library())
        copies.bw_plan_warning.restype = ctypes.c_char_p
        plan, path = ctypes.c_void_p(), tmp_path / "plan"
        uuid = "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
        key = ["driver cuda 13.0 -", f"gpu 0 {uuid} 0000:3b:00.0 Fake"]
        path.write_text(
            of.checked(*key, "path host gpu0 by gpu0", "method default", "row 64 1:5"), encoding="utf-8"
        )
        codes = [copies.bw_plan_open(str(path).encode(), ctypes.byref(plan))]
        os.environ["FAKE_STREAM_CONTEXT"] = "2"
        data = ctypes.create_string_buffer(256)
        address = ctypes.addressof(data)
        codes.append(copies.bw_copy(ctypes.c_void_p(address), ctypes.c_void_p(address + 128), 64, 64, plan))
        counts = of.Statistics(ctypes.sizeof(of.Statistics))
        copies.bw_get_statistics(plan, ctypes.byref(counts))
        return codes, copies.bw_plan_warning(plan).decode(), list(counts.fallbacks).index(1)

    assert toy.apart(scene, {"BYTEWAYS_LIBCUDA": str(library)}) == [[0, 0], "", of.OTHER_CONTEXT]


def test_threads_and_streams_share_a_plan() -> None:
    """Catches state that two calls share: each thread must find its own bytes, and all calls are counted."""

    def scene(program: Program) -> Any:
        plan = program.open(*BATCHES)
        work, wrong = [(*filled(program), program.stream()) for _ in range(4)], []

        def copy(source: int, target: int, data: bytes, stream: int) -> None:
            program.gpu(0)
            for count in (4, 9, 16) * 5:
                to, sources = in_a_row(target, count), spread(source, count)
                if program.copy_uniform(to, sources, BLOCK, stream, plan) != 0:
                    wrong.append(count)
                program.synchronize(stream)
                if of.read(target, count * BLOCK) != gathered(data, count):
                    wrong.append(count)

        threads = [threading.Thread(target=copy, args=one) for one in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return wrong, program.statistics(plan).calls[of.BATCH]

    assert of.run(scene) == [[], 60]


# --- kernels: blocks by a list of addresses

KERNELS = [line.replace("batch", "kernel") for line in BATCHES]


@pytest.mark.parametrize("image", write_copy_kernels.IMAGES, ids=lambda image: image.name)
def test_the_kernels_are_current(image: write_copy_kernels.Image) -> None:
    """Catches a change of the kernels that the library does not have."""
    first = image.path.read_text(encoding="utf-8").partition("\n")[0]
    assert first == f"// sources {write_copy_kernels.digest(image)}", "run scripts/write_copy_kernels.py"


@pytest.mark.parametrize(
    ("vendor", "method", "shape"),
    [
        ("cuda", "kernel", ""),
        ("cuda", "kernel", " threads=128"),
        ("cuda", "kernel", " blocks=8 threads=64"),
        ("cuda", "bulk", ""),
        ("cuda", "bulk", " blocks=2 chunk_bytes=1024 stages=3"),
        ("hip", "kernel", ""),
        ("hip", "kernel", " blocks=8 threads=64"),
    ],
)
@pytest.mark.parametrize("count", [5, 64, 600])
def test_a_kernel_copies_every_block(vendor: str, method: str, shape: str, count: int) -> None:
    """Catches blocks that a list leaves out, and a grid that covers a part of them."""

    def scene(program: Program) -> Any:
        lines = [line.replace("method kernel", f"method {method}{shape}") for line in KERNELS]
        plan = program.open(*[line.replace("row 4096", "row 256") for line in lines])
        source, target, data = filled(program, count, 512)
        stream = program.stream()
        code = program.copy_uniform(
            in_a_row(target, count, 512), spread(source, count, 512), 512, stream, plan
        )
        program.synchronize(stream)
        right = of.read(target, 2 * 512 * count) == gathered(data, count, 512) + bytes(512 * count)
        calls = program.statistics(plan).calls
        return code, right, program.warning(plan), calls[of.KERNEL] + calls[of.BULK], calls[of.DEFAULT]

    assert of.run(scene, vendor=vendor) == [0, True, "", 1, 0]


def test_more_blocks_than_a_list_holds() -> None:
    """Catches blocks beyond the first launch."""
    count, size = 40000, 16
    rows = ["row 16 4:4000 16:16000", "method kernel", "row 16 4:2000+ 16:4000+"]

    def scene(program: Program) -> Any:
        plan, stream = program.open(*BATCHES[:2], *rows), program.stream()
        data = random.Random(3).randbytes(count * size)
        source, target = program.pinned(len(data)), program.device(len(data))
        of.write(source, data)
        backwards = list(reversed(in_a_row(source, count, size)))
        code = program.copy_uniform(in_a_row(target, count, size), backwards, size, stream, plan)
        program.synchronize(stream)
        places = reversed(range(count))
        right = of.read(target, len(data)) == b"".join(data[size * k : size * (k + 1)] for k in places)
        return code, right, program.statistics(plan).calls[of.KERNEL]

    assert of.run(scene) == [0, True, 1]


def test_blocks_of_different_sizes_go_in_pieces() -> None:
    """Catches pieces that are lost or doubled, and sizes without a common divisor that go in tiny pieces."""

    def scene(program: Program) -> Any:
        plan, stream = program.open(*KERNELS), program.stream()
        source, target, data = filled(program, 16, 16 * KIB)
        answers = []
        for sizes in ([4096, 12288, 8192, 4096, 16384], [4096, 4112, 8192, 4096, 16384]):
            of.write(target, bytes(len(data)))
            code = program.copy_blocks(
                in_a_row(target, 5, 16 * KIB), spread(source, 5, 16 * KIB), sizes, stream, plan
            )
            program.synchronize(stream)
            expected = b"".join(
                data[2 * 16 * KIB * (4 - k) :][:size] + bytes(16 * KIB - size) for k, size in enumerate(sizes)
            )
            answers.append([code, of.read(target, 5 * 16 * KIB) == expected])
        return answers, list(program.statistics(plan).calls), program.fallbacks(plan)

    answers, calls, fallbacks = of.run(scene)
    assert answers == [[0, True]] * 2 and (calls[of.KERNEL], calls[of.DEFAULT]) == (1, 1)
    assert fallbacks == {str(of.FAILED): 1}


@pytest.mark.parametrize(
    ("marks", "times", "method"),
    [
        ("**", (4100, 16400), of.BULK),
        ("*+", (4100, 16400), of.KERNEL),
        ("**", (4200, 16800), of.KERNEL),
        ("++", (4100, 16400), of.KERNEL),
    ],
    ids=["marked", "at one neighbour", "slower by 5 %", "not marked"],
)
def test_few_multiprocessors_before_a_little_time(marks: str, times: tuple[int, int], method: int) -> None:
    """Catches a kernel on all multiprocessors where another method needs few and nearly the same time.

    The other one must have been measured so at all neighbours.
    """
    small, large = (f"{count}:{ns}{mark}" for count, ns, mark in zip((64, 256), times, marks, strict=True))

    def scene(program: Program) -> Any:
        plan, stream = (
            program.open(
                "path host gpu0 by gpu0",
                *("method default", "row 4096 64:64000 256:256000"),
                *("method bulk blocks=8", f"row 4096 {small} {large}"),
                *("method kernel", "row 4096 64:4000+ 256:16000+"),
            ),
            program.stream(),
        )
        source, target = program.pinned(128 * BLOCK), program.device(128 * BLOCK)
        choice = program.choose(in_a_row(target, 128), in_a_row(source, 128), BLOCK, stream, plan)
        assert not isinstance(choice, int)
        return [choice.method, choice.time_ns < choice.default_ns]

    assert of.run(scene) == [method, True]


def test_what_is_not_aligned_is_the_drivers() -> None:
    """Catches accesses of 16 bytes to addresses or sizes that are no multiples, which end a GPU's context."""

    def scene(program: Program) -> Any:
        plan, stream = program.open(*KERNELS), program.stream()
        source, target, _ = filled(program)
        blocks = [target + 8 + BLOCK * k for k in range(8)], in_a_row(source, 8)
        codes = [program.copy_uniform(*blocks, BLOCK, stream, plan)]
        codes.append(program.copy_blocks(in_a_row(target, 4), in_a_row(source, 4), [4104] * 4, stream, plan))
        program.synchronize(stream)
        return codes, program.fallbacks(plan)

    codes, fallbacks = of.run(scene)
    assert fallbacks == {str(of.NOT_ALIGNED): 1} and codes == [0, of.OVERLAP]


def test_kernels_in_a_graph_keep_their_lists() -> None:
    """Catches a list that a later copy writes over while a graph still reads it."""

    def scene(program: Program) -> Any:
        plan, stream = program.open(*KERNELS), program.stream()
        source, target, data = filled(program)
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        program.call("cuStreamBeginCapture_v2", "", ctypes.c_void_p(stream), 1)
        code = program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan)
        program.call("cuStreamEndCapture", "", ctypes.c_void_p(stream), ctypes.byref(graph))
        program.call("cuGraphInstantiateWithFlags", "", ctypes.byref(ready), graph, ctypes.c_uint64(0))
        for _ in range(70):
            program.copy_uniform(in_a_row(target, 16), in_a_row(source, 16), BLOCK, stream, plan)
            program.synchronize(stream)
        program.call("cuGraphLaunch", "", ready, ctypes.c_void_p(stream))
        program.synchronize(stream)
        return code, of.read(target, 16 * BLOCK) == gathered(data, 16), program.fallbacks(plan)

    assert of.run(scene) == [0, True, {}]


def test_lists_in_use_are_not_waited_for() -> None:
    """Catches a call that waits for the GPU, or writes a list that is still to be read."""

    def scene(program: Program) -> Any:
        plan, stream = program.open(*KERNELS), program.stream()
        work = [filled(program, 8) for _ in range(70)]
        ahead = program.device(1 << 30), program.pinned(1 << 30)
        program.library.bw_copy(*ahead, 1 << 30, stream, None)  # it keeps the stream for milliseconds
        for source, target, _ in work:
            assert program.copy_uniform(in_a_row(target, 8), spread(source, 8), BLOCK, stream, plan) == 0
        busy = program.fallbacks(plan)
        program.synchronize(stream)
        right = [of.read(target, 8 * BLOCK) == gathered(data, 8) for _, target, data in work]
        source, target, _ = work[0]
        program.copy_uniform(in_a_row(target, 8), spread(source, 8), BLOCK, stream, plan)
        return all(right), busy, program.statistics(plan).calls[of.KERNEL]

    right, busy, calls = of.run(scene)
    assert right and busy == {str(of.BUSY): 6} and calls == 65


def test_kernels_reach_the_memory_of_peers_that_is_open_to_them() -> None:
    """Catches a kernel without access to the memory of another GPU, which ends the context of its own."""
    lines = [line.replace("path host", "path gpu1") for line in KERNELS]

    def scene(program: Program) -> Any:
        plan, stream = program.open(*lines), program.stream()
        _, target, data = filled(program)
        program.gpu(1)
        others, pool, of_pool = program.device(len(data)), ctypes.c_void_p(), ctypes.c_void_p()
        program.call("cuDeviceGetDefaultMemPool", "", ctypes.byref(pool), 1)
        size = ctypes.c_size_t(len(data))
        program.call("cuMemAllocFromPoolAsync", "", ctypes.byref(of_pool), size, pool, None)
        program.gpu(0)
        methods, right = [], []
        for source, prepare in ((others, False), (others, True), (of_pool.value or 0, True)):
            if prepare:
                assert program.library.bw_plan_prepare(plan) == 0
            of.write(source, data)
            of.write(target, bytes(len(data)))
            blocks = in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan
            choice = program.choose(*blocks)
            assert not isinstance(choice, int) and program.copy_uniform(*blocks) == 0
            program.synchronize(stream)
            methods.append([choice.method, choice.fallback])
            right.append(of.read(target, 16 * BLOCK) == gathered(data, 16))
        return methods, right

    left_to_the_driver = [of.DEFAULT, of.MEMORY]
    methods = [left_to_the_driver, [of.KERNEL, of.NONE], left_to_the_driver]
    assert of.run(scene) == [methods, [True] * 3]


@BOTH
def test_a_capture_by_another_stream_is_not_disturbed(vendor: str) -> None:
    """Catches queries of events, which drivers refuse while a stream is captured in global mode."""

    def scene(program: Program) -> Any:
        plan, stream, captured = program.open(*KERNELS, *RELAYS[7:]), program.stream(), program.stream()
        program.allow(plan, 1)
        source, target, _ = filled(program, 64)
        arguments = ctypes.c_void_p(captured), 0
        program.call("cuStreamBeginCapture_v2", "hipStreamBeginCapture", *arguments)
        for _ in range(70):
            program.copy_uniform(in_a_row(target, 16), in_a_row(source, 16), BLOCK, stream, plan)
            program.library.bw_copy(source, target, 128 * KIB, stream, plan)
            with program.relaxed():
                program.synchronize(stream)
        return program.fallbacks(plan), list(program.statistics(plan).calls)

    fallbacks, calls = of.run(scene, vendor=vendor)
    assert fallbacks == {} and calls[of.RELAY] == calls[of.KERNEL] == 70


#: The machine, its vendor, and the environment.
WITHOUT_KERNELS: dict[str, tuple[str, str, dict[str, str]]] = {
    "image": (toy.nvidia(**{"faults.0": "no-kernels:gpu0"}), "cuda", {}),
    "architecture": (toy.nvidia(gpu__architecture="sm_70"), "cuda", {}),
    "AMD image": (toy.amd(**{"faults.0": "no-kernels:gpu0"}), "hip", {}),
    "compiler": (toy.amd(), "hip", {"BYTEWAYS_LIBHIPRTC": "/nosuch/libhiprtc.so"}),
    # This compiler ends the process that asks it for an architecture that it does not know.
    "newer compiler": (toy.amd(runtime_version=50_200_000, gpu__architecture="gfx942"), "hip", {}),
}


@pytest.mark.parametrize("lack", WITHOUT_KERNELS)
def test_a_gpu_without_kernels(lack: str) -> None:
    """Catches a plan that is lost because a GPU loads no kernels."""
    sheet, vendor, environment = WITHOUT_KERNELS[lack]

    def scene(program: Program) -> Any:
        plan, stream = program.open(*KERNELS), program.stream()
        source, target, data = filled(program)
        code = program.copy_uniform(in_a_row(target, 16), spread(source, 16), BLOCK, stream, plan)
        program.synchronize(stream)
        right = of.read(target, 16 * BLOCK) == gathered(data, 16)
        return code, right, program.fallbacks(plan), program.warning(plan)

    code, right, fallbacks, warning = of.run(scene, sheet, vendor, environment)
    assert (code, right, fallbacks) == (0, True, {str(of.FAILED): 1}) and "no kernels on gpu0" in warning


# --- relays: copies in parts over other GPUs

SIZE = 512 * KIB


def relayed(program: Program, plan: int, stream: int, size: int = SIZE) -> tuple[int, bool]:
    """The code of a copy to GPU 0, and whether it has the right bytes and no others."""
    data = random.Random(2).randbytes(size + 64)
    source, target = program.pinned(len(data)), program.device(len(data))
    of.write(source, data)
    of.write(target, bytes(len(data)))
    code = program.library.bw_copy(target, source, size, stream, plan)
    program.synchronize(stream)
    return code, of.read(target, size + 64) == data[:size] + bytes(64)


@BOTH
def test_relays_copy_every_byte(vendor: str) -> None:
    """Catches pieces that are lost, doubled or put elsewhere, in sizes that are no multiple of them."""

    def scene(program: Program) -> Any:
        plan = program.open(*RELAYS)
        answers = [program.allow(plan, 1), program.warning(plan)]
        stream = program.stream()
        for size in (128 * KIB, 128 * KIB + 8, 200 * KIB + 24, 512 * KIB):
            answers.append(relayed(program, plan, stream, size))
        return answers, program.statistics(plan).calls[of.RELAY], program.statistics(plan).staging_bytes

    answers, calls, staging = of.run(scene, vendor=vendor)
    assert answers == [0, "", *[[0, True]] * 4] and (calls, staging) == (4, 2 * 16 * KIB)


def test_a_relay_takes_part_of_the_copy() -> None:
    """Catches a relay that is counted and moves nothing: over two links a copy is faster than over one."""

    def scene(program: Program) -> Any:
        large = [line.replace("piece=16384", "piece=4194304") for line in RELAYS]
        times = []
        for plan in (0, program.open(*large)):
            if plan:
                program.allow(plan, 1)
            stream, size = program.stream(), 1 << 30
            source, target = program.pinned(size), program.device(size)
            began = program.driver.bwsim_now()
            assert program.library.bw_copy(target, source, size, stream, plan) == 0
            program.synchronize(stream)
            times.append(program.driver.bwsim_now() - began)
        return times

    direct, relayed_ns = of.run(scene)
    assert 1.2 < direct / relayed_ns < 2.1


def test_the_smallest_share_of_a_relay_goes_over_it() -> None:
    """Catches a path that the plan measured and a copy leaves without bytes: a page is the least."""
    smallest = [line.replace("parts=600000,400000", "parts=999999,1") for line in RELAYS]

    def scene(program: Program) -> Any:
        program.driver.bwsim_calls.restype = ctypes.c_uint64
        copied, calls = [], []
        for lines in (RELAYS, smallest):
            plan, stream = program.open(*lines), program.stream()
            program.allow(plan, 1)
            before = program.driver.bwsim_calls()
            copied.append(relayed(program, plan, stream, 128 * KIB))
            calls.append(program.driver.bwsim_calls() - before)
            assert program.statistics(plan).calls[of.RELAY] == 1
        return copied, calls

    copied, (usual, least) = of.run(scene)
    assert copied == [[0, True]] * 2
    assert usual - least == 2 * (3 - 1)  # a piece is copied twice: three of 16 KiB, and one of a page


def test_a_few_bytes_go_over_the_direct_path() -> None:
    """Catches eight bytes that are torn into parts of words, as a list of one small block was."""
    tiny = [line.replace("row 131072", "row 8") for line in RELAYS]

    def scene(program: Program) -> Any:
        plan, stream = program.open(*tiny), program.stream()
        program.allow(plan, 1)
        return [relayed(program, plan, stream, size) for size in (8, 15, 16)]

    assert of.run(scene) == [[0, True]] * 3


def test_without_permission_there_is_no_relay() -> None:
    """Catches a GPU that is used although the caller did not name it, or has withdrawn it."""

    def scene(program: Program) -> Any:
        plan, stream = program.open(*RELAYS), program.stream()
        copies = [relayed(program, plan, stream)]
        codes = [program.allow(plan, 2), program.allow(plan, -1), program.allow(plan, 0)]
        copies.append(relayed(program, plan, stream))
        codes += [program.allow(plan, 1), program.allow(plan)]
        copies.append(relayed(program, plan, stream))
        return copies, codes, program.fallbacks(plan), program.statistics(plan).staging_bytes

    copies, codes, fallbacks, staging = of.run(scene)
    assert copies == [[0, True]] * 3 and codes == [of.NO_SUCH_GPU, of.NO_SUCH_GPU, 0, 0, 0]
    assert fallbacks == {str(of.NOT_ALLOWED): 3} and staging == 0


@pytest.mark.parametrize("lack", ["limit", "memory", "access"])
def test_a_relay_that_cannot_be_had(lack: str) -> None:
    """Catches a plan that is lost for lack of a relay, and silence about it."""
    faults = {"faults.0": "no-memory:gpu1:above=1"} if lack == "memory" else {}

    def scene(program: Program) -> Any:
        plan, stream = program.open(*RELAYS), program.stream()
        if lack == "limit":
            program.library.bw_plan_limit_staging(plan, 2 * 16 * KIB - 1)
        code = program.allow(plan, 1)
        return code, relayed(program, plan, stream), program.fallbacks(plan), program.warning(plan)

    sheet = toy.nvidia(**faults)
    if lack == "access":
        sheet = "".join(line for line in sheet.splitlines(keepends=True) if "gpu0-gpu1" not in line)
    code, copied, fallbacks, warning = of.run(scene, sheet)
    assert (code, copied) == (0, [0, True]) and warning
    assert fallbacks == {str(of.NOT_ALLOWED): 1}


def test_a_relay_in_use_by_another_stream_is_left() -> None:
    """Catches a copy that waits behind another stream's: where that one waits for the copy, for ever."""

    def scene(program: Program) -> Any:
        plan, first, second = program.open(*RELAYS), program.stream(), program.stream()
        program.allow(plan, 1)
        memory = [(program.device(SIZE), program.pinned(SIZE)) for _ in range(3)]
        methods = []
        for (target, source), stream in zip(memory, (first, second, first), strict=True):
            assert program.library.bw_copy(target, source, SIZE, stream, plan) == 0
            methods.append(list(program.statistics(plan).calls))
        program.synchronize(first)
        program.synchronize(second)
        after = relayed(program, plan, second)
        return [calls[of.RELAY] for calls in methods], after, program.fallbacks(plan)

    assert of.run(scene) == [[1, 1, 2], [0, True], {str(of.BUSY): 1}]


def test_a_relay_whose_link_is_in_use_rests() -> None:
    """Catches a relay that is kept although its last copy took twice as long as expected, and one that never
    comes back."""

    def scene(program: Program) -> Any:
        hopeful = [re.sub(r":(\d+)0000\+", r":\g<1>+", line) for line in RELAYS]
        plan, stream = program.open(*hopeful), program.stream()
        program.allow(plan, 1)
        used = []
        for _ in range(20):
            before = program.statistics(plan).calls[of.RELAY]
            assert relayed(program, plan, stream) == (0, True)
            used.append(program.statistics(plan).calls[of.RELAY] - before)
        return used

    used = of.run(scene)
    assert used[:2] == [1, 0] and sum(used) == 2


def test_captured_copies_use_no_relay() -> None:
    """Catches streams of the library in the program's graph."""

    def scene(program: Program) -> Any:
        plan, stream, graph = program.open(*RELAYS), program.stream(), ctypes.c_void_p()
        program.allow(plan, 1)
        target, source = program.device(SIZE), program.pinned(SIZE)
        program.call("cuStreamBeginCapture_v2", "", ctypes.c_void_p(stream), 1)
        code = program.library.bw_copy(target, source, SIZE, stream, plan)
        program.call("cuStreamEndCapture", "", ctypes.c_void_p(stream), ctypes.byref(graph))
        return code, program.fallbacks(plan)

    assert of.run(scene) == [0, {str(of.CAPTURING): 1}]


@BOTH
def test_a_closed_plan_leaves_nothing_behind(vendor: str) -> None:
    """Catches streams, events, staging and test memory that a plan does not give back."""

    def scene(program: Program) -> Any:
        free = []
        for _ in range(6):
            plan, stream = program.open(*RELAYS), program.stream()
            program.allow(plan, 1)
            source, target = program.pinned(SIZE), program.device(SIZE)
            program.library.bw_copy(target, source, SIZE, stream, plan)
            program.library.bw_plan_close(plan)
            program.synchronize(stream)
            program.call("cuMemFree_v2", "hipFree", ctypes.c_void_p(target))
            program.call("cuMemFreeHost", "hipHostFree", ctypes.c_void_p(source))
            program.call("cuStreamDestroy_v2", "hipStreamDestroy", ctypes.c_void_p(stream))
            free.append(program.free_bytes())
        # Refused while a program has memory, streams or events.
        return len(set(free)), program.driver.bwsim_restart(ctypes.c_uint64(1))

    assert of.run(scene, vendor=vendor) == [1, 0]


# --- the example


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C, linked with the simulator as its driver."""
    program = tmp_path_factory.mktemp("example") / "swap_blocks"
    source, folder = ROOT / "examples" / "copy" / "swap_blocks.c", Path(of.copy_library()).parent
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{of.HEADER.parent}", f"-L{folder}"]
    links = ["-lbyteways_copy", "-l:libbyteways_sim.so", f"-Wl,-rpath,{folder}"]
    subprocess.run(["cc", *flags, source, "-o", program, *links], check=True)
    return program


@pytest.mark.parametrize("plan", ["none", "batch", "damaged", "other"])
def test_the_example_in_c(example: Path, tmp_path: Path, plan: str) -> None:
    """Catches an example that does not compile, moves other bytes, or hides what is wrong with its plan."""
    sheet, file = tmp_path / "sheet", tmp_path / "machine.plan"
    sheet.write_text(toy.nvidia(), encoding="utf-8")
    host = (
        "path host gpu0 by gpu0",
        "method default",
        "row 16384 24:96000",
        "method batch",
        "row 16384 24:9000+",
    )
    key = of.run(lambda program: program.key())
    texts = {
        "none": "",
        "batch": of.checked(*key, *host),
        "damaged": of.checked(*key, *host)[:-20],
        "other": of.checked(*[line.replace("GPU-", "GPU-f") for line in key], *host),
    }
    file.write_text(texts[plan], encoding="utf-8")
    environment = {**os.environ, "BYTEWAYS_SIM_SHEET": str(sheet), "BYTEWAYS_LIBCUDA": simulator_path()}
    command = [example, *([file] if plan != "none" else [])]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, "24 of 24" in ended.stdout) == ((1, False) if plan == "damaged" else (0, True))
    assert ("batch: 1 calls" in ended.stdout) == (plan == "batch")
    assert bool(ended.stderr) == (plan in ("damaged", "other")), ended.stderr
