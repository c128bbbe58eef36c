"""The title of a run: what the links of its machine reach (its name: machine_names.py).

Which results a title names is decided here, for the report and the terminal alike:

1. of GPU pairs with a direct link, the best interface of each link class, the fastest class first;
2. of host and GPU, the best interface over the nearest NUMA domain;
3. without GPU pairs, copies within host memory;
4. of a run between ranks alone, the fastest pairs of ranks.

A share of the peak is named only where a link is the limit: what a package shares is memory, not a link.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

from byteways.answers.best.decisions import BETWEEN_RANKS, OVER_LINKS, Decision, decisions
from byteways.answers.best.headline import LARGE
from byteways.answers.best.ranking import Ranking
from byteways.answers.best.wording_rankings import faster_elsewhere
from byteways.answers.claims.phrases import SPREAD, percent_number, rate, with_span
from byteways.answers.results.counting import listed
from byteways.answers.results.index import Index
from byteways.answers.results.selection import limited_by_link, within_a_process
from byteways.answers.results.summary import ResultGroup
from byteways.base.units import format_size

#: Part of a rate from which on the width of its interval is told with it.
INTERVAL_SHOWN_FROM = 0.2
GPU_PAIRS = "GPU pairs"
_WORDS_OF_KIND = {
    "gpu-gpu": GPU_PAIRS,
    "cpu-gpu": "host to GPU",
    "gpu-cpu": "GPU to host",
    "cpu": "copies in host memory",
}


def results(index: Index) -> str:
    """`GPU pairs over NVLink4 ×18 396 GB/s, 88 % of peak; host to GPU 55.4 GB/s, 88 % of peak`.

    '' without any ranked result.
    """
    return "; ".join(_clauses(index))


def title_decisions(index: Index) -> list[Decision]:
    """Returns the decisions whose figures the title names, in their order."""
    found = decisions(index, OVER_LINKS)
    ranked = [one for place in found.plain_places() if (one := found.large(place)).ranking]

    def of_kind(name: str) -> list[Decision]:
        return sorted((one for one in ranked if one.place.kind == name), key=lambda one: -_value(one))

    pairs = [one for one in of_kind("gpu-gpu") if not one.place.link_class.startswith("routed")]
    host = (of_kind("cpu-gpu") or of_kind("gpu-cpu"))[:1]
    if pairs or host:
        return pairs + host
    return of_kind("cpu")[:1] or _between_ranks(index)


def _between_ranks(index: Index) -> list[Decision]:
    found = decisions(index, BETWEEN_RANKS)
    places = found.plain_places() or found.places
    ranked = [one for place in places if (one := found.large(place)).ranking]
    return sorted(ranked, key=lambda one: -_value(one))[:1]


def _value(decision: Decision) -> float:
    return decision.ranking.group.value if decision.ranking else 0.0


def _clauses(index: Index) -> Iterator[str]:
    for name, same in groupby(title_decisions(index), lambda one: _WORDS_OF_KIND.get(one.place.kind, "")):
        rankings = [one.ranking for one in same if one.ranking]
        if name == GPU_PAIRS:
            yield _pairs(index, [ranking.group for ranking in rankings])
        else:
            (ranking,) = rankings
            words = name if within_a_process(ranking.group.cells[0]) else "between ranks"
            yield f"{words} {_reached(index, ranking.group)}{_elsewhere(ranking)}"


def _pairs(index: Index, leads: Sequence[ResultGroup]) -> str:
    """`GPU pairs over xGMI ×4, ×2, ×1 153, 76.3, 38.2 GB/s, 76 % of peak`; the fastest class first."""
    classes = [index.link_class(lead.cells[0]) for lead in leads]
    if len(leads) == 1:
        over = f" over {classes[0]}" if classes[0] else ""
        return f"GPU pairs{over} {_reached(index, leads[0])}"
    rates = ", ".join(rate(lead) for lead in leads)
    return f"GPU pairs over {_shortened(classes)}: {rates} GB/s{_shares(index, leads)}{_size(leads)}"


def _shortened(classes: Sequence[str]) -> str:
    """`xGMI ×4, ×2, ×1`: what all names begin with is written once."""
    kinds = {name.rpartition(" ")[0] for name in classes}
    if len(kinds) > 1 or "" in kinds:
        return ", ".join(classes)
    return f"{kinds.pop()} {', '.join(name.rpartition(' ')[2] for name in classes)}"


def _shares(index: Index, leads: Sequence[ResultGroup]) -> str:
    """`, 76 % of peak`, `, 44–87 % of peak`; '' unless links limit all of them."""
    cells = [cell for lead in leads for cell in lead.cells]
    if not all(limited_by_link(index.topology, cell) for cell in cells):
        return ""
    shares = sorted(cell.fraction or 0.0 for cell in cells)
    if shares[-1] <= (1 + SPREAD) * shares[0]:
        shares = [median(shares)]
    ends = list(dict.fromkeys(percent_number(share) for share in (shares[0], shares[-1])))
    return f", {'–'.join(ends)} % of peak"


def _elsewhere(ranking: Ranking) -> str:
    """`, on cpu0>gpu0 alone kernel is faster still (1855 GB/s)`: faster, but on few paths."""
    said = faster_elsewhere(ranking, " GB/s")
    return f", {said}" if said else ""


def _reached(index: Index, group: ResultGroup) -> str:
    wide = group.high - group.low > INTERVAL_SHOWN_FROM * group.value
    told = with_span(group) if wide else rate(group)
    return f"{told} GB/s{_shares(index, [group])}{_size([group])}"


def _size(leads: Sequence[ResultGroup]) -> str:
    """` at 1 MiB` where the size is too small for what a link can reach; '' otherwise."""
    sizes = sorted({lead.cells[0].size_bytes for lead in leads})
    return f" at {listed([format_size(size) for size in sizes])}" if sizes[0] < LARGE else ""
