"""Application patterns between simulated ranks, from the suite to what is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.called import WIDE, byteways, measured

TRANSPORTS = ("mpi", "mpi-staged", "xccl", "hybrid", "copies", "kernels")
#: What tables call them.
NAMES = ("MPI", "staged MPI", "RCCL", "hybrid", "copies", "kernels")
HEAD = 'name = "toy"\ntitle = "Application patterns"\nrounds = {}\nprecision = 0.1\ncase_budget_s = 0.001\n'
SWEEP = """
[[sweep]]
name = "{name}"
interface = "{interface}"
pattern = "{interface}"
source = "{source}"
destination = "{destination}"
executor = "{executor}"
size = {size}
options = {{ {options} }}
"""
ALL = f"transport = {json.dumps(TRANSPORTS)}"
BOTH = 'timed = ["iteration", "exchange"]'


def sweep(interface: str, size: str | list[str], options: str = ALL, **more: str) -> str:
    keys = {"source": "gpu*:device", "destination": "gpu*:device", "executor": "gpu*", **more}
    name = keys.pop("name", interface)
    return SWEEP.format(**keys, name=name, interface=interface, size=json.dumps(size), options=options)


def run(
    folder: Path,
    text: str,
    *words: str,
    ranks: int = 4,
    machine: str = "h200-x4",
    rounds: int = 1,
    status: int = 0,
) -> list[dict[str, Any]]:
    common = ("--machine", machine, "--ranks", str(ranks))
    return measured(folder, HEAD.format(rounds) + text, *common, *words, status=status)


def transport_of(record: dict[str, Any]) -> str:
    return str(record["options"].get("transport", "mpi"))


def test_every_transport_is_measured_and_shown(tmp_path: Path) -> None:
    """Catches words that arrive elsewhere, an exchange that computes, an iteration that does not, and a table
    without one of the transports.
    """
    options = f"{ALL}, {BOTH}"
    records = run(tmp_path, sweep("halo", "128KiB", options), machine="elcap-mi300a", rounds=3)
    assert {one["status"] for one in records} == {"measured"}, {one.get("reason") for one in records}
    assert all(one["verified"] for one in records)
    found = {(transport_of(one), one["counts"]): one["time_ns"]["median"] for one in records}
    for word in TRANSPORTS:
        assert 0 < found[word, "exchange"] < found[word, "iteration"]
    shown = byteways(tmp_path, "show", "R", "--all", COLUMNS=WIDE).stdout
    table = shown.partition("halo of 4 ranks, 128 KiB of a field")[2].partition("\n\n")[0]
    assert [name for name in NAMES if f"\n{name} " not in table] == []
    assert "staged MPI takes" in shown and "reproduces an application's communication" in shown
    beside = shown.partition("Compared with schieffer2025, section 7")[2]
    assert "CloverLeaf, clover_exchange, hipMalloc: MPI to RCCL" in beside and "1.01 s → 0.69 s" in beside


def test_wrong_words_are_found(tmp_path: Path) -> None:
    """Catches an exchange whose messages nobody checks: one word of what GPU 0 writes to GPU 1 is changed."""
    options = f'transport = ["kernels", "xccl"], {BOTH}'
    text = sweep("halo", ["8KiB", "8MiB"], options) + sweep("particles", ["64KiB", "4MiB"], options)
    records = run(tmp_path, text, "--fault", "corrupt:gpu0>gpu1:word=7", status=1)
    assert {one["status"] for one in records} == {"corrupt"}
    assert all("wrong words" in one["reason"] for one in records)


def test_packing_as_in_the_codes(tmp_path: Path) -> None:
    """Catches fields that are exchanged together, kernels that pack what a core does in Quicksilver, memory
    of messages that is kept, and an exchange whose words nobody checks.
    """
    halo = f'{BOTH}, transport = ["mpi", "xccl"], fields = 6, packing = ["fused", "original"]'
    of_core = f"{BOTH}, batches = 3, crossing = 40, packing = "
    text = sweep("halo", "1MiB", halo) + sweep("particles", "1MiB", of_core + '["fused", "original"]')
    text += sweep("particles", "1MiB", of_core + '"original"', name="malloc", destination="cpu*:pageable")
    records = run(tmp_path, text, machine="elcap-mi300a")
    assert {one["status"] for one in records} == {"measured"}, {one.get("reason") for one in records}
    assert all(one["verified"] for one in records)
    found = {
        (one["sweep"], transport_of(one), one["counts"], one["options"].get("packing", "fused")): one
        for one in records
    }
    for (swept, transport, counts, packing), record in found.items():
        by_core = packing == "original" and swept != "halo"
        assert ("packed by a core in new memory each" in record["engine_evidence"]) == by_core
        if fused := found.get((swept, transport, counts, "fused")):
            slower = packing == "original"
            assert (fused["time_ns"]["median"] < record["time_ns"]["median"]) == slower
    of_halo = found["halo", "mpi", "exchange", "original"]["engine_evidence"]
    assert of_halo.startswith("12 messages of ")  # six times as many as fused


def test_words_that_a_core_packs_are_checked(tmp_path: Path) -> None:
    """Catches messages of a core whose words nobody looks at: one of those from GPU 0 to GPU 1 is changed."""
    text = sweep("particles", "1MiB", f'{BOTH}, packing = "original", batches = 2, crossing = 40')
    faulty = ("--fault", "corrupt:gpu0>gpu1:word=7")
    assert {one["status"] for one in run(tmp_path, text, *faulty, machine="elcap-mi300a", status=1)} == {
        "corrupt"
    }


def test_messages_that_do_not_come_are_found(tmp_path: Path) -> None:
    """Catches an exchange that is believed for its tokens: what GPU 0 writes to GPU 1 does not arrive."""
    options = f'transport = ["copies", "kernels"], {BOTH}'
    text = sweep("halo", "8MiB", options) + sweep("particles", "4MiB", options)
    records = run(tmp_path, text, "--fault", "skip:gpu0>gpu1", status=1)
    assert {one["status"] for one in records} == {"corrupt"}


def test_peers_without_access_fall_back_and_say_so(tmp_path: Path) -> None:
    """Catches one rank that opens its neighbour while the other stages, and a fall-back that is silent."""
    text = sweep("halo", "1MiB", 'transport = ["copies", "kernels"]')
    records = run(tmp_path, text, "--fault", "false-peer:gpu0>gpu1")
    assert {(one["status"], one["engine"]) for one in records} == {("measured", "mpi")}
    assert all("fell back to mpi-staged: rank 0: peer access" in one["engine_evidence"] for one in records)
    assert all("no-peer-access" in [warning["id"] for warning in one["warnings"]] for one in records)
    shown = byteways(tmp_path, "show", "R", "--all", COLUMNS=WIDE).stdout
    assert "copies fell back to mpi-staged: rank 0:" in shown
    assert "kernels fell back to mpi-staged: rank 0:" in shown


@pytest.mark.parametrize("call", [200, 210])
def test_a_rank_that_is_lost_in_the_middle_is_named(tmp_path: Path, call: int) -> None:
    """Catches ranks that wait for ever for the halo of one that has died, in a message or while all agree."""
    text = sweep("halo", "1MiB", 'transport = "mpi"')
    (record,) = run(tmp_path, text, "--fault", f"rank-dies:2:call={call}", status=1)
    assert record["status"] in ("lost", "failed") and "rank 2" in record["reason"]


@pytest.mark.parametrize(
    "ranks, options, neighbours", [(3, "fields = 1", 1), (4, "fields = 2", 2), (4, "columns = 4", 1)]
)
def test_neighbours_are_those_of_the_grid(tmp_path: Path, ranks: int, options: str, neighbours: int) -> None:
    """Catches ranks that exchange with others than the grid's, or around its edges: rank 0 is a corner."""
    records = run(tmp_path, sweep("halo", "8KiB", options), ranks=ranks)
    assert {one["status"] for one in records} == {"measured"} and all(one["verified"] for one in records)
    assert {one["engine_evidence"].partition(" ")[0] for one in records} == {str(neighbours)}


def test_memory_of_hosts(tmp_path: Path) -> None:
    """Catches patterns that need a GPU, and a rank whose GPU is not found where it owns no buffer."""
    on_cpu = {"source": "cpu*:pageable", "destination": "cpu*:pageable", "executor": "cpu*"}
    text = sweep("halo", "64KiB", BOTH, name="a", **on_cpu) + sweep(
        "particles", "64KiB", BOTH, name="b", **on_cpu
    )
    registered = {"source": "cpu*:registered", "destination": "cpu*:registered"}
    text += sweep("halo", "1MiB", 'transport = ["mpi", "xccl"]', name="c", **registered)
    managed = {"source": "gpu*:managed", "destination": "gpu*:managed"}
    text += sweep("particles", "1MiB", 'transport = "mpi"', name="d", **managed)
    records = run(tmp_path, text, machine="elcap-mi300a", ranks=2)
    assert {one["status"] for one in records} == {"measured"} and all(one["verified"] for one in records)
    assert {(one["sweep"], one["executor"]) for one in records} == {
        *(("a", "cpu0"), ("b", "cpu0"), ("c", "gpu0"), ("d", "gpu0"))
    }


def test_what_cannot_be_has_a_reason(tmp_path: Path) -> None:
    """Catches a grid, a size or a transport that is refused without saying why, or not at all."""
    expected = {
        "columns": ("halo", "1MiB", "columns = 3", {}, "4 ranks do not fill rows of 3"),
        "rows": (
            "halo",
            "1MiB",
            "width_cells = 3",
            {},
            "1048576 bytes of a field are no whole rows of 3 cells",
        ),
        "depth": ("halo", "8KiB", "width_cells = 512, depth_cells = 3", {}, "has no halo of 3 cells"),
        "room": ("halo", "64GiB", 'transport = "mpi"', {}, "its buffers need"),
        "stage": (
            "halo",
            "1MiB",
            'transport = "mpi-staged"',
            {"destination": "cpu*:pinned"},
            "nothing to stage",
        ),
        "handle": ("halo", "1MiB", 'transport = "kernels"', {"destination": "cpu*:pinned"}, "by IPC handles"),
        "cpu": ("halo", "1MiB", 'transport = "xccl"', {"executor": "cpu*"}, "transport xccl needs a GPU"),
        "core": (
            "particles",
            "1MiB",
            'packing = "original"',
            {},
            "a core packs: cpu0 cannot address device memory of gpu0",
        ),
        "new": (
            "particles",
            "1MiB",
            'packing = "original", transport = "copies"',
            {"source": "gpu*:managed"},
            "a core packs into new memory, which copies does not send",
        ),
        "particle": ("particles", "1000B", 'transport = "mpi"', {}, "particles of 128 bytes"),
    }
    text = "".join(
        sweep(interface, size, options, name=name, **more)
        for name, (interface, size, options, more, _) in expected.items()
    )
    fine = sweep("halo", "1MiB", 'transport = "mpi"', name="fine")  # a run of nothing would be refused
    records = {one["sweep"]: one for one in run(tmp_path, text + fine)}
    assert records.pop("fine")["status"] == "measured"
    assert {one["status"] for one in records.values()} == {"skipped"}
    assert [name for name, (*_, reason) in expected.items() if reason not in records[name]["reason"]] == []


def test_a_device_computes_and_no_end(tmp_path: Path) -> None:
    """Catches an executor that no rank has, taken for a default."""
    (tmp_path / "toy.toml").write_text(HEAD.format(1) + sweep("halo", "1MiB", executor="source"))
    done = byteways(tmp_path, "run", "toy.toml", "--machine", "h200-x4", "--ranks", "4")
    assert done.returncode == 2
    assert "a device of each rank computes" in done.stderr and 'executor = "gpu*"' in done.stderr
