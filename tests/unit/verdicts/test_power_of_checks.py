"""What a check can find: NOT DECIDED, the power that a user asks for, and cases together."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from pathlib import Path
from random import Random
from typing import Any

import pytest

from byteways.answers.claims.compare import LEAST_LEAD, least_change
from byteways.report.verdicts.junit import junit
from byteways.report.verdicts.slurm import drain_line
from byteways.verdicts.checks.check import Check
from byteways.verdicts.checks.verdict import FAIL, HIGH, MISSING, NOT_DECIDED, PASS, UNKNOWN
from byteways.verdicts.checks.wording_check import details, sentence
from byteways.verdicts.two_runs.pooled import PooledChange, pooled_speed
from byteways.verdicts.two_runs.wording_comparison import Condition, between, losses_found, pooled
from tests.report.run_builder import Builder
from tests.unit.verdicts.test_checks import PEER, against, verdicts
from tests.unit.verdicts.test_comparison import compared, pairs_run

#: Relative difference between neighbouring rounds: intervals of ± 2, 13 and 60 % over 24 cases.
QUIET, RESTLESS, NOISY = 0.005, 0.035, 0.15


def run(rate: float | Callable[[str, str], float] = 396.0, spread: float = QUIET, gpus: int = 4) -> Builder:
    return pairs_run(rate if callable(rate) else lambda a, b: rate, gpus=gpus, spread=spread)


def check(tmp_path: Path, part: float, spread: float, **more: Any) -> Check:
    """Checks a run of this part of the reference's speed, both of the same noise."""
    return against(tmp_path, run(part * 396.0, spread), run(spread=spread), **more)


@pytest.mark.parametrize(
    ("low", "high", "least"),
    [(0.8, 1.25, 0.2), (0.9, 1 / 0.9, 0.1), (0.72, 0.8 / 0.9, 0.1), (1.0, 1.0, LEAST_LEAD), (0.0, 2.0, 1.0)],
)
def test_the_least_change(low: float, high: float, least: float) -> None:
    """Catches a loss that depends on what was measured, not on the width of the interval alone."""
    found = PooledChange("", "", frozenset("a"), (low * high) ** 0.5, low, high)
    assert least_change(found) == pytest.approx(least)


def test_noise_is_no_pass(tmp_path: Path) -> None:
    """Catches a PASS that says only that the comparison could not find anything, and a reason not given."""
    quiet = check(tmp_path / "a", 1.0, QUIET)
    assert (verdicts(quiet), quiet.verdict) == ({PASS: 24}, PASS)
    noisy = check(tmp_path / "b", 1.0, NOISY)
    assert (verdicts(noisy), noisy.failed, noisy.failing) == ({NOT_DECIDED: 24}, False, ())
    assert (noisy.together[0].verdict, noisy.verdict) == (PASS, PASS)
    hopeless = check(tmp_path / "c", 1.0, 0.95)
    assert (hopeless.together[0].verdict, hopeless.verdict) == (NOT_DECIDED, NOT_DECIDED)
    least = noisy.cases[0].least_change
    assert least is not None and 0.2 < least < 1
    assert f"would have found a loss of {100 * least:.0f} % or more" in sentence(noisy.cases[0])
    assert any(f"{100 * least:.0f} %" in line for line in details(noisy))


def test_a_power_that_is_asked_for(tmp_path: Path) -> None:
    """Catches --least-effect that changes nothing, and --strict that a run passes with undecided cases."""
    for least_effect, found in (("20%", PASS), ("5%", NOT_DECIDED), ("1%", NOT_DECIDED)):
        folder = tmp_path / least_effect
        one = check(folder, 1.0, RESTLESS, least_effect=least_effect)
        strict = check(folder / "strict", 1.0, RESTLESS, least_effect=least_effect, strict=True)
        assert (verdicts(one), one.failed) == ({found: 24}, False)
        assert (strict.verdict, strict.failed) == (found, found == NOT_DECIDED)
        assert bool(drain_line(strict, "n1")) == strict.failed
        assert ("<failure" in junit(strict)) == strict.failed and "<failure" not in junit(one)


def test_a_ratio_that_is_no_figure() -> None:
    """Catches an interval to +364910116190.0 %, and a loss of -0.0 %."""
    assert between(0.2, 3e9) == "-80.0 to over 100 ×"
    assert between(0.99999, 1.5) == "+0.0 to +50.0 %"


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ([0.12], "a loss of 12 % or more"),
        ([0.3, 0.12], "a loss of 12 to 30 % or more"),
        ([1.0], "no loss"),
        ([0.21, 0.999], "a loss of 21 % or more at best, none at worst"),
    ],
)
def test_what_would_have_been_found(losses: list[float], said: str) -> None:
    """Catches a loss of 100 %, which no comparison finds."""
    assert losses_found(losses) == said


def test_what_is_surely_faster_passes(tmp_path: Path) -> None:
    """Catches a case that is NOT DECIDED although no loss is possible."""
    assert verdicts(check(tmp_path, 1.04, QUIET, least_effect="1%")) == {PASS: 24}
    assert verdicts(check(tmp_path / "faster", 1.2, QUIET)) == {HIGH: 24}


def test_a_loss_that_only_all_cases_show(tmp_path: Path) -> None:
    """Catches a machine that is a tenth slower everywhere and passes, since each case is too noisy."""
    found = check(tmp_path, 0.9, RESTLESS)
    assert verdicts(found) == {NOT_DECIDED: 24} and (found.verdict, found.failed) == (FAIL, True)
    whole = found.together[0]
    assert (whole.verdict, whole.speed) == (FAIL, pytest.approx(0.9))
    assert whole.interval is not None and whole.interval[1] < 0.95
    assert junit(found).count("<failure") == 1 and "together" in drain_line(found, "n1")
    slight = check(tmp_path / "slight", 0.97, RESTLESS)
    assert slight.together[0].verdict == PASS and not slight.failed
    doubtful = check(tmp_path / "doubtful", 0.945, RESTLESS).together[0]
    assert doubtful.verdict == PASS and doubtful.speed and doubtful.speed < 0.95


def test_five_times_slower_never_passes(tmp_path: Path) -> None:
    """Catches a case that is too noisy to be decided alone and passes, or is left undecided, where all of
    the run is slower.
    """
    for spread in (QUIET, NOISY, 0.6):
        assert verdicts(check(tmp_path / str(spread), 0.2, spread)) == {FAIL: 24}


def test_one_noisy_case_is_judged_with_its_class_alone(tmp_path: Path) -> None:
    """Catches a case that fails by the loss of other links."""
    slow = run(lambda a, b: 200.0 if "gpu2" in (a, b) else 396.0, NOISY)
    found = against(tmp_path, slow, run(spread=NOISY))
    assert all("gpu2" in one.parts for one in found.failing)
    assert {one.verdict for one in found.cases if "gpu2" not in one.parts} == {NOT_DECIDED}


@pytest.mark.parametrize(
    ("here", "there", "found"),
    [
        ("skipped", "skipped", {PASS: 4}),
        ("failed", "failed", {PASS: 4, UNKNOWN: 1}),
        ("corrupt", "corrupt", {PASS: 4, FAIL: 1}),
        ("failed", None, {PASS: 4, FAIL: 1}),
        ("skipped", None, {PASS: 4}),
        ("skipped", "measured", {PASS: 4, MISSING: 1}),
        ("corrupt", "measured", {PASS: 4, MISSING: 1}),
    ],
)
def test_missing_is_what_the_reference_measured(
    tmp_path: Path, here: str, there: str | None, found: dict[str, int]
) -> None:
    """Catches a healthy machine that fails for what its reference did not measure either, and a failure that
    is excused.
    """
    builds = run(gpus=2), run(gpus=2)
    for build, status in zip(builds, (here, there), strict=True):
        if status == "measured":
            build.measure("memcpy", PEER, 100.0)
        elif status is not None:
            build.lose(status, "broken", "memcpy", PEER)
        if status == "skipped":  # recorded once, not once per round
            del build.records[-2:]
    assert verdicts(against(tmp_path, *builds)) == found


def test_comparisons_say_what_they_can_find(tmp_path: Path) -> None:
    """Catches `compare` that calls noise equality, or misses a loss that only all cases show."""
    noisy = compared(tmp_path / "a", run(spread=NOISY), run(spread=NOISY))
    assert len(noisy.undecided) == 24 and min(map(_least, noisy.to_json()["cases"])) > 0.2
    strictly = compared(tmp_path / "b", run(), run(), least_effect=0.01)
    assert len(strictly.undecided) == 24
    slower = compared(tmp_path / "c", run(spread=RESTLESS), run(0.9 * 396.0, RESTLESS))
    assert not slower.slower and slower.pooled[0].slower and len(pooled(slower)) == 1
    assert Condition.parse("slower > 3%").broken_by(slower)
    for condition in ("slower > 9.9%", "slower > 12%", "failed"):
        assert not Condition.parse(condition).broken_by(slower)
    assert not Condition.parse("faster > 3%").broken_by(slower)


def _least(case: dict[str, Any]) -> float:
    return float(case["least_change"])


def test_pooled_intervals_hold() -> None:
    """Catches a pooled interval that is too narrow where variances are estimated from a few rounds and differ
    among cases, or so wide that it finds nothing.
    """
    random = Random(1)

    def trial(speed: float) -> tuple[float, float, float]:
        """Pools 12 cases of 3 % noise; it varies by a factor of 3, and 4 degrees of freedom say so."""
        changes = []
        for _ in range(12):
            deviation = 0.03 * exp(random.gauss(0, 1))
            estimate = deviation**2 * sum(random.gauss(0, 1) ** 2 for _ in range(4)) / 4
            changes.append((random.gauss(log(speed), deviation), estimate))
        return pooled_speed(changes, 1)

    trials = 400
    false = sum(not low < 1 < high for _, low, high in (trial(1.0) for _ in range(trials)))
    found = sum(high < 0.95 for _, _, high in (trial(0.9) for _ in range(trials)))
    assert false <= 0.07 * trials and found >= 0.9 * trials


def test_cases_differ_by_more_than_their_noise() -> None:
    """Catches an interval that rests on the noise of each case alone, where a fault concerns some of them."""
    precise = 0.001**2
    _, low, high = pooled_speed([(log(0.5), precise)] * 6 + [(0.0, precise)] * 6, 1)
    assert high - low > 0.2
    one_of_twelve, _, _ = pooled_speed([(log(0.5), precise)] + [(0.0, 9 * precise)] * 11, 1)
    assert one_of_twelve > 0.85
