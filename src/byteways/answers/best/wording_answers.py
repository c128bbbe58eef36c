"""Words the answer to "which method from here to there?" from the claims of a ranking, as wording.py does."""

from __future__ import annotations

from collections.abc import Sequence

from byteways.answers.best.ranking import Ranking, Rival, Unranked
from byteways.answers.best.wording_rankings import faster_elsewhere, tied_interfaces
from byteways.answers.claims.claim import LEADS, MIXED, TIE, TRAILS
from byteways.answers.claims.compare import compare
from byteways.answers.claims.phrases import (
    TIME_FIRST_BELOW_BYTES,
    of_peak,
    rate,
    speed,
    time_of_one,
)
from byteways.answers.claims.wording import agreement, faster, no_difference
from byteways.answers.results.counting import listed
from byteways.answers.results.summary import ResultGroup
from byteways.cases.options import SUBMIT
from byteways.record.simulation_mark import MEASURED, Voice

#: How sure an answer is.
SURE, NOT_SURE = "sure", "not sure"
#: Why an answer on a model is not sure whose parameters nobody measured.
ASSUMED = "based on assumed parameters of the model"


def next_best(ranking: Ranking) -> Rival | None:
    """Returns the next best interface, with its best settings; without any, the next best settings."""
    mine = ranking.variant.interface
    others = [one for one in ranking.rivals if one.variant.interface != mine]
    return next(iter(others or ranking.rivals), None)


def doubt(ranking: Ranking, voice: Voice = MEASURED) -> str:
    """Returns why the best is not sure to be the best of what was measured; '' if it is."""
    following = next_best(ranking)
    if ranking.unranked:
        return _not_compared(ranking.unranked[0])
    if ranking.elsewhere:
        return f"not on {listed(list(ranking.elsewhere[0].claim.second.paths))}"
    if following is None:
        return f"the only method {voice.measured}"
    if following.claim.verdict in (MIXED, TRAILS):
        return "the paths disagree"
    if following.claim.verdict not in (LEADS, TIE):
        return f"the results are {following.claim.reason}"
    if tied := tied_interfaces(ranking):
        rivals = [one.claim for one in ranking.ties if one.variant.interface in tied]
        return no_difference([ranking.variant.interface, *(_tied(ranking, name) for name in tied)], rivals)
    if following.claim.verdict == TIE:
        return no_difference(
            ["its settings"], [one.claim for one in ranking.ties if one.claim.verdict == TIE]
        )
    return doubts_of_data(ranking)


def doubts_of_data(ranking: Ranking) -> str:
    """'noisy, drifting': the data warnings of the best."""
    return ", ".join(dict.fromkeys(word for cell in ranking.group.cells for word in cell.doubts))


def _tied(ranking: Ranking, interface: str) -> str:
    """Returns an interface that ties, with the settings with which it does if its best ones do not."""
    same = [one for one in ranking.rivals if one.variant.interface == interface]
    return next(one for one in same if not one.claim.leads).variant.name if same[0].claim.leads else interface


def _not_compared(one: Unranked) -> str:
    """'copy issued by the source (submit=batch) reached 390 GB/s in batches too short for the timer'."""
    short = any("short-batch" in cell.warning_ids for cell in one.group.cells)
    why = "in batches too short for the timer" if short else "in too few rounds to compare"
    return f"{one.variant.name} reached {rate(one.group)} GB/s {why}"


def answer(ranking: Ranking, method: str) -> str:
    """'cudaMemcpyAsync in … (copy, …), 396 GB/s (88 % of 450), 5.4 % faster than kernel (375 GB/s)'.

    Args:
        ranking: Its best is the answer.
        method: The name of the best.
    """
    first = ranking.group
    said = f"{method}, {speed_of(first)}"
    if (following := next_best(ranking)) is not None:
        said += f", {_compared(following, first)}"
    if elsewhere := faster_elsewhere(ranking, " GB/s"):
        said += f"; {elsewhere}"
    if ranking.default is not None:
        plain = ranking.default
        said += f"; by default (no setting): {plain.variant.name}, {speed_of(plain.group)}"
    return said


def speed_of(group: ResultGroup) -> str:
    """'396 GB/s (88 % of 450)'; of a small transfer '2.51 µs (1.63 GB/s)'; of a collective its time."""
    record = group.cells[0].record
    if record.counts == "bus":
        return f"{time_of_one(group)} (bus bandwidth {rate(group)} GB/s)"
    return speed(group) + (of_peak(group) if record.size_bytes >= TIME_FIRST_BELOW_BYTES else "")


def many_at_once(ranking: Ranking | None, one: ResultGroup) -> str:
    """'many at once: batch, 392 GB/s'; '' if no method gains by submitting many transfers together."""
    if ranking is None or not compare(ranking.group, one, kind="submission").leads:
        return ""
    variant = ranking.variant
    submit = ranking.group.cells[0].record.options.get(SUBMIT.name)
    of = "" if variant.interface == "copy" else f" of {variant.interface}"
    settings = ", ".join((*variant.options.without(SUBMIT.name).words(), *variant.environment.words()))
    return f"many at once: {submit}{of}{f' ({settings})' if settings else ''}, {_short_speed(ranking.group)}"


def own_kernels(ranking: Ranking | None) -> str:
    """'byteways' own kernels, which no program can call yet: direct, 12.1 µs'; '' without any."""
    if ranking is None:
        return ""
    return (
        "byteways' own kernels, which no program can call yet: "
        f"{ranking.variant.name}, {_short_speed(ranking.group)}"
    )


def certainty(doubts: Sequence[str], not_measured: Sequence[str], voice: Voice) -> str:
    """'sure', 'not sure (noisy)', 'best of what this suite measured; not measured: kernel'."""
    model = "" if voice is MEASURED else ", in the model"
    missing = f"not {voice.measured}: {', '.join(not_measured)}" if not_measured else ""
    if doubts:
        return "; ".join(filter(None, (f"{NOT_SURE}{model} ({'; '.join(doubts)})", missing)))
    return f"best of what this suite {voice.measured}{model}; {missing}" if missing else f"{SURE}{model}"


def _compared(rival: Rival, best: ResultGroup) -> str:
    """'5.4 % faster than kernel issued by the source (375 GB/s)'."""
    claim, name = rival.claim, f"{rival.variant.name} ({_short_speed(rival.group)})"
    if claim.leads:
        return f"{faster(claim)} {name}{agreement(claim)}"
    if rival.group.value > best.value and claim.undecided:
        return f"{name} was faster, but varied too much between rounds to rank first"
    return f"next {name}"


def _short_speed(group: ResultGroup) -> str:
    """'375 GB/s'; '4.22 µs' of a small transfer or a collective."""
    record = group.cells[0].record
    small = record.counts == "bus" or record.size_bytes < TIME_FIRST_BELOW_BYTES
    return (time_of_one(group) if small else "") or f"{rate(group)} GB/s"
