"""Random access through the whole program, on simulated machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.called import byteways
from tests.cli.test_loaded_runs import ran, shown


@pytest.mark.parametrize("machine", ["h200-x4", "elcap-mi300a"])
def test_small_accesses_waste_what_transactions_move(machine: str, tmp_path: Path) -> None:
    """Catches a rate of accesses that grows as accesses shrink below a transaction, one that stays where they
    are larger, updates that count half, and a topic that mixes places.
    """
    filters = ("sweep=gpu-access-sizes", "sweep=gpu-updates", "sweep=gpus-at-once")
    records = ran(tmp_path / "run", "random-access", machine, *filters)
    assert {record["status"] for record in records} == {"measured"}
    assert all(record["verified"] for record in records)
    [topic] = [topic for topic in shown(tmp_path / "run")["topics"] if topic["anchor"] == "random-access"]
    [table] = topic["tables"]
    rates: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
    for place, interface, _, access, _, gb, _, accesses in table["rows"]:
        both = float(gb.rstrip("*")), float(accesses.rstrip("*"))
        rates.setdefault((place, interface), {})[int(access)] = both
    own = rates["gpu0, own device memory", "random-load"] if machine == "h200-x4" else None
    assert own is None or set(own) == {4, 8, 16, 32, 64, 128}
    assert any(place.startswith("gpu0 and gpu") for place, _ in rates)
    for (_, interface), by_access in rates.items():
        counted = 2 if interface == "random-update" else 1
        for access, (gb_per_s, accesses_per_s) in by_access.items():
            assert gb_per_s == pytest.approx(counted * access * accesses_per_s, rel=0.06)  # both are rounded
        if 128 in by_access:
            assert by_access[8][1] == pytest.approx(by_access[16][1], rel=0.1)
            assert by_access[64][1] == pytest.approx(2 * by_access[128][1], rel=0.1)


@pytest.mark.parametrize(
    ("interface", "options", "size", "words"),
    [
        ("random-load", "access_bytes = 24", "1MiB", "access_bytes must be a power of two, not 24"),
        (
            "random-load",
            "access_bytes = 2",
            "1MiB",
            "from 4 to 128 (a cache line), not 2",
        ),
        ("random-update", "access_bytes = 4", "1MiB", "updates are of whole words of 8 bytes, not of 4"),
        ("random-store", "access_bytes = 4", "32GiB", "an operation has at most 2^32 accesses"),
        ("random-store", "", "3MiB", "random-store needs a power of two of at least 1024 bytes"),
    ],
)
def test_mistakes_are_told(interface: str, options: str, size: str, words: str, tmp_path: Path) -> None:
    """Catches accesses that no machine can make, refused only where they run, or not at all."""
    suite = tmp_path / "mine.toml"
    suite.write_text(
        f'name = "mine"\ntitle = "Mine"\n[[sweep]]\nname = "s"\ninterface = "{interface}"\n'
        f'buffer = "cpu*:pageable"\nexecutor = "cpu*"\nsize = "{size}"\noptions = {{ {options} }}\n'
    )
    done = byteways(tmp_path, "run", str(suite), "--dry-run")
    assert done.returncode == 2
    assert "error: " in done.stderr and words in done.stderr
