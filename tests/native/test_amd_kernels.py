"""The AMD half of the device kernels, by clang's HIP front end without any header: what it emits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cache import cached
from tests.cache import version as version_of
from tests.native.kernel_entries import BULK, ENTRIES, FENCING
from tests.native.runtime_compiler import HEADERS, NATIVE, SOURCES

ARCHITECTURES = ("gfx90a", "gfx942")
NEWEST_CLANG, OLDEST_CLANG = 30, 19  # 19 is what Debian 12 has; 18 and earlier were not tried
LANGUAGE = ["-x", "hip", "-std=c++17", "-nogpulib", "-nogpuinc", "-Wall", "-Wextra", "-Werror"]
LANGUAGE.append(f"-I{NATIVE}")
OUTPUT = ["--cuda-device-only", "--no-gpu-bundle-output", "-O3", "-S", "-o", "-"]

#: System scope in LLVM's User Guide for AMDGPU Backend, memory models gfx90a and gfx942: the bits of a load,
#: the invalidation after an acquire, the write-back before a release.
LOAD_BITS = {"gfx90a": ["glc"], "gfx942": ["sc0", "sc1"]}
INVALIDATE = {"gfx90a": ["buffer_invl2", "buffer_wbinvl1_vol"], "gfx942": ["buffer_inv sc0 sc1"]}
WRITE_BACK = {"gfx90a": "buffer_wbl2", "gfx942": "buffer_wbl2 sc0 sc1"}


#: That of the copy library, which hipRTC compiles in the program that copies.
OF_COPIES = "copy_library/kernels.cu"


def find_clang() -> str | None:
    """The newest clang++ here that is not older than OLDEST_CLANG."""
    for version in range(NEWEST_CLANG, OLDEST_CLANG - 1, -1):
        if path := shutil.which(f"clang++-{version}"):
            return path
    plain = shutil.which("clang++")
    if plain:
        answer = subprocess.run([plain, "-dumpversion"], capture_output=True, text=True, check=True).stdout
        if int(answer.split(".")[0]) >= OLDEST_CLANG:
            return plain
    return None


@pytest.fixture(scope="module")
def assembly() -> dict[tuple[str, str], str]:
    """Text of every source for every architecture, compiled once and side by side."""
    clang = find_clang()
    if clang is None:
        pytest.skip(f"no clang {OLDEST_CLANG} or later here (Debian: clang-{OLDEST_CLANG})")

    def build(job: tuple[str, str]) -> str:
        source, architecture = job
        options = [*LANGUAGE, *OUTPUT, f"--offload-arch={architecture}"]

        def make(path: Path) -> None:
            command = [clang, *options, str(NATIVE / source)]
            finished = subprocess.run(command, capture_output=True, text=True, check=False)
            assert finished.returncode == 0, f"{source} for {architecture}:\n{finished.stderr}"
            path.write_text(finished.stdout, encoding="utf-8")

        inputs = [version_of(clang), *options, *(NATIVE / name for name in HEADERS), NATIVE / source]
        return cached(f"{source.replace('/', '.')}.{architecture}.s", inputs, make).read_text(
            encoding="utf-8"
        )

    jobs = [(source, architecture) for source in (*SOURCES, OF_COPIES) for architecture in ARCHITECTURES]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return dict(zip(jobs, threads.map(build, jobs), strict=True))


@pytest.fixture(params=ARCHITECTURES)
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sources(assembly: dict[tuple[str, str], str], architecture: str) -> dict[str, str]:
    return {source: text for (source, target), text in assembly.items() if target == architecture}


def body(text: str, kernel: str) -> list[str]:
    """Labels and instructions of one kernel, labels with the compiler's note on the loop they belong to."""
    found = re.search(rf"^{kernel}:.*?^\.Lfunc_end", text, flags=re.DOTALL | re.MULTILINE)
    assert found, f"no kernel {kernel}"
    lines = [re.sub(r"\s+", " ", line).strip() for line in found[0].splitlines()[1:-1]]
    return [line if line.startswith(".LBB") else line.partition(" ;")[0] for line in lines if line]


def inner_loops(code: list[str]) -> list[list[str]]:
    """Instructions of every innermost loop of one block, as all loops that wait or stream are."""
    loops: list[list[str]] = []
    inside = False
    for line in code:
        if line.startswith((".LBB", ";")):
            inside = "=>This Inner Loop Header" in line
            if inside:
                loops.append([])
        elif inside and not line.startswith("."):
            loops[-1].append(line)
    return loops


def memory_operations(code: list[str]) -> list[str]:
    """Names of the instructions that reach memory, in order."""
    names = [line.split()[0] for line in code]
    return [name for name in names if re.match(r"(global|flat|scratch|s_load|s_buffer|ds)_?", name)]


def has_all(line: str, words: list[str]) -> bool:
    return set(words) <= set(line.split())


def assert_waits(code: list[str], architecture: str) -> None:
    """One loop that sleeps, then loads with system-scope acquire."""
    waits = [loop for loop in inner_loops(code) if any("s_sleep" in line for line in loop)]
    assert len(waits) == 1
    loop = waits[0]
    load = next(i for i, line in enumerate(loop) if line.startswith("global_load_dword "))
    assert has_all(loop[load], LOAD_BITS[architecture])
    after = INVALIDATE[architecture]
    assert loop[load + 1 : load + 2 + len(after)] == ["s_waitcnt vmcnt(0)", *after]
    assert memory_operations(loop) == ["global_load_dword"]


def test_every_source_holds_its_kernels(sources: dict[str, str]) -> None:
    """Catches a mangled or renamed kernel, which would show on a GPU only; a source that no test knows."""
    assert set(sources) == {*ENTRIES, OF_COPIES}
    for source, names in ENTRIES.items():
        found = re.findall(r"^\s+\.amdhsa_kernel (\w+)$", sources[source], flags=re.MULTILINE)
        assert sorted(found) == sorted([] if source in BULK else names), source


def test_kernels_run_with_all_the_threads_they_are_launched_with(sources: dict[str, str]) -> None:
    """Catches a launch bound that was lost: the compiler's own limit is another, and launches would fail."""
    for source, names in ENTRIES.items():
        bounds = re.findall(
            r"BYTEWAYS_KERNEL\((\d+)(?:, \d)?\) (\w+)", (NATIVE / source).read_text(encoding="utf-8")
        )
        assert {name for _, name in bounds} == set(names)
        if source in BULK:
            continue
        told = re.findall(r"\.max_flat_workgroup_size: (\d+)\n\s+\.name:\s+(\w+)", sources[source])
        assert sorted(told) == sorted(bounds), source


def test_no_kernel_spills_or_guesses_the_kind_of_memory(sources: dict[str, str]) -> None:
    """Catches registers kept in memory, and flat accesses, which wait for more than they need."""
    for source, text in sources.items():
        assert set(re.findall(r"\.private_segment_fixed_size: (\d+)", text)) <= {"0"}, source
        assert not re.search(r"^\s+(flat|scratch)_", text, flags=re.MULTILINE), source


def test_copy_moves_sixteen_bytes_at_a_time_with_eight_in_flight(sources: dict[str, str]) -> None:
    """Catches narrow accesses, and loads that each wait for the store of the one before."""
    wide = [
        operations
        for loop in inner_loops(body(sources["interfaces/kernel_copy/kernel.cu"], "copy_resident"))
        if "global_load_dwordx4" in (operations := memory_operations(loop))
    ]
    assert wide == [["global_load_dwordx4"] * 8 + ["global_store_dwordx4"] * 8]


def test_direct_collectives_write_back_before_flags_and_load_wide(
    sources: dict[str, str], architecture: str
) -> None:
    """Catches a flag that overtakes stores held in the L2, and a rank that reads what it cached before."""
    release = {"gfx90a": "buffer_wbl2", "gfx942": "buffer_wbl2 sc0 sc1"}[architecture]
    for kernel in ("direct_pull", "direct_pull_in_place", "direct_two_shot", "direct_barrier"):
        code = body(sources["interfaces/direct/kernel.cu"], kernel)
        releases = [i for i, line in enumerate(code) if line.startswith(release)]
        flags = [i for i, line in enumerate(code) if line.startswith("global_store_dwordx2")]
        assert releases and any(0 < flag - at <= 4 for at in releases for flag in flags)
        assert any(line.startswith(INVALIDATE[architecture][0]) for line in code)
    for kernel in ("direct_pull", "direct_pull_in_place", "direct_two_shot"):
        assert "global_load_dwordx4" in memory_operations(
            body(sources["interfaces/direct/kernel.cu"], kernel)
        )


def test_fill_and_check_run_at_memory_speed(sources: dict[str, str]) -> None:
    """Catches verification by narrow accesses, which would cost more than the measurement."""
    text = sources["interfaces/service/pattern.cu"]
    assert "global_store_dwordx4" in memory_operations(body(text, "fill"))
    assert "global_store_dwordx4" in memory_operations(body(text, "poison"))
    assert "global_load_dwordx4" in memory_operations(body(text, "check"))


@pytest.mark.parametrize(
    ("source", "kernel"), [("interfaces/service/gate.cu", "gate"), ("interfaces/service/occupy.cu", "occupy")]
)
def test_waits_sleep_and_acquire_at_system_scope(
    sources: dict[str, str], architecture: str, source: str, kernel: str
) -> None:
    """Catches a gate that watches a cached copy of the host's word and never opens."""
    assert_waits(body(sources[source], kernel), architecture)


def test_chase_goes_past_the_nearest_cache(sources: dict[str, str], architecture: str) -> None:
    """Catches steps through the scalar cache, by flat accesses, or by way of a scalar register."""
    loops = inner_loops(body(sources["interfaces/pointer_chase/kernel.cu"], "chase"))
    assert len(loops) == 2  # unrolled, and what is left of it
    for loop in loops:
        assert set(memory_operations(loop)) == {"global_load_dwordx2"}
        loads = [line for line in loop if line.startswith("global_load")]
        assert all(has_all(line, LOAD_BITS[architecture]) for line in loads)
        assert not any("readfirstlane" in line for line in loop)


def test_ordinary_loads_of_a_chase_may_hit_every_cache(sources: dict[str, str], architecture: str) -> None:
    """Catches loads of another scope than a program's, or steps through the scalar cache."""
    loops = inner_loops(body(sources["interfaces/pointer_chase/kernel.cu"], "chase_ordinary"))
    assert len(loops) == 2
    for loop in loops:
        assert set(memory_operations(loop)) == {"global_load_dwordx2"}
        loads = [line for line in loop if line.startswith("global_load")]
        assert not any(bit in line.split() for line in loads for bit in ("glc", "slc", "sc0", "sc1", "nt"))
        assert not any("readfirstlane" in line for line in loop)


@pytest.mark.parametrize(
    ("source", "kernel"),
    [
        ("interfaces/service/pattern.cu", "fill"),
        ("interfaces/service/pattern.cu", "poison"),
        ("interfaces/pointer_chase/kernel.cu", "chase_build"),
    ],
)
def test_stores_have_arrived_when_a_kernel_ends(
    sources: dict[str, str], architecture: str, source: str, kernel: str
) -> None:
    """Catches stores to a peer that are still in this device's L2, or on their way, when the clock stops."""
    code = body(sources[source], kernel)
    release = [WRITE_BACK[architecture], "s_waitcnt vmcnt(0)", *INVALIDATE[architecture]]
    ends = [i for i, line in enumerate(code) if line == "s_endpgm"]
    assert ends
    for end in ends:
        before = [line.removesuffix(" lgkmcnt(0)") for line in code[end - len(release) : end]]
        assert before == release


@pytest.mark.parametrize(
    ("source", "kernel"),
    FENCING,
)
def test_stores_to_a_peer_end_by_a_write_back_if_asked(
    sources: dict[str, str], architecture: str, source: str, kernel: str
) -> None:
    """Catches a fence that is left out where stores may stay in the L2, or executed where they may not."""
    code = body(sources[f"interfaces/{source}/kernel.cu"], kernel)
    release = [WRITE_BACK[architecture], "s_waitcnt vmcnt(0)", *INVALIDATE[architecture]]
    code = [line.removesuffix(" lgkmcnt(0)") for line in code]
    begins = [i for i, line in enumerate(code) if code[i : i + len(release)] == release]
    assert len(begins) == 1
    skips = [line for line in code[: begins[0]] if line.startswith(("s_cbranch", "s_branch"))]
    assert skips  # at least the one that leaves out the fence


def test_counts_in_host_memory_use_what_pcie_knows(sources: dict[str, str]) -> None:
    """Catches an atomic minimum, which over PCIe is lost without an error."""
    for source, text in sources.items():
        used = set(re.findall(r"^\s+global_atomic_(\w+)", text, flags=re.MULTILINE))
        assert used <= {"add", "add_x2", "cmpswap_x2"}, source


@pytest.mark.parametrize("kernel", ["copy_blocks", "copy_blocks_resident"])
def test_the_copy_library_moves_16_bytes_at_once(sources: dict[str, str], kernel: str) -> None:
    """Catches a source that does not compile for AMD GPUs, and narrower accesses than blocks allow."""
    operations = memory_operations(body(sources[OF_COPIES], kernel))
    assert "global_load_dwordx4" in operations and "global_store_dwordx4" in operations
