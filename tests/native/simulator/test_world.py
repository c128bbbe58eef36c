"""Programs against the simulated machine: time, order, queues, memory, and what it refuses."""

from __future__ import annotations

import pytest

from tests.native import simulated as sim

from .conftest import Play, Told

SIZE = 64 * sim.MIB
#: Nanoseconds of a copy of SIZE by an engine to the peer.
COPY_NS = sim.FIXED_NS["engine"] + SIZE / sim.RATES["engine-peer-write"] * 1e9
#: Of a walk of 1000 steps through SIZE of the GPU's own memory.
WALK_NS = 1000 * 300.0
ENQUEUE_NS, SYNCHRONIZE_NS, CLOCK_NS = 1000.0, 2000.0, 20.0
INVALID, OUT_OF_MEMORY, NO_PEER, ENABLED, ILLEGAL, LOST, UNSUPPORTED, INTERNAL = 0, 1, 3, 4, 5, 6, 7, 8


def number(told: Told, key: str) -> float:
    """The only value of the only line."""
    ((value,),) = told[key]
    return float(value)


def codes(told: Told, key: str) -> list[int]:
    """How the attempts under that key ended: the failure's code, -1 for none."""
    return [int(line[0]) for line in told[key]]


def test_gated_and_ungated_take_the_same_time(play: Play) -> None:
    """Would catch a gate that opens in the past, or costs what is behind it."""
    told = play("gated", sim.nvidia())
    assert number(told, "gated") == pytest.approx(10 * COPY_NS, abs=0.02)
    # The first copy was enqueued one call after the record before it.
    assert number(told, "ungated") == pytest.approx(10 * COPY_NS + ENQUEUE_NS, abs=0.02)


def test_one_operation_pays_for_launch_and_event(play: Play) -> None:
    """Would catch a launch that is paid by each operation of a queue that is not idle."""
    told = play("gated", sim.nvidia(calls__launch_ns=5000.0, calls__event_ns=700.0))
    assert number(told, "gated") == pytest.approx(10 * COPY_NS + 700, abs=0.02)
    assert number(told, "one") == pytest.approx(COPY_NS + ENQUEUE_NS, abs=0.02)


def test_wait_captures_the_record(play: Play) -> None:
    """Would catch a wait for the latest record instead of the one that was current at the call."""
    told = play("captured", sim.nvidia())
    assert told["never-recorded"] == [["1"]]
    assert codes(told, "unfinished") == [INVALID]
    assert number(told, "waited") == pytest.approx(WALK_NS + ENQUEUE_NS)
    assert told["finished"] == [["0"]]
    assert number(told, "longer") == pytest.approx(101 * WALK_NS + ENQUEUE_NS)


def test_a_graph_may_not_be_destroyed_while_it_runs(play: Play) -> None:
    """Catches a graph that starts too early without an error, and one that never may start."""
    told = play("graphs", sim.nvidia())
    assert number(told, "ended-takes") == pytest.approx(2 * COPY_NS + ENQUEUE_NS, abs=0.02)
    for key in ("ended-recorded", "ended", "ended-next", "running-recorded"):
        assert codes(told, key) == [-1], key
    assert codes(told, "running") == [ILLEGAL]
    assert " ".join(told["running"][0][1:]) == "a graph was destroyed while it ran"
    assert codes(told, "running-next") == [ILLEGAL]  # who drops the answer of the call meets it here


def test_deadlock_is_an_error(play: Play) -> None:
    """Would catch a process that hangs where nothing can happen any more, and a cancelled timer that acts."""
    told = play("deadlock", sim.nvidia())
    assert codes(told, "failure") == [INTERNAL]
    assert "deadlock" in told["failure"][0]


def test_a_timer_of_another_thread_opens_the_gate(play: Play) -> None:
    """Would catch a rank that takes what another rank's call is about to bring about for a deadlock."""
    assert codes(play("timer-elsewhere", sim.nvidia()), "waited") == [-1]


def test_a_timer_opens_the_gate(play: Play) -> None:
    """Would catch a watchdog that acts for a host that waits, and not for one that does anything else."""
    told = play("timers", sim.nvidia())
    late = 1_000_000 + SYNCHRONIZE_NS + CLOCK_NS
    assert number(told, "waits") == pytest.approx(1_000_000 + CLOCK_NS)
    assert number(told, "polls") == pytest.approx(late, abs=500)
    assert number(told, "enqueues") == pytest.approx(late, abs=ENQUEUE_NS)


def test_a_full_queue_blocks_the_host(play: Play) -> None:
    """Would catch calls that return while a real driver's would not."""
    told = play("full-queue", sim.nvidia(gpu__queue_depth=3))
    enqueued = [float(line[0]) for line in told["enqueued"]]
    call = ENQUEUE_NS + CLOCK_NS
    assert enqueued[:3] == pytest.approx([call, 2 * call, 3 * call])
    # The fourth waits for the first, the fifth for the second.
    assert enqueued[3:5] == pytest.approx(
        [ENQUEUE_NS + k * WALK_NS + CLOCK_NS * 2 for k in (1, 2)], abs=2 * call
    )
    free = play("full-queue", sim.nvidia())
    assert [float(line[0]) for line in free["enqueued"]] == pytest.approx([k * call for k in range(1, 9)])
    assert number(free, "destroyed") == pytest.approx(ENQUEUE_NS + 8 * WALK_NS + CLOCK_NS)


@pytest.mark.parametrize(
    ("queues", "faults", "walks"),
    [
        (32, {}, [1, 1, 1]),
        (2, {}, [1, 1, 2]),
        (1, {}, [1, 2, 3]),
        (32, {"faults__0": "serialise:gpu0"}, [1, 2, 3]),
    ],
)
def test_hardware_queues(play: Play, queues: int, faults: dict[str, str], walks: list[int]) -> None:
    """Would catch more streams at work than the device has queues for."""
    told = play("side-by-side", sim.nvidia(gpu__hardware_queues=queues, **faults))
    ends = [float(line[0]) for line in told["end"]]
    assert ends == pytest.approx([walk * WALK_NS for walk in walks], rel=0.02)


def test_occupied_multiprocessors(play: Play) -> None:
    """Catches a kernel that starts without free threads, and an engine that is treated as a kernel."""
    told = play("occupied", sim.nvidia())
    assert told["before"] == [["0"]]
    assert told["running"] == [["64"]]
    assert told["engine"] == [["1", "0", "0", "1"]]  # engine, kernel, copy by a kernel, gate
    assert told["released"] == [["1"]]


def test_an_engine_that_was_asked_for(play: Play) -> None:
    """Would catch two copies at once on one engine, or one that goes to another than it was sent to."""
    told = play("chosen-engines", sim.nvidia())
    to_host = sim.FIXED_NS["engine"] + SIZE / sim.RATES["engine-host-write"] * 1e9
    # The host waits for the second copy before it records the end.
    slack = 4 * ENQUEUE_NS + SYNCHRONIZE_NS
    assert number(told, "one") == pytest.approx(COPY_NS + to_host, abs=slack)
    assert number(told, "two") == pytest.approx(to_host, abs=slack)


CLEAN = [["0", str(2**64 - 1), "0"]]


def test_data_is_moved(play: Play) -> None:
    """Would catch a copy that moves nothing, words out of place, and links that count nothing."""
    told = play("moves", sim.nvidia())
    assert told["engine"] == told["kernel"] == told["from-host"] == CLEAN
    assert told["to-host"] == [["0", "1"]]
    assert told["sent"] == [[str(2 * SIZE), str(2 * SIZE), "0"]]


def test_many_operations(play: Play) -> None:
    """Would catch operations that get lost, and time per operation that grows with their number."""
    assert play("many", sim.nvidia()) == {"moved": [["20000"]]}


def test_two_processes_agree(play: Play) -> None:
    """Would catch addresses, chance or the real clock in anything that affects times."""
    noisy = sim.nvidia(noise=0.01, seed=5)
    first = play("times", noisy)
    assert play("times", noisy) == first
    assert len({line[0] for line in first["copy"]}) == 10
    assert play("times", sim.nvidia(noise=0.01, seed=6)) != first
    quiet = [float(line[0]) for line in play("times", sim.nvidia())["copy"]]
    assert quiet == pytest.approx([COPY_NS + ENQUEUE_NS] * 10, abs=0.02)


def test_managed_pages_move(play: Play) -> None:
    """Would catch pages that stay, that move twice, or that a copy call leaves behind and yet is fast."""
    told = play("managed", sim.nvidia())
    assert told["at-first"] == told["after-prefetch"] == [["cpu", "0"]]
    assert told["after-kernel"] == told["after-copy"] == [["gpu", "0"]]
    call, fault, prefetch = ENQUEUE_NS, 20_000, 10_000
    local = sim.FIXED_NS["kernel"] + SIZE / sim.RATES["kernel-local"] * 1e9
    copy = sim.FIXED_NS["blit"] + SIZE / sim.RATES["blit-local"] * 1e9
    assert number(told, "copied") == pytest.approx(fault + SIZE / 10 + copy + call)
    assert number(told, "first") == pytest.approx(fault + SIZE / 10 + local + call)  # 10 GB/s
    assert number(told, "second") == pytest.approx(local + call)
    assert number(told, "prefetch") == pytest.approx(prefetch + SIZE / 40 + call)  # 40 GB/s
    assert number(told, "half") == pytest.approx(fault + SIZE / 2 / 10 + local + call, rel=0.3)
    assert number(told, "pages") == SIZE / 4096


def test_migrations_are_flows_over_links(play: Play) -> None:
    """Would catch pages that take no link: eight prefetches faster than it, and a copy that is not slowed."""
    told = play("migrations", sim.nvidia())
    link = sim.RATES["engine-host-read"] / 1e9
    assert number(told, "together") >= 8 * SIZE / link
    assert number(told, "together") == pytest.approx(8 * SIZE / link, rel=0.05)
    # The prefetch takes half of the link until its pages are there.
    assert number(told, "beside") == pytest.approx(number(told, "alone") + SIZE / link, rel=0.05)


def test_managed_pages_stay(play: Play) -> None:
    """Would catch migration on a machine whose kernels reach pages where they are."""
    told = play("managed", sim.nvidia(managed__kernels_migrate=0))
    assert told["after-kernel"] == [["cpu", "0"]]
    remote = sim.FIXED_NS["kernel"] + SIZE / sim.RATES["kernel-host-read"] * 1e9 + ENQUEUE_NS
    assert number(told, "first") == number(told, "second") == pytest.approx(remote)


@pytest.mark.parametrize("migrates", [0, 1])
def test_shared_memory(play: Play, migrates: int) -> None:
    """Would catch an APU whose cores or kernels cannot touch, or pay a link for, the memory they share."""
    apu = sim.amd(
        features__host_access=1,
        features__pageable_access=1,
        managed__kernels_migrate=migrates,
        managed__remote_efficiency=0.5,
    )
    told = play("shared-memory", apu)
    local = sim.FIXED_NS["kernel"] + SIZE / sim.RATES["kernel-local"] * 1e9 + ENQUEUE_NS
    assert number(told, "kernel") == pytest.approx(local)
    assert number(told, "managed") == pytest.approx(local)
    assert told["arrived"] == CLEAN
    assert told["free"] == [[str(8 * sim.GIB - 3 * SIZE)] * 2]


def test_cores(play: Play) -> None:
    """Would catch threads that get more than their memory gives, and a cache that is not one."""
    told = play("cores", sim.nvidia(cpu__team_ns=0.0))
    call = ENQUEUE_NS
    assert number(told, "one") == pytest.approx(SIZE / sim.CORE_COPY * 1e9 + call)
    assert number(told, "four") == pytest.approx(SIZE / sim.CORE_COPY / 4 * 1e9 + call)
    # 100 GB/s of reads or of writes: a copy is both, and they share the channels.
    assert number(told, "thirty") == pytest.approx(2 * SIZE / 100 + call)
    assert number(told, "warm") == pytest.approx(100 * 64 * sim.KIB / 40 + call)  # 40 GB/s


def test_a_copy_of_one_core_has_a_fixed_cost(play: Play) -> None:
    """Would catch a small copy that takes no time, and a team that pays for one core's call as well."""
    each = 300.0
    plain, told = (
        play("cores", sim.nvidia(cpu__team_ns=0.0, cpu__call_ns=call_ns)) for call_ns in (0.0, each)
    )
    more = {key: number(told, key) - number(plain, key) for key in ("one", "four", "warm")}
    assert more == pytest.approx({"one": each, "four": 0, "warm": 100 * each}, abs=0.1)


def test_chase(play: Play) -> None:
    """Would catch a walk that takes no time, ends elsewhere, or goes on through a cycle that is gone."""
    told = play("chase", sim.nvidia())
    assert number(told, "time") == pytest.approx(WALK_NS + ENQUEUE_NS, abs=ENQUEUE_NS)
    assert told["end"] == [["1"]]
    assert told["torn"] == [["0"]]


def test_memory_runs_out(play: Play) -> None:
    """Would catch a GPU that gives more memory than it has, or does not get back what is freed."""
    told = play("memory", sim.nvidia())
    assert codes(told, "all") == [OUT_OF_MEMORY]
    assert codes(told, "above") == codes(told, "below") == codes(told, "again") == [-1]
    assert number(told, "free") - number(told, "less") == sim.MIB


@pytest.mark.parametrize(
    ("key", "code", "words"),
    [
        ("kernel", INVALID, "plays no kernel"),
        ("block", INVALID, "argument block"),
        ("outside", INVALID, "outside of any block"),
        ("odd", UNSUPPORTED, "whole words"),
        ("result", UNSUPPORTED, "1 MiB"),
        ("release", INVALID, "no block of memory"),
        ("enable", -1, ""),
        ("enable-again", ENABLED, "enabled already"),
        ("enable-itself", NO_PEER, ""),
    ],
)
def test_refusals(play: Play, key: str, code: int, words: str) -> None:
    """Would catch a mistake of the simulated program that crashes it, or passes."""
    told = play("refused", sim.nvidia())
    assert codes(told, key) == [code]
    assert words in " ".join(told[key][0])
