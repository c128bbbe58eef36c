"""What calls cost: a launch back to back and waited for, and a small copy in each way."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.analyse.rules.facts import Facts, Finding, marked, times
from byteways.analyse.topics.calls import Cost, call_costs, copy_costs
from byteways.units import format_size, short_time

CALLS = 415.0


def launches(facts: Facts) -> Iterator[Finding]:
    """A kernel launch on a GPU that does nothing."""
    for cost in call_costs(facts.cells, facts.run):
        if cost.label == "GPU: launch" and (said := _paces(cost)):
            title = marked(f"A kernel launch on a GPU takes {said}", *cost.cells)
            yield Finding(title, _submit(cost), CALLS)


def small_copies(facts: Facts) -> Iterator[Finding]:
    """The copy that loses most by being waited for, at its smallest size."""
    told = copy_costs(facts.cells, facts.run)
    whole = [cost for cost in told if cost.behind_ns and cost.waited_ns and ", copy," in cost.label]
    if not whole:
        return
    least = min(cost.size_bytes for cost in whole)
    most = max(
        (cost for cost in whole if cost.size_bytes == least),
        key=lambda cost: (cost.waited_ns or 0) / (cost.behind_ns or 1),
    )
    said = _paces(most)
    if said:
        title = marked(f"{most.label}: {format_size(least)} take {said}", *most.cells)
        yield Finding(title, f"Of small copies this loses most by waiting. {_submit(most)}", CALLS - 1)


def _paces(cost: Cost) -> str:
    """'1.45 µs back to back, 10.1 µs (7 times) when each is waited for'; empty unless both were measured."""
    if not cost.behind_ns or not cost.waited_ns:
        return ""
    factor = f" ({times(cost.waited_ns / cost.behind_ns)})" if cost.waited_ns > cost.behind_ns else ""
    behind, waited = short_time(cost.behind_ns), short_time(cost.waited_ns)
    return f"{behind} back to back, {waited}{factor} when each is waited for"


def _submit(cost: Cost) -> str:
    return f"The host enqueues one in {short_time(cost.submit_ns)}." if cost.submit_ns else ""
