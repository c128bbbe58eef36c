"""Each decision of a measurement beside a second rank whose answers are scripted, in virtual time.

What the other rank says has to decide: a decision that this rank takes alone fails its test.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from byteways import _core
from tests.native import simulated as toy

KIB, MIB = 1 << 10, 1 << 20

#: Answers of the other rank: by question, from this rank's values and how often it was asked before.
Script = dict[str, Callable[[list[float], int], list[float]]]


class Peer(_core.Team):
    """Rank 0 of two. The other one says what this one says, or what the script has for it."""

    def __init__(
        self, script: Script, fails_at: str = "", texts: dict[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__()
        self.script = script
        self.fails_at = fails_at
        self.texts = texts or {}
        self.asked: list[str] = []

    def rank(self) -> int:
        return 0

    def size(self) -> int:
        return 2

    def exchange(self, mine: _core.Vote) -> list[_core.Vote]:
        other = _core.Vote(mine)
        question, times = mine.question, self.asked.count(mine.question)
        self.asked.append(question)
        if question in self.script:
            other.values = self.script[question](mine.values, times)
        texts = self.texts.get(question, ())
        other.text = texts[times] if times < len(texts) else ""
        if question == self.fails_at:
            other.failed = True
            other.kind, other.call, other.code = "unsupported", "call", "CODE"
            other.question, other.text = "its phase", "its cause"
        return [mine, other]


def says(value: float) -> Callable[[list[float], int], list[float]]:
    """The same answer every time."""
    return lambda mine, times: [value] * len(mine)


def at(number: int, value: float) -> Callable[[list[float], int], list[float]]:
    """An answer of its own when asked for the `number`-th time, from 0 on."""
    return lambda mine, times: [value] * len(mine) if times == number else mine


def times(factor: float) -> Callable[[list[float], int], list[float]]:
    """As many times this rank's values."""
    return lambda mine, _: [factor * value for value in mine]


#: Votes of agree_any(): 1 for yes. Of agree_all() the votes are turned round: 1 for no.
YES, NO = says(1), says(1)


def measure(
    script: Script | None = None, flows: int = 1, size: int = 256 * KIB, cold: bool = True, **how: Any
) -> dict[str, Any]:
    """What a copy to a GPU, or several on queues of their own, comes to beside the scripted rank."""
    peer_how = {key: how.pop(key) for key in ("fails_at", "texts") if key in how}

    def scene(session: _core.Session) -> dict[str, Any]:
        peer = Peer(script or {}, **peer_how)
        cases = [
            toy.flow(session, ("cpu0", "pinned"), ("gpu0", "device"), "gpu0", "copy", size, cold=cold)
            for _ in range(flows)
        ]
        options = toy.options(**{"budget_s": 0.2, **how})
        try:
            measured = session.measure(cases, options, peer)
        except _core.Error as failure:
            return {"failure": str(failure), "unsupported": isinstance(failure, _core.UnsupportedError)}
        return {
            "asked": peer.asked,
            "batch": measured.batch,
            "slope": measured.slope,
            "gated": measured.gated,
            "samples": len(measured.samples_ns),
            "time_ns": measured.time_ns.median,
            "host_ns": measured.host_ns,
            "discarded": [each.reason for each in measured.discarded],
            "verified": measured.verified,
            "every_sample": measured.verified_every_sample,
            "found": measured.flows[0].verification.got,
            "timed_by": measured.timed_by,
            "alignment_ns": measured.clock_alignment_ns,
            "resolution_ns": measured.timer_resolution_ns,
            "window_ns": measured.window_ns,
            "end_to_end_ns": measured.end_to_end_ns,
            "warnings": [each.id for each in measured.warnings],
        }

    result: dict[str, Any] = toy.play(toy.nvidia(), scene)
    return result


@pytest.fixture(scope="module")
def alone() -> dict[str, Any]:
    """Beside a rank that finds what this one finds."""
    return measure()


@pytest.fixture(scope="module")
def two_flows() -> dict[str, Any]:
    return measure(flows=2)


def test_a_peer_of_one_mind_changes_nothing(alone: dict[str, Any], two_flows: dict[str, Any]) -> None:
    """Catches a script that decides where it should not, and the premises of the tests below."""
    for result, window in ((alone, 0), (two_flows, 1)):
        assert result["gated"] and result["verified"] and result["every_sample"]
        assert result["timed_by"] == "device-events"
        assert result["discarded"] == [] and (result["window_ns"] > 0) == bool(window)
        assert result["samples"] > 10 and result["batch"] > 8


def test_the_batch_grows_by_the_slowest_rank(alone: dict[str, Any]) -> None:
    """Catches a batch that follows from this rank's times, room or timer."""
    assert measure({"time of a batch": says(1e9)})["batch"] == 1
    assert measure({"room for a batch": says(-5)})["batch"] == 5
    assert measure({"length of a batch": times(4)})["batch"] > 2 * alone["batch"]
    assert measure({"tick of the timer": times(100)})["batch"] > 2 * alone["batch"]
    assert measure({"least batch": says(300)})["batch"] >= 300


def test_ranks_confirm_a_batch_together() -> None:
    """Catches a rank on a GPU that goes on where the host of the other one repeats a batch."""
    disturbed = {"time of a batch": at(0, 1e7)}
    assert measure(disturbed)["batch"] == 1  # nothing else runs in virtual time
    assert measure({**disturbed, "whether others may disturb a batch": YES})["batch"] > 8


@pytest.mark.parametrize("flows", [1, 2])
def test_ranks_start_a_batch_together(flows: int) -> None:
    """Catches a gate that opens, or a call that is made, while another rank is still enqueueing."""
    result = measure(flows=flows)
    assert result["gated"] and result["asked"].count("start of a batch") > result["samples"]
    awaited = measure(gate=False)
    assert not awaited["gated"] and awaited["asked"].count("start of a batch") > awaited["samples"]


def test_a_slope_needs_all_ranks() -> None:
    """Catches samples that one rank takes of one batch and another of two."""
    assert measure(size=16 * KIB)["slope"]
    assert not measure({"slope": NO}, size=16 * KIB)["slope"]


def test_warm_up_ends_for_all(alone: dict[str, Any]) -> None:
    """Catches a rank that goes on, or stops, as it finds its own times steady or its own time up."""
    question = "time left to warm up"
    assert measure({question: NO})["asked"].count(question) == 1
    uneven = measure({"time of a batch": lambda mine, asked: [mine[0] * (1 + asked % 2)]})
    assert uneven["asked"].count(question) > alone["asked"].count(question)


@pytest.mark.parametrize(
    "question", ["calls that do the work", "calls that block", "calls that move the bytes"]
)
def test_calls_that_block_one_rank_are_timed_by_all_hosts(question: str) -> None:
    """Catches a rank that holds its queue behind a gate while another waits in a call."""
    result = measure({question: YES})
    assert result["timed_by"] == "host-clock" and not result["gated"]


def test_ranks_learn_from_as_many_operations(alone: dict[str, Any]) -> None:
    """Catches ranks that learn from different numbers of operations, and know different times of one."""
    question = "number of operations to learn from"
    learned = "operations to learn from"
    assert alone["asked"].count(learned) == 3
    assert measure({question: says(-1)})["asked"].count(learned) == 2
    assert measure({"time of an operation": says(1e9)}, flows=2)["batch"] == 4  # the least that there is


def test_the_gate_is_left_out_where_it_slows_one_rank() -> None:
    """Catches a rank that stops holding its queue, or takes trials, alone."""

    def held_is_slower(mine: list[float], asked: int) -> list[float]:
        return [2 * mine[0]] if asked in range(grown, grown + 6, 2) else mine

    first = measure()["asked"]
    grown = first[: first.index("trials without the gate")].count("time of a batch")
    result = measure({"time of a batch": held_is_slower})
    assert not result["gated"] and "gate-slows" in result["warnings"]
    # Copies of 16 MiB are too long for this rank to try it; the other one's are not.
    question, size = "time of a batch", 16 * MIB
    few = measure(size=size)["asked"].count(question)
    assert measure({"trials without the gate": YES}, size=size)["asked"].count(question) == few + 6


def test_a_gate_that_one_watchdog_opened_costs_all_a_sample() -> None:
    """Catches a rank that keeps a sample which another one discards, and one that goes on behind its gate."""
    question = "gate opened by its watchdog"
    assert measure({question: YES})["gated"] is False
    for flows in (1, 2):
        asked = measure(flows=flows)["asked"]
        number = asked[: -asked[::-1].index("time that is spent")].count(question) - 1
        result = measure({question: at(number, 1)}, flows=flows, max_samples=20)
        assert result["discarded"] in ([], ["gate-opened"]) and result["gated"]
    once = measure({question: at(0, 1)}, batch=8)
    assert once["gated"]


def test_a_sample_that_one_rank_discards_is_discarded() -> None:
    """Catches series that differ by a sample."""
    doubts: Script = {"times of a batch": lambda mine, asked: [*mine[:4], float(asked == 3)]}
    result = measure(doubts, texts={"sample to discard": ["clocks-disagree"]}, max_samples=60)
    assert result["discarded"] == ["clocks-disagree"]


def test_samples_are_those_of_the_slowest_rank(alone: dict[str, Any], two_flows: dict[str, Any]) -> None:
    """Catches a rank that reports its own times where another took longer."""
    result = measure({"times of a batch": times(3)})
    assert result["time_ns"] == pytest.approx(3 * alone["time_ns"], rel=0.01)
    assert result["host_ns"] == pytest.approx(3 * alone["host_ns"], rel=0.2)
    result = measure({"time of a sample": times(2)}, flows=2)
    assert result["time_ns"] == pytest.approx(2 * two_flows["time_ns"], rel=0.01)
    result = measure({"times of a run": times(4)}, flows=2)
    assert result["host_ns"] == pytest.approx(4 * two_flows["host_ns"], rel=0.2)


def test_every_sample_is_verified_on_all_ranks_or_none() -> None:
    """Catches a rank that refills its buffers between samples while another goes on."""
    assert measure({"verification of every sample": NO})["every_sample"] is False


@pytest.mark.parametrize("number", [0, 5])
def test_what_is_wrong_on_one_rank_is_wrong(number: int) -> None:
    """Catches a rank that goes on after another found wrong words, and a record that does not say which."""
    found: Script = {  # in the warm-up, or in the so many-th sample
        0: {"words as expected": at(0, 1)},
        5: {"time that is spent": lambda mine, asked: [*mine[:2], float(asked == 4)]},
    }[number]
    result = measure({**found, "verification of a flow": says(1)}, texts={"finding": ["8 1 64 7 42"]})
    assert not result["verified"] and result["samples"] == number
    assert result["found"] == 42


def test_sampling_stops_for_all(alone: dict[str, Any]) -> None:
    """Catches a rank that takes one sample more than another."""
    time_is_up = lambda mine, asked: [1.0, 1.0, mine[2]] if asked == 7 else mine  # noqa: E731
    assert measure({"time that is spent": time_is_up})["samples"] == 8
    # The other rank's samples lie too close together.
    too_close = lambda mine, _: [mine[0], 1.0, mine[2]]  # noqa: E731
    assert measure({"time that is spent": too_close}, max_samples=150)["samples"] > alone["samples"]
    assert "noisy" not in alone["warnings"]
    coarse = measure({"step of the timer in a sample": says(1e6)})
    assert "quantised" in coarse["warnings"] or coarse["samples"] != alone["samples"]


def test_the_batch_is_doubled_on_all_ranks_or_none() -> None:
    """Catches a rank that runs twice the batch alone."""
    for flows, question, room in (
        (1, "times of a batch", "room for twice the batch"),
        (2, "time of a sample", "room for twice the operations"),
    ):
        # Ten samples slow, ten fast, and so on: they depend on each other.
        script: Script = {question: lambda mine, asked: [value * (1 + asked // 10 % 2) for value in mine]}
        how: dict[str, Any] = {"flows": flows, "max_samples": 80, "budget_s": 2.0}
        doubled = measure(script, **how)
        late = measure({**script, "time for twice the batch": NO}, **how)
        full = measure({**script, room: says(-1) if flows == 1 else NO}, **how)
        assert doubled["batch"] == 2 * late["batch"] == 2 * full["batch"]


def test_the_window_is_that_of_all_ranks(two_flows: dict[str, Any]) -> None:
    """Catches flows whose counts, marks or warm-up one rank chooses by its own clock."""
    assert measure({"operations of a flow": says(-4)}, flows=2)["batch"] == 4
    later = measure({"marks of a flow": lambda mine, _: [value + 1e6 for value in mine]}, flows=2)
    assert later["time_ns"] == pytest.approx(two_flows["time_ns"], rel=0.05)  # all marks move, rates do not
    slower = measure(
        {"marks of a flow": lambda mine, _: [value + 1e5 * k for k, value in enumerate(mine)]}, flows=2
    )
    assert slower["time_ns"] > 1.1 * two_flows["time_ns"]
    # The earliest of all: the greatest of the votes, which are turned round.
    earlier = measure({"release of a flow": lambda mine, _: [value + 1e7 for value in mine]}, flows=2)
    assert earlier["end_to_end_ns"] == pytest.approx(two_flows["end_to_end_ns"] + 1e7, rel=0.01)
    question = "end of the warm-up"
    uneven: Script = {"marks of a flow": lambda mine, asked: [value + 1e6 * (asked % 4) for value in mine]}
    long = measure(uneven, flows=2)["asked"].count(question)
    assert measure({**uneven, question: YES}, flows=2)["asked"].count(question) == 1 < long
    assert measure({"alignment of the clocks": says(12345)}, flows=2)["alignment_ns"] == 12345


def test_caches_are_warmed_by_as_many_operations() -> None:
    """Catches ranks of one warm flow whose untimed operations differ in number."""
    question = "operations that warm the caches"
    warm = measure(cold=False)
    assert question in warm["asked"]
    # Ten thousand operations before each sample take most of the time that there is.
    assert measure({question: says(10_000)}, cold=False)["samples"] < warm["samples"] / 2


def test_what_is_recorded_of_the_timer_is_the_coarsest() -> None:
    """Catches the resolution of one rank's timer in a record of all."""
    assert measure({"resolution of the timer": says(9999)})["resolution_ns"] == 9999


@pytest.mark.parametrize(("mine", "others"), [(1, 2), (2, 1)])
def test_ranks_bring_as_many_flows(mine: int, others: int) -> None:
    """Catches ranks that run through different numbers of flows until they lose step."""
    script: Script = {"number of flows": lambda votes, _: [others if votes[0] > 0 else -others]}
    failure = measure(script, flows=mine)["failure"]
    assert (
        f"rank 0 has {mine} flows" in failure
        and f"between {min(mine, others)} and {max(mine, others)}" in failure
    )


def test_every_question_may_be_answered_by_a_failure(
    alone: dict[str, Any], two_flows: dict[str, Any]
) -> None:
    """Catches a step of any phase at which this rank would wait for, or go on without, one that failed."""
    phases = {
        "set-up",
        "preparation",
        "warm-up",
        "verification of the warm-up",
        "engine",
        "choice of verification",
        "sampling",
        "sampling of twice the batch",
        "residency",
        "guards",
        "conclusion",
    }
    assert phases <= set(alone["asked"])
    for flows, asked in ((1, alone["asked"]), (2, two_flows["asked"])):
        for question in sorted(set(asked)):
            result = measure(flows=flows, fails_at=question, max_samples=12)
            assert "rank 1 failed in its phase: its cause" in result["failure"], question
            assert result["unsupported"], question


@functools.cache
def failing_of_itself(lost_after: int) -> tuple[str, list[str]]:
    return failing(lost_after)


def failing(
    lost_after: int, rank: int = 0, fails_at: str = "", script: Script | None = None
) -> tuple[str, list[str]]:
    """What a measurement on a GPU that is lost after so many operations raises; what the team was asked."""

    def scene(session: _core.Session) -> tuple[str, list[str]]:
        class Ranked(Peer):
            def rank(self) -> int:
                return rank

            def exchange(self, mine: _core.Vote) -> list[_core.Vote]:
                votes = super().exchange(mine)
                return votes if rank == 0 else votes[::-1]

        peer = Ranked(script or {}, fails_at)
        try:
            case = toy.flow(session, ("cpu0", "pinned"), ("gpu0", "device"), "gpu0", "copy", MIB)
            session.measure([case], toy.options(budget_s=0.02, batch=1, max_samples=3), peer)
        except _core.Error as failure:
            return str(failure), peer.asked
        return "", peer.asked

    message, asked = toy.play(toy.nvidia(faults__0=f"lost:gpu0:after={lost_after}"), scene)
    return message, asked


def test_a_failure_of_this_rank_is_told_in_every_phase() -> None:
    """Catches a rank that ends by its own error while others wait for it, and one that observes its engine
    when it is another rank's turn.
    """
    wanted = {"preparation", "warm-up", "verification of the warm-up", "engine", "sampling"}
    phases: dict[str, int] = {}
    for lost_after in range(1, 300):
        message, asked = failing_of_itself(lost_after)
        if message and asked:
            phases.setdefault(asked[-1], lost_after)
        if wanted <= set(phases):
            break
    assert wanted <= set(phases)
    # Rank 1 observes when rank 0 has: where that fails in its turn, this GPU is never asked.
    message, asked = failing(phases["engine"], rank=1, fails_at="end of a turn")
    assert "rank 0 failed in its phase" in message and asked[-1] == "end of a turn"


def test_one_rank_with_pages_that_move_makes_all_probe() -> None:
    """Catches an operation that ranks with managed pages run, untimed, and the others do not."""
    # The first operation after the place of the probe: what is lost there is lost in a probe if there is one.
    after = next(number for number in range(100, 400) if failing_of_itself(number)[1][-1:] == ["guards"])
    message, asked = failing(after, script={"pages that may move": YES})
    assert "gpu0" in message and asked[-1] == "residency"
