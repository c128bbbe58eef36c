"""The host as a runtime, through the native module: memory and its placement, kernels, threads, refusals."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from byteways import _core

MEMORIES = ("pageable", "hugepage")
COPIES = ("memcpy", "memcpy-stream", "memcpy-mt")
KERNELS = ("gate", "fill", "poison", "check", "memcpy", "memcpy_stream", "chase_build", "chase")
MIB = 1 << 20
BASE_PAGE = os.sysconf("SC_PAGESIZE")
TRANSPARENT = Path("/sys/kernel/mm/transparent_hugepage")
#: Bytes behind each buffer that nothing may write: native/runtimes/session.cpp.
GUARD = 4096


#: Members of a team wait for each other at each operation: where cores are busy, for a turn of the scheduler.
BATCH = 8


@pytest.fixture(scope="module")
def session() -> _core.Session:
    return _core.Session(gpus=False)


def quick_options() -> _core.MeasureOptions:
    """Enough for a few samples: these tests are about what was moved, not about how fast."""
    options = _core.MeasureOptions()
    options.budget_s, options.batch = 0.02, BATCH
    return options


@pytest.fixture(params=MEMORIES)
def memory(session: _core.Session, request: pytest.FixtureRequest) -> str:
    """Each kind of host memory; pageable twice where a system has no huge pages."""
    return request.param if session.offers("cpu0", request.param).available else "pageable"


def run_python(code: str) -> str:
    """Standard output of a fresh interpreter, for what must not be done to the one that runs the tests."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_devices_are_the_domains_with_allowed_cores(session: _core.Session) -> None:
    """Would catch cores counted that this process may not use, or a domain that does not exist."""
    domains = [int(node.name[4:]) for node in Path("/sys/devices/system/node").glob("node[0-9]*")] or [0]
    assert [device.name for device in session.devices] == [f"cpu{k}" for k in range(len(session.devices))]
    assert 1 <= sum(device.multiprocessors for device in session.devices) <= len(os.sched_getaffinity(0))
    for device in session.devices:
        assert device.runtime == "host"
        assert device.numa_domain in domains
        assert device.name
        assert device.memory_bytes > 0
    assert [(report.library, report.usable) for report in session.libraries] == [("host", True)]


def test_affinity_of_the_process_is_respected() -> None:
    """Would catch threads placed on cores that a batch system gave to somebody else."""
    code = (
        "import os; os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\n"
        "from byteways import _core\n"
        "print([device.multiprocessors for device in _core.Session(gpus=False).devices])"
    )
    assert run_python(code).strip() == "[1]"


@pytest.mark.parametrize("interface", COPIES)
@pytest.mark.parametrize("size", [8, 4104, MIB + 24, 9 * MIB + 24])
def test_every_copy_measures_and_verifies(
    session: _core.Session, memory: str, interface: str, size: int
) -> None:
    """Would catch a copy loop that loses its head, its tail or a member's share, a piece of a large array
    that is not filled, and a false alarm.
    """
    source = session.allocate("cpu0", memory, max(3 * MIB, size), "cpu0")
    destination = session.allocate("cpu0", memory, max(3 * MIB, size), "cpu0")
    flow = _core.Flow(
        source, destination, "cpu0", interface, size, **({"threads": 3} if interface == "memcpy-mt" else {})
    )
    measurement = session.measure([flow], quick_options())
    assert measurement.verified
    assert measurement.timed_by == "host-clock"
    assert 0 < measurement.timer_resolution_ns < 10_000
    assert measurement.time_ns.median > 0
    [result] = measurement.flows
    assert result.verification.checked_bytes > 0
    assert result.verification.bad_count == 0
    # More threads than this machine may have cores: they must not deadlock, and the record must say how many.
    assert result.blocks == (3 if interface == "memcpy-mt" else 1)


def test_flows_of_one_domain_run_beside_each_other(session: _core.Session) -> None:
    """Would catch streams that share a thread, or wait for each other behind the gate."""
    buffers = [session.allocate("cpu0", "pageable", 2 * MIB, "cpu0") for _ in range(4)]
    flows = [
        _core.Flow(buffers[0], buffers[1], "cpu0", "memcpy", MIB),
        _core.Flow(buffers[2], buffers[3], "cpu0", "memcpy", MIB),
    ]
    measurement = session.measure(flows, quick_options())
    assert measurement.verified
    assert [flow.bytes_per_s > 0 for flow in measurement.flows] == [True, True]


def test_chase_takes_longer_in_memory_than_in_the_nearest_cache(session: _core.Session) -> None:
    """Would catch a chase that a prefetcher can follow, or that the compiler shortened."""
    buffer = session.allocate("cpu0", "pageable", 64 * MIB, "cpu0")
    latencies = []
    for size in (4096, 64 * MIB):
        measurement = session.measure(
            [_core.Flow(buffer, buffer, "cpu0", "pointer-chase", size)], quick_options()
        )
        assert measurement.verified
        latencies.append(measurement.time_ns.min)  # other work on this machine only adds to it
    near, far = latencies
    assert 0.2 < near < 100  # ns: no processor loads faster; slower is not a cache
    assert far > 5 * near


def test_pageable_memory_is_in_base_pages(session: _core.Session) -> None:
    """Would catch transparent huge pages under `pageable`, where they hide the cost of translation."""
    buffer = session.allocate("cpu0", "pageable", 10 * MIB, "cpu0")
    assert buffer.page_bytes == BASE_PAGE
    smaps = Path("/proc/self/smaps").read_text(encoding="ascii").split("VmFlags:")
    # With the guard behind it, in whole huge pages.
    ours = [area for area in smaps if "Size:              12288 kB" in area]
    assert ours
    assert all("AnonHugePages:         0 kB" in area for area in ours)


def test_hugepage_memory_is_huge_or_refused(session: _core.Session) -> None:
    """Would catch a buffer recorded as huge that is not, and a refusal without a reason."""
    offered = session.offers("cpu0", "hugepage")
    if not offered.available:
        assert "huge pages" in offered.reason
        with pytest.raises(_core.UnsupportedError, match="huge pages"):
            session.allocate("cpu0", "hugepage", MIB, "cpu0")
        return
    buffer = session.allocate("cpu0", "hugepage", 8 * MIB + 8, "cpu0")
    assert buffer.bytes == 8 * MIB + 8
    huge = int((TRANSPARENT / "hpage_pmd_size").read_text(encoding="ascii"))
    assert buffer.page_bytes >= huge


def test_placement_names_domains_that_exist(session: _core.Session, memory: str) -> None:
    """Would catch error codes of move_pages counted as domains, and pages that first touch did not reach."""
    for device in session.devices:
        buffer = session.allocate(device.name, memory, 32 * MIB, device.name)
        placement = buffer.placement()
        assert set(placement) == {device.numa_domain}
        assert sum(placement.values()) == min(4096, 32 * MIB // BASE_PAGE)


def test_unknown_words_are_refused(session: _core.Session) -> None:
    """Would catch a silent fallback to some other memory, device or kernel."""
    with pytest.raises(_core.UnsupportedError, match="nosuch"):
        session.offers("cpu0", "nosuch")
    with pytest.raises(_core.UnsupportedError, match="nosuch"):
        session.allocate("cpu0", "nosuch", 4096, "cpu0")
    with pytest.raises(_core.Error, match="cpu99"):
        session.allocate("cpu99", "pageable", 4096, "cpu0")
    kernel = session.offers_kernel("cpu0", "nosuch")
    assert not kernel.available
    assert "nosuch" in kernel.reason


@pytest.mark.parametrize("memory", ["pinned", "registered", "managed", "device"])
def test_memory_of_gpu_runtimes_is_refused_with_a_reason(session: _core.Session, memory: str) -> None:
    """Would catch host memory handed out under a vendor's name."""
    offered = session.offers("cpu0", memory)
    assert not offered.available
    assert "GPU" in offered.reason
    with pytest.raises(_core.UnsupportedError, match="GPU"):
        session.allocate("cpu0", memory, 4096, "cpu0")


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_host_kernel_is_offered(session: _core.Session, kernel: str) -> None:
    """Would catch a kernel lost from the table; only streaming stores are a matter of the architecture."""
    assert session.offers_kernel("cpu0", kernel).available or kernel == "memcpy_stream"


@pytest.mark.parametrize("size", [1 << 46, 1 << 48])
def test_more_than_there_is_costs_an_exception(session: _core.Session, memory: str, size: int) -> None:
    """Would catch an allocation that the kernel grants and then answers by killing the worker."""
    asked = size if memory == "hugepage" else size + GUARD
    with pytest.raises(_core.OutOfMemoryError, match=str(asked)) as caught:
        session.allocate("cpu0", memory, size, "cpu0")
    assert (caught.value.call, caught.value.code) == ("mmap", "ENOMEM")
    assert session.allocate("cpu0", memory, MIB, "cpu0").bytes == MIB  # the next one is fine


def test_refusal_of_the_kernel_is_out_of_memory() -> None:
    """Would catch an ENOMEM of mmap itself (ulimit -v) mistaken for another error, or for an address."""
    code = (
        "import resource\n"
        "from byteways import _core\n"
        "session = _core.Session(gpus=False)\n"
        "session.allocate('cpu0', 'pageable', 4096, 'cpu0')\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))\n"
        "try:\n"
        "    session.allocate('cpu0', 'pageable', 512 << 20, 'cpu0')\n"
        "except _core.OutOfMemoryError as error:\n"
        "    print(error.code, 'asked for' in error.text)\n"
    )
    assert run_python(code).strip() == "ENOMEM True"


def test_memory_is_given_back(session: _core.Session) -> None:
    """Would catch a mapping that outlives its buffer: a suite allocates hundreds."""

    def mapped() -> int:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * BASE_PAGE

    session.allocate("cpu0", "pageable", MIB, "cpu0")
    before = mapped()
    for _ in range(8):
        session.allocate("cpu0", "pageable", 64 * MIB, "cpu0")
    assert mapped() - before < 64 * MIB


def test_idle_threads_sleep_and_end_with_their_session() -> None:
    """Would catch teams that spin on after their launch and disturb every later measurement."""
    code = (
        "import gc, os, time\n"
        "from byteways import _core\n"
        "threads = lambda: len(os.listdir('/proc/self/task'))\n"
        "before = threads()\n"
        "session = _core.Session(gpus=False)\n"
        "buffers = [session.allocate('cpu0', 'pageable', 1 << 20, 'cpu0') for _ in range(2)]\n"
        "options = _core.MeasureOptions()\n"
        "options.budget_s, options.batch = 0.02, 8\n"
        "session.measure([_core.Flow(*buffers, 'cpu0', 'memcpy-mt', 1 << 20, threads=4)], options)\n"
        "def state(task):\n"
        "    text = open(f'/proc/self/task/{task}/stat').read()\n"
        "    return text.rpartition(')')[2].split()[0]\n"
        "team = [task for task in os.listdir('/proc/self/task') if int(task) != os.getpid()]\n"
        "until = time.monotonic() + 30\n"
        "asleep = 0\n"
        "while asleep < 20 and time.monotonic() < until:\n"
        "    time.sleep(0.005)\n"
        "    asleep = asleep + 1 if all(state(task) == 'S' for task in team) else 0\n"
        "del session, buffers\n"
        "gc.collect()\n"
        "print(asleep == 20, threads() - before)\n"
    )
    assert run_python(code).split() == ["True", "0"]


def test_time_of_the_clock_is_time(session: _core.Session) -> None:
    """Would catch a clock in other units: the samples cannot add up to more than the wall time they took."""
    source, destination = (session.allocate("cpu0", "pageable", 8 * MIB, "cpu0") for _ in range(2))
    began = time.monotonic_ns()
    flow = _core.Flow(source, destination, "cpu0", "memcpy", 8 * MIB)
    measurement = session.measure([flow], quick_options())
    wall_ns = time.monotonic_ns() - began
    moved_ns = sum(measurement.samples_ns) * measurement.batch
    assert moved_ns < wall_ns * 1.001
    assert measurement.time_ns.median > 8 * MIB / 1000  # ns: 1 TB/s is more than any single core copies


def test_the_first_warm_up_lets_clocks_rise() -> None:
    """Would catch samples taken while a governor raises the frequency. Only a lower bound is asserted."""
    session = _core.Session(gpus=False)
    buffers = [session.allocate("cpu0", "pageable", MIB, "cpu0") for _ in range(2)]
    options = quick_options()
    options.budget_s = 0.001
    before = time.monotonic()
    session.measure([_core.Flow(buffers[0], buffers[1], "cpu0", "memcpy", MIB, cold=False)], options)
    assert time.monotonic() - before >= 0.05


def test_clock_that_needs_no_system_call() -> None:
    """Would catch a system call in every polling loop between threads on RHEL 8."""
    for release, by_itself in (
        ("4.18.0-553.el8_10.x86_64", False),
        ("5.2.21", False),
        ("5.3.0-rc1", True),
        ("5.14.0-427.el9", True),
        ("6.1.0-18-amd64", True),
        ("10.0", True),
        ("unknown", True),
    ):
        assert _core.reads_raw_clock_by_itself(release) == by_itself


def test_each_launch_of_a_series_is_expected_by_its_team(session: _core.Session) -> None:
    """Would catch a series that announces one launch to the members of its team and runs many.

    A member that expects no launch falls asleep, and the launch waits for it for ever.
    """
    buffer = session.allocate("cpu0", "pageable", MIB, "cpu0")
    flow = _core.Flow(buffer, buffer, "cpu0", "compute", MIB, threads=2)
    assert session.measure([flow], quick_options()).verified


#: By which the words of a pattern are multiplied (native/interfaces/device/data_pattern.hpp).
PATTERN_MULTIPLIER = 0x9E3779B97F4A7C15


def preparations(buffer: _core.Buffer) -> int:
    """How often the data of a source was generated: a part of the key of its first word."""
    word = ctypes.c_uint64.from_address(buffer.address).value
    unfolded = word ^ (word >> 32)
    return (unfolded * pow(PATTERN_MULTIPLIER, -1, 2**64) % 2**64 >> 8) & 0xFFF


@pytest.mark.parametrize(("budget_s", "each_sample"), [(1e-4, False), (30.0, True)])
def test_data_is_generated_again_only_to_check_each_sample(budget_s: float, each_sample: bool) -> None:
    """Catches a round that fills gigabytes a second time, which no sample needs, and samples that are said to
    be checked as a whole and are not.
    """
    session = _core.Session(gpus=False)
    size = 64 * 1024 if each_sample else 16 * MIB
    source, destination = (session.allocate("cpu0", "pageable", 2 * size, "cpu0") for _ in range(2))
    options = _core.MeasureOptions()
    # A busy host takes its time to check; the samples are few all the same.
    options.budget_s, options.key, options.max_samples = budget_s, 5, 20
    for _ in range(2):
        measured = session.measure([_core.Flow(source, destination, "cpu0", "memcpy", size)], options)
        assert measured.verified and measured.verified_every_sample is each_sample
        assert (preparations(source) > 1) is each_sample


@pytest.mark.parametrize("slots", [7, 16])
@pytest.mark.parametrize("size", [64 * 1024, 256 * 1024, MIB])
def test_words_of_adjacent_slots_are_checked_together(session: _core.Session, size: int, slots: int) -> None:
    """Catches a false alarm where one launch checks words of all slots, also of a rotation that starts again
    within a batch.
    """
    source, destination = (session.allocate("cpu0", "pageable", slots * size, "cpu0") for _ in range(2))
    options = _core.MeasureOptions()
    options.budget_s, options.batch = 1e-4, 10
    for _ in range(2):
        flow = _core.Flow(source, destination, "cpu0", "memcpy", size, cold=True)
        measured = session.measure([flow], options)
        assert measured.verified and not measured.verified_every_sample
        assert measured.batch == 10 and measured.flows[0].verification.bad_count == 0
