"""A planted straggler, a rank that returns late from each MPI call, is named."""

from __future__ import annotations

from pathlib import Path

from tests.cli.called import WIDE, byteways, records_of

SUITE = """name = "toy"
title = "Allreduces that begin together"
rounds = 1
case_budget_s = 0.05
[[sweep]]
name = "isolated"
interface = "mpi"
pattern = "allreduce"
source = "cpu*:pageable"
destination = "cpu*:pageable"
cache = "warm"
size = ["8B", "1KiB"]
options = { timing = "isolated" }
"""


def test_a_planted_straggler_is_named(tmp_path: Path) -> None:
    """Catches a time of all ranks that one rank made, unseen, and a rank that is blamed for nothing."""
    (tmp_path / "toy.toml").write_text(SUITE)
    words = ("run", "toy.toml", "--machine", "elcap-mi300a", "--ranks", "4", "--no-report")
    late = byteways(tmp_path, *words, "--out", "LATE", "--fault", "rank-late:2:ns=40000", COLUMNS=WIDE)
    well = byteways(tmp_path, *words, "--out", "WELL", COLUMNS=WIDE)
    assert (late.returncode, well.returncode) == (0, 0), late.stderr + well.stderr
    assert "Rank 2 (cpu2) begins up to 38.6 µs after the first rank, in 2 of 2 simulations" in late.stdout
    assert "straggler" not in well.stdout and "after the first rank" not in well.stdout
    for name, stragglers in (("LATE", 1), ("WELL", 0)):
        for record in records_of(tmp_path / name):
            named = [one["fields"] for one in record["warnings"] if one["id"] == "straggler"]
            assert len(named) == stragglers, record["ranks"]
            assert all(fields["rank"] == 2 and 30_000 < fields["late_ns"] < 40_000 for fields in named)
            assert [each["rank"] for each in record["ranks"]] == [0, 1, 2, 3]
