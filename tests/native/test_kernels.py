"""The NVIDIA half of the device kernels, by NVRTC for every supported generation: PTX and machine code."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from byteways import _core
from byteways.measuring.shared.library_paths import library_directories
from tests.cache import cached, digest
from tests.native.kernel_entries import BULK, ENTRIES, FENCING
from tests.native.runtime_compiler import HEADERS, NATIVE, SOURCES, RuntimeCompiler

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def ptx(architecture: str) -> dict[str, str]:
    """Every source as PTX. The module has the sources in it, so that it stands for them."""

    def make(path: Path) -> None:
        path.write_text(json.dumps(_core.compile_kernels(architecture, library_directories())))

    inputs = [architecture, digest([nvrtc()]), Path(_core.__file__)]
    found: dict[str, str] = json.loads(cached(f"kernels.{architecture}.json", inputs, make).read_text())
    return found


def nvrtc() -> Path:
    return next(file for folder in library_directories() for file in Path(folder).glob("libnvrtc.so.*"))


#: Whose instructions are looked at: a disassembler takes longer to start than to do it.
DISASSEMBLED = tuple(
    f"interfaces/{name}.cu"
    for name in (
        "blocks/kernel",
        "copy_2d/kernel",
        "kernel_copy/kernel",
        "load/kernel",
        "pointer_chase/kernel",
        "random_access/kernel",
        "service/gate",
        "service/occupy",
        "service/pattern",
        "store/kernel",
        "stream/kernel",
    )
)


@pytest.fixture(scope="module")
def machine_code() -> dict[tuple[str, str], Path]:
    """Every source for every architecture, compiled to what a driver loads, side by side."""
    compiler = RuntimeCompiler(ctypes.CDLL(str(nvrtc())), "nvrtc")
    inputs = [str(compiler.version()), digest([nvrtc()]), *(NATIVE / name for name in HEADERS)]

    def build(job: tuple[str, str]) -> Path:
        source, architecture = job
        options = (f"--gpu-architecture={architecture}", "--std=c++17")
        return cached(
            f"{source.replace('/', '.')}.{architecture}.cubin",
            [*inputs, *options, NATIVE / source],
            lambda path: path.write_bytes(compiler.compile(source, options, "CUBIN")),
        )

    jobs = [(source, architecture) for source in SOURCES for architecture in ARCHITECTURES]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(jobs, threads.map(build, jobs), strict=True))


@pytest.fixture(scope="module")
def listings(machine_code: dict[tuple[str, str], Path], architecture: str) -> dict[str, str]:
    """Disassembly of some sources."""
    program = next(file for entry in sys.path for file in Path(entry).glob("nvidia/*/bin/nvdisasm"))
    tool = digest([program])

    def listed(source: str) -> str:
        code = machine_code[source, architecture]

        def make(path: Path) -> None:
            with path.open("wb") as listing:
                subprocess.run([str(program), "--print-code", str(code)], stdout=listing, check=True)

        name = f"{source.replace('/', '.')}.{architecture}.txt"
        return cached(name, [tool, code], make).read_text(encoding="utf-8")

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(DISASSEMBLED, threads.map(listed, DISASSEMBLED), strict=True))


def accesses(text: str, entry: str) -> list[str]:
    """Loads and stores in the machine code of one kernel, in order: "LDG.E.64.STRONG.SYS"."""
    found = re.search(rf"^\.text\.{entry}:.*?(?=^//-----|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    assert found, f"no code for {entry}"
    return re.findall(r"\b((?:LD|ST)G?\.[A-Z0-9.]+)", found[0])


def test_a_driver_gets_code_for_exactly_its_architecture(
    machine_code: dict[tuple[str, str], Path], architecture: str
) -> None:
    """Catches PTX, which a driver older than NVRTC may refuse, where machine code was asked for."""
    for source in SOURCES:
        code = machine_code[source, architecture].read_bytes()
        assert code[:5] == b"\x7fELF\x02", source
        # e_flags: the second byte by NVRTC 13, the first by earlier releases.
        assert int(architecture.removeprefix("sm_")) in code[48:50], source


def wide_loads_in_flight(text: str, entry: str) -> int:
    """Most loads of 16 bytes that a thread has in flight: none of their registers is read before the last."""
    found = re.search(rf"^\.text\.{entry}:.*?(?=^//-----|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    assert found, f"no code for {entry}"
    most = 0
    waiting: list[int] = []  # first registers of the loads so far
    for line in re.findall(r"/\*[0-9a-f]{4}\*/\s+(.*?);", found[0]):
        load = re.search(r"\bLDG\.\S*128\S* R(\d+), (.*)", line)
        read = {int(number) for number in re.findall(r"\bR(\d+)\b", load[2] if load else line)}
        if any(first <= register < first + 4 for first in waiting for register in read):
            waiting = []
        if load:
            waiting.append(int(load[1]))
            most = max(most, len(waiting))
    return most


#: Fewest loads of 16 bytes in flight per thread, by kernel: of covering and of resident grids. random_load
#: compares each element while later ones are on their way.
IN_FLIGHT = {
    "kernel_copy/kernel": {"copy": 1, "copy_tiled": 4, "copy_resident": 8},
    "load/kernel": {"load": 4, "load_resident": 8},
    "stream/kernel": {
        "stream_copy": 1,
        "stream_triad": 2,
        "stream_copy_resident": 4,
        "stream_triad_resident": 8,
    },
    "blocks/kernel": {"copy_blocks": 4, "copy_blocks_resident": 8},
    "copy_2d/kernel": {"copy_2d_tiled": 4, "copy_2d_resident": 8},
    "random_access/kernel": {"random_load_16_several": 2, "random_update_16_several": 4},
}


#: Where a compiler orders the loads otherwise.
FEWER_IN_FLIGHT = {("random_update_16_several", "sm_100"): 3}


def test_kernels_keep_their_loads_in_flight(listings: dict[str, str], architecture: str) -> None:
    """Catches loads that the assembler splits, or orders so that each waits for the one before."""
    for source, kernels in IN_FLIGHT.items():
        for kernel, wanted in kernels.items():
            found = wide_loads_in_flight(listings[f"interfaces/{source}.cu"], kernel)
            assert found >= FEWER_IN_FLIGHT.get((kernel, architecture), wanted), kernel


def registers_of(text: str, entry: str) -> int:
    """Registers of a thread."""
    found = re.search(rf"^\.text\.{entry}:.*?(?=^//-----|\Z)", text, flags=re.DOTALL | re.MULTILINE)
    assert found, f"no code for {entry}"
    return 1 + max(int(number) for number in re.findall(r"\bR(\d+)\b", found[0]))


def test_covering_grids_fill_a_multiprocessor(listings: dict[str, str]) -> None:
    """Catches a kernel of a covering grid with so many registers that fewer than 2048 threads fit."""
    for source, kernel in (
        ("kernel_copy", "copy"),
        ("kernel_copy", "copy_tiled"),
        ("load", "load"),
        ("store", "store"),
        ("store", "store_tiled"),
        ("copy_2d", "copy_2d"),
        *(("stream", f"stream_{name}") for name in ("copy", "scale", "add", "triad")),
    ):
        assert registers_of(listings[f"interfaces/{source}/kernel.cu"], kernel) <= 32, kernel


def test_service_kernels_move_sixteen_bytes_at_a_time(listings: dict[str, str]) -> None:
    """Catches filling and checking at half of the speed of memory."""
    for kernel, access in (("fill", "STG"), ("poison", "STG"), ("check", "LDG")):
        wide = re.compile(rf"{access}\.\S*128")
        assert any(
            wide.fullmatch(name) for name in accesses(listings["interfaces/service/pattern.cu"], kernel)
        )


def test_waits_and_chase_reach_past_the_first_cache(listings: dict[str, str]) -> None:
    """Catches a system scope that is lost between PTX and machine code."""
    assert set(accesses(listings["interfaces/service/gate.cu"], "gate")) == {"LDG.E.STRONG.SYS"}
    assert "LDG.E.STRONG.SYS" in accesses(listings["interfaces/service/occupy.cu"], "occupy")
    loads = {
        name
        for name in accesses(listings["interfaces/pointer_chase/kernel.cu"], "chase")
        if name.startswith("L")
    }
    assert loads == {"LDG.E.64.STRONG.SYS"}
    ordinary = accesses(listings["interfaces/pointer_chase/kernel.cu"], "chase_ordinary")
    assert {name for name in ordinary if name.startswith("L")} == {"LDG.E.64"}


def body(text: str, entry: str) -> str:
    """The instructions of one kernel."""
    found = re.search(rf"\.entry {entry}\(.*?(?=\.visible|\Z)", text, flags=re.DOTALL)
    assert found, f"no entry {entry}"
    return found[0]


def test_every_source_travels_with_the_module(ptx: dict[str, str]) -> None:
    """Catches a device source that is not embedded, or one that no test knows."""
    assert set(ptx) == set(ENTRIES) == set(SOURCES)


def test_entries_have_the_names_they_are_launched_by(ptx: dict[str, str], architecture: str) -> None:
    """Catches a mangled or renamed kernel, which would show on a GPU only."""
    for source, names in ENTRIES.items():
        found = re.findall(r"\.visible \.entry (\w+)\(", ptx[source])
        expected = [] if source in BULK and architecture == "sm_80" else names
        assert sorted(found) == sorted(expected), source


def test_kernels_fence_only_where_they_are_asked_to(ptx: dict[str, str]) -> None:
    """Catches a fence of system scope at the end of a timed kernel: half of the time of a small copy."""
    fence = re.compile(r"fence\.\w+\.sys")
    asked = re.compile(r"@%p\d+ bra\s+\$L\w+;\s+// begin inline asm\s+fence\.acq_rel\.sys;")
    for source, kernel in FENCING:
        code = body(ptx[f"interfaces/{source}/kernel.cu"], kernel)
        assert len(fence.findall(code)) == len(asked.findall(code)) == 1, kernel
    for source, kernel in (
        ("load", "load"),
        ("random_access", "random_load_8_several"),
        # A covering grid is only chosen where no fence is needed.
        ("kernel_copy", "copy"),
        ("kernel_copy", "copy_tiled"),
        ("store", "store"),
        ("stream", "stream_triad"),
        ("blocks", "copy_blocks"),
        ("copy_2d", "copy_2d"),
        ("random_access", "random_store_8"),
        ("pointer_chase", "chase"),
        ("pointer_chase", "chase_ordinary"),
        ("halo", "halo_stencil"),
        ("particles", "particles_track"),
        ("compute", "compute"),
    ):
        assert not fence.search(body(ptx[f"interfaces/{source}/kernel.cu"], kernel)), kernel


def test_gate_and_occupy_acquire_at_system_scope(ptx: dict[str, str]) -> None:
    """Catches a gate that watches a cached copy of the host's word and never opens."""
    for source, entry in (("interfaces/service/gate.cu", "gate"), ("interfaces/service/occupy.cu", "occupy")):
        assert "ld.acquire.sys" in body(ptx[source], entry)


def test_chase_goes_past_the_nearest_cache(ptx: dict[str, str]) -> None:
    """Catches peer or host memory that is timed in the multiprocessor's own cache."""
    code = body(ptx["interfaces/pointer_chase/kernel.cu"], "chase")
    assert "ld.relaxed.sys" in code and not re.search(r"ld\.(?!relaxed\.sys|param)", code)
    ordinary = body(ptx["interfaces/pointer_chase/kernel.cu"], "chase_ordinary")
    assert "ld.global.u64" in ordinary and not re.search(r"ld\.(?!global\.u64|param)", ordinary)


def test_fill_and_check_run_at_memory_speed(ptx: dict[str, str]) -> None:
    """Catches verification by narrow accesses, which would cost more than the measurement."""
    assert re.search(r"st\.global\.\S*v4", body(ptx["interfaces/service/pattern.cu"], "fill"))
    assert re.search(r"st\.global\.\S*v4", body(ptx["interfaces/service/pattern.cu"], "poison"))
    assert re.search(r"ld\.global\.\S*v4", body(ptx["interfaces/service/pattern.cu"], "check"))


@pytest.mark.parametrize(
    ("source", "kernel"), [(BULK[0], "copy_bulk"), (BULK[1], "copy_blocks_bulk")], ids=["copy", "blocks"]
)
def test_bulk_copies_wait_and_fence_in_order(
    ptx: dict[str, str], architecture: str, source: str, kernel: str
) -> None:
    """Catches a missing fence or wait: memory reused while it is read, a kernel that ends too early."""
    if architecture == "sm_80":
        assert ".entry" not in ptx[source]
        return
    code = body(ptx[source], kernel)
    order = re.findall(
        r"(mbarrier\.init|mbarrier\.arrive\.expect_tx|mbarrier\.try_wait|fence\.proxy\.async|cp\.async\.bulk"
        r"(?:\.shared|\.global|\.commit_group|\.wait_group\.read|\.wait_group)|fence\.\w+\.sys)",
        code,
    )
    load = ["mbarrier.arrive.expect_tx", "cp.async.bulk.shared"]
    store = ["mbarrier.try_wait", "cp.async.bulk.global", "cp.async.bulk.commit_group"]
    ring = [*load, *store, "cp.async.bulk.wait_group.read", *load, "cp.async.bulk.wait_group"]
    assert order == ["mbarrier.init", "fence.proxy.async", *ring, *ring]


def test_flags_of_direct_collectives_release_and_acquire(ptx: dict[str, str]) -> None:
    """Catches a flag that overtakes its data, halves of words stored apart, and narrow loads of peers."""
    words = body(ptx["interfaces/direct/flagged.cu"], "direct_flagged")
    assert "st.volatile.global.v4" in words and "ld.volatile.global.v4" in words
    assert "fence" not in re.sub(r"fence\.acq_rel\.sys", "", words)  # one, where it gives up
    for kernel in ("direct_pull", "direct_pull_in_place", "direct_two_shot"):
        code = body(ptx["interfaces/direct/kernel.cu"], kernel)
        assert code.count("st.release.sys") >= 2 and code.count("ld.acquire.sys") >= 2
        wide = re.findall(r"(ld|st)\.global\.\S*v4\.\w+", code)
        assert " ".join(["ld"] * 8) in " ".join(wide)  # of two ranks, before the first is stored


def test_unknown_architecture_is_refused_with_a_reason() -> None:
    """Catches a crash on a name that is no NVIDIA architecture."""
    with pytest.raises(_core.UnsupportedError, match="gfx90a"):
        _core.compile_kernels("gfx90a", library_directories())
