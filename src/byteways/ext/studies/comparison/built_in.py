"""Whether a machine model could fail a check, or whether its outcome is built into the model's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from byteways.ext.studies.comparison.check_result import CheckResult
from byteways.ext.studies.comparison.checks import CHECKS
from byteways.ext.studies.comparison.references import UntestableError
from byteways.ext.studies.comparison.value_lookup import Sheet
from byteways.ext.studies.published.study import ClaimCheck
from byteways.models.basis import CHANGE

#: What a change of one number makes of the values that rest on it.
FACTORS = (1 - CHANGE, 1 + CHANGE)


def is_built_in(check: ClaimCheck, finding: CheckResult, sheet: Sheet) -> bool:
    """Whether a check that holds on a machine model does so with any single number of it changed.

    So it is with what the model states of the machine, with values that the same numbers decide, which cannot
    differ, and with a relation between two numbers that are far enough from its bound.
    """
    return not any(
        _fails(check, sheet.changed(keys, factor)) for keys in _changes(finding, sheet) for factor in FACTORS
    )


def _fails(check: ClaimCheck, sheet: Sheet) -> bool:
    try:
        return CHECKS[check.kind](check.keys, sheet).holds is False
    except UntestableError:
        return False


def _changes(finding: CheckResult, sheet: Sheet) -> Iterator[frozenset[str]]:
    """Yields the numbers to change: each behind a value that decides, with those that have its value because
    nobody knows better. Of numbers behind the same values, the first ones are enough.
    """
    behind = [sheet.hardware.numbers_behind(cell.record) for cell in finding.cells if cell.record is not None]
    seen = set()
    for key in sorted(frozenset().union(*behind)):
        keys = sheet.hardware.tied_to(key)
        moved = tuple(bool(keys & numbers) for numbers in behind)
        if moved not in seen:
            seen.add(moved)
            yield keys
