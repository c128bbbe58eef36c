"""Sentences rendered from claims: the only place that words comparisons.

A sentence that its claim does not support cannot be rendered: wording a lead that is none raises ValueError.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import inf

from byteways.answers.claims.claim import MIXED, NOT_COMPARED, TIE, Claim
from byteways.answers.claims.phrases import (
    DIFFERENCE_DIGITS,
    GREATEST_FACTOR,
    SPREAD,
    percent,
    percent_number,
    rate,
    supported,
)
from byteways.answers.results.counting import count, listed
from byteways.base.units import three_digits
from byteways.record.simulation_mark import Voice

#: Smaller factors are worded as percentages.
LEAST_MULTIPLE = 1.1
#: Heading of the column that names the leader of a row, and what it takes to lead.
LEADER, LEADER_MEANS = "fastest", "leads by a significant difference over all rounds"
#: Of a result beside the leader: no lead; no comparison.
NO_DIFFERENCE, TOO_FEW_ROUNDS = "no significant difference", "too few rounds to rank"
#: Of two results whose interval of the ratio contains equality and large differences.
UNDECIDED = "not decided"
#: Of a link whose results an outlier finding names.
OUTLIER_LINK = "outlier: slower than equal links"


def _lead(claim: Claim) -> Claim:
    """Returns the claim with the greater side first. Raises ValueError if neither is greater."""
    if not claim.differ:
        raise ValueError(f"no lead in a claim that says {claim.verdict}")
    return claim if claim.leads else claim.turned()


def _rates(claim: Claim) -> Claim:
    """Returns the claim. Raises ValueError if the greater side is not the faster one."""
    if claim.quantity != "bandwidth":
        raise ValueError(f"neither side of a claim on {claim.quantity} is faster for being greater")
    return claim


def gain_of(claim: Claim) -> str:
    """'8.2 %', with the digits that the interval supports."""
    gain, low, high = (100 * (ratio - 1) for ratio in (claim.effect, claim.low, claim.high))
    return f"{supported(gain, low, high, DIFFERENCE_DIGITS)} %"


def by_factor(claim: Claim) -> str:
    """'3.9 times', with the digits that the interval supports."""
    return f"{factor(claim)} times"


def factor(claim: Claim) -> str:
    """'3.9', 'over 100'."""
    if claim.effect > GREATEST_FACTOR:
        return f"over {GREATEST_FACTOR:.0f}"
    return supported(claim.effect, claim.low, claim.high, DIFFERENCE_DIGITS)


def agreement(claim: Claim) -> str:
    """' on 11 of 12 paths'; empty if all agree."""
    ahead = max(claim.agree, claim.against)
    return "" if claim.unanimous else f" on {ahead} of {claim.pairs} paths"


def faster(claim: Claim) -> str:
    """'8.2 % faster than' below a factor of 2, '3.9 times as fast as' above."""
    lead = _lead(_rates(claim))
    return f"{gain_of(lead)} faster than" if lead.effect < 2 else f"{by_factor(lead)} as fast as"


def slower(claim: Claim) -> str:
    """'42 % slower', of the trailing side."""
    lead = _lead(_rates(claim))
    return f"{_loss(lead)} slower{agreement(lead)}"


def less(claim: Claim) -> str:
    """'42 % less', of the trailing side."""
    return f"{_loss(_lead(claim))} less"


def _loss(lead: Claim) -> str:
    """'42 %', by which the trailing side is less, with the digits that the interval supports."""
    loss, low, high = (
        100 * (1 - 1 / ratio) if ratio > 0 else 100.0 for ratio in (lead.effect, lead.low, lead.high)
    )
    return f"{supported(loss, low, high, DIFFERENCE_DIGITS)} %"


def longer(claim: Claim) -> str:
    """'9.1 % longer than', '3.4 times as long as', of the greater time."""
    return f"{longer_by(claim)} {'than' if _lead(claim).effect < 2 else 'as'}"


def longer_by(claim: Claim) -> str:
    """'9.1 % longer', '3.4 times as long', without naming the other side."""
    lead = _lead(claim)
    return f"{gain_of(lead)} longer" if lead.effect < 2 else f"{by_factor(lead)} as long"


def multiple(claim: Claim) -> str:
    """'2.3 ×' of the greater side, or '8.2 % more' for factors close to one."""
    lead = _lead(claim)
    return f"{gain_of(lead)} more" if lead.effect < LEAST_MULTIPLE else f"{factor(lead)} ×"


def difference_text(claim: Claim) -> str:
    """'42 % less', '2.3 ×', 'no significant difference', 'not decided: 0.25 to 1.6 times': the first side
    beside the second, for a table.
    """
    if claim.differ:
        return multiple(claim) if claim.leads else less(claim)
    if claim.verdict == MIXED:
        return "the paths disagree"
    if claim.verdict != TIE:
        return "not compared"
    return alike(claim)


def alike(*claims: Claim) -> str:
    """'no significant difference', or 'not decided: 0.25 to 1.6 times' if an interval is wide: of the first
    beside the second.
    """
    return f"{UNDECIDED}: {ratio_between(claims)}" if any(one.undecided for one in claims) else NO_DIFFERENCE


def ratio_between(claims: Sequence[Claim]) -> str:
    """'0.25 to 1.6 times': the widest interval of the ratio of first to second."""
    widest = max(claims, key=lambda one: one.high / one.low if one.low > 0 else inf)
    return f"{_ratio(widest.low)} to {_ratio(widest.high)} times"


def _ratio(ratio: float) -> str:
    """'0.25', 'less than 0.01', 'over 100'."""
    if ratio < 1 / GREATEST_FACTOR:
        return f"less than {1 / GREATEST_FACTOR:g}"
    if ratio > GREATEST_FACTOR:
        return f"over {GREATEST_FACTOR:.0f}"
    return f"{ratio:.0f}" if ratio >= 9.95 else f"{ratio:.2g}"


def no_difference(names: Sequence[str], claims: Sequence[Claim]) -> str:
    """'no significant difference between copy and kernel', or why none of them leads.

    Args:
        names: What was compared.
        claims: All comparisons among them, of which none may lead over all others. A comparison that
            differs by path, decides nothing or was not made is no equality: the statement says so.
    """
    statement, reason = _no_lead(listed(list(names)), claims)
    return f"{statement}: {reason}" if reason else statement


def no_difference_at(names: Sequence[str], claims: Sequence[Claim], at: str) -> str:
    """'no significant difference between copy and kernel at 1 GiB'."""
    statement, reason = _no_lead(listed(list(names)), claims)
    return f"{statement}: {reason}, at {at}" if reason else f"{statement} at {at}"


def _no_lead(names: str, claims: Sequence[Claim]) -> tuple[str, str]:
    """Returns the statement of `no_difference`, and a reason if it needs one."""
    if not claims:
        raise ValueError(f"no comparison between {names}")
    if missing := next((claim for claim in claims if claim.verdict == NOT_COMPARED), None):
        return f"{names} are not compared", missing.reason
    if any(claim.verdict != TIE for claim in claims):
        return f"{names} lead on different paths", ""
    if any(claim.undecided for claim in claims):
        return f"{UNDECIDED} between {names} ({ratio_between(claims)})", ""
    return f"no significant difference between {names}", ""


def tie(claims: Claim | Sequence[Claim], names: Sequence[str]) -> str:
    """Words a tie. Raises ValueError for other claims."""
    some = [claims] if isinstance(claims, Claim) else claims
    if unlike := [claim.verdict for claim in some if claim.verdict != TIE]:
        raise ValueError(f"no tie in a claim that says {unlike[0]}")
    return no_difference(names, some)


def difference(claim: Claim) -> str:
    """'copy issued by the source is 1.4 % faster than …: 375 vs 370 GB/s', of both names."""
    lead = _lead(claim)
    beside = f"{faster(lead)} {lead.second.name}{agreement(lead)}"
    return f"{lead.first.name} is {beside}: {rate(lead.first)} vs {rate(lead.second)} GB/s"


def gains_of_others(others: Mapping[str, Claim]) -> str:
    """' Also faster: kernel issued by the destination by 3 %.', empty without any."""
    leads = {name: _lead(claim) for name, claim in others.items()}
    said = [
        f"{name} {one.first.name} {f'by {gain_of(one)}' if one.effect < 2 else by_factor(one)}"
        for name, one in leads.items()
    ]
    return f" Also faster: {listed(said)}." if said else ""


def most_of_several(number: int) -> str:
    """' Of 4 pairings that differ, it is the most.', empty for one alone."""
    return f" Largest of {number} significant differences." if number > 1 else ""


def no_loss(claim: Claim) -> str:
    """'no significant loss (2.3 % at most)' of first versus second. Raises ValueError for other claims."""
    if not claim.equal:
        raise ValueError(f"a claim that says {claim.verdict} shows no equality")
    return f"no significant loss ({percent(max(1 - claim.low, 0.0))} at most)"


def part_kept(claim: Claim) -> str:
    """'51 %': the first as a part of the second, '100 % (no significant difference)'."""
    kept, low, high = 100 * claim.effect, 100 * claim.low, 100 * claim.high
    share = f"{supported(kept, low, high, DIFFERENCE_DIGITS)} %"
    return share if claim.differ else f"{share} ({difference_text(claim)})"


def largest(what: str) -> str:
    """'Largest loss of 5 flows.'"""
    return f"Largest {what}."


def losing_most(what: str) -> str:
    """'gpu0>gpu1 loses most'."""
    return f"{what} loses most"


def percents_slower(claim: Claim, kept: Sequence[float]) -> str:
    """'40 % slower', or '5 to 70 % slower' if the paths lose different amounts.

    Args:
        claim: The loss.
        kept: By path, the fraction that is left.
    """
    _lead(claim)
    most, least = 1 - min(kept), max(1 - max(kept), 0.0)
    if most - least < SPREAD:
        return slower(claim)
    return f"{percent_number(least)} to {percent(most)} slower{agreement(claim)}"


def fills(needs: Sequence[tuple[str, int]], path: str) -> str:
    """'kernel-bulk fills gpu0>gpu1 from 8 blocks, kernel needs 48', from the blocks each interface needs."""
    (name, blocks), rest = needs[0], needs[1:]
    if rest and rest[-1][1] == blocks:
        each = "both" if len(needs) == 2 else "all"
        return f"{listed([one for one, _ in needs])} {each} saturate {path} with {count(blocks, 'block')}"
    title = f"{name} saturates {path} with {count(blocks, 'block')}"
    return title + (f", {listed([f'{one} needs {more}' for one, more in rest])}" if rest else "")


def fastest_by_size(parts: Sequence[str], claims: Sequence[Sequence[Claim]]) -> str:
    """'for managed pages, the fastest is prefetching at 1 MiB and …'.

    Args:
        parts: Each method with the sizes at which it is fastest.
        claims: For each of these sizes, that it leads all others.
    """
    if len(claims) < len(parts) or not all(some and all(one.leads for one in some) for some in claims):
        raise ValueError("a way that is called fastest leads no other")
    return f"for managed pages, the fastest is {listed(list(parts))}"


def wins(first: Mapping[Hashable, tuple[str, Claim]], noun: str) -> str:
    """' Of 6 shapes that differ, copy-2d is faster on 4 and kernel on 2.'; empty for a single one.

    Args:
        first: The leading side for each, with its claim.
        noun: What is counted.
    """
    if len(first) < 2:
        return ""
    names = [name for name, claim in first.values() if _lead(claim)]
    won = {name: names.count(name) for name in dict.fromkeys(names)}
    said = [f"{name} is faster on {number}" for name, number in won.items()]
    return f" Of {len(names)} {noun} with a significant difference, {listed(said)}."


def least_gain(gains: Mapping[str, Claim]) -> str:
    """' Smallest gain of 12: gpu0>gpu3, no significant gain.'; empty for a single one."""
    if len(gains) < 2:
        return ""
    name, least = min(gains.items(), key=lambda one: one[1].effect)
    effect = f"{gain_of(least)} more" if least.leads else less(least) if least.trails else _no_gain(least)
    return f" Smallest gain of {len(gains)}: {name}, {effect}."


def _no_gain(claim: Claim) -> str:
    return alike(claim) if claim.undecided else "no significant gain"


def best_by_calls(claims: Sequence[Claim]) -> str:
    """'is fastest with single calls', if every other submission method that differs is slower."""
    if not claims or not all(claim.trails for claim in claims):
        raise ValueError("calls do not lead all alternatives")
    return "is fastest with single calls"


def keeps_speed(claims: Sequence[Claim]) -> str:
    """'keeps its speed', if each claim shows equality."""
    if not claims or not all(claim.equal for claim in claims):
        raise ValueError("a claim that shows no equality")
    return "is not slowed down"


def shorter_during(transfers: Sequence[str], claims: Sequence[Claim]) -> str:
    """'Shorter during copy gpu0>gpu1', of times beside those alone."""
    if not claims or not all(claim.trails for claim in claims):
        raise ValueError("a time that is not shorter")
    return f"Shorter during {listed(list(transfers))}"


def faster_directly(name: str, claim: Claim) -> str:
    """' But kernel over the direct path is faster still (1921).': another way beside a split."""
    if not _rates(claim).leads:
        raise ValueError("the other way does not lead")
    return f" But {name} over the direct path is faster still ({rate(claim.first)})."


def not_slowed(claims: Sequence[Claim]) -> str:
    """'No significant slowdown', if each claim shows equality."""
    keeps_speed(claims)
    return "No significant slowdown"


def least_energy(
    between: str, names: Sequence[str], joules: float, claims: Sequence[Claim], ties: Sequence[Claim]
) -> str:
    """'A gigabyte from … takes least energy by copy, 0.45 J; kernel takes 2.2 times as much (1)'.

    Args:
        between: The path in words.
        names: The interface with the least energy, and its ties.
        joules: The least energy per GB.
        claims: That others need more.
        ties: That the other names do not.
    """
    if not claims:
        return f"Energy {between}: {no_difference(names, ties)}"
    more = [f"{one.first.name} takes {_more(one)} ({three_digits(one.first.value)})" for one in claims]
    by = " or ".join(names)
    return f"Least energy {between}: {by}, {three_digits(joules)} J/GB; {listed(more)}"


def _more(claim: Claim) -> str:
    """'12 % more', '2.2 times as much'."""
    lead = _lead(claim)
    return f"{gain_of(lead)} more" if lead.effect < 2 else f"{by_factor(lead)} as much"


def all_as_predicted(cases: int, lacking: int, voice: Voice) -> str:
    """'All 12 concurrent cases', '12 of 40 concurrent cases …' if others have no prediction."""
    if not lacking:
        return f"All {cases} concurrent cases"
    return f"{cases} of {cases + lacking} concurrent cases (those with all flows {voice.measured} alone)"


def slower_copies(sizes: str, claims: Sequence[Claim]) -> str:
    """'copies of 4 KiB take longer from registered memory'."""
    if not claims or not all(claim.trails for claim in claims):
        raise ValueError("copies of registered memory do not trail")
    return f"copies of {sizes} are slower from registered memory"
