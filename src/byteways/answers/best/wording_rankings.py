"""Sentences on rankings: the best of several alternatives and what it leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from byteways.answers.best.ranking import Ranking, Rival
from byteways.answers.claims.claim import TIE, Claim
from byteways.answers.claims.phrases import marked, of_peak, rate, sentence, with_span
from byteways.answers.claims.wording import (
    NO_DIFFERENCE,
    UNDECIDED,
    agreement,
    factor,
    gain_of,
    no_difference,
    no_difference_at,
    ratio_between,
    slower,
)
from byteways.answers.results.counting import listed
from byteways.answers.results.summary import ResultGroup
from byteways.base.units import format_size

#: Ways of one interface that a sentence names; more are counted.
MOST_NAMED_WAYS = 3
#: Before the names of what the best does not lead.
NO_LEAD_OVER = f"{NO_DIFFERENCE} from"


def margin(
    ranking: Ranking,
    names: Mapping[str, str] = MappingProxyType({}),
    tie: str = NO_LEAD_OVER,
    *,
    brief: bool = False,
) -> str:
    """`5.4 % over kernel`, `2.2 × kernel`, `no significant difference from kernel`, or that there is no
    other.

    Compares interfaces only: variants of one interface are not alternatives in this table.

    Args:
        ranking: Of one size.
        names: What the table calls an interface; others keep their name.
        tie: Says that there is no significant difference from those that follow.
        brief: Leaves out what a comparison that is not decided allows, faster ways that few paths have, the
            paths of a comparison on few, and that there is no alternative.
    """
    if ties := tied_interfaces(ranking):
        called = [names.get(name, name) for name in ties]
        return f"{_level(_ties_with(ranking, ties), tie, brief)} {listed(called)}"
    if next_ := runner_up(ranking):
        return _over(next_, names) + agreement(next_.claim)
    if said := faster_elsewhere(ranking, " GB/s"):
        return "" if brief else said
    mine = ranking.variant.interface
    if compared := [one for one in ranking.narrow if one.variant.interface != mine and one.claim.pairs]:
        return _on_few_paths(compared[0], names, tie, brief)
    return "" if brief else "no alternative at this size"


def _over(rival: Rival, names: Mapping[str, str]) -> str:
    claim, name = rival.claim, rival.variant.interface
    over = f"{gain_of(claim)} over" if claim.effect < 2 else f"{factor(claim)} ×"
    return f"{over} {names.get(name, name)}"


def _on_few_paths(rival: Rival, names: Mapping[str, str], tie: str, brief: bool) -> str:
    """`6.2 % over kernel on cpu0>gpu0`: one path of a class speaks for the others."""
    name, paths = rival.variant.interface, rival.claim.second.paths
    level = f"{_level([rival.claim], tie, brief)} {names.get(name, name)}"
    said = _over(rival, names) if rival.claim.leads else level
    return said if brief else f"{said} on {listed(list(paths))}"


def _ties_with(ranking: Ranking, interfaces: Sequence[str]) -> list[Claim]:
    """Returns the claims by which the best does not lead these interfaces."""
    return [one.claim for one in ranking.ties if one.variant.interface in interfaces]


def _level(claims: Sequence[Claim], tie: str, brief: bool) -> str:
    """`tie`, or what else keeps the best from a lead."""
    if any(claim.verdict != TIE for claim in claims):
        return "on some paths behind"
    if any(claim.undecided for claim in claims):
        return f"{UNDECIDED}{'' if brief else f' ({ratio_between(claims)})'} against"
    return tie


def tied_interfaces(ranking: Ranking) -> tuple[str, ...]:
    """Returns the interfaces that the best does not lead: without a significant difference, or by path."""
    mine = ranking.variant.interface
    names = (one.variant.interface for one in ranking.ties if one.claim.pairs)
    return tuple(dict.fromkeys(name for name in names if name != mine))


def runner_up(ranking: Ranking) -> Rival | None:
    """Returns the best of the interfaces that the best one leads."""
    taken = {ranking.variant.interface, *tied_interfaces(ranking)}
    return next((one for one in ranking.slower if one.variant.interface not in taken), None)


def better_way(
    ranking: Ranking,
    where: str,
    size: int,
    *,
    peak: bool = True,
    launched: Callable[[ResultGroup], str] = lambda group: "",
) -> tuple[str, list[ResultGroup]]:
    """Returns the sentence on the best alternative, and the results that it quotes.

    '… copy issued by the source is fastest at 1 GiB: 396 GB/s (88 % of 450); kernel reaches 375'.

    Args:
        ranking: Of one kind of pair and link class.
        where: The beginning of the sentence.
        size: In bytes.
        peak: Whether to include the fraction of the peak.
        launched: Returns how a result was launched, appended to the runner-up.
    """
    first, at = ranking.group, format_size(size)
    ties = [one for one in ranking.ties if one.variant.interface in tied_interfaces(ranking)]
    near = {one.variant.interface: one.group for one in reversed(ties)}
    share = of_peak(first) if peak else ""
    next_ = runner_up(ranking)
    quoted = [first, *near.values()]
    if near:
        names = [ranking.variant.interface, *near]
        rates = listed([with_span(group) for group in quoted])
        told = no_difference_at(names, [one.claim for one in ties], at)
        title = f"{where}, {told}: {rates} GB/s{share}"
    elif next_ is None:
        title = f"{where}, {ranking.variant.name} reaches {rate(first)} GB/s{share} at {at}"
    else:
        over = agreement(next_.claim)
        # Where another way of the same interface is as fast, only the interface leads.
        leader = ranking.variant.interface if equal_ways(ranking) else ranking.variant.name
        title = f"{where}, {leader} is fastest{over} at {at}: {rate(first)} GB/s{share}"
    if ranking.default is not None and ranking.default.claim.leads:
        title += (
            f"; with default settings {ranking.default.variant.name} reaches {rate(ranking.default.group)}"
        )
        quoted.append(ranking.default.group)
    if said := faster_elsewhere(ranking):
        title += f"; {said}"
        quoted.append(ranking.elsewhere[0].group)
    if next_ is not None and (ranking.default is None or next_.group is not ranking.default.group):
        title += f"; {next_.variant.interface} reaches {rate(next_.group)}{launched(next_.group)}"
        quoted.append(next_.group)
    return title, quoted


def equal_ways(ranking: Ranking) -> list[Rival]:
    """Returns the other ways of the best interface that it does not lead."""
    mine = ranking.variant.interface
    return [one for one in ranking.ties if one.variant.interface == mine and one.claim.pairs]


def named_way(ranking: Ranking) -> str:
    """' No significant difference between copy issued by the source and copy issued by the destination.'

    Empty unless the interface alone is called fastest; the first way named is the one quoted.
    """
    equal = equal_ways(ranking)
    if not equal or tied_interfaces(ranking) or runner_up(ranking) is None:
        return ""
    names = [ranking.variant.name, *(one.variant.name for one in equal)]
    more = [f"{len(names) - MOST_NAMED_WAYS} more"] if len(names) > MOST_NAMED_WAYS else []
    told = no_difference([*names[:MOST_NAMED_WAYS], *more], [one.claim for one in equal])
    return f" {sentence(told)}."


def faster_elsewhere(ranking: Ranking, unit: str = "") -> str:
    """'on cpu0>gpu0 alone kernel is faster still (1855)': a way measured on few of the paths; '' without.

    Whatever names the best of a ranking says this, too: the best is the best of what most paths have.

    Args:
        ranking: With its alternatives elsewhere.
        unit: Follows the rate: ' GB/s' where the sentence has not named it.
    """
    for one in ranking.elsewhere[:1]:
        paths = listed(list(one.claim.second.paths))
        return f"on {paths} alone {one.variant.name} is faster still ({rate(one.group)}{unit})"
    return ""


def slower_ways(ranking: Ranking) -> str:
    """' kernel issued by the source is 5.4 % slower and …': the best variant of each slower interface."""
    chosen: dict[str, Rival] = {}
    for one in ranking.slower:
        if one.variant.interface not in (ranking.variant.interface, *tied_interfaces(ranking)):
            chosen.setdefault(one.variant.interface, one)
    gaps = [f"{one.variant.name} is {slower(one.claim)}" for one in chosen.values()]
    return f" {listed(gaps)}." if gaps else ""


def moves_most(ranking: Ranking) -> str:
    """'reaches', or 'leads with' if the best leads every other one."""
    every = ranking.rivals and all(one.claim.leads and one.claim.unanimous for one in ranking.rivals)
    return "leads with" if every else "reaches"


def others_of(ranking: Ranking) -> str:
    """' Others: kernel issued by the source 883, torch-copy 799 GB/s.', empty without others."""
    parts = [marked(f"{one.variant.name} {rate(one.group)}", one.group) for one in ranking.rivals]
    return f" Others: {', '.join(parts)} GB/s." if parts else ""
