"""Sentences say no more than their claims: ties, the best of few paths, outliers, medians, equal words."""

from __future__ import annotations

import pytest

from byteways.answers.best.headline import Lead
from byteways.answers.best.ranking import rank
from byteways.answers.best.wording_answers import answer, doubt
from byteways.answers.best.wording_rankings import NO_LEAD_OVER, better_way, margin, named_way
from byteways.answers.claims.claim import TIE
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.wording import (
    alike,
    difference_text,
    no_difference,
    ratio_between,
    tie,
)
from byteways.answers.results.summary import Result, cells, pool
from byteways.questions.findings import disambiguate_titles
from byteways.questions.subjects.odd_pairs import groups_of
from byteways.record.record import Record
from tests.changed import replace
from tests.report.few_records import GB, GIB, flow, in_rounds, record

GPUS = ("gpu0", "gpu1", "gpu2", "gpu3")
PAIRS = [(one, other) for one in GPUS for other in GPUS if one != other]


def on(path: tuple[str, str], rate: float, interface: str = "copy", **more: object) -> Record:
    ends = (f"{path[0]}:device", f"{path[1]}:device", str(more.pop("by", path[0])))
    return record(interface, [flow(*ends)], rate * GB, GIB, **more)  # type: ignore[arg-type]


def found(*records: Record) -> list[Result]:
    return cells(in_rounds(records))


def every(interface: str, *rates: float, **more: object) -> list[Record]:
    return [on(path, rate, interface, **more) for path, rate in zip(PAIRS, rates, strict=False)]


def test_paths_that_disagree_are_no_tie() -> None:
    """Catches "no significant difference" of two ways of which each leads on half of the paths."""
    copies, kernels = found(*every("copy", 400, 400)), found(*every("kernel", 300, 500))
    claim = compare(pool(copies), pool(kernels))
    told = no_difference(("copy", "kernel"), [claim])
    assert told == "copy and kernel lead on different paths"
    with pytest.raises(ValueError, match="no tie"):
        tie(claim, ("copy", "kernel"))
    ranking = rank(found(*every("copy", 400, 410), *every("kernel", 300, 500)))
    assert ranking is not None
    assert "no significant difference" not in better_way(ranking, "Between GPUs", GIB)[0] + margin(ranking)
    assert doubt(ranking) == "the paths disagree"


def test_what_was_not_compared_is_no_tie() -> None:
    """Catches a tie of results that share no path, and one without any comparison."""
    (first,), (second,) = found(on(PAIRS[0], 400.0)), found(on(PAIRS[1], 400.0, "kernel"))
    told = no_difference(("copy", "kernel"), [compare(first, second)])
    assert told == "copy and kernel are not compared: no path in common"
    with pytest.raises(ValueError, match="no comparison"):
        no_difference(("copy", "kernel"), [])


def test_only_the_interface_leads_where_its_ways_tie() -> None:
    """Catches "issued by the source is fastest" where issuing by the destination is as fast."""
    kernel = on(PAIRS[0], 300.0, "kernel")
    both = [on(PAIRS[0], 400.0, access="write"), on(PAIRS[0], 400.1, by=PAIRS[0][1], access="read")]
    alone = [on(PAIRS[0], 400.0, access="write"), on(PAIRS[0], 320.0, by=PAIRS[0][1], access="read")]
    tied, clear = rank(found(*both, kernel)), rank(found(*alone, kernel))
    assert tied is not None and clear is not None
    assert better_way(tied, "Between GPUs", GIB)[0].startswith("Between GPUs, copy is fastest at")
    assert "between copy issued by the source and copy issued by the destination." in named_way(tied)
    assert "copy issued by the source is fastest" in better_way(clear, "Between GPUs", GIB)[0]
    assert named_way(clear) == ""


def test_the_best_names_what_is_faster_on_few_paths() -> None:
    """Catches "no alternative at this size" and "the only way measured" beside one that is faster."""
    ranking = rank(found(*every("copy", 90, 90, 90, 90), on(PAIRS[0], 1855.0, "kernel")))
    assert ranking is not None
    told = "on gpu0>gpu1 alone kernel is faster still (1860 GB/s)"
    assert margin(ranking) == told and Lead(ranking, GIB).margin == told
    assert told in answer(ranking, "copy") and doubt(ranking) == "not on gpu0>gpu1"


@pytest.mark.parametrize(("rate", "told"), [(80.0, "12 % over kernel"), (90.0, f"{NO_LEAD_OVER} kernel")])
def test_one_path_of_a_class_speaks_for_the_others(rate: float, told: str) -> None:
    """Catches "no alternative at this size" where the other interface was measured on one of the pairs."""
    ranking = rank(found(*every("copy", 90, 90, 90, 90), on(PAIRS[0], rate, "kernel")))
    assert ranking is not None and ranking.rivals == () and ranking.elsewhere == ()
    assert margin(ranking) == f"{told} on gpu0>gpu1" and margin(ranking, brief=True) == told


def test_an_outlier_is_compared_with_sound_pairs() -> None:
    """Catches "gets 197 where 10 pairs get 197 to 392", whose other outliers are among the ten."""
    rates = [197.0 if "gpu0" in path else 392.0 for path in PAIRS]
    groups = groups_of(found(*every("copy", *rates)))
    assert groups is not None and {cell.record.path for cell in groups.slow.cells} == {
        f"{one}>{other}" for one, other in PAIRS if "gpu0" in (one, other)
    }
    assert min(other.value for other in groups.fast.cells) > 300 * GB


def test_figures_for_one_thing_are_distinguished() -> None:
    """Catches two figures for one thing where only a detail says in what the two differ."""
    plain, inplace = found(on(PAIRS[0], 5.0), on(PAIRS[0], 10.0, options={"in_place": "yes"}))
    said = [_at(cell, 8) for cell in (plain, inplace)]
    assert _added(said) == ["default settings", "in_place=yes"]
    ways = found(on(PAIRS[0], 5.0, access="write"), on(PAIRS[0], 10.0, by=PAIRS[0][1], access="read"))
    assert _added([_at(cell, 8) for cell in ways]) == ["issued by the source", "issued by the destination"]
    assert _added([_at(plain, 8), _at(inplace, 16)]) == ["", ""]  # of unlike things
    assert _added([said[0], said[0]]) == ["", ""]  # nothing to name
    assert _added([replace(one, about=()) for one in said]) == ["", ""]  # their titles differ otherwise


def _at(cell: Result, ranks: int) -> Finding:
    title = f"MPI allreduce of {ranks} ranks"
    return finding(title, "", Priority.COLLECTIVE, (cell,), about=("MPI", ranks))


def _added(said: list[Finding]) -> list[str]:
    titles = [one.title for one in disambiguate_titles(said)]
    return [title[len(one.title) + 2 : -1] for one, title in zip(said, titles, strict=True)]


def wide(spread: float, copy: float = 20.0, kernel: float = 5.0) -> tuple[Result, Result]:
    """Results of two interfaces whose rounds spread by this factor about them."""
    rounds = (1.0, spread, 1 / spread)
    (first,), (second,) = (
        cells([on(PAIRS[0], rate * part, interface, round=number) for number, part in enumerate(rounds)])
        for interface, rate in (("copy", copy), ("kernel", kernel))
    )
    return first, second


def test_a_wide_interval_decides_nothing() -> None:
    """Catches 20 and 5 GB/s of a noisy host told as no significant difference."""
    first, second = wide(4.0)
    claim = compare(first, second)
    assert (claim.verdict, claim.undecided) == (TIE, True)
    assert claim.low < 1 < 1.25 < claim.high
    said = f"{ratio_between([claim])}"
    assert alike(claim) == difference_text(claim) == f"not decided: {said}"
    assert tie(claim, ("copy", "kernel")) == f"not decided between copy and kernel ({said})"
    ranking = rank([first, second])
    assert ranking is not None
    assert margin(ranking) == f"not decided ({said}) against kernel"
    assert doubt(ranking) == f"not decided between copy and kernel ({said})"
    texts = (margin(ranking), doubt(ranking), better_way(ranking, "Between GPUs", GIB)[0])
    assert all("not decided" in text and "no significant" not in text for text in texts)


def test_ratios_without_bounds_have_words() -> None:
    """Catches a factor of 10^43 written out."""
    claim = replace(compare(*wide(4.0)), low=0.0, high=1e43)
    assert alike(claim) == "not decided: less than 0.01 to over 100 times"
