"""validation/predicted_gains.py: which pairs count, and what the exit status says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import gain_pairs
import predicted_gains
from byteways.answers.results.summary import Part
from predicted_gains import Pair, gain, left_out, missing, row, to_json, verdict

KNOWN = Part(0.5, 0.45, 0.55)


def pair(predicted: float | None, realised: Part | None = KNOWN, reach: float = 0.2) -> Pair:
    expected = None if predicted is None else Part(predicted, predicted - reach, predicted + reach)
    return Pair("halo", "BTL=tcp", expected, realised)


@pytest.mark.parametrize(
    ("one", "counts", "within"),
    [
        (pair(0.42), True, True),
        (pair(0.65), True, False),
        (pair(0.42, Part(0.5, 0.3, 0.6)), False, True),  # the realised gain is not known to 10 points
        (pair(0.42, reach=0.3), False, True),  # nor the predicted one to 25
        (pair(0.42, None), False, None),
        (pair(None), False, None),
    ],
)
def test_pairs_that_count(one: Pair, counts: bool, within: bool | None) -> None:
    """Catches a noisy gain that decides, and a missing prediction that counts as a good one."""
    assert (one.counts, one.within) == (counts, within)
    assert to_json(one)["within"] == within and row(one).startswith("halo")


def test_the_share_decides_the_status() -> None:
    """Catches a share of all pairs, and success without any."""
    assert verdict([pair(0.5)] * 4 + [pair(0.9)])[1] == 0
    assert verdict([pair(0.5)] * 3 + [pair(0.9)])[1] == 1
    assert verdict([pair(None), pair(0.5, None)])[1] == 1
    assert verdict([pair(0.5), Pair("halo", "x", None, None, "it failed", failed=True)])[1] == 1


def test_a_ratio_is_a_gain() -> None:
    """Catches ends of an interval that change places."""
    assert gain({"value": 0.6, "low": 0.5, "high": 0.8}) == Part(0.4, pytest.approx(0.2), 0.5)
    assert gain(None) is None


def test_there_are_enough_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches programs that are lost, two of one name, and GPUs that are needed and not asked for."""
    built = {(name, mpi): Path("/", name) for name in gain_pairs.BUILT for mpi in ("mpich", "openmpi")}
    assert all((gain_pairs.EXAMPLES / f"{name}.c").is_file() for name in gain_pairs.BUILT)
    found = [*gain_pairs.programs(built)]
    assert len({one.name for one in found}) == len(found)
    assert sum(len(one.changes) for one in found if not one.gpus) >= 20
    assert {one.gpus for one in found if one.uses_torch} == {1, 2}
    monkeypatch.setattr(predicted_gains, "_gpus", lambda: 1)
    [ranks] = [one for one in found if one.gpus == 2]
    assert missing(ranks)
    assert [one.change for one in left_out(ranks, "x")] == ["NCCL_PROTO=LL", "NCCL_PROTO=Simple"]
    assert not missing(found[0])
