"""Which cases of a run further rounds should measure, so that it says more of a watched program.

A prediction of a change is open while its interval reaches further than KNOWN_TO to either side; without
changes, the time of operations is open by their own method or by the best one. What takes most of the
program's time comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from byteways.answers.results.index import Index
from byteways.answers.results.summary import Part, ResultGroup
from byteways.ext.watch.advice.expected import expected, instead
from byteways.ext.watch.advice.figures import Figures
from byteways.ext.watch.bins import Bin, Watched
from byteways.ext.watch.changes import ProgramChange
from byteways.record.run_folder import RunFolder

#: Ratios and relative times are known if their 95 % interval reaches no further to either side.
KNOWN_TO = 0.03


def open_cases(folder: Path, watched: Watched, changes: Sequence[ProgramChange]) -> list[list[str]]:
    """Returns the identifiers of the cases that each open figure of a program needs, in a run folder.

    Args:
        folder: Of the run that is measured for the program.
        watched: What the program moved.
        changes: The program as it is may be among them.
    """
    return open_figures(Index.of(RunFolder(folder)), watched, changes)


def open_figures(index: Index, watched: Watched, changes: Sequence[ProgramChange]) -> list[list[str]]:
    """Returns the identifiers of the cases that each open figure of a program needs: as open_cases()."""
    figures = Figures(watched, index)
    ratios = {name: one.ratio for name, one in expected(watched, index, changes).items()}
    if ratios:
        groups = [
            pair
            for change in changes
            if (ratio := ratios.get(change.name)) and _reach(ratio) > KNOWN_TO
            for pair in _of_change(watched, figures, change)
        ]
    else:
        groups = [*_of_methods(watched, figures)]
    cases = [[*dict.fromkeys(name for group in pair for name in _cases(group))] for pair in groups]
    return [[*one] for one in dict.fromkeys(map(tuple, cases))]


def _of_change(
    watched: Watched, figures: Figures, change: ProgramChange
) -> Iterator[tuple[ResultGroup, ResultGroup]]:
    """Yields the results of operations as they are and changed."""
    memory, environment = instead(change)
    for each in _by_time(watched, figures):
        if found := figures.both_groups(each, memory, environment):
            yield found


def _of_methods(watched: Watched, figures: Figures) -> Iterator[tuple[ResultGroup, ResultGroup]]:
    """Yields the results of operations by their own and by the best method, where one is not known well."""
    for each in _by_time(watched, figures):
        asked = figures.question(each)
        best = None if isinstance(asked, str) else figures.best(asked)
        own = figures.own_group(each)
        if best is None or own is None:
            continue
        times = [figures.all_ns(each, group) for group in (own, best.ranking.group)]
        if any(one and _reach(one) > KNOWN_TO * one.value for one in times):
            yield own, best.ranking.group


def _by_time(watched: Watched, figures: Figures) -> list[Bin]:
    """Returns what takes time, the longest first."""
    taken = zip(figures.taken_ns(watched), watched.bins, strict=True)
    return [each for time_ns, each in sorted(taken, key=lambda one: -(one[0] or 0.0)) if time_ns]


def _reach(part: Part) -> float:
    """Returns how far an interval reaches to either side."""
    return max(part.high - part.value, part.value - part.low)


def _cases(group: ResultGroup) -> Iterator[str]:
    for cell in group.cells:
        yield from (one.record.case_id for one in cell.between or (cell,))
