"""Words the answer to "which way from here to there": rendered from a ranking's claims, like wording.py."""

from __future__ import annotations

from byteways.explain.best.ranking import Ranking, Rival, Unranked
from byteways.explain.best.wording_rankings import faster_elsewhere, tied_interfaces
from byteways.explain.claims.claim import LEADS, MIXED, TIE, TRAILS
from byteways.explain.claims.phrases import of_peak, rate, way
from byteways.explain.claims.wording import agreement, faster, no_difference
from byteways.explain.results.counting import listed
from byteways.explain.results.summary import ResultGroup
from byteways.record.simulation_mark import MEASURED, Voice

#: How sure an answer is.
SURE, NOT_SURE = "sure", "not sure"


def next_best(ranking: Ranking) -> Rival | None:
    """Returns the next best interface, with its best settings; without any, the next best settings."""
    mine = ranking.variant.interface
    others = [one for one in ranking.rivals if one.variant.interface != mine]
    return next(iter(others or ranking.rivals), None)


def doubt(ranking: Ranking, voice: Voice = MEASURED) -> str:
    """Returns why the best is not sure to be the best; '' if it is."""
    following = next_best(ranking)
    if ranking.unranked:
        return _not_compared(ranking.unranked[0])
    if ranking.elsewhere:
        return f"not on {listed(list(ranking.elsewhere[0].claim.second.paths))}"
    if following is None:
        return f"the only way {voice.measured}"
    if following.claim.verdict in (MIXED, TRAILS):
        return "the paths disagree"
    if following.claim.verdict not in (LEADS, TIE):
        return f"the results are {following.claim.reason}"
    words = dict.fromkeys(word for cell in ranking.group.cells for word in cell.doubts)
    if tied := tied_interfaces(ranking):
        rivals = [one.claim for one in ranking.ties if one.variant.interface in tied]
        return no_difference([ranking.variant.interface, *(_tied(ranking, name) for name in tied)], rivals)
    if following.claim.verdict == TIE:
        return no_difference(
            ["its settings"], [one.claim for one in ranking.ties if one.claim.verdict == TIE]
        )
    return ", ".join(words)


def _tied(ranking: Ranking, interface: str) -> str:
    """Returns an interface that ties, with the settings with which it does if its best ones do not."""
    same = [one for one in ranking.rivals if one.variant.interface == interface]
    return way(next(one for one in same if not one.claim.leads).variant) if same[0].claim.leads else interface


def _not_compared(one: Unranked) -> str:
    """'copy issued by the source (submit=batch) reached 390 GB/s in batches too short for the timer'."""
    short = any("short-batch" in cell.warning_ids for cell in one.group.cells)
    why = "in batches too short for the timer" if short else "in too few rounds to compare"
    return f"{way(one.variant)} reached {rate(one.group)} GB/s {why}"


def answer(ranking: Ranking, voice: Voice = MEASURED) -> str:
    """'copy issued by the source, 396 GB/s (88 % of 450), 5.4 % faster than kernel (375 GB/s); sure'."""
    first = ranking.group
    said = f"{way(ranking.variant)}, {rate(first)} GB/s{of_peak(first)}"
    if (following := next_best(ranking)) is not None:
        said += f", {_beside(following, first)}"
    if elsewhere := faster_elsewhere(ranking, " GB/s"):
        said += f"; {elsewhere}"
    if ranking.default is not None:
        plain = ranking.default
        said += f"; by default (no setting): {way(plain.variant)}, {rate(plain.group)} GB/s"
    why = doubt(ranking, voice)
    return f"{said}; {NOT_SURE} ({why})" if why else f"{said}; {SURE}"


def _beside(rival: Rival, best: ResultGroup) -> str:
    """'5.4 % faster than kernel issued by the source (375 GB/s)'."""
    claim, name = rival.claim, f"{way(rival.variant)} ({rate(rival.group)} GB/s)"
    if claim.leads:
        return f"{faster(claim)} {name}{agreement(claim)}"
    if rival.group.value > best.value:  # it is not the best because its rounds scatter (ranking.py)
        return f"beside {name}, whose rounds scatter too much to rank it first"
    return f"next {name}"
