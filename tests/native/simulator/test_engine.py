"""The discrete-event engine and max-min fair sharing, on toys whose answer is known exactly."""

from __future__ import annotations

import pytest

from .conftest import Play

GIB = 1 << 30
#: One GiB over 50 GB/s, in picoseconds.
GIB_PS = GIB * 1e12 / 50e9


@pytest.mark.parametrize(
    ("toy", "rates"),
    [
        ("narrowest-link", [36]),
        ("three-links", [20, 10, 20]),
        ("weights", [30, 30]),  # one takes the link once, one twice for each byte
        ("caps", [10, 80]),
        ("both-directions", [40, 40]),  # 50 each way, 80 together
        ("nothing-left", [0, 50]),
        ("waits", [40, 5, 10]),  # half of the resource is used: 10 / (1 + 8 x 0.5^3); of the other nothing
    ],
)
def test_shares(play: Play, toy: str, rates: list[float]) -> None:
    """Would catch a link that gives more or less than it has, or gives it to the wrong flow."""
    assert [float(value) for value in play(toy)["rates"][0]] == pytest.approx(rates, rel=1e-9)


def test_a_switch_blocks_what_many_ports_send_to_many(play: Play) -> None:
    """Catches a loss where no packet waits behind one for another port, or two flows counted as two ports."""
    pairs, fan_out, fan_in, crossed = play("switch")["rates"]
    assert [float(rate) for rate in (*pairs, *fan_out)] == pytest.approx([50, 50, 25, 25])
    assert [float(rate) for rate in fan_in] == pytest.approx([50 / 3] * 3)
    assert [float(rate) for rate in crossed] == pytest.approx([25 / 1.25] * 4)


def test_shares_are_max_min_fair(play: Play) -> None:
    """Catches, in random cases, an overloaded resource and a flow whose rate could grow at no flow's
    expense.
    """
    assert play("fairness") == {"cases": [["2000"]], "beyond": [["0"]], "unfair": [["0"]]}


@pytest.mark.parametrize(
    ("toy", "ends"),
    [
        ("two-flows", [2 * GIB_PS, 2 * GIB_PS]),
        # 10 ms alone, then 20 ms for the other half of it at half the rate; the rest of the second alone.
        ("late-flow", [30_000_000_000, 40_000_000_000]),
        ("pool", [1000, 1000, 2000, 2000, 3000]),
        ("processors", [1000, 6000, 7000, 3000]),
        ("room", [1000, 1000, 2000, 2000, 3000]),
        # 100 us at its cap beside 40 GB/s, 40 us at half of the link, 20 us alone, and fixed times between.
        ("stages", [160_001_000, 139_996_000]),
        ("long-time", [50 * 86400e12]),
    ],
)
def test_ends(play: Play, toy: str, ends: list[float]) -> None:
    """Would catch rates that are not found anew when a flow comes or goes, and tokens that are not kept."""
    assert [int(end) for end in play(toy)["ends"][0]] == [round(end) for end in ends]


def test_latch(play: Play) -> None:
    """Would catch an engine that looks at the word itself while it replays the past."""
    told = play("latch")
    assert told == {"unseen": [["-1"]], "seen": [["7000"]]}
