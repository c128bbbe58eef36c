"""The host's loops for each instruction set: their assembly by every compiler here, and what they move."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from byteways import _core

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "native" / "loops" / "host_loops.cpp"
#: As CMakeLists.txt compiles them; without headers of a C library, which another processor's lacks here.
FLAGS = ("-std=c++20", "-O3", "-falign-loops=32", "-fPIC", "-ffreestanding", f"-I{ROOT / 'native'}", "-S")
ARM = "--target=aarch64-linux-gnu"
#: Registers of each instruction set as assembly names them.
REGISTERS = {"Sse2": r"%xmm\d+", "Avx2": r"%ymm\d+", "Avx512": r"%zmm\d+", "Neon": r"\bq\d+"}
STACK = {"Neon": r"\[(sp|x29)"}
LOOPS = (
    "LoadXor",
    "PatternFill",
    "PatternDiffer",
    "StreamFill",
    "StreamLoop",
    "StreamDiffer",
    "SlotOperations",
)


def compilers() -> list[tuple[str, ...]]:
    """Every compiler here, with its options for another processor."""
    found = [(name,) for name in ("g++", "clang++", "clang++-19") if shutil.which(name)]
    return found + [(name, ARM) for (name,) in found if name.startswith("clang")]


@functools.cache
def assembly(compiler: tuple[str, ...]) -> str:
    command = [*compiler, *FLAGS, str(SOURCE), "-o", "-"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def functions(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Instruction set, loop and lines of every version of a loop."""
    for part in re.split(r"^(?=_ZN8byteways\w+:)", text, flags=re.MULTILINE):
        named = re.match(
            r"_ZN8byteways\d(Sse2|Avx2|Avx512|Neon)3runINS_\d+([A-Z][A-Za-z]+?)(?:IL|INS|E)", part
        )
        if named:
            yield named[1], named[2], part.split(".cfi_endproc")[0].splitlines()


def spans(lines: list[str]) -> list[range]:
    """Lines of every loop, from a label to a jump back to it."""
    labels = {line.split(":")[0]: number for number, line in enumerate(lines) if re.match(r"\.\w+:", line)}
    found = []
    for number, line in enumerate(lines):
        jump = re.match(r"\s+(?:j|b)[a-z.]*\s+(?:\w+, *)?(\.\w+)", line)
        if jump and labels.get(jump[1], number) < number:
            found.append(range(labels[jump[1]], number + 1))
    return found


def within(inner: range, outer: range) -> bool:
    return inner != outer and outer.start <= inner.start and inner.stop <= outer.stop


def innermost_loops(lines: list[str]) -> list[list[str]]:
    """Lines of the loops that have no other one inside."""
    loops = spans(lines)
    inner = [loop for loop in loops if not any(within(other, loop) for other in loops)]
    return [lines[loop.start : loop.stop] for loop in inner]


def on_stack(isa: str, line: str) -> bool:
    return re.search(STACK.get(isa, r"\(%r[sb]p"), line) is not None


@pytest.mark.parametrize("compiler", compilers(), ids=" ".join)
def test_loops_use_whole_registers_and_no_stack(compiler: tuple[str, ...]) -> None:
    """Would catch vectors that spill to the stack, registers used in part, and lines read twice."""
    seen = set()
    for isa, loop, lines in functions(assembly(compiler)):
        register = REGISTERS[isa]
        loops = [text for text in innermost_loops(lines) if any(re.search(register, line) for line in text)]
        assert loops, f"{loop} has no loop over registers of {isa}"
        for text in loops:
            spilled = [line for line in text if on_stack(isa, line) and re.search(register, line)]
            assert not spilled, f"{loop} for {isa}: {spilled}"
        seen.add((isa, loop))
        if loop == "LoadXor":
            read = [re.findall(r"-?\w*\(%[^)]*\)", line) for text in loops[:1] for line in text]
            addresses = [one for line in read for one in line]
            assert len(addresses) == len(set(addresses)), f"{isa} reads twice: {addresses}"
    expected = ("Neon",) if ARM in compiler or os.uname().machine == "aarch64" else ("Sse2", "Avx2", "Avx512")
    assert seen == {(isa, loop) for isa in expected for loop in LOOPS}


@pytest.mark.parametrize("compiler", compilers(), ids=" ".join)
def test_a_lone_thread_keeps_its_addresses_in_registers(compiler: tuple[str, ...]) -> None:
    """Would catch addresses that each operation reads from the stack, a tenth of the time of 4 KiB."""
    for isa, loop, lines in functions(assembly(compiler)):
        if loop != "SlotOperations":
            continue
        loops = spans(lines)
        vectors = [one for one in loops if any(re.search(REGISTERS[isa], lines[k]) for k in one)]
        around = [
            min((outer for outer in loops if within(inner, outer)), key=len)
            for inner in vectors
            if not any(within(other, inner) for other in vectors)
        ]
        alone = [one for one in around if not any("wait_for_all" in lines[k] for k in one)]
        read = [[lines[k] for k in one if on_stack(isa, lines[k])] for one in alone]
        assert [] in read, f"{isa}: {read}"


MOVES = """
from byteways import _core
session = _core.Session(gpus=False)
options = _core.MeasureOptions()
options.budget_s, options.max_samples, options.batch = 0.0, 1, 4  # few waits of threads for each other
def buffers(size):
    return [session.allocate("cpu0", "pageable", size, "cpu0") for _ in range(3)]
streams = ("stream-copy", "stream-scale", "stream-add", "stream-triad")
for interface in ("load", "store", *streams, "memcpy-stream"):
    alone, two = interface in ("load", "store"), interface in ("stream-add", "stream-triad")
    for size in (16, 4096 + 16, 192 * 1024 + 16) + ((1 << 22) + 16,) * (interface == "load"):
        a, b, c = buffers(max(2 * size, 1 << 16))
        for threads in (1, 2):
            flow = _core.Flow(a, a if alone else c, "cpu0", interface, size, cold=True, threads=threads,
                              second_source=b if two else None)
            measured = session.measure([flow], options)
            assert measured.verified, (interface, size, threads)
for interface in ("random-load", "random-store", "random-update"):
    for access in (8, 16, 32, 64, 128) if interface == "random-update" else (4, 8, 16, 32, 64, 128):
        for size, threads in ((1024, 3), (64 * 1024, 1)):  # uneven shares, and one that has all
            a, *_ = buffers(max(2 * size, 1 << 16))
            given = {"cold": True, "threads": threads, "access_bytes": access}
            flow = _core.Flow(a, a, "cpu0", interface, size, **given)
            measured = session.measure([flow], options)
            assert measured.verified, (interface, access, size, threads)
print(_core.host_isa())
"""


def run_with(isa: str, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BYTEWAYS_ISA": isa}
    words = [sys.executable, "-c", program]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("isa", _core.host_isas())
def test_every_version_moves_the_right_bytes(isa: str) -> None:
    """Would catch a version that loses its tail, an element or a member's share, and an ignored setting."""
    done = run_with(isa, MOVES)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [isa]


def test_what_the_processor_lacks_is_refused() -> None:
    """Would catch loops whose first instruction kills the process, and a typing error that is ignored."""
    lacking = "neon" if os.uname().machine == "x86_64" else "avx2"
    for name in (lacking, "AVX2", "sse4"):
        program = (
            "from byteways import _core\ntry: _core.Session(gpus=False)\n"
            "except _core.UnsupportedError as error: print(error.call, error.code)"
        )
        assert run_with(name, program).stdout.split() == ["BYTEWAYS_ISA", name]
