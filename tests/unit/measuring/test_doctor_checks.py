"""The checks of `byteways doctor`, each in each of its states."""

from __future__ import annotations

import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from byteways.machine.model import Offer
from byteways.measuring.doctor.check import CHECK_STATES, Diagnosis
from byteways.measuring.doctor.devices import check_gpus, check_mps
from byteways.measuring.doctor.host import (
    check_cores,
    check_cpu_quota,
    check_governor,
    check_host,
    check_huge_pages,
    check_load,
    check_locked_memory,
    check_memory,
    check_numa_balancing,
)
from byteways.measuring.doctor.libraries import check_libraries
from byteways.measuring.doctor.process import check_cache, check_compiler, check_process, check_variables
from byteways.measuring.shared.health_host import HostLoad
from byteways.measuring.shared.health_users import GpuProcess, GpuUse
from byteways.plan import footprint
from tests.machines import synthetic
from tests.machines.synthetic import ABSENT, BULK, FOUND, capabilities, write

#: Two cores for which seven tasks compete.
LOADED = HostLoad(1.0, 2, 6.5, 7, 0.01, 0.97, 0.0, None)


def states(checks: list[Diagnosis]) -> list[tuple[str, str]]:
    return [(check.name, check.state) for check in checks]


def test_a_library_that_is_whole() -> None:
    """Catches a library line without version, place or how it was found."""
    (check,) = check_libraries([FOUND], vendors={"NVIDIA"}, environment={})
    assert (check.state, check.text) == ("ok", "driver 13.0, /usr/lib/libcuda.so.1, found by dynamic linker")


def test_a_library_that_another_one_does_not_suit() -> None:
    """Catches the advice on a usable library, such as an NVRTC newer than the driver, that nobody sees."""
    (check,) = check_libraries([{**FOUND, "hint": "take NVRTC 12"}], {"NVIDIA"}, {})
    assert (check.state, check.advice) == ("warning", "take NVRTC 12")


def test_a_library_that_lacks_functions() -> None:
    """Catches a too old library that is called well, or whose missing functions are not named."""
    (optional,) = check_libraries([{**FOUND, "missing": [BULK]}], {"NVIDIA"}, {})
    assert optional.state == "warning"
    assert "lacks cuFuture (optional, introduced in 13.5)" in optional.text
    assert optional.advice
    needed = {**BULK, "required": True}
    old = {**FOUND, "usable": False, "missing": [needed], "reason": "too old", "hint": "update the driver"}
    (required,) = check_libraries([old], {"NVIDIA"}, {})
    assert (required.state, required.advice) == ("problem", "update the driver")
    assert required.text.startswith("too old; driver 13.0")
    assert "lacks cuFuture (required, introduced in 13.5)" in required.text


def test_an_absent_library_matters_only_where_it_is_needed() -> None:
    """Catches alarm without a GPU, and silence where there is one or the user named the library."""
    (without,) = check_libraries([ABSENT], {"AMD"}, {})
    assert (without.state, without.advice) == ("ok", None)
    assert "no NVIDIA GPU on the PCI bus" in without.text
    (others,) = check_libraries([ABSENT], {"AMD"}, {"BYTEWAYS_LIBHIP": "/x"})
    assert others.state == "ok"
    for needed in (
        check_libraries([ABSENT], {"NVIDIA", "AMD"}, {}),
        check_libraries([ABSENT], set(), {"BYTEWAYS_LIBCUDA": "/x"}),
    ):
        assert (needed[0].state, needed[0].advice) == ("problem", "install the driver")
        assert "searched libcuda.so.1, libcuda.so and 2 more (listed by --json)" in needed[0].text
        assert needed[0].details["searched"] == ABSENT["searched"]


def test_idle_gpus_are_well(tmp_path: Path) -> None:
    """Catches false alarm about GPUs in order."""
    machine = synthetic.h200x4(tmp_path)
    checks = check_gpus(capabilities(machine), machine.management, [], {})
    assert states(checks) == [(f"gpu{i}", "ok") for i in range(4)] + [("peer access", "ok")]
    assert "no other process computes, compute mode default, MIG off" in checks[0].text
    assert "all 12 ordered pairs" in checks[-1].text


@pytest.mark.parametrize(
    ("changes", "state", "said"),
    [
        ({"compute_processes": 1}, "warning", "busy: 1 other process computes on it"),
        ({"compute_processes": 2}, "warning", "busy: 2 other processes compute on it"),
        ({"mig_enabled": True}, "warning", "MIG is on"),
        ({"compute_mode": "exclusive-process"}, "warning", "compute mode exclusive-process"),
        ({"compute_mode": "prohibited"}, "problem", "compute mode prohibited"),
        ({"pcie_width": 8}, "warning", "8 of 16 lanes"),
        ({"compute_processes": -1}, "ok", "other processes unknown"),
    ],
)
def test_gpus_that_are_not_free(tmp_path: Path, changes: dict[str, Any], state: str, said: str) -> None:
    """Catches a busy, partitioned, exclusive or badly seated GPU that is called well."""
    machine = synthetic.h200x4(tmp_path)
    machine.management[2] = replace(machine.management[2], **changes)
    checks = check_gpus(capabilities(machine), machine.management, [], {})
    (check,) = [check for check in checks if check.name == "gpu2"]
    assert check.state == state
    assert said in check.text
    assert (check.advice is None) == (state == "ok")


def test_users_of_a_gpu_are_named(tmp_path: Path) -> None:
    """Catches a doctor who counts processes and does not say which, with NVML and without it."""
    machine = synthetic.h200x4(tmp_path)
    use = {"gpu1": GpuUse((GpuProcess(4711, "train.py"),)), "gpu2": GpuUse(None, 0.97), "gpu3": GpuUse(())}
    for management in (machine.management, []):
        checks = check_gpus(capabilities(machine), management, [], use)
        assert states(checks)[:4] == [
            ("gpu0", "ok"),
            ("gpu1", "warning"),
            ("gpu2", "warning"),
            ("gpu3", "ok"),
        ]
        assert checks[1].text.endswith("; busy: train.py (pid 4711)")
        assert checks[2].text.endswith("; busy: 97 % busy before this run used it")


@pytest.mark.parametrize(
    ("load", "state", "said"),
    [
        (LOADED, "warning", "load average 6.5 on 2 cores; other processes use 97 % of the cores' time"),
        (replace(LOADED, others=0.02), "warning", "load average 6.5 on 2 cores"),  # until a moment ago
        (replace(LOADED, others=0.02, load_1min=1.5), "ok", "other processes use 2 %"),
        (replace(LOADED, others=0.0, load_1min=0.1, steal=0.2), "warning", "the hypervisor steals 20 %"),
        (
            replace(LOADED, others=0.0, load_1min=0.1, throttled_s=0.3),
            "warning",
            "throttled threads for 0.3 s",
        ),
        (replace(LOADED, others=None, load_1min=None), "ok", "not reported by the kernel"),
    ],
)
def test_load(load: HostLoad, state: str, said: str) -> None:
    """Catches a doctor who says that all is good at a load of 6.5 on two cores."""
    check = check_load(load)
    assert check.state == state and said in check.text
    assert (check.advice is None) == (state == "ok")


def test_refused_peers_and_offers_say_why(tmp_path: Path) -> None:
    """Catches refusals without their reason, and host-only kinds that are held against a GPU."""
    machine = synthetic.h200x4(tmp_path)
    no = Offer(False, "the IOMMU is on")
    found = capabilities(machine, peer={"gpu0": {"gpu1": no, "gpu2": Offer(True)}, "gpu1": {"gpu0": no}})
    memory = {
        **found.memory,
        "gpu0": {"managed": Offer(False, "no managed memory"), "pageable": Offer(False, "x")},
    }
    checks = check_gpus(replace(found, memory=memory), [], [], {})
    warnings = [check for check in checks if check.state != "ok"]
    assert [check.text for check in warnings] == [
        "no managed: no managed memory",
        "refused for gpu0 to gpu1, gpu1 to gpu0: the IOMMU is on",
    ]
    assert "NVML does not report its state" in checks[0].text


def test_a_variant_of_memory_is_no_loss(tmp_path: Path) -> None:
    """Catches warnings on every GPU of a vendor that lets nobody choose the coherence of memory."""
    found = capabilities(synthetic.h200x4(tmp_path))
    one_kind = Offer(False, "its pinned memory has one kind of coherence")
    for base, state in ((Offer(True), "ok"), (Offer(False, "no memory to lock"), "warning")):
        memory = {**found.memory, "gpu0": {"pinned": base, "pinned-noncoherent": one_kind}}
        checks = check_gpus(replace(found, memory=memory), [], [], {})
        (check,) = [one for one in checks if "pinned-noncoherent" in one.text]
        assert (check.state, check.advice is None) == (state, state == "ok")


def test_no_gpu_to_open(tmp_path: Path) -> None:
    """Catches silence about GPUs on the bus that no runtime opens, and alarm where there are none."""
    none = capabilities(synthetic.bare_vm(tmp_path))
    assert states(check_gpus(none, [], [], {})) == [("GPUs", "ok")]
    (check,) = check_gpus(none, [], [("NVIDIA", "0000:3b:00.0")], {})
    assert check.state == "problem"
    assert "NVIDIA 0000:3b:00.0" in check.text


def test_mps_by_process_or_variable(tmp_path: Path) -> None:
    """Catches a multi-process server that goes unseen."""
    write(tmp_path / "12/comm", "bash")
    assert check_mps(tmp_path, {}) is None
    by_variable = check_mps(tmp_path, {"CUDA_MPS_PIPE_DIRECTORY": "/tmp/mps"})
    assert by_variable is not None
    assert by_variable.state == "warning"
    write(tmp_path / "13/comm", "nvidia-cuda-mps-control"[:15])
    by_process = check_mps(tmp_path, {})
    assert by_process is not None
    assert by_process.text == "its daemon is running"


@pytest.mark.parametrize(
    ("files", "state", "said"),
    [
        ({}, "ok", "none"),
        ({"proc/self/cgroup": "0::/job", "sys/fs/cgroup/job/cpu.max": "max 100000"}, "ok", "none"),
        (
            {"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/cpu.max": "150000 100000"},
            "warning",
            "1.5 cores of CPU time",
        ),
        ({"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "800000 100000"}, "ok", "8 cores, enough"),
        (
            {
                "proc/self/cgroup": "3:cpu,cpuacct:/job",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000",
            },
            "warning",
            "2 cores of CPU time on 4 cores",
        ),
    ],
)
def test_cpu_quota(tmp_path: Path, files: dict[str, str], state: str, said: str) -> None:
    """Catches a control group's limit of either version, own or inherited, that is not seen."""
    for name, text in files.items():
        write(tmp_path / name, text)
    check = check_cpu_quota(4, tmp_path / "sys", tmp_path / "proc")
    assert check.state == state
    assert said in check.text


def test_cores_and_memory_limits(tmp_path: Path) -> None:
    """Catches a process on few cores or with little memory that is called well."""
    write(tmp_path / "devices/system/cpu/online", "0-7")
    assert check_cores(range(8), tmp_path).state == "ok"
    few = check_cores([3], tmp_path)
    assert (few.state, few.text) == ("warning", "1 of 8 are usable")
    assert footprint.usable(20 * 2**30) == 16 * 2**30
    whole = check_memory(20 * 2**30, 20 * 2**30, 2**25)
    assert whole.text == "the whole host has 20 GiB; a case may use four fifths, 16 GiB"
    limited = check_memory(10 * 2**30, 20 * 2**30, 2**25)
    assert (limited.state, limited.text) == (
        "ok",
        "the whole host has 20 GiB, the control group's limit is 10 GiB; a case may use four fifths, 8 GiB",
    )
    assert check_memory(2**30, 2**34, 2**29).state == "warning"


def test_locked_memory_matters_with_a_network_card(tmp_path: Path) -> None:
    """Catches a warning that nobody can use, and silence where MPI would fail to register buffers."""
    assert check_locked_memory(resource.RLIM_INFINITY, tmp_path).state == "ok"
    assert check_locked_memory(2**16, tmp_path).state == "ok"
    write(tmp_path / "class/infiniband/mlx5_0/node_type", "1: CA")
    assert check_locked_memory(2**16, tmp_path).state == "warning"


@pytest.mark.parametrize(
    ("mode", "free", "state"),
    [
        ("always [madvise] never", "0", "ok"),
        ("[always] madvise never", "0", "ok"),
        ("always madvise [never]", "0", "warning"),
        ("always madvise [never]", "4", "ok"),
    ],
)
def test_huge_pages(tmp_path: Path, mode: str, free: str, state: str) -> None:
    """Catches huge pages that are called available when the kernel gives none, or the other way round."""
    write(tmp_path / "kernel/mm/transparent_hugepage/enabled", mode)
    write(tmp_path / "kernel/mm/hugepages/hugepages-2048kB/free_hugepages", free)
    check = check_huge_pages(tmp_path)
    assert check.state == state
    assert (check.advice is None) == (state == "ok")


def test_numa_balancing_and_governor(tmp_path: Path) -> None:
    """Catches kernel settings that move pages or lower clocks and are called well."""
    assert check_numa_balancing(2, tmp_path).text == "not in this kernel"
    write(tmp_path / "sys/kernel/numa_balancing", "1")
    assert check_numa_balancing(2, tmp_path).state == "warning"
    assert check_numa_balancing(1, tmp_path).state == "ok"
    assert check_governor([0, 1], tmp_path).text == "unknown, as in most virtual machines"
    for core, governor in enumerate(["performance", "powersave"]):
        write(tmp_path / f"devices/system/cpu/cpu{core}/cpufreq/scaling_governor", governor)
    assert check_governor([0], tmp_path).state == "ok"
    assert check_governor([0, 1], tmp_path).state == "warning"


def test_the_kernel_cache(tmp_path: Path) -> None:
    """Catches a cache that cannot be written and is called well, and files that are not counted."""
    cache = tmp_path / "cache"
    assert "created when the first kernel" in check_cache(cache).text
    write(cache / "a/kernel.cubin", "x" * 1023)
    assert check_cache(cache).text == f"{cache}, 1 files, 1 KiB"
    below_a_file = check_cache(cache / "a/kernel.cubin/deeper")
    assert (below_a_file.state, below_a_file.advice) == ("warning", "BYTEWAYS_CACHE=<writable folder>")


def test_variables_are_told_and_secrets_are_not() -> None:
    """Catches a blocking or preloading environment that is called well, and a token that is printed."""
    environment = {
        "CUDA_LAUNCH_BLOCKING": "1",
        "NCCL_DEBUG": "INFO",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "LD_PRELOAD": "libfoo.so",
        "BYTEWAYS_GPUS": "0",
    }
    checks = check_variables(environment)
    assert states(checks) == [
        ("BYTEWAYS_GPUS", "ok"),
        ("CUDA_DEVICE_ORDER", "ok"),
        ("CUDA_LAUNCH_BLOCKING", "warning"),
        ("LD_PRELOAD", "warning"),
        ("NCCL_DEBUG", "ok"),
    ]
    assert "hunter2" not in str(checks)
    assert states(check_variables({"CUDA_LAUNCH_BLOCKING": "0"})) == [("CUDA_LAUNCH_BLOCKING", "ok")]
    assert states(check_variables({})) == [("variables", "ok")]


def test_compiler_and_python(tmp_path: Path) -> None:
    """Catches a compiler that is searched elsewhere than on the PATH."""
    assert check_compiler({"PATH": str(tmp_path)}).text.startswith("none")
    compiler = tmp_path / "c++"
    write(compiler, "#!/bin/sh")
    compiler.chmod(0o755)
    assert check_compiler({"PATH": str(tmp_path)}).text == str(compiler)
    assert check_process(tmp_path, {"PATH": ""})[0].name == "Python"


def test_every_check_of_this_host_has_a_known_state(tmp_path: Path) -> None:
    """Catches a check that breaks on a real kernel."""
    checks = check_host(synthetic.bare_vm(tmp_path).topology(), LOADED)
    assert len(checks) == 8
    assert all(check.state in CHECK_STATES and check.text for check in checks)


def test_a_library_that_is_not_where_its_setting_says(tmp_path: Path) -> None:
    """Catches a wrong path that only shows in the first case that needs the library."""
    there = tmp_path / "libnccl.so.2"
    there.touch()
    found = {
        value: check_variables({"BYTEWAYS_LIBNCCL": value})[0].state
        for value in (str(there), "libnccl.so.2", str(tmp_path / "gone.so"), str(tmp_path))
    }
    assert [*found.values()] == ["ok", "ok", "problem", "problem"]
    (check,) = check_variables({"BYTEWAYS_LIBNCCL": "/gone.so"})
    assert check.text.endswith("and no such file is there") and "unset BYTEWAYS_LIBNCCL" in (
        check.advice or ""
    )
