"""Lists of blocks by each method of the copy library, compared with Python's (validation/fuzz_copies.py)."""

from __future__ import annotations

import pytest

from byteways.measuring.shared.simulator import simulator_path
from validation import fuzz_copies

ROWS = [(vendor, method) for vendor in ("cuda", "hip") for method in fuzz_copies.methods(vendor)]


@pytest.fixture(autouse=True)
def _simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA", "HIP"):
        monkeypatch.setenv(f"BYTEWAYS_LIB{name}", simulator_path())


@pytest.mark.parametrize(("vendor", "method"), ROWS)
def test_each_method_copies_and_nothing_differs(vendor: str, method: str) -> None:
    """Catches a row of which no list is by its method, and lists that the library copies wrongly."""
    ends = fuzz_copies.directions(vendor, method)[0]
    batches = [
        fuzz_copies.Batch(vendor, method, ends, 40, 0),
        fuzz_copies.Batch(vendor, method, ends, 1, 0, large=True),
    ]
    found = [batch.run(3) for batch in batches]
    assert [one["differences"] for one in found] == [[], []]
    assert all(one["copied"] for one in found) and found[0]["refused"] and found[0]["lists"] == 40
