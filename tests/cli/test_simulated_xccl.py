"""NCCL and RCCL between ranks of simulated machines: verified, within their links, repeatable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from byteways.cases.interfaces import COLLECTIVES
from byteways.models import load
from tests.cli.called import byteways, measured

MIB = 2**20
ENDS = 'interface = "xccl"\nsource = "gpu*:device"\ndestination = "gpu*:device"\ncache = "warm"\n'
OF_PING_PONG = ENDS.replace("xccl", "xccl-ping-pong").replace('cache = "warm"', "")
HEAD = 'name = "toy"\ntitle = "NCCL and RCCL"\nrounds = 1\ncase_budget_s = 0.005\n'
SUITE = f"""{HEAD}
[[sweep]]
name = "collectives"
{ENDS}pattern = {[*COLLECTIVES]}
size = ["32KiB", "16MiB"]
[[sweep]]
name = "in-place"
{ENDS}pattern = ["allreduce", "allgather", "reduce-scatter"]
size = ["32KiB", "16MiB"]
options = {{ in_place = "yes" }}
[[sweep]]
name = "messages"
{ENDS}pattern = ["unidirectional", "bidirectional"]
pairs = "per-link-class"
size = ["32KiB", "16MiB"]
[[sweep]]
name = "latency"
{OF_PING_PONG}pairs = "per-link-class"
size = "8B"
"""


def test_a_message_is_waited_for_as_in_osus_program(tmp_path: Path) -> None:
    """Catches the loop of osu_xccl_latency without the wait after each of the two messages, and a collective
    whose calls follow each other without a wait.
    """
    timings = 'options = { timing = ["pipelined", "osu"], batch = 5 }'
    text = f'{HEAD}[[sweep]]\nname = "a"\n{OF_PING_PONG}size = "8B"\n{timings}\n'
    text += f'[[sweep]]\nname = "b"\n{ENDS}pattern = "allreduce"\nsize = "32KiB"\n{timings}\n'
    records = measured(tmp_path, text, "--machine", "elcap-mi300a", "--ranks", "2")
    assert {one["status"] for one in records} == {"measured"}, [one["reason"] for one in records]
    found = {
        (one["sweep"], one["options"].get("timing", "pipelined")): one["time_ns"]["median"] for one in records
    }
    wait_ns = load("elcap-mi300a").number("calls.synchronize_ns")
    assert found["a", "osu"] > found["a", "pipelined"] + 2 * wait_ns
    assert found["b", "osu"] > found["b", "pipelined"] + wait_ns


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The folder of the run R of four ranks on h200-x4, and its records: the longest run here."""
    folder = tmp_path_factory.mktemp("four")
    return folder, measured(folder, SUITE, "--machine", "h200-x4", "--ranks", "4")


def test_every_operation_of_nccl_is_verified(four: tuple[Path, list[dict[str, Any]]]) -> None:
    """Catches an operation that leaves a wrong word anywhere, or that a link cannot carry so fast."""
    records = four[1]
    assert {one["status"] for one in records} == {"measured"}, [one["reason"] for one in records]
    assert all(one["verified"] and one["engine"] == "xccl" for one in records)
    assert all(one["engine_evidence"].startswith("NCCL") for one in records)
    assert {one["pattern"] for one in records} == {*COLLECTIVES, "unidirectional", "bidirectional"}
    assert not any("beyond-limit" in {warning["id"] for warning in one["warnings"]} for one in records)
    rates = {
        (one["pattern"], one["size_bytes"]): one.get("bandwidth_bytes_per_s")
        for one in records
        if one["sweep"] != "in-place"
    }
    for pattern in COLLECTIVES:  # a large one is bound by links, a small one by its steps
        assert rates[pattern, 16 * MIB] > 3 * rates[pattern, 32 * 1024]


def test_collectives_in_place_use_one_buffer(four: tuple[Path, list[dict[str, Any]]]) -> None:
    """Catches an option that changes nothing, and a record that does not name it."""
    records = [one for one in four[1] if one["sweep"] == "in-place"]
    assert [one["options"]["in_place"] for one in records] == ["yes"] * 6
    assert all(one["verified"] and ", in place" in one["engine_evidence"] for one in records), records


def test_a_wrong_word_on_the_way_is_found(tmp_path: Path) -> None:
    """Catches a verification of messages between GPUs that sees nothing."""
    words = ("--machine", "h200-x4", "--ranks", "2", "--fault", "corrupt:gpu0>gpu1:word=7")
    only = ("--only", "pattern=unidirectional,size=16MiB")
    records = measured(tmp_path, SUITE, *words, *only, status=1)
    assert [one["status"] for one in records] == ["corrupt"]


PARTS_OF_WORDS = f"""{HEAD}
[[sweep]]
name = "collectives"
{ENDS}pattern = ["allreduce", "reduce", "broadcast"]
size = "4B"
[[sweep]]
name = "in-place"
{ENDS}pattern = "allreduce"
size = "4B"
options = {{ in_place = "yes" }}
[[sweep]]
name = "messages"
{ENDS}pairs = "per-link-class"
size = ["4B", "13B"]
"""


@pytest.mark.parametrize(("fault", "status"), [((), "measured"), (("corrupt:gpu0>gpu1:word=0",), "corrupt")])
def test_bytes_that_fill_no_word_are_checked(tmp_path: Path, fault: tuple[str, ...], status: str) -> None:
    """Catches a short message that nobody compares, and one that is blamed for what lies behind its end."""
    words = ("--machine", "h200-x4", "--ranks", "2", *(word for text in fault for word in ("--fault", text)))
    records = measured(tmp_path, PARTS_OF_WORDS, *words, status=status == "corrupt")
    found = {
        (one["sweep"], one["size_bytes"]): one["status"] for one in records if one["path"] != "gpu1>gpu0"
    }
    assert len(records) == 6 and {found["messages", size] for size in (4, 13)} == {status}
    if not fault:
        assert {*found.values()} == {"measured"} and all(one["verified"] for one in records)


def test_a_lost_gpu_costs_only_the_cases_that_use_it(tmp_path: Path) -> None:
    """Catches a machine that cannot restart after a rank has failed: every later case would fail, too."""
    suite = (
        HEAD.replace("rounds = 1", "rounds = 2")  # in two orders
        + f'[[sweep]]\nname = "gpu"\n{ENDS}pattern = "allreduce"\nsize = "32KiB"\n'
        + f'[[sweep]]\nname = "host"\n{ENDS}pattern = "allreduce"\nsize = "32KiB"\n'.replace(
            "xccl", "mpi"
        ).replace("gpu*:device", "cpu*:pageable")
    )
    words = ("--machine", "h200-x4", "--ranks", "2", "--fault", "lost:gpu1")
    records = measured(tmp_path, suite, *words, status=1)
    assert len(records) == 4
    for one in records:
        if one["interface"] == "mpi":
            assert one["status"] == "measured" and one["verified"]
        else:
            assert one["status"] == "failed" and "rank 1: " in one["reason"] and "gpu1" in one["reason"]


LAUNCHED = f"""{HEAD}
[[sweep]]
name = "collectives"
{ENDS}pattern = ["allreduce", "alltoall", "broadcast", "multi-pair"]
size = "64MiB"
options = {{ launch = ["process", "thread", "single"], submit = ["calls", "graph"] }}
[[sweep]]
name = "in-place"
{ENDS}pattern = ["allreduce", "reduce-scatter"]
size = "64MiB"
options = {{ launch = ["thread", "single"], in_place = "yes", submit = ["calls", "graph"] }}
[[sweep]]
name = "registered"
{ENDS.replace(":device", ":xccl")}pattern = ["allreduce", "alltoall"]
size = "64MiB"
options = {{ launch = ["process", "thread", "single"] }}
[[sweep]]
name = "latency"
{ENDS.replace("xccl", "xccl-ping-pong").replace('cache = "warm"', "")}pairs = "per-link-class"
size = "8B"
options = {{ launch = ["process", "thread", "single"] }}
"""


@pytest.mark.parametrize(("model", "library"), [("h200-x4", "NCCL"), ("elcap-mi300a", "RCCL")])
def test_every_launch_mode_is_verified(tmp_path: Path, model: str, library: str) -> None:
    """Catches one thread that deadlocks between its GPUs, a graph that moves nothing, and a time that leaves
    out the other GPUs.
    """
    records = measured(tmp_path, LAUNCHED, "--machine", model, "--ranks", "4")
    ran = [one for one in records if one["status"] != "skipped"]
    assert {one["status"] for one in ran} == {"measured"}, [one["reason"] for one in ran]
    assert all(one["verified"] for one in ran)
    assert {one["reason"] for one in records if one["status"] == "skipped"} == {
        "a graph belongs to one GPU, and here one thread submits for all GPUs"
    }
    told = {"process": "one process each", "thread": "one thread each", "single": "one thread for all"}
    for one in ran:
        options = one["options"]
        assert told[options.get("launch", "process")] in one["engine_evidence"], one["engine_evidence"]
        assert one["engine_evidence"].startswith(library)
        assert ("registered memory" in one["engine_evidence"]) == (one["sweep"] == "registered")
        assert (", as a graph" in one["engine_evidence"]) == (options.get("submit") == "graph")
    times = {
        (one["pattern"], one["options"].get("launch", "process")): one["time_ns"]["median"]
        for one in ran
        if one["sweep"] == "collectives" and one["options"]["submit"] == "calls"
    }
    # One thread needs as long as the slowest GPU, and longer where its calls for all GPUs take longer.
    assert all(time > 0.99 * times[pattern, "process"] for (pattern, _), time in times.items())


def test_records_tell_what_the_library_chose(four: tuple[Path, list[dict[str, Any]]]) -> None:
    """Catches the choice of another size or collective, and none told without a reason."""
    folder, every = four
    records = [one for one in every if one["sweep"] == "collectives"]
    chosen = {(one["pattern"], one["size_bytes"]): one["library_choice"] for one in records}
    assert chosen["allreduce", 32 * 1024]["protocol"] == "LL"
    assert chosen["allreduce", 16 * MIB]["protocol"] == "Simple"
    assert all(chosen["allreduce", size]["algorithm"] for size in (32 * 1024, 16 * MIB))
    assert all(chosen["allreduce", size]["channels"] > 1 for size in (32 * 1024, 16 * MIB))
    for choice in chosen.values():
        assert (choice["algorithm"] is None) == (choice["reason"] is not None), choice
    assert "messages" in chosen["alltoall", 16 * MIB]["reason"]
    shown = byteways(folder, "show", "R", "--all").stdout
    assert "choice of the library" in shown and "Simple, " in shown


def test_one_thread_finds_a_wrong_word_of_another_rank(tmp_path: Path) -> None:
    """Catches a mover of all ranks that verifies the first one alone."""
    words = ("--machine", "h200-x4", "--ranks", "2", "--fault", "corrupt:gpu0>gpu1:word=7")
    records = measured(tmp_path, LAUNCHED, *words, "--only", "pattern=broadcast", status=1)
    found = {one["options"].get("launch"): one["status"] for one in records if one["status"] != "skipped"}
    assert found["single"] == "corrupt"


LINK_OR_GPU = f"""{HEAD}
[[sweep]]
name = "xccl"
{ENDS}pattern = "allreduce"
size = "32KiB"
[[sweep]]
name = "gpu-messages"
{ENDS.replace("xccl", "mpi")}pairs = "per-link-class"
size = "1MiB"
[[sweep]]
name = "host"
{ENDS.replace("xccl", "mpi").replace("gpu*:device", "cpu*:pageable")}pattern = "allreduce"
size = "32KiB"
"""


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("link-fails:gpu0-gpu1:after=7", "the link between gpu0 and gpu1 has failed (fault)"),
        ("lost:gpu1:after=40", "gpu1"),
    ],
)
def test_what_breaks_in_a_collective_is_named(tmp_path: Path, fault: str, said: str) -> None:
    """Catches a record that names who waits and not why, and a run that ends with the broken part."""
    words = ("--machine", "crusher-mi250x", "--ranks", "2", "--fault", fault)
    records = measured(tmp_path, LINK_OR_GPU, *words, status=1)
    by_sweep = {one["sweep"]: one for one in records}
    assert len(records) == 3
    for sweep in ("xccl", "gpu-messages"):
        assert by_sweep[sweep]["status"] == "failed" and said in by_sweep[sweep]["reason"]
    assert by_sweep["host"]["status"] == "measured" and by_sweep["host"]["verified"]


def test_sums_go_around_as_many_rings_as_the_links_have_room_for(tmp_path: Path) -> None:
    """Catches an all-reduce with another number of steps, and rings that leave links idle."""
    suite = (
        HEAD
        + f'[[sweep]]\nname = "small"\n{ENDS}pattern = ["allreduce", "reduce"]\nsize = "8B"\n'
        + f'[[sweep]]\nname = "large"\n{ENDS}pattern = "allreduce"\nsize = "256MiB"\n'
    )
    records = measured(tmp_path, suite, "--machine", "frontier-mi250x", "--ranks", "8")
    figures = {(one["sweep"], one["pattern"]): one for one in records}
    # A reduce takes 7 steps along its ring, an all-reduce 14.
    reduce, allreduce = (figures["small", name]["time_ns"]["median"] for name in ("reduce", "allreduce"))
    assert allreduce - reduce == pytest.approx(
        7 * load("frontier-mi250x").number("xccl.ll_step_ns"), rel=0.05
    )
    four_rings = 4 * 50e9 * 0.766 * 0.931  # single links, the part that kernels use and that of Simple
    assert figures["large", "allreduce"]["bandwidth_bytes_per_s"] == pytest.approx(four_rings, rel=0.05)


def test_managed_memory_without_xnack_is_named(tmp_path: Path) -> None:
    """Catches a kind of memory that fails the run, a device that is given up for it, and no reason."""
    suite = f"""{HEAD}
[[sweep]]
name = "managed"
{ENDS.replace("device", "managed")}pattern = ["unidirectional", "allreduce"]
pairs = "per-link-class"
size = "64KiB"
environment = {{ HSA_XNACK = ["0", "1"] }}
[[sweep]]
name = "device"
{ENDS}pairs = "per-link-class"
size = "64KiB"
"""
    found = measured(tmp_path, suite, "--machine", "elcap-mi300a", "--ranks", "2")
    without = [one for one in found if one["environment"] == {"HSA_XNACK": "0"}]
    assert {one["pattern"] for one in without} == {"unidirectional", "allreduce"}
    for one in without:
        assert one["status"] == "skipped"
        assert one["reason"].startswith("the library cannot move this memory: nccl")
        assert "managed memory needs XNACK (HSA_XNACK=1)" in one["reason"]
    assert all(one["status"] == "measured" and one["verified"] for one in found if one not in without)


def test_a_lost_gpu_costs_its_own_cases(tmp_path: Path) -> None:
    """Catches a wait that is told instead of the GPU that was lost, and healthy GPUs that are given up."""
    suite = f"""{HEAD}
[[sweep]]
name = "all"
{ENDS}pattern = "allreduce"
size = "1MiB"
[[sweep]]
name = "pairs"
{ENDS}size = ["32KiB", "64KiB"]
"""
    words = ("--machine", "h200-x4", "--fault", "lost:gpu1:after=5")
    found = measured(tmp_path, suite, *words, status=1)
    (whole,) = (one for one in found if one["sweep"] == "all")
    assert "gpu1 does not answer any more, and so rank 0 waits" in whole["reason"]
    for one in found:
        assert (one["status"] == "measured") == ("gpu1" not in one["path"]), (one["path"], one["reason"])
