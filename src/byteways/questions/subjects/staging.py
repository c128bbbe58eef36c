"""Messages of device memory that MPI takes itself, beside copies through page-locked host memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from byteways.answers.claims.claim import TIE, Claim
from byteways.answers.claims.compare import compare
from byteways.answers.claims.finding import Finding, finding
from byteways.answers.claims.importance import Priority
from byteways.answers.claims.phrases import sentence, time_said
from byteways.answers.claims.wording import difference, longer, tie
from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part, Result, ResultGroup, group_by, pool
from byteways.base.units import format_size
from byteways.cases.interfaces import metric_of
from byteways.cases.options import STAGING
from byteways.questions.subjects.messages import messages
from byteways.questions.subjects.ranks import library, memory, settings, where

_NAMES = ("MPI on device memory", "staging in pinned host memory")


def direct(index: Index) -> Iterator[Finding]:
    """Compares device memory passed to MPI with our copies before and after each message, at the largest size
    that has both, for each place, memory and figure.
    """
    for members in group_by(messages(index.between_ranks), lambda cell: _alike(index, cell)).values():
        pairs = {
            size: sides
            for size, cells in group_by(members, lambda cell: cell.size_bytes).items()
            if len(sides := group_by(cells, lambda cell: cell.record.options.get(STAGING.name))) == 2
        }
        if pairs:
            size = max(pairs)
            plain, staged = (pool(pairs[size][how]) for how in (None, "pinned"))
            yield from _finding(index, size, plain, staged)


def _alike(index: Index, cell: Result) -> tuple[Hashable, ...]:
    record = cell.record
    settled = settings(cell, STAGING.name)
    return where(index, cell), library(cell), memory(cell), settled, record.interface, record.pattern


def _finding(index: Index, size: int, plain: ResultGroup, staged: ResultGroup) -> Iterator[Finding]:
    first = plain.cells[0]
    claim = compare(plain, staged, kind=STAGING.name, names=_NAMES)
    latency = metric_of(first.record.interface) == "latency"
    if claim.differ:
        said = _longer(claim, plain, staged) if latency else difference(claim)
    elif claim.verdict == TIE:
        said = tie(claim, _NAMES)
    else:  # some paths gain, others lose
        return
    what = "round trips" if latency else "messages"
    both = ", both ways" if first.record.pattern == "bidirectional" else ""
    title = f"{where(index, first)}, {what} of {format_size(size)}{both}: {said}"
    path = ", ".join(part for part in (first.record.path, memory(first), settings(first)) if part)
    detail = f"{path}. Staging waits for a copy to or from the GPU before a send and after a receive"
    yield finding(title, sentence(detail) + ".", Priority.DIRECT_MESSAGES, (plain, staged), (claim,))


def _longer(claim: Claim, plain: ResultGroup, staged: ResultGroup) -> str:
    slow, fast = (plain, staged) if claim.leads else (staged, plain)
    name, other = _NAMES if claim.leads else _NAMES[::-1]
    times = [time_said(Part(side.value, side.low, side.high)) for side in (slow, fast)]
    return f"{name} takes {longer(claim)} {other}: {times[0]} vs {times[1]}"
