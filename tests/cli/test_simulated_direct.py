"""Direct collectives between ranks of simulated machines: exact in every launch mode, and what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.called import WIDE, byteways, measured

MIB = 2**20
PATTERNS = ["allreduce", "allgather", "reduce-scatter", "alltoall"]
ENDS = 'interface = "direct"\nsource = "gpu*:device"\ndestination = "gpu*:device"\n'
HEAD = 'name = "toy"\ntitle = "Direct collectives"\nrounds = 1\nprecision = 0.1\ncase_budget_s = 0.005\n'
MODES = f"""{HEAD}
[[sweep]]
name = "modes"
{ENDS}cache = "warm"
pattern = {PATTERNS}
size = ["8B", "1MiB"]
options = {{ launch = "thread" }}
[[sweep]]
name = "launches"
{ENDS}cache = "warm"
pattern = "allreduce"
size = "1MiB"
options = {{ launch = ["process", "single"] }}
[[sweep]]
name = "submitted"
{ENDS}cache = "warm"
pattern = {PATTERNS[:3]}
size = "4KiB"
options = {{ submit = ["graph", "persistent"], in_place = "yes", launch = "thread" }}
[[sweep]]
name = "copies"
{ENDS}cache = "warm"
pattern = ["allgather", "alltoall"]
size = "16MiB"
options = {{ mechanism = "copy", launch = "thread", submit = ["calls", "graph"] }}
[[sweep]]
name = "copies-by-one"
{ENDS}cache = "warm"
pattern = "allgather"
size = "16MiB"
options = {{ mechanism = "copy", launch = "single" }}
"""
ALGORITHMS = f"""{HEAD}
[[sweep]]
name = "algorithms"
{ENDS}cache = "cold"
pattern = "allreduce"
size = ["4B", "24B", "16MiB"]
options = {{ launch = "thread", algorithm = ["one-shot", "two-shot"], protocol = ["auto", "LL", "simple"] }}
"""
SMALL = f"""{HEAD}
[[sweep]]
name = "small"
{ENDS}cache = "warm"
pattern = {PATTERNS[:2]}
size = ["32KiB", "16MiB"]
options = {{ launch = "thread" }}
"""


def all_verified(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    wrong = [one["reason"] for one in records if one["status"] != "measured"]
    assert not wrong, wrong
    assert all(one["verified"] for one in records)
    return records


def test_every_mode_is_exact(tmp_path: Path) -> None:
    """Catches a rank that meets another operation of its peers, and epochs that a graph repeats."""
    records = all_verified(measured(tmp_path, MODES, "--machine", "h200-x4", "--ranks", "4"))
    said = {one["engine_evidence"].partition(", among ")[0].rpartition(": ")[2] for one in records}
    assert {"allreduce, one-shot, protocol LL", "allreduce, two-shot, protocol Simple"} <= said
    for launch, words in (
        ("process", "one process each"),
        ("thread", "one thread each"),
        ("single", "one thread for all"),
    ):
        chosen = [one for one in records if one["options"].get("launch", "process") == launch]
        assert chosen and all(words in one["engine_evidence"] for one in chosen)
    by_copies = [one for one in records if one["options"].get("mechanism") == "copy"]
    assert all("two barriers" in one["engine_evidence"] for one in by_copies)
    times = {
        one["options"]["submit"]: one["time_ns"]["median"]
        for one in records
        if one["sweep"] == "submitted" and (one["pattern"], one["size_bytes"]) == ("allreduce", 4096)
    }
    assert times["persistent"] < times["graph"]  # no launches


def test_algorithms_and_protocols_of_allreduce(tmp_path: Path) -> None:
    """Catches an option that changes nothing, tails of vectors, and a reason that is missing."""
    records = measured(tmp_path, ALGORITHMS, "--machine", "h200-x4")
    skipped = {one["reason"] for one in records if one["status"] == "skipped"}
    assert skipped == {
        "two-shot has protocol simple alone",
        "protocol LL takes up to 512 KiB a message, not 16 MiB",
    }
    for one in all_verified([one for one in records if one["status"] != "skipped"]):
        assert f"{one['options']['algorithm']}, protocol" in one["engine_evidence"]
    large = {
        one["options"]["algorithm"]: one["time_ns"]["median"]
        for one in records
        if one["status"] == "measured" and one["size_bytes"] == 16 * MIB
    }
    assert large["two-shot"] < 0.8 * large["one-shot"]  # it moves half as many bytes between four GPUs


def test_a_flag_that_never_comes_is_named(tmp_path: Path) -> None:
    """Catches a rank that waits for ever, and a message that leaves open for whom."""
    words = ("--machine", "h200-x4", "--ranks", "2", "--fault", "hang:gpu0>gpu1")
    records = measured(tmp_path, SMALL, *words, "--only", "size=32KiB", status=1)
    assert {one["status"] for one in records} == {"failed"}
    for one in records:
        assert one["reason"].startswith(
            "direct: no flag (rank 0 waited 10 s for the flag of rank 1 at a word"
        )
        assert "gave up, and released its GPU" in one["reason"]


def test_without_peer_access_ranks_of_one_process_exchange_through_host_memory(tmp_path: Path) -> None:
    """Catches GPUs that store to memory they have no access to, and a fallback that nobody hears of."""
    sweep = f"""[[sweep]]
name = "ways"
{ENDS}cache = "warm"
pattern = "allreduce"
size = ["4KiB", "1MiB"]
options = {{ launch = ["process", "single"], algorithm = ["one-shot", "two-shot"] }}
"""
    words = ("--machine", "h200-x4", "--ranks", "2", "--fault", "false-peer:gpu0>gpu1")
    records = measured(tmp_path, HEAD + sweep, *words)
    skipped = {
        (one["options"].get("launch"), one["reason"].rpartition("did not arrive")[2])
        for one in records
        if one["status"] == "skipped"
    }
    hint = " (ranks of one process exchange through host memory: launch = thread)"
    assert skipped == {(None, hint), ("single", ", which algorithm = two-shot needs")}
    for one in all_verified([one for one in records if one["status"] != "skipped"]):
        assert "through host memory: gpu0 and gpu1 have no peer access" in one["engine_evidence"]
        (warning,) = (each for each in one["warnings"] if each["id"] == "no-peer-access")
        assert "gpu0 and gpu1" in warning["observed"]


def test_a_wrong_word_is_found(tmp_path: Path) -> None:
    """Catches a verification that looks at this rank's own words alone."""
    words = ("--machine", "h200-x4", "--ranks", "2", "--fault", "corrupt:gpu0>gpu1:word=7")
    assert {one["status"] for one in measured(tmp_path, SMALL, *words, status=1)} == {"corrupt"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ('{ algorithm = "two-shot", launch = "thread" }', "two-shot is an algorithm of allreduce"),
        (
            '{ mechanism = "copy", submit = "persistent" }',
            "copies are host calls and cannot be part of a kernel",
        ),
        ('{ submit = "batch" }', "a batched call takes copies"),
        ('{ mechanism = "copy", protocol = "LL" }', "copies have no protocol"),
    ],
)
def test_what_never_combines_is_refused(tmp_path: Path, options: str, reason: str) -> None:
    """Catches an option that is ignored without a word."""
    suite = f'{HEAD}[[sweep]]\nname = "a"\n{ENDS}pattern = "allgather"\nsize = "1MiB"\noptions = {options}\n'
    (tmp_path / "toy.toml").write_text(suite)
    done = byteways(tmp_path, "run", "toy.toml", "--machine", "h200-x4", "--dry-run")
    assert done.returncode == 2 and reason in done.stderr, done.stderr


def test_other_interfaces_have_no_persistent_kernel(tmp_path: Path) -> None:
    """Catches a word that only direct collectives know, accepted for a library's."""
    ends = ENDS.replace("direct", "xccl")
    options = '{ submit = "persistent" }'
    suite = f'{HEAD}[[sweep]]\nname = "a"\n{ends}pattern = "allgather"\nsize = "1MiB"\noptions = {options}\n'
    (tmp_path / "toy.toml").write_text(suite)
    done = byteways(tmp_path, "run", "toy.toml", "--machine", "h200-x4", "--dry-run")
    assert done.returncode == 2 and "a persistent kernel carries out direct collectives" in done.stderr


def test_libraries_are_compared_in_equal_modes(tmp_path: Path) -> None:
    """Catches a graph beside calls, and a leader where the difference is not significant."""
    modes = '{ launch = ["thread", "single"] }'
    sweep = '[[sweep]]\nname = "{0}"\n{1}pattern = "allreduce"\nsize = ["8B", "16MiB"]\ncache = "warm"\n'
    suite = HEAD.replace("rounds = 1", "rounds = 3") + "".join(
        sweep.format(name, ENDS.replace("direct", name)) + f"options = {modes}\n"
        for name in ("direct", "xccl")
    )
    all_verified(measured(tmp_path, suite, "--machine", "h200-x4", "--ranks", "2"))
    shown = byteways(tmp_path, "show", "R", "--all", COLUMNS=WIDE).stdout
    tables = [text for text in shown.split("Collectives: ") if "time by library" in text]
    assert len(tables) == 2
    for text, launch in zip(tables, ("one thread each", "one thread for all"), strict=True):
        title, headings, *_ = text.splitlines()
        assert launch in title and headings.split() == ["size", "NCCL", "direct", "fastest", "margin"]
