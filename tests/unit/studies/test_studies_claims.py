"""The claims engine: every check, every verdict, and the sentence it comes with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from byteways.ext.studies.comparison.claims import Verdict, judge
from byteways.ext.studies.comparison.fitting import NEITHER
from byteways.ext.studies.comparison.verdicts import (
    ASSUMED_BY_MODEL,
    BUILT_IN,
    CLOSE,
    CORRECTED,
    HOLDS,
    SELF_CONTRADICTED,
    UNTESTED,
)
from byteways.ext.studies.comparison.verdicts import FAILS_HERE as FAILS
from byteways.ext.studies.published.split import FITTED, HELD_OUT
from byteways.ext.studies.published.study import ClaimCheck, PublishedClaim
from tests.unit.study_sheet import (
    CHECKS,
    GIB,
    KIB,
    MIB,
    SHEET,
    FakeLine,
    FakePlace,
    FakeSheet,
    Figure,
    verdict,
)


@pytest.mark.parametrize(("check", "wanted"), CHECKS, ids=[str(check) for check, _ in CHECKS])
def test_verdicts(check: dict[str, Any], wanted: str) -> None:
    """Would catch a bound that is not looked at, figures of two places paired, or a gap taken for one."""
    assert verdict(**check).verdict == wanted


@dataclass
class FakeFitting:
    """As fitting.Fitting, with one side for all figures of a place."""

    sides: Mapping[str, str] = field(default_factory=dict)
    known: bool = True
    taken: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()

    def predicts(self, claim: str) -> bool:
        return claim in self.held_out

    def assumed_from(self, claim: str) -> bool:
        return claim in self.taken

    def side(self, published: list[Any]) -> str:
        return self.sides[published[0].place]


class PlacedSheet(FakeSheet):
    """Whose published values tell the place alone."""

    def published(self, line: FakeLine, place: FakePlace) -> list[Any]:
        return [SimpleNamespace(place=place.name, size_bytes=1)]  # of no size that there is


PLACED = PlacedSheet(SHEET.figures)


def on_model(of: str, fitting: FakeFitting, at_most: str = "52 GB/s") -> Verdict:
    claim = PublishedClaim("one", "", (ClaimCheck("value", {"of": of, "at_most": at_most}),))
    return judge(claim, PLACED, fitting)  # type: ignore[arg-type]


def test_a_claim_that_was_held_out_is_tested_by_fitted_numbers() -> None:
    """Would catch a prediction that counts for nothing, and a guess that counts for a prediction."""
    fitting = FakeFitting({"quad": NEITHER}, held_out=("one",))
    found = on_model("copy@quad/1GiB", fitting)
    assert found.verdict == HOLDS
    assert found.detail.endswith("was not fitted to copy at quad, and the claim was held out")
    assert on_model("copy@quad/1GiB", fitting, "50 GB/s").verdict == FAILS
    guess = PlacedSheet(SHEET.figures, guessed=True)
    claim = PublishedClaim("one", "", (ClaimCheck("value", {"of": "copy@quad/1GiB", "at_most": "52 GB/s"}),))
    assert judge(claim, guess, fitting).verdict == ASSUMED_BY_MODEL  # type: ignore[arg-type]


def test_built_in_is_what_rests_on_fitted_values_alone() -> None:
    """Would catch a prediction that passes for built in, and a fit that passes for a prediction."""
    fitting = FakeFitting({"quad": FITTED, "dual": HELD_OUT})
    assert on_model("copy@quad/1GiB", fitting).verdict == BUILT_IN
    assert on_model("copy@dual/1GiB", fitting).verdict == HOLDS
    both = on_model("copy@*/1GiB", fitting)
    assert both.verdict == HOLDS
    assert "; the model is fitted to copy at quad; the rest was held out" in both.detail


def test_what_no_value_stands_beside_is_not_tested_by_an_assumption() -> None:
    """A model has numbers that nobody published: that they agree with a sentence is no evidence for it."""
    found = on_model("copy@quad/1GiB", FakeFitting({"quad": NEITHER}))
    assert found.verdict == ASSUMED_BY_MODEL and "the model has assumed copy at quad" in found.detail
    taken = FakeFitting({"quad": NEITHER}, taken=("one",))
    assert on_model("copy@quad/1GiB", taken).verdict == BUILT_IN


def test_a_model_whose_fit_is_not_known_has_everything_built_in() -> None:
    """A user's own file may be fitted to anything."""
    assert on_model("copy@dual/1GiB", FakeFitting({"dual": HELD_OUT}, known=False)).verdict == BUILT_IN


def test_a_model_that_contradicts_the_source_is_news_whatever_it_is_fitted_to() -> None:
    """Would catch a contradiction that is not reported because the model was fitted."""
    for side in (FITTED, HELD_OUT, NEITHER):
        assert on_model("copy@quad/1GiB", FakeFitting({"quad": side}), "50 GB/s").verdict == FAILS


# --- how much of a difference another one explains

#: In ns: copy at quad 1000/51 = 19.6, at dual 20; slow copy 307.7 at quad; kernel 6.54 and 12.99.
GAP = {"kind": "gap", "unit": "ns", "of": ["copy@dual/1GiB", "copy@quad/1GiB"]}


@pytest.mark.parametrize(
    ("to", "bounds", "wanted", "said"),
    [
        (["kernel@dual/1GiB", "kernel@quad/1GiB"], {"at_most": 0.07}, HOLDS, "0.39 ns of 6.45 ns"),
        (["kernel@dual/1GiB", "kernel@quad/1GiB"], {"at_most": 0.05}, FAILS, "6.08 %"),
        (["kernel@quad/1GiB", "kernel@dual/1GiB"], {"at_most": 9}, FAILS, "of a positive difference"),
        (["kernel@single/1GiB", "kernel@dual/1GiB"], {"at_most": 9}, UNTESTED, "no kernel at single"),
        (["copy@quad/*", "kernel@dual/1GiB"], {"at_most": 9}, UNTESTED, "several values of one side"),
    ],
)
def test_part_of_a_difference(to: list[str], bounds: dict[str, float], wanted: str, said: str) -> None:
    """Would catch a quotient of values, the wrong sign, and a part of no difference."""
    found = verdict(**GAP, to=to, **bounds)
    assert (found.verdict, said in found.detail) == (wanted, True), found.detail


def test_a_difference_within_the_intervals_decides_nothing() -> None:
    """Would catch a verdict on a difference that may as well be the other way round."""
    loose = FakeSheet(SHEET.figures, half_width=0.4)
    found = verdict(loose, **GAP, to=["kernel@dual/1GiB", "kernel@quad/1GiB"], at_most=0.07)
    assert found.verdict == CLOSE


# --- runs that lack figures


CUT_SHORT = FakeSheet(SHEET.figures, planned={("copy", "quad"): (16 * MIB,), ("slow copy", "dual"): (GIB,)})


@pytest.mark.parametrize(
    ("check", "wanted"),
    [
        ({"kind": "value", "of": "copy@quad/*", "at_most": "52 GB/s"}, UNTESTED),
        ({"kind": "value", "of": "copy@quad/*", "at_most": "50 GB/s"}, FAILS),  # whatever 16 MiB has
        ({"kind": "value", "of": "copy@quad/..1MiB", "at_most": "52 GB/s"}, HOLDS),  # not about 16 MiB
        ({"kind": "spread", "of": "copy@quad/*", "over": "size", "at_most": 0.75}, UNTESTED),
        ({"kind": "spread", "of": "copy@quad/*", "over": "size", "at_most": 0.5}, FAILS),
        ({"kind": "reaches", "of": "copy@quad/*", "level": "40 GB/s", "size": "1GiB"}, UNTESTED),
        ({"kind": "reaches", "of": "copy@quad/*", "level": "60 GB/s", "size": "1GiB"}, UNTESTED),
        ({"kind": "order", "of": ["kernel@dual/1GiB", "slow copy@*/1GiB"]}, UNTESTED),
        (
            {"kind": "ratio", "of": "fastest:*@dual/*", "to": "copy@dual/*", "over": "most", "at_most": 9},
            UNTESTED,
        ),
    ],
    ids=str,
)
def test_a_run_that_was_cut_short_gives_no_half_answers(check: dict[str, Any], wanted: str) -> None:
    """Would catch a claim on all sizes that holds for the first of them."""
    assert verdict(CUT_SHORT, **check).verdict == wanted


def test_a_reference_that_names_nothing_is_a_mistake_of_the_study() -> None:
    """A misspelt line would otherwise be 'cannot be tested here' for ever."""
    for reference in ("kopy@quad/1GiB", "copy@quat/1GiB", "copy"):
        with pytest.raises(ValueError, match=r"no line or no place|is not a reference"):
            verdict(kind="value", of=reference, at_most="1 GB/s")


SAME = {("copy", "quad", GIB): 50.0, ("copy", "dual", GIB): 50.0}


def test_one_pair_that_stands_for_two_places_is_not_compared_with_itself() -> None:
    """Would catch a comparison of a pair with itself."""
    sheet = FakeSheet(SAME, devices={"quad": ("gpu0", "gpu1"), "dual": ("gpu0", "gpu1")})
    found = verdict(sheet, kind="spread", of="copy@*/1GiB", over="place", at_most=0.05)
    assert found.verdict == UNTESTED


def test_no_effect_of_numa_takes_two_domains() -> None:
    """Would catch "no NUMA effect" concluded from one domain."""
    check = {"kind": "spread", "of": "copy@*/1GiB", "over": "place", "across": "cpu", "at_most": 0.05}
    one = FakeSheet(SAME, devices={"quad": ("cpu0", "gpu0"), "dual": ("cpu0", "gpu1")})
    two = FakeSheet(SAME, devices={"quad": ("cpu0", "gpu0"), "dual": ("cpu1", "gpu0")})
    assert verdict(one, **check).detail == (
        "because it needs two NUMA domains, and this run's values come from one"
    )
    assert verdict(two, **check).verdict == HOLDS


def test_a_ceiling_takes_a_link_that_carries_more() -> None:
    """Would catch an upper bound that "holds" because the links carry no more anyway."""
    found = verdict(kind="value", of="copy@quad/1GiB", at_most="300 GB/s")
    assert (found.verdict, found.detail) == (
        UNTESTED,
        "because the links here allow no more: 200.0 GB/s",
    )


def test_what_was_measured_alone_is_not_the_fastest() -> None:
    """Would catch "fastest" said of the only interface measured."""
    check = {"kind": "ratio", "of": "copy@quad/1GiB", "to": "fastest:*@quad/1GiB", "at_least": 0.97}
    assert verdict(FakeSheet(SAME), **check).verdict == UNTESTED


def test_a_size_is_reached_only_between_others() -> None:
    """Would catch a threshold at the smallest or largest size, where it may lie outside."""
    rising = {("copy", "quad", size): rate for size, rate in ((KIB, 10.0), (MIB, 50.0), (GIB, 51.0))}
    check = {"kind": "reaches", "of": "copy@quad/*", "of_best": 0.9, "size": "1MiB"}
    without = [{key: rate for key, rate in rising.items() if key[2] != gone} for gone in (KIB, GIB)]
    assert verdict(FakeSheet(rising), **check).verdict == HOLDS
    assert [verdict(FakeSheet(some), **check).verdict for some in without] == [UNTESTED, UNTESTED]


@dataclass
class SimulatedHardware:
    """Of a machine model of other GPUs: the numbers behind each line at each place."""

    numbers: Mapping[tuple[str, str], set[str]]
    ties: tuple[set[str], ...] = ()  # numbers of one value
    simulated = True

    def elsewhere(self, claim: PublishedClaim) -> str:
        return ""

    def own(self, claim: PublishedClaim) -> bool:
        return False

    def numbers_behind(self, record: tuple[str, str]) -> frozenset[str]:
        return frozenset(self.numbers.get(record, {"peak"}))

    def tied_to(self, key: str) -> frozenset[str]:
        return frozenset(next((tie for tie in self.ties if key in tie), {key}))

    def contradicted(self, claim: PublishedClaim) -> tuple[str, tuple[str, ...]]:
        return FAILS, ()


@dataclass
class SimulatedSheet(FakeSheet):
    """A sheet of a machine model, of which numbers can be changed."""

    change: tuple[frozenset[str], float] = (frozenset(), 1.0)

    def ours(self, line: FakeLine, place: FakePlace) -> dict[int, Figure]:
        record = (line.name, place.name)
        keys, factor = self.change
        part = factor if keys & self.hardware.numbers_behind(record) else 1.0  # type: ignore[attr-defined]
        found = super().ours(line, place)
        return {
            size: replace(one, gb_per_s=one.gb_per_s * part, record=record) for size, one in found.items()
        }

    def changed(self, keys: frozenset[str], factor: float) -> SimulatedSheet:
        other = replace(self, change=(keys, factor))
        other.hardware = self.hardware
        return other


def simulated(
    check: ClaimCheck,
    numbers: Mapping[tuple[str, str], set[str]],
    *,
    assumed: bool = False,
    ties: tuple[set[str], ...] = (),
    **claim: str,
) -> Verdict:
    sheet = SimulatedSheet(SHEET.figures, prints=SHEET.prints, assumed=assumed)
    sheet.hardware = SimulatedHardware(numbers, ties)  # type: ignore[assignment]
    return judge(PublishedClaim("one", "", (check,), **claim), sheet)  # type: ignore[arg-type]


#: Numbers of a model: of two links, and of copies and kernels.
APART = {
    ("copy", "quad"): {"wide", "engine"},
    ("copy", "dual"): {"narrow", "engine"},
    ("kernel", "dual"): {"narrow", "cores"},
}
SPREAD = ClaimCheck("spread", {"of": "copy@*/1GiB", "over": "place", "at_most": 0.05})
NEAR = ClaimCheck("order", {"of": ["kernel@dual/1GiB", "copy@dual/1GiB"], "margin": 0.4})  # 77 and 50
FAR = ClaimCheck("order", {"of": ["kernel@dual/1GiB", "copy@dual/1GiB"], "margin": 0.2})
EQUAL = ClaimCheck("ratio", {"of": "copy@quad/1GiB", "to": "copy@dual/1GiB", "about": 1, "within": 0.05})
PUBLISHED = ClaimCheck("value", {"of": "copy@quad/1GiB", "published": True, "within": 0.05})


@pytest.mark.parametrize(
    ("check", "numbers", "ties", "wanted"),
    [
        (SPREAD, {}, (), BUILT_IN),  # one number decides all of them
        (SPREAD, APART, (), HOLDS),
        (SPREAD, APART, ({"wide", "narrow"},), BUILT_IN),  # one of them is taken from the other
        (EQUAL, APART, (), HOLDS),
        (EQUAL, APART, ({"wide", "narrow"},), BUILT_IN),
        (NEAR, APART, (), HOLDS),  # a fifth less would turn it round
        (FAR, APART, (), BUILT_IN),
        (PUBLISHED, {}, (), HOLDS),  # what is compared with a value fails with any of its numbers
    ],
)
def test_what_no_number_of_a_model_could_turn_round_is_built_in(
    check: ClaimCheck, numbers: dict[tuple[str, str], set[str]], ties: tuple[set[str], ...], wanted: str
) -> None:
    """Catches "holds" of what follows from a model's own numbers, and of a prediction that it is no test."""
    assert simulated(check, numbers, ties=ties).verdict == wanted


def test_agreement_of_assumed_numbers_without_a_published_value_is_no_test() -> None:
    """Catches "holds" of a value that nobody published and that a model only assumes."""
    assert simulated(NEAR, APART, assumed=True).verdict == ASSUMED_BY_MODEL


def test_a_source_that_says_both_contradicts_itself() -> None:
    """Catches a sentence held against a model although the source says otherwise elsewhere."""
    turned = ClaimCheck("order", {"of": ["copy@quad/1GiB", "kernel@quad/1GiB"]})
    found = simulated(turned, APART, at_odds_with="Table III: the reverse")
    assert found.verdict == SELF_CONTRADICTED and found.detail.startswith("Table III: the reverse")
    assert simulated(NEAR, APART, at_odds_with="Table III").verdict == HOLDS


def test_a_sentence_that_the_hardware_s_documents_correct_is_no_fault_of_a_model() -> None:
    """Catches a misprint held against a model that has the maker's number, and a correction of what holds."""
    turned = ClaimCheck("order", {"of": ["copy@quad/1GiB", "kernel@quad/1GiB"]})
    found = simulated(turned, APART, corrected_by="data sheet: the reverse")
    assert found.verdict == CORRECTED and found.detail.startswith("data sheet: the reverse")
    assert not found.contradicted
    assert simulated(NEAR, APART, corrected_by="data sheet").verdict == HOLDS
